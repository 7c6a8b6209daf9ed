"""Mesh files and their materials, each format by a separate reader.

No reader shares a library with the converter's of the same format.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from zipfile import is_zipfile

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.engines.mesh_files.bounds import (
    LARGEST_MESH,
    LARGEST_TEXT,
    read_bounded,
)
from urdf_usd.conformance.engines.mesh_files.collada import read_dae
from urdf_usd.conformance.engines.mesh_files.gltf import read_gltf
from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    FaceGroup,
    LoadedMesh,
    UnreadMeshError,
    joined_parts,
)
from urdf_usd.conformance.engines.mesh_files.mtl import read_libraries
from urdf_usd.conformance.engines.mesh_files.obj import read_obj
from urdf_usd.conformance.engines.mesh_files.ply import read_ply
from urdf_usd.conformance.engines.mesh_files.stl import (
    HEADER,
    TRIANGLE,
    read_binary_stl,
)
from urdf_usd.conformance.engines.mesh_files.trimesh_scenes import read_scene

_HEAD = 4096
_OF_TEXT = frozenset({"dae", "obj", "stl_ascii"})
# Of trimesh, besides zip.
_ARCHIVES = frozenset({"bz2", "gz", "tar", "tgz", "xz"})
# Number of meshes in the cache: more than most robots have.
_KEPT = 64
_LARGEST = float(np.finfo(np.float32).max)


class _Read(Struct, frozen=True):
    """A mesh file, before files that it names are read.

    Attributes:
        mesh: What is in it.
        libraries: Arguments of ``mtllib`` in an OBJ file, line by line.
        names: Names of its materials in an OBJ file.
    """

    mesh: LoadedMesh
    libraries: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def load_mesh(path: str) -> LoadedMesh:
    """Read a mesh file, whose format is detected by its content where possible.

    The last files are cached: a robot is compared, then drawn.

    Returns:
        The mesh; its arrays are not to be written to.

    Raises:
        UnreadMeshError: It cannot be read, or holds no triangle.
    """
    try:
        state = Path(path).stat()
        read = _load_mesh(path, state.st_mtime_ns, state.st_size)
        if not read.names:
            return read.mesh
        folder = str(Path(path).parent)
        materials = read_libraries(read.libraries, read.names, folder)
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    return structs.replace(read.mesh, materials=materials)


@lru_cache(maxsize=_KEPT)
def _load_mesh(path: str, changed: int, size: int) -> _Read:
    """Read a mesh file; a changed file is read again."""
    del changed, size
    file = Path(path)
    content = read_bounded(file, LARGEST_MESH)
    read = _read(content, _format(content, file), str(file.parent))
    return structs.replace(read, mesh=_finite(read.mesh))


def _read(content: bytes, form: str, folder: str) -> _Read:
    if form in _OF_TEXT and len(content) > LARGEST_TEXT:
        raise UnreadMeshError(f"it is text of more than {LARGEST_TEXT >> 20} MiB")
    match form:
        case "stl":
            return _Read(read_binary_stl(content))
        case "ply":
            return _Read(read_ply(content, folder))
        case "dae":
            # Importing it takes 0.3 s.

            return _Read(read_dae(content, folder))
        case "obj":
            obj = read_obj(content)
            return _Read(obj.mesh, obj.libraries, obj.names)
        case "glb" | "gltf":
            return _Read(read_gltf(content, folder))
        case _ if form in _ARCHIVES or is_zipfile(io.BytesIO(content)):
            # Its content can be a thousand times as large.
            raise UnreadMeshError("it is an archive")
        case _:
            # STL as text, and formats that the converter does not read.
            parts = (part for _, part in read_scene(content, form, folder).parts)
            return _Read(joined_parts(parts))


def _format(content: bytes, file: Path) -> str:
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"glTF"):
        return "glb"
    if head.startswith(b"ply"):
        return "ply"
    if head.startswith(b"<") and b"COLLADA" in head:
        return "dae"
    count = int.from_bytes(content[HEADER - 4 : HEADER], "little")
    if len(content) == HEADER + TRIANGLE.itemsize * count:
        return "stl"
    if head[:5].lower() == b"solid" and b"\0" not in head:
        return "stl_ascii"
    return file.suffix.lower().removeprefix(".")


def _finite(mesh: LoadedMesh) -> LoadedMesh:
    """Leave out triangles with a corner that is not finite in single precision."""
    # False for NaN as well.
    if mesh.points.min() >= -_LARGEST and mesh.points.max() <= _LARGEST:
        return mesh
    with np.errstate(over="ignore"):
        finite = np.isfinite(mesh.points.astype(np.float32))
    kept = np.logical_and.reduce(finite[mesh.triangles], axis=(1, 2))
    if not kept.any():
        raise UnreadMeshError("no triangle is finite")
    return structs.replace(
        mesh,
        points=np.where(finite, mesh.points, 0.0),
        triangles=mesh.triangles[kept],
        material_of=mesh.material_of[kept],
        normals=None if mesh.normals is None else mesh.normals[kept],
        coordinates=None if mesh.coordinates is None else mesh.coordinates[kept],
        groups=tuple(group for each in mesh.groups if (group := _finite_group(each))),
    )


def _finite_group(group: FaceGroup) -> FaceGroup | None:
    with np.errstate(over="ignore"):
        finite = np.isfinite(group.points.astype(np.float32))
    kept = np.logical_and.reduce(finite[group.triangles], axis=(1, 2))
    triangles = group.triangles[kept]
    if not len(triangles):
        return None
    used, corners = np.unique(triangles, return_inverse=True)
    return FaceGroup(group.points[used], corners.reshape(-1, 3))
