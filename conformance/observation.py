"""What a witness states about one robot, by URDF name and in SI units.

An observation carries no verdict and knows nothing of the other side. ``None`` in a
field is *absent*; whether the witness can state a quantity at all is said by
:attr:`Observation.states`. Frames are relative to the URDF's root link.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vec3: TypeAlias = tuple[float, float, float]
Vec6: TypeAlias = tuple[float, float, float, float, float, float]


class Quantity(StrEnum):
    """The kinds of statement that a witness can make."""

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


class JointType(StrEnum):
    """Kinds of motion, named as in URDF."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    PLANAR = "planar"
    FIXED = "fixed"
    FLOATING = "floating"
    SPHERICAL = "spherical"


# Position coordinates per joint type. A joint at position q places the child at
# origin * motion(q). Planar: displacement in the joint frame (x, y, z, normal to the
# axis), then the angle about the axis; floating: displacement, then quaternion wxyz;
# spherical: quaternion wxyz.
COORDINATES = {
    JointType.REVOLUTE: 1,
    JointType.CONTINUOUS: 1,
    JointType.PRISMATIC: 1,
    JointType.PLANAR: 4,
    JointType.FIXED: 0,
    JointType.FLOATING: 7,
    JointType.SPHERICAL: 4,
}


class Base(StrEnum):
    """How the root of a robot relates to the world."""

    FIXED = "fixed"
    FLOATING = "floating"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class MassProperties:
    """Mass of one body or of bodies that are welded together.

    Attributes:
        mass: [kg].
        center: Centre of mass in the link frame [m].
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, along the
            axes of the link frame [kg m^2]; None if the witness cannot state it.
    """

    mass: float
    center: Vec3
    inertia: Vec6 | None


@dataclass(frozen=True, slots=True)
class LinkObservation:
    """One link.

    Attributes:
        name: URDF name.
        mass: Its own mass properties; None if it has none of its own (it is
            massless, or this reader counts its mass with another link's).
        body: Link whose rigid body carries this link, where the reader knows; equal
            to ``name`` for a body of its own.
    """

    name: str
    mass: MassProperties | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class MimicObservation:
    """Position = multiplier * position of ``leader`` + offset [rad or m]."""

    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class JointObservation:
    """One joint.

    Attributes:
        lower: Lower position limit [rad or m], -inf if unlimited; None if the type
            has no limits.
        upper: Upper position limit [rad or m], inf if unlimited; None likewise.
        effort: Largest force [N or N m]; None is absent.
        velocity: Largest speed [rad/s or m/s]; None is absent.
        damping: [N m s/rad or N s/m]; None is absent.
        friction: [N m or N]; None is absent.
        axis: Unit vector in the child frame, where the witness can state it.
        note: Why a value is absent or unusual, for the reader of the report.
    """

    name: str
    type: JointType
    parent: str
    child: str
    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None
    damping: float | None = None
    friction: float | None = None
    mimic: MimicObservation | None = None
    axis: Vec3 | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Poses of link frames over configurations; read-only views.

    Attributes:
        links: Names of the L links, in the order of the second array axis.
        positions: (K, L, 3) origins in the root link's frame [m].
        rotations: (K, L, 3, 3) matrices that rotate link vectors into the root frame.
        labels: (K) what each configuration is, where the witness repeats it.
    """

    links: tuple[str, ...]
    positions: NDArray[np.float64]
    rotations: NDArray[np.float64]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """The K configurations at which all witnesses are asked.

    Mimic joints already follow their leader: a witness sets every joint as it is told.
    The first configuration is zero, wherever the limits are.

    Attributes:
        joints: Names of the moving joints.
        positions: Per joint a (K, d) array, with d and the order of coordinates from
            :data:`COORDINATES`.
        labels: (K) what each configuration is: zero, lower, upper, sample 0 ...
    """

    joints: tuple[str, ...]
    positions: tuple[NDArray[np.float64], ...]
    labels: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of configurations, K."""
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Departure:
    """A value that the reader computes although the file states another.

    Attributes:
        link: URDF name.
        quantity: What departs, for example ``inertia``.
        stated: What the file says; tensors as in :class:`MassProperties`.
        computed: What the reader makes of it, in the same order.
        cause: Why, in one sentence.
    """

    link: str
    quantity: str
    stated: tuple[float, ...]
    computed: tuple[float, ...]
    cause: str


@dataclass(frozen=True, slots=True)
class AssemblyGap:
    """How far apart the two frames of a joint are where the file places the links.

    Attributes:
        joint: URDF name.
        position: Distance of the two origins [m].
        rotation: Angle between the two frames [rad].
    """

    joint: str
    position: float
    rotation: float


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Everything that one witness says about one file.

    Attributes:
        witness: Name of the witness.
        robot: Name of the robot as this reader reports it, or None.
        root: URDF name of the root link.
        states: Quantities this witness can state; all others are not comparable.
        base: Relation of the root to the world, if stated.
        articulation_roots: Number of articulation roots, if the format has them.
        notes: What had to be done so that the reader could read the file.
        departures: Values that the reader replaces by others.
        assembly: One entry per joint, if the format places links and joints apart.
        invented: Links whose mass the reader has to make up: the file states none.
        repaired: Links and joints whose text has no exact meaning, so that every
            reader repairs it in its own way.
        quaternions: Links and joints whose origin is turned by a quaternion, which
            came with URDF 1.1.
    """

    witness: str
    robot: str | None
    root: str
    states: frozenset[Quantity]
    links: tuple[LinkObservation, ...]
    joints: tuple[JointObservation, ...]
    frames: Frames | None = None
    base: Base | None = None
    articulation_roots: int | None = None
    notes: tuple[str, ...] = ()
    departures: tuple[Departure, ...] = ()
    assembly: tuple[AssemblyGap, ...] = ()
    invented: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    quaternions: tuple[str, ...] = ()
