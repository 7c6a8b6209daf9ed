"""Convex hulls of meshes.

Apart from the measures of surfaces, which readers of mesh files import: these share no
library with the converter's readers.
"""

from __future__ import annotations

import numpy as np

from urdf_usd.conformance.engines.mujoco.hulls import hull_properties
from urdf_usd.conformance.engines.surfaces import Array, Indices


def hull_triangles(points: Array, triangles: Indices) -> Indices | None:
    """Return the convex hull of a mesh, as (K, 3) triangles seen from outside.

    Args:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points.

    Returns:
        Indices of points; None if the hull is flat.
    """
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  slow to import

    used = np.unique(triangles)
    try:
        hull = ConvexHull(points[used])
    except (QhullError, ValueError):
        return None
    facets = hull.simplices
    a, b, c = (points[used][facets[:, corner]] for corner in range(3))
    outward = np.einsum("mi,mi->m", np.cross(b - a, c - a), hull.equations[:, :3])
    turned = np.where((outward < 0)[:, np.newaxis], facets[:, ::-1], facets)
    oriented: Indices = used[turned]
    return oriented


def hull_volume(points: Array, triangles: Indices) -> float:
    """Return the volume of the convex hull of a mesh [m^3].

    Zero if it is flat. Points that no face uses are in no hull.

    Args:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points.
    """
    used = np.zeros(len(points), dtype=bool)
    used[triangles.reshape(-1)] = True
    hull = hull_properties(points[used])
    return hull.volume if hull else 0.0
