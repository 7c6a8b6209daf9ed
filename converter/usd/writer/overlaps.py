"""Colliders of an asset that overlap or touch at the zero configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics

Points: TypeAlias = "NDArray[np.float64]"

TOUCHING = 1e-4
"""Bodies touch if their colliders are nearer, or overlap less [m]."""

# Corners of the polygons in place of the circles of a cylinder: its radius is off by
# 0.03 %.
_CORNERS = 128
# Weight of the sums of coefficients against the distance of two hulls.
_WEIGHT = 1e4
_AXES = {"X": (1, 2, 0), "Y": (2, 0, 1), "Z": (0, 1, 2)}


class _Solid(Struct, frozen=True, eq=False):
    """The convex hull of points, grown by a radius, in the world."""

    points: Points  # (N, 3) [m]
    radius: float  # [m]
    planes: Points  # (F, 4) unit normals and offsets of the hull; none if it is flat.

    @property
    def bounds(self) -> Points:
        """Least and negated greatest coordinates [m]."""
        return np.stack([self.points.min(axis=0), -self.points.max(axis=0)]) - self.radius


def bodies_in_contact(
    stage: Usd.Stage, body_of: Mapping[str, str], ignored: Collection[frozenset[str]]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the pairs of bodies whose colliders overlap, and those that touch.

    Meshes count as their convex hulls, as they are written.

    Args:
        stage: The composed asset.
        body_of: Name of the body of each collider, by path of the prim or its parent.
        ignored: Pairs of bodies that are not tested.
    """
    solids: dict[str, list[_Solid]] = {}
    cache = UsdGeom.XformCache()
    for prim in stage.Traverse():
        path = prim.GetPath()
        name = body_of.get(str(path)) or body_of.get(str(path.GetParentPath()))
        if name is not None and prim.HasAPI(UsdPhysics.CollisionAPI):
            solid = _solid(prim, np.array(cache.GetLocalToWorldTransform(prim)))
            if solid is not None:
                solids.setdefault(name, []).append(solid)
    overlapping, touching = [], []
    for one, other in combinations(sorted(solids), 2):
        if frozenset((one, other)) in ignored:
            continue
        depth = max(_depths(solids[one], solids[other]), default=-np.inf)
        if depth > TOUCHING:
            overlapping.append((one, other))
        elif depth >= -TOUCHING:
            touching.append((one, other))
    return tuple(overlapping), tuple(touching)


def _depths(ones: list[_Solid], others: list[_Solid]) -> Iterator[float]:
    for one in ones:
        for other in others:
            apart = (one.bounds + other.bounds[::-1]).max()
            if apart <= TOUCHING:
                yield _depth(one, other)


def _depth(one: _Solid, other: _Solid) -> float:
    """Return how deep two solids overlap, negative if they are apart [m].

    For hulls, it is the diameter of the largest ball in both.
    """
    # Takes longer to import than to convert a small robot; few files filter overlaps.
    from scipy.optimize import linprog

    grown = one.radius + other.radius
    distance = _distance(one.points, other.points)
    scale = max(np.ptp(one.points), np.ptp(other.points), grown)
    if distance > 1e-7 * scale:
        return grown - distance
    if not (len(one.planes) and len(other.planes)):
        return grown
    planes = np.concatenate([one.planes, other.planes])
    # The centre and the radius of a ball that is inside of all planes.
    inside = np.column_stack([planes[:, :3], np.ones(len(planes))])
    found = linprog(
        (0.0, 0.0, 0.0, -1.0),
        A_ub=inside,
        b_ub=-planes[:, 3],
        bounds=[(None, None)] * 3 + [(0.0, None)],
        method="highs",
    )
    return grown + (2.0 * float(found.x[3]) if found.success else 0.0)


def _distance(one: Points, other: Points) -> float:
    """Return the distance of the convex hulls of two sets of points [m].

    Convex combinations of both sets at the smallest distance are a problem of
    non-negative least squares.
    """
    from scipy.optimize import nnls

    center = (one.mean(axis=0) + other.mean(axis=0)) / 2
    size = max(float(np.abs(one - center).max()), float(np.abs(other - center).max()))
    if size == 0:
        return 0.0
    here, there = (one - center) / size, (other - center) / size
    matrix = np.zeros((5, len(here) + len(there)))
    matrix[:3, : len(here)], matrix[:3, len(here) :] = here.T, -there.T
    matrix[3, : len(here)] = matrix[4, len(here) :] = _WEIGHT
    weights, _ = nnls(matrix, np.array([0.0, 0.0, 0.0, _WEIGHT, _WEIGHT]))
    ours, theirs = weights[: len(here)], weights[len(here) :]
    gap = ours @ here / ours.sum() - theirs @ there / theirs.sum()
    return float(np.linalg.norm(gap)) * size


def _solid(prim: Usd.Prim, transform: Points) -> _Solid | None:
    """Return a collider in the world; None for an empty mesh.

    Args:
        prim: A collider.
        transform: (4, 4) to the world, for row vectors.
    """
    from scipy.spatial import ConvexHull, QhullError

    points, radius = _outline(prim)
    if not len(points):
        return None
    # Prims with a radius are not scaled.
    points = points @ transform[:3, :3] + transform[3, :3]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # Flat, or a point.
        return _Solid(points, radius, np.zeros((0, 4)))
    return _Solid(points[hull.vertices], radius, hull.equations)


def _outline(prim: Usd.Prim) -> tuple[Points, float]:
    """Return points and a radius whose grown hull is a shape, in its frame [m]."""

    def number(name: str) -> float:
        return float(prim.GetAttribute(name).Get())

    match prim.GetTypeName():
        case "Cube":
            half = number("size") / 2
            corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
            return half * np.array(corners, float), 0.0
        case "Sphere":
            return np.zeros((1, 3)), number("radius")
        case "Capsule":
            half = number("height") / 2
            ends = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])
            return _along(prim, ends), number("radius")
        case "Cylinder":
            angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
            radius, half = number("radius"), number("height") / 2
            circle = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles])
            up = np.array([0.0, 0.0, half])
            return _along(prim, np.concatenate([circle - up, circle + up])), 0.0
        case _:
            points = prim.GetAttribute("points").Get()
            return np.array(points or np.zeros((0, 3)), float), 0.0


def _along(prim: Usd.Prim, points: Points) -> Points:
    """Return points along Z, turned to the axis of a shape."""
    order = _AXES[prim.GetAttribute("axis").Get()]
    turned = np.empty_like(points)
    turned[:, list(order)] = points
    return turned
