"""Fixes of a URDF file that do not change the robot.

A fix is safe if the parser reads the same robot from the original and the fixed file.
Reversed limits, for example, are not exchanged: in Bullet they mean "unlimited". All bytes
outside of the edits stay: comments, indentation, the order of attributes and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate
from urdf_usd.converter.lint.linting import (
    UrdfDocument,
    document_of,
    file_nodes,
    type_of,
    unnormalised,
)
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.build import normalise
from urdf_usd.converter.urdf.parse import read_markup
from urdf_usd.converter.urdf.xml import XML_REPAIRS

# Line and column of an element's "<", counting from 1.
Place: TypeAlias = tuple[int, int]
# An element (None: the XML declaration), its attribute and the new value.
Edit: TypeAlias = tuple[Place | None, str, str]
# Problems of values that are unambiguous.
_HARMLESS = frozenset({"number-punctuation", "vector-completed"})
# Larger components are probably in [0, 255].
_LARGEST_COMPONENT = 2.0


class FixError(Exception):
    """The file cannot be fixed; the message is the reason."""


class Fix(Struct, frozen=True):
    """An edit, and the rule that it satisfies with a description of the edit."""

    rule: str
    message: str
    location: Location
    edit: Edit


FIXES = (
    "xml-version",
    "robot-unnamed",
    "number-punctuation",
    "vector-completed",
    "joint-type-spelling",
    "joint-axis-unnormalised",
    "quaternion-unnormalised",
    "color-range",
    "path-backslash",
)
"""Rules that are fixed."""


def fix_file(
    path: Path, packages: Mapping[str, str], rules: frozenset[str]
) -> tuple[bytes, tuple[Fix, ...]]:
    """Return the fixed content of a URDF file, and the fixes in document order.

    Raises:
        FixError: The file is no well-formed URDF.
    """
    notes: list[Diagnostic] = []
    try:
        markup = read_markup(str(path), packages, {}, (), notes)
    except SourceError:
        document = None
    else:
        document = document_of(markup, str(path))
    if document is None:
        raise FixError("it cannot be read; run lint without --fix for the reasons")
    if document.expanded:
        raise FixError("it contains xacro; --fix supports URDF only")
    if repaired := next((note for note in notes if note.rule in XML_REPAIRS), None):
        raise FixError(f"it is not well-formed XML: {repaired.message}")
    fixes = [fix for fix in _fixes(document) if fix.rule in rules]
    content = apply_edits(path.read_bytes(), [fix.edit for fix in fixes])
    return content, tuple(sorted(fixes, key=lambda fix: (fix.location.line, fix.location.column)))


def _fixes(document: UrdfDocument) -> Iterator[Fix]:
    """Yield the fixes of a document; of two of one attribute, the later one is used."""
    start = Location(document.file, 1, 1)
    yield Fix("xml-version", "XML version set to '1.0'", start, (None, "version", "1.0"))
    if document.robot[g.OPTIONAL_NAME] is None:
        # The name that the parser assigns.
        stem = Path(document.file).stem
        yield _set("robot-unnamed", document.root.location, g.OPTIONAL_NAME, stem)
    yield from _plain_numbers(document)
    for joint in document.joints:
        written, plain = joint[g.TYPE], type_of(joint)
        if written != plain:
            yield _set("joint-type-spelling", joint.location, g.TYPE, plain, written)
    for rule, _, node, attribute in unnormalised(document):
        unit = normalise(node[attribute]) or ()
        yield _set(rule, node.location, attribute, unit)
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        clamped = tuple(min(max(component, 0.0), 1.0) for component in rgba or ())
        if rgba and max(rgba) <= _LARGEST_COMPONENT and clamped != rgba:
            yield _set("color-range", color.location, g.RGBA, clamped)
    for node in file_nodes(document):
        uri = node[g.FILENAME]
        if "\\" in uri:
            plain = uri.replace("\\", "/")
            yield _set("path-backslash", node.location, g.FILENAME, plain, uri)


def _plain_numbers(document: UrdfDocument) -> Iterator[Fix]:
    """Replace malformed but unambiguous numbers and vectors."""
    for element, element_type in g.walk(document.root, g.ROBOT):
        for attribute in element_type.attributes if element_type else ():
            text = element.get(attribute.name)
            if text is None or attribute.kind.type != "numbers":
                continue
            value, found = attribute.kind.read(text)
            flaws = {flaw for flaw, _ in found}
            if flaws <= _HARMLESS and value is not None:
                numbers = value if isinstance(value, tuple) else (value,)
                for rule in sorted(flaws):
                    yield _set(rule, element.location, attribute, numbers, text)


def _set(
    rule: str,
    location: Location,
    attribute: g.AttributeType[Any],
    value: str | tuple[float, ...],
    former: str | None = None,
) -> Fix:
    if isinstance(value, tuple):
        value = " ".join(repr(number).removesuffix(".0") for number in value)
    was = f", was {truncate(repr(former))}" if former is not None else ""
    edit = (location.line, location.column), attribute.name, value
    return Fix(rule, f"{attribute.name} set to {value!r}{was}", location, edit)


# Edits of text

_DECLARATION = re.compile(
    r"""\ufeff?<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)[^>]*\?>"""
)
_START_TAG = re.compile(r"""(?P<name><[^\s/>]+)(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s=<>"'/]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')"""
)


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to an XML file; of several edits of an attribute, the last.

    Raises:
        FixError: The bytes are not UTF-8.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FixError(f"it is not UTF-8: {error}") from error
    lines = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]
    # Start and end of what is replaced, and by what.
    replaced: dict[tuple[Place | None, str], tuple[int, int, str]] = {}
    for place, attribute, value in edits:
        if place is None:
            if declaration := _DECLARATION.match(text):
                replaced[None, "version"] = (*declaration.span("version"), value)
            continue
        start = lines[place[0] - 1] + place[1] - 1
        # A byte order mark is no column.
        start += place[0] == 1 and text.startswith("\ufeff")
        tag = _START_TAG.match(text, start)
        if tag is None:
            raise FixError("it is not well-formed XML")
        replaced[place, attribute] = _attribute(tag, attribute, value)
    for start, end, content in sorted(replaced.values(), reverse=True):
        text = text[:start] + content + text[end:]
    return text.encode()


def _attribute(tag: re.Match[str], name: str, value: str) -> tuple[int, int, str]:
    for character, entity in (("&", "amp"), ("<", "lt"), ('"', "quot"), ("'", "apos")):
        value = value.replace(character, f"&{entity};")
    value = value.encode("ascii", "xmlcharrefreplace").decode()
    for match in _ATTRIBUTE.finditer(tag.string, *tag.span()):
        if match["name"] == name:
            return (*match.span("single" if match["double"] is None else "double"), value)
    end = tag.end("name")
    return end, end, f' {name}="{value}"'
