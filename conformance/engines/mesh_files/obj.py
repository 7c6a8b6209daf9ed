"""OBJ files by trimesh, which reads them as they are; the converter has tinyobjloader.

trimesh does not state the material of a triangle, unless it is in the first library of
the file. So the statements are parsed here as well: materials and corners of faces, and
whether trimesh has read all of them. Groups are parsed here alone: trimesh joins those
of one name, and changes the order of polygons.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    Array,
    FaceGroup,
    LoadedMesh,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.mesh_files.trimesh_scenes import read_scene

# Runs of lines of one kind in an OBJ file: a loop over single lines is slow.
_LINES = re.compile(
    rb"(?P<points>(?:[ \t]*v[ \t][^\n]*+\n)++)"
    rb"|(?P<faces>(?:[ \t]*f[ \t][^\n]*+\n)++)"
    rb"|(?P<opening>[ \t]*[og][ \t][^\n]*+\n)"
    rb"|[ \t]*usemtl[ \t](?P<material>[^\n]*+)\n"
    rb"|[ \t]*mtllib[ \t](?P<library>[^\n]*+)\n"
    rb"|(?:v[nt][^\n]*+\n)++"
    rb"|[^\n]*+\n"
)
# A corner of a face that has texture coordinates.
_MAPPED = re.compile(rb"/(?<=[0-9]/)-?[0-9]")
# A corner of a face that has a normal.
_NORMAL = re.compile(rb"/-?[0-9]*/-?[0-9]")
# Indices that trimesh resolves differently from the format.
_FROM_THE_END = re.compile(rb"[ \t]-[0-9]")
_ZERO = re.compile(rb"[ \t]0+[/ \t\n]")
_POINT = b"v "
_TRIANGLE = 3


@dataclass(frozen=True, slots=True)
class ObjFile:
    """An OBJ file, before the libraries that it names are read.

    Attributes:
        mesh: Its content; materials of triangles are indices of names.
        libraries: Arguments of ``mtllib``, line by line.
        names: Names of its materials.
    """

    mesh: LoadedMesh
    libraries: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Statements:
    """Summary of the statements of a file.

    Attributes:
        material_of: Index of a material and its number of triangles, in the order of
            the file.
        libraries: Arguments of ``mtllib``, line by line.
        materials: Names of materials.
        has_coordinates: Whether corners have texture coordinates.
        with_normals: Number of corners of faces that have normals.
        of_faces: Number of corners of faces.
        corners: Of the largest face.
        points: The lines of all points.
        groups: The lines of all faces, by group. Every ``o`` or ``g`` begins a group,
            also with a name that was used before.
    """

    material_of: tuple[tuple[int, int], ...]
    libraries: tuple[str, ...]
    materials: tuple[str, ...]
    has_coordinates: bool
    with_normals: int
    of_faces: int
    corners: int
    points: bytes
    groups: tuple[bytes, ...]


def read_obj(content: bytes, folder: str) -> ObjFile:
    """Read a file; polygons are fans of triangles.

    Args:
        content: The file.
        folder: Its folder.

    Raises:
        UnreadMeshError: trimesh raised, there is no triangle, or trimesh leaves out
            faces or misreads them.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    stated = _statements(content)
    all_normals = 0 < stated.of_faces == stated.with_normals
    scene = read_scene(_decoded(content), "obj", folder, with_normals=all_normals)
    # One geometry for each ``usemtl`` that faces follow, and the last one first.
    parts = dict(scene.parts)
    mesh = joined_parts(parts[number] for number in sorted(parts, reverse=True))
    kinds, counts = np.array(stated.material_of, np.int64).reshape(-1, 2).T
    if counts.sum() != len(mesh.triangles):
        raise UnreadMeshError(
            f"trimesh reads {len(mesh.triangles)} triangles of {counts.sum()}"
        )
    mesh = replace(
        mesh,
        material_of=np.repeat(kinds, counts),
        has_coordinates=stated.has_coordinates,
        has_normals=_all_or_none(stated.with_normals, stated.of_faces),
        groups=_face_groups(stated),
        corners=stated.corners,
    )
    return ObjFile(mesh, stated.libraries, stated.materials)


def _all_or_none(some: int, of: int) -> bool | None:
    return True if some == of else None if some else False


def _statements(content: bytes) -> _Statements:
    material_of: list[tuple[int, int]] = []
    libraries: list[bytes] = []
    materials: dict[bytes, int] = {}
    with_normals = of_faces = 0
    points: list[bytes] = []
    groups: list[list[bytes]] = [[]]
    corners, has_coordinates = 0, False
    worn, relative = -1, False
    for kind, words in _lines(content):
        match kind:
            case "points":
                if relative:
                    raise UnreadMeshError(
                        "trimesh counts negative indices from the end of the file"
                    )
                if words.count(b"\n") != (b"\n" + words).count(b"\n" + _POINT):
                    raise UnreadMeshError(
                        "trimesh does not read vertices that are not separated by one "
                        "space"
                    )
                points.append(words)
            case "faces":
                sizes = [len(line.split()) - 1 for line in words.splitlines()]
                corners = max(corners, *sizes)
                triangles = sum(size - 2 for size in sizes if size >= _TRIANGLE)
                material_of.append((worn, triangles))
                groups[-1] += [words] if triangles else []
                has_coordinates |= _MAPPED.search(words) is not None
                of_faces += sum(sizes)
                with_normals += len(_NORMAL.findall(words))
                relative |= _FROM_THE_END.search(words) is not None
                if _ZERO.search(words):
                    raise UnreadMeshError("trimesh reads index 0 as the first vertex")
            case "opening":
                groups.append([])
            case "material":
                worn = materials.setdefault(words.strip(), len(materials))
            case "library":
                libraries.append(words.strip())
    return _Statements(
        material_of=tuple(material_of),
        libraries=tuple(map(_decoded, dict.fromkeys(libraries))),
        materials=tuple(map(_decoded, materials)),
        has_coordinates=has_coordinates,
        with_normals=with_normals,
        of_faces=of_faces,
        points=b"".join(points),
        groups=tuple(b"".join(lines) for lines in groups if lines),
        corners=corners,
    )


def _face_groups(stated: _Statements) -> tuple[FaceGroup, ...]:
    """Return the groups; none if there are not several."""
    if len(stated.groups) <= 1:
        return ()
    with reading_by("numpy"):
        points = np.array(
            [line.split()[1:4] for line in stated.points.splitlines()], np.float64
        )
        return tuple(_face_group(points, lines) for lines in stated.groups)


def _face_group(points: Array, lines: bytes) -> FaceGroup:
    triangles: list[tuple[int, int, int]] = []
    for line in lines.splitlines():
        first, *rest = (int(corner.split(b"/")[0]) for corner in line.split()[1:])
        triangles += ((first, b, c) for b, c in pairwise(rest))
    # Negative indices count from the last point, positive ones from 1.
    numbers = np.array(triangles, np.int64)
    numbers = np.where(numbers < 0, numbers + len(points), numbers - 1)
    used, corners = np.unique(numbers, return_inverse=True)
    return FaceGroup(points[used], corners.reshape(-1, 3))


def _lines(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield kinds of statements, and their text."""
    text = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = b"%b\n" % text.replace(b"\\\n", b"")
    for lines in _LINES.finditer(text):
        kind = lines.lastgroup
        if kind:
            yield kind, lines[kind]


def _decoded(written: bytes) -> str:
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written.decode("latin-1")
