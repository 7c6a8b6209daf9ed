"""Writing of meshes as Wavefront OBJ, which most parsers of URDF read.

The writers of the available libraries do not keep polygons and points.
"""

from __future__ import annotations

import numpy as np

from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh


def obj_text(mesh: PolygonMesh, comment: str) -> bytes:
    """Return a mesh as deterministic OBJ text.

    Positions are written in the shortest form that reproduces the float32 of USD.
    Groups of faces become objects. Texture coordinates are written if there are any.

    Args:
        mesh: The surface.
        comment: First line of the file.
    """
    numbers = mesh.points.astype(np.float32).astype(str)
    lines = [f"# {comment}", *(f"v {x} {y} {z}" for x, y, z in numbers)]
    corners = (mesh.face_indices + 1).astype(str).tolist()
    coordinates = mesh.attributes.texture_coordinates
    if coordinates is not None:
        places = coordinates.values.astype(np.float32).astype(str)
        lines += [f"vt {u} {v}" for u, v in places]
        used = (coordinates.indices + 1).tolist()
        corners = [f"{one}/{other}" for one, other in zip(corners, used, strict=True)]
    groups = mesh.attributes.face_groups
    numbers_of = np.zeros(len(mesh.face_counts), int) if groups is None else groups
    start, group = 0, -1 if groups is not None else 0
    for count, number in zip(mesh.face_counts.tolist(), numbers_of.tolist(), strict=True):
        if number != group:
            group = number
            lines.append(f"o {_one_line(mesh.attributes.groups[group])}")
        lines.append(f"f {' '.join(corners[start : start + count])}")
        start += count
    return "\n".join([*lines, ""]).encode()


def _one_line(name: str) -> str:
    return " ".join(name.split()) or "unnamed"
