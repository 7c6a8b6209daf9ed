"""Convex hulls of points, and faster bounds of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = "NDArray[np.float64]"

# Larger sets are reduced to the farthest points in narrow cones. A ball loses 2 % of
# its volume, a box nothing.
_FEW, _CONES = 2000, 24


def convex_hull(points: Points) -> tuple[Points, float]:
    """Find the corners and the volume of a convex hull.

    Args:
        points: (N, 3). Large sets are reduced to points with almost the same hull.

    Returns:
        (K, 3) corners and the volume; for a flat hull, its extreme points and zero.
    """
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  slow to import

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
