"""Reading of XML files as elements with line and column; malicious input is refused.

Text that expat refuses is read if what is wrong moves no element: declarations and
content that are misplaced, repeated attributes, and characters that need escaping.
"""

from __future__ import annotations

import codecs
import errno
import re
from pathlib import Path
from xml.parsers import expat

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate
from urdf_usd.converter.file_content import MIB, read_file

LARGEST_FILE = 64 * MIB
# Maximum nesting, because the tree is processed recursively.
_DEEPEST = 200
_MOST_REPAIRS = 1000
# Rules of repairs without which other parsers may refuse the file or read other content.
XML_REPAIRS = frozenset(
    {
        "xml-encoding",
        "xml-declaration",
        "xml-outside",
        "attribute-repeated",
        "xml-character",
        "xml-comment",
    }
)
# Characters of Unicode that XML does not allow.
FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Element(Struct, frozen=True):
    """An XML element."""

    tag: str  # as written, prefix included
    attributes: tuple[tuple[str, str], ...]  # name and value, as written
    children: tuple[Element, ...]
    location: Location  # of its "<"
    text: str = ""  # directly inside; pieces between children are stripped and on separate lines

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None if it is absent."""
        return next((value for key, value in self.attributes if key == name), None)


def describe(element: Element) -> str:
    """Return the tag of an element for a message, with its name if it has one."""
    name = element.get("name")
    return f"<{element.tag} name={truncate(repr(name))}>" if name else f"<{element.tag}>"


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
    start = Location(file, 1, 1)
    try:
        return read_file(Path(file), LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a null character, which no file name contains
        raise fatal("file-missing", f"{file} does not exist", start) from None
    except OSError as error:
        rule = "file-size" if error.errno == errno.EFBIG else "file-unreadable"
        raise fatal(rule, f"{file} cannot be read: {error.strerror}", start) from error


# Characters of bytes that are no UTF-8, as Python decodes them, to those of Latin-1.
_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}
_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)"""
    r"""(?:\s+encoding\s*=\s*(?P<r>["'])(?P<encoding>[A-Za-z][\w.-]*)(?P=r))?"""
    r"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>""",
    re.ASCII,
)


def parse_markup(data: bytes, file: str, notes: list[Diagnostic]) -> Element:
    """Read the root element.

    Raises:
        SourceError: There is no well-formed XML, or it declares entities.
    """
    start = Location(file, 1, 1)
    text = _decode(data, file, notes)
    if not text.strip():
        raise fatal("file-empty", f"{file} is empty", start)
    if not text.lstrip().startswith("<"):
        raise fatal("xml-syntax", f"{file} is not XML: it begins with {text[:8]!r}", start)
    if declaration := _DECLARATION.match(text):
        version = declaration["version"]
        if not re.fullmatch(r"1\.[0-9]+", version, re.ASCII):
            message = f"XML version {truncate(repr(version))} does not exist; read as 1.0"
            notes.append(Diagnostic("xml-version", message, start))
        text = _blank(declaration[0]) + text[declaration.end() :]
    try:
        return _build(text, file, notes)
    except expat.ExpatError:
        repairs: list[Diagnostic] = []
    try:
        root = _build(_repaired(text, file, repairs), file, repairs)
    except expat.ExpatError as error:
        raise fatal("xml-syntax", expat.ErrorString(error.code), _place(error, file)) from None
    notes += repairs
    return root


def fatal(rule: str, message: str, location: Location | None) -> SourceError:
    """Return an error of one diagnostic."""
    return SourceError((Diagnostic(rule, message, location),))


def _place(error: expat.ExpatError, file: str) -> Location:
    return Location(file, error.lineno, error.offset + 1)


def _blank(text: str) -> str:
    """Replace text by white space, which keeps all positions."""
    return re.sub(r"[^\r\n]", " ", text)


def _decode(data: bytes, file: str, notes: list[Diagnostic]) -> str:
    """Decode UTF-8, otherwise the declared encoding; declarations of it are often wrong."""
    declaration = _DECLARATION.match(data[:400].decode("latin-1"))
    declared = (declaration and declaration["encoding"]) or "utf-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = "utf-16"
    for encoding in ("utf-8", declared):
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
        except LookupError:
            continue
    message = f"the bytes are not {truncate(declared)}; read as utf-8, other bytes as latin-1"
    notes.append(Diagnostic("xml-encoding", message, Location(file, line, 1)))
    return data.decode("utf-8", "surrogateescape").translate(_LATIN_1)


def _build(text: str, file: str, notes: list[Diagnostic]) -> Element:
    """Parse well-formed text, and report undeclared prefixes and content after the root."""
    # lxml has no columns and refuses undeclared prefixes.
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    # The text between two tags arrives in one piece.
    parser.buffer_text = True
    parser.buffer_size = len(text) + 1
    roots: list[Element] = []
    # Elements without end tag so far, with their children and pieces of text.
    stack: list[tuple[Element, list[Element], list[str]]]
    stack = [(Element("", (), (), Location(file, 1, 1)), roots, [])]
    used: dict[str, Location] = {}
    declared = {"", "xml", "xmlns"}

    def here() -> Location:
        return Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def start_element(tag: str, flat: list[str]) -> None:
        location, names = here(), flat[::2]
        if len(stack) > _DEEPEST:
            raise fatal("xml-syntax", f"elements are nested more than {_DEEPEST} deep", location)
        for name in (tag, *names):
            if ":" in name:
                prefix, _, local = name.partition(":")
                if prefix == "xmlns":
                    declared.add(local)
                used.setdefault(prefix, location)
        attributes = tuple(zip(names, flat[1::2], strict=True))
        stack.append((Element(tag, attributes, (), location), [], []))

    def add_text(content: str) -> None:
        if piece := content.strip():
            stack[-1][2].append(piece)

    def end_element(_tag: str) -> None:
        element, children, text = stack.pop()
        done = structs.replace(element, children=tuple(children), text="\n".join(text))
        stack[-1][1].append(done)

    def start_doctype(_name: str, system: str | None, public: str | None, *_: object) -> None:
        if system or public:
            raise fatal("xml-entity", "the document type refers to another document", here())

    def declare_entity(name: str, *_: object) -> None:
        raise fatal("xml-entity", f"entity {name!r} is declared", here())

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
        tag = roots[0].tag.encode() if roots else b""
        if not tag or rest.count(b"</" + tag) > rest.count(b"<" + tag):
            raise
        message = "there is content after the root element; left out"
        notes.append(Diagnostic("xml-outside", message, _place(error, file)))
    for prefix, location in used.items():
        if prefix not in declared:
            message = f"namespace prefix {truncate(repr(prefix))} is not declared"
            notes.append(Diagnostic("xml-prefix", message, location))
    return roots[0]


_FAULT = re.compile(
    r"(?P<comment><!--.*?-->)|<!\[CDATA\[.*?\]\]>|(?P<declaration><\?xml\s.*?\?>)"
    r"""|(?P<tag><[^\s<>"'/=!?](?:[^<>"']|"[^"]*"|'[^']*')*>)""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?P<name>[^\s<>"'/=]+)\s*=\s*(?P<value>"[^"]*"|'[^']*')""")
# What a value must not contain, as XML writes it.
_UNESCAPED = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)|<")


def _repaired(text: str, file: str, notes: list[Diagnostic]) -> str:
    """Repair faults that move no element; what is after one in its line changes its column."""
    text = re.sub(r"\r\n?", "\n", text)

    def note(rule: str, message: str, offset: int) -> None:
        column = offset - text.rfind("\n", 0, offset)
        place = Location(file, text.count("\n", 0, offset) + 1, column)
        if len(notes) == _MOST_REPAIRS:
            raise fatal("xml-syntax", "there are too many faults", place)
        notes.append(Diagnostic(rule, message, place))

    def repair(fault: re.Match[str]) -> str:
        piece, start, seen = fault[0], fault.start(), set[str]()

        def repair_attribute(match: re.Match[str]) -> str:
            name, place = match["name"], start + match.start()
            subject = f"{truncate(name)} of {truncate(piece.split()[0])}"
            if name in seen:
                note("attribute-repeated", f"{subject}> is repeated; the first is used", place)
                return _blank(match[0])
            seen.add(name)
            if not (wrong := _UNESCAPED.search(match["value"])):
                return match[0]
            note("xml-character", f"{wrong[0]!r} in {subject}> is not escaped; kept", place)
            return f"{name}={_UNESCAPED.sub(lambda c: f'&#{ord(c[0])};', match['value'])}"

        match fault.lastgroup:
            case "declaration":
                # A well-formed one at the start was processed before.
                wrong = "malformed" if start == 0 else "not at the start"
                note("xml-declaration", f"the XML declaration is {wrong}; ignored", start)
                return _blank(piece)
            case "comment" if "--" in piece[4:-3] or piece.endswith("--->"):
                note("xml-comment", "a comment holds a double hyphen", start)
                return f"<!--{piece[4:-3].replace('-', ' ')}-->"
            case "tag":
                return _ATTRIBUTE.sub(repair_attribute, piece)
        return piece

    return _FAULT.sub(repair, text)
