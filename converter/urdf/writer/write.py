"""Writing of a :class:`~urdf_usd.converter.robot.model.Robot` as URDF.

Parsing the text returns the same robot: numbers are written in the shortest form that
reproduces the double, rotations as roll, pitch and yaw that reproduce the quaternion.
For most parsers:

- Unlimited rotation is a ``continuous`` joint; a limit on one side only has the largest
  float32 on the other, because ROS and Drake refuse ``inf``.
- Absent values are omitted.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias, assert_never
from xml.etree import ElementTree as ET

from urdf_usd.converter.robot.model import (
    IDENTITY,
    UNLIMITED,
    Box,
    Capsule,
    Continuous,
    Custom,
    Cylinder,
    Geometry,
    Inertial,
    Joint,
    JointKind,
    Link,
    Material,
    MeshFile,
    Planar,
    Pose,
    Prismatic,
    Revolute,
    Robot,
    Sphere,
    Vec3,
    Vec4,
    Visual,
)
from urdf_usd.converter.robot.rigid import quat_wxyz_from_rpy
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import AttributeType, ElementType
from urdf_usd.converter.urdf.writer.custom import Idle, addressed, write_custom
from urdf_usd.converter.urdf.xml import FORBIDDEN

_Value: TypeAlias = "str | float | tuple[float, ...] | None"
# The largest float32: finite for parsers of URDF, no limit for consumers of USD.
_FARTHEST = 3.4028234663852886e38
# First version with capsules.
_CAPSULES_SINCE = (1, 1)
_FIRST_VERSION = (1, 0)
_KNOWN_VERSION = re.compile(r"(1)\.([0-2])", re.ASCII)
_DYNAMIC_LIMITS = (g.ACCELERATION, g.DECELERATION, g.JERK)


def write(robot: Robot, *, comment: str | None = None) -> bytes:
    """Write a robot as a URDF document in UTF-8.

    Mesh and texture references are written as in the model. The text is deterministic.

    Args:
        robot: The robot.
        comment: Text of a comment before the root element.

    Raises:
        ValueError: A name contains characters that XML does not allow.
    """
    version = _version(robot)
    root = ET.Element(g.ROBOT.tag)
    _set(root, g.OPTIONAL_NAME, robot.name)
    for link in robot.links:
        _write_link(root, link, version)
    for joint in robot.joints:
        _write_joint(root, joint, version)
    parts = [link.custom for link in robot.links]
    parts += [joint.custom for joint in robot.joints]
    gazebo_elements = tuple(one for part in parts for one in addressed(part.elements))
    merged = Custom(robot.custom.attributes, (*robot.custom.elements, *gazebo_elements))
    if version > _FIRST_VERSION:
        _set(root, g.VERSION, "{}.{}".format(*version))
    write_custom(root, g.ROBOT, merged, version=version)
    ET.indent(root)
    heading = "<?xml version='1.0' encoding='utf-8'?>\n"
    if comment is not None:
        heading += f"<!-- {comment} -->\n"
    text = heading + ET.tostring(root, encoding="unicode") + "\n"
    if found := FORBIDDEN.search(text):
        raise ValueError(f"XML has no way to write {found[0]!r}")
    return text.encode()


def _version(robot: Robot) -> tuple[int, int]:
    """Return the version of the original file, or a later one if required."""
    needed = [_FIRST_VERSION]
    needed += [
        (int(known[1]), int(known[2]))
        for attribute in robot.custom.attributes
        if attribute.name == g.VERSION.name and (known := _KNOWN_VERSION.fullmatch(attribute.value))
    ]
    shapes = (shape for link in robot.links for shape in link.shapes)
    if any(isinstance(shape.geometry, Capsule) for shape in shapes):
        needed.append(_CAPSULES_SINCE)
    needed += [
        attribute.since
        for joint in robot.joints
        for attribute, value in _dynamic_limits(joint)
        if value is not None
    ]
    return max(needed)


def _dynamic_limits(joint: Joint) -> tuple[tuple[AttributeType[Any], _Value], ...]:
    values = (joint.acceleration, joint.deceleration, joint.jerk)
    return tuple(zip(_DYNAMIC_LIMITS, values, strict=True))


def _add(
    parent: ET.Element, kind: ElementType, *values: tuple[AttributeType[Any], _Value]
) -> ET.Element:
    element = ET.SubElement(parent, kind.tag)
    for attribute, value in values:
        _set(element, attribute, value)
    return element


def _set(element: ET.Element, attribute: AttributeType[Any], value: _Value) -> None:
    match value:
        case None:
            return
        case str():
            text = value
        case tuple():
            text = " ".join(map(_number, value))
        case _:
            text = _number(value)
    element.set(attribute.name, text)


def _number(value: float) -> str:
    if math.isinf(value):
        value = math.copysign(_FARTHEST, value)
    return repr(float(value)).removesuffix(".0")


def _write_origin(parent: ET.Element, pose: Pose) -> None:
    if pose == IDENTITY:
        return
    rpy = rpy_from_quat_wxyz(pose.quat_wxyz)
    _add(parent, g.ORIGIN, (g.XYZ, pose.position), (g.RPY, rpy))


def _write_link(robot: ET.Element, link: Link, version: tuple[int, int]) -> None:
    element = _add(robot, g.LINK, (g.NAME, link.name))
    if link.inertial is not None:
        _write_inertial(element, link.inertial)
    for visual in link.visuals:
        shape = _write_visual(element, visual)
        write_custom(shape, g.VISUAL, visual.custom, version=version)
    for collision in link.collisions:
        shape = _add(element, g.COLLISION, (g.OPTIONAL_NAME, collision.name))
        _write_origin(shape, collision.origin)
        _write_geometry(shape, collision.geometry)
        write_custom(shape, g.COLLISION, collision.custom, version=version)
    write_custom(element, g.LINK, _own(link.custom), version=version)


def _own(custom: Custom) -> Custom:
    """Return the custom data without Gazebo's elements."""
    elsewhere = addressed(custom.elements)
    own = tuple(one for one in custom.elements if one not in elsewhere)
    return Custom(custom.attributes, own)


def _write_inertial(link: ET.Element, inertial: Inertial) -> None:
    element = _add(link, g.INERTIAL)
    _write_origin(element, inertial.origin)
    _add(element, g.MASS, (g.MASS_VALUE, inertial.mass))
    tensor = _add(element, g.INERTIA)
    names = (g.IXX, g.IXY, g.IXZ, g.IYY, g.IYZ, g.IZZ)
    for name, value in zip(names, inertial.inertia, strict=True):
        _set(tensor, name, value)


def _write_visual(link: ET.Element, visual: Visual) -> ET.Element:
    element = _add(link, g.VISUAL, (g.OPTIONAL_NAME, visual.name))
    _write_origin(element, visual.origin)
    _write_geometry(element, visual.geometry)
    if visual.material is not None:
        _write_material(element, visual.material)
    return element


def _write_material(visual: ET.Element, material: Material) -> None:
    """Write the material in the visual, because names need not be unique."""
    # ROS requires the attribute, even if there is no name.
    element = _add(visual, g.MATERIAL, (g.OPTIONAL_NAME, material.name or ""))
    if material.rgba is not None:
        _add(element, g.COLOR, (g.RGBA, material.rgba))
    if material.texture_uri is not None:
        _add(element, g.TEXTURE, (g.FILENAME, material.texture_uri))


def _write_geometry(shape: ET.Element, geometry: Geometry) -> None:
    element = _add(shape, g.GEOMETRY)
    match geometry:
        case Box(size):
            _add(element, g.BOX, (g.SIZE, size))
        case Cylinder(radius, length):
            _add(element, g.CYLINDER, (g.RADIUS, radius), (g.LENGTH, length))
        case Capsule(radius, length):
            _add(element, g.CAPSULE, (g.RADIUS, radius), (g.LENGTH, length))
        case Sphere(radius):
            _add(element, g.SPHERE, (g.RADIUS, radius))
        case MeshFile(uri=uri, scale=scale):
            factors = None if scale == g.SCALE.default else scale
            _add(element, g.MESH, (g.FILENAME, uri), (g.SCALE, factors))
        case _:
            assert_never(geometry)


def _write_joint(robot: ET.Element, joint: Joint, version: tuple[int, int]) -> None:
    kind = joint.kind
    element = _add(
        robot,
        g.JOINT,
        (g.NAME, joint.name),
        (g.TYPE, _type_name(kind)),
        (g.DONT_COLLAPSE, "true" if joint.dont_collapse else None),
    )
    _write_origin(element, joint.origin)
    _add(element, g.PARENT, (g.LINK_NAME, joint.parent))
    _add(element, g.CHILD, (g.LINK_NAME, joint.child))
    if isinstance(kind, Revolute | Continuous | Prismatic | Planar):
        _add(element, g.AXIS, (g.AXIS_XYZ, kind.axis))
    limits: list[tuple[AttributeType[Any], _Value]] = []
    if isinstance(kind, Revolute | Prismatic) and _type_name(kind) != "continuous":
        limits += [(g.LOWER, kind.range.lower), (g.UPPER, kind.range.upper)]
    limits += [(g.EFFORT, joint.effort), (g.VELOCITY, joint.velocity)]
    limits += _dynamic_limits(joint)
    if any(value is not None for _, value in limits):
        _add(element, g.LIMIT, *limits)
    _write_extras(element, joint)
    own = _own(joint.custom)
    write_custom(element, g.JOINT, own, version=version, idle=_idle(kind))


def _idle(kind: JointKind) -> Idle:
    """Return the attributes that have no effect on joints of a type."""
    idle = set[tuple[str, str]]()
    if not isinstance(kind, Revolute | Continuous | Prismatic | Planar):
        idle.add((g.AXIS.tag, g.AXIS_XYZ.name))
    if not isinstance(kind, Revolute | Prismatic):
        idle |= {(g.LIMIT.tag, g.LOWER.name), (g.LIMIT.tag, g.UPPER.name)}
    return frozenset(idle)


def _write_extras(element: ET.Element, joint: Joint) -> None:
    if found := joint.dynamics:
        _add(
            element,
            g.DYNAMICS,
            (g.DAMPING, found.damping),
            (g.FRICTION, found.friction),
        )
    if mimic := joint.mimic:
        _add(
            element,
            g.MIMIC,
            (g.LEADER, mimic.joint),
            (g.MULTIPLIER, mimic.multiplier),
            (g.OFFSET, mimic.offset),
        )
    if safety := joint.safety:
        _add(
            element,
            g.SAFETY_CONTROLLER,
            (g.K_VELOCITY, safety.k_velocity),
            (g.K_POSITION, safety.k_position),
            (g.SOFT_LOWER_LIMIT, safety.soft_lower_limit),
            (g.SOFT_UPPER_LIMIT, safety.soft_upper_limit),
        )
    if edges := joint.calibration:
        _add(element, g.CALIBRATION, (g.RISING, edges.rising), (g.FALLING, edges.falling))


def _type_name(kind: JointKind) -> str:
    if isinstance(kind, Revolute) and kind.range == UNLIMITED:
        kind = Continuous(kind.axis)
    return type(kind).__name__.lower()


_UNTURNED = (1.0, 0.0, 0.0, 0.0)
_ROUNDING = 2.0**-52
# Most significant digits that a double needs.
_MOST_DIGITS = 17


def rpy_from_quat_wxyz(quat_wxyz: Vec4) -> Vec3:
    """Return roll, pitch and yaw [rad] of a unit quaternion.

    Rounded to the fewest digits that reproduce the quaternion within double rounding:
    1.5708 stays 1.5708.
    """
    if quat_wxyz == _UNTURNED:
        return 0.0, 0.0, 0.0
    exact = rpy_from_rotation(rotation_from_quat_wxyz(quat_wxyz))
    allowed = max(_ROUNDING, _distance(exact, quat_wxyz))
    for digits in range(1, _MOST_DIGITS):
        roll, pitch, yaw = (float(f"{angle:.{digits}g}") + 0.0 for angle in exact)
        if _distance((roll, pitch, yaw), quat_wxyz) <= allowed:
            return roll, pitch, yaw
    return exact


def _distance(rpy: Vec3, quat_wxyz: Vec4) -> float:
    """Return the distance of two rotations as unit quaternions."""
    found = quat_wxyz_from_rpy(rpy)
    opposite = tuple(-component for component in found)
    return min(math.dist(found, quat_wxyz), math.dist(opposite, quat_wxyz))
