"""Extents of meshes, links and robots with all joints at zero; totals of a robot."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import mesh_notes, read_mesh
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.dynamics import rest_transforms
from urdf_usd.converter.robot.solids import Points, convex_hull, outline, support
from urdf_usd.converter.robot.spatial import transform_from_pose
from urdf_usd.converter.robot.topology import Tree, build_tree

_Shape = TypeVar("_Shape", m.Visual, m.Collision)
# Squares of very large sizes overflow to infinity, which is harmless here.
_QUIET = np.errstate(over="ignore", invalid="ignore")


class MeshExtent(Struct, frozen=True):
    """Size of a mesh file."""

    triangles: int  # after triangulation
    # Corners of the convex hull in the file's frame; of large round meshes a subset.
    hull: tuple[m.Vec3, ...]


class MeshExtents(Struct, frozen=True):
    """Extents of the readable mesh files of a robot, and problems of each file."""

    by_path: Mapping[str, MeshExtent]
    diagnostics: tuple[Diagnostic, ...]


class Bounds(Struct, frozen=True):
    """Axis-aligned box [m]."""

    lower: m.Vec3
    upper: m.Vec3

    @property
    def size(self) -> m.Vec3:
        """Edge lengths [m]."""
        (a, b, c), (d, e, f) = self.lower, self.upper
        return d - a, e - b, f - c

    @property
    def diagonal(self) -> float:
        """Distance between opposite corners [m]."""
        return math.hypot(*self.size)

    def distance(self, point: m.Vec3) -> float:
        """Distance of a point from the box [m]; zero inside."""
        return math.hypot(
            *(
                max(low - at, at - high, 0.0)
                for at, low, high in zip(point, self.lower, self.upper, strict=True)
            )
        )


class LinkExtent(Struct, frozen=True):
    """Extent of all shapes of a link, in the link's frame."""

    bounds: Bounds
    hull_volume: float  # of the convex hull of all shapes together [m^3]
    # Largest distance from the centre of mass, or from the origin without inertial [m].
    reach: float


def measure_meshes(robot: m.Robot) -> MeshExtents:
    """Measure the mesh files of a robot; each is read once."""
    measured: dict[str, MeshExtent | None] = {}
    diagnostics: list[Diagnostic] = []
    for shape in (shape for link in robot.links for shape in link.shapes):
        path = shape.geometry.path if isinstance(shape.geometry, m.MeshFile) else None
        if path is None or path in measured:
            continue
        measured[path] = None
        name = Path(path).name
        try:
            mesh = read_mesh(Path(path))
        except MeshError as error:
            message = f"mesh {name!r} cannot be read: {error}"
            diagnostics.append(Diagnostic("mesh-unreadable", message, shape.location))
        else:
            measured[path] = measure_mesh(mesh)
            diagnostics += mesh_notes(name, mesh, shape.location)
    readable = {path: extent for path, extent in measured.items() if extent is not None}
    return MeshExtents(readable, tuple(diagnostics))


@_QUIET
def measure_mesh(mesh: PolygonMesh) -> MeshExtent:
    """Measure a surface."""
    corners, _ = convex_hull(mesh.points)
    return MeshExtent(
        triangles=int(mesh.face_counts.sum() - 2 * len(mesh.face_counts)),
        hull=tuple((x, y, z) for x, y, z in corners.tolist()),
    )


@_QUIET
def measure_link(link: m.Link, meshes: Mapping[str, MeshExtent]) -> LinkExtent | None:
    """Measure a link; None without shapes, or if the size of one is unknown."""
    bounds = _bounds([(np.eye(4), link)], meshes)
    if bounds is None or not all(_is_known(shape, meshes) for shape in link.shapes):
        return None
    outlines = []
    # A shape is often both a visual and a collision.
    for geometry, origin in dict.fromkeys((shape.geometry, shape.origin) for shape in link.shapes):
        frame = transform_from_pose(origin)
        outlines.append(_outline(geometry, meshes) @ frame[:3, :3].T + frame[:3, 3])
    points = np.concatenate(outlines)
    center = link.inertial.origin.position if link.inertial else (0.0, 0.0, 0.0)
    return LinkExtent(
        bounds=bounds,
        hull_volume=convex_hull(points)[1],
        reach=float(np.linalg.norm(points - center, axis=1).max()),
    )


def _is_known(shape: m.Shape, meshes: Mapping[str, MeshExtent]) -> bool:
    geometry = shape.geometry
    return not isinstance(geometry, m.MeshFile) or geometry.path in meshes


def _outline(geometry: m.Geometry, meshes: Mapping[str, MeshExtent]) -> Points:
    """(N, 3) points whose convex hull is the shape's, nearly so for round shapes."""
    if isinstance(geometry, m.MeshFile):
        return np.array(meshes[geometry.path or ""].hull) * geometry.scale
    return outline(geometry)


@_QUIET
def _bounds(
    placed: Iterable[tuple[Points, m.Link]], meshes: Mapping[str, MeshExtent]
) -> Bounds | None:
    """Return the exact bounding box of the known shapes of links, if there are any."""
    lowers, uppers = [], []
    for transform, link in placed:
        for shape in link.shapes:
            if not _is_known(shape, meshes):
                continue
            frame = transform @ transform_from_pose(shape.origin)
            # Rows: axes of the outer frame in the shape's frame.
            axes = frame[:3, :3]
            if isinstance(shape.geometry, m.MeshFile):
                along = _outline(shape.geometry, meshes) @ axes.T
                lower, upper = along.min(axis=0), along.max(axis=0)
            else:
                upper = support(shape.geometry, axes)
                lower = -upper
            uppers.append(frame[:3, 3] + upper)
            lowers.append(frame[:3, 3] + lower)
    if not lowers:
        return None
    (a, b, c), (d, e, f) = np.min(lowers, axis=0).tolist(), np.max(uppers, axis=0).tolist()
    return Bounds((a, b, c), (d, e, f))


class Totals(Struct, frozen=True):
    """Totals of a robot: counts, degrees of freedom, mass, size."""

    links: int
    joints: Mapping[str, int]  # By type, in the order of first occurrence.
    degrees_of_freedom: int  # Of all joints, without a floating base.
    independent: int  # Degrees of freedom without mimic joints.
    mass: float  # [kg]
    visuals: int
    collisions: int
    meshes: int  # Number of distinct files.
    triangles: int  # Of the readable mesh files.
    # Of all shapes with joints at zero, in the root's frame; None without shapes.
    bounds: Bounds | None


class Inspection(Struct, frozen=True):
    """A robot, its tree, mesh files and totals."""

    robot: m.Robot
    tree: Tree
    meshes: MeshExtents
    totals: Totals


def inspect(robot: m.Robot, meshes: MeshExtents | None = None) -> Inspection:
    """Measure a robot.

    Raises:
        SourceError: It is not one tree.
    """
    tree = build_tree(robot)
    rest = rest_transforms(tree)
    if meshes is None:
        meshes = measure_meshes(robot)
    kinds = Counter(kind_name(joint.kind) for joint in robot.joints)
    uris = {
        shape.geometry.path or shape.geometry.uri
        for link in robot.links
        for shape in link.shapes
        if isinstance(shape.geometry, m.MeshFile)
    }
    totals = Totals(
        links=len(robot.links),
        joints=dict(kinds),
        degrees_of_freedom=sum(freedom(joint.kind) for joint in robot.joints),
        independent=sum(freedom(j.kind) for j in robot.joints if j.mimic is None),
        mass=sum(link.mass for link in robot.links),
        visuals=sum(len(link.visuals) for link in robot.links),
        collisions=sum(len(link.collisions) for link in robot.links),
        meshes=len(uris),
        triangles=sum(extent.triangles for extent in meshes.by_path.values()),
        bounds=_bounds([(rest[name], tree.link[name]) for name in tree.links], meshes.by_path),
    )
    return Inspection(robot, tree, meshes, totals)


def with_paths(robot: m.Robot) -> m.Robot:
    """Return a robot whose meshes are found at their references."""

    def found(shape: _Shape) -> _Shape:
        mesh = shape.geometry
        if not isinstance(mesh, m.MeshFile):
            return shape
        return structs.replace(shape, geometry=structs.replace(mesh, path=mesh.uri))

    return structs.replace(
        robot,
        links=tuple(
            structs.replace(
                link,
                visuals=tuple(map(found, link.visuals)),
                collisions=tuple(map(found, link.collisions)),
            )
            for link in robot.links
        ),
    )


def kind_name(kind: m.JointKind | m.Geometry) -> str:
    """Return the joint type, or the tag of a shape, as URDF writes it."""
    return type(kind).__name__.lower()


def freedom(kind: m.JointKind) -> int:
    """Return the degrees of freedom of a joint."""
    if isinstance(kind, m.Generic):
        return len(kind.axes)
    return {m.Fixed: 0, m.Planar: 3, m.Spherical: 3, m.Floating: 6}.get(type(kind), 1)
