"""Parts of a robot that a repair of the markup leaves where they do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import walk
from urdf_usd.converter.urdf.wording import describe, name_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from urdf_usd.converter.diagnostics import Location
    from urdf_usd.converter.diagnostics.findings import Findings
    from urdf_usd.converter.urdf.xml.elements import Element

# What carries mass, shapes and motion, and the attributes without which it is only a
# mention: a transmission has joints inside, which have a name alone.
_PARTS: Mapping[str, tuple[str, ...]] = {
    one.tag: tuple(attribute.name for attribute in one.attributes if attribute.required)
    for one in (
        *(g.LINK, g.JOINT, g.INERTIAL, g.MASS, g.INERTIA),
        *(g.VISUAL, g.COLLISION, g.GEOMETRY),
    )
}
_MOST_NAMED = 20


def begins_part(tag: str, attributes: Iterable[str]) -> bool:
    """Whether a tag begins a part of a robot.

    Args:
        tag: Its name.
        attributes: Names of its attributes.
    """
    needed = _PARTS.get(tag)
    return needed is not None and set(needed) <= set(attributes)


def misplaced_parts(root: Element, changed: Collection[Location]) -> Findings[None]:
    """Say which parts of a robot ended up outside of where they count.

    Args:
        root: The root element, after tags were added or dropped.
        changed: Where elements begin in which, or at the end of which, that was done.
            Elsewhere a part is where it is written.
    """
    if not changed:
        return
    for element, element_type in walk(root, g.ROBOT):
        if element_type is None or element.location not in changed:
            continue
        for child in element.children:
            if not element_type.child(child.tag) and _is_part(child):
                yield _misplaced(child, element)


def describe_parts(elements: Iterable[Element]) -> str:
    """Name the parts of robots among elements, or directly in other robots, by line.

    Args:
        elements: Elements that are left out.
    """
    parts = [
        part
        for element in elements
        for part in (element.children if element.tag == g.ROBOT.tag else (element,))
        if _is_part(part)
    ]
    named = [f"{name_part(part)} in line {part.location.line}" for part in parts]
    if len(named) > _MOST_NAMED:
        named[_MOST_NAMED:] = [f"{len(named) - _MOST_NAMED} others"]
    return ", ".join(named)


def _is_part(element: Element) -> bool:
    return begins_part(element.tag, (name for name, _ in element.attributes))


def _misplaced(part: Element, parent: Element) -> Diagnostic:
    inside = f"{describe(parent)} of line {parent.location.line}"
    message = (
        f"{name_part(part)} lies in {inside} now, where it does not count; left out"
    )
    return Diagnostic("xml-nesting", message, part.location)
