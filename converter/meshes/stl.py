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
    merge_equal_points,
)

# A name of 80 bytes, and the number of triangles.
_HEADER = 84
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
# Longest quote of a damaged facet, in characters.
_SHOWN = 200


def holds_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the header of binary STL."""
    return len(data) == _HEADER + _announced(data) * _TRIANGLE.itemsize


def _announced(data: bytes) -> int:
    return int.from_bytes(data[80:_HEADER], "little")


def read_binary_stl(data: bytes) -> PolygonMesh:
    """Read binary STL; bytes after the last announced triangle are ignored.

    Raises:
        MeshError: The data are shorter than announced, or hold no usable triangle.
    """
    if len(data) < _HEADER:
        raise MeshError("it is too short for an STL file")
    announced, held = _announced(data), (len(data) - _HEADER) // _TRIANGLE.itemsize
    if held < announced:
        raise MeshError(f"it announces {announced} triangles but holds {held}")
    triangles = np.frombuffer(data, _TRIANGLE, announced, offset=_HEADER)
    return _build(triangles["corners"].reshape(-1, 3).astype(np.float32))


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
    """Return the (M, 3) corners of all triangles; polygons become fans."""
    numbers = array("d")
    place = 0
    while place < len(text):
        facet = _FACET.match(text, place)
        if facet is None:
            raise MeshError(f"its STL is broken: {_quoted(text, place)} is no facet")
        words = facet[1].split()
        del words[::4]
        if len(words) > 9:
            # The triangles of a polygon.
            first, *others = (words[at : at + 3] for at in range(0, len(words), 3))
            words = [word for edge in pairwise(others) for word in (*first, *edge[0], *edge[1])]
        try:
            numbers.extend(map(float, words))
        except ValueError:
            quoted = _quoted(text, place)
            raise MeshError(f"its STL is broken: no numbers in {quoted}") from None
        place = facet.end()
    # Faces with overflow to infinity are left out by build_mesh.
    with np.errstate(over="ignore"):
        return np.frombuffer(numbers, np.float64).astype(np.float32).reshape(-1, 3)


def _quoted(text: bytes, start: int) -> str:
    """Quote a facet in one line."""
    end = text.lower().find(_END, start, start + _SHOWN)
    end = start + _SHOWN if end < 0 else end + len(_END)
    return repr(" ".join(text[start:end].decode(errors="replace").split()))


def _build(corners: NDArray[np.float32], skipped: tuple[str, ...] = ()) -> PolygonMesh:
    points, indices = merge_equal_points(corners)
    return build_mesh(points, np.full(len(indices) // 3, 3), indices, skipped=skipped)
