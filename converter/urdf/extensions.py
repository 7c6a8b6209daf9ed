"""Custom data: attributes and elements that are not part of URDF, kept as written.

Owners are the robot, its links and joints, visuals and collisions. Data in other
elements, such as ``<limit>`` or ``<mesh>``, belongs to the enclosing owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from urdf_usd.converter.robot.model import (
    Custom,
    CustomAttribute,
    CustomElement,
    Joint,
    Link,
    Robot,
    XmlElement,
)
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node
from urdf_usd.converter.urdf.xml import Element

_OWNERS = (g.LINK, g.JOINT, g.VISUAL, g.COLLISION)
# Gazebo's elements are children of the robot and refer to a link or joint by name.
GAZEBO = "gazebo"
REFERENCE = "reference"


def collect_custom(node: Node, version: tuple[int, int]) -> Custom:
    """Return the custom data of an owner.

    Args:
        node: The owner's node.
        version: URDF version of the file; newer attributes are custom data.
    """
    return Custom(tuple(_attributes(node, version, ())), tuple(_elements(node, ())))


def collect_robot_custom(node: Node, version: tuple[int, int]) -> Custom:
    """Return the custom data of the robot, including unused materials."""
    local = (look for link in node.all(g.LINK) for look in link.descendants(g.MATERIAL))
    used = {look[g.OPTIONAL_NAME] for look in local}
    parts = [Custom(written(node, g.VERSION)), collect_custom(node, version)]
    for material in node.all(g.MATERIAL):
        name = material[g.OPTIONAL_NAME]
        if name in used:
            place = (g.MATERIAL.tag, str(name))
            attributes = tuple(_attributes(material, version, place))
            parts.append(Custom(attributes, tuple(_elements(material, place))))
        elif material.element:
            parts.append(Custom(elements=(CustomElement(_copy(material.element)),)))
    # Not one by one: a file may hold very many materials.
    return Custom(
        tuple(attribute for part in parts for attribute in part.attributes),
        tuple(element for part in parts for element in part.elements),
    )


def written(node: Node, *attributes: g.AttributeType[Any]) -> tuple[CustomAttribute, ...]:
    """Return attributes of the language as the file writes them."""
    within = () if node.type in (*_OWNERS, g.ROBOT) else (node.type.tag,)
    texts = dict(node.element.attributes) if node.element else {}
    return tuple(
        CustomAttribute(attribute.name, texts[attribute.name], within)
        for attribute in attributes
        if attribute.name in texts
    )


def nest_custom(custom: Custom, tag: str) -> Custom:
    """Return custom data as that of the enclosing owner."""
    return Custom(
        tuple(structs.replace(one, within=(tag, *one.within)) for one in custom.attributes),
        tuple(structs.replace(one, within=(tag, *one.within)) for one in custom.elements),
    )


def assign_gazebo_elements(robot: Robot) -> Robot:
    """Move the elements of Gazebo to the link or joint that they refer to."""
    links = {link.name for link in robot.links}
    joints = {joint.name for joint in robot.joints} - links
    addressed: dict[str, list[CustomElement]] = {}
    kept = []
    for element in robot.custom.elements:
        name = dict(element.content.attributes).get(REFERENCE)
        if element.content.tag == GAZEBO and name in links | joints:
            addressed.setdefault(str(name), []).append(element)
        else:
            kept.append(element)

    def with_share(part: Link | Joint) -> Custom:
        return part.custom + Custom(elements=tuple(addressed[part.name]))

    return structs.replace(
        robot,
        links=tuple(
            structs.replace(link, custom=with_share(link)) if link.name in addressed else link
            for link in robot.links
        ),
        joints=tuple(
            structs.replace(joint, custom=with_share(joint))
            if joint.name in addressed and joint.name in joints
            else joint
            for joint in robot.joints
        ),
        custom=Custom(robot.custom.attributes, tuple(kept)),
    )


def _attributes(
    node: Node, version: tuple[int, int], within: tuple[str, ...]
) -> Iterator[CustomAttribute]:
    written = node.element.attributes if node.element else ()
    if written:
        read = [one.name for one in node.type.attributes if one.since <= version]
        for name, value in written:
            if name not in read:
                yield CustomAttribute(name, value, within)
    for child in _inner(node):
        yield from _attributes(child, version, (*within, child.type.tag))


def _elements(node: Node, within: tuple[str, ...]) -> Iterator[CustomElement]:
    for element in node.element.children if node.element else ():
        if node.type.child(element.tag) is None:
            yield CustomElement(_copy(element), within)
    for child in _inner(node):
        yield from _elements(child, (*within, child.type.tag))


def _inner(node: Node) -> tuple[Node, ...]:
    """Return the child nodes that are no owners."""
    if node.type is g.ROBOT:
        return ()
    return tuple(child for child in node.children if child.type not in _OWNERS)


def _copy(element: Element) -> XmlElement:
    return XmlElement(
        element.tag,
        element.attributes,
        element.text,
        tuple(map(_copy, element.children)),
    )
