"""Elements from text that is not well-formed XML, where one reading is left.

A scanner that goes on where an XML parser must stop. Every repair is said, and none
moves anything: positions are those of the file. General recovering parsers are not used
because they repair structure by dropping it: a stray end tag closes the parent there,
and the links that follow are gone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.elements import TreeBuilder
from urdf_usd.converter.urdf.grammar import ROBOT
from urdf_usd.converter.urdf.wording import shorten

if TYPE_CHECKING:
    from urdf_usd.converter.urdf.elements import Element
    from urdf_usd.converter.urdf.findings import Findings

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]*")
_TAG_NAME = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][^\s<>\"'/=]*")
_ATTRIBUTE_NAME = re.compile(r"[^\s<>\"'/=]+")
_EQUALS = re.compile(r"[ \t\r\n]*=[ \t\r\n]*")
_BARE_VALUE = re.compile(r"(?:[^\s<>\"'/]|/(?!>))+")
_END_TAG = re.compile(r"</[ \t\r\n]*([^\s<>]*)[^<>]*>")
_REFERENCE = re.compile(
    r"&(?:(?P<name>lt|gt|amp|quot|apos)|#(?P<decimal>[0-9]{1,7})"
    r"|#x(?P<hexadecimal>[0-9a-fA-F]{1,6}));"
)
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"
# What has more faults was not meant to be XML.
_MOST_REPAIRS = 1000
# Text in these reaches to an end mark, and holds no tags.
_SECTIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))


def recover(text: str, file: str) -> Findings[Element]:
    """Read the root element of text that is not well-formed.

    Args:
        text: The document.
        file: Its path, for locations.

    Raises:
        SourceError: More than one reading is possible, too much is wrong, or the
            document declares entities.
    """
    scanner = _Scanner(text, file)
    for count, repair in enumerate(scanner.scan(), 1):
        yield repair
        if count >= _MOST_REPAIRS:
            message = f"there are {count} faults so far: this is no XML"
            raise SourceError((Diagnostic("xml-syntax", message, repair.location),))
    return (yield from scanner.finish())


class _Scanner:
    """A position in the text, and the tree of what lies before it."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._position = 0
        self._tree = TreeBuilder(file)
        self._outside: int | None = None
        self._lines = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def scan(self) -> Findings[None]:
        """Read everything."""
        while self._position < len(self._text):
            start = self._text.find("<", self._position)
            end = len(self._text) if start < 0 else start
            yield from self._characters(self._text[self._position : end])
            self._position = end
            if start >= 0:
                yield from self._markup()

    def finish(self) -> Findings[Element]:
        """Return the root; say what lies outside it."""
        if len(self._tree.open_tags) > 1:
            tag = self._tree.open_tags[-1]
            raise self._fatal("xml-syntax", f"the text ends inside <{tag}>")
        if self._tree.open_tags:
            yield from self._close_unended("the end of the text")
        roots = self._tree.roots
        if not roots:
            raise self._fatal("xml-syntax", "the text holds no element", 0)
        root = next((one for one in roots if one.tag == ROBOT.tag), roots[0])
        others = [one for one in roots if one is not root]
        if others:
            message = f"<{others[0].tag}> lies outside <{root.tag}>; left out"
            message += f", with {len(others) - 1} more" if len(others) > 1 else ""
            yield Diagnostic("xml-outside", message, others[0].location)
        if self._outside is not None:
            message = f"there is text outside <{root.tag}>; left out"
            yield self._diagnose("xml-outside", message, self._outside)
        yield from self._tree.unbound_prefixes()
        return root

    def _location(self, offset: int) -> Location:
        line = bisect_right(self._lines, offset)
        return Location(self._file, line, offset - self._lines[line - 1] + 1)

    def _diagnose(self, rule: str, message: str, offset: int) -> Diagnostic:
        return Diagnostic(rule, message, self._location(offset))

    def _fatal(self, rule: str, message: str, offset: int | None = None) -> SourceError:
        place = self._position if offset is None else offset
        return SourceError((self._diagnose(rule, message, place),))

    def _characters(self, raw: str) -> Findings[None]:
        if self._tree.open_tags:
            plain = _LINE_END.sub("\n", raw)
            content = yield from self._value(plain, self._position, "the text")
            self._tree.text(content)
        elif self._outside is None and raw.strip():
            blank = len(raw) - len(raw.lstrip())
            self._outside = self._position + blank

    def _markup(self) -> Findings[None]:
        start = self._position
        for opening, closing in _SECTIONS:
            if self._text.startswith(opening, start):
                yield from self._section(opening, closing)
                return
        if self._text.startswith("<!", start):
            self._declaration()
        elif self._text.startswith("</", start):
            yield from self._end_tag()
        elif name := _TAG_NAME.match(self._text, start + 1):
            yield from self._start_tag(name[0])
        else:
            yield self._diagnose("xml-character", "'<' begins no tag; kept", start)
            self._tree.text("<")
            self._position = start + 1

    def _section(self, opening: str, closing: str) -> Findings[None]:
        start = self._position
        end = self._text.find(closing, start + len(opening))
        if end < 0:
            raise self._fatal("xml-syntax", f"{opening!r} is not closed")
        content = self._text[start + len(opening) : end]
        self._position = end + len(closing)
        if opening == "<!--":
            if "--" in content or content.endswith("-"):
                message = "a comment holds a double hyphen"
                yield self._diagnose("xml-comment", message, start)
        elif opening == "<?":
            if content.split(maxsplit=1)[:1] == ["xml"]:
                message = "the XML declaration is not at the start; ignored"
                yield self._diagnose("xml-declaration", message, start)
        else:
            plain = _LINE_END.sub("\n", content)
            self._tree.text(_FORBIDDEN.sub(_REPLACEMENT, plain))

    def _declaration(self) -> None:
        """Skip a plain document type; anything more could declare entities.

        Raises:
            SourceError: There is more.
        """
        end = self._text.find(">", self._position)
        content = self._text[self._position : end + 1]
        keyword, *rest = content.strip("<!>").split()[:3] or [""]
        if end < 0 or "[" in content or keyword.upper() != "DOCTYPE" or rest[1:]:
            message = "declarations of a malformed document are not read"
            raise self._fatal("xml-entity", message)
        self._position = end + 1

    def _end_tag(self) -> Findings[None]:
        start = self._position
        match = _END_TAG.match(self._text, start)
        if match is None:
            raise self._fatal("xml-syntax", "an end tag has no '>'")
        tag = match[1]
        self._position = match.end()
        if tag not in self._tree.open_tags:
            message = f"</{shorten(tag)}> ends nothing; ignored"
            yield self._diagnose("xml-nesting", message, start)
            return
        while self._tree.open_tags[-1] != tag:
            yield from self._close_unended(f"</{tag}>")
        self._tree.end()

    def _close_unended(self, before: str) -> Findings[None]:
        message = f"<{self._tree.open_tags[-1]}> is not closed; ended before {before}"
        yield Diagnostic("xml-nesting", message, self._tree.innermost)
        self._tree.end()

    def _start_tag(self, tag: str) -> Findings[None]:
        start = self._position
        self._position += 1 + len(tag)
        attributes: dict[str, str] = {}
        while True:
            self._skip_space()
            here = self._text[self._position : self._position + 2]
            if here[:1] == ">" or here == "/>":
                break
            if here[:1] in {"", "<"}:
                raise self._fatal("xml-syntax", f"<{tag}> has no '>'", start)
            yield from self._attribute(tag, attributes)
        self._position += 2 if here == "/>" else 1
        while self._ends_before(tag):
            yield from self._close_unended(f"<{tag}>")
        place = self._location(start)
        self._tree.start(tag, attributes.items(), place.line, place.column)
        if here == "/>":
            self._tree.end()

    def _ends_before(self, tag: str) -> bool:
        """Whether the innermost element, which was never ended, cannot hold a tag.

        That is so if all open elements belong to the language, the innermost has no
        such child, and the robot itself has: a link begins inside a link.
        """
        if len(self._tree.open_tags) <= 1 or ROBOT.child(tag) is None:
            return False
        if self._tree.open_tags[0] != ROBOT.tag:
            return False
        element_type = ROBOT
        for name in self._tree.open_tags[1:]:
            child = element_type.child(name)
            if child is None:
                return False
            element_type = child.type
        return element_type.child(tag) is None

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def _attribute(self, tag: str, attributes: dict[str, str]) -> Findings[None]:
        start = self._position
        match = _ATTRIBUTE_NAME.match(self._text, start)
        if match is None:
            message = f"{self._text[start]!r} in <{tag}> is no attribute; ignored"
            yield self._diagnose("xml-attribute", message, start)
            self._position += 1
            return
        name = _FORBIDDEN.sub(_REPLACEMENT, match[0])
        equals = _EQUALS.match(self._text, match.end())
        subject = f"{shorten(name)} of <{tag}>"
        if equals is None:
            self._position = match.end()
            message = f"{subject} has no value; ignored"
            yield self._diagnose("xml-attribute", message, start)
            return
        self._position = equals.end()
        value = yield from self._quoted(subject)
        if name in attributes:
            message = f"{subject} is repeated; the first counts"
            yield self._diagnose("attribute-repeated", message, start)
            return
        attributes[name] = value

    def _quoted(self, subject: str) -> Findings[str]:
        start = self._position
        quote = self._text[start : start + 1]
        if quote not in {'"', "'"}:
            bare = _BARE_VALUE.match(self._text, start)
            self._position = bare.end() if bare else start
            message = f"the value of {subject} has no quotes"
            yield self._diagnose("xml-attribute", message, start)
            return (yield from self._value(bare[0] if bare else "", start, subject))
        end = self._text.find(quote, start + 1)
        raw = self._text[start + 1 : end]
        after = self._text[end + 1 : end + 2]
        follows = after in {*_BLANK, "/", ">", "?"}
        # A quote that is missing would swallow tags or the next attribute's name.
        if end < 0 or not (follows or (_TAG_NAME.match(after) and "<" not in raw)):
            raise self._fatal("xml-syntax", f"a quote of {subject} is missing")
        self._position = end + 1
        if not follows:
            message = f"there is no space after {subject}"
            yield self._diagnose("xml-attribute", message, end + 1)
        if "<" in raw:
            message = f"'<' in {subject} should be '&lt;'; kept"
            yield self._diagnose("xml-character", message, start)
        content = yield from self._value(raw, start, subject)
        return re.sub(r"\r\n|[\t\r\n]", " ", content)

    def _value(self, raw: str, offset: int, subject: str) -> Findings[str]:
        """Resolve references, and replace what no XML document may hold."""
        if _FORBIDDEN.search(raw):
            message = f"a character in {subject} is not allowed in XML; replaced"
            yield self._diagnose("xml-character", message, offset)
        pieces, position = [], 0
        for match in re.finditer("&", raw):
            found = _REFERENCE.match(raw, match.start())
            character = _character(found) if found else None
            if found is None or character is None:
                message = f"'&' in {subject} begins no reference; kept as it is"
                yield self._diagnose("xml-reference", message, offset)
                continue
            pieces += [raw[position : match.start()], character]
            position = found.end()
        pieces.append(raw[position:])
        return _FORBIDDEN.sub(_REPLACEMENT, "".join(pieces))


def _character(reference: re.Match[str]) -> str | None:
    """Return what a reference stands for; None if no XML document may hold it."""
    if reference["name"]:
        return _NAMED[reference["name"]]
    if reference["decimal"]:
        code = int(reference["decimal"])
    else:
        code = int(reference["hexadecimal"], 16)
    if not 0 < code <= 0x10FFFF or _FORBIDDEN.match(chr(code)):  # noqa: PLR2004  the last code point
        return None
    return chr(code)
