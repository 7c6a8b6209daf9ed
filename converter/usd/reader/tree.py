"""The kinematic tree of a stage: joints, links, and the frames of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.joint_chains import MASSLESS, chain_mark
from urdf_usd.converter.robot.model import (
    IDENTITY,
    Custom,
    Fixed,
    Joint,
    JointKind,
    Link,
    LoopJoint,
)
from urdf_usd.converter.robot.spatial import inverse_transform, pose_from_transform
from urdf_usd.converter.usd.reader.couplings import (
    JointNames,
    faulty_leaders,
    joint_names,
)
from urdf_usd.converter.usd.reader.extensions import read_custom, read_joint_custom
from urdf_usd.converter.usd.reader.joints import Connection
from urdf_usd.converter.usd.reader.links import LinkPrim
from urdf_usd.converter.usd.reader.motions import (
    AxisChain,
    joint_kind,
    offset_from_axis,
)
from urdf_usd.converter.usd.reader.names import legible_name, unique_names
from urdf_usd.converter.usd.reader.spanning import (
    WORLD,
    TreeEdge,
    components,
    spanning_tree,
)
from urdf_usd.converter.usd.reader.transforms import PrimTransforms, rigid_part
from urdf_usd.converter.usd.reader.unsupported_attributes import (
    has_armature,
    has_drive,
    joints_with_servo,
    read_axis_attributes,
    read_unsupported_attributes,
)
from urdf_usd.converter.usd.urdf_attributes import read_text

Matrix: TypeAlias = "NDArray[np.float64]"

_ONE_AXIS = {
    UsdPhysics.ObjectType.RevoluteJoint,
    UsdPhysics.ObjectType.PrismaticJoint,
}
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


class StageTree(Struct, frozen=True, eq=False):
    """The links of one robot and its joints.

    Attributes:
        links: Links of the robot that are prims, in stage order.
        world: Name of an added link that represents the world, if any.
        joints: Joints in stage order, then those towards frames.
        moved: (4, 4) frame of a link in the frame of its prim, if they differ.
        intermediate: Links without prim and mass, between the joints of chains.
        loops: Joints that close loops; they are not in ``joints``.
    """

    links: tuple[LinkPrim, ...]
    world: str | None
    joints: tuple[Joint, ...]
    moved: Mapping[Sdf.Path, Matrix]
    intermediate: tuple[Link, ...] = ()
    loops: tuple[LoopJoint, ...] = ()


def read_tree(  # what is known of a stage
    links: Sequence[LinkPrim],
    connections: Sequence[Connection],
    transforms: PrimTransforms,
    robot: Sdf.Path,
    reversed_limits: frozenset[str] = frozenset(),
    *,
    named: Sdf.Path | None = None,
) -> Findings[StageTree]:
    """Choose the robot's links and joints.

    Args:
        links: All prims that could be links.
        connections: All joints.
        transforms: Where prims are.
        robot: Prim whose frame is used as the world frame.
        reversed_limits: Names of joints that reversed limits do not lock.
        named: Prim of the robot to choose, if there are several.

    Raises:
        StageError: There are several robots and none is named, or the named prim does
            not belong to exactly one.
    """
    members = yield from _members(links, connections, transforms, named)
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
            message = (
                f"joint {connection.prim.GetPath()} closes a loop; left out, "
                "--loops keeps it as data"
            )
            yield Diagnostic("joint-loop-opened", message)
    tree_joints = yield from _tree_joints(held, tree_edges, transforms, reversed_limits)
    kept = tuple(link for link in links if link.body is None or link.body in members)
    names = yield from unique_names(
        "link", [transforms.stage.GetPrimAtPath(link.path) for link in kept]
    )
    kept = tuple(structs.replace(link, name=name) for link, name in zip(kept, names, strict=True))
    resting = [link for link in kept if link.body is None and link.above is None]
    world = resting[0] if resting else None
    moved = yield from _moved_frames(tree_joints, root, world, transforms)
    link_frames = _LinkFrames(root, world, moved, transforms, robot)
    tree = yield from _assembled(kept, tree_joints, link_frames)
    cut = [one for index, one in enumerate(held) if index not in chosen]
    return structs.replace(tree, loops=_loop_joints(cut, tree, link_frames))


def _refuse(message: str) -> NoReturn:
    raise StageError((Diagnostic("stage-structure", message),))


def _members(
    links: Sequence[LinkPrim],
    connections: Sequence[Connection],
    transforms: PrimTransforms,
    named: Sdf.Path | None,
) -> Findings[frozenset[Sdf.Path]]:
    """Return the bodies of the robot, if there are other bodies on the stage.

    Without a name, a robot with an articulation root is preferred, then one with
    joints.
    """
    bodies = [str(link.path) for link in links if link.is_body]
    robots = _robots(bodies, connections, transforms)
    if named is not None:
        chosen = [robot for robot in robots if robot.contains(named)]
        # Bodies of other robots may lie below its prim.
        own = [robot for robot in chosen if named == robot.path or robot.has(named)]
        chosen = own if len(own) == 1 else chosen
        if not chosen:
            _refuse(f"{named} belongs to no robot; the stage holds {_listed(robots)}")
    elif len(robots) < 2:
        return frozenset(map(Sdf.Path, bodies))
    else:
        marked = [robot for robot in robots if robot.roots]
        jointed = [robot for robot in robots if robot.joints]
        chosen = next((some for some in (marked, jointed) if some), robots)
    if len(chosen) > 1:
        subject = "the stage" if named is None else str(named)
        _refuse(
            f"{subject} holds {len(chosen)} robots; choose one with --root PATH: {_listed(chosen)}"
        )
    others = [robot for robot in robots if robot is not chosen[0]]
    for robot in others if named is None else ():
        message = (
            f"body {robot.path} is connected by no joint of the robot; left out, "
            f"--root {robot.path} exports it"
        )
        yield Diagnostic("stage-loose-body", message)
    return frozenset(map(Sdf.Path, chosen[0].bodies))


class _StageRobot(Struct, frozen=True):
    """Bodies that joints connect.

    Attributes:
        path: A prim that belongs to this robot alone: its articulation root, or else
            its first body.
        bodies: Paths of the bodies, in stage order.
        joints: Paths of the joints.
        roots: Paths of the articulation roots at or above bodies or joints.
    """

    path: Sdf.Path
    bodies: tuple[str, ...]
    joints: tuple[Sdf.Path, ...]
    roots: tuple[Sdf.Path, ...]

    def has(self, named: Sdf.Path) -> bool:
        """Return whether a prim is a body or a joint."""
        return named in self.joints or str(named) in self.bodies

    def contains(self, named: Sdf.Path) -> bool:
        """Return whether a prim is a body, or a joint, or above one of the bodies."""
        return self.has(named) or any(Sdf.Path(body).HasPrefix(named) for body in self.bodies)


# Robots that a message lists.
_MOST_LISTED = 20


def _listed(robots: Sequence[_StageRobot]) -> str:
    shown = []
    for robot in robots[:_MOST_LISTED]:
        count = len(robot.bodies)
        shown.append(f"{robot.path} ({count} {'body' if count == 1 else 'bodies'})")
    if len(robots) > _MOST_LISTED:
        shown.append(f"and {len(robots) - _MOST_LISTED} more")
    return ", ".join(shown)


def _robots(
    bodies: Sequence[str],
    connections: Sequence[Connection],
    transforms: PrimTransforms,
) -> list[_StageRobot]:
    """Return the robots of a stage, in the order of their first bodies.

    Bodies are of one robot if joints connect them. Those that only the world connects
    are different robots if they have different origins, see :func:`_origin`.
    """
    stage = transforms.stage
    edges = [connection.edge for connection in connections]
    apart = [edge for edge in edges if WORLD not in (edge.first, edge.second)]
    parts = components(bodies, apart)
    part_of = {body: index for index, part in enumerate(parts) for body in part}
    joints: list[list[Connection]] = [[] for _ in parts]
    for connection, edge in zip(connections, edges, strict=True):
        body = edge.second if edge.first == WORLD else edge.first
        if body in part_of:
            joints[part_of[body]].append(connection)
    roots = [
        _articulation_roots(part, held, stage) for part, held in zip(parts, joints, strict=True)
    ]
    at_world = [
        index
        for index, held in enumerate(joints)
        if any(WORLD in (one.edge.first, one.edge.second) for one in held)
    ]
    origins = {index: _origin(joints[index], roots[index]) for index in at_world}
    several = len({origin for origin in origins.values() if origin}) > 1
    whole: dict[object, list[int]] = {}
    for index in range(len(parts)):
        key: object = index
        if index in origins:
            key = (origins[index] or index) if several else WORLD
        whole.setdefault(key, []).append(index)
    order = {body: number for number, body in enumerate(bodies)}
    robots = []
    uses = Counter(root for some in whole.values() for root in _united(some, roots))
    for some in whole.values():
        own_bodies = sorted(
            (body for index in some for body in parts[index]), key=order.__getitem__
        )
        own_roots = _united(some, roots)
        is_named = len(own_roots) == 1 and uses[own_roots[0]] == 1
        robots.append(
            _StageRobot(
                own_roots[0] if is_named else Sdf.Path(own_bodies[0]),
                tuple(own_bodies),
                tuple(one.prim.GetPath() for index in some for one in joints[index]),
                own_roots,
            )
        )
    return sorted(robots, key=lambda robot: order[robot.bodies[0]])


def _origin(connections: Sequence[Connection], roots: tuple[Sdf.Path, ...]) -> tuple[Sdf.Path, ...]:
    """Return what distinguishes bodies at the world that are of different robots.

    The articulation roots; in our own conversions, which mark joints and write an
    articulation root for each arm of a robot, the scope of the joints.
    """
    for connection in connections:
        if read_text(connection.prim, "joint:type") is not None:
            return (connection.prim.GetPath().GetParentPath(),)
    return roots


def _united(indices: Sequence[int], roots: Sequence[tuple[Sdf.Path, ...]]) -> tuple[Sdf.Path, ...]:
    """Return the distinct articulation roots of several parts, in order."""
    return tuple(dict.fromkeys(path for index in indices for path in roots[index]))


def _articulation_roots(
    part: frozenset[str], connections: Sequence[Connection], stage: Usd.Stage
) -> tuple[Sdf.Path, ...]:
    """Return the nearest articulation roots at or above bodies and joints."""
    paths = [*map(Sdf.Path, sorted(part)), *(one.prim.GetPath() for one in connections)]
    if not connections:
        return ()
    found: dict[Sdf.Path, None] = {}
    for path in paths:
        prim = stage.GetPrimAtPath(path)
        while prim and not prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            prim = prim.GetParent()
        if prim:
            found[prim.GetPath()] = None
    return tuple(found)


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


class _TreeJoint(Struct, frozen=True, eq=False):
    """A joint of the tree.

    Attributes:
        connection: The joint.
        edge: Its edge and direction in the tree.
        kind: Joint type, or chain of joints.
        name: URDF name.
    """

    connection: Connection
    edge: TreeEdge
    kind: JointKind | AxisChain
    name: str

    @property
    def last_kind(self) -> JointKind:
        """Type of the joint that is connected to the child."""
        if isinstance(self.kind, AxisChain):
            return self.kind.axes[-1][1]
        return self.kind

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
    heavier = sum(has_armature(prim) for prim in prims)
    if heavier:
        message = f"armature of {heavier} joints is not URDF; left out"
        yield Diagnostic("joint-armature-dropped", message)
    served = joints_with_servo(transforms.stage)
    driven = sum(has_drive(prim) or prim.GetPath() in served for prim in prims)
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
        place = offset_from_axis(tree_joint.last_kind, tree_joint.frames[1])
        if place is None:
            continue
        frame = np.eye(4)
        frame[:3, 3] = place
        moved[Sdf.Path(tree_joint.edge.child)] = frame
        message = f"frame of {tree_joint.edge.child} moves to joint {tree_joint.name!r}"
        yield Diagnostic("joint-moved", message)
    return moved


class _LinkFrames(Struct, frozen=True, eq=False):
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
            if not isinstance(tree_joint.kind, AxisChain)
        },
        units.length,
    )
    taken = {tree_joint.name for tree_joint in tree_joints}
    taken_links = {*by_name, world_name}
    joints: list[Joint] = []
    intermediate: list[Link] = []
    for tree_joint in tree_joints:
        prim = tree_joint.connection.prim
        # A conversion stores the name of a parent link that is no body.
        parent = by_name.get(read_text(prim, "joint:parent") or "")
        if parent is None or tree_joint.edge.backwards:
            at_world = tree_joint.edge.parent == WORLD
            parent = link_frames.world if at_world else by_path[Sdf.Path(tree_joint.edge.parent)]
        child = by_path[Sdf.Path(tree_joint.edge.child)]
        in_parent, in_child = tree_joint.frames
        before = inverse_transform(link_frames.frame(parent)) @ in_parent
        after = inverse_transform(in_child) @ link_frames.frame(child)
        parent_name = parent.name if parent else world_name
        yield from faulty_leaders(prim, named)
        if not isinstance(tree_joint.kind, AxisChain):
            joints.append(
                Joint(
                    tree_joint.name,
                    parent_name,
                    child.name,
                    tree_joint.kind,
                    pose_from_transform(before @ after),
                    **read_unsupported_attributes(prim, tree_joint.kind, units, named),
                    custom=read_custom(prim),
                )
            )
            continue
        tokens = tuple(token for token, _ in tree_joint.kind.axes)
        stems = [f"{tree_joint.name}_{token}" for token in tokens]
        names = [_unused(stem, taken) for stem in stems]
        between = [_unused(f"{stem}_link", taken_links) for stem in stems[:-1]]
        mark = chain_mark(
            tree_joint.name,
            tokens,
            backwards=tree_joint.kind.backwards,
            cone=tree_joint.kind.cone,
        )
        customs = [read_custom(prim) + Custom(elements=(mark,))]
        customs += [Custom()] * len(between)
        origins = [pose_from_transform(before)] + [IDENTITY] * len(between)
        origins[-1] = pose_from_transform(after)
        intermediate += [Link(name, MASSLESS) for name in between]
        joints += [
            Joint(
                name,
                above,
                below,
                kind,
                origin,
                **read_axis_attributes(prim, kind, units, token),
                custom=custom,
            )
            for name, above, below, (token, kind), origin, custom in zip(
                names,
                [parent_name, *between],
                [*between, child.name],
                tree_joint.kind.axes,
                origins,
                customs,
                strict=True,
            )
        ]
        message = f"joint {prim.GetPath()} has {len(tokens)} axes and becomes {', '.join(names)}"
        yield Diagnostic("joint-split", message)
    joints += _frame_joints(kept, link_frames, {joint.name for joint in joints}, named)
    world = world_name if invented else None
    moved = link_frames.moved
    return StageTree(kept, world, tuple(joints), moved, tuple(intermediate))


def _loop_joints(
    connections: Sequence[Connection], tree: StageTree, link_frames: _LinkFrames
) -> tuple[LoopJoint, ...]:
    by_path = {link.path: link for link in tree.links}
    taken = {joint.name for joint in tree.joints}
    found = []
    for connection in connections:
        links = [link_frames.world if body is None else by_path[body] for body in connection.bodies]
        in_links = [
            pose_from_transform(inverse_transform(link_frames.frame(link)) @ frame)
            for link, frame in zip(links, connection.frames, strict=True)
        ]
        axis = None
        if connection.description.type in _ONE_AXIS:
            token = str(connection.prim.GetAttribute("physics:axis").Get() or "X")
            axis = _AXES[token]
        first, second = (link.name if link else str(tree.world) for link in links)
        found.append(
            LoopJoint(
                _unused(legible_name(connection.prim), taken),
                str(connection.prim.GetTypeName()),
                (first, second),
                (in_links[0], in_links[1]),
                axis,
            )
        )
    return tuple(found)


def _unused(stem: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


def _frame_joints(
    kept: Sequence[LinkPrim],
    link_frames: _LinkFrames,
    taken: set[str],
    named: JointNames,
) -> list[Joint]:
    """Return fixed joints of frames, which USD represents only by nested prims."""
    transforms = link_frames.transforms
    by_path = {link.path: link for link in kept}
    joints = []
    for link in kept:
        if link.is_body or link.above is None:
            continue
        prim = transforms.stage.GetPrimAtPath(link.path)
        name = _unused(read_text(prim, "joint:name") or f"{link.name}_joint", taken)
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
