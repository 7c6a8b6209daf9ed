"""STL files, binary and text.

The two are distinguished by size, because binary files may also start with ``solid``.

Text is read with several keywords on one line, normals that are not numbers, and facets with more
than three corners, as other parsers of URDF do. (trimesh 5.2 and meshio 5.3 pair wrong corners of
malformed text or silently drop the rest.) Positions are float32. Equal ones are merged, and the
unit is metres, as in all parsers of URDF. Normals are ignored: they are zero in many files, and
the order of the corners defines the orientation.
"""

from __future__ import annotations

import re

import numpy as np

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes.mesh import PolygonMesh, require

# A name of 80 bytes, and the number of triangles.
_HEADER = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])

# Names of solids are free text and may contain keywords.
_SOLID_LINE = re.compile(rb"^[^\S\n]*+(end[^\S\n]*+)?solid[^\n]*", re.IGNORECASE | re.MULTILINE)
_CORNER = re.compile(rb"vertex\s+([^\s_]+)\s+([^\s_]+)\s+([^\s_]+)\s")


def holds_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the header of binary STL."""
    return len(data) == _HEADER + _announced(data) * _TRIANGLE.itemsize


def _announced(data: bytes) -> int:
    return int.from_bytes(data[80:_HEADER], "little")


def read_binary_stl(data: bytes) -> PolygonMesh:
    """Read binary STL; bytes after the last announced triangle are ignored.

    MeshError if the data are shorter than announced, or hold no usable triangle.
    """
    require(len(data) >= _HEADER, "it is too short for an STL file")
    announced, held = _announced(data), (len(data) - _HEADER) // _TRIANGLE.itemsize
    require(held >= announced, f"it announces {announced} triangles but holds {held}")
    triangles = np.frombuffer(data, _TRIANGLE, announced, offset=_HEADER)
    points, indices = meshes.merge_equal_points(
        triangles["corners"].reshape(-1, 3).astype(np.float32)
    )
    return meshes.build_mesh(points, np.full(announced, 3), indices)


# What overflows is refused by build_mesh.
@np.errstate(over="ignore")
def read_text_stl(data: bytes) -> PolygonMesh:
    """Read text STL, all solids of the file as one mesh.

    MeshError if a number is malformed, a facet incomplete, or there is no facet.
    """
    text = data.replace(b"\r", b"\n").lower()
    ends = any(line[1] for line in _SOLID_LINE.finditer(text))
    text = _SOLID_LINE.sub(b"", text)
    *facets, rest = text.split(b"endfacet")
    require(not rest.strip(), "its last facet is incomplete")
    corners = _CORNER.findall(text)
    counts = np.array([facet.count(b"vertex") for facet in facets], np.int64)
    starts = text.count(b"facet") - len(facets)
    is_whole = len(corners) == counts.sum() and starts == len(facets) and (counts >= 3).all()
    require(is_whole, "its STL is broken: a facet does not have three corners of three numbers")
    try:
        numbers = np.array(corners, "S").astype(np.float64).astype(np.float32)
    except ValueError as error:
        raise meshes.MeshError(f"its STL is broken: {error}") from None
    points, indices = meshes.merge_equal_points(numbers.reshape(-1, 3))
    skipped = () if ends else ("the text ends without endsolid",)
    return meshes.build_mesh(points, counts, indices, skipped=skipped)
