"""Wavefront OBJ files.

They are read here because no library with wheels for all versions of Python keeps
polygons, the order of the file and relative indices: trimesh 5.2 and assimp-py 1.2
triangulate, trimesh counts relative indices from the end of the file, and meshio 5.3
treats them as absolute.

Invalid normals, texture coordinates (v up, as in USD), colours and materials are
ignored; faces are kept.

Each ``o`` or ``g`` statement with a name begins a group of faces, as in PyBullet, also
if the name was used before; ``usemtl`` begins none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from urdf_usd.converter.meshes.corner_values import (
    CornerValues,
    SiblingReader,
    corner_values,
    face_normals,
    fill_missing,
    read_only,
    unit_vectors,
)
from urdf_usd.converter.meshes.obj.materials import in_utf8, read_libraries
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
    check_indices,
)

# Runs of lines of one kind: numpy reads many lines at once.
_LINES = re.compile(
    rb"(?P<v>(?:[ \t]*+v(?=\s)[^\n]*+\n)++)"
    rb"|(?P<f>(?:[ \t]*+f(?=\s)[^\n]*+\n)++)"
    rb"|(?P<vt>(?:[ \t]*+vt[ \t][^\n]*+\n)++)"
    rb"|(?P<vn>(?:[ \t]*+vn[ \t][^\n]*+\n)++)"
    rb"|[ \t]*+[go][ \t](?P<group>[^\n]*+)\n"
    rb"|[ \t]*+usemtl[ \t](?P<material>[^\n]*+)\n"
    rb"|[^\n]*+\n"
)
# Not the number 1.#IND.
_COMMENT = re.compile(rb"#(?!(?:ind|inf|[qs]nan)\d*\s)[^\n]*+", re.IGNORECASE)
# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(rb"(#[^\n]*+)|\\\n")
# Non-finite numbers as C libraries print them, which Python does not read.
_NOT_FINITE = re.compile(rb"[+-]?(?:nan\([a-z]*\)|1\.#(?:ind|inf|[qs]nan)\d*)", re.IGNORECASE)
# Turns the statements of faces into numbers.
_SPACED = bytes.maketrans(b"f/", b"  ")
# Of a corner that does not have one; indices begin at 1.
_NO_INDEX = 0
# Indices of a corner: point, texture coordinates, normal.
_SLOTS = ("v", "vt", "vn")
_LEAST_CORNERS = 3
_RGB = slice(3, 6)
_SHOWN = 40


_Run: TypeAlias = tuple[str, int, tuple[int, ...]]


class _Statements(Struct, eq=False):
    """The statements of a file.

    Attributes:
        rows: Lines of points, texture coordinates and normals.
        counts: Numbers of these lines.
        runs: Lines of consecutive faces, with their material (empty for none), the
            index of their group's name, and the counts before them if any index is
            relative.
        names: Names of groups; the first is that before any statement.
    """

    rows: dict[str, list[bytes]] = field(default_factory=lambda: {slot: [] for slot in _SLOTS})
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_SLOTS, 0))
    runs: list[tuple[_Run, list[bytes]]] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: [""])


def read_obj(
    data: bytes,
    read_sibling: SiblingReader = lambda _: None,
    *,
    attributes: bool = True,
) -> PolygonMesh:
    """Read all faces of an OBJ file as one mesh [m].

    Args:
        data: The file.
        read_sibling: Gives the material libraries that the file names.
        attributes: Whether to take what faces have besides their shape.

    Raises:
        MeshError: A number is malformed, an index is out of range, or no face is left.
    """
    text = b"\n%b\n" % in_utf8(data)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\" in text:
        text = _COMMENT_OR_CONTINUED.sub(lambda found: found[1] or b" ", text)
    stated = _statements(text)
    libraries, absent = read_libraries(text, read_sibling)
    rows = {slot: b"".join(lines) for slot, lines in stated.rows.items()}
    points, colors = _vertices(rows["v"])
    read = [_faces(b"".join(lines), run[-1]) for run, lines in stated.runs]
    counts = np.concatenate([np.empty(0, np.int64), *(sizes for sizes, _ in read)])
    corners = np.concatenate([np.empty((0, 3), np.int64), *(c for _, c in read)]) - 1
    check_indices(len(points), counts, corners[:, 0])
    indices, of_coordinates, of_normals = corners.T
    if not attributes or not len(counts):
        return build_mesh(points, counts, indices, skipped=absent)
    numbers = {name: number for number, name in enumerate(libraries)}
    faces = [len(sizes) for sizes, _ in read]
    groups, face_groups = _groups(stated, faces)
    seen = SurfaceAttributes(
        normals=_normals(rows["vn"], of_normals, points, counts, indices),
        texture_coordinates=fill_missing(_vectors(rows["vt"], 2), of_coordinates, np.zeros(2)),
        colors=_colors(colors, indices),
        face_materials=np.repeat(
            np.array([numbers.get(run[0], -1) for run, _ in stated.runs], np.int32),
            faces,
        ),
        materials=tuple(libraries.values()),
        face_groups=face_groups,
        groups=groups,
    )
    return build_mesh(points, counts, indices, skipped=absent, attributes=seen)


def _statements(text: bytes) -> _Statements:
    stated = _Statements()
    material = ""
    for match in _LINES.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        lines = match[kind]
        if kind == "group":
            stated.names.append(lines.strip().decode("utf-8", "replace"))
        elif kind == "material":
            material = lines.decode("utf-8", "replace").replace("\t", " ").strip()
        else:
            if b"#" in lines:
                lines = _COMMENT.sub(b"", lines)
            if kind == "f":
                before = tuple(stated.counts.values()) if b"-" in lines else ()
                run = material, len(stated.names) - 1, before
                # Many files have points between faces.
                if not stated.runs or stated.runs[-1][0] != run:
                    stated.runs.append((run, []))
                stated.runs[-1][1].append(lines)
            else:
                stated.rows[kind].append(lines)
                stated.counts[kind] += lines.count(b"\n")
    return stated


def _equal_rows(lines: bytes) -> NDArray[np.float64] | None:
    """Return the numbers of lines that all have as many, and no fault."""
    count = lines.count(b"\n")
    cells = lines.split()
    if not count:
        return None
    step, rest = divmod(len(cells), count)
    if rest or len(set(cells[::step])) > 1 or b"_" in lines:
        return None
    del cells[::step]
    try:
        return np.array(cells, np.float64).reshape(count, step - 1)
    except ValueError:
        return None


def _vertices(lines: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (N, 3) positions and colours, white where there is none.

    Raises:
        MeshError: A position is not three numbers.
    """
    found = _equal_rows(lines)
    if found is None:
        rows = [_vertex(line) for line in lines.splitlines()]
        found = np.array(rows).reshape(-1, _RGB.stop)
    elif found.shape[1] < _RGB.start:
        _refuse(lines.splitlines()[0], "a vertex is not three numbers")
    # A fourth number is a weight.
    colored = found.shape[1] >= _RGB.stop
    colors = found[:, _RGB] if colored else np.ones((len(found), 3))
    return found[:, : _RGB.start], colors


def _vertex(line: bytes) -> list[float]:
    position = [_number(word) for word in line.split()[1:4]]
    if len(position) < _RGB.start or None in position:
        _refuse(line, "a vertex is not three numbers")
    color = [_number(word) for word in line.split()[4:7]]
    if len(color) < _RGB.stop - _RGB.start or None in color:
        color = [1.0, 1.0, 1.0]
    return [number for number in (*position, *color) if number is not None]


def _vectors(lines: bytes, width: int) -> NDArray[np.float64]:
    """Return the first numbers of each line; zero where malformed or absent."""
    found = _equal_rows(lines)
    if found is None or found.shape[1] < width:
        rows = [line.split()[1 : width + 1] for line in lines.splitlines()]
        numbers = [[_number(word) or 0.0 for word in row] for row in rows]
        found = np.array([row + [0.0] * (width - len(row)) for row in numbers])
        found = found.reshape(-1, width)
    return np.where(np.isfinite(found[:, :width]), found[:, :width], 0.0)


def _number(word: bytes) -> float | None:
    if _NOT_FINITE.fullmatch(word):
        return np.inf
    try:
        return None if b"_" in word else float(word)
    except ValueError:
        return None


def _faces(lines: bytes, counts: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of corners of faces, and (C, 3) indices of all corners.

    Faces with fewer than three corners are left out.

    Args:
        lines: The statements.
        counts: Numbers of points, texture coordinates and normals before them, if an
            index is relative.

    Raises:
        MeshError: An index of a point is malformed, or before the first point.
    """
    sizes = np.array([len(line.split()) - 1 for line in lines.splitlines()], np.int64)
    corners = _equal_corners(lines, sizes)
    if corners is None:
        found = [_corner(word, line) for line in lines.splitlines() for word in line.split()[1:]]
        corners = np.array(found, np.int64).reshape(-1, len(_SLOTS))
        # Relative to the rows before the face.
        if counts:
            corners = np.where(corners < 0, corners + np.array(counts) + 1, corners)
        corners[:, 1:][corners[:, 1:] < 0] = _NO_INDEX
    if (corners[:, 0] <= _NO_INDEX).any():
        first = int(np.argmax(corners[:, 0] <= _NO_INDEX))
        face = int(np.searchsorted(np.cumsum(sizes), first, side="right"))
        _refuse(lines.splitlines()[face], "a face refers to no vertex before it")
    whole = sizes >= _LEAST_CORNERS
    if not whole.all():
        corners, sizes = corners[np.repeat(whole, sizes)], sizes[whole]
    return sizes, corners


def _equal_corners(lines: bytes, sizes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return (C, 3) indices of corners that all have as many, and no sign."""
    text = lines.replace(b"//", b"/0/")
    # What is left of statements and corners without digits.
    left = set(text.translate(None, b"0123456789").split())
    width = max(map(len, left - {b"f"}), default=0) + 1
    if (
        width > len(_SLOTS)
        or not left <= {b"f", b"/" * (width - 1)}
        or text.count(b"f") != len(sizes)
    ):
        return None
    # Several times as fast as an array of words, but it stops at other characters.
    found = np.fromstring(text.translate(_SPACED), np.int64, sep=" ")
    if len(found) != sizes.sum() * width:
        return None
    corners = np.zeros((len(found) // width, len(_SLOTS)), np.int64)
    corners[:, :width] = found.reshape(-1, width)
    return corners


def _corner(word: bytes, line: bytes) -> list[int]:
    """Return the indices of a corner of a face.

    Raises:
        MeshError: It has no index of a point, or more than three indices.
    """
    words = word.split(b"/")
    point = _index(words[0])
    if point is None or len(words) > len(_SLOTS) or b"\0" in word:
        _refuse(line, "a face refers to something that is no vertex")
    others = [_index(other) or _NO_INDEX for other in words[1:]]
    return [point, *others, _NO_INDEX, _NO_INDEX][: len(_SLOTS)]


def _index(word: bytes) -> int | None:
    try:
        number = int(word)
    except ValueError:
        return None
    return number if abs(number) < 1 << 31 else None


def _normals(
    lines: bytes,
    of_normals: NDArray[np.int64],
    points: NDArray[np.float64],
    counts: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> CornerValues | None:
    """Return unit normals, those of faces at corners without one; None if all are."""
    normals = unit_vectors(_vectors(lines, 3))
    if ((of_normals >= 0) & (of_normals < len(normals))).all():
        return corner_values(normals, of_normals)
    if not len(normals):
        return None
    return fill_missing(normals, of_normals, face_normals(points, counts, indices))


def _groups(
    stated: _Statements, faces: Sequence[int]
) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    """Return names of the groups that have faces and the group of each, if several."""
    numbers, of_faces = np.unique(
        np.repeat(np.array([run[1] for run, _ in stated.runs]), faces),
        return_inverse=True,
    )
    if len(numbers) <= 1:
        return (), None
    names = tuple(stated.names[number] for number in numbers)
    return names, read_only(of_faces.astype(np.int32))


def _colors(colors: NDArray[np.float64], indices: NDArray[np.int64]) -> CornerValues | None:
    """Return vertex colours; None if all are white, as points without one are."""
    if not (colors != 1.0).any():
        return None
    return corner_values(np.clip(colors, 0.0, 1.0), indices)


def _refuse(line: bytes, reason: str) -> NoReturn:
    shown = line.strip()[:_SHOWN].decode(errors="replace")
    raise MeshError(f"{reason}: {shown!r}")
