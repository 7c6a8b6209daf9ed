"""What an engine, or a simulation settings file, states about one robot, in SI units.

An observation holds what one engine computes from one file, without a verdict.
``None`` in a field means *absent*; :attr:`Observation.states` lists the quantities that
the engine can state at all. Frames are relative to the URDF's root link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.shapes import ShapeObservation
from urdf_usd.reports.records.record import Value

USUAL_FRICTIONS = (0.5, 1.0)
"""Of PhysX and Newton for colliders without a contact material.

REP 158 requires contact materials, and a URDF implies none.
"""
Vec3: TypeAlias = tuple[float, float, float]
Vec6: TypeAlias = tuple[float, float, float, float, float, float]

# Unit roundoff: the largest relative error of one rounded operation.
DOUBLE_PRECISION = 2.0**-53
SINGLE_PRECISION = 2.0**-24


class DriveObservation(Struct, frozen=True):
    joint: str  # URDF name
    stiffness: float  # [N m/rad or N/m]
    damping: float  # [N m s/rad or N s/m]
    target_position: float | None = None  # [rad or m]; None if the engine does not state it
    target_velocity: float | None = None  # [rad/s or m/s]; likewise
    acceleration: bool = False  # whether gains are divided by the inertia that the drive moves


class ContactMaterialObservation(Struct, frozen=True):
    """Coefficients of the contact material of colliders; None without a material."""

    link: str  # URDF name of the link, or of a prim that may be one
    static: float | None  # static friction
    dynamic: float | None  # dynamic friction
    restitution: float | None = 0.0  # restitution
    source: str = ""  # prim path of the collider; empty for all of the link


class SimulationObservation(Struct, frozen=True):
    """Settings of a simulation; None if not stated, NaN if simulators read them differently."""

    # drives, with or without gains, one per joint at most
    drives: tuple[DriveObservation, ...] | None = None
    # joints, and inertia of their motors [kg m^2 or kg]
    armatures: tuple[tuple[str, float], ...] | None = None
    # joints, and initial positions other than zero [rad or m]
    positions: tuple[tuple[str, float], ...] | None = None
    # pairs of links that do not collide, each sorted
    filtered_pairs: tuple[tuple[str, str], ...] | None = None
    # further pairs that may be filtered: colliders nearly touch
    tolerated_pairs: tuple[tuple[str, str], ...] = ()
    # whether links of the robot collide with each other; None also if the file leaves it to
    # simulators
    self_collision: bool | None = None
    # of links, or of each collider: one for each prim that may be its link, the nearest first
    contact_materials: tuple[ContactMaterialObservation, ...] | None = None
    # joints, and stiffness of the springs at their limits [N m/rad or N/m]
    limit_stiffnesses: tuple[tuple[str, float], ...] | None = None
    # joints, and damping of these springs [N m s/rad or N s/m]
    limit_dampings: tuple[tuple[str, float], ...] | None = None
    sources: tuple[str, ...] = ()  # what the settings come from, for the record; empty for engines


class Quantity(StrEnum):
    LINKS = "links"
    JOINTS = "joints"
    JOINT_TYPES = "joint types"
    BASE = "base"
    MIMIC = "mimic"
    FRAMES = "frames"
    MASS = "mass"
    LIMITS = "limits"
    EFFORT = "effort"
    VELOCITY = "velocity"
    DYNAMICS = "dynamics"
    MOTION = "equations of motion"
    ROLLOUT = "rollout"
    COLLISION = "collision shapes"
    VISUAL = "visual shapes"
    SIMULATION = "settings of a simulation"


class JointType(StrEnum):
    """Kinds of motion, named as in URDF."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    PLANAR = "planar"
    FIXED = "fixed"
    FLOATING = "floating"
    SPHERICAL = "spherical"


_NUMBERS = {
    JointType.REVOLUTE: (1, 1, 0),
    JointType.CONTINUOUS: (1, 1, 0),
    JointType.PRISMATIC: (1, 1, 1),
    JointType.PLANAR: (4, 4, 3),
    JointType.FIXED: (0, 0, 0),
    JointType.FLOATING: (7, 6, 3),
    JointType.SPHERICAL: (4, 3, 0),
}
# Position coordinates per joint type. A joint at position q places the child at
# origin * motion(q). Planar: displacement in the joint frame (x, y, z, normal to the
# axis), then the angle about the axis; floating: displacement, then quaternion wxyz;
# spherical: quaternion wxyz.
COORDINATES = {kind: count for kind, (count, _, _) in _NUMBERS.items()}
# Velocities per joint type, and their order: rates of the displacement, along the axes
# of the joint frame, then angular velocity about axes of the child. The component along
# the normal of a planar joint has no effect, so that no basis of its plane is needed.
VELOCITIES = {kind: count for kind, (_, count, _) in _NUMBERS.items()}
# Rates of displacement among the velocities; others are angular velocities.
TRANSLATIONS = {kind: count for kind, (_, _, count) in _NUMBERS.items()}

ROOT_MOTION = ""
"""Represents the free motion of the root link in place of a joint's name."""


class Base(StrEnum):
    FIXED = "fixed"
    FLOATING = "floating"
    STATIC = "static"


class MassProperties(Struct, frozen=True):
    """Mass of one body, or of bodies connected by fixed joints."""

    mass: float  # [kg]
    center: Vec3  # centre of mass in the link frame [m]
    # about the centre of mass, along the axes of the link frame: (ixx, ixy, ixz, iyy, iyz, izz)
    inertia: Vec6 | None  # [kg m^2]; None if the engine cannot state it


class LinkObservation(Struct, frozen=True):
    name: str  # URDF name
    mass: MassProperties | None = None  # None if massless, or counted with another link
    body: str | None = None  # link whose rigid body carries this link, if the engine reports it


class MimicObservation(Struct, frozen=True):
    """Position = multiplier * position of ``leader`` + offset [rad or m]."""

    leader: str
    multiplier: float
    offset: float


class JointObservation(Struct, frozen=True):
    name: str
    type: JointType
    parent: str
    child: str
    lower: float | None = None  # [rad or m], -inf if unlimited; None if the type has no limits
    upper: float | None = None  # [rad or m], inf if unlimited; None likewise
    effort: float | None = None  # largest force [N or N m]; None is absent
    velocity: float | None = None  # largest speed [rad/s or m/s]; None is absent
    damping: float | None = None  # [N m s/rad or N s/m]; None is absent
    friction: float | None = None  # [N m or N]; None is absent
    mimic: MimicObservation | None = None
    axis: Vec3 | None = None  # unit vector in the child frame, where the engine can state it
    anchor: Vec3 = (0.0, 0.0, 0.0)  # a point of the axis in the child frame [m]
    note: str | None = None  # why a value is absent or unusual, for the report


class Frames(Struct, frozen=True, eq=False):
    """Poses of link frames over configurations; read-only views."""

    links: tuple[str, ...]  # names of the L links, in the order of the second array axis
    positions: NDArray[np.float64]  # (K, L, 3) origins in the root link's frame [m]
    rotations: NDArray[np.float64]  # (K, L, 3, 3) from link vectors to the root frame
    labels: tuple[str, ...] = ()  # (K) names of the configurations; may be empty


class Dynamics(Struct, frozen=True, eq=False):
    """Equations of motion, M(q) u' + b(q, u) = forces, over configurations.

    The root link is free to move but at rest, and gravity of 9.81 m/s^2 pulls along
    its -Z. Velocities u are those of :data:`VELOCITIES`. Arrays are read-only.
    """

    # (n) joint of each degree of freedom; those that depend on unread values are left out
    joints: tuple[str, ...]  # grouped by joint; ``ROOT_MOTION`` for the six of the root
    inertia: NDArray[np.float64]  # (K, n, n) joint-space inertia M [kg, kg m or kg m^2]
    bias: NDArray[np.float64]  # (K, n) gravity, Coriolis and centrifugal forces b [N or N m]
    velocities: NDArray[np.float64]  # (K, n) velocities u for which the forces are stated


def velocity_indices(joints: Sequence[str]) -> dict[tuple[str, int], int]:
    """Index velocities by joint, and number within the joint."""
    seen: Counter[str] = Counter()
    indices = {}
    for index, name in enumerate(joints):
        indices[name, seen[name]] = index
        seen[name] += 1
    return indices


class Configurations(Struct, frozen=True, eq=False):
    """The K configurations at which all engines state frames and motion.

    Mimic joints already follow their leader: an engine sets every joint as given.
    The first configuration is zero, wherever the limits are.
    """

    joints: tuple[str, ...]  # names of the moving joints
    positions: tuple[NDArray[np.float64], ...]  # per joint (K, d), as in :data:`COORDINATES`
    labels: tuple[str, ...]  # (K) names: zero, lower, upper, sample 0
    # per joint (K, d), as in :data:`VELOCITIES`; empty if all are at rest
    velocities: tuple[NDArray[np.float64], ...] = ()
    rollout: RolloutPlan | None = None  # plan of the passive rollout, if there is to be one
    root: str | None = None  # URDF name of the root link, which all frames are relative to
    motion_count: int | None = None  # first ones with equations of motion; None for all

    @property
    def count(self) -> int:
        return len(self.labels)

    @property
    def for_motion(self) -> Configurations:
        if self.motion_count is None:
            return self
        first, labels = slice(self.motion_count), self.labels[: self.motion_count]
        positions = tuple(values[first] for values in self.positions)
        velocities = tuple(values[first] for values in self.velocities)
        return structs.replace(self, positions=positions, labels=labels, velocities=velocities)


class Departure(Struct, frozen=True):
    """An inertia that the engine computes although the file states another."""

    link: str  # URDF name
    stated: Vec6  # tensor in the file, as in :class:`MassProperties`
    computed: Vec6  # tensor that the engine uses, likewise
    cause: str  # why, in one sentence


class Restatement(Struct, frozen=True):
    """The inertia of one link, where the file states it twice."""

    link: str  # URDF name
    attribute: str  # where the second statement is
    first: Vec6  # what the mass schema states, as in :class:`MassProperties`
    second: Vec6  # what the attribute states, likewise


class Word(Struct, frozen=True):
    """A number or text of a URDF that no schema of USD has."""

    # ``robot``, ``joint elbow``, or ``link arm`` and the candidates for links above it; the first
    # is empty if it belongs to a shape
    owners: tuple[str, ...]
    name: str  # such as ``safety_controller:k_velocity``; of an element ``<transmission>``
    value: float | str  # the number, the text, or the content of the element


class XmlContent(Struct, frozen=True):
    """An element that is no part of URDF: its tag, attributes, text and children."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    text: str
    children: tuple[XmlContent, ...] = ()

    def __str__(self) -> str:
        attributes = "".join(f' {name}="{v}"' for name, v in sorted(self.attributes))
        inside = self.text + "".join(map(str, self.children))
        return f"<{self.tag}{attributes}>{inside}</{self.tag}>"


class SettingKind(StrEnum):
    """What a setting concerns that no element of URDF states."""

    ARTICULATION = "articulation"
    SCENE = "scene"
    INITIAL_STATE = "initial state"
    DRIVE = "drive"
    JOINT = "joint"
    BODY = "body"
    FILTER = "collision filter"
    APPROXIMATION = "collision approximation"
    MATERIAL = "contact material"
    SUBDIVISION = "subdivision"
    GEOMETRY = "geometry"
    ANIMATION = "animation"
    VALUES = "unusable values"


class UnexpectedSetting(Struct, frozen=True):
    """A setting that changes what is simulated or shown, and that no URDF implies."""

    kind: SettingKind  # what it concerns
    subject: str  # the part that it changes: ``joint elbow``, ``link arm`` or ``robot``
    message: str  # what it does, and where it is authored
    expected: Value  # the value that a URDF implies
    actual: Value  # the value in the file
    attribute: str = ""  # name of the property, if it is a single one; ``*`` for an instance
    partner: str = ""  # the other part, of a pair that does not collide


class Implied(Struct, frozen=True):
    """Settings that a source states, and that are not compared: they are not unexpected."""

    kind: SettingKind | None = None  # what they concern; None for all kinds
    subject: str = ""  # as in :class:`UnexpectedSetting`; empty for all
    words: str = ""  # part of the attribute or of the message; empty for all
    besides: frozenset[str] = frozenset()  # attributes that are not implied


class AssemblyGap(Struct, frozen=True):
    """Distance of the two frames of a joint at the authored poses of the links."""

    joint: str  # URDF name
    position: float  # distance of the two origins [m]
    rotation: float  # angle between the two frames [rad]


class Observation(Struct, frozen=True, eq=False):
    engine: str  # name of the engine
    robot: str | None  # name of the robot as the engine reports it, or None
    root: str  # URDF name of the root link
    states: frozenset[Quantity]  # quantities this engine can state; all others are not comparable
    links: tuple[LinkObservation, ...]
    joints: tuple[JointObservation, ...]
    frames: Frames | None = None
    base: Base | None = None  # relation of the root to the world, if stated
    articulation_roots: int | None = None  # number of articulation roots, if the format has them
    notes: tuple[str, ...] = ()  # changes to the file that let the engine read it, and its warnings
    departures: tuple[Departure, ...] = ()  # inertias that the engine replaces by others
    assembly: tuple[AssemblyGap, ...] = ()  # per joint, if links and joints are placed apart
    defaulted: tuple[str, ...] = ()  # links whose mass is not in the file, but made up
    restated: tuple[Restatement, ...] = ()  # inertias that the file states twice
    nondynamic: tuple[str, ...] = ()  # links whose rigid body is kinematic or disabled
    unarticulated: tuple[str, ...] = ()  # joints that belong to no articulation
    at_world: tuple[str, ...] = ()  # moving joints of an articulation with the world on one side
    articulation_starts: tuple[str, ...] = ()  # links declared to be the root of an articulation
    # settings that no URDF implies; None if the engine reads none
    unexpected: tuple[UnexpectedSetting, ...] | None = None
    up: Vec3 | None = None  # up axis in the root link's frame, a unit vector, if the file states it
    repaired: tuple[str, ...] = ()  # links and joints whose text is ambiguous
    malformed: tuple[str, ...] = ()  # rules by which our own reader repaired malformed XML
    quaternions: tuple[str, ...] = ()  # links and joints with a quaternion of URDF 1.1
    unread_masses: tuple[str, ...] = ()  # links whose mass the engine does not read from the file
    precision: float = DOUBLE_PRECISION  # unit roundoff of the engine's arithmetic
    dynamics: Dynamics | None = None  # equations of motion; None if unstated, and a note says why
    rollout: Rollout | None = None  # states of the planned rollout, if any; None likewise
    # one in several frames belongs to the first of these links that the robot has
    shapes: tuple[ShapeObservation, ...] = ()
    # links and joints, as ``link arm``, that were matched by structure, and their names in the file
    renamed: tuple[tuple[str, str], ...] = ()
    made_up: tuple[str, ...] = ()  # those, as ``link arm``, that have no name in the file
    implied: tuple[Implied, ...] = ()  # settings that the file states, and that are not compared
    # parts of the file that no observation has, such as actuators, and their numbers
    uncompared: tuple[tuple[str, int], ...] = ()
    prims: tuple[tuple[str, str], ...] = ()  # links and joints, as ``link arm``, and prim paths
    joint_order: tuple[str, ...] = ()  # moving joints as the engine numbers them; empty if unknown
    missing: tuple[str, ...] = ()  # parts of the file that could not be loaded, such as layers
    # of a USD, settings in the file; of a URDF, those that a settings file requests
    simulation: SimulationObservation | None = None
    words: tuple[Word, ...] = ()  # numbers and texts of a URDF that no schema has


class HeadCoupling(Struct, frozen=True):
    """Coupling of a joint to the head of its chain of mimic joints."""

    leader: str  # name of the joint at the head, which follows no other
    multiplier: float  # factor of the head's position
    offset: float  # added to that [rad or m]
    steps: int  # number of couplings in the chain
    terms: float  # sum of the magnitudes of the terms of the offset


def head_coupling(
    name: str, coupling_of: Callable[[str], MimicObservation | None]
) -> HeadCoupling | None:
    """Follow the chain of couplings of a joint to its head; a loop once around."""
    leader, multiplier, offset, terms = name, 1.0, 0.0, 0.0
    seen: set[str] = set()
    while leader not in seen and (mimic := coupling_of(leader)):
        seen.add(leader)
        offset += multiplier * mimic.offset
        terms += abs(multiplier * mimic.offset)
        multiplier *= mimic.multiplier
        leader = mimic.leader
    steps = len(seen)
    return HeadCoupling(leader, multiplier, offset, steps, terms) if steps else None


class RolloutPlan(Struct, frozen=True):
    """Passive rollout: gravity, damping, friction, couplings; no drives, contacts or limits."""

    configuration: int  # index of the initial configuration
    held: tuple[str, ...] = ()  # joints that are fixed, as what they carry has no inertia
    step: float = 1e-3  # time step [s]
    steps: tuple[int, ...] = (50, 100, 200, 500, 1000)  # numbers of steps before each state


class RolloutState(Struct, frozen=True):
    time: float  # since the start [s]
    positions: tuple[tuple[float, ...], ...]  # per joint, in the form of :data:`COORDINATES`
    velocities: tuple[tuple[float, ...], ...]  # per joint, in the form of :data:`VELOCITIES`


class Rollout(Struct, frozen=True):
    joints: tuple[str, ...]  # moving joints
    states: tuple[RolloutState, ...]  # one per step count, until the simulation diverges
    # those of copies of the robot with all numbers changed by parts in a million at random
    perturbed: tuple[tuple[RolloutState, ...], ...] = ()


class NamedPrim(Struct, frozen=True):
    path: str  # prim path
    name: str  # display name, else prim name
    is_body: bool  # whether it is a rigid body, rather than a frame or a plain Xform


class NamedJoint(Struct, frozen=True):
    path: str  # prim path
    name: str  # display name, else prim name
    ends: tuple[str, str]  # paths of its bodies, nearer to the base first; empty for the world
    type: JointType | None  # kind of motion; None if URDF has no such type


class NamedPrims(Struct, frozen=True):
    """Candidates for links and joints in a USD."""

    links: tuple[NamedPrim, ...]  # bodies, and frames that may be links
    joints: tuple[NamedJoint, ...]  # joints between them


def require_types(observation: Observation) -> None:
    """Raise TypeError for a value of another type, which engines of other packages may have."""

    def plain(value: object) -> Any:  # noqa: ANN401  a number
        if isinstance(value, np.number):
            return value.item()
        raise TypeError(f"observation has a value of type {type(value).__name__}")

    def require_array(_: object, value: object) -> object:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            return value
        raise TypeError("not an array of numbers")

    fields = msgspec.to_builtins(observation, enc_hook=plain, builtin_types=(np.ndarray,))
    try:
        msgspec.convert(fields, Observation, dec_hook=require_array)
    except msgspec.ValidationError as error:
        raise TypeError(str(error).replace("`$.", "`observation.")) from None
