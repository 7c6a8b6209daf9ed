"""Bytes of a URDF file to a tree of elements with positions; hostile input is refused.

Two parsers read the same bytes. Expat is strict, sees every declaration, and knows
lines and columns. Only what it has passed reaches lxml, which builds the tree; lxml may
therefore overlook what is not about well-formedness, such as an undeclared prefix.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from lxml import etree

from converter.diagnostics import Diagnostic, Location, SourceError

if TYPE_CHECKING:
    from converter.urdf.findings import Findings

_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)"""
    r"""(?:\s+encoding\s*=\s*(?P<r>["'])(?P<encoding>[A-Za-z][\w.-]*)(?P=r))?"""
    r"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>""",
    re.ASCII,
)
_DECLARATION_REACH = 400
_KNOWN_VERSION = re.compile(r"1\.[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Element:
    """An XML element.

    Attributes:
        tag: As written, prefix included.
        namespace: What the prefix, or the default namespace, stands for.
        attributes: Name and value, as written.
        children: Elements inside, in document order.
        location: Position of its ``<``.
    """

    tag: str
    namespace: str | None
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element, ...]
    location: Location

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None if it is absent."""
        return dict(self.attributes).get(name)


def load(file: str) -> bytes:
    """Read a file.

    Raises:
        SourceError: It does not exist, is not a file, or cannot be read.
    """
    path = Path(file)
    try:
        if path.is_dir():
            raise _fatal("file-not-regular", f"{file} is a folder", file)
        if path.exists() and not path.is_file():
            raise _fatal("file-not-regular", f"{file} is not a regular file", file)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a null character, which no file name contains
        raise _fatal("file-missing", f"{file} does not exist", file) from None
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise _fatal("file-unreadable", message, file) from error


def parse_markup(data: bytes, file: str) -> Findings[Element]:
    """Read the root element.

    Args:
        data: Content of the file.
        file: Its path, for locations.

    Raises:
        SourceError: There is no well-formed XML, or it declares entities.
    """
    text = _decode(data, file)
    if not text.strip():
        raise _fatal("file-empty", f"{file} is empty", file)
    declaration = _DECLARATION.match(text)
    if declaration:
        version = declaration["version"]
        if not _KNOWN_VERSION.fullmatch(version):
            message = f"XML version {version!r} does not exist; read as 1.0"
            yield Diagnostic("xml-version", message, Location(file, 1, 1))
        # The text is Unicode by now, so the declaration has nothing left to say.
        # Blanks in its place keep all positions.
        blank = re.sub(r"[^\r\n]", " ", declaration[0])
        text = blank + text[declaration.end() :]
    # Surrogates, which odd encodings can smuggle in, are left for expat to refuse.
    encoded = text.encode("utf-8", "surrogatepass")
    return _tree(encoded, _positions(encoded, file), file)


def _fatal(
    rule: str, message: str, file: str, line: int = 1, column: int = 1
) -> SourceError:
    return SourceError((Diagnostic(rule, message, Location(file, line, column)),))


def _decode(data: bytes, file: str) -> str:
    encoding = "utf-8"
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            encoding = name
            break
    else:
        beginning = data[:_DECLARATION_REACH].decode("ascii", "replace")
        declaration = _DECLARATION.match(beginning)
        if declaration and declaration["encoding"]:
            encoding = declaration["encoding"]
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        message = f"unknown encoding {encoding!r}"
        raise _fatal("xml-syntax", message, file) from None
    except UnicodeError as error:
        end = error.start if isinstance(error, UnicodeDecodeError) else 0
        line_start = data.rfind(b"\n", 0, end) + 1
        column = len(data[line_start:end].decode("utf-8", "replace")) + 1
        message = f"the bytes are not {encoding}"
        place = data.count(b"\n", 0, end) + 1, column
        raise _fatal("xml-syntax", message, file, *place) from None


def _positions(data: bytes, file: str) -> list[tuple[int, int]]:
    """List line and column of every start tag, in document order.

    Raises:
        SourceError: The data is not well-formed, or declares entities.
    """
    positions: list[tuple[int, int]] = []
    parser = expat.ParserCreate("utf-8")

    def here() -> tuple[int, int]:
        return parser.CurrentLineNumber, parser.CurrentColumnNumber + 1

    def start_element(_name: str, _attributes: dict[str, str]) -> None:
        positions.append(here())

    def start_doctype(
        _name: str, system: str | None, public: str | None, *_: object
    ) -> None:
        if system or public:
            message = "the document type refers to another document"
            raise _fatal("xml-entity", message, file, *here())

    def declare_entity(name: str, *_: object) -> None:
        raise _fatal("xml-entity", f"entity {name!r} is declared", file, *here())

    parser.StartElementHandler = start_element
    parser.StartDoctypeDeclHandler = start_doctype
    parser.EntityDeclHandler = declare_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        place = error.lineno, error.offset + 1
        raise _fatal("xml-syntax", message, file, *place) from None
    return positions


def _tree(data: bytes, positions: list[tuple[int, int]], file: str) -> Element:
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    root = etree.fromstring(data, parser)
    nodes = list(root.iter()) if root is not None else []
    if len(nodes) != len(positions):
        # Only lxml's own bounds on depth and size can make the parsers differ.
        place = positions[len(nodes) - 1] if nodes else (1, 1)
        message = "elements are nested too deeply, or a text is too long"
        raise _fatal("xml-syntax", message, file, *place)
    built: dict[etree._Element, Element] = {}
    # Backwards, children come before their parents: no recursion.
    for node, (line, column) in zip(reversed(nodes), reversed(positions), strict=True):
        namespace, _, name = str(node.tag).rpartition("}")
        built[node] = Element(
            tag=f"{node.prefix}:{name}" if node.prefix else name,
            namespace=namespace.removeprefix("{") or None,
            attributes=tuple((str(key), str(value)) for key, value in node.items()),
            children=tuple(built.pop(child) for child in node),
            location=Location(file, line, column),
        )
    return built[root]
