"""Reading of URDF and xacro files as XML elements."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from lxml import etree
from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.files.uris import FileResolver
from urdf_usd.converter.urdf.kinds import Name, Text
from urdf_usd.converter.urdf.reader import walk
from urdf_usd.converter.urdf.xacro.expansion import (
    SUFFIX,
    Expansion,
    expand,
    is_xacro,
    relocated,
)
from urdf_usd.converter.urdf.xml import Element, describe, load, parse_markup


class Markup(Struct, frozen=True):
    """The elements of a URDF or xacro file.

    Attributes:
        root: The root element.
        expansion: The xacro expansion that it was read from; None if it is URDF.
    """

    root: Element
    expansion: Expansion | None = None


def read_markup(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str],
    notes: list[Diagnostic],
) -> Markup:
    """Read the elements of a file; xacro is expanded first.

    A file that contains xacro but is not named so is expanded if that is possible.
    Otherwise its elements are returned as they are: other URDF parsers ignore unknown
    elements.

    Locations of expanded elements are those in the xacro files.

    Args:
        file: Its path; what ends in ``.xacro`` is xacro.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
        notes: Receives diagnostics.

    Raises:
        SourceError: It cannot be read, expanded or parsed as XML.
    """
    data = load(file)
    if is_xacro(file):
        expansion = expand(file, packages, arguments, environment=environment)
        expanded = expanded_markup(expansion, file, notes)
        if not _has_links(expanded):
            _refuse_part(parse_markup(data, file, notes))
        return Markup(expanded, expansion)
    root = parse_markup(data, file, notes)
    xacro = _find_xacro(root)
    if xacro is None:
        return Markup(root)
    try:
        expansion = expand(file, packages, arguments, environment=environment)
        found: list[Diagnostic] = []
        expanded = expanded_markup(expansion, file, found)
    except SourceError as error:
        reason = next(one.message for one in error.diagnostics if one.severity is Severity.ERROR)
        message = f"{xacro.message}, but the file cannot be expanded: {reason}"
        ignored = Diagnostic("xacro-ignored", message, xacro.location)
        needed = _find_needed(root)
        if needed:
            raise SourceError((ignored, needed)) from None
        notes.append(ignored)
        return Markup(root)
    message = f"{xacro.message}; the file is expanded"
    notes.append(Diagnostic("xacro-in-urdf", message, xacro.location))
    notes.extend(found)
    if not _has_links(expanded):
        _refuse_part(root)
    return Markup(expanded, expansion)


def expanded_markup(expansion: Expansion, file: str, notes: list[Diagnostic]) -> Element:
    """Read the root element of the expansion of a xacro file.

    Args:
        expansion: The expanded text, with the locations of its elements.
        file: Its path.
        notes: Receives diagnostics.

    Raises:
        SourceError: The expansion cannot be parsed as XML.
    """
    notes.extend(expansion.diagnostics)
    # Locations in the expanded text are named as such.
    root = parse_markup(expansion.text.encode(), f"expansion of {file}", notes)
    return relocated(root, iter(expansion.origins))


_PREFIX = "xacro:"
_NAMESPACE_END = "/xacro"
# Unused definitions have no effect on the robot.
_DEFINITIONS = {"macro": "macros", "property": "properties", "arg": "arguments"}
_INCLUDE = "include"
_MARK = "$"
_SUBSTITUTION = re.compile(r"\$[({]")
# File references may contain $(find PACKAGE), which is resolved without xacro.
_SUBSTITUTION_IN_TEXT = re.compile(r"\$\{|\$\((?!find\b)")


def _refuse_part(root: Element) -> None:
    """Refuse a file whose only xacro are definitions, if it has any.

    Args:
        root: The root element before the expansion, which has no links.

    Raises:
        SourceError: The file is part of another one.
    """
    if root.tag != g.ROBOT.tag:
        return
    tags = {_local_name(child) for child in root.children if _is_xacro(child)}
    defined = [plural for tag, plural in _DEFINITIONS.items() if tag in tags]
    if defined and tags <= {*_DEFINITIONS, _INCLUDE}:
        # Properties and arguments beside macros are usually for these.
        message = f"part of another file: defines {defined[0]} only"
        raise SourceError((Diagnostic("xacro-part", message, root.location),))


def _find_needed(root: Element) -> Diagnostic | None:
    """Find xacro without which the robot is unknown.

    That is a substitution in a name or a number, or any element of xacro if there are
    no links.
    """
    needed = _find_xacro(root, elements=not _has_links(root), files=False)
    return structs.replace(needed, rule="xacro-unexpanded") if needed else None


def _find_xacro(root: Element, *, elements: bool = True, files: bool = True) -> Diagnostic | None:
    """Find the first element or attribute that xacro would change.

    Args:
        root: The root element.
        elements: Whether elements of xacro count.
        files: Whether substitutions in file references count.
    """
    has_links = _has_links(root)
    for element, element_type in walk(root, g.ROBOT):
        if element_type is None:
            unused = has_links and _local_name(element) in _DEFINITIONS
            if elements and _is_xacro(element) and not unused:
                message = f"{describe(element)} is a xacro element"
                return Diagnostic("xacro-in-urdf", message, element.location)
            continue
        if not any(_MARK in text for _, text in element.attributes):
            continue
        for attribute in element_type.attributes:
            text = element.get(attribute.name) or ""
            of_file = isinstance(attribute.kind, Text) and not isinstance(attribute.kind, Name)
            if of_file and not files:
                continue
            pattern = _SUBSTITUTION_IN_TEXT if of_file else _SUBSTITUTION
            if pattern.search(text):
                value = truncate(repr(text))
                message = f"{attribute.name} of <{element.tag}> is {value}"
                return Diagnostic("xacro-in-urdf", message, element.location)
    return None


def _has_links(root: Element) -> bool:
    return any(child.tag == g.LINK.tag for child in root.children)


def _local_name(element: Element) -> str:
    return element.tag.rpartition(":")[2]


def _is_xacro(element: Element) -> bool:
    namespace = (element.namespace or "").rstrip("/")
    return element.tag.startswith(_PREFIX) or namespace.endswith(_NAMESPACE_END)


def standalone_urdf(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str] = (),
) -> bytes:
    """Expand a xacro file to a URDF that does not depend on its folder.

    Args:
        file: Its path.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that it may read, besides those of
            ROS.

    Raises:
        SourceError: It cannot be expanded.
    """
    expansion = expand(file, packages, arguments, environment=environment)
    # Reports XML errors with locations in the xacro file.
    expanded_markup(expansion, file, [])
    return relocatable_urdf(expansion, file, packages)


def relocatable_urdf(expansion: Expansion, file: str, packages: Mapping[str, str]) -> bytes:
    """Return an expansion as a URDF that does not depend on its folder.

    Resolved file references become absolute paths, and a robot without name is named
    after the xacro file.

    Args:
        expansion: Well-formed.
        file: Path of the xacro file.
        packages: Folders of ROS packages, by name.
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
