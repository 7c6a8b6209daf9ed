"""Reading of URDF and xacro files to a :class:`~urdf_usd.converter.robot.model.Robot`.

Text becomes elements with locations (``xml``, after expansion by ``xacro``), elements
become typed nodes (``grammar``), nodes become a robot (``build``).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from lxml import etree
from msgspec import Struct, structs

from urdf_usd.converter import diagnostics as d
from urdf_usd.converter.diagnostics import Diagnostic, Location, Notes, SourceError, times, truncate
from urdf_usd.converter.robot import topology
from urdf_usd.converter.robot.model import Fixed, Robot, robot_line
from urdf_usd.converter.urdf import build
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import SUFFIX, Expansion, expand, is_xacro
from urdf_usd.converter.urdf.xml import Element, describe, fatal, load, parse_markup

_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", re.ASCII)
# Moving joints above which a check exceeds the usual limits of time and memory.
_LARGE = 1000


class Markup(Struct, frozen=True):
    """The elements of a URDF or xacro file; with the expansion if it is xacro."""

    root: Element
    expansion: Expansion | None = None


class Parsed(Struct, frozen=True):
    """A parsed URDF."""

    robot: Robot  # a tree of uniquely named links and joints
    diagnostics: tuple[Diagnostic, ...]  # warnings and notes, in document order
    markup: Markup  # the elements as written; for xacro, after expansion

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
        environment: Names of environment variables that xacro may read, besides those of ROS.
        root: Link whose subtree is read; None for the whole robot, which must have one root.

    Raises:
        SourceError: The robot cannot be read; contains all diagnostics.
    """
    file = os.fspath(path)
    notes: list[Diagnostic] = []
    with d.with_notes(notes):
        markup = read_markup(file, packages, arguments, environment, notes)
    return robot_of(markup, file, packages=packages, root=root, notes=notes)


def robot_of(
    markup: Markup,
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    root: str | None = None,
    notes: Collection[Diagnostic] = (),
) -> Parsed:
    """Read a robot from the elements of its file, with their diagnostics; see :func:`parse`."""
    found = Notes(notes)
    with d.with_notes(found):
        robot = _robot(markup.root, FileResolver(Path(path), packages, os.environ), root, found)
    diagnostics = tuple(sorted(found, key=d.by_location))
    if any(diagnostic.severity is d.Severity.ERROR for diagnostic in diagnostics):
        raise SourceError(diagnostics)
    return Parsed(robot, diagnostics, markup)


def _robot(root: Element, resolver: FileResolver, tree_root: str | None, notes: Notes) -> Robot:
    if root.tag != g.ROBOT.tag:
        message = f"the root element is {describe(root)}, not <robot>"
        raise fatal("root-element", message, root.location)
    # https://github.com/bulletphysics/bullet3, data/torus_deform.urdf
    body = next((child for child in root.children if child.tag == "deformable"), None)
    if body and not _has_links(root):
        message = f"{describe(body)} is a deformable body, which is not supported"
        raise fatal("robot-deformable", message, body.location)
    version = _read_version(root, notes)
    root = _without_repeats(root, notes)
    node = g.read(root, g.ROBOT, version, notes)
    _note_elements(root, version, notes)
    files = _resolve(node, resolver, notes)
    materials = build.build_materials(node, files, notes)
    links = tuple(build.build_link(n, version, files, materials, notes) for n in node.all(g.LINK))
    joints = tuple(build.build_joint(joint, version, notes) for joint in node.all(g.JOINT))
    links = build.define_world(joints, links, notes)
    joints = build.drop_dangling(joints, links, notes)
    name = node[g.OPTIONAL_NAME]
    if name is None:
        name = Path(resolver.urdf.name.removesuffix(SUFFIX)).stem
        notes.add("robot-unnamed", node, f"the robot has no name; called {name!r} after its file")
    custom = build.collect_robot_custom(node, version)
    robot = build.assign_gazebo_elements(Robot(name, links, joints, node.location, custom))
    if tree_root is not None:
        if any(link.name == tree_root for link in robot.links):
            robot = topology.subtree(robot, tree_root)
        else:
            notes.add("root-unknown", robot, f"link {tree_root!r}, given as root, is not defined")
    robot = structs.replace(robot, joints=build.drop_broken_mimics(robot.joints, notes))
    # If a name is missing, further errors are consequences.
    if all(link.name for link in robot.links) and all(
        joint.name and joint.parent and joint.child for joint in robot.joints
    ):
        notes.extend(topology.problems(robot))
    moving = sum(not isinstance(joint.kind, Fixed) for joint in robot.joints)
    if moving > _LARGE:
        message = f"{moving} moving joints; a check takes minutes and gigabytes"
        notes.add("robot-large", robot, message)
    return robot


def _read_version(root: Element, notes: Notes) -> g.Version:
    text = root.get(g.VERSION.name)
    if text is None:
        return g.FIRST_VERSION
    match = _VERSION.fullmatch(text.strip())
    version = (int(match[1]), int(match[2] or 0)) if match else g.FIRST_VERSION
    if match is None or version[0] != g.FIRST_VERSION[0]:
        notes.add("urdf-version", root, f"URDF version {text!r} is unknown")
    return max(version, g.FIRST_VERSION)


def _without_repeats(root: Element, notes: Notes) -> Element:
    """Drop links and joints that are written twice; different ones of one name are an error."""
    names = Counter((element.tag, element.get("name")) for element in root.children)
    first: dict[str, Location] = {}
    kept = []
    for element in root.children:
        place = element.location
        if element.tag in (g.LINK.tag, g.JOINT.tag) and names[element.tag, element.get("name")] > 1:
            place = first.setdefault(str(_content(element)), place)
        if place is element.location:
            kept.append(element)
        else:
            message = f"{describe(element)} is written as in line {place.line}; one is kept"
            notes.add("part-repeated", element, message)
    return structs.replace(root, children=tuple(kept))


def _content(element: Element) -> tuple[object, ...]:
    children = tuple(map(_content, element.children))
    return element.tag, element.text, sorted(element.attributes), children


def _note_elements(root: Element, version: g.Version, notes: Notes) -> None:
    """Report elements and attributes that are not URDF or newer, and ignored text.

    Each is reported once, at its first occurrence, with a count.
    """
    places: dict[tuple[str, str], list[Element]] = {}

    def add(rule: str, where: Element, message: str) -> None:
        places.setdefault((rule, message), []).append(where)

    for element, element_type in g.walk(root, g.ROBOT):
        tag = f"<{element.tag}>"
        if element_type is None:
            add("element-unknown", element, f"{tag} is not URDF; kept as custom data")
            continue
        known = [attribute.name for attribute in element_type.attributes]
        for name, _ in element.attributes:
            # Namespace declarations, which xacro leaves in the file, are not reported.
            if name not in known and name.partition(":")[0] != "xmlns":
                what = f"{name} of {tag} is not URDF; kept as custom data"
                add("element-unknown", element, what)
        if element.text:
            add("text-ignored", element, f"there is text in {tag}; ignored")
        for inner in element.children:
            child = element_type.child(inner.tag)
            if child and version < child.since:
                since = ".".join(map(str, child.since))
                message = f"<{inner.tag}> belongs to URDF {since}; read nevertheless"
                add("element-version", inner, message)
    for (rule, message), found in places.items():
        notes.add(rule, found[0], f"{message} ({times(len(found))})")


def _resolve(robot: g.Node, resolver: FileResolver, notes: Notes) -> build.Files:
    """Resolve the file references of meshes and textures, each once."""
    uses: dict[tuple[str, str], list[g.Node]] = {}
    for element_type in (g.MESH, g.TEXTURE):
        for node in robot.descendants(element_type):
            if uri := node[g.FILENAME]:
                uses.setdefault((element_type.tag, uri), []).append(node)
    paths: dict[str, str | None] = {}
    for (tag, uri), nodes in uses.items():
        found = resolver.find(uri)
        paths[uri] = str(found.path) if found else None
        if found is None:
            remote = uri.lower().startswith(("http://", "https://", "ftp://"))
            problems = {f"{tag}-missing": "is not downloaded" if remote else "is not found"}
        else:
            problems = {
                "file-reference": f"is read as {found.read_as!r}" if found.read_as else "",
                "file-letter-case": f"is found as {found.path.name!r}" if found.other_case else "",
                "file-outside": "is outside the robot's own folders" if found.outside else "",
            }
        for rule, what in problems.items():
            if what:
                notes.add(rule, nodes[0], f"{uri!r} {what} (used {times(len(nodes))})")
    return paths


# Unused definitions have no effect on the robot.
_DEFINITIONS = {"macro", "property", "arg"}
_SUBSTITUTION = re.compile(r"\$[({]")
# File references may contain $(find PACKAGE), which is resolved without xacro.
_SUBSTITUTION_IN_TEXT = re.compile(r"\$\{|\$\((?!find\b)")


def read_markup(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str],
    notes: list[Diagnostic],
) -> Markup:
    """Read the elements of a file; xacro is expanded first.

    A file that contains xacro but is not named so is expanded if that is possible. Otherwise
    its elements are returned as they are: other URDF parsers ignore unknown elements.

    Raises:
        SourceError: It cannot be read, expanded or parsed as XML.
    """
    data = load(file)
    root: Element | None = None
    found: list[Diagnostic] = []
    if not is_xacro(file):
        root = parse_markup(data, file, notes)
        # Most files have neither, which is faster to see in the bytes; UTF-16 has zeros.
        plain = data.replace(b"\0", b"")
        uses = tuple(_xacro_uses(root)) if b"$" in plain or b"xacro" in plain else ()
        if not uses:
            return Markup(root)
        _, what, place = uses[0]
        found.append(Diagnostic("xacro-in-urdf", f"{what}; the file is expanded", place))
    try:
        expansion = expand(file, packages, arguments, environment=environment)
        expanded = _expanded(expansion, file, found)
    except SourceError as error:
        if root is None:
            raise
        reason = next(one.message for one in error.diagnostics if one.severity is d.Severity.ERROR)
        message = f"{what}, but the file cannot be expanded: {reason}"
        ignored = Diagnostic("xacro-ignored", message, place)
        # Without it the robot is unknown: a substitution in a name or a number, or any
        # element of xacro if there are no links.
        kinds = {"value"} if _has_links(root) else {"value", "element"}
        needed = [Diagnostic("xacro-unexpanded", w, p) for kind, w, p in uses if kind in kinds]
        if needed:
            raise SourceError((ignored, needed[0])) from None
        notes.append(ignored)
        return Markup(root)
    notes.extend(found)
    if not _has_links(expanded):
        # The file may be part of another one: its only xacro are definitions.
        root = root or parse_markup(data, file, notes)
        tags = {c.tag.removeprefix("xacro:") for c in root.children if _is_xacro(c)}
        if root.tag == g.ROBOT.tag and tags & _DEFINITIONS and tags <= {*_DEFINITIONS, "include"}:
            message = "part of another file: it only defines macros, properties or arguments"
            raise fatal("xacro-part", message, root.location)
    return Markup(expanded, expansion)


def _expanded(expansion: Expansion, file: str, notes: list[Diagnostic]) -> Element:
    """Return the elements of an expansion, with locations in the xacro files."""
    notes.extend(expansion.diagnostics)
    origins = iter(expansion.origins)

    def relocated(element: Element) -> Element:
        place = next(origins)
        children = tuple(map(relocated, element.children))
        return structs.replace(element, location=place, children=children)

    # Locations in the expanded text are named as such.
    return relocated(parse_markup(expansion.text.encode(), f"expansion of {file}", notes))


def _xacro_uses(root: Element) -> Iterator[tuple[str, str, Location]]:
    """Yield what xacro would change: an element, a value or a file; description and location."""
    unused = {f"xacro:{tag}" for tag in _DEFINITIONS} if _has_links(root) else set()
    for element, element_type in g.walk(root, g.ROBOT):
        if element_type is None and _is_xacro(element) and element.tag not in unused:
            yield "element", f"{describe(element)} is a xacro element", element.location
        for attribute in element_type.attributes if element_type else ():
            text = element.get(attribute.name) or ""
            is_file = attribute.kind == g.TEXT
            if (_SUBSTITUTION_IN_TEXT if is_file else _SUBSTITUTION).search(text):
                what = f"{attribute.name} of <{element.tag}> is {truncate(repr(text))}"
                yield "file" if is_file else "value", what, element.location


def _has_links(root: Element) -> bool:
    return any(child.tag == g.LINK.tag for child in root.children)


def _is_xacro(element: Element) -> bool:
    return element.tag.startswith("xacro:")


def standalone_urdf(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str] = (),
) -> bytes:
    """Expand a xacro file to a URDF that does not depend on its folder; errors as of it."""
    expansion = expand(file, packages, arguments, environment=environment)
    # Reports XML errors with locations in the xacro file.
    _expanded(expansion, file, [])
    return relocatable_urdf(expansion, file, packages)


def relocatable_urdf(expansion: Expansion, file: str, packages: Mapping[str, str]) -> bytes:
    """Return an expansion as a URDF that does not depend on its folder.

    Resolved file references become absolute paths, and a robot without name is named
    after the xacro file.
    """
    root = etree.fromstring(expansion.text)
    resolver = FileResolver(Path(file), packages, os.environ)
    for element in root.iter(g.MESH.tag, g.TEXTURE.tag):
        found = resolver.find(element.get(g.FILENAME.name, ""))
        if found:
            element.set(g.FILENAME.name, str(found.path))
    if root.get(g.NAME.name) is None:
        root.set(g.NAME.name, Path(Path(file).name.removesuffix(SUFFIX)).stem)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)
