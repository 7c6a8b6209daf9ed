"""Repairs of repeated links and joints, and of joints to undefined links."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import WORLD_LINK, Joint, Link
from urdf_usd.converter.urdf.grammar import JOINT, LINK
from urdf_usd.converter.urdf.xml import Element, describe

_PARTS = (LINK.tag, JOINT.tag)


def drop_repeated(root: Element, notes: list[Diagnostic]) -> Element:
    """Drop links and joints that are identical repeats.

    Different links or joints with the same name are an error of the tree.
    """
    first: dict[tuple[str, str | None], Element] = {}
    kept = []
    for element in root.children:
        key = element.tag, element.get("name")
        original = first.setdefault(key, element) if element.tag in _PARTS else element
        if original is element or not element.same_text(original):
            kept.append(element)
            continue
        line = original.location.line
        message = f"{describe(element)} is written as in line {line}; one is kept"
        notes.append(Diagnostic("part-repeated", message, element.location))
    return structs.replace(root, children=tuple(kept))


def define_world(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: list[Diagnostic]
) -> tuple[Link, ...]:
    """Add the link ``world`` if it is the parent of joints but not defined.

    Robots for Drake, where ``world`` is predefined, do not define it. If the child of
    such a joint has another parent too, :func:`drop_dangling` drops the joint instead.
    """
    names = {link.name for link in links}
    children = Counter(joint.child for joint in joints)
    tied = [j for j in joints if j.parent == WORLD_LINK and j.child in names]
    defined = WORLD_LINK in names or WORLD_LINK in children
    if defined or not tied or any(children[joint.child] > 1 for joint in tied):
        return links
    first = tied[0]
    message = (
        f"joint {first.name!r} has parent link {WORLD_LINK!r}, which is not defined; "
        "an empty link is added"
    )
    notes.append(Diagnostic("world-undefined", message, first.location))
    return (Link(WORLD_LINK, location=first.location), *links)


def drop_dangling(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: list[Diagnostic]
) -> tuple[Joint, ...]:
    """Drop joints that refer to a link that is not defined.

    The child of such a joint becomes a root.
    """
    defined = {link.name for link in links}
    kept = []
    for joint in joints:
        undefined = [
            f"{role} link {name!r}"
            for role, name in (("parent", joint.parent), ("child", joint.child))
            if name and name not in defined
        ]
        if undefined:
            message = (
                f"joint {joint.name!r} refers to undefined {' and '.join(undefined)}; "
                "the joint is omitted"
            )
            notes.append(Diagnostic("joint-dangling", message, joint.location))
        else:
            kept.append(joint)
    return tuple(kept)
