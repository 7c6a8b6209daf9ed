"""Scanner of malformed XML: splits text into tags and character data.

Used only after expat has refused the text. Faults within tags, comments and
declarations are repaired and reported; locations are those of the file. Tags are not
matched here.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf.xml.characters import FORBIDDEN
from urdf_usd.converter.urdf.xml.elements import MOST_PARTS
from urdf_usd.converter.urdf.xml.repairs import XmlRepair

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]*")
_TAG_NAME = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][^\s<>\"'/=]*")
# A tag with white space after "<", unlike "a < b" in text.
_BLANK_TAG = re.compile(
    r"<[ \t\r\n]+([A-Za-z_:\u0080-\U0010ffff][^\s<>\"'/=]*)"
    r"(?:[ \t\r\n]+[A-Za-z_:][\w:.-]*[ \t\r\n]*=[ \t\r\n]*"
    r"(?:\"[^\"<]*\"|'[^'<]*'))*[ \t\r\n]*/?>"
)
_ATTRIBUTE_NAME = re.compile(r"[^\s<>\"'/=,;][^\s<>\"'/=]*")
# The common case: a well-formed attribute without references.
_PLAIN_ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:.-]*)[ \t\r\n]*=[ \t\r\n]*"
    r"(?P<value>\"[ !#-%'-;=-~]*\"|'[ -%(-;=-~]*')(?=[ \t\r\n/>])"
)
# Separators that some files have between attributes.
_SEPARATORS = ",;"
_VALID_NAME = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][\w:.\u0080-\U0010ffff-]*")
_EQUALS = re.compile(r"[ \t\r\n]*=[ \t\r\n]*")
# Numbers may follow after a space; a number is no attribute name.
_BARE_VALUE = re.compile(
    r"(?:[^\s<>\"'/]|/(?!>))+"
    r"(?:[ \t]++[-+.0-9][^\s<>\"'/=]*+(?=[\s/>]))*"
)
# Possessive quantifiers, to avoid quadratic time.
_END_TAG = re.compile(r"</([ \t\r\n]*+)([^\s<>]*+)[ \t\r\n]*+([^<>]*+)>")
_REFERENCE = re.compile(
    r"&(?:(?P<name>lt|gt|amp|quot|apos)|#(?P<decimal>[0-9]{1,7})"
    r"|#x(?P<hexadecimal>[0-9a-fA-F]{1,6}));"
)
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_REPLACEMENT = "\ufffd"
_SPECIAL = re.compile(f"&|{FORBIDDEN.pattern}")
_INSTRUCTION = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][^\s]*(?:\s|$)")
# Sections that end at a mark and contain no tags.
_SECTIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))


class StartTag(Struct, frozen=True):
    """A start tag; ``empty`` for an empty-element tag."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    location: Location
    empty: bool


class EndTag(Struct, frozen=True):
    """An end tag."""

    tag: str
    location: Location


class Text(Struct, frozen=True):
    """Text between tags; references are resolved if ``raw``."""

    content: str
    location: Location
    raw: bool


Token: TypeAlias = StartTag | EndTag | Text


def scan(text: str, file: str, most_strays: int) -> Findings[tuple[Token, ...]]:
    """Split a document into tags and text.

    Args:
        text: The document.
        file: Its path, for locations.
        most_strays: Maximum excess of end tags over start tags; scanning stops there.

    Raises:
        SourceError: A tag, comment or declaration is ambiguous, there are too many, or
            the document declares entities.
    """
    scanner = _Scanner(text, file, most_strays)
    yield from scanner.scan()
    return tuple(scanner.tokens)


def resolve(text: Text) -> Findings[str]:
    """Return the character data of a text."""
    if not text.raw:
        return text.content
    plain = _LINE_END.sub("\n", text.content)
    if "]]>" in plain:
        yield XmlRepair.SECTION_END.at(text.location, subject="the text")
    return (yield from _value(plain, text.location, "the text"))


class _Scanner:
    """State of the scanner."""

    def __init__(self, text: str, file: str, most_strays: int) -> None:
        self._text = text
        self._file = file
        self._position = 0
        self._spare = most_strays
        self._parts = 0
        self._document_type = False
        self._lines = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._end_names: frozenset[str] | None = None
        self.tokens: list[Token] = []

    def scan(self) -> Findings[None]:
        """Scan the text, until there are too many end tags."""
        while self._position < len(self._text) and self._spare >= 0:
            start = self._text.find("<", self._position)
            end = len(self._text) if start < 0 else start
            if end > self._position:
                self._add_text(self._text[self._position : end], raw=True)
            self._position = end
            if start >= 0:
                yield from self._markup()

    def _add_text(self, content: str, *, raw: bool) -> None:
        # The location of the first character that is not white space.
        blank = len(content) - len(content.lstrip())
        place = self._location(self._position + (blank if raw else 0))
        self.tokens.append(Text(content, place, raw))

    def _location(self, offset: int) -> Location:
        line = bisect_right(self._lines, offset)
        return Location(self._file, line, offset - self._lines[line - 1] + 1)

    def _fatal(self, rule: str, message: str, offset: int | None = None) -> SourceError:
        place = self._location(self._position if offset is None else offset)
        return SourceError((Diagnostic(rule, message, place),))

    def _markup(self) -> Findings[None]:
        start = self._position
        for opening, closing in _SECTIONS:
            if self._text.startswith(opening, start):
                yield from self._section(opening, closing)
                return
        if self._text.startswith("<!", start):
            yield from self._declaration()
        elif self._text.startswith("</", start):
            yield from self._end_tag()
        elif name := _TAG_NAME.match(self._text, start + 1):
            yield from self._start_tag(name[0], name.end())
        elif blank := self._tag_after_blank():
            yield XmlRepair.TAG_BLANK.at(self._location(start), tag=truncate(blank[1]))
            yield from self._start_tag(blank[1], blank.end(1))
        else:
            yield XmlRepair.TAG_CHARACTER.at(self._location(start))
            self._add_text("<", raw=False)
            self._position = start + 1

    def _tag_after_blank(self) -> re.Match[str] | None:
        """Match a tag with white space after "<"; a start tag needs an end tag."""
        match = _BLANK_TAG.match(self._text, self._position)
        if match is None or match[0].endswith("/>"):
            return match
        if self._end_names is None:
            ends = _END_TAG.finditer(self._text, self._position)
            self._end_names = frozenset(end[2] for end in ends)
        return match if match[1] in self._end_names else None

    def _section(self, opening: str, closing: str) -> Findings[None]:
        start = self._position
        place = self._location(start)
        end = self._text.find(closing, start + len(opening))
        if end < 0:
            raise self._fatal("xml-syntax", f"{opening!r} is not closed")
        content = self._text[start + len(opening) : end]
        outcome = "ignored"
        if opening == "<!--":
            subject = "a comment"
            if "--" in content or content.endswith("-"):
                yield XmlRepair.COMMENT.at(place)
        elif opening == "<?":
            subject = "a processing instruction"
            yield from self._instruction(content, place)
        else:
            subject, outcome = "the text", "replaced"
            plain = _LINE_END.sub("\n", content)
            self._add_text(FORBIDDEN.sub(_REPLACEMENT, plain), raw=False)
        if FORBIDDEN.search(content):
            yield XmlRepair.CHARACTER.at(place, subject=subject, outcome=outcome)
        self._position = end + len(closing)

    @staticmethod
    def _instruction(content: str, place: Location) -> Findings[None]:
        name, *_ = content.split(maxsplit=1) or [""]
        if name.lower() == "xml":
            # A well-formed declaration at the start was processed before.
            if (place.line, place.column) == (1, 1):
                yield XmlRepair.DECLARATION_MALFORMED.at(place)
            else:
                yield XmlRepair.DECLARATION_LATE.at(place)
        elif not _INSTRUCTION.match(content):
            yield XmlRepair.INSTRUCTION.at(place)

    def _declaration(self) -> Findings[None]:
        """Skip a simple document type declaration.

        Raises:
            SourceError: Any other declaration, which could declare entities.
        """
        start = self._position
        end = self._text.find(">", start)
        content = self._text[start : end + 1]
        keyword, *rest = content.strip("<!>").split()[:3] or [""]
        if end < 0 or "[" in content or keyword.upper() != "DOCTYPE" or rest[1:]:
            message = "declarations of a malformed document are not read"
            raise self._fatal("xml-entity", message)
        if self._document_type or self._parts:
            yield XmlRepair.DOCUMENT_TYPE.at(self._location(start))
        self._document_type = True
        self._position = end + 1

    def _end_tag(self) -> Findings[None]:
        start = self._position
        match = _END_TAG.match(self._text, start)
        if match is None:
            raise self._fatal("xml-syntax", "an end tag has no '>'")
        place = self._location(start)
        blank, tag, rest = match.groups()
        if blank:
            yield XmlRepair.TAG_BLANK.at(place, tag=f"/{truncate(tag)}")
        if rest:
            yield XmlRepair.END_TAG.at(place, tag=truncate(tag))
        self.tokens.append(EndTag(tag, place))
        self._spare -= 1
        self._position = match.end()

    def _start_tag(self, tag: str, end: int) -> Findings[None]:
        start = self._position
        self._position = end
        attributes: dict[str, str] = {}
        while True:
            self._skip_space()
            here = self._text[self._position : self._position + 2]
            if here[:1] == ">" or here == "/>":
                break
            if here[:1] in {"", "<"}:
                raise self._fatal("xml-syntax", f"<{tag}> has no '>'", start)
            yield from self._attribute(tag, attributes)
        empty = here == "/>"
        self._position += len(here) if empty else 1
        place = self._location(start)
        self._parts += 1 + len(attributes)
        if self._parts > MOST_PARTS:
            message = f"there are more than {MOST_PARTS} elements and attributes"
            raise SourceError((Diagnostic("file-size", message, place),))
        self._spare += not empty
        self.tokens.append(StartTag(tag, tuple(attributes.items()), place, empty))

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def _attribute(self, tag: str, attributes: dict[str, str]) -> Findings[None]:
        start = self._position
        plain = _PLAIN_ATTRIBUTE.match(self._text, start)
        if plain and plain["name"] not in attributes:
            attributes[plain["name"]] = plain["value"][1:-1]
            self._position = plain.end()
            return
        place = self._location(start)
        match = _ATTRIBUTE_NAME.match(self._text, start)
        if match is None:
            text = repr(self._text[start])
            yield XmlRepair.ATTRIBUTE_STRAY.at(place, text=text, tag=truncate(tag))
            self._position += 1
            return
        name = match[0]
        equals = _EQUALS.match(self._text, match.end())
        # Messages must not contain control characters either.
        subject = f"{truncate(FORBIDDEN.sub(_REPLACEMENT, name))} of <{truncate(tag)}>"
        if equals is None:
            self._position = match.end()
            yield XmlRepair.ATTRIBUTE_VALUE.at(place, subject=subject)
            return
        self._position = equals.end()
        value = yield from self._quoted(subject)
        if not _VALID_NAME.fullmatch(name) or FORBIDDEN.search(name):
            yield XmlRepair.ATTRIBUTE_NAME.at(place, subject=subject)
        elif name in attributes:
            yield XmlRepair.ATTRIBUTE_REPEATED.at(place, subject=subject)
        else:
            attributes[name] = value

    def _quoted(self, subject: str) -> Findings[str]:
        start = self._position
        place = self._location(start)
        quote = self._text[start : start + 1]
        if quote not in {'"', "'"}:
            bare = _BARE_VALUE.match(self._text, start)
            self._position = bare.end() if bare else start
            yield XmlRepair.ATTRIBUTE_QUOTES.at(place, subject=subject)
            return (yield from _value(bare[0] if bare else "", place, subject))
        end = self._text.find(quote, start + 1)
        raw = self._text[start + 1 : end]
        after = self._text[end + 1 : end + 2]
        follows = after in {*_BLANK, *_SEPARATORS, "/", ">", "?"}
        # A missing quote would include tags or the next attribute's name.
        swallows = "<" in raw or raw.rstrip().endswith("=")
        if end < 0 or not (follows or (_TAG_NAME.match(after) and not swallows)):
            raise self._fatal("xml-syntax", f"a quote of {subject} is missing")
        self._position = end + 1
        if not follows:
            yield XmlRepair.ATTRIBUTE_SPACE.at(self._location(end + 1), subject=subject)
        if "<" in raw:
            yield XmlRepair.VALUE_CHARACTER.at(place, subject=subject)
        # Before references are resolved, because line ends in references are kept.
        plain = re.sub(r"\r\n|[\t\r\n]", " ", raw)
        return (yield from _value(plain, place, subject))


def _value(raw: str, place: Location, subject: str) -> Findings[str]:
    """Resolve references, and replace characters that are not allowed."""
    if not _SPECIAL.search(raw):
        return raw
    if FORBIDDEN.search(raw):
        yield XmlRepair.CHARACTER.at(place, subject=subject, outcome="replaced")
    pieces, position = [], 0
    for match in re.finditer("&", raw):
        found = _REFERENCE.match(raw, match.start())
        character = _character(found) if found else None
        if found is None or character is None:
            yield XmlRepair.REFERENCE.at(place, subject=subject)
            continue
        pieces += [raw[position : match.start()], character]
        position = found.end()
    pieces.append(raw[position:])
    return FORBIDDEN.sub(_REPLACEMENT, "".join(pieces))


def _character(reference: re.Match[str]) -> str | None:
    """Return the character of a reference; None if it is not allowed."""
    if reference["name"]:
        return _NAMED[reference["name"]]
    decimal = reference["decimal"]
    code = int(decimal) if decimal else int(reference["hexadecimal"], 16)
    if not 0 < code <= sys.maxunicode or FORBIDDEN.match(chr(code)):
        return None
    return chr(code)
