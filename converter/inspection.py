"""Totals of a robot: counts, degrees of freedom, mass, size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar, assert_never

from msgspec import Struct, structs

from urdf_usd.converter.extents import (
    Bounds,
    MeshExtents,
    bounds_at_zero,
    measure_meshes,
)
from urdf_usd.converter.robot.model import (
    Collision,
    Continuous,
    Fixed,
    Floating,
    Generic,
    Geometry,
    JointKind,
    MeshFile,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    Visual,
)
from urdf_usd.converter.robot.topology import Tree, build_tree

_Shape = TypeVar("_Shape", Visual, Collision)


class Totals(Struct, frozen=True):
    """Totals of a robot.

    Attributes:
        links: Number of links.
        joints: Number of joints by type, in the order of first occurrence.
        degrees_of_freedom: Of all joints, without a floating base.
        independent: Degrees of freedom without mimic joints.
        mass: [kg].
        visuals: Number of visual shapes.
        collisions: Number of collision shapes.
        meshes: Number of distinct mesh files.
        triangles: Number of triangles in the readable mesh files.
        bounds: Bounding box of all shapes with joints at zero, in the root's frame;
            None without shapes.
    """

    links: int
    joints: Mapping[str, int]
    degrees_of_freedom: int
    independent: int
    mass: float
    visuals: int
    collisions: int
    meshes: int
    triangles: int
    bounds: Bounds | None


class Inspection(Struct, frozen=True):
    """A robot, its tree, mesh files and totals."""

    robot: Robot
    tree: Tree
    meshes: MeshExtents
    totals: Totals


def inspect(robot: Robot, meshes: MeshExtents | None = None) -> Inspection:
    """Measure a robot.

    Args:
        robot: The robot.
        meshes: Extents of its meshes; None to read its mesh files.

    Raises:
        SourceError: It is not one tree.
    """
    tree = build_tree(robot)
    if meshes is None:
        meshes = measure_meshes(robot)
    kinds = Counter(kind_name(joint.kind) for joint in robot.joints)
    uris = {
        shape.geometry.path or shape.geometry.uri
        for link in robot.links
        for shape in link.shapes
        if isinstance(shape.geometry, MeshFile)
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
        bounds=bounds_at_zero(tree, meshes.by_path),
    )
    return Inspection(robot, tree, meshes, totals)


def with_paths(robot: Robot) -> Robot:
    """Return a robot whose meshes are found at their references."""
    return structs.replace(
        robot,
        links=tuple(
            structs.replace(
                link,
                visuals=tuple(map(_with_path, link.visuals)),
                collisions=tuple(map(_with_path, link.collisions)),
            )
            for link in robot.links
        ),
    )


def _with_path(shape: _Shape) -> _Shape:
    if not isinstance(shape.geometry, MeshFile):
        return shape
    uri = shape.geometry.uri
    return structs.replace(shape, geometry=structs.replace(shape.geometry, path=uri))


def kind_name(kind: JointKind | Geometry) -> str:
    """Return the joint type, or the tag of a shape, as URDF writes it."""
    return type(kind).__name__.lower()


def freedom(kind: JointKind) -> int:
    """Return the degrees of freedom of a joint."""
    match kind:
        case Fixed():
            return 0
        case Revolute() | Continuous() | Prismatic():
            return 1
        case Planar() | Spherical():
            return 3
        case Floating():
            return 6
        case Generic(axes):
            return len(axes)
        case _:
            assert_never(kind)
