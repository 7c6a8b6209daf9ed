"""The kinematic tree of a stage: joints, links, and the frames of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.model import Fixed, Joint, JointKind
from urdf_usd.converter.robot.spatial import inverse_transform, pose_from_transform
from urdf_usd.converter.usd.reader.couplings import (
    JointNames,
    faulty_leaders,
    joint_names,
)
from urdf_usd.converter.usd.reader.extensions import read_custom, read_joint_custom
from urdf_usd.converter.usd.reader.joints import Connection
from urdf_usd.converter.usd.reader.links import LinkPrim
from urdf_usd.converter.usd.reader.motions import joint_kind, offset_from_axis
from urdf_usd.converter.usd.reader.names import unique_names
from urdf_usd.converter.usd.reader.spanning import (
    WORLD,
    TreeEdge,
    components,
    spanning_tree,
)
from urdf_usd.converter.usd.reader.transforms import PrimTransforms, rigid_part
from urdf_usd.converter.usd.reader.unsupported_attributes import (
    has_drive,
    read_unsupported_attributes,
)
from urdf_usd.converter.usd.urdf_attributes import read_text

Matrix: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True, eq=False)
class StageTree:
    """The links of one robot and its joints.

    Attributes:
        links: Links of the robot that are prims, in stage order.
        world: Name of an added link that represents the world, if any.
        joints: Joints in stage order, then those towards frames.
        moved: (4, 4) frame of a link in the frame of its prim, if they differ.
    """

    links: tuple[LinkPrim, ...]
    world: str | None
    joints: tuple[Joint, ...]
    moved: Mapping[Sdf.Path, Matrix]


def read_tree(
    links: Sequence[LinkPrim],
    connections: Sequence[Connection],
    transforms: PrimTransforms,
    robot: Sdf.Path,
    reversed_limits: frozenset[str] = frozenset(),
) -> Findings[StageTree]:
    """Choose the robot's links and joints.

    Args:
        links: All prims that could be links.
        connections: All joints.
        transforms: Where prims are.
        robot: Prim whose frame is used as the world frame.
        reversed_limits: Names of joints that reversed limits do not lock.

    Raises:
        StageError: There are several robots, or a joint that URDF cannot represent.
    """
    members = yield from _members(links, connections, transforms)
    held = [
        connection
        for connection in connections
        if all(body is None or body in members for body in connection.bodies)
    ]
    root = _root(members, held, links, transforms)
    tree_edges = spanning_tree(root, [connection.edge for connection in held])
    chosen = {edge.index for edge in tree_edges}
    for index, connection in enumerate(held):
        if index not in chosen:
            message = f"joint {connection.prim.GetPath()} closes a loop; left out"
            yield Diagnostic("joint-loop-opened", message)
    tree_joints = yield from _tree_joints(held, tree_edges, transforms, reversed_limits)
    kept = tuple(link for link in links if link.body is None or link.body in members)
    resting = [link for link in kept if link.body is None and link.above is None]
    world = resting[0] if resting else None
    moved = yield from _moved_frames(tree_joints, root, world, transforms)
    return (
        yield from _assembled(
            kept, tree_joints, _LinkFrames(root, world, moved, transforms, robot)
        )
    )


def _refuse(message: str) -> NoReturn:
    raise StageError((Diagnostic("stage-structure", message),))


def _members(
    links: Sequence[LinkPrim],
    connections: Sequence[Connection],
    transforms: PrimTransforms,
) -> Findings[frozenset[Sdf.Path]]:
    """Return the bodies of the robot, if there are other bodies on the stage."""
    bodies = [str(link.path) for link in links if link.is_body]
    parts = components(bodies, [connection.edge for connection in connections])
    if len(parts) <= 1:
        return frozenset(map(Sdf.Path, bodies))
    jointed = [part for part in parts if _joints_of(part, connections)]
    marked = [part for part in jointed if _is_marked(part, connections, transforms)]
    chosen = next((some for some in (marked, jointed) if some), parts)
    if len(chosen) > 1:
        heads = ", ".join(min(part) for part in chosen)
        _refuse(
            f"the stage holds {len(chosen)} robots, with bodies {heads}; "
            "make one of them the default prim"
        )
    for part in parts:
        if part is not chosen[0]:
            message = (
                f"body {min(part)} is connected by no joint of the robot; left out"
            )
            yield Diagnostic("stage-loose-body", message)
    return frozenset(map(Sdf.Path, chosen[0]))


def _joints_of(
    part: frozenset[str], connections: Sequence[Connection]
) -> list[Connection]:
    return [
        connection
        for connection in connections
        if {connection.edge.first, connection.edge.second} & part
    ]


def _is_marked(
    part: frozenset[str], connections: Sequence[Connection], transforms: PrimTransforms
) -> bool:
    """Return whether one of the bodies or joints is an articulation root."""
    prims = [transforms.stage.GetPrimAtPath(path) for path in part]
    prims += [connection.prim for connection in _joints_of(part, connections)]
    return any(prim.HasAPI(UsdPhysics.ArticulationRootAPI) for prim in prims)


def _root(
    members: frozenset[Sdf.Path],
    held: Sequence[Connection],
    links: Sequence[LinkPrim],
    transforms: PrimTransforms,
) -> str:
    """Return the root of the tree: the world, or a body that is the child of no joint.

    Of several bodies, the articulation root is preferred, then the first of the stage.
    """
    edges = [connection.edge for connection in held]
    if not members or any(WORLD in (edge.first, edge.second) for edge in edges):
        return WORLD
    carried = {edge.second for edge in edges if not edge.closes}
    bodies = [str(link.path) for link in links if link.path in members]
    free = [body for body in bodies if body not in carried] or bodies
    marked = [
        body
        for body in free
        if transforms.stage.GetPrimAtPath(body).HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    return (marked or free)[0]


@dataclass(frozen=True, slots=True, eq=False)
class _TreeJoint:
    """A joint of the tree.

    Attributes:
        connection: The joint.
        edge: Its edge and direction in the tree.
        kind: Joint type.
        name: URDF name.
    """

    connection: Connection
    edge: TreeEdge
    kind: JointKind
    name: str

    @property
    def frames(self) -> tuple[Matrix, Matrix]:
        """Joint frame in parent and child body."""
        first, second = self.connection.frames
        return (second, first) if self.edge.backwards else (first, second)


def _tree_joints(
    held: Sequence[Connection],
    tree_edges: Sequence[TreeEdge],
    transforms: PrimTransforms,
    reversed_limits: frozenset[str],
) -> Findings[tuple[_TreeJoint, ...]]:
    ordered = sorted(tree_edges, key=lambda edge: edge.index)
    prims = [held[edge.index].prim for edge in ordered]
    names = yield from unique_names("joint", prims)
    tree_joints = []
    for edge, name in zip(ordered, names, strict=True):
        connection = held[edge.index]
        kind = yield from joint_kind(
            connection.prim,
            connection.description,
            connection.frames[0 if edge.backwards else 1][:3, :3],
            transforms.units.length,
            backwards=edge.backwards,
            lockable=name not in reversed_limits,
        )
        tree_joints.append(_TreeJoint(connection, edge, kind, name))
    driven = sum(has_drive(prim) for prim in prims)
    if driven:
        message = f"gains and targets of {driven} drives are not URDF; left out"
        yield Diagnostic("joint-drive-dropped", message)
    return tuple(tree_joints)


def _moved_frames(
    tree_joints: Sequence[_TreeJoint],
    root: str,
    world: LinkPrim | None,
    transforms: PrimTransforms,
) -> Findings[dict[Sdf.Path, Matrix]]:
    """Return the frames of links that differ from those of their prims."""
    moved: dict[Sdf.Path, Matrix] = {}
    if transforms.upright is not None:
        if world is not None:
            moved[world.path] = transforms.upright_frame(world.path)
        elif root != WORLD:
            moved[Sdf.Path(root)] = transforms.upright_frame(Sdf.Path(root))
    for tree_joint in tree_joints:
        place = offset_from_axis(tree_joint.kind, tree_joint.frames[1])
        if place is None:
            continue
        frame = np.eye(4)
        frame[:3, 3] = place
        moved[Sdf.Path(tree_joint.edge.child)] = frame
        message = f"frame of {tree_joint.edge.child} moves to joint {tree_joint.name!r}"
        yield Diagnostic("joint-moved", message)
    return moved


@dataclass(frozen=True, slots=True, eq=False)
class _LinkFrames:
    """Computes the frames of links.

    Attributes:
        root: Path of the root body, or the world.
        world: Prim that represents the world, if any.
        moved: As in :class:`StageTree`.
        transforms: Where prims are.
        robot: Prim whose frame stands for the world's.
    """

    root: str
    world: LinkPrim | None
    moved: Mapping[Sdf.Path, Matrix]
    transforms: PrimTransforms
    robot: Sdf.Path

    def frame(self, link: LinkPrim | None) -> Matrix:
        """Return the (4, 4) frame of a link in its body, or in the robot's frame.

        Without a link, that of the world.
        """
        if link is None:
            return self.transforms.upright_frame(self.robot)
        moved = self.moved.get(link.path, np.eye(4))
        if link.is_body:
            return moved
        carrier = self.robot if link.body is None else link.body
        return rigid_part(self.transforms.within(link.path, carrier)) @ moved


def _assembled(
    kept: tuple[LinkPrim, ...],
    tree_joints: Sequence[_TreeJoint],
    link_frames: _LinkFrames,
) -> Findings[StageTree]:
    by_name = {link.name: link for link in kept}
    by_path = {link.path: link for link in kept}
    world_name = "world"
    while world_name in by_name:
        world_name += "_"
    invented = link_frames.root == WORLD and link_frames.world is None
    units = link_frames.transforms.units
    named = joint_names(
        {
            tree_joint.connection.prim.GetPath(): tree_joint.name
            for tree_joint in tree_joints
        },
        units.length,
    )
    joints = []
    for tree_joint in tree_joints:
        prim = tree_joint.connection.prim
        # A conversion stores the name of a parent link that is no body.
        parent = by_name.get(read_text(prim, "joint:parent") or "")
        if parent is None or tree_joint.edge.backwards:
            at_world = tree_joint.edge.parent == WORLD
            parent = (
                link_frames.world
                if at_world
                else by_path[Sdf.Path(tree_joint.edge.parent)]
            )
        child = by_path[Sdf.Path(tree_joint.edge.child)]
        in_parent, in_child = tree_joint.frames
        origin = inverse_transform(link_frames.frame(parent)) @ in_parent
        origin = origin @ inverse_transform(in_child) @ link_frames.frame(child)
        yield from faulty_leaders(prim, named)
        joints.append(
            Joint(
                tree_joint.name,
                parent.name if parent else world_name,
                child.name,
                tree_joint.kind,
                pose_from_transform(origin),
                **read_unsupported_attributes(prim, tree_joint.kind, units, named),
                custom=read_custom(prim),
            )
        )
    joints += _frame_joints(kept, link_frames, named)
    moved = link_frames.moved
    return StageTree(kept, world_name if invented else None, tuple(joints), moved)


def _frame_joints(
    kept: Sequence[LinkPrim], link_frames: _LinkFrames, named: JointNames
) -> list[Joint]:
    """Return fixed joints of frames, which USD represents only by nested prims."""
    transforms = link_frames.transforms
    by_path = {link.path: link for link in kept}
    taken = set(named.by_path.values())
    joints = []
    for link in kept:
        if link.is_body or link.above is None:
            continue
        prim = transforms.stage.GetPrimAtPath(link.path)
        stem = name = read_text(prim, "joint:name") or f"{link.name}_joint"
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        nested = rigid_part(transforms.within(link.path, link.above))
        if (moved := link_frames.moved.get(link.above)) is not None:
            nested = inverse_transform(moved) @ nested
        joints.append(
            Joint(
                name,
                by_path[link.above].name,
                link.name,
                Fixed(),
                pose_from_transform(nested),
                **read_unsupported_attributes(prim, Fixed(), transforms.units, named),
                custom=read_joint_custom(prim),
            )
        )
    return joints
