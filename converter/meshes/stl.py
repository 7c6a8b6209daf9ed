"""STL files, binary and text.

The two are distinguished by size, because binary files may also start with ``solid``.

Text is read here: trimesh 5.2 and meshio 5.3 pair wrong corners of malformed text or
silently drop the rest. Variants that other parsers of URDF accept are read as well:
several keywords on one line, normals that are not numbers, and facets with more than
three corners.

Positions are float32. Equal positions are merged, and the unit is metres, as in all
parsers of URDF. Normals are ignored: they are zero in many files, and the order of the
corners defines the orientation.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.mesh import (
    MeshError,
    PolygonMesh,
    build_mesh,
    faces_left_out,
    merge_equal_points,
)

# A name of 80 bytes, then the number of triangles.
_COUNT = slice(80, 84)
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])

# Names of solids are free text and may contain keywords.
_SOLID_LINE = re.compile(rb"^[^\S\n]*+(end[^\S\n]*+)?solid[^\n]*", re.IGNORECASE | re.MULTILINE)
_END = b"endfacet"
# A corner of more words than three numbers does not match, and a facet of more corners
# is damaged text.
_CORNER = rb"vertex(?:\s++[^\s_]++){3}\s++"
_FACET = re.compile(
    rb"facet\s++(?:normal\s++)?(?:(?!outer\b)\S++\s++){0,3}+outer\s++loop\s++"
    rb"((?:" + _CORNER + rb"){3,1000}+)endloop\s++endfacet(?:\s++|\Z)",
    re.IGNORECASE,
)
_WORDS_OF_CORNER = 4
# Longest quote of a damaged facet, in characters.
_SHOWN = 200


def holds_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the header of binary STL."""
    return len(data) == _announced_size(data)


def _announced_size(data: bytes) -> int | None:
    if len(data) < _COUNT.stop:
        return None
    return _COUNT.stop + int.from_bytes(data[_COUNT], "little") * _TRIANGLE.itemsize


def read_binary_stl(data: bytes) -> PolygonMesh:
    """Read binary STL; bytes after the last announced triangle are ignored.

    Raises:
        MeshError: The data are shorter than announced, or hold no usable triangle.
    """
    size = _announced_size(data)
    if size is None:
        raise MeshError("it is too short for an STL file")
    announced, held = ((n - _COUNT.stop) // _TRIANGLE.itemsize for n in (size, len(data)))
    if held < announced:
        raise MeshError(f"it announces {announced} triangles but holds {held}")
    triangles = np.frombuffer(data, _TRIANGLE, announced, offset=_COUNT.stop)
    corners = triangles["corners"].reshape(-1, 3).astype(np.float32)
    return _build(corners)


def read_text_stl(data: bytes) -> PolygonMesh:
    """Read text STL, all solids of the file as one mesh.

    Raises:
        MeshError: A number is malformed, a facet incomplete, or there is no facet.
    """
    text = data.replace(b"\r", b"\n")
    ends = any(line[1] for line in _SOLID_LINE.finditer(text))
    facets = _SOLID_LINE.sub(b"", text).strip()
    if facets and not facets.lower().endswith(_END):
        raise MeshError("its last facet is incomplete")
    corners = _corners(facets)
    skipped = () if ends else ("the text ends without endsolid",)
    return _build(corners, skipped)


def _corners(text: bytes) -> NDArray[np.float32]:
    """Return the (M, 3) corners of all triangles; polygons become fans.

    Raises:
        MeshError: Something else than facets is in the text.
    """
    numbers = array("d")
    place = 0
    while place < len(text):
        facet = _FACET.match(text, place)
        if facet is None:
            raise MeshError(f"its STL is broken: {_quoted(text, place)} is no facet")
        words = facet[1].split()
        if len(words) > 3 * _WORDS_OF_CORNER:
            # The triangles of a polygon.
            first, *others = (words[at : at + 4] for at in range(0, len(words), 4))
            words = [word for edge in pairwise(others) for word in (*first, *edge[0], *edge[1])]
        del words[::_WORDS_OF_CORNER]
        try:
            numbers.extend(map(float, words))
        except ValueError:
            quoted = _quoted(text, place)
            raise MeshError(f"its STL is broken: no numbers in {quoted}") from None
        place = facet.end()
    # Overflow to infinity is refused by _build.
    with np.errstate(over="ignore"):
        return np.frombuffer(numbers, np.float64).astype(np.float32).reshape(-1, 3)


def _quoted(text: bytes, start: int) -> str:
    """Quote a facet in one line."""
    end = text.lower().find(_END, start, start + _SHOWN)
    end = start + _SHOWN if end < 0 else end + len(_END)
    return repr(" ".join(text[start:end].decode(errors="replace").split()))


def _build(corners: NDArray[np.float32], skipped: tuple[str, ...] = ()) -> PolygonMesh:
    # Before merging, because NaN differs from itself.
    if not np.isfinite(corners).all():
        finite = np.isfinite(corners.reshape(-1, 9))
        lost: NDArray[np.bool_] = ~np.logical_and.reduce(finite, axis=1)
        skipped = (*skipped, *faces_left_out(lost, np.ones_like(lost)))
        corners = corners[np.repeat(~lost, 3)]
    points, indices = merge_equal_points(corners)
    return build_mesh(points, np.full(len(indices) // 3, 3), indices, skipped=skipped)
