"""References of mesh files to material libraries and images.

For lists of input files. COLLADA is parsed as XML; the other formats are searched for
keywords without parsing the mesh, so that also files that the reader ignores are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from urdf_usd.converter.meshes.stl import holds_binary_stl

_LIBRARY = b"mtllib"
# Keyword, which is found many times faster than a pattern, and the pattern.
_IN_OBJ = (_LIBRARY, re.compile(rb"mtllib[ \t]+([^\r\n]+)"))
_IN_GLTF = (b'"uri"', re.compile(rb'"uri"\s*:\s*"((?!data:)[^"\\]+)"'))
_IMAGE_OF_COLLADA = "init_from"
_HEAD_SIZE = 4096
_IMAGE_OF_MTL = re.compile(rb"(?mi)^[ \t]*(?:map_\w+|bump|disp|decal|refl|norm)[ \t]+([^\r\n]+)")
_FILE_SCHEME = "file://"


def referred_files(data: bytes, path: Path) -> tuple[Path, ...]:
    """Return the existing files that a mesh file or a material library refers to.

    Args:
        data: Its content.
        path: Its path, to which references are relative.
    """
    found: dict[Path, None] = {}
    for reference in _references(data, path.suffix.lower()):
        for candidate in _candidates(reference, path.parent):
            if _is_file(candidate):
                found[candidate] = None
                break
    return tuple(found)


def _references(data: bytes, suffix: str) -> Iterator[str]:
    """Yield references; the format is detected from the first bytes."""
    head = data[:_HEAD_SIZE].removeprefix(b"\xef\xbb\xbf").lstrip()
    if holds_binary_stl(data):
        pass
    elif head.startswith(b"<"):
        yield from _images_of_collada(data)
    elif head.startswith((b"{", b"glTF")):
        yield from map(_reference, _found(data, *_IN_GLTF))
    else:
        for match in _found(data, *_IN_OBJ):
            yield from _libraries(match)
    if suffix == ".mtl":
        for match in _IMAGE_OF_MTL.finditer(data):
            yield _reference(match)


def _images_of_collada(data: bytes) -> list[str]:
    """Return the texts of ``<init_from>``; of malformed XML, those before the error."""
    found: list[str] = []
    parser = expat.ParserCreate()

    def add(text: str) -> None:
        found[-1] += text

    def start(tag: str, _: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == _IMAGE_OF_COLLADA:
            found.append("")
            # Not set for the whole document: it has megabytes of numbers.
            parser.CharacterDataHandler = add

    def end(tag: str) -> None:
        if tag.rpartition(":")[2] == _IMAGE_OF_COLLADA:
            parser.CharacterDataHandler = None

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = _refuse_entity
    part = _up_to_last_image(data)
    # LookupError and ValueError: an unknown encoding, or an entity declaration.
    with suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(part, False)
    return [text.strip() for text in found if text.strip()]


def _up_to_last_image(data: bytes) -> bytes:
    """Return the part of a COLLADA file up to its last ``<init_from>``.

    Meshes mostly come after it. The keyword is not found in UTF-16, which is told from
    its zero bytes: all of such a file is returned.
    """
    if b"\0" in data[:4]:
        return data
    place = data.rfind(_IMAGE_OF_COLLADA.encode())
    end = data.find(b">", place)
    if place < 0:
        return b""
    return data if end < 0 else data[: end + 1]


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"entity {name!r} is declared")


def _found(data: bytes, word: bytes, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    """Find a pattern that starts with a keyword; in OBJ at the start of a line."""
    place = data.find(word)
    while place >= 0:
        before = data[data.rfind(b"\n", 0, place) + 1 : place] if word is _LIBRARY else b""
        match = None if before.strip(b" \t") else pattern.match(data, place)
        if match:
            yield match
        place = data.find(word, match.end() if match else place + len(word))


def _libraries(match: re.Match[bytes]) -> Iterator[str]:
    """Yield the references of a line: one name with spaces, or several names."""
    whole = _reference(match)
    yield whole
    if len(names := whole.split()) > 1:
        yield from names


def _reference(match: re.Match[bytes]) -> str:
    return match[1].decode("utf-8", "replace").strip()


def _candidates(reference: str, folder: Path) -> Iterator[Path]:
    """Yield possible paths; references may contain options or foreign folders."""
    plain = reference.removeprefix(_FILE_SCHEME).replace("\\", "/")
    last_word = plain.split()[-1] if plain.split() else ""
    for text in (plain, unquote(plain), last_word):
        if text:
            yield folder / text
            yield folder / text.rpartition("/")[2]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # A name that is too long, or with a null character.
        return False
