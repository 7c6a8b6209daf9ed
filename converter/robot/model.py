"""The model of a robot: the content of a URDF, or of a USD articulation.

SI units (metres, kilograms, radians, seconds). Values are immutable tuples, so robots
compare and hash by value. Absent is ``None``, never a number. Defaults of the URDF
language are applied by the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, Severity

Vec3: TypeAlias = tuple[float, float, float]
Vec4: TypeAlias = tuple[float, float, float, float]
Vec6: TypeAlias = tuple[float, float, float, float, float, float]


# Fields of where a part is from and how it is read, not of what it is.
_NOT_COMPARED = frozenset({"approximation", "custom", "estimated", "location"})


class _Described(Struct, frozen=True, eq=False):
    """A part of a robot, compared by value, wherever in a file it is from."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Described) or type(self) is not type(other):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[object, ...]:
        names = (name for name in self.__struct_fields__ if name not in _NOT_COMPARED)
        return tuple(getattr(self, name) for name in names)


class XmlElement(Struct, frozen=True):
    """An XML element that is not part of URDF, as written."""

    tag: str  # with its prefix, if it has one
    attributes: tuple[tuple[str, str], ...] = ()  # name and value, in document order
    text: str = ""  # character data directly inside; pieces between children are on separate lines
    children: tuple[XmlElement, ...] = ()  # elements inside, in document order


class CustomAttribute(Struct, frozen=True):
    """An XML attribute that is not part of URDF, as written."""

    name: str  # with its prefix, if it has one
    value: str
    # Tags of the URDF elements between the owner and the attribute, such as
    # ``("limit",)`` below a joint.
    within: tuple[str, ...] = ()


class CustomElement(Struct, frozen=True):
    """An XML element that is not part of URDF, and its position."""

    content: XmlElement
    within: tuple[str, ...] = ()  # as in :class:`CustomAttribute`


class Custom(Struct, frozen=True):
    """Attributes and elements that are not part of URDF; kept but not interpreted.

    Ignored when robots are compared.
    """

    attributes: tuple[CustomAttribute, ...] = ()
    elements: tuple[CustomElement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.attributes or self.elements)

    def __add__(self, other: Custom) -> Custom:
        return Custom((*self.attributes, *other.attributes), (*self.elements, *other.elements))


NO_CUSTOM = Custom()


class Pose(Struct, frozen=True):
    """Rigid transform of a child frame, expressed in its parent frame."""

    position: Vec3 = (0.0, 0.0, 0.0)  # origin of the child in the parent [m]
    # Unit quaternion that rotates child vectors into the parent.
    quat_wxyz: Vec4 = (1.0, 0.0, 0.0, 0.0)


IDENTITY = Pose()


class Estimated(StrEnum):
    """Mass properties that were computed from shapes."""

    INERTIA = "inertia"  # mass and centre of mass are those of the file
    MASS = "mass"  # mass, centre of mass and inertia


class Inertial(_Described, frozen=True):
    """Mass properties of one link."""

    mass: float  # [kg], not negative; zero means massless
    origin: Pose  # inertial frame in the link frame; its position is the centre of mass
    # (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, in the inertial frame [kg
    # m^2].
    inertia: Vec6
    location: Location | None = None
    # Which of these were computed from shapes; None if the file states them.
    estimated: Estimated | None = None


class Box(Struct, frozen=True):
    """Box centred on its origin; ``size`` is the full edge lengths [m]."""

    size: Vec3


class Cylinder(Struct, frozen=True):
    """Cylinder along Z, centred on its origin [m]."""

    radius: float
    length: float


class Capsule(Struct, frozen=True):
    """Capsule along Z; ``length`` is the cylindrical part without caps [m]."""

    radius: float
    length: float


class Sphere(Struct, frozen=True):
    """Sphere centred on its origin [m]."""

    radius: float


class MeshFile(Struct, frozen=True):
    """Geometry in a separate file."""

    uri: str  # the reference as written
    path: str | None  # the file it resolves to, or None if none was found
    scale: Vec3 = (1.0, 1.0, 1.0)  # factor per axis; negative factors mirror


Geometry: TypeAlias = Box | Cylinder | Capsule | Sphere | MeshFile


class Material(Struct, frozen=True):
    """Appearance of a visual."""

    name: str | None  # URDF name, or None
    rgba: Vec4 | None = None  # sRGB colour and opacity in [0, 1], or None
    texture_uri: str | None = None  # image reference as written, or None
    texture_path: str | None = None  # the file it resolves to, or None


class Visual(_Described, frozen=True):
    """Visual shape."""

    name: str | None
    origin: Pose
    geometry: Geometry
    material: Material | None = None
    location: Location | None = None
    custom: Custom = NO_CUSTOM


class Approximation(StrEnum):
    """How a mesh collides as a whole, also one of several groups.

    Values are the tokens of UsdPhysics.
    """

    HULL = "convexHull"
    TRIANGLES = "none"
    SDF = "sdf"


class Collision(_Described, frozen=True):
    """Collision shape."""

    name: str | None
    origin: Pose
    geometry: Geometry
    location: Location | None = None
    custom: Custom = NO_CUSTOM
    # How a mesh collides; None for a convex hull of each group.
    approximation: Approximation | None = None


Shape: TypeAlias = Visual | Collision


# A root link of this name without mass and shapes represents the world.
WORLD_LINK = "world"


class Link(_Described, frozen=True):
    """A named frame with mass and shapes fixed to it."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Visual, ...] = ()
    collisions: tuple[Collision, ...] = ()
    location: Location | None = None
    custom: Custom = NO_CUSTOM

    @property
    def mass(self) -> float:
        return self.inertial.mass if self.inertial else 0.0

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (*self.visuals, *self.collisions)


class Range(Struct, frozen=True):
    """Allowed joint positions [rad or m]; +-inf is unlimited on that side."""

    lower: float
    upper: float


UNLIMITED = Range(float("-inf"), float("inf"))


class Revolute(Struct, frozen=True):
    """Rotation about ``axis`` (unit vector in the child frame) within ``range``."""

    axis: Vec3
    range: Range


class Continuous(Struct, frozen=True):
    """Rotation about ``axis`` (unit vector in the child frame) without limits."""

    axis: Vec3


class Prismatic(Struct, frozen=True):
    """Translation along ``axis`` (unit vector in the child frame) within ``range``."""

    axis: Vec3
    range: Range


class Planar(Struct, frozen=True):
    """Translation in the plane normal to ``axis`` and rotation about it."""

    axis: Vec3


class Fixed(Struct, frozen=True):
    """No motion."""


class Floating(Struct, frozen=True):
    """Six degrees of freedom."""


class Spherical(Struct, frozen=True):
    """Three rotations: an extension of URDF that Bullet and MuJoCo read."""


class GenericAxis(Struct, frozen=True):
    """One axis of a joint of several axes."""

    token: str  # ``transX`` to ``rotZ``
    range: Range  # allowed positions [m or rad]
    effort: float | None = None  # largest force [N or N m], or None


class Generic(Struct, frozen=True):
    """Several axes of a joint frame: a D6 joint, which URDF cannot represent.

    Only :func:`.merge_chains` makes it, for the writer of USD.
    """

    axes: tuple[GenericAxis, ...]  # from side 0 to side 1; all others are locked
    frame: Pose  # the joint frame in the child's frame
    backwards: bool = False  # whether the child is on side 0


JointKind: TypeAlias = (
    Revolute | Continuous | Prismatic | Planar | Fixed | Floating | Spherical | Generic
)


class Mimic(Struct, frozen=True):
    """Position = multiplier * position of ``joint`` + offset [rad or m]."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


class Dynamics(Struct, frozen=True):
    """Passive joint forces."""

    damping: float | None = None  # [N m s/rad or N s/m], or None
    friction: float | None = None  # [N m or N], or None


class SafetyController(Struct, frozen=True):
    """Soft limits of a real controller; no simulator applies them."""

    k_velocity: float | None = None
    k_position: float | None = None
    soft_lower_limit: float | None = None
    soft_upper_limit: float | None = None


class Calibration(Struct, frozen=True):
    """Positions of reference edges [rad or m]."""

    rising: float | None = None
    falling: float | None = None


class Joint(_Described, frozen=True):
    """Connection of two links."""

    name: str
    parent: str
    child: str
    kind: JointKind
    origin: Pose = IDENTITY  # child frame in the parent frame at position zero
    effort: float | None = None  # largest force [N or N m]; None is absent, zero is a declared zero
    velocity: float | None = None  # largest speed [m/s or rad/s]; None is absent
    acceleration: float | None = None  # largest acceleration [m/s^2 or rad/s^2]; None is absent
    deceleration: float | None = None  # the same for slowing down; None is absent
    jerk: float | None = None  # largest change of acceleration [m/s^3 or rad/s^3]; None is absent
    dynamics: Dynamics | None = None
    mimic: Mimic | None = None
    safety: SafetyController | None = None
    calibration: Calibration | None = None
    dont_collapse: bool = False  # whether a fixed joint is kept when fixed joints are merged
    location: Location | None = None
    custom: Custom = NO_CUSTOM


class LoopJoint(Struct, frozen=True):
    """A joint of a USD that closes a loop, which URDF cannot represent."""

    name: str  # name of the joint
    schema: str  # type name of the prim
    links: tuple[str, str]  # links on side 0 and 1
    frames: tuple[Pose, Pose]  # the joint frame in both links
    axis: Vec3 | None  # axis of a revolute or prismatic joint, in the joint frame


class Robot(_Described, frozen=True):
    """Links and joints; ``topology`` checks and orders the tree."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    location: Location | None = None
    custom: Custom = NO_CUSTOM


# Options of the assignment of links to bodies


class Base(StrEnum):
    """Kind of base."""

    FIXED = "fixed"
    FLOATING = "floating"
    STATIC = "static"


class BaseOption(StrEnum):
    """Requested base; ``auto`` fixes a base whose root link is named ``world``."""

    AUTO = "auto"
    FIXED = "fixed"
    FLOATING = "floating"


class MasslessOption(StrEnum):
    """Treatment of moving groups without mass."""

    REGULARISE = "regularise"
    ERROR = "error"


# One-line summaries, for ``repr``


def robot_line(robot: Robot, diagnostics: Iterable[Diagnostic] = ()) -> str:
    """Return ``'arm', 3 links, 2 joints, 1 warning``."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    parts = [counted(len(robot.links), "link"), counted(len(robot.joints), "joint")]
    parts += [counted(counts[one], one.value) for one in Severity if counts[one]]
    return ", ".join((repr(robot.name), *parts))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
