"""Robots as trees of rigid groups, built alike for a URDF and a USD.

Links that fixed joints connect are one group on either side, whether a USD has a body
for each of them, one for all, or Xforms; so both sides have the tree of moving joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from urdf_usd.conformance.matching.tree_matching import TreeNode
from urdf_usd.conformance.observation.named_prims import (
    ORIGIN,
    Matches,
    NamedPrim,
    NamedPrims,
    Rows,
)
from urdf_usd.conformance.observation.robot import JointType, Observation, Vec3

Array: TypeAlias = NDArray[np.float64]

# Limits may be lost as well, so that these types are treated as equal.
TURNING = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_WORLD = ""


class Group(Struct):
    """Links that fixed joints connect.

    Attributes:
        entry: The child of its joint; the first link at the root.
        members: Names of its links, or paths of its bodies and Xforms, without the
            world.
        joint: Name or path of the joint to its parent; None at the root.
        type: Type of that joint.
        parent: Index of the parent group.
        point: A point of the axis in the frame of the entry [m].
        axis: Unit vector likewise.
        mass: Of all members [kg].
    """

    entry: str
    members: list[str] = field(default_factory=list)
    joint: str | None = None
    type: JointType | None = None
    parent: int | None = None
    point: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 | None = None
    mass: float = 0.0


class _Edge(Struct, frozen=True):
    """A joint of either side."""

    joint: str
    type: JointType | None
    parent: str
    child: str
    point: Vec3
    axis: Vec3 | None


class Member(Struct, frozen=True):
    """A link, or a prim that is a candidate for one.

    Attributes:
        pose: (4, 4) pose at zero [m].
        mass: Its own [kg].
        has_shapes: Whether it has own shapes.
        is_frame: Whether it is an Xform without a body.
    """

    pose: Rows
    mass: float
    has_shapes: bool
    is_frame: bool = False


class RobotTree(Struct, frozen=True):
    """One of the two robots.

    Attributes:
        groups: Parents first.
        members: Links, bodies and Xforms of all groups.
        length: Of the robot [m].
    """

    groups: Sequence[Group]
    members: Mapping[str, Member]
    length: float

    def frame(self, group: Group) -> Array:
        """Return the (4, 4) pose of the entry of a group."""
        entry = self.members.get(group.entry)
        return np.array(entry.pose if entry else ORIGIN)

    def nodes(self, root: int, start: Array) -> list[TreeNode]:
        """Return the groups as nodes for matching.

        Args:
            root: Index of a group.
            start: (4, 4) pose of that group.
        """
        return [self._node(group, root, start) for group in self.groups]

    def _node(self, group: Group, root: int, start: Array) -> TreeNode:
        if group.parent is None:
            return TreeNode(None, mass=group.mass)
        above = start if group.parent == root else self.frame(self.groups[group.parent])
        placed = np.linalg.inv(above) @ self.frame(group)
        point = placed[:3, :3] @ group.point + placed[:3, 3]
        axis = None if group.axis is None else placed[:3, :3] @ group.axis
        return TreeNode(
            parent=group.parent,
            type=group.type,
            motion=TURNING if group.type in TURNING else group.type,
            point=_vec3(point / self.length),
            axis=None if axis is None else _vec3(axis),
            mass=group.mass,
        )


def expected_tree(expected: Observation) -> RobotTree:
    """Return the robot of a URDF, at its first configuration."""
    poses: dict[str, Rows] = {}
    length = 0.0
    if expected.frames is not None:
        still = np.tile(np.eye(4), (len(expected.frames.links), 1, 1))
        still[:, :3, :3] = expected.frames.rotations[0]
        still[:, :3, 3] = expected.frames.positions[0]
        poses = dict(zip(expected.frames.links, map(_rows, still), strict=True))
        length = float(np.ptp(still[:, :3, 3], axis=0).max())
    drawn = {shape.link for shape in expected.shapes}
    members = {
        link.name: Member(
            pose=poses.get(link.name, ORIGIN),
            mass=link.mass.mass if link.mass else 0.0,
            has_shapes=link.name in drawn,
        )
        for link in expected.links
    }
    edges = [
        _Edge(each.name, each.type, each.parent, each.child, each.anchor, each.axis)
        for each in expected.joints
    ]
    groups = _groups(edges, members, {name: name for name in members})
    return RobotTree(groups, members, length or 1.0)


def actual_tree(prims: NamedPrims, links: Matches, length: float) -> RobotTree:
    """Return the robot of a USD.

    Args:
        prims: Candidates for links and joints.
        links: Candidates for links, and their matches.
        length: Of the robot [m].
    """
    members = {
        prim.path: Member(
            pose=prim.pose,
            mass=prim.mass or 0.0,
            has_shapes=prim.has_shapes,
            is_frame=not prim.is_body,
        )
        for prim in links.prims.values()
        if isinstance(prim, NamedPrim)
    }
    edges = [
        _Edge(joint.path, joint.type, *joint.ends, joint.point, joint.axis)
        for joint in prims.joints
        if not joint.closes_loop
    ]
    carriers = {path: links.body(path) for path in members}
    return RobotTree(_groups(edges, members, carriers), members, length)


def _groups(
    edges: Sequence[_Edge], members: Mapping[str, Member], carriers: Mapping[str, str]
) -> list[Group]:
    """Group what fixed joints connect; parents come first.

    Args:
        edges: Joints of a tree.
        members: All members.
        carriers: The link or body that carries each member.
    """
    below: dict[str, list[_Edge]] = {}
    for edge in edges:
        below.setdefault(edge.parent, []).append(edge)
    placed = {edge.child for edge in edges}
    groups: list[Group] = []
    group_of: dict[str, int] = {}
    for root in dict.fromkeys((*below, *carriers.values())):
        if root not in placed and root not in group_of:
            group_of[root] = len(groups)
            groups.append(Group(root))
            _add_groups(root, below, groups, group_of)
    # In the order of the tree: members at the same pose are matched in this order.
    rank = {place: index for index, place in enumerate(group_of)}
    for name, carrier in sorted(carriers.items(), key=lambda each: rank.get(each[1], len(rank))):
        if carrier in group_of:
            group = groups[group_of[carrier]]
            group.members.append(name)
            group.mass += members[name].mass
    for group in groups:
        if group.entry == _WORLD and group.members:
            solid = [name for name in group.members if not members[name].is_frame]
            group.entry = (solid or group.members)[0]
    return groups


def _add_groups(
    root: str,
    below: Mapping[str, Sequence[_Edge]],
    groups: list[Group],
    group_of: dict[str, int],
) -> None:
    """Add the groups below a root, depth first."""
    waiting = list(reversed(below.get(root, ())))
    while waiting:
        edge = waiting.pop()
        if edge.child in group_of:
            continue
        group_of[edge.child] = group_of[edge.parent]
        if edge.type is not JointType.FIXED:
            group_of[edge.child] = len(groups)
            groups.append(
                Group(
                    entry=edge.child,
                    joint=edge.joint,
                    type=edge.type,
                    parent=group_of[edge.parent],
                    point=edge.point,
                    axis=edge.axis,
                )
            )
        waiting += reversed(below.get(edge.child, ()))


def _rows(matrix: Array) -> Rows:
    return tuple(tuple(map(float, row)) for row in matrix)


def _vec3(vector: Array) -> Vec3:
    x, y, z = map(float, vector)
    return x, y, z
