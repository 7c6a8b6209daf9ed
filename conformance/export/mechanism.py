"""Links and joints of one robot of a stage, as URDF has them.

The tree of joints is rooted at the world if a body is jointed to it, otherwise at the body that is
the child of no joint. The reading of the engine is used, and the ``urdf:`` attributes of a
conversion: they are doubles, and count unless a schema has another value.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd import joints as connecting
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd import simulation
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.reading import WORLD, Reading, text_attribute
from urdf_usd.conformance.engines.statements import Array, inverses, vec3
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
# Turns Y onto Z.
_STANDING = np.array(
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)
# Relative and absolute tolerance between a double and its float32.
_SAME, _NOTHING = 1e-6, 1e-36
_TYPES = UsdPhysics.ObjectType
_SAFETY = ("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")
_SIMPLE: dict[JointType | None, m.JointKind] = {
    JointType.FLOATING: m.Floating(),
    JointType.SPHERICAL: m.Spherical(),
}


def nearest(path: str, among: Container[str]) -> str | None:
    """Return the nearest of some prims at or above a path."""
    while path.strip("/"):
        if path in among:
            return path
        path = path.rpartition("/")[0]
    return None


def find_links(reading: Reading, frames: Iterable[str]) -> list[StageLink]:
    """Find rigid bodies, and frames that a conversion marked as links; names are not unique yet."""
    names = {link.path: legible_name(reading.prim(link.path)) for link in reading.candidates}
    chosen = {
        x for x in names if x in reading.bodies or text_attribute(reading.prim(x), "urdf:link")
    }
    unmarked = set(frames) - {names[path] for path in chosen}
    for path, name in names.items():
        if name in unmarked:
            unmarked.remove(name)
            chosen.add(path)
    above = {path: nearest(path.rpartition("/")[0], chosen) for path in chosen}
    found = (link for link in reading.candidates if link.path in chosen)
    return [StageLink(x.path, names[x.path], x.body, above[x.path]) for x in found]


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
    found, omitted = connecting.connections(reading, welds=False)
    notes += itertools.starmap(Diagnostic, omitted)
    order: dict[str, int] = {}
    for prim in Usd.PrimRange(reading.robot, stages.PROXIES):
        path = str(prim.GetPath())
        order[path] = len(order)
        descriptor = reading.joints.get(path)
        if descriptor.type == _TYPES.DistanceJoint if descriptor else prim.IsA(UsdPhysics.Joint):
            message = f"the type of joint {path} does not exist in URDF; omitted"
            notes.append(Diagnostic("joint-not-urdf", message))
    kept = (joint for joint in found if reading.joints[joint.path].type != _TYPES.DistanceJoint)
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


Motion: TypeAlias = tuple[tuple[str, m.JointKind], ...]
"""The motion of a joint: that of one joint of URDF, or of a chain of them.

Each has the instance name of multiple-apply schemas, such as ``rotX``, and a type, whose axis is in
the joint frame, except that of the last joint, which is in the child body. From parent to child, a
chain translates along X, Y and Z of the joint frame and then rotates about X, Y and Z of the frame
that results: T(x, y, z) Rx Ry Rz in the joint frame of side 0. A joint that is followed from side 1
to side 0 has the inverse motion: the reversed order and negated axes.
"""


def _read_motion(
    joint: Connection, reading: Reading, notes: list[Diagnostic], *, lockable: bool
) -> Motion:
    descriptor, mobility = reading.joints[joint.path], joint.mobility
    prim, is_generic = reading.prim(joint.path), descriptor.type == _TYPES.D6Joint
    if not descriptor.jointEnabled:
        return (("", m.Floating()),)
    if descriptor.type == _TYPES.SphericalJoint and descriptor.limit.enabled:
        message = f"the cone limit of joint {joint.path} is left out"
        notes.append(Diagnostic("joint-limit-approximated", message))
    # Limits of the free axes [m or rad], in the order from side 0 to side 1.
    free = connecting.free_axes(descriptor, reading.units) if is_generic else {}
    is_bounded = len(free) > 1 and any(x != (-math.inf, math.inf) for x in free.values())
    axes: list[tuple[str, m.Vec3, m.Range]] = []
    declared = None
    if is_generic and (mobility.type is None or is_bounded):
        tokens = [*free][::-1] if joint.reversed else [*free]
        frame = joint.anchors[joint.child][:3, :3]
        for token in tokens:
            column = (frame if token == tokens[-1] else np.eye(3))[:, "XYZ".index(token[-1])]
            axis = vec3(-column if joint.reversed else column)
            axes.append((token, axis, m.Range(*free[token])))
    else:
        simple, along = _SIMPLE.get(mobility.type, m.Fixed()), joint.axis_in_child
        if along is None or mobility.type in {None, JointType.FIXED, *_SIMPLE}:
            return (("", simple),)
        if mobility.type is JointType.PLANAR:
            return (("", m.Planar(vec3(np.array(along) + 0.0))),)
        limits = m.UNLIMITED
        if mobility.lower is not None and mobility.upper is not None:
            limits = m.Range(mobility.lower, mobility.upper)
        declared = text_attribute(prim, "urdf:joint:type")
        # Not in our own conversions.
        if limits.lower > limits.upper and declared is None and lockable:
            return (("", simple),)
        kind = "linear" if mobility.type is JointType.PRISMATIC else "angular"
        axes.append((next(iter(free), kind), along, limits))
    motion: list[tuple[str, m.JointKind]] = []
    for token, axis, limits in axes:
        own = vec3(np.array(axis) + 0.0)
        if token.startswith(("linear", "trans")):
            motion.append((token, m.Prismatic(own, limits)))
        elif declared == "revolute" or limits != m.UNLIMITED:
            motion.append((token, m.Revolute(own, limits)))
        else:
            motion.append((token, m.Continuous(own)))
    return tuple(motion) or (("", m.Fixed()),)


def _is_polynomial(prim: Usd.Prim) -> bool:
    """Whether MuJoCo's coupling of a joint is not linear."""
    powers = (prim.GetAttribute(f"mjc:coef{power}").Get() for power in (2, 3, 4))
    return simulation.MUJOCO in stages.applied_schemas(prim) and any(powers)


def _dropped_settings(stage: Usd.Stage, prims: Sequence[Usd.Prim]) -> Iterator[Diagnostic]:
    """Report armature and gains of joints, which URDF does not have."""
    # The force of an actuator of MuJoCo without bias is its control alone.
    servos = {
        target
        for prim in stage.Traverse()
        if prim.GetTypeName() == "MjcActuator"
        and text_attribute(prim, "mjc:biasType") not in {None, "none"}
        and any(prim.GetAttribute("mjc:biasPrm").Get() or ())
        for target in prim.GetRelationship("mjc:target").GetTargets()
    }
    heavier = driven = 0
    for prim in prims:
        authored = {x.GetName() for x in prim.GetAuthoredAttributes() if x.Get()}
        heavier += any(name.endswith(":armature") for name in authored)
        # A spring of MuJoCo is the same as a drive with stiffness.
        gains = [x for x in authored if x.endswith((":physics:stiffness", ":physics:damping"))]
        driven += bool(gains) or "mjc:stiffness" in authored or prim.GetPath() in servos
    if heavier:
        message = f"armature of {heavier} joints is not URDF; left out"
        yield Diagnostic("joint-armature-dropped", message)
    if driven:
        message = f"gains and targets of {driven} drives are not URDF; left out"
        yield Diagnostic("joint-drive-dropped", message)


class Mechanism:
    """The links and joints of a robot; messages are added to ``notes``.

    Joints are between the frames of links. These differ from the frames of their prims where the up
    axis or a joint axis away from the origin demands it.
    """

    def __init__(
        self,
        reading: Reading,
        links: Sequence[StageLink],
        connected: Sequence[Connection],
        reversed_limits: Container[str],
        notes: list[Diagnostic],
    ) -> None:
        # The tree starts at the world, or at a body that is the child of no joint: of several, the
        # articulation root is preferred, then the first of the stage.
        members = [link.path for link in links if link.is_body]
        carried = {
            joint.bodies[1]
            for joint in connected
            if joint.articulated or joint.mobility.type is JointType.FLOATING
        }
        free = [body for body in members if body not in carried] or members
        marked = [x for x in free if reading.prim(x).HasAPI(UsdPhysics.ArticulationRootAPI)]
        tree = connecting.span_tree(connected, members, (marked or free)[:1])
        for loop in tree.loops:
            message = f"joint {loop.path} closes a loop; left out, --loops keeps it as data"
            notes.append(Diagnostic("joint-loop-opened", message))
        in_tree = {joint.path: joint for joint in tree.joints}
        tree_joints = [in_tree[joint.path] for joint in connected if joint.path in in_tree]
        prims = [reading.prim(joint.path) for joint in tree_joints]
        names = _unique_names("joint", prims, notes)
        motions = [
            _read_motion(joint, reading, notes, lockable=name not in reversed_limits)
            for joint, name in zip(tree_joints, names, strict=True)
        ]
        notes += _dropped_settings(reading.stage, prims)
        named = _unique_names("link", [reading.prim(link.path) for link in links], notes)
        # Links that are prims, in stage order.
        self.links = [structs.replace(x, name=name) for x, name in zip(links, named, strict=True)]
        self._reading, self._notes = reading, notes
        every = [*zip(tree_joints, names, motions, strict=True)]
        # Names of the joints of one axis, by path.
        self._single = {joint.path: name for joint, name, motion in every if len(motion) == 1}
        self._taken = {*names}
        self._by_name = {link.name: link for link in self.links}
        self._by_path = {link.path: link for link in self.links}
        self._world_name = "world"
        while self._world_name in self._by_name:
            self._world_name += "_"
        self._taken_links = {*self._by_name, self._world_name}
        # The prim that represents the world, or the name of an added link that does.
        worlds = (x for x in self.links if x.body == WORLD and x.above is None)
        self._world_link = next(worlds, None)
        at_world = any(WORLD in joint.bodies for joint in connected) or tree.base is None
        self.world = self._world_name if at_world and self._world_link is None else None
        # (4, 4) frame of a link in the frame of its prim, if they differ.
        self.moved: dict[str, Array] = {}
        self._robot = str(reading.robot.GetPath())
        self._is_y_up = UsdGeom.GetStageUpAxis(reading.stage) == UsdGeom.Tokens.y
        root = None if at_world else tree.base
        start = self._world_link.path if self._world_link else root
        if start is not None and self._is_y_up:
            self.moved[start] = self._upright(start)
        for joint, name, motion in every:
            if self._move_to_axis(joint, motion):
                message = f"frame of {joint.ends[1]} moves to joint {name!r}"
                notes.append(Diagnostic("joint-moved", message))
        # Joints in stage order, then those of frames; links without prim and mass, between the
        # joints of chains.
        self.joints: list[m.Joint] = []
        self.intermediate: list[m.Link] = []
        for joint, name, motion in every:
            chain = self._chain(joint, name, motion)
            self.intermediate += (m.Link(one.child, MASSLESS) for one in chain[:-1])
            self.joints += chain
        self._taken = {joint.name for joint in self.joints}
        # USD represents the fixed joint of a frame only by nested prims.
        frames = [link for link in self.links if link.above and not link.is_body]
        self.joints += [self._weld(link, link.above or "") for link in frames]
        self._taken = {joint.name for joint in self.joints}
        # Joints that close loops.
        self.loops = tuple(self._loop(joint) for joint in connected if joint in tree.loops)

    def _upright(self, path: str) -> Array:
        """Return the (4, 4) frame with Z up in a prim's frame."""
        # The identity if the prim's Z axis points up more than its Y axis: robots that were
        # converted from Z up are often rotated at their root prim.
        up = self._reading.rigid(path)[1, :3]
        return _STANDING if self._is_y_up and not up[2] > up[1] else np.eye(4)

    def _move_to_axis(self, joint: Connection, motion: Motion) -> bool:
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
        return rigid(self._reading.within(link.path, link.body or self._robot)) @ moved

    def _side(self, joint: Connection, side: int) -> tuple[StageLink | None, Array]:
        """Return the link of a side, and the (4, 4) joint frame in its body, or the robot's."""
        if joint.bodies[side] != WORLD:
            return self._by_path[joint.bodies[side]], joint.anchors[side]
        return self._world_link, self._reading.inverse(self._robot) @ joint.anchors[side]

    def _chain(self, joint: Connection, name: str, motion: Motion) -> list[m.Joint]:
        """Write a joint of the tree; one of several axes as a chain, whose names are taken."""
        prim = self._reading.prim(joint.path)
        parent, anchor = self._side(joint, joint.parent)
        # A conversion stores the name of a parent link that is no body.
        stated = self._by_name.get(text_attribute(prim, "urdf:joint:parent") or "")
        if stated is not None and not joint.reversed:
            parent = stated
        child, child_anchor = self._side(joint, joint.child)
        assert child is not None  # noqa: S101  the world is no child
        before = inverses(self._frame(parent)) @ anchor
        after = inverses(child_anchor) @ self._frame(child)
        self._notes += self._faulty_leaders(prim)
        tokens, custom = tuple(token for token, _ in motion), read_custom(prim)
        is_chain = len(tokens) > 1
        names, between = [name], list[str]()
        origins = [pose_from_transform(before @ after)]
        if is_chain:
            names = [_unused(f"{name}_{token}", self._taken) for token in tokens]
            between = [_unused(f"{name}_{token}_link", self._taken_links) for token in tokens[:-1]]
            mark = chain_mark(name, tokens, backwards=joint.reversed)
            custom += m.Custom(elements=(mark,))
            inner = [m.IDENTITY] * (len(tokens) - 2)
            origins = [pose_from_transform(before), *inner, pose_from_transform(after)]
            message = f"joint {joint.path} has {len(tokens)} axes and becomes {', '.join(names)}"
            self._notes.append(Diagnostic("joint-split", message))
        ends = [parent.name if parent else self._world_name, *between, child.name]
        return [
            m.Joint(
                names[index],
                ends[index],
                ends[index + 1],
                kind,
                origins[index],
                **self._fields(prim, kind, token, of_axis=is_chain),
                custom=custom if index == 0 else m.Custom(),
            )
            for index, (token, kind) in enumerate(motion)
        ]

    def _weld(self, link: StageLink, above: str) -> m.Joint:
        """Write the fixed joint of a frame to the link above it."""
        prim, nested = self._reading.prim(link.path), rigid(self._reading.within(link.path, above))
        if (moved := self.moved.get(above)) is not None:
            nested = inverses(moved) @ nested
        name = text_attribute(prim, "urdf:joint:name") or f"{link.name}_joint"
        return m.Joint(
            _unused(name, self._taken),
            self._by_path[above].name,
            link.name,
            m.Fixed(),
            pose_from_transform(nested),
            **self._fields(prim, m.Fixed(), ""),
            custom=read_custom(prim, of_joint=True),
        )

    def _loop(self, joint: Connection) -> m.LoopJoint:
        prim = self._reading.prim(joint.path)
        sides = [self._side(joint, side) for side in (0, 1)]
        first, second = (link.name if link else self._world_name for link, _ in sides)
        poses = [pose_from_transform(inverses(self._frame(x)) @ anchor) for x, anchor in sides]
        axis = None
        if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint):
            token = str(prim.GetAttribute("physics:axis").Get() or "X")
            axis = vec3(np.eye(3)["XYZ".index(token)])
        name, kind = _unused(legible_name(prim), self._taken), str(prim.GetTypeName())
        return m.LoopJoint(name, kind, (first, second), (poses[0], poses[1]), axis)

    def _fields(
        self, prim: Usd.Prim, kind: m.JointKind, token: str, *, of_axis: bool = False
    ) -> dict[str, Any]:
        """Read the fields of a joint of URDF other than its type and frames.

        ``token`` is the instance of schemas for its axis. Of a joint of several axes (``of_axis``),
        attributes of the whole joint are not read, because schemas do not state how they apply.
        """
        units = self._reading.units
        moves = isinstance(kind, m.Revolute | m.Continuous | m.Prismatic)
        freedom = simulation.Freedom(not isinstance(kind, m.Prismatic), token)
        # NaN is a range with two bounds, of which URDF has one.
        lower, upper = simulation.force_range(prim) or (0.0, 0.0)
        bound = max(-lower, upper) * units.effort(angular=freedom.angular)

        def own(name: str) -> float | None:
            return None if of_axis else stages.number_attribute(prim, f"urdf:{name}")

        def number(field: str) -> float | None:
            """Return the first number of schemas, or the smallest effort; ours if it is equal."""
            custom = own(field)
            sources = simulation.stated_numbers(field, prim, freedom, units, of_axis=of_axis)
            values = [x for _, _, x in sources if x is not None] if moves else []
            if field == "limit:effort":
                values = sorted(bound if math.isnan(x) else x for x in values)
            if not values or (
                custom is not None
                and math.isclose(custom, values[0], rel_tol=_SAME, abs_tol=_NOTHING)
            ):
                return custom
            return values[0]

        dynamics = m.Dynamics(number("dynamics:damping"), number("dynamics:friction"))
        safety = m.SafetyController(*(own(f"safety_controller:{name}") for name in _SAFETY))
        calibration = m.Calibration(own("calibration:rising"), own("calibration:falling"))
        return {
            "effort": number("limit:effort"),
            "velocity": number("limit:velocity"),
            **{name: own(f"limit:{name}") for name in ("acceleration", "deceleration", "jerk")},
            "dynamics": None if dynamics == m.Dynamics() else dynamics,
            "mimic": self._mimic(prim) if moves and not of_axis else None,
            "safety": None if safety == m.SafetyController() else safety,
            "calibration": None if calibration == m.Calibration() else calibration,
            "dont_collapse": not of_axis
            and bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
        }

    def _mimic(self, prim: Usd.Prim) -> m.Mimic | None:
        """Read the mimic coupling of a joint.

        If the schemas of simulators agree with the ``urdf:`` attributes, possibly after resolving a
        chain, or state nothing, the coupling of these is returned.
        """
        leader = text_attribute(prim, "urdf:mimic:joint")
        multiplier = stages.number_attribute(prim, "urdf:mimic:multiplier")
        offset = stages.number_attribute(prim, "urdf:mimic:offset")
        custom = None
        if leader in self._single.values() and multiplier is not None and offset is not None:
            custom = m.Mimic(str(leader), multiplier, offset)
        remarks: list[str] = []
        found = simulation.coupling(stages.urdf_name(prim), self._reading, remarks)
        is_read = found is not None and found.leader in {*self._single.values()} - {
            stages.urdf_name(prim)
        }
        if found is None or not is_read or _is_polynomial(prim) or (custom and not remarks):
            return custom
        return m.Mimic(found.leader, found.multiplier + 0.0, found.offset + 0.0)

    def _faulty_leaders(self, prim: Usd.Prim) -> Iterator[Diagnostic]:
        """Find couplings to a prim that is no joint of the robot, or to the joint itself."""
        # Those to no joint are not read, nor are polynomials of MuJoCo.
        applied, path = stages.applied_schemas(prim), prim.GetPath()
        if _is_polynomial(prim):
            message = f"joint {path} follows a polynomial of another; omitted"
            yield Diagnostic("mimic-polynomial", message)
        is_newton = prim.GetAttribute("newton:mimicEnabled").Get() is not False
        relationships = ["newton:mimicJoint"] * is_newton
        relationships += ["mjc:target"] * (simulation.MUJOCO in applied)
        relationships += (
            f"physxMimicJoint:{schema.partition(':')[2]}:referenceJoint"
            for schema in applied
            if schema.startswith("PhysxMimicJointAPI:")
        )
        for name in relationships:
            for target in prim.GetRelationship(name).GetTargets()[:1]:
                if target == path:
                    yield Diagnostic("mimic-loop", f"joint {path} mimics itself")
                elif str(target) not in self._single:
                    message = f"joint {path} mimics {target}, which is no joint"
                    yield Diagnostic("mimic-target-missing", message)
