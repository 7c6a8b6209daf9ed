"""Recognise the format of a mesh file, and read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from converter.file_content import MIB, read_file
from converter.meshes.dae import read_dae
from converter.meshes.interchange import read_glb, read_ply
from converter.meshes.obj import read_obj
from converter.meshes.polygon_mesh import MeshError, PolygonMesh
from converter.meshes.stl_triangles import (
    holds_binary_stl,
    read_binary_stl,
    read_text_stl,
)

if TYPE_CHECKING:
    from pathlib import Path

    from converter.meshes.appearance import Neighbours

Reader: TypeAlias = Callable[[bytes], PolygonMesh]

# What a mesh takes in memory is a multiple of its file: up to about ten times for the
# binary formats, forty for OBJ and a hundred for COLLADA.
LARGEST_FILE = 256 * MIB
LARGEST_TEXT = 128 * MIB
LARGEST_NEIGHBOUR = 16 * MIB
_OF_TEXT = (read_text_stl, read_obj, read_dae)
_HEAD_SIZE = 4096
_UNSUPPORTED = (
    (b"version https://git-lfs", "it is a Git LFS pointer; fetch the file itself"),
    (b"PK\x03\x04", "it is a zip archive; unpack it"),
)
_SIGNATURES: tuple[tuple[bytes, Reader], ...] = (
    (b"glTF", read_glb),
    (b"ply", read_ply),
)
_OBJ_LINE = re.compile(rb"^[ \t]*(?:v|vn|vt|f|o|g|s|usemtl|mtllib)[ \t]", re.MULTILINE)


def read_mesh(path: Path) -> PolygonMesh:
    """Read an STL, OBJ, COLLADA, binary glTF or PLY file as one mesh.

    The content decides the format; the extension, in upper or lower case, decides only
    where the content does not. Units and axes are those of the file: metres and Z up,
    unless a COLLADA file says otherwise (see :mod:`converter.meshes.dae`).

    Args:
        path: The file; material libraries beside it are read, if they are there.

    Raises:
        MeshError: The file cannot be opened, is in no known format, is damaged, or
            holds no surface.
    """
    try:
        data = read_file(path, LARGEST_FILE)
    except OSError as error:
        raise MeshError(f"it cannot be opened: {error.strerror}") from error
    return decode_mesh(data, path)


def decode_mesh(data: bytes, path: Path) -> PolygonMesh:
    """Read the bytes of a mesh file; see :func:`read_mesh`.

    Args:
        data: Content of the file.
        path: The file, whose folder holds the files that it refers to.

    Raises:
        MeshError: As :func:`read_mesh`.
    """
    if not data:
        raise MeshError("it is empty")
    reader = _reader(data, path.suffix.lower())
    if reader in _OF_TEXT and len(data) > LARGEST_TEXT:
        raise MeshError(f"it is text of more than {LARGEST_TEXT // MIB} MiB")
    if reader is read_obj:
        return read_obj(data, _neighbours(path.parent))
    return reader(data)


def _neighbours(folder: Path) -> Neighbours:
    def read(reference: str) -> bytes | None:
        try:
            return read_file(folder / reference, LARGEST_NEIGHBOUR)
        except (OSError, ValueError):
            # not there, no file, too large, or with a character that no name contains
            return None

    return read


def _reader(data: bytes, suffix: str) -> Reader:
    if holds_binary_stl(data):
        return read_binary_stl
    head = data[:_HEAD_SIZE].removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, reason in _UNSUPPORTED:
        if head.startswith(signature):
            raise MeshError(reason)
    for signature, reader in _SIGNATURES:
        if head.startswith(signature):
            return reader
    is_text = b"\0" not in head
    if head.startswith(b"<") and (suffix == ".dae" or b"COLLADA" in head):
        return read_dae
    if is_text and head[:5].lower() == b"solid":
        return read_text_stl
    if is_text and _OBJ_LINE.search(head):
        return read_obj
    readers: dict[str, Reader] = {
        ".stl": read_text_stl if is_text else read_binary_stl,
        ".obj": read_obj,
        ".dae": read_dae,
    }
    if suffix not in readers:
        raise MeshError("its format is not STL, OBJ, COLLADA, binary glTF or PLY")
    return readers[suffix]
