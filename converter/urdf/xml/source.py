"""Parsing of a file to elements with locations; malicious input is refused.

Well-formed XML is parsed by expat, which reports declarations, lines and columns. XML
that it refuses is repaired by ``recovery``.
"""

from __future__ import annotations

import codecs
import errno
import re
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.findings import Findings, count, drain
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.file_content import MIB, read_file
from urdf_usd.converter.urdf.xml.elements import Element, TreeBuilder
from urdf_usd.converter.urdf.xml.recovery import recover
from urdf_usd.converter.urdf.xml.repairs import XmlRepair

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
_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(?P<q>["'])(?P<version>[^"'<>]*)(?P=q)"""
    r"""(?:\s+encoding\s*=\s*(?P<r>["'])(?P<encoding>[A-Za-z][\w.-]*)(?P=r))?"""
    r"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>""",
    re.ASCII,
)
_DECLARATION_REACH = 400
LARGEST_FILE = 64 * MIB
MOST_REPAIRS = 1000
_DEFAULT = "utf-8"
# Can decode all bytes.
_ANY_BYTES = "latin-1"
_SINGLE_BYTES = "urdf_usd.single_bytes"
# Conflict marker of git.
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
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
_KNOWN_VERSION = re.compile(r"1\.[0-9]+", re.ASCII)


def load(file: str) -> bytes:
    """Read a file.

    Raises:
        SourceError: It does not exist, is not a file, is too large, or cannot be read.
    """
    path = Path(file)
    try:
        if path.is_dir():
            raise _fatal("file-not-regular", f"{file} is a folder", file)
        if path.exists() and not path.is_file():
            raise _fatal("file-not-regular", f"{file} is not a regular file", file)
        return read_file(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a null character, which no file name contains
        raise _fatal("file-missing", f"{file} does not exist", file) from None
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        too_large = error.errno == errno.EFBIG
        rule = "file-size" if too_large else "file-unreadable"
        raise _fatal(rule, message, file) from error


def parse_markup(data: bytes, file: str, notes: list[Diagnostic]) -> Element:
    """Read the root element.

    Args:
        data: Content of the file.
        file: Its path, for locations.
        notes: Receives diagnostics of repairs.

    Raises:
        SourceError: There is no well-formed XML, or it declares entities.
    """
    root, found = drain(_parse(data, file))
    notes += found
    return root


def _parse(data: bytes, file: str) -> Findings[Element]:
    for start, kind in _OTHER_FORMATS:
        if data.startswith(start):
            raise _fatal("file-format", f"{file} is {kind}, not URDF", file)
    text = yield from _decode(data, file)
    if not text.strip():
        raise _fatal("file-empty", f"{file} is empty", file)
    declaration = _DECLARATION.match(text)
    if declaration:
        version = declaration["version"]
        if not _KNOWN_VERSION.fullmatch(version):
            place = Location(file, 1, 1)
            yield XmlRepair.VERSION.at(place, version=truncate(repr(version)))
    tree = TreeBuilder(file)
    error = _feed(text, tree, file)
    if error is not None and declaration:
        # Its version may be malformed. White space keeps all positions.
        blank = re.sub(r"[^\r\n]", " ", declaration[0])
        text = blank + text[declaration.end() :]
        tree = TreeBuilder(file)
        error = _feed(text, tree, file)
    if error is None:
        yield from tree.unbound_prefixes()
        return tree.roots[0]
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise _fatal("xml-syntax", "a merge conflict is not resolved", file, line)
    # Imported on demand: its regular expressions are slow to compile.

    repairs, root = yield from count(recover(text, file), MOST_REPAIRS)
    if not repairs or root is None:
        # There is no fault that can be repaired, or there are too many.
        raise error
    return root


def _fatal(rule: str, message: str, file: str, line: int = 1, column: int = 1) -> SourceError:
    return SourceError((Diagnostic(rule, message, Location(file, line, column)),))


def _decode(data: bytes, file: str) -> Findings[str]:
    marked = (name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = next(marked, None) or (yield from _declared_encoding(data, file))
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
    line_start = data.rfind(b"\n", 0, start) + 1
    column = len(data[line_start:start].decode("utf-8", "replace")) + 1
    place = Location(file, data.count(b"\n", 0, start) + 1, column)
    text, used = _decode_wrong(data, encoding)
    yield XmlRepair.ENCODING_BYTES.at(place, declared=encoding, used=used)
    return text.removeprefix("\ufeff")


def _decode_wrong(data: bytes, encoding: str) -> tuple[str, str]:
    """Decode bytes that are invalid in their declared encoding.

    Returns:
        The text, and a description of its encoding.
    """
    if codecs.lookup(encoding) != codecs.lookup(_DEFAULT):
        with suppress(UnicodeError):
            return data.decode(_DEFAULT), _DEFAULT
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


def _declared_encoding(data: bytes, file: str) -> Findings[str]:
    """Return the declared encoding if it is possible, otherwise UTF-8."""
    declaration = _DECLARATION.search(data[:_DECLARATION_REACH].decode("latin-1"))
    declared = declaration["encoding"] if declaration else None
    if declaration is None or declared is None:
        return _DEFAULT
    written = declaration[0]
    try:
        # False for an encoding in which the declaration itself is not valid.
        if written.encode("latin-1").decode(declared) == written:
            return declared
    except (LookupError, UnicodeError):
        pass
    place = Location(file, 1, 1)
    words = {"declared": truncate(repr(declared)), "used": _DEFAULT}
    yield XmlRepair.ENCODING_NAME.at(place, **words)
    return _DEFAULT


def _feed(text: str, tree: TreeBuilder, file: str) -> SourceError | None:
    """Parse well-formed text; return the error of malformed text.

    Raises:
        SourceError: The text declares entities, or is nested too deeply.
    """
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.buffer_text = True

    def here() -> tuple[int, int]:
        return parser.CurrentLineNumber, parser.CurrentColumnNumber + 1

    def start_element(tag: str, flat: list[str]) -> None:
        tree.start(tag, zip(flat[::2], flat[1::2], strict=True), *here())

    def start_doctype(_name: str, system: str | None, public: str | None, *_: object) -> None:
        if system or public:
            message = "the document type refers to another document"
            raise _fatal("xml-entity", message, file, *here())

    def declare_entity(name: str, *_: object) -> None:
        raise _fatal("xml-entity", f"entity {name!r} is declared", file, *here())

    parser.StartElementHandler = start_element
    parser.EndElementHandler = lambda _: tree.end()
    parser.CharacterDataHandler = tree.text
    parser.StartDoctypeDeclHandler = start_doctype
    parser.EntityDeclHandler = declare_entity
    try:
        # Expat refuses surrogates, which some encodings can contain.
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        return _fatal("xml-syntax", message, file, error.lineno, error.offset + 1)
    return None
