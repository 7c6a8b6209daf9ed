"""Rules about names and references by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import UrdfDocument
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node
from urdf_usd.converter.urdf.xml.elements import Element

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORLD = "world"
# Elements that refer to joints by <joint name="">.
_DRIVES = frozenset({"transmission", "ros2_control"})


def not_portable(document: UrdfDocument) -> Breaches:
    """Names of links and joints that are no identifiers."""
    for node in _links_and_joints(document):
        name = node[g.NAME]
        if name and not _IDENTIFIER.fullmatch(name):
            message = f"the name of {node.type.tag} {name!r} is not an identifier"
            yield Breach(message, node.location)


def link_and_joint(document: UrdfDocument) -> Breaches:
    """Joints with the name of a link."""
    links = {link[g.NAME] for link in document.links}
    for joint in document.joints:
        name = joint[g.NAME]
        if name and name in links:
            yield Breach(f"a link and a joint are called {name!r}", joint.location)


def repeated_shape(document: UrdfDocument) -> Breaches:
    """Collision shapes with the name of an earlier one, of any link."""
    first: dict[str, Node] = {}
    for link in document.links:
        for shape in link.all(g.COLLISION):
            name = shape[g.OPTIONAL_NAME]
            if name and first.setdefault(name, shape) is not shape:
                line = first[name].location.line
                message = f"collision shape {name!r} is also at line {line}"
                yield Breach(message, shape.location)


def part_named_world(document: UrdfDocument) -> Breaches:
    """Links named world with mass or shapes, or that are the child of a joint."""
    children = {child[g.LINK_NAME] for joint in document.joints if (child := joint.first(g.CHILD))}
    for link in document.links:
        if link[g.NAME] == _WORLD and (link.children or _WORLD in children):
            what = "is behind a joint" if _WORLD in children else "has mass or shape"
            yield Breach(f"link {_WORLD!r} {what}", link.location)


def undefined_reference(document: UrdfDocument) -> Breaches:
    """References of extension elements to undefined links and joints."""
    joints = {joint[g.NAME] for joint in document.joints}
    names = joints | {link[g.NAME] for link in document.links}
    for element in document.root.children:
        if element.tag == "gazebo":
            reference = element.get("reference")
            if reference and reference not in names:
                message = f"<gazebo> refers to {reference!r}, which does not exist"
                yield Breach(message, element.location)
        elif element.tag in _DRIVES:
            for joint in _inner_joints(element):
                name = joint.get("name")
                if name and name not in joints:
                    message = f"<{element.tag}> drives joint {name!r}, which does not exist"
                    yield Breach(message, joint.location)


def _links_and_joints(document: UrdfDocument) -> Iterator[Node]:
    yield from (node for node in document.robot.children if node.type in (g.LINK, g.JOINT))


def _inner_joints(element: Element) -> Iterator[Element]:
    for child in element.children:
        if child.tag == "joint":
            yield child
