"""Binary STL files, parsed here; the converter has a reader of its own.

A file is a list of fixed records. MuJoCo and PyBullet read it as well.
"""

from __future__ import annotations

import numpy as np

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
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
    points = np.frombuffer(content, TRIANGLE, count, HEADER)["points"]
    triangles = np.arange(3 * len(points)).reshape(-1, 3)
    # Its normals are those of the faces, and many files leave them zero.
    return LoadedMesh(
        points.reshape(-1, 3).astype(np.float64),
        triangles,
        np.full(len(triangles), -1),
        has_normals=False,
    )
