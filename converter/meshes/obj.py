"""Wavefront OBJ: the polygons of all objects and groups.

Read here rather than through trimesh, which counts relative indices from the end of
the file instead of from the line they stand in, splits polygons into triangles, and
reorders vertices; a converter must do none of these. Only ``v`` and ``f`` matter for
the surface: colours after a position, materials and their libraries do not.
"""

from __future__ import annotations

import numpy as np

from converter.meshes.polygon_mesh import MeshError, PolygonMesh, build_mesh

_DIMENSIONS = 3


def read_obj(data: bytes) -> PolygonMesh:
    """Read all faces of an OBJ file as one mesh [m].

    Raises:
        MeshError: A number is malformed, an index is out of range, or no face is left.
    """
    coordinates: list[bytes] = []
    vertex_count = 0
    counts: list[int] = []
    indices: list[int] = []
    for line in data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            if len(words) <= _DIMENSIONS:
                raise MeshError("a vertex has fewer than three numbers")
            coordinates += words[1 : 1 + _DIMENSIONS]
            vertex_count += 1
        elif words[0] == b"f":
            corners = _corners(words[1:], vertex_count)
            counts.append(len(corners))
            indices += corners
    points = _positions(coordinates)
    try:
        face_indices = np.array(indices, dtype=np.int64)
    except OverflowError as error:
        raise MeshError("a face refers to a vertex that cannot exist") from error
    return build_mesh(points, np.array(counts, dtype=np.int64), face_indices)


def _corners(words: list[bytes], vertex_count: int) -> list[int]:
    """Zero-based points of one face; ``vertex_count`` vertices stand above it."""
    try:
        numbers = [int(word.partition(b"/")[0]) for word in words]
    except ValueError as error:
        raise MeshError("a face refers to something that is not a number") from error
    if 0 in numbers:
        raise MeshError("a face refers to vertex 0; the first vertex is 1")
    # Positive numbers may refer to vertices that follow; build_mesh checks the range.
    return [n - 1 if n > 0 else vertex_count + n for n in numbers]


def _positions(
    coordinates: list[bytes],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    try:
        numbers = np.array([float(word) for word in coordinates], dtype=np.float64)
    except ValueError as error:
        raise MeshError("a vertex has a coordinate that is not a number") from error
    return numbers.reshape(-1, _DIMENSIONS)
