"""Mesh files and their materials: a library, or a reader of ours, for each format.

No format is read by the same library as in the converter. OBJ, glTF and text STL are read by
trimesh, COLLADA by pycollada. Binary STL is a list of fixed records, read here, and PLY has a
reader of ours: trimesh rejects binary files with polygons of several sizes, and reorders those
of text files.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from zipfile import is_zipfile

import numpy as np
from msgspec import structs

from urdf_usd.conformance.engines.loaded_mesh import (
    FaceGroup,
    LoadedMesh,
    UnreadMeshError,
    joined_parts,
)
from urdf_usd.conformance.engines.mesh_collada import read_dae
from urdf_usd.conformance.engines.mesh_gltf import read_gltf, read_scene
from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_MESH,
    LARGEST_TEXT,
    read_bounded,
    read_libraries,
)
from urdf_usd.conformance.engines.mesh_obj import ObjFile, read_obj
from urdf_usd.conformance.engines.mesh_ply import read_ply

_HEAD = 4096
_OF_TEXT = frozenset({"dae", "obj", "stl_ascii"})
# Of trimesh, besides zip.
_ARCHIVES = frozenset({"bz2", "gz", "tar", "tgz", "xz"})
# Number of meshes in the cache: more than most robots have.
_KEPT = 64
_LARGEST = float(np.finfo(np.float32).max)
_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("points", "<f4", 9), ("attribute", "<u2")])


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
        # Libraries may change while the file does not.
        materials = read_libraries(read.libraries, read.names, str(Path(path).parent))
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    return structs.replace(read.mesh, materials=materials)


@lru_cache(maxsize=_KEPT)
def _load_mesh(path: str, changed: int, size: int) -> ObjFile:
    """Read a mesh file; a changed file is read again."""
    del changed, size
    file = Path(path)
    content = read_bounded(file, LARGEST_MESH)
    form, folder = _format(content, file), str(file.parent)
    if form in _OF_TEXT and len(content) > LARGEST_TEXT:
        raise UnreadMeshError(f"it is text of more than {LARGEST_TEXT >> 20} MiB")
    if form == "obj":
        obj = read_obj(content)
        return structs.replace(obj, mesh=_finite(obj.mesh))
    match form:
        case "stl":
            mesh = _read_binary_stl(content)
        case "ply":
            mesh = read_ply(content, folder)
        case "dae":
            mesh = read_dae(content, folder)
        case "glb" | "gltf":
            mesh = read_gltf(content, folder)
        case _ if form in _ARCHIVES or is_zipfile(io.BytesIO(content)):
            # Its content can be a thousand times as large.
            raise UnreadMeshError("it is an archive")
        case _:
            # STL as text, and formats that the converter does not read.
            mesh = joined_parts(part for _, part in read_scene(content, form, folder).parts)
    return ObjFile(_finite(mesh))


def _format(content: bytes, file: Path) -> str:
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"glTF"):
        return "glb"
    if head.startswith(b"ply"):
        return "ply"
    if head.startswith(b"<") and b"COLLADA" in head:
        return "dae"
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if len(content) == _STL_HEADER + _STL_TRIANGLE.itemsize * count:
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
    triangles = group.triangles[np.logical_and.reduce(finite[group.triangles], axis=(1, 2))]
    if not len(triangles):
        return None
    used, corners = np.unique(triangles, return_inverse=True)
    return FaceGroup(group.points[used], corners.reshape(-1, 3))


def _read_binary_stl(content: bytes) -> LoadedMesh:
    """Read the triangles of a file; what follows them is ignored, as by MuJoCo and PyBullet."""
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if not count:
        raise UnreadMeshError("it holds no triangles")
    if len(content) < _STL_HEADER + _STL_TRIANGLE.itemsize * count:
        raise UnreadMeshError(f"it is shorter than {count} triangles")
    corners = np.frombuffer(content, _STL_TRIANGLE, count, _STL_HEADER)["points"].reshape(-1, 3)
    # Merge corners of the same bits, six for each point of a closed surface. Integers of
    # 64 bits are sorted much faster than rows of three numbers.
    x, y, z = np.ascontiguousarray(corners).view(np.uint32).astype(np.uint64).T
    half = np.uint64(32)
    _, number = np.unique(x << half | y, return_inverse=True)
    keys = number.astype(np.uint64) << half | z
    _, first, point_of = np.unique(keys, return_index=True, return_inverse=True)
    # Points stay in the order of the file.
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    # Its normals are those of the faces, and many files leave them zero.
    return LoadedMesh(
        corners[first[order]].astype(np.float64),
        place[point_of].reshape(-1, 3),
        np.full(count, -1),
        has_normals=False,
    )
