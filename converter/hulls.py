"""Convex hulls of points, and what bounds them at less expense."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial import ConvexHull, QhullError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Points: TypeAlias = "NDArray[np.float64]"

# More points are reduced to the farthest in narrow cones. A ball loses 2 % of its
# volume by it, a box nothing.
_FEW, _CONES = 2000, 24


def convex_hull(points: Points) -> tuple[Points, float]:
    """Find the corners and the volume of a convex hull.

    Args:
        points: (N, 3). Very many are reduced to some that span almost the same.

    Returns:
        (K, 3) corners, and the volume; of a flat hull, points that bound it, and zero.
    """
    if len(points) > _FEW:
        points = points[_outermost(points)]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # Flat, or of a size that floating point cannot tell from flat.
        return points[extreme_points(points)], 0.0
    return points[hull.vertices], float(hull.volume)


def volume_within(points: Points) -> float:
    """Measure a solid within the convex hull of (N, 3) points.

    It is made of two tetrahedra on one face, with corners that are far from each other:
    a third of a box, a sixth of a ball. Not a number if all points are one.
    """
    spread = points - points[0]
    edge = spread[(spread**2).sum(axis=1).argmax()]
    aside = spread - np.outer(spread @ edge / (edge @ edge), edge)
    corner = aside[(aside**2).sum(axis=1).argmax()]
    (a, b, c), (d, e, f) = edge, corner
    heights = spread @ np.array((b * f - c * e, c * d - a * f, a * e - b * d))
    return float(heights.max() - heights.min()) / 6.0


def extreme_points(points: Points) -> NDArray[np.int64]:
    """Choose the farthest points towards the faces, edges and corners of a cube.

    Args:
        points: (N, 3).

    Returns:
        Ascending rows.
    """
    x, y, z = np.ascontiguousarray(points.T)
    found: set[int] = set()
    # Sums rather than a product of matrices, which starts threads for so little.
    across = (x, y, x + y, x - y)
    for along in (z, *across, *(s + z for s in across), *(s - z for s in across)):
        found |= {int(along.argmax()), int(along.argmin())}
    return np.array(sorted(found))


def _outermost(points: Points) -> NDArray[np.int64]:
    """Choose points that span almost the same hull, in bounded number.

    A round surface has all of its points on its hull, and the time for that would have
    no bound. The farthest point in each of many narrow cones is kept, seen from the
    middle of a box that is stretched to a cube.
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
