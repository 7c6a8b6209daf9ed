"""PLY files by plyfile; the converter reads them by trimesh.

The format defines neither axes nor units.
"""

from __future__ import annotations

import io
import re

import numpy as np

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    LoadedMesh,
    UnreadMeshError,
    reading_by,
)
from urdf_usd.conformance.engines.surfaces import fans

# Names of the list of corners of a face.
_COUNTS = re.compile(rb"^element\s+\S+\s+(\d{1,20})", re.MULTILINE)
_CORNERS = ("vertex_indices", "vertex_index")


def read_ply(content: bytes) -> LoadedMesh:
    """Read points, and polygons as fans of triangles.

    Raises:
        UnreadMeshError: plyfile raised, there is no triangle, or a face refers to a
            missing vertex.
    """
    header = content.partition(b"end_header")[0]
    if any(int(count) > len(content) for count in _COUNTS.findall(header)):
        raise UnreadMeshError("its header has more elements than the file has bytes")
    with reading_by("plyfile"):
        # Few robots have PLY files.
        import plyfile  # noqa: PLC0415

        found = plyfile.PlyData.read(io.BytesIO(content))
        elements = {element.name: element for element in found.elements}
        if "face" not in elements:
            raise UnreadMeshError("it holds no faces")
        vertices, faces = elements["vertex"].data, elements["face"].data
        points = np.stack([vertices[axis] for axis in "xyz"], axis=1, dtype=np.float64)
        name = next(name for name in _CORNERS if name in faces.dtype.names)
        rows = faces[name].tolist()
    if not len(rows):
        raise UnreadMeshError("it holds no triangles")
    counts = np.array([len(row) for row in rows])
    corners = np.concatenate(rows).astype(np.int64)
    triangles = fans(counts, corners)
    if not len(triangles):
        raise UnreadMeshError("it holds no triangles")
    if corners.min() < 0 or corners.max() >= len(points):
        raise UnreadMeshError("a face refers to a missing vertex")
    return LoadedMesh(points, triangles, np.full(len(triangles), -1))
