"""Reading of XML files as elements with line and column; malicious input is refused.

Text that expat refuses is read if what is wrong moves no element: declarations and
content that are misplaced, repeated attributes, and characters that need escaping.
"""

from __future__ import annotations

import codecs
import errno
import re
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from xml.parsers import expat

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate
from urdf_usd.converter.file_content import MIB, read_file

LARGEST_FILE = 64 * MIB
# Maximum nesting, because the tree is processed recursively.
_DEEPEST = 200
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
_DECLARATION_REACH = 400
# Conflict marker of git.
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)


def parse_markup(data: bytes, file: str, notes: list[Diagnostic]) -> Element:
    """Read the root element.

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
        if not re.fullmatch(r"1\.[0-9]+", version, re.ASCII):
            message = f"XML version {truncate(repr(version))} does not exist; read as 1.0"
            notes.append(Diagnostic("xml-version", message, start))
        text = _blank(text, 0, declaration.end())
    try:
        return _build(text, file, notes)
    except expat.ExpatError as error:
        if conflict := _CONFLICT.search(text):
            line = text.count("\n", 0, conflict.start()) + 1
            message = "a merge conflict is not resolved"
            raise _fatal("xml-syntax", message, Location(file, line, 1)) from None
        first = error
    repairs: list[Diagnostic] = []
    text = _repaired(text, file, repairs)
    try:
        root = _build(text, file, repairs)
    except expat.ExpatError as error:
        raise _malformed(error if repairs else first, file) from None
    if len(repairs) >= MOST_REPAIRS:
        raise _malformed(first, file)
    notes += repairs
    return root


def _fatal(rule: str, message: str, location: Location) -> SourceError:
    return SourceError((Diagnostic(rule, message, location),))


def _malformed(error: expat.ExpatError, file: str) -> SourceError:
    return _fatal("xml-syntax", expat.ErrorString(error.code), _place(error, file))


def _place(error: expat.ExpatError, file: str) -> Location:
    return Location(file, error.lineno, error.offset + 1)


def _blank(text: str, start: int, end: int) -> str:
    """Replace a part of a text by white space, which keeps all positions."""
    return text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]


# Bytes to text

_SINGLE_BYTES = "urdf_usd.single_bytes"


def _single_bytes(error: UnicodeError) -> tuple[str, int]:
    """Decode invalid bytes as Latin-1, for example those of a comment."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_SINGLE_BYTES, _single_bytes)


def _decode(data: bytes, file: str, notes: list[Diagnostic]) -> str:
    encoding = "utf-8"
    declaration = _DECLARATION.search(data[:_DECLARATION_REACH].decode("latin-1"))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif declaration and (declared := declaration["encoding"]):
        with suppress(LookupError, UnicodeError):
            # False for an encoding in which the declaration itself is not valid.
            if declaration[0].encode("latin-1").decode(declared) == declaration[0]:
                encoding = declared
        if encoding != declared and declared.lower() != "utf-8":
            message = f"the encoding is not {truncate(repr(declared))}; read as utf-8"
            notes.append(Diagnostic("xml-encoding", message, Location(file, 1, 1)))
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        start = error.start
    text, used = data.decode(encoding, _SINGLE_BYTES), "latin-1 where they are not"
    with suppress(UnicodeError):
        text, used = data.decode(), "utf-8"
    line_start = data.rfind(b"\n", 0, start) + 1
    column = len(data[line_start:start].decode("utf-8", "replace")) + 1
    place = Location(file, data.count(b"\n", 0, start) + 1, column)
    message = f"the bytes are not {encoding}; read as {used}"
    notes.append(Diagnostic("xml-encoding", message, place))
    return text.removeprefix("\ufeff")


# Text to elements

_DECLARED = "xmlns"
# Stand-ins for characters that need escaping; Unicode reserves them for internal use.
_STAND_INS = {"&": "\ufdd0", "<": "\ufdd1", ">": "\ufdd2"}
_RESTORED = str.maketrans({stand_in: character for character, stand_in in _STAND_INS.items()})
_Open: TypeAlias = (
    "tuple[tuple[tuple[str, str], ...], Location, dict[str, str], list[Element], list[str]]"
)


def _build(text: str, file: str, notes: list[Diagnostic]) -> Element:
    """Parse well-formed text, and report undeclared prefixes and content after the root.

    Expat, because lxml has no columns and refuses undeclared prefixes.
    """
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    # The text between two tags arrives in one piece.
    parser.buffer_text = True
    parser.buffer_size = len(text) + 1
    outermost: list[Element] = []
    # Attributes, location, namespaces, children and text of elements without an end tag so far.
    stack: list[_Open] = [((), Location(file, 1, 1), {"xml": "", _DECLARED: ""}, outermost, [])]
    undeclared: dict[str, Location] = {}

    def here() -> Location:
        return Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def start_element(tag: str, flat: list[str]) -> None:
        location, namespaces = here(), stack[-1][2]
        if len(stack) > _DEEPEST:
            message = f"elements are nested more than {_DEEPEST} deep"
            raise _fatal("xml-syntax", message, location)
        names = flat[::2]
        values = (value.translate(_RESTORED) for value in flat[1::2])
        attributes = tuple(zip(names, values, strict=True))
        prefixed = [name for name in (tag, *names) if ":" in name]
        if prefixed or _DECLARED in names:
            namespaces = namespaces | {
                name.removeprefix(_DECLARED).removeprefix(":"): value
                for name, value in attributes
                if name.partition(":")[0] == _DECLARED
            }
            for name in prefixed:
                prefix = name.rpartition(":")[0]
                if prefix not in namespaces:
                    undeclared.setdefault(prefix, location)
        stack.append((attributes, location, namespaces, [], []))

    def add_text(content: str) -> None:
        if piece := content.strip():
            stack[-1][4].append(piece.translate(_RESTORED))

    def end_element(tag: str) -> None:
        attributes, location, namespaces, children, text = stack.pop()
        namespace = namespaces.get(tag.rpartition(":")[0]) or None
        inside = "\n".join(text)
        element = Element(tag, namespace, attributes, tuple(children), location, inside)
        stack[-1][3].append(element)

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
    # Expat refuses surrogates, which some encodings can contain.
    data = text.encode("utf-8", "surrogatepass")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        rest = data[parser.ErrorByteIndex :]
        # If another end tag of the root follows, the first one is a mistake.
        tag = outermost[0].tag.encode() if outermost else b""
        if not outermost or rest.count(b"</" + tag) > rest.count(b"<" + tag):
            raise
        message = "there is content after the root element; left out"
        notes.append(Diagnostic("xml-outside", message, _place(error, file)))
    for prefix, location in undeclared.items():
        message = f"namespace prefix {truncate(repr(prefix))} is not declared"
        notes.append(Diagnostic("xml-prefix", message, location))
    return outermost[0]


# Repairs of malformed text

_FORBIDDEN = rf"(?P<forbidden>{FORBIDDEN.pattern})"
_CHARACTERS = (
    rf"(?P<reference>&(?!(?:lt|gt|amp|quot|apos|#[0-9]{{1,7}}|#x[0-9a-fA-F]{{1,6}});))|{_FORBIDDEN}"
)
_FAULT = re.compile(
    r"(?P<comment><!--.*?-->)|(?P<section><!\[CDATA\[.*?\]\]>)|(?P<declaration><\?xml\s.*?\?>)"
    r"""|(?P<tag><[^\s<>"'/=!?](?:[^<>"']|"[^"]*"|'[^']*')*>)"""
    rf"|(?P<bracket>\]\]>)|{_CHARACTERS}",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s<>"'/=]+)\s*=\s*("[^"]*"|'[^']*')""")


def _repaired(text: str, file: str, notes: list[Diagnostic]) -> str:
    """Repair faults that move no element; the text keeps its length and all positions."""
    # As a parser does.
    text = re.sub(r"\r\n?", "\n", text)

    def note(rule: str, message: str, offset: int) -> None:
        column = offset - text.rfind("\n", 0, offset)
        place = Location(file, text.count("\n", 0, offset) + 1, column)
        notes.append(Diagnostic(rule, message, place))

    def repair(fault: re.Match[str], start: int = 0) -> str:
        piece, start = fault[0], start + fault.start()
        match fault.lastgroup:
            case "reference":
                note("xml-reference", "'&' begins no reference; kept as it is", start)
                return _STAND_INS["&"]
            case "forbidden":
                note("xml-character", "a character is not allowed in XML; replaced", start)
                return _REPLACEMENT
            case "bracket":
                message = "']]>' in the text should be ']]&gt;'; kept"
                note("xml-character", message, start)
                return f"]]{_STAND_INS['>']}"
            case "declaration":
                # A well-formed one at the start was processed before.
                wrong = "malformed" if start == 0 else "not at the start"
                note("xml-declaration", f"the XML declaration is {wrong}; ignored", start)
                return _blank(piece, 0, len(piece))
            case "tag":
                return attributes(re.sub(_CHARACTERS, lambda f: repair(f, start), piece), start)
            case kind:
                piece = re.sub(_FORBIDDEN, lambda f: repair(f, start), piece)
                if kind == "comment" and ("--" in piece[4:-3] or piece.endswith("--->")):
                    note("xml-comment", "a comment holds a double hyphen", start)
                    return f"<!--{piece[4:-3].replace('-', ' ')}-->"
                return piece

    def attributes(tag: str, start: int) -> str:
        name, seen = re.split(r"[\s/>]", tag[1:], maxsplit=1)[0], set()
        for match in _ATTRIBUTE.finditer(tag):
            subject = f"{truncate(match[1])} of <{truncate(name)}>"
            if match[1] in seen:
                message = f"{subject} is repeated; the first is used"
                note("attribute-repeated", message, start + match.start())
                tag = _blank(tag, *match.span())
            elif "<" in match[2]:
                message = f"'<' in {subject} should be '&lt;'; kept"
                note("xml-character", message, start + match.start(2))
                value = match[2].replace("<", _STAND_INS["<"])
                tag = tag[: match.start(2)] + value + tag[match.end() :]
            seen.add(match[1])
        return tag

    return _FAULT.sub(repair, text)
