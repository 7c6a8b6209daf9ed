"""Detection of the format of a mesh file, and reading of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import LARGEST_MESH, MIB, read_file
from urdf_usd.converter.meshes.collada import read_dae
from urdf_usd.converter.meshes.gltf import read_gltf
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh, SiblingReader, require
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.ply import read_ply
from urdf_usd.converter.meshes.stl import holds_binary_stl, read_binary_stl, read_text_stl

_HEAD_SIZE = 4096
_OBJ_LINE = re.compile(rb"^[ \t]*(?:v|vn|vt|f|o|g|s|usemtl|mtllib)[ \t]", re.MULTILINE)
# Maximum size of the files of cached meshes; the meshes have about the same size.
_CACHE_SIZE = 512 * MIB
# Meshes by path, with the content of their files; comparing that takes a tenth of a digest's time.
_CACHE: ContextVar[dict[str, tuple[bytes, PolygonMesh]] | None] = ContextVar("meshes", default=None)


def read_mesh(path: Path) -> PolygonMesh:
    """Read an STL, OBJ, COLLADA, glTF or PLY file as one mesh, in metres.

    The extension, in upper or lower case, decides the format only where the content does not.
    MeshError if the file cannot be opened, has an unknown format, is damaged, or has no surface.
    """
    try:
        data = read_file(path, LARGEST_MESH)
    except OSError as error:
        raise MeshError(f"it cannot be opened: {error.strerror}") from error
    return decode_mesh(data, path)


def readable_mesh(path: str | None) -> PolygonMesh | None:
    """Read a mesh; None without a file, or if it cannot be read, which is reported elsewhere."""
    try:
        return None if path is None else read_mesh(Path(path))
    except MeshError:
        return None


def decode_mesh(data: bytes, path: Path) -> PolygonMesh:
    """Read the bytes of a mesh file, in whose folder those are that it refers to."""
    require(data, "it is empty")
    cache = _CACHE.get()
    former, mesh = (cache or {}).get(str(path), (b"", None))
    if mesh is None or former != data:
        siblings: dict[str, None] = {}

        def sibling(reference: str) -> bytes | None:
            file = path.parent / reference
            try:
                content = read_file(file, LARGEST_MESH)
            except (OSError, ValueError):
                # Missing, no regular file, too large, or with a null character.
                return None
            siblings[str(file)] = None
            return content

        try:
            mesh = _read(data, path.suffix.lower(), sibling)
            mesh = structs.replace(mesh, sibling_files=tuple(siblings))
        except MemoryError as error:
            raise MeshError("there is not enough memory to read it") from error
        if cache is not None:
            cache.pop(str(path), None)
            if len(data) + sum(len(kept) for kept, _ in cache.values()) <= _CACHE_SIZE:
                cache[str(path)] = data, mesh
    return mesh


@contextmanager
def cached_meshes() -> Iterator[None]:
    """Cache the meshes that are read in the block; files that they refer to must not change."""
    outer = _CACHE.get()
    token = _CACHE.set({} if outer is None else outer)
    try:
        yield
    finally:
        _CACHE.reset(token)


def _read(data: bytes, suffix: str, sibling: SiblingReader) -> PolygonMesh:
    """Read a mesh in the format of its first bytes, or else of its file's suffix."""
    if holds_binary_stl(data):
        return read_binary_stl(data)
    head = data[:_HEAD_SIZE].removeprefix(b"\xef\xbb\xbf").lstrip()
    is_pointer = head.startswith(b"version https://git-lfs")
    require(not is_pointer, "it is a Git LFS pointer; fetch the file itself")
    is_json = head[:1] == b"{" and (suffix == ".gltf" or b'"asset"' in data)
    if head.startswith(b"glTF") or is_json:
        return read_gltf(data, sibling)
    if head.startswith(b"ply"):
        return read_ply(data)
    is_text = b"\0" not in head
    if head[:1] == b"<" and (suffix == ".dae" or b"COLLADA" in head):
        suffix = ".dae"
    elif is_text and head[:5].lower() == b"solid":
        suffix = ".stl"
    elif is_text and _OBJ_LINE.search(head):
        suffix = ".obj"
    match suffix:
        case ".stl":
            return (read_text_stl if is_text else read_binary_stl)(data)
        case ".obj":
            return read_obj(data, sibling)
        case ".dae":
            return read_dae(data)
    raise MeshError("its format is not STL, OBJ, COLLADA, glTF or PLY")


def mesh_notes(name: str, mesh: PolygonMesh, location: Location | None) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a mesh that was read."""
    notes = [
        Diagnostic("mesh-partial", f"mesh {name!r}: {sentence}", location)
        for sentence in mesh.skipped
    ]
    if mesh.ignored_up_axis:
        message = f"mesh {name!r} has {mesh.ignored_up_axis}, which is ignored"
        notes.append(Diagnostic("mesh-up-axis", message, location))
    return tuple(notes)
