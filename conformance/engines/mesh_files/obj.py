"""OBJ files, parsed here; the converter has another reader.

Importing trimesh takes longer than importing all engines, and it misreads negative
indices, index 0 and indented statements.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    Array,
    FaceGroup,
    Indices,
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
)
from urdf_usd.conformance.engines.surfaces import fan_places

# Runs of lines of one kind in an OBJ file: a loop over single lines is slow.
_LINES = re.compile(
    rb"(?P<v>(?:[ \t]*v[ \t][^\n]*+\n)++)"
    rb"|(?P<f>(?:[ \t]*f[ \t][^\n]*+\n)++)"
    rb"|(?P<vt>(?:[ \t]*vt[ \t][^\n]*+\n)++)"
    rb"|(?P<vn>(?:[ \t]*vn[ \t][^\n]*+\n)++)"
    rb"|(?P<opening>[ \t]*[og][ \t][^\n]*+\n)"
    rb"|[ \t]*usemtl[ \t](?P<material>[^\n]*+)\n"
    rb"|[ \t]*mtllib[ \t](?P<library>[^\n]*+)\n"
    rb"|[^\n]*+\n"
)
_COMMENT = re.compile(rb"#[^\n]*")
# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(rb"(#[^\n]*+)|\\\n")
# Turns the statements of faces into numbers.
_SPACED = bytes.maketrans(b"f/", b"  ")
# Kinds of rows that corners of faces refer to, in their order, and their numbers.
_ROWS = {"v": 3, "vt": 2, "vn": 3}
# Instead of an index that a corner does not have; an index is not zero.
_NONE = 0
_TRIANGLE = 3


class ObjFile(Struct, frozen=True):
    """An OBJ file, before the libraries that it names are read.

    Attributes:
        mesh: Its content; materials of triangles are indices of names.
        libraries: Arguments of ``mtllib``, line by line.
        names: Names of its materials.
    """

    mesh: LoadedMesh
    libraries: tuple[str, ...]
    names: tuple[str, ...]


class _Faces(Struct, frozen=True, eq=False):
    """Consecutive faces with one material.

    Attributes:
        sizes: (F) numbers of corners.
        corners: (C, 3) rows of point, texture coordinates and normal of each corner,
            from 1; zero for none.
        material: Index of the material; -1 for none.
        group: Number of ``o`` and ``g`` statements before.
    """

    sizes: Indices
    corners: Indices
    material: int
    group: int


class _Statements(Struct, eq=False):
    """The statements of a file.

    Attributes:
        rows: (N, 3 or 2) numbers of points, texture coordinates and normals.
        faces: The faces.
        libraries: Arguments of ``mtllib``, line by line.
        materials: Index of each name of a material.
    """

    rows: dict[str, list[Array]] = field(default_factory=lambda: {n: [] for n in _ROWS})
    faces: list[_Faces] = field(default_factory=list)
    libraries: list[bytes] = field(default_factory=list)
    materials: dict[bytes, int] = field(default_factory=dict)


def read_obj(content: bytes) -> ObjFile:
    """Read a file; polygons are fans of triangles.

    Every ``o`` or ``g`` begins a group, also with a name that was used before.

    Raises:
        UnreadMeshError: A statement is invalid, or there is no triangle.
    """
    stated = _statements(content.removeprefix(codecs.BOM_UTF8))
    if not stated.faces:
        raise UnreadMeshError("it holds no triangles")
    points, coordinates, normals = (
        np.concatenate([np.empty((0, width)), *stated.rows[kind]]) for kind, width in _ROWS.items()
    )
    corners = np.concatenate([each.corners for each in stated.faces])
    # Faces may precede the rows that they refer to.
    beyond = corners > (len(points), len(coordinates), len(normals))
    if beyond[:, 0].any():
        raise UnreadMeshError("a face has an index beyond the last vertex")
    corners = np.where(beyond, _NONE, corners)
    sizes = np.concatenate([each.sizes for each in stated.faces])
    places = fan_places(sizes)
    used, triangles = _used(corners[:, 0][places])
    whole = corners[:, 2] != _NONE
    has_normals = True if whole.all() else None if whole.any() else False
    mesh = joined_parts(
        [
            MeshPart(
                points[used],
                triangles,
                np.eye(4),
                normals=normals[corners[:, 2][places] - 1] if has_normals else None,
                coordinates=_looked_up(coordinates, corners[:, 1][places]),
            )
        ]
    )
    fans = [np.maximum(each.sizes - 2, 0).sum() for each in stated.faces]
    mesh = structs.replace(
        mesh,
        material_of=np.repeat([each.material for each in stated.faces], fans),
        has_coordinates=bool((corners[:, 1] != _NONE).any()),
        has_normals=has_normals,
        groups=_face_groups(points, stated.faces),
        corners=int(sizes.max()),
    )
    return ObjFile(
        mesh,
        tuple(map(_decoded, dict.fromkeys(stated.libraries))),
        tuple(map(_decoded, stated.materials)),
    )


def _statements(content: bytes) -> _Statements:
    stated = _Statements()
    counts = dict.fromkeys(_ROWS, 0)
    material, group = -1, 0
    for kind, words in _lines(content):
        match kind:
            case "f":
                sizes, corners = _corners(words)
                corners = _from_one(corners, tuple(counts.values()))
                stated.faces.append(_Faces(sizes, corners, material, group))
            case "opening":
                group += 1
            case "material":
                name = words.strip()
                material = stated.materials.setdefault(name, len(stated.materials))
            case "library":
                stated.libraries.append(words.strip())
            case _:
                rows = _numbers(words, _ROWS[kind])
                stated.rows[kind].append(rows)
                counts[kind] += len(rows)
    return stated


def _lines(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield kinds of statements, and their text."""
    text = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\\n" in text:
        text = _COMMENT_OR_CONTINUED.sub(lambda found: found[1] or b" ", text)
    text = b"%b\n" % text
    for lines in _LINES.finditer(text):
        kind = lines.lastgroup
        if kind:
            words = lines[kind]
            numeric = kind == "f" or kind in _ROWS
            yield kind, _COMMENT.sub(b"", words) if numeric and b"#" in words else words


def _numbers(words: bytes, width: int) -> Array:
    """Return the first numbers of each line; texture coordinates may have one."""
    try:
        return np.array(_cells(words, width), np.float64).reshape(-1, width)
    except ValueError as error:
        raise UnreadMeshError(f"a vertex is not {width} numbers") from error


def _cells(words: bytes, width: int) -> list[bytes] | list[list[bytes]]:
    """Return the text of these numbers, in rows unless all lines have as many."""
    cells = words.split()
    step = width + 1
    if len(cells) == words.count(b"\n") * step and len(set(cells[::step])) == 1:
        del cells[::step]
        return cells
    rows = [line.split()[1:step] for line in words.splitlines()]
    if width == _ROWS["vt"]:
        rows = [row if len(row) == width else [*row, b"0"] for row in rows]
    return rows


def _corners(words: bytes) -> tuple[Indices, Indices]:
    """Return the numbers of corners of each face, and (C, 3) indices of all corners."""
    sizes = np.array([len(line.split()) - 1 for line in words.splitlines()], np.int64)
    given = _uniform_corners(words, sizes)
    if given is None:
        corners = (corner for line in words.splitlines() for corner in line.split()[1:])
        text = b" ".join(map(_filled, corners)).replace(b"/", b" ")
        try:
            given = np.array(text.split(), np.int64).reshape(-1, len(_ROWS))
        except (OverflowError, ValueError) as error:
            raise UnreadMeshError("an index of a face is not a number") from error
    indices = np.zeros((len(given), len(_ROWS)), np.int64)
    indices[:, : given.shape[1]] = given
    if (indices[:, 0] == _NONE).any():
        raise UnreadMeshError("a face has the index 0, but indices begin at 1")
    return sizes, indices


def _uniform_corners(words: bytes, sizes: Indices) -> Indices | None:
    """Return (C, 1 to 3) indices of corners that all have as many, and no sign."""
    text = words.replace(b"//", b"/0/")
    # What is left of statements and corners without digits.
    left = set(text.translate(None, b"0123456789").split())
    width = max(map(len, left - {b"f"}), default=0) + 1
    if (
        width > len(_ROWS)
        or not left <= {b"f", b"/" * (width - 1)}
        or text.count(b"f") != len(sizes)
    ):
        return None
    # Several times as fast as an array of words, but it stops at other characters.
    given = np.fromstring(text.translate(_SPACED), np.int64, sep=" ")
    return given.reshape(-1, width) if len(given) == sizes.sum() * width else None


def _filled(corner: bytes) -> bytes:
    """Write a corner with three indices, zero for those that it does not have.

    Raises:
        UnreadMeshError: It has more.
    """
    indices = [index or b"0" for index in corner.split(b"/")]
    if len(indices) > len(_ROWS):
        raise UnreadMeshError("a corner of a face has more than three indices")
    return b"/".join([*indices, b"0", b"0"][: len(_ROWS)])


def _from_one(corners: Indices, counts: Sequence[int]) -> Indices:
    """Count negative indices from the first row; they are relative to the last so far.

    Raises:
        UnreadMeshError: An index is before the first row.
    """
    if corners.min(initial=0) >= 0:
        return corners
    counted = np.where(corners < 0, corners + np.array(counts) + 1, corners)
    if ((corners < 0) & (counted < 1)).any():
        raise UnreadMeshError("a face has an index before the first vertex")
    return counted


def _used(rows: Indices) -> tuple[Indices, Indices]:
    """Return the rows from zero that (M, 3) indices from one refer to, and new ones."""
    used, corners = np.unique(rows - 1, return_inverse=True)
    return used, corners.reshape(-1, _TRIANGLE)


def _looked_up(coordinates: Array, rows: Indices) -> NDArray[np.floating]:
    """Return (M, 3, 2) texture coordinates, NaN for those that corners do not have."""
    absent = np.full((1, coordinates.shape[1]), np.nan)
    return np.concatenate([absent, coordinates])[rows]


def _face_groups(points: Array, faces: Sequence[_Faces]) -> tuple[FaceGroup, ...]:
    """Return the groups; none if there are not several."""
    by_group: dict[int, list[Indices]] = {}
    for each in faces:
        triangles = each.corners[:, 0][fan_places(each.sizes)]
        if len(triangles):
            by_group.setdefault(each.group, []).append(triangles)
    if len(by_group) <= 1:
        return ()
    found = []
    for group in by_group.values():
        used, triangles = _used(np.concatenate(group))
        found.append(FaceGroup(points[used], triangles))
    return tuple(found)


def _decoded(written: bytes) -> str:
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written.decode("latin-1")
