"""Parsing of URDF to a :class:`~urdf_usd.converter.robot.model.Robot`.

Three steps: text to elements with locations (``xml``), elements to typed nodes
(``reader`` with ``grammar``), nodes to a robot (``links``, ``joints``, ``materials``).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import (
    Diagnostic,
    Location,
    SourceError,
    by_location,
    with_notes,
)
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.robot import topology
from urdf_usd.converter.robot.model import Fixed, Robot
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.extensions import (
    assign_gazebo_elements,
    collect_robot_custom,
)
from urdf_usd.converter.urdf.files.uris import FileResolver
from urdf_usd.converter.urdf.grammar import ROBOT, ElementType
from urdf_usd.converter.urdf.joints import (
    build_joint,
    define_world,
    drop_broken_mimics,
    drop_dangling,
)
from urdf_usd.converter.urdf.links import build_link, build_materials
from urdf_usd.converter.urdf.markup import Markup, read_markup
from urdf_usd.converter.urdf.reader import Node, read, walk
from urdf_usd.converter.urdf.xacro.expansion import SUFFIX
from urdf_usd.converter.urdf.xml import Element, describe

_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", re.ASCII)
_FIRST_VERSION = (1, 0)
_DEFORMABLE = "deformable"
# Moving joints above which a check exceeds the usual limits of time and memory.
_LARGE = 1000


class Parsed(Struct, frozen=True):
    """A parsed URDF.

    Attributes:
        robot: A tree of uniquely named links and joints.
        diagnostics: Warnings and notes, in document order.
        markup: The elements as written; for xacro, after expansion.
    """

    robot: Robot
    diagnostics: tuple[Diagnostic, ...]
    markup: Markup

    def __repr__(self) -> str:
        return f"<Parsed {robot_line(self.robot, self.diagnostics)}>"


def parse(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: Collection[str] = (),
    root: str | None = None,
) -> Parsed:
    """Read a URDF file, or the expansion of a xacro file.

    Args:
        path: The file, named in diagnostics as given.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro arguments, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
        root: Link whose subtree is read; None for the whole robot, which must have one
            root.

    Raises:
        SourceError: Invalid or unsupported URDF; contains all diagnostics.
    """
    file = os.fspath(path)
    notes: list[Diagnostic] = []
    with with_notes(notes):
        markup = read_markup(file, packages, arguments, environment, notes)
    return _parsed(markup, file, packages, root, notes)


def parse_markup(
    markup: Markup,
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
) -> Parsed:
    """Read a robot from the elements of its file; see :func:`parse`.

    Args:
        markup: As :func:`~urdf_usd.converter.urdf.markup.read_markup` returns it.
        path: The file, for file references.
        packages: Folders of ROS packages, by name.

    Raises:
        SourceError: As :func:`parse`.
    """
    return _parsed(markup, os.fspath(path), packages, None, [])


def _parsed(
    markup: Markup,
    file: str,
    packages: Mapping[str, str],
    root: str | None,
    notes: list[Diagnostic],
) -> Parsed:
    resolver = FileResolver(Path(file), packages, os.environ)
    with with_notes(notes):
        robot = _robot(markup.root, resolver, root, notes)
    diagnostics = tuple(sorted(notes, key=by_location))
    if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        raise SourceError(diagnostics)
    return Parsed(robot, diagnostics, markup)


def _robot(
    root: Element, resolver: FileResolver, tree_root: str | None, notes: list[Diagnostic]
) -> Robot:
    fatal = _not_a_robot(root) or _deformable(root)
    if fatal:
        raise SourceError((fatal,))
    version = _read_version(root, notes)
    root = _drop_repeated(root, notes)
    node = read(root, g.ROBOT, version, notes)
    element_notes(root, version, notes)
    meshes = _resolve(node, g.MESH, "mesh-missing", resolver, notes)
    images = _resolve(node, g.TEXTURE, "texture-missing", resolver, notes)
    materials = build_materials(node, images, notes)
    links = tuple(build_link(link, version, meshes, materials, notes) for link in node.all(g.LINK))
    joints = tuple(build_joint(joint, version, notes) for joint in node.all(g.JOINT))
    links = define_world(joints, links, notes)
    joints = drop_dangling(joints, links, notes)
    name = node[g.OPTIONAL_NAME]
    if name is None:
        name = Path(resolver.urdf.name.removesuffix(SUFFIX)).stem
        message = f"the robot has no name; called {name!r} after its file"
        notes.append(Diagnostic("robot-unnamed", message, node.location))
    custom = collect_robot_custom(node, version)
    robot = assign_gazebo_elements(Robot(name, links, joints, node.location, custom))
    if tree_root is not None:
        robot = _tree_below(robot, tree_root, notes)
    coupled = drop_broken_mimics(robot.joints, notes)
    robot = structs.replace(robot, joints=coupled)
    if _is_connected(robot):
        notes.extend(topology.problems(robot))
    moving = sum(not isinstance(joint.kind, Fixed) for joint in robot.joints)
    if moving > _LARGE:
        message = f"{moving} moving joints; a check takes minutes and gigabytes"
        notes.append(Diagnostic("robot-large", message, robot.location))
    return robot


def _drop_repeated(root: Element, notes: list[Diagnostic]) -> Element:
    """Drop links and joints that are identical repeats.

    Different links or joints with the same name are an error of the tree.
    """
    first: dict[tuple[str, str | None], Element] = {}
    kept = []
    for element in root.children:
        key = element.tag, element.get("name")
        is_part = element.tag in (g.LINK.tag, g.JOINT.tag)
        original = first.setdefault(key, element) if is_part else element
        if original is element or not element.same_text(original):
            kept.append(element)
            continue
        line = original.location.line
        message = f"{describe(element)} is written as in line {line}; one is kept"
        notes.append(Diagnostic("part-repeated", message, element.location))
    return structs.replace(root, children=tuple(kept))


def _tree_below(robot: Robot, root: str, notes: list[Diagnostic]) -> Robot:
    if any(link.name == root for link in robot.links):
        return topology.subtree(robot, root)
    message = f"link {root!r}, given as root, is not defined"
    notes.append(Diagnostic("root-unknown", message, robot.location))
    return robot


def _not_a_robot(root: Element) -> Diagnostic | None:
    if root.tag == g.ROBOT.tag:
        return None
    message = f"the root element is {describe(root)}, not <robot>"
    return Diagnostic("root-element", message, root.location)


def _deformable(root: Element) -> Diagnostic | None:
    """Find a deformable body in a file without links.

    https://github.com/bulletphysics/bullet3, data/torus_deform.urdf
    """
    tags = [child.tag for child in root.children]
    if _DEFORMABLE not in tags or g.LINK.tag in tags:
        return None
    body = root.children[tags.index(_DEFORMABLE)]
    message = f"{describe(body)} is a deformable body, which is not supported"
    return Diagnostic("robot-deformable", message, body.location)


def _is_connected(robot: Robot) -> bool:
    """Return whether all names are known; otherwise further errors are consequences."""
    return all(link.name for link in robot.links) and all(
        joint.name and joint.parent and joint.child for joint in robot.joints
    )


def _read_version(root: Element, notes: list[Diagnostic]) -> tuple[int, int]:
    text = root.get(g.VERSION.name)
    if text is None:
        return _FIRST_VERSION
    match = _VERSION.fullmatch(text.strip())
    version = (int(match[1]), int(match[2] or 0)) if match else _FIRST_VERSION
    if match is None or version[0] != _FIRST_VERSION[0]:
        message = f"URDF version {text!r} is unknown"
        notes.append(Diagnostic("urdf-version", message, root.location))
    return max(version, _FIRST_VERSION)


def _resolve(
    robot: Node,
    element_type: ElementType,
    missing: str,
    resolver: FileResolver,
    notes: list[Diagnostic],
) -> Mapping[str, str | None]:
    """Resolve the file references of one type of element, each once."""
    nodes = [node for node in robot.descendants(element_type) if node[g.FILENAME]]
    uses = Counter(node[g.FILENAME] for node in nodes)
    paths: dict[str, str | None] = {}
    for node in nodes:
        uri = node[g.FILENAME]
        if uri in paths:
            continue
        found = resolver.find(uri)
        paths[uri] = str(found.path) if found else None
        used = f"(used {times(uses[uri])})"
        if found is None and uri:
            why = "not downloaded" if _is_remote(uri) else "not found"
            message = f"{uri!r} is {why} {used}"
            notes.append(Diagnostic(missing, message, node.location))
        if found and found.read_as:
            message = f"{uri!r} is read as {found.read_as!r} {used}"
            notes.append(Diagnostic("file-reference", message, node.location))
        if found and found.other_case:
            message = f"{uri!r} is found as {found.path.name!r} {used}"
            notes.append(Diagnostic("file-letter-case", message, node.location))
        if found and found.outside:
            message = f"{uri!r} is outside the robot's own folders {used}"
            notes.append(Diagnostic("file-outside", message, node.location))
    return paths


def _is_remote(uri: str) -> bool:
    """Return whether a reference names a file on another machine."""
    return uri.lower().startswith(("http://", "https://", "ftp://"))


_NAMESPACE = "xmlns"


def element_notes(root: Element, version: tuple[int, int], notes: list[Diagnostic]) -> None:
    """Report elements and attributes that are not URDF or newer, and ignored text.

    Each is reported once, at its first occurrence, with a count.

    Args:
        root: The robot's element.
        version: URDF version of the file.
        notes: Receives diagnostics.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Location] = {}
    for element, element_type in walk(root, ROBOT):
        for location, rule, message in _element_notes(element, element_type, version):
            counts[rule, message] += 1
            first.setdefault((rule, message), location)
    for (rule, message), count in counts.items():
        text = f"{message} ({times(count)})"
        notes.append(Diagnostic(rule, text, first[rule, message]))


def _element_notes(
    element: Element, element_type: ElementType | None, version: tuple[int, int]
) -> Iterator[tuple[Location, str, str]]:
    place = element.location
    if element_type is None:
        message = f"<{element.tag}> is not URDF; kept as custom data"
        yield place, "element-unknown", message
        return
    known = [attribute.name for attribute in element_type.attributes]
    for name, _ in element.attributes:
        # Namespace declarations, which xacro leaves in the file, are not reported.
        if name not in known and name.partition(":")[0] != _NAMESPACE:
            message = f"{name} of <{element.tag}> is not URDF; kept as custom data"
            yield place, "element-unknown", message
    if element.text:
        yield place, "text-ignored", f"there is text in <{element.tag}>; ignored"
    for inner in element.children:
        child = element_type.child(inner.tag)
        if child and version < child.since:
            since = ".".join(map(str, child.since))
            message = f"<{inner.tag}> belongs to URDF {since}; read nevertheless"
            yield inner.location, "element-version", message
