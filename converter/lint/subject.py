"""Inputs of the rules: the elements of a file, and the robot with its extents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.extents import (
    LinkExtent,
    MeshExtents,
    bound_link,
    bound_meshes,
    measure_link,
    measure_meshes,
    measure_reach,
    mesh_points,
)
from urdf_usd.converter.lint.inertials import (
    NEGLIGIBLE,
    is_inertia_plausible,
    is_mass_plausible,
)
from urdf_usd.converter.robot.mass_properties import size_at_rest
from urdf_usd.converter.robot.model import Link, Robot
from urdf_usd.converter.robot.rigid import rest_poses
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.markup import Markup, read_markup
from urdf_usd.converter.urdf.reader import Node, read
from urdf_usd.converter.urdf.xml.elements import Element

# Attributes of all versions are parsed.
_ANY_VERSION = (99, 0)


class UrdfDocument(Struct, frozen=True):
    """The elements of a URDF file, which need not be a valid robot.

    Attributes:
        file: Path, as given.
        root: All elements, as written.
        robot: The elements of the language, with typed values.
        expanded: Whether they are the result of a xacro expansion.
    """

    file: str
    root: Element
    robot: Node
    expanded: bool = False

    @property
    def links(self) -> tuple[Node, ...]:
        """All links, in document order."""
        return self.robot.all(g.LINK)

    @property
    def joints(self) -> tuple[Node, ...]:
        """All joints, in document order."""
        return self.robot.all(g.JOINT)


def type_of(joint: Node) -> str:
    """Return a joint's type in the spelling of URDF."""
    return joint[g.TYPE].strip().lower()


def read_document(
    file: str,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
) -> UrdfDocument | None:
    """Read the elements of a file; None if it is not a robot.

    Args:
        file: Its path; xacro is expanded.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro arguments, by name.
    """
    try:
        markup = read_markup(file, packages, arguments, (), [])
    except SourceError:
        return None
    return document_of(markup, file)


def document_of(markup: Markup, file: str) -> UrdfDocument | None:
    """Parse the elements of a robot; None if they are not a robot.

    Args:
        markup: All elements of the file.
        file: Path of the file.
    """
    root = markup.root
    if root.tag != g.ROBOT.tag:
        return None
    robot = read(root, g.ROBOT, _ANY_VERSION, [])
    return UrdfDocument(file, root, robot, markup.expansion is not None)


class MeasuredRobot(Struct, frozen=True):
    """A valid robot with its extents.

    Attributes:
        robot: The robot.
        tree: Its tree.
        groups: Groups of links connected by fixed joints, root group first.
        meshes: Extents of its mesh files, with boxes instead of hulls.
        extents: Extent by link name, of links whose inertial may be implausible; bounds
            of what decides nothing.
        size: Largest distance of a link or centre of mass from the root [m].
        span: Length of the longest chain of joint origins from the root [m].
    """

    robot: Robot
    tree: Tree
    groups: tuple[tuple[str, ...], ...]
    meshes: MeshExtents
    extents: Mapping[str, LinkExtent]
    size: float
    span: float


def measure_robot(robot: Robot) -> MeasuredRobot:
    """Measure a robot.

    Raises:
        SourceError: It is not one tree.
    """
    tree = build_tree(robot)
    inner, outer = bound_meshes(robot)
    return MeasuredRobot(
        robot=robot,
        tree=tree,
        groups=rigid_groups(tree),
        meshes=outer,
        extents=_extents_in_doubt(robot, inner, outer),
        size=size_at_rest(tree, rest_poses(tree)),
        span=_span(tree),
    )


def _extents_in_doubt(
    robot: Robot, inner: MeshExtents, outer: MeshExtents
) -> dict[str, LinkExtent]:
    """Measure the links whose inertial may be implausible.

    Exact hulls take as long as reading the files, so that bounds are tried first. An
    inertia depends on no volume: a lower bound of it stays where only inertia is in
    doubt.
    """
    by_volume: list[Link] = []
    by_reach: list[tuple[Link, LinkExtent]] = []
    for link in robot.links:
        if link.inertial is None or link.mass < NEGLIGIBLE:
            continue
        bounds = bound_link(link, inner, outer)
        if bounds is None:
            continue
        if not is_mass_plausible(link.inertial, *bounds):
            by_volume.append(link)
        elif not is_inertia_plausible(link.inertial, *bounds):
            by_reach.append((link, bounds[0]))
    exact = measure_meshes(structs.replace(robot, links=tuple(by_volume))).by_path
    measured = {link.name: measure_link(link, exact) for link in by_volume}
    points = mesh_points(structs.replace(robot, links=tuple(link for link, _ in by_reach)))
    measured |= {
        link.name: structs.replace(least, reach=measure_reach(link, points))
        for link, least in by_reach
    }
    return {name: extent for name, extent in measured.items() if extent}


def _span(tree: Tree) -> float:
    reach = {tree.root: 0.0}
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        if joint:
            reach[name] = reach[joint.parent] + math.hypot(*joint.origin.position)
    return max(reach.values())
