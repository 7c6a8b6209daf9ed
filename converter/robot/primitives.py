"""Primitive shapes that fit the convex hull of points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from scipy.spatial import ConvexHull

from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Pose, Sphere
from urdf_usd.converter.robot.solids import Matrix, Primitive, hull_solid, primitive_solid, support
from urdf_usd.converter.robot.spatial import pose_from_transform

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
        candidate: The primitive.
        directions: (D, 3) unit vectors.
        reach: (D) support function of the points.
    """
    shape, axis, center = candidate
    own = support(shape, np.roll(directions, 2 - axis, axis=1))
    apart: Matrix = np.abs(own + directions @ center - reach)
    return apart


def _largest_distance(candidate: _Candidate, points: Matrix, least: float) -> float:
    """Climb from the worst sampled directions to directions with larger differences.

    Args:
        candidate: The primitive.
        points: (N, 3) corners of the hull.
        least: The largest difference so far [m].
    """
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
