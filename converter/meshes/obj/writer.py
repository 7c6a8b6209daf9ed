"""Meshes as Wavefront OBJ, which every reader of URDF takes and which keeps polygons.

No writer of the libraries at hand keeps polygons and points as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh


def obj_text(mesh: PolygonMesh, comment: str) -> bytes:
    """Write a mesh; the text depends on the arguments alone.

    Positions are written in the fewest digits that stand for the same float32, which is
    what USD stores.

    Args:
        mesh: The surface.
        comment: First line of the file.
    """
    numbers = mesh.points.astype(np.float32).astype(str)
    lines = [f"# {comment}", *(f"v {x} {y} {z}" for x, y, z in numbers)]
    corners = (mesh.face_indices + 1).astype(str).tolist()
    start = 0
    for count in mesh.face_counts.tolist():
        lines.append(f"f {' '.join(corners[start : start + count])}")
        start += count
    return "\n".join([*lines, ""]).encode()
