"""Solids of density one: primitives, convex hulls, and what meshes enclose.

Convex hulls are those of scipy, integrals over triangles those of trimesh. The converter
computes both by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import trimesh
from msgspec import Struct, structs
from scipy.spatial import ConvexHull, QhullError

from urdf_usd.conformance.engines.statements import Array
from urdf_usd.conformance.engines.surfaces import Indices, moved

# A closed surface is a solid if it has at least this part of the volume of its convex
# hull, at most that volume, and A + B >= C, up to rounding.
_LEAST, _ROUNDING = 1e-3, 1e-6
# Thickness of a hull relative to its size, up to which it is flat in single precision.
_FLAT = 1e-7


class Solid(Struct, frozen=True, eq=False):
    """A solid of density one, in any unit of length."""

    volume: float
    center: Array  # (3,) centre of mass in the solid's own frame
    inertia: Array  # (3, 3) about the centre of mass, along the axes of that frame

    def placed(self, transform: Array) -> Solid:
        """Return the solid in another frame, by a rigid (4, 4) transform."""
        turn = transform[:3, :3]
        center = turn @ self.center + transform[:3, 3]
        return Solid(self.volume, center, turn @ self.inertia @ turn.T)


EMPTY = Solid(0.0, np.zeros(3), np.zeros((3, 3)))


def joined(solids: Sequence[Solid]) -> Solid:
    """Return several solids, at least one of which has a volume, as one."""
    volume = math.fsum(solid.volume for solid in solids)
    center = np.sum([solid.volume * solid.center for solid in solids], axis=0) / volume
    inertia = np.zeros((3, 3))
    for solid in solids:
        arm = solid.center - center
        inertia += solid.inertia
        inertia += solid.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Solid(volume, center, inertia)


def box(half_extents: Array) -> Solid:
    """Return a box that is centred in its frame."""
    volume = float(8.0 * np.prod(half_extents))
    squares = half_extents**2
    moments = volume / 3.0 * (squares.sum() - squares)
    return Solid(volume, np.zeros(3), np.diag(moments))


def sphere(radius: float) -> Solid:
    """Return a ball that is centred in its frame."""
    return capsule(radius, 0.0, 2)


def cylinder(radius: float, half_height: float, axis: int) -> Solid:
    """Return a cylinder that is centred in its frame."""
    volume = 2.0 * np.pi * radius**2 * half_height
    across = volume * (radius**2 / 4.0 + half_height**2 / 3.0)
    return _round(volume, across, volume * radius**2 / 2.0, axis)


def capsule(radius: float, half_height: float, axis: int) -> Solid:
    """Return a capsule; ``half_height`` is half the cylinder without the caps."""
    tube, caps = cylinder(radius, half_height, axis), 4.0 / 3.0 * np.pi * radius**3
    moved = half_height**2 + 0.75 * half_height * radius
    ball = _round(caps, caps * (0.4 * radius**2 + moved), caps * 0.4 * radius**2, axis)
    return Solid(tube.volume + caps, tube.center, tube.inertia + ball.inertia)


def cone(radius: float, half_height: float, axis: int) -> Solid:
    """Return a cone with its apex towards the positive axis, centred by its height."""
    volume = 2.0 / 3.0 * np.pi * radius**2 * half_height
    across = volume * 0.15 * (radius**2 + half_height**2)
    solid = _round(volume, across, 0.3 * volume * radius**2, axis)
    return structs.replace(solid, center=np.eye(3)[axis] * -half_height / 2.0)


def _round(volume: float, across: float, along: float, axis: int) -> Solid:
    moments = np.full(3, across)
    moments[axis] = along
    return Solid(volume, np.zeros(3), np.diag(moments))


def hull_triangles(points: Array) -> Indices | None:
    """Return the convex hull of (N, 3) points, as (K, 3) indices seen from outside.

    None if it is flat, or points are not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lower, upper = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
        size = float((upper - lower).max())
    if not 0.0 < size < np.inf:
        return None
    scaled = (points - (lower + upper) / 2.0) / size
    try:
        hull = ConvexHull(scaled)
    except (QhullError, ValueError):
        return None
    if hull.volume < _FLAT * hull.area:
        return None
    facets: Indices = hull.simplices
    a, b, c = (scaled[facets[:, corner]] for corner in range(3))
    outward = np.einsum("mi,mi->m", np.cross(b - a, c - a), hull.equations[:, :3])
    return np.where((outward < 0)[:, np.newaxis], facets[:, ::-1], facets)


def convex_hull(points: Array) -> Solid:
    """Return the convex hull of (N, 3) points; EMPTY if it is flat."""
    hull = hull_triangles(points)
    return EMPTY if hull is None else _within(points[hull])


def hull_volume(points: Array, triangles: Indices) -> float:
    """Return the volume of the convex hull of a mesh, zero if it is flat."""
    return convex_hull(points[np.unique(triangles)]).volume


def enclosed_solid(points: Array, triangles: Indices, to_link: Array) -> Solid:
    """Return the solid of a mesh, or of its convex hull; EMPTY if that is flat.

    Args:
        points: (N, 3) in the mesh's own frame.
        triangles: (M, 3) indices of points.
        to_link: (4, 4) to the frame of the solid; it may scale and shear.
    """
    placed = moved(points, to_link)
    around = convex_hull(placed[np.unique(triangles)])
    if not around.volume or not _encloses(points, triangles):
        return around
    inside = _within(placed[triangles])
    if not _LEAST <= inside.volume / around.volume <= 1 + _ROUNDING:
        return around
    a, b, c = np.linalg.eigvalsh(inside.inertia).tolist()
    return inside if a > 0 and a + b >= c * (1 - _ROUNDING) else around


def _within(corners: Array) -> Solid:
    """Return the solid in (M, 3, 3) triangles, seen in either orientation."""
    # About a point in the middle and in their own size: far and small coordinates lose digits.
    middle = corners.reshape(-1, 3).mean(axis=0)
    size = float(np.abs(corners - middle).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        found = trimesh.triangles.mass_properties((corners - middle) / size)
    sign = math.copysign(1.0, found.volume)
    inertia = np.asarray(found.inertia) * (sign * size**5)
    center = middle + size * np.asarray(found.center_mass)
    return Solid(sign * float(found.volume) * size**3, center, inertia)


def _encloses(points: Array, triangles: Indices) -> bool:
    """Return whether each edge has as many triangles on one side as on the other.

    Corners are equal if they are in single precision.
    """
    single = points.astype(np.float32) + np.float32(0.0)
    corners = np.unique(single, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    ends = np.concatenate([corners[:, (0, 1)], corners[:, (1, 2)], corners[:, (2, 0)]])
    sign = np.sign(ends[:, 1] - ends[:, 0])
    _, edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return not np.bincount(edge.reshape(-1), sign).any()
