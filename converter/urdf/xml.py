"""Reading of XML files as elements with line and column; malicious input is refused.

Text that expat refuses is read if what is wrong moves no element: declarations and
content that are misplaced, repeated attributes, and characters that need escaping.
"""

from __future__ import annotations

import codecs
import errno
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

from msgspec import Struct, field

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.file_content import MIB, read_file

LARGEST_FILE = 64 * MIB
# Maximum nesting, because the tree is processed recursively.
DEEPEST = 200
# Maximum number of elements and attributes: fifty thousand links with joints.
MOST_PARTS = 500_000
LONGEST_VALUE = 1 << 20
# Text with more faults is not XML.
MOST_REPAIRS = 1000
# Rules of repairs without which other parsers may refuse the file or read other content.
XML_REPAIRS = frozenset(
    {
        "xml-encoding",
        "xml-declaration",
        "xml-outside",
        "attribute-repeated",
        "xml-character",
        "xml-reference",
        "xml-comment",
    }
)
# Characters of Unicode that XML does not allow.
# Listing those that are allowed takes ten times as long to compile.
FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"


class Element(Struct, frozen=True):
    """An XML element."""

    # As written, prefix included.
    tag: str
    # Of the prefix, or the default namespace.
    namespace: str | None
    # Name and value, as written.
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element, ...]
    # Of its "<".
    location: Location
    # Directly inside; pieces between children are stripped and on separate lines.
    text: str = ""

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None if it is absent."""
        # Elements have few attributes.
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def same_text(self, other: Element) -> bool:
        """Return whether both are equal except for their locations."""
        return (
            (self.tag, self.text) == (other.tag, other.text)
            and sorted(self.attributes) == sorted(other.attributes)
            and len(self.children) == len(other.children)
            and all(map(Element.same_text, self.children, other.children))
        )


def describe(element: Element) -> str:
    """Return the tag of an element for a message, with its name if it has one."""
    name = element.get("name")
    if not name:
        return f"<{element.tag}>"
    return f"<{element.tag} name={truncate(repr(name))}>"


def name_part(part: Element) -> str:
    """Return a description of an omitted element: its name, or its mass."""
    name = part.get("name")
    if name is not None:
        return f"{part.tag} {truncate(repr(name))}"
    masses = [one.get("value") for one in (part, *part.children) if one.tag == "mass"]
    mass = f" of {truncate(masses[0])} kg" if masses and masses[0] else ""
    return f"<{part.tag}>{mass}"


def writable(text: str) -> str:
    """Replace characters that XML does not allow."""
    return FORBIDDEN.sub("_", text)


def load(file: str) -> bytes:
    """Read a file.

    Raises:
        SourceError: It does not exist, is not a file, is too large, or cannot be read.
    """
    path, start = Path(file), Location(file, 1, 1)
    try:
        if path.is_dir():
            raise _fatal("file-not-regular", f"{file} is a folder", start)
        if path.exists() and not path.is_file():
            raise _fatal("file-not-regular", f"{file} is not a regular file", start)
        return read_file(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a null character, which no file name contains
        raise _fatal("file-missing", f"{file} does not exist", start) from None
    except OSError as error:
        rule = "file-size" if error.errno == errno.EFBIG else "file-unreadable"
        raise _fatal(rule, f"{file} cannot be read: {error.strerror}", start) from error


_OTHER_FORMATS = (
    (b"#usda", "a text layer of USD"),
    (b"PXR-USDC", "a binary layer of USD"),
    (b"PK\x03\x04", "a zip archive (such as USDZ)"),
    (b"glTF", "a binary glTF file"),
    (b"\x7fELF", "an executable"),
    (b"\x89PNG", "a PNG image"),
    (b"{", "a JSON document"),
    (b"solid ", "an STL mesh"),
)
_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)"""
    r"""(?:\s+encoding\s*=\s*(?P<r>["'])(?P<encoding>[A-Za-z][\w.-]*)(?P=r))?"""
    r"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>""",
    re.ASCII,
)
_KNOWN_VERSION = re.compile(r"1\.[0-9]+", re.ASCII)
# Conflict marker of git.
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)


def parse_markup(data: bytes, file: str, notes: list[Diagnostic]) -> Element:
    """Read the root element.

    Args:
        data: Content of the file.
        file: Its path, for locations.
        notes: Receives diagnostics of repairs.

    Raises:
        SourceError: There is no well-formed XML, or it declares entities.
    """
    start = Location(file, 1, 1)
    for mark, kind in _OTHER_FORMATS:
        if data.startswith(mark):
            raise _fatal("file-format", f"{file} is {kind}, not URDF", start)
    text = _decode(data, file, notes)
    if not text.strip():
        raise _fatal("file-empty", f"{file} is empty", start)
    if declaration := _DECLARATION.match(text):
        version = declaration["version"]
        if not _KNOWN_VERSION.fullmatch(version):
            message = f"XML version {truncate(repr(version))} does not exist; read as 1.0"
            notes.append(Diagnostic("xml-version", message, start))
        text = _blank(text, 0, declaration.end())
    try:
        return _build(text, file, notes)
    except _MalformedError as error:
        if conflict := _CONFLICT.search(text):
            line = text.count("\n", 0, conflict.start()) + 1
            message = "a merge conflict is not resolved"
            raise _fatal("xml-syntax", message, Location(file, line, 1)) from None
        repairs = _Repairs(text, file)
        if not 0 < len(repairs.notes) < MOST_REPAIRS:
            raise error.fatal from None
        notes += repairs.notes
    try:
        return _build(repairs.text, file, notes)
    except _MalformedError as error:
        raise error.fatal from None


def _fatal(rule: str, message: str, location: Location) -> SourceError:
    return SourceError((Diagnostic(rule, message, location),))


def _blank(text: str, start: int, end: int) -> str:
    """Replace a part of a text by white space, which keeps all positions."""
    return text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]


# ---- Bytes to text

_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark starts with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARATION_REACH = 400
# Can decode all bytes.
_ANY_BYTES = "latin-1"
_SINGLE_BYTES = "urdf_usd.single_bytes"


def _decode(data: bytes, file: str, notes: list[Diagnostic]) -> str:
    marked = (name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = next(marked, None) or _declared_encoding(data, file, notes)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
    line_start = data.rfind(b"\n", 0, start) + 1
    column = len(data[line_start:start].decode("utf-8", "replace")) + 1
    text, used = _decode_wrong(data, encoding)
    message = f"the bytes are not {encoding}; read as {used}"
    place = Location(file, data.count(b"\n", 0, start) + 1, column)
    notes.append(Diagnostic("xml-encoding", message, place))
    return text.removeprefix("\ufeff")


def _decode_wrong(data: bytes, encoding: str) -> tuple[str, str]:
    """Decode bytes that are invalid in an encoding; also return a description of another."""
    if codecs.lookup(encoding) != codecs.lookup("utf-8"):
        with suppress(UnicodeError):
            return data.decode("utf-8"), "utf-8"
    # Only invalid bytes, for example in a comment, are decoded differently.
    with suppress(UnicodeError):
        return data.decode(encoding, _SINGLE_BYTES), f"{_ANY_BYTES} where they are not"
    return data.decode(_ANY_BYTES), _ANY_BYTES


def _single_bytes(error: UnicodeError) -> tuple[str, int]:
    """Decode invalid bytes as Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode(_ANY_BYTES), error.end


codecs.register_error(_SINGLE_BYTES, _single_bytes)


def _declared_encoding(data: bytes, file: str, notes: list[Diagnostic]) -> str:
    """Return the declared encoding if it is possible, otherwise UTF-8."""
    declaration = _DECLARATION.search(data[:_DECLARATION_REACH].decode("latin-1"))
    declared = declaration["encoding"] if declaration else None
    if declaration is None or declared is None:
        return "utf-8"
    written = declaration[0]
    with suppress(LookupError, UnicodeError):
        # False for an encoding in which the declaration itself is not valid.
        if written.encode("latin-1").decode(declared) == written:
            return declared
    message = f"the encoding is not {truncate(repr(declared))}; read as utf-8"
    notes.append(Diagnostic("xml-encoding", message, Location(file, 1, 1)))
    return "utf-8"


# ---- Text to elements

_DECLARED = "xmlns"
_PREDEFINED = {"xml", _DECLARED}
# Stand-ins for characters that need escaping; Unicode reserves them for internal use.
_STAND_INS = {"&": "\ufdd0", "<": "\ufdd1", ">": "\ufdd2"}
_RESTORED = str.maketrans({stand_in: character for character, stand_in in _STAND_INS.items()})


class _MalformedError(Exception):
    """Text that is no well-formed XML; ``fatal`` is where and why."""

    def __init__(self, fatal: SourceError) -> None:
        super().__init__(str(fatal))
        self.fatal = fatal


class _Open(Struct):
    """An element whose end tag has not been read yet."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    location: Location
    namespaces: Mapping[str, str]
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def end_piece(self) -> None:
        """End a piece of text at a tag."""
        if self.text:
            self.pieces.append("".join(self.text).strip().translate(_RESTORED))
            self.text = []


def _build(text: str, file: str, notes: list[Diagnostic]) -> Element:
    """Parse well-formed text, and report undeclared prefixes.

    Raises:
        _MalformedError: It is not well-formed.
        SourceError: It declares entities, or is too large.
    """
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.buffer_text = True
    roots: list[Element] = []
    open_elements: list[_Open] = []
    undeclared: dict[str, Location] = {}
    parts = 0

    def here() -> Location:
        return Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def start_element(tag: str, flat: list[str]) -> None:
        nonlocal parts
        location = here()
        if len(open_elements) >= DEEPEST:
            message = f"elements are nested more than {DEEPEST} deep"
            raise _fatal("xml-syntax", message, location)
        parts += 1 + len(flat) // 2
        if parts > MOST_PARTS:
            message = f"there are more than {MOST_PARTS} elements and attributes"
            raise _fatal("file-size", message, location)
        if any(len(value) > LONGEST_VALUE for value in flat):
            message = f"a value is longer than {LONGEST_VALUE} characters"
            raise _fatal("file-size", message, location)
        names = flat[::2]
        values = (value.translate(_RESTORED) for value in flat[1::2])
        attributes = tuple(zip(names, values, strict=True))
        namespaces = open_elements[-1].namespaces if open_elements else {}
        prefixed = [name for name in (tag, *names) if ":" in name]
        if prefixed or _DECLARED in names:
            namespaces = {**namespaces, **_declarations(attributes)}
            for name in prefixed:
                prefix = name.rpartition(":")[0]
                if prefix not in namespaces and prefix not in _PREDEFINED:
                    undeclared.setdefault(prefix, location)
        open_elements.append(_Open(tag, attributes, location, namespaces))

    def add_text(content: str) -> None:
        if open_elements and (open_elements[-1].text or content.strip()):
            open_elements[-1].text.append(content)

    def end_element(_: str) -> None:
        opened = open_elements.pop()
        opened.end_piece()
        element = Element(
            tag=opened.tag,
            namespace=opened.namespaces.get(opened.tag.rpartition(":")[0]) or None,
            attributes=opened.attributes,
            children=tuple(opened.children),
            location=opened.location,
            text="\n".join(opened.pieces),
        )
        if open_elements:
            open_elements[-1].children.append(element)
            open_elements[-1].end_piece()
        else:
            roots.append(element)

    def start_doctype(_name: str, system: str | None, public: str | None, *_: object) -> None:
        if system or public:
            message = "the document type refers to another document"
            raise _fatal("xml-entity", message, here())

    def declare_entity(name: str, *_: object) -> None:
        raise _fatal("xml-entity", f"entity {name!r} is declared", here())

    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.CharacterDataHandler = add_text
    parser.StartDoctypeDeclHandler = start_doctype
    parser.EntityDeclHandler = declare_entity
    try:
        # Expat refuses surrogates, which some encodings can contain.
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        place = Location(file, error.lineno, error.offset + 1)
        message = expat.ErrorString(error.code)
        raise _MalformedError(_fatal("xml-syntax", message, place)) from None
    for prefix, location in undeclared.items():
        message = f"namespace prefix {truncate(repr(prefix))} is not declared"
        notes.append(Diagnostic("xml-prefix", message, location))
    return roots[0]


def _declarations(attributes: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the namespaces that attributes declare, by prefix."""
    return {
        name.removeprefix(_DECLARED).removeprefix(":"): value
        for name, value in attributes
        if name.partition(":")[0] == _DECLARED
    }


# ---- Repairs of malformed text

_TOKEN = re.compile(
    r"""(?P<comment><!--.*?-->)|(?P<section><!\[CDATA\[.*?\]\]>)"""
    r"""|(?P<declaration><\?xml\s.*?\?>)|(?P<other><\?.*?\?>|<![A-Za-z][^\[>]*>)"""
    r"""|(?P<end></[^<>]*>)|(?P<start><[^\s<>"'/=!?](?:[^<>"']|"[^"]*"|'[^']*')*>)"""
    r"""|(?P<text>[^<]+)""",
    re.DOTALL,
)
_TAG_NAME = re.compile(r"<([^\s/>]+)")
_ATTRIBUTE = re.compile(r"""([^\s<>"'/=]+)\s*=\s*("[^"]*"|'[^']*')""")
_BARE_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_ROBOT = "robot"


class _Repairs:
    """Repairs of faults that move no element.

    Attributes:
        text: Of the same length, so that all positions are kept.
        notes: A diagnostic for each fault.
    """

    def __init__(self, text: str, file: str) -> None:
        # As a parser does; positions are kept too.
        self.text = re.sub(r"\r\n?", "\n", text)
        self.notes: list[Diagnostic] = []
        self._file = file
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        pieces: list[str] = []
        outermost: list[tuple[int, int]] = []
        depth = end = 0
        for token in self._tokens():
            end = token.end()
            outside = depth == 0 and token.lastgroup == "text"
            pieces.append(token[0] if outside else self._repaired(token))
            if token.lastgroup == "start" and depth == 0:
                outermost.append((token.start(), end))
            if token.lastgroup == "start" and not token[0].endswith("/>"):
                depth += 1
            elif token.lastgroup == "end":
                depth -= 1
                if depth < 0:
                    break
                if depth == 0:
                    outermost[-1] = outermost[-1][0], end
        self.text = "".join(pieces) + self.text[end:]
        if outermost and depth == 0:
            self._leave_out(outermost)

    def _tokens(self) -> Iterator[re.Match[str]]:
        """Yield the tokens up to the first one that cannot be repaired."""
        position = 0
        while token := _TOKEN.match(self.text, position):
            yield token
            position = token.end()

    def _note(self, rule: str, message: str, offset: int) -> None:
        line = bisect_right(self._lines, offset)
        place = Location(self._file, line, offset - self._lines[line - 1] + 1)
        self.notes.append(Diagnostic(rule, message, place))

    def _repaired(self, token: re.Match[str]) -> str:
        text, start = token[0], token.start()
        if token.lastgroup == "declaration":
            # A well-formed one at the start was processed before.
            wrong = "malformed" if start == 0 else "not at the start"
            self._note("xml-declaration", f"the XML declaration is {wrong}; ignored", start)
            return _blank(text, 0, len(text))
        if forbidden := FORBIDDEN.search(text):
            message = "a character is not allowed in XML; replaced"
            self._note("xml-character", message, start + forbidden.start())
            text = FORBIDDEN.sub(_REPLACEMENT, text)
        if token.lastgroup == "comment" and ("--" in text[4:-3] or text.endswith("--->")):
            self._note("xml-comment", "a comment holds a double hyphen", start)
            text = f"<!--{text[4:-3].replace('-', ' ')}-->"
        elif token.lastgroup == "start":
            text = self._repaired_tag(text, start)
        elif token.lastgroup == "text" and "]]>" in text:
            message = "']]>' in the text should be ']]&gt;'; kept"
            self._note("xml-character", message, start)
            text = text.replace("]]>", f"]]{_STAND_INS['>']}")
        if token.lastgroup in {"start", "text"} and _BARE_AMPERSAND.search(text):
            for match in _BARE_AMPERSAND.finditer(text):
                message = "'&' begins no reference; kept as it is"
                self._note("xml-reference", message, start + match.start())
            text = _BARE_AMPERSAND.sub(_STAND_INS["&"], text)
        return text

    def _repaired_tag(self, text: str, start: int) -> str:
        tag = _TAG_NAME.match(text)
        name = truncate(tag[1]) if tag else ""
        seen: set[str] = set()
        for match in _ATTRIBUTE.finditer(text):
            subject = f"{truncate(match[1])} of <{name}>"
            if match[1] in seen:
                message = f"{subject} is repeated; the first is used"
                self._note("attribute-repeated", message, start + match.start())
                text = _blank(text, *match.span())
            elif "<" in match[2]:
                message = f"'<' in {subject} should be '&lt;'; kept"
                self._note("xml-character", message, start + match.start(2))
                value = match[2].replace("<", _STAND_INS["<"])
                text = text[: match.start(2)] + value + text[match.end() :]
            seen.add(match[1])
        return text

    def _leave_out(self, outermost: list[tuple[int, int]]) -> None:
        """Leave out all but the robot, or the first element if there is none."""
        tags = [f"<{name[1]}>" for span in outermost if (name := _TAG_NAME.match(self.text, *span))]
        kept = tags.index(f"<{_ROBOT}>") if f"<{_ROBOT}>" in tags else 0
        root = truncate(tags[kept])
        start, end = outermost[kept]
        others = [index for index in range(len(outermost)) if index != kept]
        if others:
            more = f", with {len(others) - 1} more" if others[1:] else ""
            message = f"{truncate(tags[others[0]])} lies outside {root}; left out{more}"
            self._note("xml-outside", message, outermost[others[0]][0])
        outside = _blank(self.text, *outermost[kept])
        for first, last in outermost:
            outside = _blank(outside, first, last)
        for token in _TOKEN.finditer(outside):
            if token.lastgroup == "text" and token[0].strip():
                offset = token.end() - len(token[0].lstrip())
                self._note("xml-outside", f"there is text outside {root}; left out", offset)
                break
        self.text = _blank(self.text, 0, start)[:end]
