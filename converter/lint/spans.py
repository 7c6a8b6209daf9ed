"""Edits of XML files that keep all other bytes unchanged.

Comments, indentation, the order of attributes and line ends are preserved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias
from xml.parsers import expat

from msgspec import Struct

# Line and column of an element's "<", counting from 1.
Place: TypeAlias = tuple[int, int]

_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)"""
    rb"""(?:\s+encoding\s*=\s*["'](?P<encoding>[A-Za-z][\w.-]*)["'])?[^>]*\?>"""
)
# Within a start tag that the parser has accepted, which has no positions of attributes.
_ATTRIBUTE = re.compile(
    rb"""(?P<name>[^\s=<>"'/]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')"""
)
_TAG_NAME = re.compile(rb"<[^\s/>]+")
_BLANKS_BEFORE = re.compile(rb"[ \t]*\Z")
_REST_OF_LINE = re.compile(rb"[ \t]*\r?\n")


class SpanError(Exception):
    """The file cannot be edited; the message is the reason."""


class SetAttribute(Struct, frozen=True):
    """Set an attribute of the element at ``place``."""

    place: Place
    name: str
    value: str


class RemoveElement(Struct, frozen=True):
    """Remove the element at ``place``, and its line if that becomes empty."""

    place: Place


class SetXmlVersion(Struct, frozen=True):
    """Correct the version in the XML declaration."""

    version: str


Edit: TypeAlias = SetAttribute | RemoveElement | SetXmlVersion


class _Span(Struct, frozen=True):
    """Byte offsets of an element and its start tag."""

    start: int
    tag_end: int
    end: int


class _Replacement(Struct, frozen=True):
    start: int
    end: int
    content: bytes


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to an XML file; of several edits of an attribute, the last.

    Raises:
        SpanError: The bytes are not well-formed XML in an encoding that extends ASCII.
    """
    spans = _element_spans(data)
    replacements: dict[object, _Replacement] = {}
    removals: dict[Place, _Replacement] = {}
    for edit in edits:
        match edit:
            case SetAttribute(place, name, value):
                replacement = _attribute(data, spans[place], name, value)
                replacements[place, name] = replacement
            case RemoveElement(place):
                removals[place] = _removal(data, spans[place])
            case SetXmlVersion(version):
                declaration = _DECLARATION.match(data)
                if declaration:
                    span = declaration.span("version")
                    replacements["xml"] = _Replacement(*span, version.encode())
    kept = [
        one
        for one in replacements.values()
        if not any(gone.start <= one.start < gone.end for gone in removals.values())
    ]
    for one in sorted([*kept, *removals.values()], key=lambda one: -one.start):
        data = data[: one.start] + one.content + data[one.end :]
    return data


def _element_spans(data: bytes) -> Mapping[Place, _Span]:
    if b"\0" in data:
        raise SpanError("its encoding does not extend ASCII")
    spans: dict[Place, _Span] = {}
    # Elements whose end tag is to come: place, start and end of the start tag.
    open_elements: list[tuple[Place, int, int]] = []
    # What waits for the place where the current tag ends.
    pending: list[Callable[[int], None]] = []
    text, parser = _without_declaration(data)

    def next_token(*_: object) -> None:
        """End the tag before: it ends where the next token starts."""
        while pending:
            pending.pop()(parser.CurrentByteIndex)

    def start_element(*_: object) -> None:
        next_token()
        start = parser.CurrentByteIndex
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        pending.append(lambda end: open_elements.append((place, start, end)))

    def end_element(_: str) -> None:
        next_token()
        place, start, tag_end = open_elements.pop()

        def close(end: int) -> None:
            spans[place] = _Span(start, tag_end, end)

        # expat reports the end of an empty-element tag at the end of that tag.
        if parser.CurrentByteIndex == tag_end and text[tag_end - 2 : tag_end] == b"/>":
            close(tag_end)
        else:
            pending.append(close)

    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    # Characters, comments and all other tokens.
    parser.DefaultHandler = next_token
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise SpanError(f"it is not well-formed XML: {error}") from error
    while pending:
        pending.pop()(len(text))
    return spans


def _without_declaration(data: bytes) -> tuple[bytes, expat.XMLParserType]:
    """Replace the declaration, which may be wrong, by white space.

    A parser refuses a wrong version, which is what is to be corrected.
    """
    declaration = _DECLARATION.match(data)
    if declaration is None:
        return data, expat.ParserCreate("utf-8")
    encoding = (declaration["encoding"] or b"utf-8").decode("ascii")
    blank = re.sub(rb"[^\r\n]", b" ", declaration[0])
    return blank + data[declaration.end() :], expat.ParserCreate(encoding)


def _attribute(data: bytes, span: _Span, name: str, value: str) -> _Replacement:
    for match in _attributes(data, span):
        if match["name"].decode("ascii", "replace") == name:
            quote = "double" if match["double"] is not None else "single"
            return _Replacement(*match.span(quote), _escaped(value))
    tag = _TAG_NAME.match(data, span.start)
    end = tag.end() if tag else span.start
    return _Replacement(end, end, f' {name}="'.encode() + _escaped(value) + b'"')


def _attributes(data: bytes, span: _Span) -> Iterator[re.Match[bytes]]:
    yield from _ATTRIBUTE.finditer(data, span.start, span.tag_end)


def _escaped(value: str) -> bytes:
    for character, entity in (("&", "amp"), ("<", "lt"), ('"', "quot"), ("'", "apos")):
        value = value.replace(character, f"&{entity};")
    return value.encode("ascii", "xmlcharrefreplace")


def _removal(data: bytes, span: _Span) -> _Replacement:
    """Remove an element, with its line if that becomes empty."""
    line_start = data.rfind(b"\n", 0, span.start) + 1
    rest = _REST_OF_LINE.match(data, span.end)
    if rest and not data[line_start : span.start].strip(b" \t"):
        return _Replacement(line_start, rest.end(), b"")
    return _Replacement(span.start, span.end, b"")
