"""Edits that make a URDF smaller.

An edit changes the elements of a document, in document order. It finds its element by index,
so that it can be applied to a copy of the document, together with other edits of its pass.
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
Edit: TypeAlias = Callable[[_Nodes], None]
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
    for apply in edits:
        apply(nodes)
    return document_text(root)


def list_edits(text: bytes, edits_of: Pass) -> tuple[Edit, ...]:
    """List the edits of a pass for a document."""
    return tuple(edits_of(list(read_document(text).iter(etree.Element))))


def _keep_subtree(index: int, nodes: _Nodes) -> None:
    carried = _carried_links(nodes[0], _end(nodes[index], "child"))
    others = {link.get("name", "") for link in nodes[0].iterchildren("link")}
    _remove_links(nodes[0], others - carried)


def _remove_subtree(index: int, nodes: _Nodes) -> None:
    _remove_links(nodes[0], _carried_links(nodes[0], _end(nodes[index], "child")))
    _remove(nodes[index])


def _contract_joint(index: int, nodes: _Nodes) -> None:
    """Remove a joint and its child; the joints of the child become the parent's."""
    joint = nodes[index]
    parent, child = _end(joint, "parent"), _end(joint, "child")
    _remove(joint)
    for end in nodes[0].iterfind("joint/parent"):
        if end.get("link") == child:
            end.set("link", parent)
    _remove_links(nodes[0], {child})


def _remove_element(index: int, nodes: _Nodes) -> None:
    _remove(nodes[index])


def _remove_attribute(index: int, name: str, nodes: _Nodes) -> None:
    nodes[index].attrib.pop(name, None)


def _set_number(index: int, name: str, position: int, text: str, nodes: _Nodes) -> None:
    words = nodes[index].get(name, "").split()
    words[position] = text
    nodes[index].set(name, " ".join(words))


def _replace_mesh(index: int, nodes: _Nodes) -> None:
    mesh = nodes[index]
    mesh.tag = "box"
    mesh.attrib.clear()
    mesh.set("size", "1 1 1")


def _fix_joint(index: int, nodes: _Nodes) -> None:
    nodes[index].set("type", "fixed")


def _shorten_names(nodes: _Nodes) -> None:
    """Name links, joints and materials by letters and numbers, in document order."""
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
    if nodes[0].get("name") is not None:
        nodes[0].set("name", "r")


def _joints(nodes: _Nodes) -> list[int]:
    # Elements of ros2_control and transmission have joints as well.
    return [
        index
        for index, node in enumerate(nodes)
        if node.tag == "joint" and node.find("child") is not None
    ]


def _subtrees(nodes: _Nodes) -> Iterator[Edit]:
    """Joints by the number of links that they carry, the fewest first."""
    carried = {i: len(_carried_links(nodes[0], _end(nodes[i], "child"))) for i in _joints(nodes)}
    for index in sorted(carried, key=lambda index: (carried[index], index)):
        yield partial(_keep_subtree, index)


def _attributes(nodes: _Nodes) -> Iterator[Edit]:
    for index, node in enumerate(nodes):
        if node.tag == "robot" or node.tag not in _STRUCTURE:
            for name in node.attrib:
                yield partial(_remove_attribute, index, str(name))


def _numbers(nodes: _Nodes) -> Iterator[tuple[int, str, int, str]]:
    for index, node in enumerate(nodes):
        for name, value in node.attrib.items():
            if name in _NUMERIC:
                for position, word in enumerate(str(value).split()):
                    if _NUMBER.fullmatch(word) and math.isfinite(float(word)):
                        yield index, str(name), position, word


def _constants(nodes: _Nodes) -> Iterator[Edit]:
    for text in ("0", "1"):
        for index, name, position, word in _numbers(nodes):
            if word not in {"0", "1"}:
                yield partial(_set_number, index, name, position, text)


def _rounded(digits: int, nodes: _Nodes) -> Iterator[Edit]:
    for index, name, position, word in _numbers(nodes):
        text = f"{float(word):.{digits}g}"
        if len(text) < len(word):
            yield partial(_set_number, index, name, position, text)


# From the edits that remove most to those that remove least.
PASSES: tuple[Pass, ...] = (
    _subtrees,
    lambda nodes: [partial(_remove_subtree, i) for i in _joints(nodes)],
    lambda nodes: [partial(_remove_element, i) for i, n in enumerate(nodes) if n.tag not in _ENDS],
    lambda nodes: [partial(_contract_joint, i) for i in _joints(nodes)],
    lambda nodes: [partial(_replace_mesh, i) for i, n in enumerate(nodes) if n.tag == "mesh"],
    lambda nodes: [
        partial(_fix_joint, i) for i in _joints(nodes) if nodes[i].get("type") != "fixed"
    ],
    _attributes,
    _constants,
    *(partial(_rounded, digits) for digits in (1, 2, 3)),
    lambda _: [_shorten_names],
)


def _end(joint: Element, tag: str) -> str:
    end = joint.find(tag)
    return "" if end is None else end.get("link", "")


def _carried_links(robot: Element, link: str) -> set[str]:
    children: dict[str, list[str]] = {}
    for joint in robot.iterchildren("joint"):
        children.setdefault(_end(joint, "parent"), []).append(_end(joint, "child"))
    carried: set[str] = set()
    waiting = [link]
    while waiting:
        name = waiting.pop()
        if name not in carried:
            carried.add(name)
            waiting += children.get(name, [])
    return carried


def _remove_links(robot: Element, names: set[str]) -> None:
    """Remove links, and the joints at them."""
    for link in [*robot.iterchildren("link")]:
        if link.get("name", "") in names:
            _remove(link)
    for joint in [*robot.iterchildren("joint")]:
        if names & {_end(joint, "parent"), _end(joint, "child")}:
            _remove(joint)


def _remove(node: Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)
