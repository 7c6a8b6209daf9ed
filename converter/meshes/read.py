"""Detection of the format of a mesh file, and reading of it.

The reader of a format and its library are imported on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from pathlib import Path
from typing import assert_never

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import LARGEST_MESH, MIB, read_file
from urdf_usd.converter.meshes.binary_stl import holds_binary_stl
from urdf_usd.converter.meshes.collada.mesh import read_dae
from urdf_usd.converter.meshes.corner_values import SiblingReader
from urdf_usd.converter.meshes.gltf.mesh import read_gltf
from urdf_usd.converter.meshes.obj.mesh import read_obj
from urdf_usd.converter.meshes.ply import read_ply
from urdf_usd.converter.meshes.polygon_mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.stl import (
    read_binary_stl,
    read_text_stl,
)


class _Format(Enum):
    BINARY_STL = auto()
    TEXT_STL = auto()
    OBJ = auto()
    COLLADA = auto()
    GLTF = auto()
    PLY = auto()


# Memory is a multiple of the file size: about ten for binary formats, forty for OBJ and
# a hundred for COLLADA.
LARGEST_TEXT = 128 * MIB
LARGEST_SIBLING = 16 * MIB
_OF_TEXT = (_Format.TEXT_STL, _Format.OBJ, _Format.COLLADA)
_HEAD_SIZE = 4096
_UNSUPPORTED = (
    (b"version https://git-lfs", "it is a Git LFS pointer; fetch the file itself"),
    (b"PK\x03\x04", "it is a zip archive; unpack it"),
)
# Maximum size of the files of cached meshes; the meshes have about the same size.
_CACHE_SIZE = 512 * MIB
_CACHE: ContextVar[_MeshCache | None] = ContextVar("kept meshes", default=None)
_OBJ_LINE = re.compile(rb"^[ \t]*(?:v|vn|vt|f|o|g|s|usemtl|mtllib)[ \t]", re.MULTILINE)


def read_mesh(path: Path, *, positions_only: bool = False) -> PolygonMesh:
    """Read an STL, OBJ, COLLADA, glTF or PLY file as one mesh.

    The content decides the format; the extension, in upper or lower case, decides only
    where the content does not. Units and axes are those of the file: metres and Z up,
    unless a COLLADA file says otherwise (see
    :mod:`urdf_usd.converter.meshes.collada.mesh`).

    Args:
        path: The file; material libraries and buffers that it refers to are read if
            they exist.
        positions_only: Read only positions and faces, which takes two thirds of the
            time: no normals, texture coordinates, colours and materials; equal points
            may not be merged. Ignored inside :func:`cached_meshes`.

    Raises:
        MeshError: The file cannot be opened, has an unknown format, is damaged, or has
            no surface.
    """
    try:
        data = read_file(path, LARGEST_MESH)
    except OSError as error:
        raise MeshError(f"it cannot be opened: {error.strerror}") from error
    return decode_mesh(data, path, positions_only=positions_only)


def decode_mesh(data: bytes, path: Path, *, positions_only: bool = False) -> PolygonMesh:
    """Read the bytes of a mesh file; see :func:`read_mesh`.

    Args:
        data: Content of the file.
        path: The file, whose folder holds the files that it refers to.
        positions_only: As for :func:`read_mesh`.

    Raises:
        MeshError: As :func:`read_mesh`.
    """
    if not data:
        raise MeshError("it is empty")
    kept = _CACHE.get()
    if kept is None:
        return _decoded(data, path, positions_only=positions_only)
    mesh = kept.find(path, data)
    if mesh is None:
        mesh = _decoded(data, path, positions_only=False)
        kept.add(path, data, mesh)
    return mesh


@contextmanager
def cached_meshes() -> Iterator[None]:
    """Cache the meshes that are read in the block, up to a maximum size.

    Files that meshes refer to must not change meanwhile.
    """
    token = _CACHE.set(_MeshCache())
    try:
        yield
    finally:
        _CACHE.reset(token)


class _MeshCache:
    """Meshes by path, with the content of their files.

    Contents are compared, which takes a tenth of the time of a digest.
    """

    def __init__(self) -> None:
        self._meshes: dict[str, tuple[bytes, PolygonMesh]] = {}
        self._room = _CACHE_SIZE

    def find(self, path: Path, data: bytes) -> PolygonMesh | None:
        former, mesh = self._meshes.get(str(path), (None, None))
        return mesh if former == data else None

    def add(self, path: Path, data: bytes, mesh: PolygonMesh) -> None:
        former, _ = self._meshes.pop(str(path), (b"", None))
        self._room += len(former)
        if len(data) <= self._room:
            self._room -= len(data)
            self._meshes[str(path)] = data, mesh


def _decoded(data: bytes, path: Path, *, positions_only: bool) -> PolygonMesh:
    kind = _format(data, path.suffix.lower())
    if kind in _OF_TEXT and len(data) > LARGEST_TEXT:
        raise MeshError(f"it is text of more than {LARGEST_TEXT // MIB} MiB")
    folder = _Folder(path.parent)
    mesh = _read(data, kind, folder, positions_only=positions_only)
    return structs.replace(mesh, sibling_files=tuple(folder.read)) if folder.read else mesh


class _Folder:
    """The folder of a mesh file; records the files that are read from it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.read: dict[str, None] = {}

    def read_sibling(self, largest: int) -> SiblingReader:
        """Give files of up to so many bytes."""

        def read(reference: str) -> bytes | None:
            path = self._path / reference
            try:
                content = read_file(path, largest)
            except (OSError, ValueError):
                # Missing, no regular file, too large, or with a null character.
                return None
            self.read[str(path)] = None
            return content

        return read


def _read(data: bytes, kind: _Format, folder: _Folder, *, positions_only: bool) -> PolygonMesh:

    match kind:
        case _Format.BINARY_STL:
            return read_binary_stl(data, merged=not positions_only)
        case _Format.TEXT_STL:
            return read_text_stl(data, merged=not positions_only)
        case _Format.OBJ:
            return read_obj(
                data,
                folder.read_sibling(LARGEST_SIBLING),
                attributes=not positions_only,
            )
        case _Format.COLLADA:
            return read_dae(data, attributes=not positions_only)
        case _Format.GLTF:
            return read_gltf(data, folder.read_sibling(LARGEST_MESH))
        case _Format.PLY:
            return read_ply(data)
        case _:
            assert_never(kind)


def _format(data: bytes, suffix: str) -> _Format:
    if holds_binary_stl(data):
        return _Format.BINARY_STL
    head = data[:_HEAD_SIZE].removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, reason in _UNSUPPORTED:
        if head.startswith(signature):
            raise MeshError(reason)
    is_text = b"\0" not in head
    is_gltf = head[:1] == b"{" and (suffix == ".gltf" or b'"asset"' in data)
    is_dae = head[:1] == b"<" and (suffix == ".dae" or b"COLLADA" in head)
    signs = (
        (head.startswith(b"glTF"), _Format.GLTF),
        (head.startswith(b"ply"), _Format.PLY),
        (is_gltf, _Format.GLTF),
        (is_dae, _Format.COLLADA),
        (is_text and head[:5].lower() == b"solid", _Format.TEXT_STL),
        (is_text and bool(_OBJ_LINE.search(head)), _Format.OBJ),
    )
    for seen, kind in signs:
        if seen:
            return kind
    kinds = {
        ".stl": _Format.TEXT_STL if is_text else _Format.BINARY_STL,
        ".obj": _Format.OBJ,
        ".dae": _Format.COLLADA,
    }
    if suffix not in kinds:
        raise MeshError("its format is not STL, OBJ, COLLADA, glTF or PLY")
    return kinds[suffix]


def mesh_notes(name: str, mesh: PolygonMesh, location: Location | None) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a mesh that was read.

    Args:
        name: Name of the file.
        mesh: The mesh.
        location: Location of its first use.
    """
    notes = [
        Diagnostic("mesh-partial", f"mesh {name!r}: {sentence}", location)
        for sentence in mesh.skipped
    ]
    if mesh.ignored_up_axis:
        message = f"mesh {name!r} has {mesh.ignored_up_axis}, which is ignored"
        notes.append(Diagnostic("mesh-up-axis", message, location))
    return tuple(notes)
