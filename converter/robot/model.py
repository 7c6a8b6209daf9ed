"""The model of a robot: the content of a URDF, or of a USD articulation.

SI units (metres, kilograms, radians, seconds). Values are immutable tuples, so robots
compare and hash by value. Absent is ``None``, never a number. Defaults of the URDF
language are applied by the reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from urdf_usd.converter.diagnostics import Location

Vec3: TypeAlias = tuple[float, float, float]
Vec4: TypeAlias = tuple[float, float, float, float]
Vec6: TypeAlias = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An XML element that is not part of URDF, as written.

    Attributes:
        tag: With its prefix, if it has one.
        attributes: Name and value, in document order.
        text: Character data directly inside; pieces between children are on separate
            lines.
        children: Elements inside, in document order.
    """

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    children: tuple[XmlElement, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomAttribute:
    """An XML attribute that is not part of URDF, as written.

    Attributes:
        name: With its prefix, if it has one.
        within: Tags of the URDF elements between the owner and the attribute, such as
            ``("limit",)`` below a joint.
    """

    name: str
    value: str
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomElement:
    """An XML element that is not part of URDF, and its position.

    Attributes:
        within: As in :class:`CustomAttribute`.
    """

    content: XmlElement
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Custom:
    """Attributes and elements that are not part of URDF; kept but not interpreted.

    Ignored when robots are compared.
    """

    attributes: tuple[CustomAttribute, ...] = ()
    elements: tuple[CustomElement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.attributes or self.elements)

    def __add__(self, other: Custom) -> Custom:
        return Custom(
            (*self.attributes, *other.attributes), (*self.elements, *other.elements)
        )


NO_CUSTOM = Custom()


@dataclass(frozen=True, slots=True)
class Pose:
    """Rigid transform of a child frame, expressed in its parent frame.

    Attributes:
        position: Origin of the child in the parent [m].
        quat_wxyz: Unit quaternion that rotates child vectors into the parent.
    """

    position: Vec3 = (0.0, 0.0, 0.0)
    quat_wxyz: Vec4 = (1.0, 0.0, 0.0, 0.0)


IDENTITY = Pose()


class Estimated(StrEnum):
    """Mass properties that were computed from shapes.

    Attributes:
        INERTIA: The inertia; mass and centre of mass are those of the file.
        MASS: Mass, centre of mass and inertia.
    """

    INERTIA = "inertia"
    MASS = "mass"


@dataclass(frozen=True, slots=True)
class Inertial:
    """Mass properties of one link.

    Attributes:
        mass: [kg], not negative; zero means massless.
        origin: Inertial frame in the link frame; its position is the centre of mass.
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, in the
            inertial frame [kg m^2].
        estimated: Which of these were computed from shapes; None if the file states
            them.
    """

    mass: float
    origin: Pose
    inertia: Vec6
    location: Location | None = field(default=None, compare=False, repr=False)
    estimated: Estimated | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Box:
    """Box centred on its origin; ``size`` is the full edge lengths [m]."""

    size: Vec3


@dataclass(frozen=True, slots=True)
class Cylinder:
    """Cylinder along Z, centred on its origin [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Capsule:
    """Capsule along Z; ``length`` is the cylindrical part without caps [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Sphere:
    """Sphere centred on its origin [m]."""

    radius: float


@dataclass(frozen=True, slots=True)
class MeshFile:
    """Geometry in a separate file.

    Attributes:
        uri: The reference as written.
        path: The file it resolves to, or None if none was found.
        scale: Factor per axis; negative factors mirror.
    """

    uri: str
    path: str | None
    scale: Vec3 = (1.0, 1.0, 1.0)


Geometry: TypeAlias = Box | Cylinder | Capsule | Sphere | MeshFile


@dataclass(frozen=True, slots=True)
class Material:
    """Appearance of a visual.

    Attributes:
        name: URDF name, or None.
        rgba: sRGB colour and opacity in [0, 1], or None.
        texture_uri: Image reference as written, or None.
        texture_path: The file it resolves to, or None.
    """

    name: str | None
    rgba: Vec4 | None = None
    texture_uri: str | None = None
    texture_path: str | None = None


@dataclass(frozen=True, slots=True)
class Visual:
    """Visual shape."""

    name: str | None
    origin: Pose
    geometry: Geometry
    material: Material | None = None
    location: Location | None = field(default=None, compare=False, repr=False)
    custom: Custom = field(default=NO_CUSTOM, compare=False)


class Approximation(StrEnum):
    """How a mesh collides as a whole, also one of several groups.

    Values are the tokens of UsdPhysics.
    """

    HULL = "convexHull"
    TRIANGLES = "none"
    SDF = "sdf"


@dataclass(frozen=True, slots=True)
class Collision:
    """Collision shape.

    Attributes:
        approximation: How a mesh collides; None for a convex hull of each group.
    """

    name: str | None
    origin: Pose
    geometry: Geometry
    location: Location | None = field(default=None, compare=False, repr=False)
    custom: Custom = field(default=NO_CUSTOM, compare=False)
    approximation: Approximation | None = field(default=None, compare=False)


Shape: TypeAlias = Visual | Collision


# A root link of this name without mass and shapes represents the world.
WORLD_LINK = "world"


@dataclass(frozen=True, slots=True)
class Link:
    """A named frame with mass and shapes fixed to it."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Visual, ...] = ()
    collisions: tuple[Collision, ...] = ()
    location: Location | None = field(default=None, compare=False, repr=False)
    custom: Custom = field(default=NO_CUSTOM, compare=False)

    @property
    def mass(self) -> float:
        """Mass [kg]; zero without inertial."""
        return self.inertial.mass if self.inertial else 0.0

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Visuals, then collisions."""
        return (*self.visuals, *self.collisions)


@dataclass(frozen=True, slots=True)
class Range:
    """Allowed joint positions [rad or m]; +-inf is unlimited on that side."""

    lower: float
    upper: float


UNLIMITED = Range(float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Revolute:
    """Rotation about ``axis`` (unit vector in the child frame) within ``range``."""

    axis: Vec3
    range: Range


@dataclass(frozen=True, slots=True)
class Continuous:
    """Rotation about ``axis`` (unit vector in the child frame) without limits."""

    axis: Vec3


@dataclass(frozen=True, slots=True)
class Prismatic:
    """Translation along ``axis`` (unit vector in the child frame) within ``range``."""

    axis: Vec3
    range: Range


@dataclass(frozen=True, slots=True)
class Planar:
    """Translation in the plane normal to ``axis`` and rotation about it."""

    axis: Vec3


@dataclass(frozen=True, slots=True)
class Fixed:
    """No motion."""


@dataclass(frozen=True, slots=True)
class Floating:
    """Six degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Spherical:
    """Three rotations: an extension of URDF that Bullet and MuJoCo read."""


@dataclass(frozen=True, slots=True)
class GenericAxis:
    """One axis of a joint of several axes.

    Attributes:
        token: ``transX`` to ``rotZ``.
        range: Allowed positions [m or rad].
        effort: Largest force [N or N m], or None.
    """

    token: str
    range: Range
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class Generic:
    """Several axes of a joint frame: a D6 joint, which URDF cannot represent.

    Only :func:`~urdf_usd.converter.robot.joint_chains.merge_chains` makes it, for the
    writer of USD.

    Attributes:
        axes: From side 0 to side 1; all others are locked.
        frame: The joint frame in the child's frame.
        backwards: Whether the child is on side 0.
        cone: Angles of the cone limit of a spherical joint [deg], whose last axis is
            its primary axis; None for a D6 joint.
    """

    axes: tuple[GenericAxis, ...]
    frame: Pose
    backwards: bool = False
    cone: tuple[float, float] | None = None


JointKind: TypeAlias = (
    Revolute | Continuous | Prismatic | Planar | Fixed | Floating | Spherical | Generic
)


@dataclass(frozen=True, slots=True)
class Mimic:
    """Position = multiplier * position of ``joint`` + offset [rad or m]."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Dynamics:
    """Passive joint forces.

    Attributes:
        damping: [N m s/rad or N s/m], or None.
        friction: [N m or N], or None.
    """

    damping: float | None = None
    friction: float | None = None


@dataclass(frozen=True, slots=True)
class SafetyController:
    """Soft limits of a real controller; no simulator applies them."""

    k_velocity: float | None = None
    k_position: float | None = None
    soft_lower_limit: float | None = None
    soft_upper_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Positions of reference edges [rad or m]."""

    rising: float | None = None
    falling: float | None = None


@dataclass(frozen=True, slots=True)
class Joint:
    """Connection of two links.

    Attributes:
        origin: Child frame in the parent frame at position zero.
        effort: Largest force [N or N m]; None is absent, zero is a declared zero.
        velocity: Largest speed [m/s or rad/s]; None is absent.
        acceleration: Largest acceleration [m/s^2 or rad/s^2]; None is absent.
        deceleration: The same for slowing down; None is absent.
        jerk: Largest change of acceleration [m/s^3 or rad/s^3]; None is absent.
        dont_collapse: Whether a fixed joint is kept when fixed joints are merged.
    """

    name: str
    parent: str
    child: str
    kind: JointKind
    origin: Pose = IDENTITY
    effort: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    deceleration: float | None = None
    jerk: float | None = None
    dynamics: Dynamics | None = None
    mimic: Mimic | None = None
    safety: SafetyController | None = None
    calibration: Calibration | None = None
    dont_collapse: bool = False
    location: Location | None = field(default=None, compare=False, repr=False)
    custom: Custom = field(default=NO_CUSTOM, compare=False)


@dataclass(frozen=True, slots=True)
class LoopJoint:
    """A joint of a USD that closes a loop, which URDF cannot represent.

    Attributes:
        name: Name of the joint.
        schema: Type name of the prim.
        links: Links on side 0 and 1.
        frames: The joint frame in both links.
        axis: Axis of a revolute or prismatic joint, in the joint frame.
    """

    name: str
    schema: str
    links: tuple[str, str]
    frames: tuple[Pose, Pose]
    axis: Vec3 | None


@dataclass(frozen=True, slots=True)
class Robot:
    """Links and joints; ``topology`` checks and orders the tree."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    location: Location | None = field(default=None, compare=False, repr=False)
    custom: Custom = field(default=NO_CUSTOM, compare=False)
