"""URDF documents, and edits that make them smaller.

An edit changes one element of a document, given by its index in document order, so that it can be
applied to a copy of the document, together with other edits of its pass.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.inputs import referred_files
from urdf_usd.converter.urdf.parse import standalone_urdf
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.converter.urdf.xml import Element as RepairedElement
from urdf_usd.converter.urdf.xml import parse_markup
from urdf_usd.corpus import RobotSource

Element: TypeAlias = etree._Element  # lxml's name for annotations
_Nodes: TypeAlias = Sequence[Element]
# Of the element with the index: it gets the robot, and the element.
Edit: TypeAlias = tuple[int, Callable[[Element, Element], object]]
Pass: TypeAlias = Callable[[_Nodes], Iterable[Edit]]

_FILES = ("mesh", "texture")
_FOLDER = "files"
# Elements that are not removed by themselves.
_ENDS = frozenset({"robot", "parent", "child"})
_STRUCTURE = _ENDS | {"link", "joint"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_NAMES = ("name", "link", "joint", "reference")
_NOT_NUMBERS = {*_NAMES, "filename", "type", "version"}
_UNITS = ("0", "1")


class ReductionError(Exception):
    """A robot cannot be reduced; the message states the cause."""


def read_document(text: bytes) -> Element:
    """Read XML without comments; external entities are not loaded."""
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


def standalone_document(source: RobotSource, options: ConvertOptions) -> bytes:
    """Read a robot as a URDF document that names files by absolute paths."""
    packages = {name: str(folder) for name, folder in source.packages} | dict(options.packages)
    if is_xacro(str(source.path)):
        arguments = dict(source.arguments) | dict(options.arguments)
        text = standalone_urdf(str(source.path), packages, arguments, options.environment)
    else:
        text = source.path.read_bytes()
    try:
        root = read_document(text)
    except etree.XMLSyntaxError:
        repaired = parse_markup(text, str(source.path), [])
        try:
            root = _element(repaired)
        except ValueError as error:
            raise ReductionError(f"{source.path}: cannot be repaired: {error}") from error
    resolver = FileResolver(source.path, packages, os.environ)
    for element in root.iter(*_FILES):
        if found := resolver.find(element.get("filename", "")):
            element.set("filename", str(found.path))
    return document_text(root)


def _element(repaired: RepairedElement) -> Element:
    """Copy a repaired element; names with a prefix are not URDF, and left out."""
    attributes = {name: text for name, text in repaired.attributes if ":" not in name}
    element = etree.Element(repaired.tag, attributes)
    element.text = repaired.text
    element.extend(_element(one) for one in repaired.children if ":" not in one.tag)
    return element


def write_with_files(document: bytes, urdf: Path) -> None:
    """Write a document into a folder, with copies of the files that it names."""
    root = read_document(document)
    named = [(element, Path(element.get("filename", ""))) for element in root.iter(*_FILES)]
    files: set[Path] = set()
    waiting = [path for _, path in named if path.is_absolute() and path.is_file()]
    while waiting:
        if (path := waiting.pop()) not in files:
            files.add(path)
            # Others that it refers to, such as material libraries and images.
            waiting += referred_files(path.read_bytes(), path)
    parent = os.path.commonpath([path.parent for path in files]) if files else ""
    for path in files:
        target = urdf.parent / _FOLDER / path.relative_to(parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for element, path in named:
        if path in files:
            element.set("filename", Path(_FOLDER, path.relative_to(parent)).as_posix())
    urdf.write_bytes(document_text(root))


def edit(text: bytes, edits: Iterable[Edit]) -> bytes:
    root = read_document(text)
    nodes = list(root.iter(etree.Element))
    for index, apply in edits:
        apply(root, nodes[index])
    return document_text(root)


def list_edits(text: bytes, edits_of: Pass) -> tuple[Edit, ...]:
    return tuple(edits_of(list(read_document(text).iter(etree.Element))))


def _end(joint: Element, tag: str) -> str:
    end = joint.find(tag)
    return "" if end is None else end.get("link", "")


def _carried_links(robot: Element, joint: Element) -> set[str]:
    carried: set[str] = set()
    waiting = [_end(joint, "child")]
    while waiting:
        if (name := waiting.pop()) not in carried:
            carried.add(name)
            others = robot.iterchildren("joint")
            waiting += [_end(one, "child") for one in others if _end(one, "parent") == name]
    return carried


def _remove(_: Element, node: Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)


def _remove_links(robot: Element, names: set[str]) -> None:
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
    names: dict[str, str] = {}
    for node in robot.iter("link", "joint", "material"):
        if name := node.get("name"):
            letter = str(node.tag)[0]
            count = sum(short.startswith(letter) for short in names.values())
            names.setdefault(name, f"{letter}{count + 1}")
    for node in robot.iterdescendants(etree.Element):
        for key in _NAMES:
            if (name := node.get(key)) in names:
                node.set(key, names[name])
    if "name" in robot.attrib:
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


def _numbers(form: str, nodes: _Nodes) -> Iterator[Edit]:
    """Yield an edit of each number for which there is a shorter text, or 0 or 1."""
    for index, node in enumerate(nodes):
        for name in (str(name) for name in node.attrib if name not in _NOT_NUMBERS):
            for position, word in enumerate(node.get(name, "").split()):
                if _NUMBER.fullmatch(word) and math.isfinite(float(word)) and word not in _UNITS:
                    text = form.format(float(word))
                    if text in _UNITS or len(text) < len(word):
                        yield index, partial(_set_number, name, position, text)


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
    *(partial(_numbers, form) for form in ("0", "1", "{:.1g}", "{:.2g}", "{:.3g}")),
    lambda _: [(0, _shorten_names)],
)
