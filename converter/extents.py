"""Extents of meshes, of links, and of a robot with all joints at zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import TypeAlias, TypeVar, assert_never

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.hulls import convex_hull, extreme_points, volume_within
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import mesh_notes, read_mesh
from urdf_usd.converter.robot.kinematics import rest_transforms
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Link,
    MeshFile,
    Robot,
    Shape,
    Sphere,
    Vec3,
)
from urdf_usd.converter.robot.spatial import transform_from_pose
from urdf_usd.converter.robot.topology import Tree

Points: TypeAlias = "NDArray[np.float64]"
_Measured = TypeVar("_Measured")

# Squares of very large sizes overflow to infinity, which is harmless here.
_QUIET = np.errstate(over="ignore", invalid="ignore")
# Edges of a box, relative to its longest one, that may be flat to a hull.
_FLAT = 1e-6
# Corners of the unit cube.
_CORNERS = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
# Resolution of round shapes; their volume is within 2 % of the exact one.
_AROUND = 32
_ALONG = 16


class MeshExtent(Struct, frozen=True):
    """Size of a mesh file.

    Attributes:
        triangles: Number of triangles after triangulation.
        hull: Corners of the convex hull in the file's frame (of large round meshes a
            subset), or of a solid inside or around the hull.
    """

    triangles: int
    hull: tuple[Vec3, ...]


class MeshExtents(Struct, frozen=True):
    """Extents of the mesh files of a robot.

    Attributes:
        by_path: Extent of every readable file.
        diagnostics: Problems of the files, once per file.
    """

    by_path: Mapping[str, MeshExtent]
    diagnostics: tuple[Diagnostic, ...]


class Bounds(Struct, frozen=True):
    """Axis-aligned box [m]."""

    lower: Vec3
    upper: Vec3

    @property
    def size(self) -> Vec3:
        """Edge lengths [m]."""
        (a, b, c), (d, e, f) = self.lower, self.upper
        return d - a, e - b, f - c

    @property
    def diagonal(self) -> float:
        """Distance between opposite corners [m]."""
        return math.hypot(*self.size)

    def distance(self, point: Vec3) -> float:
        """Distance of a point from the box [m]; zero inside."""
        return math.hypot(
            *(
                max(low - at, at - high, 0.0)
                for at, low, high in zip(point, self.lower, self.upper, strict=True)
            )
        )


class LinkExtent(Struct, frozen=True):
    """Extent of all shapes of a link, in the link's frame.

    Attributes:
        bounds: Box around all shapes.
        hull_volume: Volume of the convex hull of all shapes together [m^3].
        reach: Largest distance of a point of a shape from the centre of mass, or from
            the link's origin without inertial [m].
    """

    bounds: Bounds
    hull_volume: float
    reach: float


def measure_meshes(robot: Robot) -> MeshExtents:
    """Measure the mesh files of a robot; each is read once."""
    return MeshExtents(*_of_meshes(robot, measure_mesh, positions_only=False))


def bound_meshes(robot: Robot) -> tuple[MeshExtents, MeshExtents]:
    """Bound the convex hulls of the mesh files of a robot from inside and outside.

    Takes a tenth of the time of :func:`measure_meshes`; the boxes are the same.

    Returns:
        Extents within the hulls, and around them.
    """
    bounds, diagnostics = _of_meshes(robot, _mesh_bounds, positions_only=True)
    inner = {path: within for path, (within, _) in bounds.items()}
    outer = {path: around for path, (_, around) in bounds.items()}
    return MeshExtents(inner, diagnostics), MeshExtents(outer, diagnostics)


def mesh_points(robot: Robot) -> dict[str, Points]:
    """Return the (N, 3) points of the readable mesh files of a robot, by path."""
    return _of_meshes(robot, _points, positions_only=True)[0]


def _points(mesh: PolygonMesh) -> Points:
    return mesh.points


def _of_meshes(
    robot: Robot, measure: Callable[[PolygonMesh], _Measured], *, positions_only: bool
) -> tuple[dict[str, _Measured], tuple[Diagnostic, ...]]:
    """Measure the readable meshes by path; return diagnostics for all."""
    measured: dict[str, _Measured] = {}
    unreadable: set[str] = set()
    diagnostics: list[Diagnostic] = []
    for shape, mesh in _mesh_shapes(robot):
        path = mesh.path
        if path is None or path in measured or path in unreadable:
            continue
        name = Path(path).name
        try:
            content = read_mesh(Path(path), positions_only=positions_only)
        except MeshError as error:
            unreadable.add(path)
            message = f"mesh {name!r} cannot be read: {error}"
            diagnostics.append(Diagnostic("mesh-unreadable", message, shape.location))
            continue
        measured[path] = measure(content)
        diagnostics += mesh_notes(name, content, shape.location)
    return measured, tuple(diagnostics)


@_QUIET
def measure_link(link: Link, meshes: Mapping[str, MeshExtent]) -> LinkExtent | None:
    """Measure a link; None without shapes, or if the size of one is unknown."""
    points = _outline_of_link(link, meshes)
    if points is None:
        return None
    box = _box_around([(np.eye(4), link)], meshes)
    return LinkExtent(box, _hull_volume(link, points), _reach(link, points))


@_QUIET
def measure_reach(link: Link, points: Mapping[str, Points]) -> float:
    """Measure the largest distance of a point from a link's centre of mass [m].

    Args:
        link: A link with shapes.
        points: (N, 3) points of its mesh files, by path.
    """
    return max(
        _reach(link, _placed(transform_from_pose(shape.origin), outline))
        for shape in link.shapes
        for outline in [
            points[shape.geometry.path or ""] * shape.geometry.scale
            if isinstance(shape.geometry, MeshFile)
            else _outline(shape.geometry, {})
        ]
    )


def _hull_volume(link: Link, points: Points) -> float:
    """Volume of the convex hull of all shapes of a link, whose outline is given.

    Many links have one box, which needs no hull: its library takes as long to import as
    the rest of a check of such a robot.
    """
    placed = {(shape.origin, shape.geometry) for shape in link.shapes}
    match [geometry for _, geometry in placed]:
        case [Box(size=size)] if min(size) > _FLAT * max(size):
            return math.prod(size)
    _, volume = convex_hull(points)
    return volume


@_QUIET
def bound_link(
    link: Link, inner: MeshExtents, outer: MeshExtents
) -> tuple[LinkExtent, LinkExtent] | None:
    """Bound a link's extent in a third of the time of :func:`measure_link`.

    Args:
        link: The link.
        inner: Extents within the hulls of its meshes.
        outer: Extents around them.

    Returns:
        A lower and an upper bound; None as for :func:`measure_link`.
    """
    points = _outline_of_link(link, inner.by_path)
    if points is None:
        return None
    least = _bounds(points.min(axis=0), points.max(axis=0))
    most = _box_around([(np.eye(4), link)], outer.by_path)
    farthest = (
        max(abs(low - at), abs(high - at))
        for at, low, high in zip(_center(link), most.lower, most.upper, strict=True)
    )
    return (
        LinkExtent(least, volume_within(points), _reach(link, points)),
        LinkExtent(most, math.prod(most.size), math.hypot(*farthest)),
    )


@_QUIET
def bounds_at_zero(tree: Tree, meshes: Mapping[str, MeshExtent]) -> Bounds | None:
    """Bound all shapes with every joint at zero, in the root's frame.

    Meshes that cannot be read are ignored.

    Returns:
        None without any known shape.
    """
    rest = rest_transforms(tree)
    placed = [(rest[name], tree.link[name]) for name in tree.links]
    if not any(_is_known(shape, meshes) for _, link in placed for shape in link.shapes):
        return None
    return _box_around(placed, meshes)


def _mesh_shapes(robot: Robot) -> Iterable[tuple[Shape, MeshFile]]:
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile):
                yield shape, shape.geometry


def _outline_of_link(link: Link, meshes: Mapping[str, MeshExtent]) -> Points | None:
    """(N, 3) points whose convex hull is that of all shapes, in the link's frame."""
    if not link.shapes or not all(_is_known(shape, meshes) for shape in link.shapes):
        return None
    return np.concatenate(
        [
            _placed(transform_from_pose(shape.origin), _outline(shape.geometry, meshes))
            for shape in link.shapes
        ]
    )


def _center(link: Link) -> Vec3:
    return link.inertial.origin.position if link.inertial else (0.0, 0.0, 0.0)


def _reach(link: Link, points: Points) -> float:
    return float(np.linalg.norm(points - _center(link), axis=1).max())


@_QUIET
def measure_mesh(mesh: PolygonMesh) -> MeshExtent:
    """Measure a surface."""
    corners, _ = convex_hull(mesh.points)
    return _extent_of(mesh, corners)


@_QUIET
def _mesh_bounds(mesh: PolygonMesh) -> tuple[MeshExtent, MeshExtent]:
    """Return extents of the extreme points and of the bounding box."""
    farthest = mesh.points[extreme_points(mesh.points)]
    box = np.array(list(product(*zip(farthest.min(0), farthest.max(0), strict=True))))
    return _extent_of(mesh, farthest), _extent_of(mesh, box)


def _extent_of(mesh: PolygonMesh, hull: Points) -> MeshExtent:
    return MeshExtent(
        triangles=int(mesh.face_counts.sum() - 2 * len(mesh.face_counts)),
        hull=tuple((x, y, z) for x, y, z in hull.tolist()),
    )


def _is_known(shape: Shape, meshes: Mapping[str, MeshExtent]) -> bool:
    geometry = shape.geometry
    return not isinstance(geometry, MeshFile) or geometry.path in meshes


def _placed(transform: Points, points: Points) -> Points:
    return points @ transform[:3, :3].T + transform[:3, 3]


def _outline(geometry: Geometry, meshes: Mapping[str, MeshExtent]) -> Points:
    """(N, 3) points whose convex hull is the shape's, nearly so for round shapes."""
    match geometry:
        case Box(size):
            return _CORNERS * size
        case Cylinder(radius, length):
            return _turned(np.array([radius, radius]), np.array([-0.5, 0.5]) * length)
        case Sphere(radius):
            return _ball(radius, 0.0)
        case Capsule(radius, length):
            return _ball(radius, length)
        case MeshFile(_, path, scale):
            return np.array(meshes[path or ""].hull) * scale
        case _:
            assert_never(geometry)


def _turned(radii: Points, heights: Points) -> Points:
    """Points on circles about Z."""
    turn = np.arange(_AROUND) * 2.0 * np.pi / _AROUND
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros(_AROUND)], axis=1)
    rings = [circle * radius + (0, 0, z) for radius, z in zip(radii, heights, strict=True)]
    return np.concatenate(rings)


def _ball(radius: float, length: float) -> Points:
    """Points on a sphere or capsule along Z."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, _ALONG + 1)
    shift = np.where(angles < 0.0, -0.5, 0.5) * length
    return _turned(radius * np.cos(angles), radius * np.sin(angles) + shift)


def _box_around(placed: Iterable[tuple[Points, Link]], meshes: Mapping[str, MeshExtent]) -> Bounds:
    """Return the exact bounding box of the known shapes of links."""
    lowers, uppers = [], []
    for transform, link in placed:
        for shape in link.shapes:
            if not _is_known(shape, meshes):
                continue
            frame = transform @ transform_from_pose(shape.origin)
            # Rows: axes of the outer frame in the shape's frame.
            axes = frame[:3, :3]
            uppers.append(frame[:3, 3] + _support(shape.geometry, axes, meshes))
            lowers.append(frame[:3, 3] - _support(shape.geometry, -axes, meshes))
    return _bounds(np.min(lowers, axis=0), np.max(uppers, axis=0))


def _bounds(lower: Points, upper: Points) -> Bounds:
    (a, b, c), (d, e, f) = lower.tolist(), upper.tolist()
    return Bounds((a, b, c), (d, e, f))


def _support(geometry: Geometry, directions: Points, meshes: Mapping[str, MeshExtent]) -> Points:
    """Return the (K,) support function for (K, 3) unit directions in its frame."""
    sideways = np.hypot(directions[:, 0], directions[:, 1])
    upwards = np.abs(directions[:, 2])
    match geometry:
        case Sphere(radius):
            return np.full(len(directions), radius)
        case Capsule(radius, length):
            return radius + upwards * length / 2
        case Cylinder(radius, length):
            return sideways * radius + upwards * length / 2
        case Box() | MeshFile():
            reaches: Points = (directions @ _outline(geometry, meshes).T).max(axis=1)
            return reaches
        case _:
            assert_never(geometry)
