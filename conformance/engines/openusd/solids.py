"""Volume, centre and inertia of solids of density one, as a simulator integrates them.

OpenUSD leaves this to its callers: ``ComputeMassProperties`` asks for it per collider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import ConvexHull, QhullError

if TYPE_CHECKING:
    from urdf_usd.conformance.engines.openusd.transforms import Array


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A solid of density one; lengths in units of the stage.

    Attributes:
        volume: Volume.
        center: (3,) centre of mass in the solid's own frame.
        inertia: (3, 3) about the centre of mass, along the axes of that frame.
    """

    volume: float
    center: Array
    inertia: Array


EMPTY = Solid(0.0, np.zeros(3), np.zeros((3, 3)))


def box(half_extents: Array) -> Solid:
    """Return a box that is centred in its frame."""
    volume = float(8.0 * np.prod(half_extents))
    squares = half_extents**2
    moments = volume / 3.0 * (squares.sum() - squares)
    return Solid(volume, np.zeros(3), np.diag(moments))


def sphere(radius: float) -> Solid:
    """Return a ball that is centred in its frame."""
    volume = 4.0 / 3.0 * np.pi * radius**3
    return Solid(volume, np.zeros(3), np.eye(3) * (0.4 * volume * radius**2))


def cylinder(radius: float, half_height: float, axis: int) -> Solid:
    """Return a cylinder that is centred in its frame."""
    volume = 2.0 * np.pi * radius**2 * half_height
    across = volume * (radius**2 / 4.0 + half_height**2 / 3.0)
    return _round(volume, across, volume * radius**2 / 2.0, axis)


def capsule(radius: float, half_height: float, axis: int) -> Solid:
    """Return a capsule; ``half_height`` is half the cylinder without the caps."""
    tube = 2.0 * np.pi * radius**2 * half_height
    caps = 4.0 / 3.0 * np.pi * radius**3
    along = tube * radius**2 / 2.0 + caps * 0.4 * radius**2
    across = tube * (radius**2 / 4.0 + half_height**2 / 3.0) + caps * (
        0.4 * radius**2 + half_height**2 + 0.75 * half_height * radius
    )
    return _round(tube + caps, across, along, axis)


def cone(radius: float, half_height: float, axis: int) -> Solid:
    """Return a cone with its apex towards the positive axis, centred by its height."""
    volume = 2.0 / 3.0 * np.pi * radius**2 * half_height
    across = volume * 0.15 * (radius**2 + half_height**2)
    solid = _round(volume, across, 0.3 * volume * radius**2, axis)
    center = np.zeros(3)
    center[axis] = -half_height / 2.0
    return Solid(volume, center, solid.inertia)


def _round(volume: float, across: float, along: float, axis: int) -> Solid:
    moments = np.full(3, across)
    moments[axis] = along
    return Solid(volume, np.zeros(3), np.diag(moments))


def polyhedron(triangles: Array) -> Solid:
    """Return what (M, 3, 3) oriented triangles enclose; EMPTY if that is nothing.

    The sign of the volume is dropped: a mesh wound inside out encloses the same solid.
    """
    if not len(triangles):
        return EMPTY
    # Tetrahedra over a point amid the mesh rather than the origin: it may be far away.
    origin = triangles.reshape(-1, 3).mean(axis=0)
    return _tetrahedra(triangles - origin, origin, oriented=True)


def convex_hull(points: Array) -> Solid:
    """Return the convex hull of (N, 3) points; EMPTY if they lie in a plane."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return EMPTY
    origin = points[hull.vertices].mean(axis=0)
    # Qhull does not orient its facets; the origin lies inside, so every tetrahedron
    # over it counts as positive.
    return _tetrahedra(points[hull.simplices] - origin, origin, oriented=False)


def _tetrahedra(triangles: Array, origin: Array, *, oriented: bool) -> Solid:
    determinants = np.linalg.det(triangles)
    if not oriented:
        determinants = np.abs(determinants)
    volume = float(determinants.sum() / 6.0)
    if volume < 0.0:
        volume, determinants = -volume, -determinants
    if volume == 0.0:
        return EMPTY
    sums = triangles.sum(axis=1)
    offset = determinants @ sums / 24.0 / volume
    # Integral of x x^T over a tetrahedron with a corner in the origin:
    # det / 120 * (sum of the corners' v v^T + s s^T), s the sum of the corners.
    squares = np.einsum("m,mki,mkj->ij", determinants, triangles, triangles)
    squares += np.einsum("m,mi,mj->ij", determinants, sums, sums)
    second = squares / 120.0 - volume * np.outer(offset, offset)
    inertia = np.trace(second) * np.eye(3) - second
    return Solid(volume, origin + offset, inertia)
