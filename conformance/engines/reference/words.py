"""Numbers and texts of a URDF that no schema of USD has."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from urdf_usd.conformance.observation.robot import Word, XmlContent
from urdf_usd.converter.robot.model import Custom, Fixed, Joint, Robot, XmlElement


def state_words(robot: Robot) -> tuple[Word, ...]:
    """State controllers, calibrations, and what is no part of URDF."""
    words = [*_custom(("robot",), robot.custom)]
    for link in robot.links:
        words += _custom((f"link {link.name}",), link.custom)
        for shape in link.shapes:
            words += _custom(("", f"link {link.name}"), shape.custom)
    for joint in robot.joints:
        words += (Word((f"joint {joint.name}",), name, value) for name, value in _numbers(joint))
        words += _custom((f"joint {joint.name}",), joint.custom)
    return tuple(words)


def _numbers(joint: Joint) -> Iterator[tuple[str, float]]:
    # A fixed joint has nothing to control or limit, and to a frame no prim.
    if isinstance(joint.kind, Fixed):
        return
    for name in ("acceleration", "deceleration", "jerk"):
        if (value := getattr(joint, name)) is not None:
            yield f"limit:{name}", value
    for tag, element in (
        ("safety_controller", joint.safety),
        ("calibration", joint.calibration),
    ):
        for name, value in (structs.asdict(element) if element else {}).items():
            if value is not None:
                yield f"{tag}:{name}", value


def _custom(owners: tuple[str, ...], custom: Custom) -> Iterator[Word]:
    for one in custom.attributes:
        yield Word(owners, ":".join((*one.within, one.name)), one.value)
    for element in custom.elements:
        content = element.content
        name = "/".join((*element.within, f"<{content.tag}>"))
        yield Word(owners, name, str(_content(content)))


def _content(element: XmlElement) -> XmlContent:
    children = tuple(map(_content, element.children))
    return XmlContent(element.tag, element.attributes, element.text or "", children)
