"""The material libraries of an OBJ file, as far as its reader cannot do it.

tinyobjloader reads MTL, but keeps emission from Python, takes the text of one library
alone, and takes the first word of a material's name for the name.
"""

from __future__ import annotations

import math
import posixpath
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from converter.meshes.appearance import MeshMaterial, MeshTexture, unit_color, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from converter.meshes.appearance import Neighbours

_LIBRARY = re.compile(rb"^[ \t]*+mtllib[ \t]++([^\n]*)", re.MULTILINE)
_STATEMENT = re.compile(
    rb"^[ \t]*+(newmtl|Ke)[ \t]++([^\r\n]*)", re.MULTILINE | re.IGNORECASE
)
_NAME = re.compile(rb"^[ \t]*+(?:newmtl|usemtl)[ \t]++[^\n]*", re.MULTILINE)
# Real files name one; what they say is held in memory.
_MOST_LIBRARIES = 32
# Stands for a space in a name while the library reads it.
_SPACE = "\x1f"


@dataclass(frozen=True, slots=True)
class MaterialLibraries:
    """Material libraries.

    Attributes:
        text: All of them, one after the other, with names in one word.
        emissive: Emitted colour by name of material.
        folder: Folder by name of material, where textures are relative to it.
    """

    text: bytes
    emissive: dict[str, tuple[float, float, float]]
    folder: dict[str, str]

    def material(self, found: Any) -> MeshMaterial:  # noqa: ANN401  (untyped)
        """Translate a material that tinyobjloader read."""
        name = str(found.name).replace(_SPACE, " ")
        reference = str(found.diffuse_texname).replace("\\", "/")
        folder = self.folder.get(name, "")
        return MeshMaterial(
            name=name,
            color=unit_color(found.diffuse),
            opacity=visible(float(found.dissolve)),
            emissive=self.emissive.get(name, (0.0, 0.0, 0.0)),
            texture=MeshTexture(posixpath.join(folder, reference))
            if reference
            else None,
        )


def read_libraries(
    text: bytes, neighbours: Neighbours
) -> tuple[MaterialLibraries, tuple[str, ...]]:
    """Read the libraries that an OBJ file names.

    Args:
        text: The OBJ file.
        neighbours: Gives the bytes of a file that it names.

    Returns:
        The libraries, and a sentence about each that is not there.
    """
    texts: list[bytes] = []
    absent: list[str] = []
    emissive: dict[str, tuple[float, float, float]] = {}
    folders: dict[str, str] = {}
    references = dict.fromkeys(_references(text, neighbours))
    for reference in islice(references, _MOST_LIBRARIES):
        content = neighbours(reference)
        if content is None:
            absent.append(f"material library {reference!r} is not there")
            continue
        content = in_utf8(content).replace(b"\r", b"\n")
        texts.append(content)
        name = ""
        for statement, value in _STATEMENT.findall(content):
            if statement.lower() == b"newmtl":
                name = _decoded(value.strip())
                folders[name] = posixpath.dirname(reference)
            elif statement.lower() == b"ke":
                color = _numbers(value)
                if color is not None:
                    emissive[name] = unit_color(color)
    all_texts = in_one_word(b"\n".join(texts))
    libraries = MaterialLibraries(all_texts, emissive, folders)
    # A file that uses no material loses nothing without its library.
    return libraries, tuple(absent) if b"usemtl" in text else ()


def in_utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark.

    Neither format knows of encodings; what is not UTF-8 is most likely Latin-1.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def in_one_word(text: bytes) -> bytes:
    """Join the words of the names of materials, in an OBJ file or its libraries."""

    def joined(line: re.Match[bytes]) -> bytes:
        keyword, name = (
            line[0].split(None, 1) if line[0].split()[1:] else (line[0], b"")
        )
        return keyword + b" " + name.strip().replace(b" ", _SPACE.encode())

    return _NAME.sub(joined, text) if b"mtl" in text else text


def _references(text: bytes, neighbours: Neighbours) -> Iterator[str]:
    if b"mtllib" not in text:
        return
    for match in _LIBRARY.finditer(text):
        whole = _decoded(match[1].strip()).replace("\\", "/")
        # A name with spaces, or several names.
        if neighbours(whole) is not None:
            yield whole
        else:
            yield from whole.split()


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _numbers(value: bytes) -> list[float] | None:
    try:
        numbers = [float(word) for word in value.split()[:3]]
    except ValueError:
        return None
    complete = len(numbers) == 3 and all(map(math.isfinite, numbers))  # noqa: PLR2004  a colour
    return numbers if complete else None
