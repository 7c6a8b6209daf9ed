"""Writing of custom data into the elements of its owners.

Existing attributes are not replaced, and nothing is written that is part of URDF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET
from xml.parsers import expat

from urdf_usd.converter.robot.model import Custom, CustomElement, XmlElement
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.extensions import GAZEBO, REFERENCE
from urdf_usd.converter.urdf.grammar import ElementType

_PLAIN_NAME = re.compile(r"[A-Za-z_:][\w:.-]*", re.ASCII)
_OTHER_NAME = re.compile(r"[^\s<>&/='\"?!]+")
# Elements that may be added without changing the robot.
_NEUTRAL = frozenset({g.ORIGIN, g.AXIS, g.LIMIT, g.DYNAMICS, g.SAFETY_CONTROLLER, g.CALIBRATION})

Idle = frozenset[tuple[str, str]]


def write_custom(
    element: ET.Element,
    element_type: ElementType,
    custom: Custom,
    *,
    version: tuple[int, int],
    idle: Idle = frozenset(),
) -> None:
    """Add custom data to the element of its owner.

    Data is omitted if the enclosing element is not written, or if its name is invalid
    in XML.

    Args:
        element: The owner's element, complete but for this.
        element_type: Its type.
        custom: The custom data.
        version: URDF version of the file.
        idle: Tag and name of attributes of the language that this owner ignores.
    """
    for attribute in custom.attributes:
        found = _place(element, element_type, attribute.within)
        if found is None or not _is_name(attribute.name):
            continue
        place, place_type = found
        name = attribute.name
        unread = (place_type.tag, name) in idle or not _is_read(place_type, name, version)
        if unread and name not in place.attrib:
            place.set(name, attribute.value)
    for one in custom.elements:
        found = _place(element, element_type, one.within)
        if found and _is_custom(one.content.tag, found[1]):
            _append(found[0], one.content)


def addressed(elements: Iterable[CustomElement]) -> tuple[CustomElement, ...]:
    """Return Gazebo's elements, which are children of the robot."""
    return tuple(
        one
        for one in elements
        if one.content.tag == GAZEBO
        and not one.within
        and REFERENCE in dict(one.content.attributes)
    )


def _place(
    element: ET.Element, element_type: ElementType, within: tuple[str, ...]
) -> tuple[ET.Element, ElementType] | None:
    """Return the element that encloses custom data; created if neutral."""
    if element_type is g.ROBOT and within[:1] == (g.MATERIAL.tag,) and len(within) > 1:
        name, *within_material = within[1:]
        material = _material(element, name)
        return _place(material, g.MATERIAL, tuple(within_material))
    for tag in within:
        child = element_type.child(tag)
        if child is None or child.repeats:
            return None
        inner = element.find(tag)
        if inner is None:
            if child.type not in _NEUTRAL:
                return None
            inner = ET.SubElement(element, tag)
        element, element_type = inner, child.type
    return element, element_type


def _material(robot: ET.Element, name: str) -> ET.Element:
    """Find or create the robot's material with a name."""
    same = (m for m in robot.iterfind(g.MATERIAL.tag) if m.get("name") == name)
    found = next(same, None)
    if found is None:
        found = ET.SubElement(robot, g.MATERIAL.tag, {g.OPTIONAL_NAME.name: name})
    return found


def _is_read(element_type: ElementType, name: str, version: tuple[int, int]) -> bool:
    known = {one.name: one.since for one in element_type.attributes}
    if element_type is g.ROBOT and name == g.VERSION.name:
        return False
    return name in known and known[name] <= version


def _is_custom(tag: str, element_type: ElementType) -> bool:
    # Materials of the robot that nothing uses.
    unused = element_type is g.ROBOT and tag == g.MATERIAL.tag
    known = element_type.child(tag) is not None
    return _is_name(tag) and (unused or not known)


def _is_name(text: str) -> bool:
    """Return whether a name is valid in XML; beyond ASCII, according to expat."""
    if _PLAIN_NAME.fullmatch(text):
        return True
    if not _OTHER_NAME.fullmatch(text):
        return False
    try:
        expat.ParserCreate().Parse(f"<{text}/>", True)
    except (expat.ExpatError, UnicodeError):
        return False
    return True


def _append(parent: ET.Element, content: XmlElement) -> None:
    names = {name: text for name, text in content.attributes if _is_name(name)}
    element = ET.SubElement(parent, content.tag, names)
    element.text = content.text or None
    for child in content.children:
        if _is_name(child.tag):
            _append(element, child)
