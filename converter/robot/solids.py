"""Convex hulls, primitives that fit them, and mass properties of homogeneous solids.

A surface is (N, 3) points [m], the (F,) numbers of corners of its faces, at least three,
and the points of all corners, face by face.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from math import pi
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Pose, Sphere
from urdf_usd.converter.robot.spatial import pose_from_transform

Primitive: TypeAlias = Box | Cylinder | Capsule | Sphere
Points: TypeAlias = "NDArray[np.float64]"
Matrix: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.integer[Any]]"


class Solid(Struct, frozen=True, eq=False):
    """A solid of density one, in the frame of its shape."""

    volume: float  # [m^3]
    center: Matrix  # (3,) centre of mass [m]
    inertia: Matrix  # (3, 3) about the centre of mass [m^5]


EMPTY = Solid(0.0, np.zeros(3), np.zeros((3, 3)))
# Least volume of a mesh as part of that of its convex hull. Less is a surface with
# faces of both orientations.
_LEAST_FILLED = 1e-3
# Rounding of a volume, and of A + B >= C.
_ROUNDING = 1e-6
# Resolution of round shapes; their volume is within 2 % of the exact one.
_AROUND, _ALONG = 32, 16
# Larger sets of points are reduced to the farthest points in narrow cones. A ball loses
# 2 % of its volume, a box nothing.
_FEW, _CONES = 2000, 24


def primitive_solid(shape: Primitive) -> Solid:
    match shape:
        case Box(size):
            volume = float(np.prod(size))
            squares = np.square(size)
            moments = volume / 12 * (squares.sum() - squares)
        case Sphere(radius):
            volume = 4 / 3 * pi * radius**3
            moments = np.full(3, 0.4 * volume * radius**2)
        case Cylinder(radius, length) | Capsule(radius, length):
            tube = pi * radius**2 * length
            caps = 4 / 3 * pi * radius**3 if isinstance(shape, Capsule) else 0.0
            # Half spheres: their centres lie 3/8 r beyond the ends of the tube.
            beyond = length**2 / 4 + 3 / 8 * length * radius
            across = tube * (radius**2 / 4 + length**2 / 12) + caps * (0.4 * radius**2 + beyond)
            along = tube * radius**2 / 2 + caps * 0.4 * radius**2
            volume, moments = tube + caps, np.array([across, across, along])
    return Solid(volume, np.zeros(3), np.diag(moments))


def support(shape: Primitive, directions: Matrix) -> Matrix:
    """Return the (D,) support function of a primitive for (D, 3) unit directions."""
    x, y, z = np.abs(directions.T)
    match shape:
        case Box((a, b, c)):
            reach = (a * x + b * y + c * z) / 2
        case Sphere(radius):
            reach = np.full(len(directions), radius)
        case Cylinder(radius, length):
            reach = radius * np.hypot(x, y) + length / 2 * z
        case Capsule(radius, length):
            reach = radius + length / 2 * z
    return np.asarray(reach)


def outline(shape: Primitive) -> Points:
    """Return (N, 3) points whose convex hull is the shape's, nearly so for round shapes."""
    match shape:
        case Box(size):
            return np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T * size
        case Cylinder(radius, length):
            radii, heights = np.full(2, radius), np.array([-0.5, 0.5]) * length
        case Sphere() | Capsule():
            length = shape.length if isinstance(shape, Capsule) else 0.0
            angles = np.linspace(-pi / 2, pi / 2, _ALONG + 1)
            radii = shape.radius * np.cos(angles)
            heights = shape.radius * np.sin(angles) + np.where(angles < 0.0, -0.5, 0.5) * length
    turn = np.arange(_AROUND) * 2.0 * pi / _AROUND
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros(_AROUND)], axis=1)
    rings = [circle * radius + (0, 0, z) for radius, z in zip(radii, heights, strict=True)]
    return np.concatenate(rings)


def convex_hull(points: Points) -> tuple[Points, float]:
    """Return the (K, 3) corners and the volume of a convex hull; if flat, extreme points and zero.

    Large sets are reduced to points with almost the same hull.
    """
    if len(points) > _FEW:
        points = points[_outermost(points)]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # Flat, exactly or numerically.
        return points[_extreme_points(points)], 0.0
    return points[hull.vertices], float(hull.volume)


def _extreme_points(points: Points) -> NDArray[np.int64]:
    """Return rows of the extreme points towards the faces, edges and corners of a cube."""
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
    return np.union1d(order[is_last], _extreme_points(points))


def hull_solid(points: Matrix) -> Solid:
    """Return the solid of the convex hull of (N, 3) points [m]; empty if flat."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return EMPTY
    inside = points[hull.vertices].mean(axis=0)
    # Facets have no common orientation; from inside, all volumes are positive.
    corners = points[hull.simplices] - inside
    return _sum(corners, np.abs(np.linalg.det(corners)), inside)


def mesh_solid(points: Matrix, face_counts: Indices, face_indices: Indices) -> Solid:
    """Return the solid in a closed surface, with faces of either orientation."""
    amid = points.mean(axis=0)
    corners = points[fan_triangles(face_counts, face_indices)] - amid
    determinants = np.linalg.det(corners)
    return _sum(corners, determinants * np.sign(determinants.sum()), amid)


def fills_hull(points: Points, face_counts: Indices, face_indices: Indices, share: float) -> bool:
    """Return whether a surface encloses at least a share of its convex hull's volume."""
    hull = hull_solid(points).volume
    return mesh_solid(points, face_counts, face_indices).volume >= share * hull


def fan_triangles(face_counts: Indices, face_indices: Indices) -> Indices:
    """Return the (T, 3) points of the triangles of all faces, as fans."""
    counts = face_counts.astype(np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts - 2)
    # Position of each triangle within the fan of its face.
    step = np.arange(len(first)) - np.repeat(np.cumsum(counts - 2) - (counts - 2), counts - 2)
    fans = np.stack([first, first + step + 1, first + step + 2], axis=1)
    return np.asarray(face_indices[fans])


def is_closed(points: Matrix, face_counts: Indices, face_indices: Indices) -> bool:
    """Return whether the faces of a mesh enclose a volume.

    Every edge belongs to as many faces in one direction as in the other. Points with
    equal coordinates in float32 are one point.
    """
    single = points.astype(np.float32) + np.float32(0.0)
    _, same = np.unique(single, axis=0, return_inverse=True)
    starts = same.reshape(-1).astype(np.int64)[face_indices]
    following = np.arange(1, len(starts) + 1)
    last = np.cumsum(face_counts, dtype=np.int64)
    following[last - 1] = last - face_counts
    ends = starts[following]
    # Edges of no length have no direction.
    forwards, backwards = (
        np.sort((a * len(points) + b)[starts != ends]) for a, b in ((starts, ends), (ends, starts))
    )
    return bool(np.array_equal(forwards, backwards))


def solid_of_mesh(
    points: Matrix, face_counts: Indices, face_indices: Indices
) -> tuple[Solid, bool]:
    """Return the solid of a mesh, and whether it is that of its convex hull.

    The hull is used if the surface is not closed, or if its volume and inertia are not
    those of a solid: more than the hull, as of overlapping parts, or almost nothing, as
    of faces of both orientations.
    """
    hull = hull_solid(points)
    if not is_closed(points, face_counts, face_indices):
        return hull, True
    solid = mesh_solid(points, face_counts, face_indices)
    share = solid.volume / hull.volume if hull.volume else 0.0
    a, b, c = np.linalg.eigvalsh(solid.inertia).tolist()
    # Whether the inertia is that of a distribution of positive density.
    is_possible = a > 0 and a + b >= c * (1 - _ROUNDING)
    if not _LEAST_FILLED <= share <= 1 + _ROUNDING or not is_possible:
        return hull, True
    return solid, False


def joined_solid(parts: Iterable[tuple[Solid, Matrix]]) -> Solid:
    """Return solids, each with a (4, 4) transform to the common frame, as one; overlaps count."""
    placed = []
    for solid, transform in parts:
        turn, shift = transform[:3, :3], transform[:3, 3]
        placed.append((solid.volume, turn @ solid.center + shift, turn @ solid.inertia @ turn.T))
    volume = math.fsum(own for own, _, _ in placed)
    if volume <= 0:
        return EMPTY
    center = sum((own / volume * at for own, at, _ in placed), np.zeros(3))
    inertia = np.zeros((3, 3))
    for own, at, tensor in placed:
        offset = at - center
        about = offset @ offset * np.eye(3) - np.outer(offset, offset)
        inertia += tensor + own * about
    return Solid(volume, center, inertia)


def _sum(corners: Matrix, determinants: Matrix, origin: Matrix) -> Solid:
    """Sum tetrahedra with a common corner, the origin.

    ``corners`` are (M, 3, 3) the other three, relative to it, ``determinants`` (M,) six times
    their signed volumes.
    """
    volume = float(determinants.sum()) / 6
    if volume <= 0:
        return EMPTY
    sums = corners.sum(axis=1)
    center = determinants @ sums / (24 * volume)
    # Over a tetrahedron, x x^T integrates to det / 120 (sum of v v^T + s s^T), with
    # corners v and their sum s.
    squares = np.einsum("m,mki,mkj->ij", determinants, corners, corners)
    squares += np.einsum("m,mi,mj->ij", determinants, sums, sums)
    second = squares / 120 - volume * np.outer(center, center)
    inertia = np.trace(second) * np.eye(3) - second
    return Solid(volume, origin + center, inertia)


# Primitives that fit a convex hull

# Directions in which support functions are compared, besides the corners of boxes.
_DIRECTIONS = 512
# Directions from which larger distances are searched, radii of the searched caps [rad],
# and the part of the directions that is tried in each of them.
_CLIMBED = 16
_RADII = (0.1, 0.05, 0.025, 0.012, 0.006, 0.003)
_STEPS_SKIPPED = 16
# A primitive, the axis that is its Z axis, and its centre.
_Candidate: TypeAlias = "tuple[Primitive, int, Matrix]"


class Fit(Struct, frozen=True):
    """A primitive that fits a convex hull."""

    shape: Primitive
    pose: Pose  # in the frame of the points
    distance: float  # largest distance between both surfaces [m]
    volume_error: float  # relative to that of the hull, minus one


def fit_primitive(points: Matrix) -> Fit | None:
    """Return the primitive with the smallest distance from the convex hull of points.

    Boxes, spheres, cylinders and capsules are tried along the coordinate axes and along
    the principal axes of the hull. The distance of two convex surfaces is the largest
    difference of their support functions (R. Schneider, "Convex Bodies", 1.8), here
    over 512 directions and those of the corners of the box, and for the best fit from
    the worst of these directions to local maxima.

    Args:
        points: (N, 3) [m].

    Returns:
        The best fit, also if it is far from the hull; None if the hull is flat.
    """
    hull = hull_solid(points)
    if hull.volume <= 0:
        return None
    points = points[ConvexHull(points).vertices]
    _, principal = np.linalg.eigh(hull.inertia)
    if np.linalg.det(principal) < 0:
        principal[:, 0] = -principal[:, 0]
    best: tuple[float, Matrix, _Candidate] | None = None
    for axes in (np.eye(3), principal):
        local = points @ axes
        upper, lower = local.max(axis=0), local.min(axis=0)
        corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
        corners = corners * (upper - lower)
        corners /= np.linalg.norm(corners, axis=1)[:, np.newaxis]
        directions = np.concatenate([_spread(), np.eye(3), -np.eye(3), corners])
        reach = _reach(local, directions)
        for candidate in _candidates(local, lower, upper, axes.T @ hull.center):
            distance = float(_apart(candidate, directions, reach).max())
            if best is None or distance < best[0] * (1 - 1e-9):
                best = distance, axes, candidate
    if best is None:
        return None
    distance, axes, candidate = best
    shape, axis, center = candidate
    transform = np.eye(4)
    # Column j is the primitive's axis j: Z is the given axis.
    transform[:3, :3] = np.roll(axes, 2 - axis, axis=1)
    transform[:3, 3] = axes @ center
    return Fit(
        shape,
        pose_from_transform(transform),
        _largest_distance(candidate, points @ axes, distance),
        primitive_solid(shape).volume / hull.volume - 1.0,
    )


def _apart(candidate: _Candidate, directions: Matrix, reach: Matrix) -> Matrix:
    """Return by how much support functions differ, in each direction.

    Args:
        directions: (D, 3) unit vectors.
        reach: (D) support function of the points.
    """
    shape, axis, center = candidate
    own = support(shape, np.roll(directions, 2 - axis, axis=1))
    apart: Matrix = np.abs(own + directions @ center - reach)
    return apart


def _largest_distance(candidate: _Candidate, points: Matrix, least: float) -> float:
    """Climb from the worst sampled directions to larger differences than ``least`` [m]."""
    steps = _spread()[::_STEPS_SKIPPED]
    directions = _spread()
    for radius in _RADII:
        apart = _apart(candidate, directions, _reach(points, directions))
        least = max(least, float(apart.max()))
        worst = directions[np.argsort(-apart, kind="stable")[:_CLIMBED]]
        around = (worst[:, np.newaxis] + radius * steps).reshape(-1, 3)
        directions = np.concatenate([worst, around])
        directions /= np.linalg.norm(directions, axis=1)[:, np.newaxis]
    return least


def _candidates(
    points: Matrix, lower: Matrix, upper: Matrix, center: Matrix
) -> Iterator[_Candidate]:
    """Yield primitives, the axis that is their Z axis, and their centre."""
    middle, size = (lower + upper) / 2, upper - lower
    x, y, z = size.tolist()
    yield Box((x, y, z)), 2, middle
    for about in (middle, center):
        # The midpoint of the smallest and the largest support, sampled.
        reach = _reach(points - about, _spread())
        radius = float(reach.max() + reach.min()) / 2
        yield Sphere(radius), 2, about
    for axis in range(3):
        across = [(axis + 1) % 3, (axis + 2) % 3]
        angles = np.linspace(0, 2 * np.pi, 128, endpoint=False)
        around = np.zeros((128, 3))
        around[:, across[0]], around[:, across[1]] = np.cos(angles), np.sin(angles)
        reach = _reach(points - middle, around)
        radius = float(reach.max() + reach.min()) / 2
        length = float(size[axis])
        if radius <= 0:
            continue
        yield Cylinder(radius, length), axis, middle
        if length >= 2 * radius:
            yield Capsule(radius, length - 2 * radius), axis, middle


def _reach(points: Matrix, directions: Matrix) -> Matrix:
    """Return the support function of points; sums of few terms start no threads."""
    reach = np.full(len(directions), -np.inf)
    for start in range(0, len(points), 1024):
        block = points[start : start + 1024]
        (x, y, z), (u, v, w) = block.T, directions.T
        products = np.outer(x, u) + np.outer(y, v) + np.outer(z, w)
        reach = np.maximum(reach, products.max(axis=0))
    return reach


def _spread() -> Matrix:
    """Return evenly spread directions: a spiral with the golden angle."""
    steps = np.arange(_DIRECTIONS)
    z = 1.0 - (2.0 * steps + 1.0) / _DIRECTIONS
    across = np.sqrt(1.0 - z * z)
    turn = math.pi * (3.0 - math.sqrt(5.0)) * steps
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
