"""Faults of URDF files: one or more for each repair of the reader.

A fault makes two texts of a well-formed file: one well-formed, one with the fault. Both
have to be read as the same robot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from xml.parsers import expat

from urdf_usd.converter.urdf.xml.repairs import XmlRepair

# A file with more faults is refused.
_MOST = 100
_DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*\?>")
_START = re.compile(rb"<[^\s/>]+(?:[^>\"']|\"[^\"]*\"|'[^']*')*>")
_END = re.compile(rb"</([^\s>]+)\s*>")
_ATTRIBUTE = re.compile(rb"(\s+)([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_PLAIN_VALUE = re.compile(rb"[\"']([\w+-][\w.+-]*)[\"']")
_NUMBERS = re.compile(rb"[\"']([-+]?[\d.]+(?: [-+]?[\d.]+)*)[\"']")


@dataclass(frozen=True)
class Tag:
    """An element of a file, and where its tags lie in the bytes.

    Attributes:
        name: Its tag.
        path: Tags of the elements around it, the outermost first.
        start: Of its ``<``.
        inside: Behind the start tag.
        end: Of its end tag; ``inside`` if it has none.
        behind: Behind all of it.
    """

    name: str
    path: tuple[str, ...]
    start: int
    inside: int
    end: int
    behind: int


class Document:
    """A well-formed file in UTF-8, without its declaration.

    Attributes:
        data: The bytes.
        tags: All elements, in document order.
    """

    def __init__(self, data: bytes) -> None:
        declaration = _DECLARATION.match(data)
        if declaration and b"encoding" in declaration[0]:
            encoding = re.search(rb"encoding\s*=\s*[\"']([^\"']*)", declaration[0])
            assert encoding
            data = data.decode(encoding[1].decode()).encode()
            declaration = _DECLARATION.match(data)
        self.data = data[declaration.end() :] if declaration else data
        self.tags = tuple(sorted(self._find(), key=lambda tag: tag.start))

    def _find(self) -> Iterator[Tag]:
        found: list[Tag] = []
        pending: list[tuple[str, int, int]] = []
        parser = expat.ParserCreate("utf-8")

        def start_element(name: str, _: object) -> None:
            start = parser.CurrentByteIndex
            match = _START.match(self.data, start)
            assert match
            pending.append((name, start, match.end()))

        def end_element(name: str) -> None:
            _, start, inside = pending.pop()
            path = tuple(outer for outer, _, _ in pending)
            end, behind = inside, inside
            if not self.data[:inside].endswith(b"/>"):
                end = parser.CurrentByteIndex
                match = _END.match(self.data, end)
                assert match
                behind = match.end()
            found.append(Tag(name, path, start, inside, end, behind))

        parser.StartElementHandler = start_element
        parser.EndElementHandler = end_element
        parser.Parse(self.data, True)
        return iter(found)

    @property
    def root(self) -> Tag:
        """The root element."""
        return self.tags[0]

    def with_end(self, *names: str) -> Iterator[Tag]:
        """Yield elements that have an end tag, of these names if any are given."""
        for tag in self.tags:
            if tag.behind > tag.end and (not names or tag.name in names):
                yield tag

    def put(self, place: int, *contents: bytes) -> tuple[bytes, ...]:
        """Return the file once for each content that is put at a place."""
        return tuple(self.data[:place] + one + self.data[place:] for one in contents)

    def inside(self, clean: bytes, blemished: bytes) -> Pair:
        """Put something at the beginning of the root."""
        one, two = self.put(self.root.inside, clean, blemished)
        return Pair(one, two)

    def root_attribute(self, clean: bytes, blemished: bytes) -> Pair:
        """Give the root another attribute."""
        behind = self.root.start + len(self.root.name) + 1
        one, two = self.put(behind, b" " + clean, b" " + blemished)
        return Pair(one, two)

    def in_start_tags(self, edit: Callable[[bytes], bytes]) -> Pair:
        """Edit the first start tags."""
        edited = self.data
        for tag in reversed(self.tags[:_MOST]):
            changed = edit(self.data[tag.start : tag.inside])
            edited = edited[: tag.start] + changed + edited[tag.inside :]
        return Pair(self.data, edited)

    def in_end_tags(self, edit: Callable[[bytes], bytes]) -> Pair:
        """Edit the first end tags."""
        edited = self.data
        tags = sorted(self.with_end(), key=lambda tag: tag.end)[:_MOST]
        for tag in reversed(tags):
            changed = edit(self.data[tag.end : tag.behind])
            edited = edited[: tag.end] + changed + edited[tag.behind :]
        return Pair(self.data, edited)

    def replaced(self, tag: Tag, end: bytes) -> Pair:
        """Replace the end tag of an element."""
        return Pair(self.data, self.data[: tag.end] + end + self.data[tag.behind :])


@dataclass(frozen=True)
class Pair:
    """A file without and with a fault."""

    clean: bytes
    blemished: bytes


Fault: TypeAlias = Callable[[Document], Iterator[Pair]]


def _version(file: Document) -> Iterator[Pair]:
    yield Pair(file.data, b'<?xml version="2.0"?>' + file.data)


def _encoding_name(file: Document) -> Iterator[Pair]:
    for name in (b"klingon", b"utf-16"):
        head = b'<?xml version="1.0" encoding="' + name + b'"?>'
        yield Pair(file.data, head + file.data)


def _encoding_bytes(file: Document) -> Iterator[Pair]:
    yield file.inside("<!-- é -->".encode(), "<!-- é -->".encode("latin-1"))
    if not file.data.isascii():
        yield Pair(file.data, b'<?xml version="1.0" encoding="ascii"?>' + file.data)


def _late_declaration(file: Document) -> Iterator[Pair]:
    for before in (b"\n", b"<!-- by a tool -->\n"):
        yield Pair(file.data, before + b'<?xml version="1.0"?>' + file.data)
    yield file.inside(b"", b'<?xml version="1.0" encoding="utf-8"?>')


def _malformed_declaration(file: Document) -> Iterator[Pair]:
    yield Pair(file.data, b'<?xml encoding="utf-8"?>' + file.data)
    yield Pair(file.data, b"<?xml?>" + file.data)


def _document_type(file: Document) -> Iterator[Pair]:
    yield file.inside(b"", b"<!DOCTYPE robot>")


def _instruction(file: Document) -> Iterator[Pair]:
    yield file.inside(b"", b"<? php ?><?1?>")


def _comment(file: Document) -> Iterator[Pair]:
    content = b"<!-- a -- b -->"
    yield Pair(file.data, content + file.data)
    yield Pair(file.data, file.data + content)
    yield file.inside(b"", b"<!-- a ---><!-- <!-- -->")
    inside = file.data
    for tag in reversed(list(file.with_end())[:_MOST]):
        inside = inside[: tag.inside] + content + inside[tag.inside :]
    yield Pair(file.data, inside)


def _tag_blank(file: Document) -> Iterator[Pair]:
    yield file.in_start_tags(lambda tag: tag.replace(b"<", b"< ", 1))
    yield file.in_end_tags(lambda tag: tag.replace(b"</", b"</ ", 1))


def _tag_character(file: Document) -> Iterator[Pair]:
    yield file.inside(b"a &lt; b", b"a < b")
    yield file.inside(b"&lt;", b"<")


def _value_character(file: Document) -> Iterator[Pair]:
    yield file.root_attribute(b'note="a &lt;b&gt; c"', b'note="a <b> c"')


def _section_end(file: Document) -> Iterator[Pair]:
    yield file.inside(b"a ]]&gt; b", b"a ]]> b")


def _character(file: Document) -> Iterator[Pair]:
    instead = "\ufffd".encode()
    yield file.inside(b"<!-- a -->", b"<!-- a\x01 -->")
    yield file.inside(b"<?a b?>", b"<?a \x02?>")
    yield file.inside(b"a" + instead, b"a\x01")
    yield file.inside(b"<![CDATA[" + instead + b"]]>", b"<![CDATA[\x1f]]>")
    yield file.root_attribute(b'note="' + instead + b'"', b'note="\0"')


def _reference(file: Document) -> Iterator[Pair]:
    yield file.root_attribute(b'note="a &amp; b"', b'note="a & b"')
    yield file.root_attribute(b'note="&amp;nbsp;"', b'note="&nbsp;"')
    yield file.inside(b"&amp; &amp;deg; &amp;#0;", b"& &deg; &#0;")


def _stray_attribute(file: Document) -> Iterator[Pair]:
    for mark in (b",", b"=", b"/"):
        instead = b" " + mark + rb"\g<0>"
        yield file.in_start_tags(lambda tag, by=instead: _ATTRIBUTE.sub(by, tag, 1))  # type: ignore[misc]  # mypy does not see the default
    close = re.compile(rb"([\"'])(\s+[\w:.-]+\s*=\s*[\"'])")
    yield file.in_start_tags(lambda tag: close.sub(rb"\1,\2", tag))


def _attribute_name(file: Document) -> Iterator[Pair]:
    yield file.in_start_tags(lambda tag: _ATTRIBUTE.sub(rb' 2d="1"\g<0>', tag, 1))


def _attribute_value(file: Document) -> Iterator[Pair]:
    yield file.in_start_tags(lambda tag: _ATTRIBUTE.sub(rb" selected\g<0>", tag, 1))


def _attribute_quotes(file: Document) -> Iterator[Pair]:
    yield file.in_start_tags(lambda tag: _PLAIN_VALUE.sub(rb"\1", tag))
    yield file.in_start_tags(lambda tag: _NUMBERS.sub(rb"\1", tag))


def _attribute_space(file: Document) -> Iterator[Pair]:
    close = re.compile(rb"([\"'])\s+(?=[\w:.-]+\s*=\s*[\"'])")
    yield file.in_start_tags(lambda tag: close.sub(rb"\1", tag))


def _repeated_attribute(file: Document) -> Iterator[Pair]:
    yield file.in_start_tags(lambda tag: _ATTRIBUTE.sub(rb'\g<0> \2="0"', tag, 1))


def _end_tag(file: Document) -> Iterator[Pair]:
    yield file.in_end_tags(lambda tag: tag[:-1] + b' name="a">')


def _prefix(file: Document) -> Iterator[Pair]:
    clean, blemished = file.put(file.root.inside, *[b"<undeclared:x/>"] * 2)
    behind = file.root.start + len(file.root.name) + 1
    declared = b' xmlns:undeclared="http://x.org"'
    yield Pair(clean[:behind] + declared + clean[behind:], blemished)


def _outside_element(file: Document) -> Iterator[Pair]:
    for content in (b"<gazebo/>", b"<robot/>"):
        yield Pair(file.data, file.data + content)
    yield Pair(file.data, b"<gazebo><a/></gazebo>" + file.data)


def _outside_text(file: Document) -> Iterator[Pair]:
    yield Pair(file.data, file.data + b"\n\0")
    yield Pair(file.data, b"text " + file.data)


# Elements that can be inside the outer element but not inside the inner one.
_IDENTIFYING = {
    "link": {"link", "joint"},
    "joint": {"link", "joint"},
    "visual": {"visual", "collision", "inertial"},
    "collision": {"visual", "collision", "inertial"},
    "inertial": {"visual", "collision", "inertial"},
    "geometry": {"material", "origin"},
    "material": {"geometry", "origin"},
    "mass": {"inertia", "origin"},
}
_PLACES = {
    **dict.fromkeys(("link", "joint"), ("robot",)),
    **dict.fromkeys(("visual", "collision", "inertial"), ("robot", "link")),
    **dict.fromkeys(("geometry", "material"), ("robot", "link", "visual")),
    "mass": ("robot", "link", "inertial"),
}


def _holds_telling(file: Document, tag: Tag) -> bool:
    """Return whether an element contains one that implies a missing end tag."""
    identifying = _IDENTIFYING.get(tag.name, ())
    return any(tag.start < one.start < tag.end and one.name in identifying for one in file.tags)


def _end_added(file: Document) -> Iterator[Pair]:
    yield file.replaced(file.root, b"")
    # Once per kind and sibling; an empty element counts as one without end tag.
    done = set()
    starts = {tag.start: tag.name for tag in file.tags}
    for tag in file.tags:
        blank = re.compile(rb"(?:\s|<!--.*?-->)*", re.DOTALL).match(file.data, tag.behind)
        assert blank
        following = starts.get(blank.end(), "")
        identifying = following in _IDENTIFYING.get(tag.name, ())
        is_last = file.data.startswith(b"</", blank.end())
        in_place = tag.path == _PLACES.get(tag.name) and not _holds_telling(file, tag)
        if (tag.name, following) in done or not in_place or not (identifying or is_last):
            continue
        done.add((tag.name, following))
        if tag.behind > tag.end:
            yield file.replaced(tag, b"")
        else:
            opened = file.data[: tag.inside - 2] + b">" + file.data[tag.inside :]
            yield Pair(file.data, opened)
    links = [tag for tag in file.tags if (tag.name, tag.path) == ("link", ("robot",))]
    for tag in links[:: max(len(links) // 2, 1)]:
        ended, open_end = b"<foreign><x/></foreign>", b"<foreign><x/>"
        yield Pair(*file.put(tag.start, ended, open_end))


def _first_of_each(file: Document) -> Iterator[Tag]:
    found = set()
    for tag in file.with_end(*_IDENTIFYING):
        if tag.name not in found and tag.path == _PLACES[tag.name]:
            found.add(tag.name)
            yield tag


def _end_misspelt(file: Document) -> Iterator[Pair]:
    for tag in (file.root, *_first_of_each(file)):
        yield file.replaced(tag, b"</" + tag.name.upper().encode() + b">")


def _end_dropped(file: Document) -> Iterator[Pair]:
    yield file.inside(b"", b"</stray>")
    yield Pair(file.data, file.data + b"</robot>")
    for tag in _first_of_each(file):
        again = b"</" + tag.name.encode() + b">"
        yield file.replaced(tag, again + again)


FAULTS: Mapping[XmlRepair, Fault] = {
    XmlRepair.VERSION: _version,
    XmlRepair.ENCODING_NAME: _encoding_name,
    XmlRepair.ENCODING_BYTES: _encoding_bytes,
    XmlRepair.DECLARATION_LATE: _late_declaration,
    XmlRepair.DECLARATION_MALFORMED: _malformed_declaration,
    XmlRepair.DOCUMENT_TYPE: _document_type,
    XmlRepair.INSTRUCTION: _instruction,
    XmlRepair.COMMENT: _comment,
    XmlRepair.TAG_BLANK: _tag_blank,
    XmlRepair.TAG_CHARACTER: _tag_character,
    XmlRepair.VALUE_CHARACTER: _value_character,
    XmlRepair.SECTION_END: _section_end,
    XmlRepair.CHARACTER: _character,
    XmlRepair.REFERENCE: _reference,
    XmlRepair.ATTRIBUTE_STRAY: _stray_attribute,
    XmlRepair.ATTRIBUTE_NAME: _attribute_name,
    XmlRepair.ATTRIBUTE_VALUE: _attribute_value,
    XmlRepair.ATTRIBUTE_QUOTES: _attribute_quotes,
    XmlRepair.ATTRIBUTE_SPACE: _attribute_space,
    XmlRepair.ATTRIBUTE_REPEATED: _repeated_attribute,
    XmlRepair.END_TAG: _end_tag,
    XmlRepair.PREFIX: _prefix,
    XmlRepair.OUTSIDE_ELEMENT: _outside_element,
    XmlRepair.OUTSIDE_TEXT: _outside_text,
    XmlRepair.END_ADDED: _end_added,
    XmlRepair.END_MISSPELT: _end_misspelt,
    XmlRepair.END_DROPPED: _end_dropped,
}
