"""Joints as connections between bodies, and the tree of bodies that they span.

The tree follows the joints, not the nesting of prims, so that nested and flat assets have the same
poses. Its roots are the world, and one body of each mechanism that is not connected to the world.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs
from pxr import UsdPhysics

from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.statements import (
    Array,
    inverses,
    matrices,
    separation,
    transforms,
    turns,
    vec3,
)
from urdf_usd.conformance.observation import robot as observed
from urdf_usd.conformance.observation.robot import JointType

AXES = {UsdPhysics.Axis.X: 0, UsdPhysics.Axis.Y: 1, UsdPhysics.Axis.Z: 2}
_KINDS = UsdPhysics.ObjectType
# Equal limits of zero are that far apart in the variant for MuJoCo, which refuses an empty range
# [degrees or distance].
_NO_RANGE = 2.0**-120
# The parser disables a revolute limit with a bound beyond 5e37 degrees, so that writers use some
# other large number for a range that is open on one side.
UNBOUNDED = 1e30
_UNLIMITED = (-math.inf, math.inf)
# By the numbers of free translations and rotations.
_AXISLESS = {(0, 0): JointType.FIXED, (0, 3): JointType.SPHERICAL, (3, 3): JointType.FLOATING}
ANGULAR = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})


class Mobility(Struct, frozen=True):
    """Motion that a joint allows its second side relative to its first."""

    type: JointType | None  # None if URDF has no such type
    axis: int | None = None  # coordinate axis of the joint frame about or along which it moves
    lower: float | None = None  # [rad or m]; None where the type has none
    upper: float | None = None
    note: str | None = None  # what is unusual about it


class Connection(Struct, frozen=True, eq=False):
    """A joint as the parser resolves it; frames in metres."""

    name: str  # URDF name
    path: str  # of the prim that states the joint
    bodies: tuple[str, str]  # on side 0 and 1; WORLD for the world and static colliders
    targets: tuple[str, str]  # authored targets of the joint; empty for none
    anchors: tuple[Array, Array]  # (4, 4) joint frame in the frame of the body on each side
    mobility: Mobility  # motion of side 1 relative to side 0
    articulated: bool  # whether it may be part of an articulation's tree
    reversed: bool = False  # whether side 1 is the parent, seen from the base

    @property
    def parent(self) -> int:
        return 1 if self.reversed else 0

    @property
    def child(self) -> int:
        return 1 - self.parent

    @property
    def ends(self) -> tuple[str, str]:
        return self.bodies[self.parent], self.bodies[self.child]

    @property
    def axis_in_child(self) -> observed.Vec3 | None:
        """Unit vector, in the child's frame, of positive motion of the child."""
        if self.mobility.axis is None:
            return None
        column = self.anchors[self.child][:3, self.mobility.axis]
        return vec3(-column if self.reversed else column)


def connections(
    reading: stages.Reading, *, welds: bool = True
) -> tuple[tuple[Connection, ...], list[tuple[str, str]]]:
    """Return the joints that connect something, and rules and messages on the others.

    A disabled joint is a floating joint of URDF if it has no limits either, and nothing else
    connects its bodies. Otherwise it has no effect. Colliders without a rigid body at or above them
    are the world. With ``welds``, floating joints in custom attributes of bodies are joints.
    """
    found: list[Connection] = []
    free: list[Connection] = []
    notes: list[tuple[str, str]] = []
    for path, x in reading.joints.items():
        prim, is_enabled = reading.prim(path), x.jointEnabled
        for target in (x.rel0, x.rel1):
            if not target.isEmpty and not reading.prim(target):
                message = f"joint {path} targets {target}, which does not exist: that side is "
                notes.append(("joint-target-missing", f"{message}attached to the world"))
        mobility = _mobility(x, reading.units)
        marked = stages.text_attribute(prim, "urdf:joint:type") == "floating"
        if not (is_enabled or marked or mobility.type is JointType.FLOATING):
            notes.append(("joint-disabled", f"joint {path} is disabled and connects nothing"))
            continue
        bodies, anchors, absent = [], [], []
        for body, position, quat in (
            (str(x.body0), x.localPose0Position, x.localPose0Orientation),
            (str(x.body1), x.localPose1Position, x.localPose1Orientation),
        ):
            # From float32 values, normalised in double.
            turn = matrices((quat.GetReal(), *quat.GetImaginary()))
            anchor = transforms(turn, np.array(position, np.float64) * reading.units.length)
            if body and body not in reading.bodies:
                end = reading.prim(body)
                is_simulated = end.IsActive() and end.IsDefined() and not end.IsAbstract()
                if end.HasAPI(UsdPhysics.RigidBodyAPI) or not is_simulated:
                    absent.append(body)
                else:
                    anchor = reading.rigid(body) @ anchor
                body = stages.WORLD
            bodies.append(body)
            anchors.append(anchor)
        if absent:
            message = f"joint {path} targets {absent[0]}, which is no active body below the default"
            notes.append(("joint-body-outside", f"{message} prim: it connects nothing"))
        elif bodies[0] == bodies[1]:
            message = f"joint {path} has one body, or none, on both sides"
            notes.append(("joint-not-urdf", message))
        else:
            joint = Connection(
                name=stages.urdf_name(prim),
                path=path,
                bodies=(bodies[0], bodies[1]),
                targets=(str(x.rel0), str(x.rel1)),
                anchors=(anchors[0], anchors[1]),
                mobility=mobility if is_enabled else Mobility(JointType.FLOATING),
                articulated=not x.excludeFromArticulation,
            )
            (found if is_enabled or marked else free).append(joint)
    for joint in free:
        reached = {joint.bodies[0]}
        for _, other in itertools.product(found, found):
            reached.update(other.bodies if reached & {*other.bodies} else ())
        if joint.bodies[1] in reached:
            notes.append(("joint-disabled", f"joint {joint.path} is disabled and connects nothing"))
        else:
            found.append(joint)
    named = {joint.name for joint in found}
    for link in reading.links.values() if welds else ():
        weld = link.weld
        if link.is_body and weld and weld.type is JointType.FLOATING and weld.joint not in named:
            found.append(_floating_body(link, weld.joint, weld.parent or link.above, reading))
    return tuple(found), notes


def _floating_body(
    link: stages.LinkPrim, joint: str, parent_name: str | None, reading: stages.Reading
) -> Connection:
    """Return the floating joint that a body's custom attributes state."""
    parent = reading.links.get(parent_name or "")
    carrier = parent.body if parent else stages.WORLD
    return Connection(
        name=joint,
        path=link.path,
        bodies=(carrier, link.path),
        targets=(parent.path if parent else "", link.path),
        anchors=(reading.inverse(carrier) @ reading.rigid(link.path), np.eye(4)),
        mobility=Mobility(JointType.FLOATING),
        articulated=False,
    )


def free_bodies(
    configurations: observed.Configurations, reading: stages.Reading, joints: Sequence[Connection]
) -> tuple[Connection, ...]:
    """Return floating joints of bodies that nothing connects to the world."""
    # USD has no prim for them. They are those that the configurations move under the name
    # ``<body>_free``, as of the objects beside a robot in an MJCF.
    tied = {body for joint in joints if stages.WORLD in joint.bodies for body in joint.bodies}
    return tuple(
        _floating_body(link, f"{link.name}_free", None, reading)
        for link in reading.links.values()
        if link.is_body and link.path not in tied and f"{link.name}_free" in configurations.joints
    )


def _mobility(descriptor: UsdPhysics.JointDesc, units: stages.Units) -> Mobility:
    match descriptor.type:
        case _KINDS.FixedJoint:
            return Mobility(JointType.FIXED)
        case _KINDS.RevoluteJoint | _KINDS.PrismaticJoint as kind:
            token = f"{'rot' if kind == _KINDS.RevoluteJoint else 'trans'}{descriptor.axis.name}"
            limit = descriptor.limit
            return _single(token, _bounds(limit, token, units) if limit.enabled else None)
        case _KINDS.SphericalJoint:
            limited = descriptor.limit.enabled
            return Mobility(JointType.SPHERICAL, note="its cone is limited" if limited else None)
        case _KINDS.DistanceJoint:
            return Mobility(None, note="it is a distance joint")
    free = free_axes(descriptor, units)
    unusual = [token for token, (low, high) in free.items() if low == high]
    unusual += [
        "distance"
        for pair in descriptor.jointLimits
        if pair.first.name == "Distance" and pair.second.enabled
    ]
    if unusual:
        return Mobility(None, note=f"its limits hold or bound {', '.join(unusual)}")
    bounded = [token for token, bounds in free.items() if bounds != _UNLIMITED]
    if len(free) == 1:
        ((token, bounds),) = free.items()
        return _single(token, bounds if bounded else None)
    slides, spins = (
        ["XYZ".index(token[-1]) for token in free if token.startswith(kind)]
        for kind in ("trans", "rot")
    )
    note = "some of its free axes have limits" if bounded else None
    if len(slides) == 2 and len(spins) == 1 and not {*spins} & {*slides}:
        return Mobility(JointType.PLANAR, spins[0], note=note)
    found = _AXISLESS.get((len(slides), len(spins)))
    return Mobility(found, note=note if found else f"it leaves {', '.join(free)} free")


def _single(token: str, bounds: tuple[float, float] | None) -> Mobility:
    is_angular, axis = token.startswith("rot"), "XYZ".index(token[-1])
    if is_angular and bounds is None:
        return Mobility(JointType.CONTINUOUS, axis)
    lower, upper = bounds or _UNLIMITED
    note = "its limits lock it: lower is above upper" if lower > upper else None
    kind = JointType.REVOLUTE if is_angular else JointType.PRISMATIC
    return Mobility(kind, axis, lower, upper, note)


def _bounds(limit: UsdPhysics.JointLimit, token: str, units: stages.Units) -> tuple[float, float]:
    if (limit.lower, limit.upper) == (0.0, _NO_RANGE):
        return 0.0, 0.0
    lower, upper = (
        value * units.position(angular=token.startswith("rot"))
        if abs(value) < UNBOUNDED
        else math.copysign(math.inf, value)
        for value in (limit.lower, limit.upper)
    )
    return lower, upper


def free_axes(
    descriptor: UsdPhysics.D6JointDesc, units: stages.Units
) -> dict[str, tuple[float, float]]:
    """Return the limits [m or rad] of the axes of a D6 joint that are not locked.

    An axis without a limit, or with a disabled one, is free; it is locked if lower is above upper,
    or both are zero. The names are those of instances of ``PhysicsLimitAPI``.
    """
    limits = {pair.first.name: pair.second for pair in descriptor.jointLimits}
    axes = {}
    for token in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
        limit = limits.get(token[0].upper() + token[1:])
        low, high = _bounds(limit, token, units) if limit and limit.enabled else _UNLIMITED
        if low <= high and (low, high) != (0.0, 0.0):
            axes[token] = low, high
    return axes


class BodyTree(Struct, frozen=True):
    # Joints of the tree, parent before child, reversed where needed so that their parent side is
    # nearer to the root
    joints: tuple[Connection, ...]
    loops: tuple[Connection, ...]  # joints that close a loop
    roots: tuple[str, ...]  # bodies that are no child of a joint, at their authored poses

    @property
    def base(self) -> str | None:
        """Body next to the world, else the first root, if there is any body."""
        at_world = (joint.ends[1] for joint in self.joints if joint.ends[0] == stages.WORLD)
        return next(at_world, self.roots[0] if self.roots else None)


def span_tree(
    joints: Sequence[Connection], bodies: Sequence[str], preferred: Sequence[str]
) -> BodyTree:
    seconds = {joint.bodies[1] for joint in joints}
    # The child of a floating joint is the root of a mechanism, but not of the robot.
    adrift = {joint.bodies[1] for joint in joints if joint.mobility.type is JointType.FLOATING}
    starts = [body for body in preferred if body in bodies and body not in adrift]
    starts += [body for body in bodies if body not in seconds]
    placed = {stages.WORLD}
    ordered = _grow(joints, stages.WORLD, placed)
    roots = []
    for start in (*starts, *bodies):
        if start not in placed:
            placed.add(start)
            roots.append(start)
            ordered += _grow(joints, start, placed)
    used = {joint.path for joint in ordered}
    loops = tuple(joint for joint in joints if joint.path not in used)
    return BodyTree(tuple(ordered), loops, tuple(roots))


def _grow(joints: Sequence[Connection], start: str, placed: set[str]) -> list[Connection]:
    """Add bodies that are reachable from a body to ``placed``; return the joints used."""
    # Joints that are excluded from articulations close loops, so they are used last; before them
    # those whose first body is the child.
    ordered: list[Connection] = []
    reached = {start}
    while True:
        steps = [
            structs.replace(joint, reversed=joint.reversed ^ (joint.bodies[0] not in reached))
            for joint in joints
            if (joint.bodies[0] in reached) != (joint.bodies[1] in reached)
            and not placed.issuperset(joint.bodies)
        ]
        if not steps:
            return ordered
        step = min(steps, key=lambda joint: (not joint.articulated, joint.reversed))
        ordered.append(step)
        reached.add(step.ends[1])
        placed.add(step.ends[1])


def place_bodies(
    tree: BodyTree, reading: stages.Reading, configurations: observed.Configurations
) -> dict[str, Array]:
    """Return the (K, 4, 4) world transforms of all bodies, and of the world."""
    still = np.tile(np.eye(4), (configurations.count, 1, 1))
    poses = {root: reading.rigid(root) @ still for root in (stages.WORLD, *tree.roots)}
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    for joint in tree.joints:
        parent, child = joint.ends
        # (K, 4, 4) of the child's joint frame in the parent's.
        motion = _motion(joint, positions.get(joint.name))
        anchors = joint.anchors[joint.parent], joint.anchors[joint.child]
        relative = anchors[0] @ (still if motion is None else motion) @ inverses(anchors[1])
        poses[child] = poses[parent] @ relative
    return poses


def _motion(joint: Connection, given: Array | None) -> Array | None:
    """Return (K, 4, 4) transforms of the child's joint frame in the parent's."""
    kind, axis = joint.mobility.type, joint.mobility.axis
    if kind is None or given is None or given.shape[1] != observed.COORDINATES[kind]:
        return None
    # A position counts from side 0 to side 1, whichever of them is the parent.
    sign = -1.0 if joint.reversed else 1.0
    anchor = joint.anchors[joint.child]
    to_child = anchor[:3, :3]
    match kind, axis:
        case ((JointType.REVOLUTE | JointType.CONTINUOUS), int()):
            return transforms(turns(axis, sign * given[:, 0]))
        case JointType.PRISMATIC, int():
            return transforms(position=sign * given * np.eye(3)[axis])
        case JointType.PLANAR, int():
            # Displacements are in the child's frame at zero; those off the plane count not.
            about = to_child @ turns(axis, sign * given[:, 3]) @ to_child.T
            motions: Array = inverses(anchor) @ transforms(about, given[:, :3]) @ anchor
            motions[:, axis, 3] = 0.0
            return motions
        case JointType.FLOATING, _:
            motion = transforms(matrices(given[:, 3:]), given[:, :3])
            moved: Array = inverses(anchor) @ motion @ anchor
            return moved
        case JointType.SPHERICAL, _:
            # Coordinates are rotations of the child frame, about the anchor.
            return transforms(to_child.T @ matrices(given) @ to_child)
    return None


def assembly_gaps(
    joints: Sequence[Connection], reading: stages.Reading
) -> tuple[observed.AssemblyGap, ...]:
    """Compare both frames of every joint at the authored poses."""
    gaps = []
    for joint in joints:
        sides = zip(joint.bodies, joint.anchors, strict=True)
        apart = separation(*(reading.rigid(body) @ anchor for body, anchor in sides))
        gaps.append(observed.AssemblyGap(joint.name, *apart))
    return tuple(gaps)


def articulated_bodies(reading: stages.Reading) -> tuple[str, ...]:
    """Return the bodies that articulations start from."""
    starts = (str(path) for found in reading.articulations.values() for path in found.rootPrims)
    return tuple(path for path in starts if path in reading.bodies)


def articulation_faults(
    reading: stages.Reading, joints: Sequence[Connection], tree: BodyTree
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the joints of the robot that belong to no articulation, and moving ones at the world."""
    # The parser lists the moving joints of an articulation, and some of those that are excluded
    # from it. A fixed joint to the world defines the base of an articulation, which PhysX reads as
    # floating if the joint is excluded. For a single body with a joint to the world, the parser
    # lists the joint alone. It reports the world for the default prim and for missing targets, and
    # the collider for static colliders.
    articulations = reading.articulations.values()
    listed = {str(path) for found in articulations for path in found.articulatedJoints}
    inside = {joint.path for joint in joints if joint.articulated and joint.path in listed}
    outside = []
    for joint in tree.joints:
        is_inside = joint.path in inside
        if joint.mobility.type is JointType.FIXED:
            is_inside = joint.articulated or (stages.WORLD in joint.bodies and not articulations)
        if not is_inside and joint.mobility.type is not JointType.FLOATING:
            outside.append(joint.name)
    at_world = (
        joint.name
        for joint in joints
        if not reading.bodies.keys() >= set(joint.bodies)
        and joint.path in inside
        and joint.mobility.type not in {JointType.FLOATING, JointType.FIXED}
        # Solvers keep a distance joint out of the articulation's tree.
        and reading.joints[joint.path].type != _KINDS.DistanceJoint
    )
    return tuple(outside), tuple(at_world)
