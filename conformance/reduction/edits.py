"""Edits that make a URDF smaller.

An edit changes one element of a document, given by its index in document order, so that it can be
applied to a copy of the document, together with other edits of its pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from lxml import etree

Element: TypeAlias = etree._Element  # lxml's name for annotations
_Nodes: TypeAlias = Sequence[Element]
# Of the element with the index: it gets the robot, and the element.
Edit: TypeAlias = tuple[int, Callable[[Element, Element], object]]
Pass: TypeAlias = Callable[[_Nodes], Iterable[Edit]]

# Elements that are not removed by themselves.
_ENDS = frozenset({"robot", "parent", "child"})
_STRUCTURE = _ENDS | {"link", "joint"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# Attributes whose text is a list of numbers.
_NUMERIC = frozenset(
    {
        *("acceleration", "damping", "deceleration", "effort", "friction", "jerk", "ixx"),
        *("ixy", "ixz", "iyy", "iyz", "izz", "value", "k_position"),
        *("k_velocity", "soft_lower_limit", "soft_upper_limit", "lower", "upper", "velocity"),
        *("multiplier", "offset", "xyz", "rpy", "quat_xyzw", "rgba", "scale", "size"),
        *("radius", "length"),
    }
)
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


def read_document(text: bytes) -> Element:
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


def document_text(root: Element) -> bytes:
    """Return an indented document."""
    etree.cleanup_namespaces(root)
    etree.indent(root)
    return etree.tostring(root) + b"\n"


def edit(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to a document."""
    root = read_document(text)
    nodes = list(root.iter(etree.Element))
    for index, apply in edits:
        apply(root, nodes[index])
    return document_text(root)


def list_edits(text: bytes, edits_of: Pass) -> tuple[Edit, ...]:
    """List the edits of a pass for a document."""
    return tuple(edits_of(list(read_document(text).iter(etree.Element))))


def _end(joint: Element, tag: str) -> str:
    end = joint.find(tag)
    return "" if end is None else end.get("link", "")


def _carried_links(robot: Element, joint: Element) -> set[str]:
    """Return the links that a joint carries."""
    children: dict[str, list[str]] = {}
    for other in robot.iterchildren("joint"):
        children.setdefault(_end(other, "parent"), []).append(_end(other, "child"))
    carried: set[str] = set()
    waiting = [_end(joint, "child")]
    while waiting:
        name = waiting.pop()
        if name not in carried:
            carried.add(name)
            waiting += children.get(name, [])
    return carried


def _remove(_: Element, node: Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)


def _remove_links(robot: Element, names: set[str]) -> None:
    """Remove links, and the joints at them."""
    for node in [*robot.iterchildren("link", "joint")]:
        ends = {_end(node, "parent"), _end(node, "child")}
        if names & ({node.get("name", "")} if node.tag == "link" else ends):
            _remove(robot, node)


def _keep_subtree(robot: Element, joint: Element) -> None:
    others = {link.get("name", "") for link in robot.iterchildren("link")}
    _remove_links(robot, others - _carried_links(robot, joint))


def _remove_subtree(robot: Element, joint: Element) -> None:
    _remove_links(robot, _carried_links(robot, joint))
    _remove(robot, joint)


def _contract_joint(robot: Element, joint: Element) -> None:
    """Remove a joint and its child; the joints of the child become the parent's."""
    parent, child = _end(joint, "parent"), _end(joint, "child")
    _remove(robot, joint)
    for end in robot.iterfind("joint/parent"):
        if end.get("link") == child:
            end.set("link", parent)
    _remove_links(robot, {child})


def _remove_attribute(name: str, _: Element, node: Element) -> None:
    node.attrib.pop(name, None)


def _set_number(name: str, position: int, text: str, _: Element, node: Element) -> None:
    words = node.get(name, "").split()
    words[position] = text
    node.set(name, " ".join(words))


def _replace_mesh(_: Element, mesh: Element) -> None:
    mesh.tag = "box"
    mesh.attrib.clear()
    mesh.set("size", "1 1 1")


def _shorten_names(robot: Element, _: Element) -> None:
    """Name links, joints and materials by letters and numbers, in document order."""
    nodes = list(robot.iter(etree.Element))
    names: dict[tuple[str, str], str] = {}
    for node in nodes:
        name, tag = node.get("name"), str(node.tag)
        if name is not None and tag in _LETTERS:
            count = sum(kind == tag for kind, _ in names)
            names.setdefault((tag, name), f"{_LETTERS[tag]}{count + 1}")
    for node in nodes:
        for attribute, kind in _REFERENCES.get(str(node.tag), ()):
            key = kind, node.get(attribute, "")
            if key in names:
                node.set(attribute, names[key])
    if robot.get("name") is not None:
        robot.set("name", "r")


def _joints(nodes: _Nodes) -> list[int]:
    # Elements of ros2_control and transmission have joints as well.
    return [i for i, n in enumerate(nodes) if n.tag == "joint" and n.find("child") is not None]


def _subtrees(nodes: _Nodes) -> list[Edit]:
    """Joints by the number of links that they carry, the fewest first."""
    carried = {index: len(_carried_links(nodes[0], nodes[index])) for index in _joints(nodes)}
    return [(index, _keep_subtree) for index in sorted(carried, key=lambda i: (carried[i], i))]


def _attributes(nodes: _Nodes) -> Iterator[Edit]:
    for index, node in enumerate(nodes):
        if node.tag == "robot" or node.tag not in _STRUCTURE:
            for name in map(str, node.attrib):
                yield index, partial(_remove_attribute, name)


def _numbers(replace: Callable[[str], str | None], nodes: _Nodes) -> Iterator[Edit]:
    """Yield an edit of each number for which there is another text."""
    for index, node in enumerate(nodes):
        for name, value in node.attrib.items():
            for position, word in enumerate(str(value).split() if name in _NUMERIC else ()):
                if _NUMBER.fullmatch(word) and math.isfinite(float(word)):
                    text = replace(word)
                    if text is not None:
                        yield index, partial(_set_number, str(name), position, text)


def _constant(text: str, word: str) -> str | None:
    return None if word in {"0", "1"} else text


def _rounded(digits: int, word: str) -> str | None:
    text = f"{float(word):.{digits}g}"
    return text if len(text) < len(word) else None


# From the edits that remove most to those that remove least.
PASSES: tuple[Pass, ...] = (
    _subtrees,
    lambda nodes: [(i, _remove_subtree) for i in _joints(nodes)],
    lambda nodes: [(i, _remove) for i, n in enumerate(nodes) if n.tag not in _ENDS],
    lambda nodes: [(i, _contract_joint) for i in _joints(nodes)],
    lambda nodes: [(i, _replace_mesh) for i, n in enumerate(nodes) if n.tag == "mesh"],
    lambda nodes: [
        (i, lambda _, joint: joint.set("type", "fixed"))
        for i in _joints(nodes)
        if nodes[i].get("type") != "fixed"
    ],
    _attributes,
    lambda nodes: [one for text in "01" for one in _numbers(partial(_constant, text), nodes)],
    *(partial(_numbers, partial(_rounded, digits)) for digits in (1, 2, 3)),
    lambda _: [(0, _shorten_names)],
)
