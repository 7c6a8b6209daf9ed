"""Edits that make a URDF smaller.

An edit names an element by its index in document order, so that it can be applied to a
copy of the document. Edits of one list can be applied together, in any number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from lxml import etree
from msgspec import Struct

_Element: TypeAlias = etree._Element  # lxml's name for annotations
_Nodes: TypeAlias = Sequence[_Element]
# Elements that are not removed by themselves.
_ENDS = frozenset({"robot", "parent", "child"})
_STRUCTURE = _ENDS | {"link", "joint"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# Attributes whose text is a list of numbers.
_NUMERIC = frozenset(
    {
        *("acceleration", "damping", "deceleration", "effort", "friction", "jerk"),
        *("ixx", "ixy", "ixz", "iyy", "iyz", "izz", "value"),
        *("k_position", "k_velocity", "soft_lower_limit", "soft_upper_limit"),
        *("lower", "upper", "velocity", "multiplier", "offset"),
        *("xyz", "rpy", "quat_xyzw", "rgba", "scale", "size", "radius", "length"),
    }
)


class RemoveElement(Struct, frozen=True):
    """Remove an element with all that it contains."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        _remove(nodes[self.index])


class RemoveSubtree(Struct, frozen=True):
    """Remove a joint, and the links and joints that it carries."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        joint = nodes[self.index]
        carried = _carried_links(nodes[0], _end(joint, "child"))
        _remove_links(nodes[0], carried)
        _remove(joint)


class KeepSubtree(Struct, frozen=True):
    """Remove all links and joints but those that a joint carries."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        carried = _carried_links(nodes[0], _end(nodes[self.index], "child"))
        others = {link.get("name", "") for link in nodes[0].iterchildren("link")}
        _remove_links(nodes[0], others - carried)


class ContractJoint(Struct, frozen=True):
    """Remove a joint and its child; the joints of the child become the parent's."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        joint = nodes[self.index]
        parent, child = _end(joint, "parent"), _end(joint, "child")
        _remove(joint)
        for other in nodes[0].iterchildren("joint"):
            for end in other.iterchildren("parent"):
                if end.get("link") == child:
                    end.set("link", parent)
        _remove_links(nodes[0], {child})


class RemoveAttribute(Struct, frozen=True):
    """Remove an attribute."""

    index: int
    name: str

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        nodes[self.index].attrib.pop(self.name, None)


class SetNumber(Struct, frozen=True):
    """Replace one number of an attribute.

    Attributes:
        index: Index of the element.
        name: Attribute.
        place: Index of the number.
        text: New text of the number.
    """

    index: int
    name: str
    place: int
    text: str

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        words = nodes[self.index].get(self.name, "").split()
        words[self.place] = self.text
        nodes[self.index].set(self.name, " ".join(words))


class ReplaceMesh(Struct, frozen=True):
    """Replace a mesh by a box."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        mesh = nodes[self.index]
        mesh.tag = "box"
        mesh.attrib.clear()
        mesh.set("size", "1 1 1")


class FixJoint(Struct, frozen=True):
    """Make a joint fixed."""

    index: int

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        nodes[self.index].set("type", "fixed")


class ShortenNames(Struct, frozen=True):
    """Name links, joints and materials by letters and numbers, in document order."""

    def apply(self, nodes: _Nodes) -> None:
        """Edit the elements of a document, in document order."""
        names: dict[tuple[str, str], str] = {}
        for node in nodes:
            name = node.get("name")
            letter = _LETTERS.get(str(node.tag))
            if name is not None and letter is not None:
                count = sum(kind == node.tag for kind, _ in names)
                names.setdefault((str(node.tag), name), f"{letter}{count + 1}")
        for node in nodes:
            tag = str(node.tag)
            for attribute, kind in _REFERENCES.get(tag, ()):
                value = node.get(attribute, "")
                if (kind, value) in names:
                    node.set(attribute, names[kind, value])
        if nodes[0].get("name") is not None:
            nodes[0].set("name", "r")


Edit: TypeAlias = (
    RemoveElement
    | RemoveSubtree
    | KeepSubtree
    | ContractJoint
    | RemoveAttribute
    | SetNumber
    | ReplaceMesh
    | FixJoint
    | ShortenNames
)
Pass: TypeAlias = Callable[[_Nodes], Iterable[Edit]]

_LETTERS = {"link": "l", "joint": "j", "material": "m"}
# Attributes with the name of a link, joint or material, by element.
_REFERENCES = {
    "link": (("name", "link"),),
    "joint": (("name", "joint"),),
    "material": (("name", "material"),),
    "parent": (("link", "link"),),
    "child": (("link", "link"),),
    "mimic": (("joint", "joint"),),
    "gazebo": (("reference", "link"), ("reference", "joint")),
}


def _subtrees(nodes: _Nodes) -> Iterator[Edit]:
    """Joints by the number of links that they carry, the fewest first."""
    joints = [i for i, node in enumerate(nodes) if _is_joint(node)]
    carried = {i: len(_carried_links(nodes[0], _end(nodes[i], "child"))) for i in joints}
    for index in sorted(joints, key=lambda i: (carried[i], i)):
        yield KeepSubtree(index)


def _branches(nodes: _Nodes) -> Iterator[Edit]:
    return (RemoveSubtree(i) for i, node in enumerate(nodes) if _is_joint(node))


def _links_between(nodes: _Nodes) -> Iterator[Edit]:
    return (ContractJoint(i) for i, node in enumerate(nodes) if _is_joint(node))


def _elements(nodes: _Nodes) -> Iterator[Edit]:
    return (RemoveElement(i) for i, node in enumerate(nodes) if node.tag not in _ENDS)


def _meshes(nodes: _Nodes) -> Iterator[Edit]:
    return (ReplaceMesh(i) for i, node in enumerate(nodes) if node.tag == "mesh")


def _types(nodes: _Nodes) -> Iterator[Edit]:
    return (
        FixJoint(i)
        for i, node in enumerate(nodes)
        if _is_joint(node) and node.get("type") != "fixed"
    )


def _attributes(nodes: _Nodes) -> Iterator[Edit]:
    for index, node in enumerate(nodes):
        if node.tag in _STRUCTURE and node.tag != "robot":
            continue
        for name in node.attrib:
            yield RemoveAttribute(index, str(name))


def _constants(nodes: _Nodes) -> Iterator[Edit]:
    for text in ("0", "1"):
        for index, name, place, word in _numbers(nodes):
            if word not in {"0", "1"}:
                yield SetNumber(index, name, place, text)


def _digits(digits: int) -> Pass:
    def edits(nodes: _Nodes) -> Iterator[Edit]:
        for index, name, place, word in _numbers(nodes):
            text = f"{float(word):.{digits}g}"
            if len(text) < len(word):
                yield SetNumber(index, name, place, text)

    return edits


def _names(nodes: _Nodes) -> Iterator[Edit]:
    del nodes
    yield ShortenNames()


# From the edits that remove most to those that remove least.
PASSES: tuple[Pass, ...] = (
    _subtrees,
    _branches,
    _elements,
    _links_between,
    _meshes,
    _types,
    _attributes,
    _constants,
    _digits(1),
    _digits(2),
    _digits(3),
    _names,
)


def read_document(text: bytes) -> _Element:
    """Read XML without comments; external entities are not loaded.

    Raises:
        XMLSyntaxError: The text is not well-formed XML.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
    )
    return etree.fromstring(text, parser)


def document_text(root: _Element) -> bytes:
    """Return an indented document."""
    etree.cleanup_namespaces(root)
    etree.indent(root)
    return etree.tostring(root) + b"\n"


def edit(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to a document."""
    root = read_document(text)
    nodes = list(root.iter(etree.Element))
    for one in edits:
        one.apply(nodes)
    return document_text(root)


def list_edits(text: bytes, one: Pass) -> tuple[Edit, ...]:
    """List the edits of a pass for a document."""
    return tuple(one(list(read_document(text).iter(etree.Element))))


def count_size(text: bytes) -> tuple[int, int, int]:
    """Count links, joints and bytes of a document."""
    root = read_document(text)
    links = sum(1 for _ in root.iterchildren("link"))
    return links, sum(1 for _ in root.iterchildren("joint")), len(text)


def _numbers(nodes: _Nodes) -> Iterator[tuple[int, str, int, str]]:
    for index, node in enumerate(nodes):
        for name, value in node.attrib.items():
            if name not in _NUMERIC:
                continue
            for place, word in enumerate(str(value).split()):
                if _NUMBER.fullmatch(word) and math.isfinite(float(word)):
                    yield index, str(name), place, word


def _is_joint(node: _Element) -> bool:
    # Elements of ros2_control and transmission have joints as well.
    return node.tag == "joint" and node.find("child") is not None


def _end(joint: _Element, tag: str) -> str:
    end = joint.find(tag)
    return "" if end is None else end.get("link", "")


def _carried_links(robot: _Element, link: str) -> set[str]:
    children: dict[str, list[str]] = {}
    for joint in robot.iterchildren("joint"):
        children.setdefault(_end(joint, "parent"), []).append(_end(joint, "child"))
    found: set[str] = set()
    waiting = [link]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += children.get(name, [])
    return found


def _remove_links(robot: _Element, names: set[str]) -> None:
    """Remove links, and the joints at them."""
    for link in [*robot.iterchildren("link")]:
        if link.get("name", "") in names:
            _remove(link)
    for joint in [*robot.iterchildren("joint")]:
        if names & {_end(joint, "parent"), _end(joint, "child")}:
            _remove(joint)


def _remove(node: _Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)
