"""Convex hulls of meshes, and the solids that meshes enclose.

Mass properties of hulls are those of MuJoCo's compiler, triangles of hulls those of scipy.

Solids are integrals by the divergence theorem (D. Eberly, "Polyhedral Mass Properties
(Revisited)", 2002).

Apart from the measures of surfaces, which readers of mesh files import: these share no
library with the converter's readers.
"""

from __future__ import annotations

import mujoco
import numpy as np
from msgspec import Struct
from scipy.spatial import ConvexHull, QhullError

from urdf_usd.conformance.engines.mujoco_compilation import compiled_quietly
from urdf_usd.conformance.engines.rotations import matrices
from urdf_usd.conformance.engines.surfaces import Array, Indices, moved

# A closed surface is a solid if it has at least this part of the volume of its convex
# hull, at most that volume, and A + B >= C, up to rounding.
_LEAST, _ROUNDING = 1e-3, 1e-6


def hull_triangles(points: Array, triangles: Indices) -> Indices | None:
    """Return the convex hull of a mesh, as (K, 3) triangles seen from outside.

    Args:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points.

    Returns:
        Indices of points; None if the hull is flat.
    """
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


class HullProperties(Struct, frozen=True, eq=False):
    """A convex hull of density one.

    Attributes:
        volume: [m^3].
        center: (3,) centre of mass [m].
        inertia: (3, 3) about the centre of mass [m^5].
    """

    volume: float
    center: Array
    inertia: Array


def hull_properties(points: Array) -> HullProperties | None:
    """Return the mass properties of the convex hull of points.

    They are computed in double precision from points in single precision, after the
    centre of the bounding box is moved to the origin.

    Args:
        points: (N, 3) [m].

    Returns:
        None if MuJoCo finds no volume: the points lie in a plane, are fewer than four,
        or are not finite.
    """
    if not len(points) or not np.isfinite(points).all():
        return None
    lower, upper = points.min(axis=0), points.max(axis=0)
    middle, size = (lower + upper) / 2.0, float((upper - lower).max())
    if not 0.0 < size < np.inf:
        return None
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="hull")
    mesh.uservert = ((points - middle) / size).astype(np.float32).reshape(-1)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    body = spec.worldbody.add_body()
    geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="hull", density=1.0)
    # It collides with nothing, which would need its hull for another purpose.
    geom.contype = geom.conaffinity = 0
    try:
        model = compiled_quietly(spec)
    except ValueError:
        return None
    axes = matrices(model.body_iquat[1])
    return HullProperties(
        volume=float(model.body_mass[1]) * size**3,
        center=middle + size * model.body_ipos[1],
        inertia=(axes * model.body_inertia[1]) @ axes.T * size**5,
    )


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


class Integrals(Struct, frozen=True, eq=False):
    """Integrals over a solid in the frame of a link.

    Attributes:
        volume: [m^3].
        first: (3,) integral of x [m^4].
        second: (3, 3) integral of x x^T [m^5].
    """

    volume: float
    first: Array
    second: Array

    @property
    def center(self) -> Array:
        """(3,) [m]."""
        center: Array = self.first / self.volume
        return center

    @property
    def inertia(self) -> Array:
        """(3, 3) about the centre, at density one [m^5]."""
        spread = self.second - np.outer(self.first, self.first) / self.volume
        inertia: Array = np.trace(spread) * np.eye(3) - spread
        return inertia


def enclosed_solid(points: Array, triangles: Indices, to_link: Array) -> Integrals | None:
    """Return the solid of a mesh, or of its convex hull; None if that is flat."""
    placed = moved(points, to_link)
    hull = hull_triangles(placed, triangles)
    if hull is None:
        return None
    around = _integrals(placed[hull])
    if not _encloses(points, triangles):
        return around
    inside = _integrals(placed[triangles])
    share = inside.volume / around.volume
    if not _LEAST <= share <= 1 + _ROUNDING:
        return around
    a, b, c = np.linalg.eigvalsh(inside.inertia).tolist()
    return inside if a > 0 and a + b >= c * (1 - _ROUNDING) else around


def _encloses(points: Array, triangles: Indices) -> bool:
    """Return whether each edge has as many triangles on one side as on the other.

    Corners are equal if they are in single precision.
    """
    names: dict[bytes, int] = {}
    single = points.astype(np.float32) + np.float32(0.0)
    merged = np.array([names.setdefault(p.tobytes(), len(names)) for p in single])
    corners = merged[triangles]
    ends = np.concatenate([corners[:, (0, 1)], corners[:, (1, 2)], corners[:, (2, 0)]])
    low, high = ends.min(axis=1), ends.max(axis=1)
    sign = np.where(ends[:, 0] < ends[:, 1], 1, -1) * (low != high)
    order = np.lexsort((high, low))
    low, high, sign = low[order], high[order], sign[order]
    first = np.flatnonzero(np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1])))
    return not np.add.reduceat(sign, first).any()


def _integrals(corners: Array) -> Integrals:
    """Integrate over the volume in (M, 3, 3) triangles, seen in either orientation."""
    # About a point in the middle, because sums of far coordinates lose digits.
    middle = corners.reshape(-1, 3).mean(axis=0)
    p, q, r = np.moveaxis(corners - middle, 1, 0)
    normal = np.cross(q - p, r - p)
    # Integrals of powers over a triangle, coordinate by coordinate.
    one = p + q + r
    two = p * p + q * (p + q) + r * one
    three = p**3 + q * (p * p + q * (p + q)) + r * two
    volume = float(normal[:, 0] @ one[:, 0]) / 6
    first = np.einsum("mi,mi->i", normal, two) / 24
    second = np.diag(np.einsum("mi,mi->i", normal, three) / 60)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        mixed = sum(
            corner[:, j] * (two[:, i] + corner[:, i] * (one[:, i] + corner[:, i]))
            for corner in (p, q, r)
        )
        second[i, j] = second[j, i] = float(normal[:, i] @ mixed) / 120
    if volume < 0:
        volume, first, second = -volume, -first, -second
    shift = np.outer(first, middle)
    second = second + shift + shift.T + volume * np.outer(middle, middle)
    return Integrals(volume, first + volume * middle, second)
