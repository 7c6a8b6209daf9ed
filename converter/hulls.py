"""Convex hulls of points, and faster bounds of them."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot.solids import fan_triangles, is_closed

Points: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.signedinteger[Any]]"

# Larger sets are reduced to the farthest points in narrow cones. A ball loses 2 % of
# its volume, a box nothing.
_FEW, _CONES = 2000, 24
# Largest product of triangles and points for which a bound is faster than the hull.
_FEW_PAIRS = 200_000
# Number of points of which all are tried, as corners of a hull.
_ALL_TRIED = 32
# Relative rounding of a length.
_ROUND_OFF = 1e-12
# By how much points are moved at most.
_NUDGE = 1e-6


def convex_hull(points: Points) -> tuple[Points, float]:
    """Find the corners and the volume of a convex hull.

    Args:
        points: (N, 3). Large sets are reduced to points with almost the same hull.

    Returns:
        (K, 3) corners and the volume; for a flat hull, its extreme points and zero.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) > _FEW:
        points = points[_outermost(points)]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # Flat, exactly or numerically.
        return points[extreme_points(points)], 0.0
    return points[hull.vertices], float(hull.volume)


def volume_within(points: Points) -> float:
    """Return a lower bound of the volume of the convex hull of (N, 3) points.

    The volume of two tetrahedra on a common face with distant corners: a third of a
    box, a sixth of a ball. NaN if all points coincide.
    """
    spread = points - points[0]
    edge = spread[(spread**2).sum(axis=1).argmax()]
    aside = spread - np.outer(spread @ edge / (edge @ edge), edge)
    corner = aside[(aside**2).sum(axis=1).argmax()]
    (a, b, c), (d, e, f) = edge, corner
    heights = spread @ np.array((b * f - c * e, c * d - a * f, a * e - b * d))
    return float(heights.max() - heights.min()) / 6.0


def fills_hull(points: Points, face_counts: Indices, face_indices: Indices, share: float) -> bool:
    """Return whether a surface encloses at least a share of its convex hull's volume.

    Args:
        points: (N, 3) [m].
        face_counts: (F,) corners of each face, at least three.
        face_indices: Points of all corners, face by face.
        share: Between 0 and 1.
    """
    amid = points.mean(axis=0)
    corners = fan_triangles(points, face_counts, face_indices) - amid
    determinants = np.linalg.det(corners)
    volume = abs(float(determinants.sum())) / 6
    if len(corners) * len(points) <= _FEW_PAIRS:
        bound = _volume_around(points - amid, corners, determinants)
        if volume >= share * bound and is_closed(points, face_counts, face_indices):
            return True
    if _is_flat(points):
        return True
    if volume < share * least_hull(points):
        return False
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = float(ConvexHull(points).volume)
    except (QhullError, ValueError):
        # Flat.
        return True
    return volume >= share * hull


def _volume_around(points: Points, corners: Points, determinants: Points) -> float:
    """Return an upper bound of the volume of the hull of a closed surface.

    If the origin is on the same side of all triangles, the cones from it through them
    fill the space. In each, the hull ends below the point that is highest above the
    triangle. The bound is the volume itself if the surface is convex.

    Args:
        points: (N, 3), relative to a point inside.
        corners: (T, 3, 3) corners of the triangles, relative to the same point.
        determinants: (T,) of the corners.

    Returns:
        The bound [m^3]; infinite if the origin is not on the same side.
    """
    side = np.sign(determinants.sum())
    heights = side * determinants
    if not (heights > 0).all():
        return math.inf
    a, b, c = corners.transpose(1, 0, 2)
    normals = side * np.cross(b - a, c - a)
    highest = np.einsum("ti,ni->tn", normals, points).max(axis=1)
    return float((heights * (highest / heights) ** 3).sum()) / 6


def _is_flat(points: Points) -> bool:
    """Return whether (N, 3) points are in a plane, apart from rounding."""
    widths = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(widths[-1] <= _ROUND_OFF * widths[0])


def least_hull(points: Points) -> float:
    """Return a lower bound of the volume of the convex hull of (N, 3) points [m^3].

    The volume of the hull of all points or, of many, of the farthest ones towards the
    faces, edges and corners of the bounding box, by trying all triangles. Points are
    moved towards their mean, each by another millionth, so that no four are in a plane;
    they stay in the hull.
    """
    if len(points) > _ALL_TRIED:
        size = np.ptp(points, axis=0)
        unit = points / np.where(size > 0.0, size, 1.0)
        points = points[extreme_points(unit)]
    outer = points - points.mean(axis=0)
    # Without linear relations, which could leave four in a plane.
    steps = np.sin(np.arange(len(outer))) ** 2
    outer = outer * (1.0 - _NUDGE * steps)[:, np.newaxis]
    a, b, c = outer[_triples(len(outer))].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    above = np.einsum("tk,nk->tn", normals, outer)
    above -= np.einsum("tk,tk->t", normals, a)[:, np.newaxis]
    allowed = _ROUND_OFF * np.abs(above).max(initial=0.0)
    is_facet = (above <= allowed).all(axis=1) | (above >= -allowed).all(axis=1)
    volumes = np.abs(np.einsum("tk,tk->t", a, np.cross(b, c)))
    return float(volumes[is_facet].sum()) / 6.0


@cache
def _triples(count: int) -> NDArray[np.intp]:
    """Return the (T, 3) triples of numbers below a small count."""
    triples = np.array(list(combinations(range(count), 3)), np.intp).reshape(-1, 3)
    triples.flags.writeable = False
    return triples


def extreme_points(points: Points) -> NDArray[np.int64]:
    """Return the extreme points towards the faces, edges and corners of a cube.

    Args:
        points: (N, 3).

    Returns:
        Ascending rows.
    """
    x, y, z = np.ascontiguousarray(points.T)
    found: set[int] = set()
    # Sums, because a matrix product starts threads.
    across = (x, y, x + y, x - y)
    for along in (z, *across, *(s + z for s in across), *(s - z for s in across)):
        found |= {int(along.argmax()), int(along.argmin())}
    return np.array(sorted(found))


def _outermost(points: Points) -> NDArray[np.int64]:
    """Return a bounded number of points with almost the same hull.

    All points of a round surface are on its hull, which would take unbounded time. The
    farthest point in each of many narrow cones from the centre is kept, after scaling
    the bounding box to a cube.
    """
    lower, upper = points.min(axis=0), points.max(axis=0)
    half = (upper - lower) / 2.0
    unit = (points - (lower + half)) / np.where(half > 0.0, half, 1.0)
    radius = np.linalg.norm(unit, axis=1)
    # Equal steps of azimuth and of height cut a sphere into equal areas.
    height = unit[:, 2] / np.where(radius > 0.0, radius, 1.0)
    azimuth = np.arctan2(unit[:, 1], unit[:, 0]) / np.pi
    cone = np.floor((height + 1.0) * _CONES) + np.floor((azimuth + 1.0) * _CONES) * 1e3
    order = np.lexsort((radius, cone))
    is_last = np.append(cone[order[1:]] != cone[order[:-1]], True)
    return np.union1d(order[is_last], extreme_points(points))
