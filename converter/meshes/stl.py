"""STL files, binary and text.

The two are distinguished by size, because binary files may also start with ``solid``.

Text is read by numpy-stl, which refuses malformed text; trimesh 5.2 and meshio 5.3 pair
wrong corners or silently drop the rest. Variants that other parsers of URDF accept are
reformatted and read again: several keywords on one line, normals that are not numbers,
and facets with more than three corners.

Positions are float32. Equal positions are merged, and the unit is metres, as in all
parsers of URDF. Normals are ignored: they are zero in many files, and the order of the
corners defines the orientation.
"""

from __future__ import annotations

import re
from io import BytesIO
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    build_mesh,
    faces_left_out,
    merge_equal_points,
)

_HEADER_SIZE = 80
_COUNT_SIZE = 4
_TRIANGLE = np.dtype(
    [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")]
)
_TRIANGLE_SIZE = _TRIANGLE.itemsize

# Names of solids are free text and may contain keywords.
_SOLID_LINE = re.compile(
    rb"^[^\S\n]*+(end[^\S\n]*+)?solid[^\n]*", re.IGNORECASE | re.MULTILINE
)
# Limit of the reformatted text, because polygons are expanded to triangles.
_LONGEST_TEXT = 256 << 20
_CORNER = rb"vertex(?:\s++[-+.\deE]++){3}"
_FACET = re.compile(
    rb"\bfacet\s++(?:normal\s++)?(?:(?!outer\b)\S++\s++){0,3}+outer\s++loop\s++"
    rb"((?:" + _CORNER + rb"\s++){3,1000}+)endloop\s++endfacet\b",
    re.IGNORECASE,
)
_CORNERS = re.compile(_CORNER, re.IGNORECASE)


def holds_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the header of binary STL."""
    return len(data) == _announced_size(data)


def read_binary_stl(data: bytes, *, merged: bool = True) -> PolygonMesh:
    """Read binary STL; bytes after the last announced triangle are ignored.

    Args:
        data: The file.
        merged: Whether equal positions become one point.

    Raises:
        MeshError: The data are shorter than announced, or hold no usable triangle.
    """
    size = _announced_size(data)
    if size is None:
        raise MeshError("it is too short for an STL file")
    start = _HEADER_SIZE + _COUNT_SIZE
    if len(data) < size:
        announced, held = ((n - start) // _TRIANGLE_SIZE for n in (size, len(data)))
        raise MeshError(f"it announces {announced} triangles but holds {held}")
    count = (size - start) // _TRIANGLE_SIZE
    triangles = np.frombuffer(data, _TRIANGLE, count, offset=start)
    corners = triangles["corners"].reshape(-1, 3).astype(np.float32)
    return _build(corners, merged=merged)


def read_text_stl(data: bytes, *, merged: bool = True) -> PolygonMesh:
    """Read text STL, all solids of the file as one mesh.

    Args:
        data: The file.
        merged: Whether equal positions become one point.

    Raises:
        MeshError: A number is malformed, a facet incomplete, or there is no facet.
    """
    text = data.replace(b"\r", b"\n")
    ends = any(line[1] for line in _SOLID_LINE.finditer(text))
    facets = _SOLID_LINE.sub(b"", text).strip()
    # numpy-stl ignores a truncated facet.
    if facets and not facets.lower().endswith(b"endfacet"):
        raise MeshError("its last facet is incomplete")
    try:
        corners = _corners(_one_solid(facets))
    except MeshError:
        facets = _FACET.sub(_triangles, facets)
        if len(facets) > _LONGEST_TEXT:
            raise MeshError("its polygons are too many") from None
        corners = _corners(_one_solid(facets))
    skipped = () if ends else ("the text ends without endsolid",)
    return _build(corners, skipped, merged=merged)


def _one_solid(facets: bytes) -> bytes:
    return b"solid\n" + facets + b"\nendsolid\n"


def _triangles(facet: re.Match[bytes]) -> bytes:
    """Reformat one facet line by line, as a fan of triangles."""
    first, *others = (b" ".join(c.split()) for c in _CORNERS.findall(facet[1]))
    head, tail = (b"facet normal 0 0 0", b"outer loop"), (b"endloop", b"endfacet")
    return b"\n".join(
        line
        for side in pairwise(others)
        for line in (b"", *head, first, *side, *tail, b"")
    )


def _corners(text: bytes) -> NDArray[np.float32]:
    """Return the (M, 3) corners of all triangles."""
    from stl import Mesh, Mode  # noqa: PLC0415  slow to import, rarely needed

    try:
        # Overflow to infinity is refused by _build.
        with np.errstate(over="ignore"):
            _, triangles = Mesh.load(BytesIO(text), mode=Mode.ASCII)
    except (AssertionError, RuntimeError, ValueError) as error:
        said = " ".join(str(error.args[-1]).split()) or "a facet is not a triangle"
        raise MeshError(f"its STL is broken: {said}") from error
    corners: NDArray[np.float32] = triangles["vectors"].reshape(-1, 3)
    return corners


def _announced_size(data: bytes) -> int | None:
    start = _HEADER_SIZE + _COUNT_SIZE
    if len(data) < start:
        return None
    count = int.from_bytes(data[_HEADER_SIZE:start], "little")
    return start + count * _TRIANGLE_SIZE


def _build(
    corners: NDArray[np.float32], skipped: tuple[str, ...] = (), *, merged: bool
) -> PolygonMesh:
    # Before merging, because NaN differs from itself.
    if not np.isfinite(corners).all():
        finite = np.isfinite(corners.reshape(-1, 9))
        lost: NDArray[np.bool_] = ~np.logical_and.reduce(finite, axis=1)
        skipped = (*skipped, *faces_left_out(lost, np.ones_like(lost)))
        corners = corners[np.repeat(~lost, 3)]
    points, indices = (merge_equal_points if merged else _loose)(corners)
    return build_mesh(
        points, np.full(len(indices) // 3, 3, np.int32), indices, skipped=skipped
    )


def _loose(
    corners: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return unmerged corners, without degenerate triangles."""
    axes = corners.reshape(-1, 3, 3).T
    flat = np.zeros(axes.shape[-1], dtype=bool)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        flat |= np.logical_and.reduce([axis[one] == axis[other] for axis in axes])
    if flat.any():
        corners = corners[np.repeat(~flat, 3)]
    return corners, np.arange(len(corners), dtype=np.int32)
