"""STL: loose triangles, as 50-byte records or as text.

Which of the two a file holds is decided by its size, because binary files may well
begin with ``solid``, the first word of text files.

Positions are single precision in the binary form. The format knows neither shared
points nor units: equal positions become one point, and numbers are metres, as every
reader of URDF takes them. Normals are not kept: many files leave them zero, and
readers derive the side of a triangle from the order of its corners.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    build_mesh,
    merge_equal_points,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADER_SIZE = 80
_COUNT_SIZE = 4
_TRIANGLE = np.dtype(
    [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]
)
# Names of solids are free text, which may hold any keyword.
_SOLID_LINE = re.compile(rb"^[ \t]*solid\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_END = re.compile(rb"^[ \t]*endsolid\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_CORNER_OR_END = re.compile(
    rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)|\b(endloop)\b", re.IGNORECASE
)


def holds_binary_stl(data: bytes) -> bool:
    """Whether the size is the one that a binary STL header announces."""
    return len(data) == _announced_size(data)


def read_binary_stl(data: bytes) -> PolygonMesh:
    """Read binary STL; bytes after the last announced triangle are ignored.

    Raises:
        MeshError: The data are shorter than announced, or hold no usable triangle.
    """
    size = _announced_size(data)
    if size is None:
        raise MeshError("it is too short for an STL file")
    start = _HEADER_SIZE + _COUNT_SIZE
    if len(data) < size:
        announced, held = ((n - start) // _TRIANGLE.itemsize for n in (size, len(data)))
        raise MeshError(f"it announces {announced} triangles but holds {held}")
    triangles = np.frombuffer(data[:size], dtype=_TRIANGLE, offset=start)
    return _build(triangles["corners"].reshape(-1, 3), np.full(len(triangles), 3))


def read_text_stl(data: bytes) -> PolygonMesh:
    """Read text STL, all solids of the file as one mesh.

    Raises:
        MeshError: A number is malformed, a facet incomplete, or there is no facet.
    """
    text, ends = _END.subn(b"", _SOLID_LINE.sub(b"", data.replace(b"\r", b"\n")))
    numbers: list[float] = []
    loop_ends: list[int] = []
    try:
        for x, y, z, end in _CORNER_OR_END.findall(text):
            if end:
                loop_ends.append(len(numbers) // 3)
            else:
                numbers += (float(x), float(y), float(z))
    except ValueError as error:
        raise MeshError("a vertex is not three numbers") from error
    if len(numbers) // 3 != (loop_ends[-1] if loop_ends else 0):
        raise MeshError("its last facet is incomplete")
    last = np.array(loop_ends, dtype=np.int64)
    return _build(
        np.array(numbers, dtype=np.float64).reshape(-1, 3),
        last - np.concatenate(([0], last[:-1])),
        skipped=() if ends else ("the text ends without endsolid",),
    )


def _announced_size(data: bytes) -> int | None:
    start = _HEADER_SIZE + _COUNT_SIZE
    if len(data) < start:
        return None
    count = int.from_bytes(data[_HEADER_SIZE:start], "little")
    return start + count * _TRIANGLE.itemsize


def _build(
    corners: NDArray[np.floating],
    face_counts: NDArray[np.integer],
    skipped: tuple[str, ...] = (),
) -> PolygonMesh:
    # Before merging, because NaN differs from itself.
    if not np.isfinite(corners).all():
        raise MeshError("a vertex is not finite")
    points, indices = merge_equal_points(corners)
    return build_mesh(points, face_counts, indices, skipped=skipped)
