"""Links and joints of one robot of a stage.

The tree of joints is rooted at the world if a body is jointed to it, otherwise at the body that is
the child of no joint.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import Connection, connections, span_tree
from urdf_usd.conformance.engines.openusd.reading import PROXIES, WORLD, Reading, text_attribute
from urdf_usd.conformance.engines.statements import Array, inverses
from urdf_usd.conformance.export import joints as joint_motions
from urdf_usd.conformance.export.links import StageLink, legible_name, read_custom, rigid
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.joint_chains import MASSLESS, chain_mark
from urdf_usd.converter.robot.spatial import pose_from_transform

# Robots that a message lists.
_MOST_LISTED = 20
# Smaller offsets of a joint frame from the link's origin or axis are ignored [m].
_AT_ORIGIN = 1e-9
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
# Turns Y onto Z.
_STANDING = np.array(
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)


class Mechanism(Struct, frozen=True, eq=False):
    links: tuple[StageLink, ...]  # links that are prims, in stage order
    world: str | None  # name of an added link that represents the world, if any
    joints: tuple[m.Joint, ...]  # joints in stage order, then those of frames
    moved: Mapping[str, Array]  # (4, 4) frame of a link in the frame of its prim, if they differ
    intermediate: tuple[m.Link, ...]  # links without prim and mass, between the joints of chains
    loops: tuple[m.LoopJoint, ...]  # joints that close loops; they are not in ``joints``


def nearest(path: str, among: Container[str]) -> str | None:
    """Return the nearest of some prims at or above a path."""
    while path.strip("/"):
        if path in among:
            return path
        path = path.rpartition("/")[0]
    return None


def find_links(reading: Reading, frames: Iterable[str]) -> list[StageLink]:
    """Find rigid bodies, and frames that a conversion marked as links; names are not unique yet."""
    prims = {link.path: reading.prim(link.path) for link in reading.candidates}
    names = {path: legible_name(prim) for path, prim in prims.items()}
    chosen = {
        path
        for path, prim in prims.items()
        if path in reading.bodies or text_attribute(prim, "urdf:link") is not None
    }
    unmarked = set(frames) - {names[path] for path in chosen}
    for path, name in names.items():
        if name in unmarked:
            unmarked.remove(name)
            chosen.add(path)
    return [
        StageLink(x.path, names[x.path], x.body, nearest(x.path.rpartition("/")[0], chosen))
        for x in reading.candidates
        if x.path in chosen
    ]


def _unused(stem: str, taken: set[str], reserved: Container[str] = ()) -> str:
    """Return a name that is not taken yet, and take it; a new one is not reserved either."""
    name, number = stem, 1
    while name in taken or (number > 1 and name in reserved):
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


def _unique_names(kind: str, prims: Sequence[Usd.Prim], notes: list[Diagnostic]) -> list[str]:
    """Return unique names of prims."""
    # Names are unique among siblings in USD, but in the whole robot in URDF. The first prim with a
    # name keeps it.
    proposed, taken = [legible_name(prim) for prim in prims], set[str]()
    names = [_unused(name, taken, proposed) for name in proposed]
    for prim, name, fresh in zip(prims, proposed, names, strict=True):
        if fresh != (prim.GetDisplayName() or prim.GetName()):
            reason = "" if fresh == name else f": {name!r} is taken"
            message = f"{kind} {prim.GetPath()} is called {fresh!r}{reason}"
            notes.append(Diagnostic("stage-name-changed", message))
    return names


def read_connections(reading: Reading, notes: list[Diagnostic]) -> list[Connection]:
    """Return the joints that connect something, in stage order."""
    found, omitted = connections(reading, welds=False)
    notes += itertools.starmap(Diagnostic, omitted)
    distance = UsdPhysics.ObjectType.DistanceJoint
    order: dict[str, int] = {}
    for prim in Usd.PrimRange(reading.robot, PROXIES):
        path = str(prim.GetPath())
        order[path] = len(order)
        descriptor = reading.joints.get(path)
        if descriptor.type == distance if descriptor else prim.IsA(UsdPhysics.Joint):
            message = f"the type of joint {path} does not exist in URDF; omitted"
            notes.append(Diagnostic("joint-not-urdf", message))
    kept = (joint for joint in found if reading.joints[joint.path].type != distance)
    return sorted(kept, key=lambda joint: order.get(joint.path, -1))


class _StageRobot(Struct):
    bodies: list[str]  # paths of the bodies, in stage order
    joints: list[str]  # paths of the joints
    roots: list[str]  # paths of the articulation roots at or above bodies or joints
    path: str = ""  # of a prim of this robot alone: its articulation root, or else its first body


def choose_robot(
    links: Sequence[StageLink],
    joints: Sequence[Connection],
    stage: Usd.Stage,
    named: str | None,
    notes: list[Diagnostic],
) -> frozenset[str]:
    """Return the bodies of the robot, if there are other bodies on the stage."""
    # Without a name, a robot with an articulation root is preferred, then one with joints.
    robots = _robots([link.path for link in links if link.is_body], joints, stage)
    chosen = [robot for robot in robots if robot.roots] or [x for x in robots if x.joints] or robots
    refusal = ""
    if named is not None:
        own = [x for x in robots if named in (*x.joints, *x.bodies)]
        chosen = [
            x for x in robots if x in own or any(Sdf.Path(y).HasPrefix(named) for y in x.bodies)
        ]
        # Bodies of other robots may lie below its prim.
        own = [x for x in chosen if x in own or x.path == named]
        chosen = own if len(own) == 1 else chosen
        if not chosen:
            refusal = f"{named} belongs to no robot; the stage holds "
    elif len(robots) < 2:
        return frozenset(robots[0].bodies if robots else ())
    if len(chosen) > 1:
        refusal = (
            f"{named or 'the stage'} holds {len(chosen)} robots; choose one with --root PATH: "
        )
    if refusal:
        shown = [
            f"{robot.path} ({len(robot.bodies)} {'body' if len(robot.bodies) == 1 else 'bodies'})"
            for robot in chosen or robots
        ]
        more = len(shown) - _MOST_LISTED
        shown[_MOST_LISTED:] = [f"and {more} more"] if more > 0 else []
        raise StageError((Diagnostic("stage-structure", refusal + ", ".join(shown)),))
    for robot in robots if named is None else ():
        if robot is not chosen[0]:
            message = f"body {robot.path} is connected by no joint of the robot; left out, "
            notes.append(Diagnostic("stage-loose-body", f"{message}--root {robot.path} exports it"))
    return frozenset(chosen[0].bodies)


def _robots(
    bodies: Sequence[str], joints: Sequence[Connection], stage: Usd.Stage
) -> list[_StageRobot]:
    """Return the robots of a stage, in the order of their first bodies."""
    # Bodies are of one robot if joints connect them. Those that only the world connects are
    # different robots if they have different origins: articulation roots, or in our own
    # conversions, which mark joints and write an articulation root for each arm of a robot, the
    # scope of the joints.
    part_of = {body: index for index, body in enumerate(bodies)}
    for joint in joints:
        if WORLD not in joint.bodies:
            kept, merged = sorted(part_of[body] for body in joint.bodies)
            part_of |= {body: kept for body, part in part_of.items() if part == merged}

    def robot_of(members: list[str]) -> _StageRobot:
        paths = [joint.path for joint in joints if {*joint.bodies} & {*members}]
        roots: dict[str, None] = {}
        for path in (*sorted(members), *paths) if paths else ():
            prim = stage.GetPrimAtPath(path)
            while prim and not prim.HasAPI(UsdPhysics.ArticulationRootAPI):
                prim = prim.GetParent()
            if prim:
                roots[str(prim.GetPath())] = None
        return _StageRobot(members, paths, [*roots])

    at_world = {body for joint in joints if WORLD in joint.bodies for body in joint.bodies}
    origins: dict[int, object] = {}
    for part in dict.fromkeys(part_of[body] for body in bodies if body in at_world):
        robot = robot_of([body for body in bodies if part_of[body] == part])
        scopes = (
            (path.rpartition("/")[0],)
            for path in robot.joints
            if text_attribute(stage.GetPrimAtPath(path), "urdf:joint:type") is not None
        )
        origins[part] = next(scopes, tuple(robot.roots))
    several = len({*filter(None, origins.values())}) > 1
    groups: dict[object, list[str]] = {}
    for body in bodies:
        part = part_of[body]
        key = ((origins[part] or part) if several else WORLD) if part in origins else part
        groups.setdefault(key, []).append(body)
    robots = [robot_of(group) for group in groups.values()]
    uses = Counter(root for robot in robots for root in robot.roots)
    for robot in robots:
        own = [uses[root] for root in robot.roots] == [1]
        robot.path = robot.roots[0] if own else robot.bodies[0]
    return robots


def read_mechanism(
    reading: Reading,
    links: Sequence[StageLink],
    joints: Sequence[Connection],
    reversed_limits: Container[str],
    notes: list[Diagnostic],
) -> Mechanism:
    # The tree starts at the world, or at a body that is the child of no joint: of several, the
    # articulation root is preferred, then the first of the stage.
    members = [link.path for link in links if link.is_body]
    carried = {
        joint.bodies[1]
        for joint in joints
        if joint.articulated or joint.mobility.type is JointType.FLOATING
    }
    free = [body for body in members if body not in carried] or members
    marked = [x for x in free if reading.prim(x).HasAPI(UsdPhysics.ArticulationRootAPI)]
    tree = span_tree(joints, members, (marked or free)[:1])
    for loop in tree.loops:
        message = f"joint {loop.path} closes a loop; left out, --loops keeps it as data"
        notes.append(Diagnostic("joint-loop-opened", message))
    in_tree = {joint.path: joint for joint in tree.joints}
    tree_joints = [in_tree[joint.path] for joint in joints if joint.path in in_tree]
    prims = [reading.prim(joint.path) for joint in tree_joints]
    names = _unique_names("joint", prims, notes)
    motions = [
        joint_motions.read_motion(joint, reading, notes, lockable=name not in reversed_limits)
        for joint, name in zip(tree_joints, names, strict=True)
    ]
    notes += joint_motions.dropped_settings(reading.stage, prims)
    link_names = _unique_names("link", [reading.prim(link.path) for link in links], notes)
    links = [structs.replace(x, name=name) for x, name in zip(links, link_names, strict=True)]
    at_world = any(WORLD in joint.bodies for joint in joints) or tree.base is None
    every = [*zip(tree_joints, names, motions, strict=True)]
    single = {joint.path: name for joint, name, motion in every if len(motion) == 1}
    writer = _Writer(reading, links, None if at_world else tree.base, single, {*names}, notes)
    for joint, name, motion in every:
        if writer.move_to_axis(joint, motion):
            message = f"frame of {joint.ends[1]} moves to joint {name!r}"
            notes.append(Diagnostic("joint-moved", message))
    intermediate: list[m.Link] = []
    written: list[m.Joint] = []
    for joint, name, motion in every:
        chain = writer.write(joint, name, motion)
        intermediate += (m.Link(link.child, MASSLESS) for link in chain[:-1])
        written += chain
    writer.taken = {joint.name for joint in written}
    # USD represents the fixed joint of a frame only by nested prims.
    written += (writer.weld(link, link.above) for link in links if link.above and not link.is_body)
    writer.taken = {joint.name for joint in written}
    return Mechanism(
        links=tuple(links),
        world=writer.world_name if at_world and writer.world_link is None else None,
        joints=tuple(written),
        moved=writer.moved,
        intermediate=tuple(intermediate),
        loops=tuple(writer.loop(joint) for joint in joints if joint in tree.loops),
    )


class _Writer:
    """Joints of URDF between the frames of links.

    These differ from those of their prims where the up axis or a joint axis away from the origin
    demands it.
    """

    def __init__(
        self,
        reading: Reading,
        links: Sequence[StageLink],
        root: str | None,
        single: Mapping[str, str],
        taken: set[str],
        notes: list[Diagnostic],
    ) -> None:
        """``root`` is the path of the root link, if the world is no link."""
        self.reading, self.notes = reading, notes
        self.single = single  # names of the joints of one axis, by path
        self.taken = taken  # names of joints
        self._by_name = {link.name: link for link in links}
        # prim that represents the world
        self.world_link = next((x for x in links if x.body == WORLD and x.above is None), None)
        self.world_name = "world"
        while self.world_name in self._by_name:
            self.world_name += "_"
        self._taken_links = {*self._by_name, self.world_name}
        # (4, 4) frame of a link in the frame of its prim, if they differ
        self.moved: dict[str, Array] = {}
        self._by_path = {link.path: link for link in links}
        self._robot = str(reading.robot.GetPath())
        self._is_y_up = UsdGeom.GetStageUpAxis(reading.stage) == UsdGeom.Tokens.y
        start = self.world_link.path if self.world_link else root
        if start is not None and self._is_y_up:
            self.moved[start] = self._upright(start)

    def _upright(self, path: str) -> Array:
        """Return the (4, 4) frame with Z up in a prim's frame."""
        # The identity if the prim's Z axis points up more than its Y axis: robots that were
        # converted from Z up are often rotated at their root prim.
        up = self.reading.rigid(path)[1, :3]
        return _STANDING if self._is_y_up and not up[2] > up[1] else np.eye(4)

    def move_to_axis(self, joint: Connection, motion: joint_motions.Motion) -> bool:
        """Move the frame of a joint's child to the joint, if its axis is elsewhere."""
        # In URDF, a joint axis passes through the origin of the child link. For prismatic and fixed
        # joints, the origin does not matter.
        place = joint.anchors[joint.child][:3, 3]
        match motion[-1][1]:
            case m.Revolute(axis) | m.Continuous(axis) | m.Planar(axis):
                away = place - np.dot(place, axis) * np.array(axis)
            case m.Spherical():
                away = place
            case _:
                return False
        if is_moved := bool(np.linalg.norm(away) > _AT_ORIGIN):
            frame = self.moved[joint.ends[1]] = np.eye(4)
            frame[:3, 3] = place + 0.0
        return is_moved

    def _frame(self, link: StageLink | None) -> Array:
        """Return the (4, 4) frame of a link, or the world, in its body, or in the robot's frame."""
        if link is None:
            return self._upright(self._robot)
        moved = self.moved.get(link.path, np.eye(4))
        if link.is_body:
            return moved
        return rigid(self.reading.within(link.path, link.body or self._robot)) @ moved

    def _side(self, joint: Connection, side: int) -> tuple[StageLink | None, Array]:
        """Return the link of a side, and the (4, 4) joint frame in its body, or the robot's."""
        if joint.bodies[side] != WORLD:
            return self._by_path[joint.bodies[side]], joint.anchors[side]
        return self.world_link, self.reading.inverse(self._robot) @ joint.anchors[side]

    def write(self, joint: Connection, name: str, motion: joint_motions.Motion) -> list[m.Joint]:
        """Write a joint of the tree; one of several axes as a chain, whose names are taken."""
        prim = self.reading.prim(joint.path)
        parent, anchor = self._side(joint, joint.parent)
        # A conversion stores the name of a parent link that is no body.
        stated = self._by_name.get(text_attribute(prim, "urdf:joint:parent") or "")
        if stated is not None and not joint.reversed:
            parent = stated
        child, child_anchor = self._side(joint, joint.child)
        assert child is not None  # noqa: S101  the world is no child
        before = inverses(self._frame(parent)) @ anchor
        after = inverses(child_anchor) @ self._frame(child)
        self.notes += joint_motions.faulty_leaders(prim, self.single)
        tokens, custom = tuple(token for token, _ in motion), read_custom(prim)
        is_chain = len(tokens) > 1
        names, between = [name], list[str]()
        origins = [pose_from_transform(before @ after)]
        if is_chain:
            names = [_unused(f"{name}_{token}", self.taken) for token in tokens]
            between = [_unused(f"{name}_{token}_link", self._taken_links) for token in tokens[:-1]]
            mark = chain_mark(name, tokens, backwards=joint.reversed)
            custom += m.Custom(elements=(mark,))
            inner = [m.IDENTITY] * (len(tokens) - 2)
            origins = [pose_from_transform(before), *inner, pose_from_transform(after)]
            message = f"joint {joint.path} has {len(tokens)} axes and becomes {', '.join(names)}"
            self.notes.append(Diagnostic("joint-split", message))
        ends = [parent.name if parent else self.world_name, *between, child.name]
        fields = partial(joint_motions.read_fields, prim, names=self.single, reading=self.reading)
        return [
            m.Joint(
                names[index],
                ends[index],
                ends[index + 1],
                kind,
                origins[index],
                **fields(kind, token, of_axis=is_chain),
                custom=custom if index == 0 else m.Custom(),
            )
            for index, (token, kind) in enumerate(motion)
        ]

    def weld(self, link: StageLink, above: str) -> m.Joint:
        """Write the fixed joint of a frame to the link above it."""
        prim, nested = self.reading.prim(link.path), rigid(self.reading.within(link.path, above))
        if (moved := self.moved.get(above)) is not None:
            nested = inverses(moved) @ nested
        name = text_attribute(prim, "urdf:joint:name") or f"{link.name}_joint"
        return m.Joint(
            _unused(name, self.taken),
            self._by_path[above].name,
            link.name,
            m.Fixed(),
            pose_from_transform(nested),
            **joint_motions.read_fields(prim, m.Fixed(), "", self.single, self.reading),
            custom=read_custom(prim, of_joint=True),
        )

    def loop(self, joint: Connection) -> m.LoopJoint:
        prim = self.reading.prim(joint.path)
        sides = [self._side(joint, side) for side in (0, 1)]
        first, second = (link.name if link else self.world_name for link, _ in sides)
        poses = [pose_from_transform(inverses(self._frame(x)) @ anchor) for x, anchor in sides]
        axis = None
        if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint):
            axis = _AXES[str(prim.GetAttribute("physics:axis").Get() or "X")]
        name, kind = _unused(legible_name(prim), self.taken), str(prim.GetTypeName())
        return m.LoopJoint(name, kind, (first, second), (poses[0], poses[1]), axis)
