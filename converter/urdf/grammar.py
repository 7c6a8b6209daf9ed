"""The grammar of URDF: elements, attributes, their types and defaults.

Defaults are only defined here. Clauses are the page and section of the specification at
``wiki.ros.org/urdf/XML``; ``since`` is the URDF version that introduced an attribute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from msgspec import Struct

from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.urdf.kinds import Flag, Kind, Name, Number, Text, Vector

T = TypeVar("T")
_RGB = 3


class AttributeType(Struct, Generic[T], frozen=True):
    """An attribute of the language.

    Attributes:
        name: As written.
        kind: Type of its value.
        default: Value if it is absent. For a required attribute a placeholder until the
            error is raised, which causes no further errors.
        required: Whether its absence is an error.
        since: First URDF version (major, minor) that has it; ignored in older files.
        unit: SI unit, if it has one.
    """

    name: str
    kind: Kind[T]
    default: T
    required: bool = False
    since: tuple[int, int] = (1, 0)
    unit: str = ""


class Child(Struct, frozen=True):
    """A child element.

    Attributes:
        type: The element.
        required: Whether its absence is an error.
        repeats: Whether it may occur more than once.
        dispensable: Whether it is omitted in case of errors in it, instead of refusing
            the file.
        since: First URDF version that has it; it is read in any version.
    """

    type: ElementType
    required: bool = False
    repeats: bool = False
    dispensable: bool = False
    since: tuple[int, int] = (1, 0)


class ElementType(Struct, frozen=True, eq=False):
    """An element of the language; compared by identity."""

    tag: str
    clause: str
    attributes: tuple[AttributeType[Any], ...] = ()
    children: tuple[Child, ...] = ()

    def child(self, tag: str) -> Child | None:
        """Find a child by tag."""
        return _children_by_tag(self).get(tag)


@cache
def _children_by_tag(element: ElementType) -> Mapping[str, Child]:
    return {child.type.tag: child for child in element.children}


def _optional_number(name: str, unit: str = "") -> AttributeType[float | None]:
    return AttributeType(name, Number(), None, unit=unit)


def _dynamic_limit(name: str, unit: str) -> AttributeType[float | None]:
    return AttributeType(name, Number(math.inf), None, since=(1, 2), unit=unit)


def _required_number(name: str, unit: str) -> AttributeType[float]:
    return AttributeType(name, Number(), 1.0, required=True, unit=unit)


def _required_name(name: str) -> AttributeType[str]:
    return AttributeType(name, Name(), "", required=True)


def _optional_name(name: str) -> AttributeType[str | None]:
    return AttributeType(name, Name(), None)


def _opaque(numbers: tuple[float, ...]) -> Vec4 | None:
    if len(numbers) != _RGB:
        return None
    red, green, blue = numbers
    return red, green, blue, 1.0


def _uniform(numbers: tuple[float, ...]) -> Vec3 | None:
    if len(numbers) != 1:
        return None
    (factor,) = numbers
    return factor, factor, factor


_VEC3: Vector[Vec3] = Vector(3)
_VEC4: Vector[Vec4] = Vector(4)
_FACTORS: Vector[Vec3] = Vector(3, _uniform)
_COLOR: Vector[Vec4] = Vector(4, _opaque)

# Poses
XYZ = AttributeType("xyz", _VEC3, (0.0, 0.0, 0.0), unit="m")
RPY = AttributeType("rpy", _VEC3, (0.0, 0.0, 0.0), unit="rad")
QUAT_XYZW: AttributeType[Vec4 | None] = AttributeType("quat_xyzw", _VEC4, None, since=(1, 1))
ORIGIN = ElementType("origin", "link: origin", (XYZ, RPY, QUAT_XYZW))

# Mass
MASS_VALUE = _required_number("value", "kg")
MASS = ElementType("mass", "link: mass", (MASS_VALUE,))
IXX = _required_number("ixx", "kg m^2")
IYY = _required_number("iyy", "kg m^2")
IZZ = _required_number("izz", "kg m^2")
# Products of inertia are often left out of hand-written files; Bullet reads those.
IXY = AttributeType("ixy", Number(), 0.0, unit="kg m^2")
IXZ = AttributeType("ixz", Number(), 0.0, unit="kg m^2")
IYZ = AttributeType("iyz", Number(), 0.0, unit="kg m^2")
INERTIA = ElementType("inertia", "link: inertia", (IXX, IXY, IXZ, IYY, IYZ, IZZ))
INERTIAL = ElementType(
    "inertial",
    "link: inertial",
    children=(Child(ORIGIN), Child(MASS), Child(INERTIA)),
)

# Shapes
SIZE = AttributeType("size", _VEC3, (1.0, 1.0, 1.0), required=True, unit="m")
RADIUS = _required_number("radius", "m")
LENGTH = _required_number("length", "m")
FILENAME = AttributeType("filename", Text(), "", required=True)
SCALE = AttributeType("scale", _FACTORS, (1.0, 1.0, 1.0))
BOX = ElementType("box", "link: geometry", (SIZE,))
CYLINDER = ElementType("cylinder", "link: geometry", (RADIUS, LENGTH))
CAPSULE = ElementType("capsule", "link: geometry", (RADIUS, LENGTH))
SPHERE = ElementType("sphere", "link: geometry", (RADIUS,))
MESH = ElementType("mesh", "link: geometry", (FILENAME, SCALE))
GEOMETRY = ElementType(
    "geometry",
    "link: geometry",
    children=(
        Child(BOX, dispensable=True),
        Child(CYLINDER, dispensable=True),
        Child(CAPSULE, dispensable=True, since=(1, 1)),
        Child(SPHERE, dispensable=True),
        Child(MESH, dispensable=True),
    ),
)

# Appearance
RGBA: AttributeType[Vec4 | None] = AttributeType("rgba", _COLOR, None)
COLOR = ElementType("color", "link: material", (RGBA,))
IMAGE: AttributeType[str | None] = AttributeType("filename", Text(), None)
TEXTURE = ElementType("texture", "link: material", (IMAGE,))
OPTIONAL_NAME = _optional_name("name")
MATERIAL = ElementType(
    "material",
    "link: material",
    (OPTIONAL_NAME,),
    (Child(COLOR), Child(TEXTURE)),
)

# Links
NAME = _required_name("name")
VISUAL = ElementType(
    "visual",
    "link: visual",
    (OPTIONAL_NAME,),
    (Child(ORIGIN), Child(GEOMETRY), Child(MATERIAL)),
)
COLLISION = ElementType(
    "collision",
    "link: collision",
    (OPTIONAL_NAME,),
    (Child(ORIGIN), Child(GEOMETRY)),
)
LINK = ElementType(
    "link",
    "link",
    (NAME,),
    (Child(INERTIAL), Child(VISUAL, repeats=True), Child(COLLISION, repeats=True)),
)

# Joints
LINK_NAME = _required_name("link")
PARENT = ElementType("parent", "joint: parent", (LINK_NAME,))
CHILD = ElementType("child", "joint: child", (LINK_NAME,))
AXIS_XYZ = AttributeType("xyz", _VEC3, (1.0, 0.0, 0.0))
AXIS = ElementType("axis", "joint: axis", (AXIS_XYZ,))
# An absent limit is zero up to URDF 1.1. Infinity is unlimited.
LOWER = AttributeType("lower", Number(-math.inf), 0.0, unit="rad or m")
UPPER = AttributeType("upper", Number(math.inf), 0.0, unit="rad or m")
EFFORT: AttributeType[float | None] = AttributeType(
    "effort", Number(math.inf), None, unit="N m or N"
)
VELOCITY: AttributeType[float | None] = AttributeType(
    "velocity", Number(math.inf), None, unit="rad/s or m/s"
)
ACCELERATION = _dynamic_limit("acceleration", "rad/s^2 or m/s^2")
DECELERATION = _dynamic_limit("deceleration", "rad/s^2 or m/s^2")
JERK = _dynamic_limit("jerk", "rad/s^3 or m/s^3")
LIMIT = ElementType(
    "limit",
    "joint: limit",
    (LOWER, UPPER, EFFORT, VELOCITY, ACCELERATION, DECELERATION, JERK),
)
DAMPING = _optional_number("damping", "N m s/rad or N s/m")
FRICTION = _optional_number("friction", "N m or N")
DYNAMICS = ElementType("dynamics", "joint: dynamics", (DAMPING, FRICTION))
LEADER = _required_name("joint")
MULTIPLIER = AttributeType("multiplier", Number(), 1.0)
OFFSET = AttributeType("offset", Number(), 0.0, unit="rad or m")
MIMIC = ElementType("mimic", "joint: mimic", (LEADER, MULTIPLIER, OFFSET))
K_VELOCITY = _optional_number("k_velocity")
K_POSITION = _optional_number("k_position")
SOFT_LOWER_LIMIT: AttributeType[float | None] = AttributeType(
    "soft_lower_limit", Number(-math.inf), None, unit="rad or m"
)
SOFT_UPPER_LIMIT: AttributeType[float | None] = AttributeType(
    "soft_upper_limit", Number(math.inf), None, unit="rad or m"
)
SAFETY_CONTROLLER = ElementType(
    "safety_controller",
    "joint: safety_controller",
    (K_VELOCITY, K_POSITION, SOFT_LOWER_LIMIT, SOFT_UPPER_LIMIT),
)
RISING = _optional_number("rising", "rad or m")
FALLING = _optional_number("falling", "rad or m")
CALIBRATION = ElementType("calibration", "joint: calibration", (RISING, FALLING))
TYPE = _required_name("type")
# Extension of Isaac Sim's importer: keep this fixed joint when others are merged.
DONT_COLLAPSE = AttributeType("dont_collapse", Flag(), default=False)
JOINT = ElementType(
    "joint",
    "joint",
    (NAME, TYPE, DONT_COLLAPSE),
    (
        Child(ORIGIN),
        Child(PARENT, required=True),
        Child(CHILD, required=True),
        Child(AXIS),
        Child(LIMIT),
        Child(DYNAMICS),
        Child(MIMIC, dispensable=True),
        Child(SAFETY_CONTROLLER),
        Child(CALIBRATION),
    ),
)

VERSION: AttributeType[str | None] = AttributeType("version", Text(), None)
ROBOT = ElementType(
    "robot",
    "robot",
    (OPTIONAL_NAME, VERSION),
    (
        Child(LINK, repeats=True),
        Child(JOINT, repeats=True),
        Child(MATERIAL, repeats=True),
    ),
)
