"""Binary STL files, parsed here; the converter has a reader of its own.

A file is a list of fixed records. MuJoCo and PyBullet read it as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    Indices,
    LoadedMesh,
    UnreadMeshError,
)

HEADER = 84
# Normal, corners, and an attribute.
TRIANGLE = np.dtype([("normal", "<f4", 3), ("points", "<f4", 9), ("attribute", "<u2")])


def read_binary_stl(content: bytes) -> LoadedMesh:
    """Read the triangles of a file; what follows them is ignored.

    Raises:
        UnreadMeshError: There is no triangle, or fewer than the file states.
    """
    count = int.from_bytes(content[HEADER - 4 : HEADER], "little")
    if not count:
        raise UnreadMeshError("it holds no triangles")
    if len(content) < HEADER + TRIANGLE.itemsize * count:
        raise UnreadMeshError(f"it is shorter than {count} triangles")
    corners = np.frombuffer(content, TRIANGLE, count, HEADER)["points"].reshape(-1, 3)
    points, triangles = _merged(corners)
    # Its normals are those of the faces, and many files leave them zero.
    return LoadedMesh(
        points.astype(np.float64),
        triangles,
        np.full(len(triangles), -1),
        has_normals=False,
    )


def _merged(corners: NDArray[np.float32]) -> tuple[NDArray[np.float32], Indices]:
    """Merge corners of the same bits, six for each point of a closed surface.

    Whatever is measured of points takes as many times longer without it.

    Args:
        corners: (3 M, 3) of M triangles.

    Returns:
        (N, 3) points in the order of the file, and (M, 3) indices of them.
    """
    x, y, z = np.ascontiguousarray(corners).view(np.uint32).astype(np.uint64).T
    half = np.uint64(32)
    # Integers of 64 bits are sorted much faster than rows of three numbers.
    _, number = np.unique(x << half | y, return_inverse=True)
    keys = number.astype(np.uint64) << half | z
    _, first, point_of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return corners[first[order]], place[point_of].reshape(-1, 3)
