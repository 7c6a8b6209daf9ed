"""Parts of a robot in words, as text, graphs and diagrams show them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, assert_never

from urdf_usd.converter.inspection import kind_name
from urdf_usd.converter.robot.model import (
    IDENTITY,
    Box,
    Capsule,
    Continuous,
    Cylinder,
    MeshFile,
    Planar,
    Prismatic,
    Revolute,
    Sphere,
)
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.converter.extents import MeshExtent
    from urdf_usd.converter.robot.model import Geometry, Joint, Pose, Range, Vec3

_INFINITY = float("inf")


def joint_summary(joint: Joint) -> str:
    """Say of which type a joint is, along or about which axis, and how far it goes."""
    kind = joint.kind
    name = kind_name(kind)
    match kind:
        case Revolute(axis, allowed):
            return f"{name} about {direction(axis)}, {_range(allowed, 'rad')}"
        case Prismatic(axis, allowed):
            return f"{name} along {direction(axis)}, {_range(allowed, 'm')}"
        case Continuous(axis):
            return f"{name} about {direction(axis)}"
        case Planar(axis):
            return f"{name} normal to {direction(axis)}"
        case _:
            return name


def joint_details(joint: Joint) -> tuple[str, ...]:
    """Say what else a joint has: ratings, dynamics, coupling, origin."""
    turns = isinstance(joint.kind, Revolute | Continuous)
    force, speed = ("N m", "rad/s") if turns else ("N", "m/s")
    details = []
    if joint.effort is not None:
        details.append(f"{number(joint.effort)} {force}")
    if joint.velocity is not None:
        details.append(f"{number(joint.velocity)} {speed}")
    if joint.dynamics:
        for name in ("damping", "friction"):
            value = getattr(joint.dynamics, name)
            if value:
                details.append(f"{name} {number(value)}")
    if joint.mimic:
        mimic = joint.mimic
        factor = f" x {number(mimic.multiplier)}" if mimic.multiplier != 1.0 else ""
        offset = f" + {number(mimic.offset)}" if mimic.offset else ""
        details.append(f"follows {mimic.joint}{factor}{offset}")
    return (*details, *placement(joint.origin))


def placement(pose: Pose) -> tuple[str, ...]:
    """Say where a frame is, as far as it is elsewhere than its parent."""
    said = []
    if pose.position != IDENTITY.position:
        said.append(f"at {vector(pose.position)}")
    if pose.quat_wxyz != IDENTITY.quat_wxyz:
        roll, pitch, yaw = rpy_from_rotation(rotation_from_quat_wxyz(pose.quat_wxyz))
        # What is left of an angle of zero after the way through a quaternion.
        rpy = (round(roll, 12), round(pitch, 12), round(yaw, 12))
        said.append(f"rpy {vector(rpy)}")
    return tuple(said)


def shape_summary(geometry: Geometry, meshes: Mapping[str, MeshExtent]) -> str:
    """Say what a shape is and how large."""
    match geometry:
        case Box(size):
            return f"box {' x '.join(map(number, size))} m"
        case Sphere(radius):
            return f"sphere r {number(radius)} m"
        case Cylinder(radius, length):
            return f"cylinder r {number(radius)} m, l {number(length)} m"
        case Capsule(radius, length):
            return f"capsule r {number(radius)} m, l {number(length)} m"
        case MeshFile(uri, path, scale):
            scaled = "" if scale == (1.0, 1.0, 1.0) else f" x {_scale(scale)}"
            name = PurePosixPath(uri.replace("\\", "/")).name
            return f"mesh {name}{scaled} ({_content(path, meshes)})"
        case _:
            assert_never(geometry)


def direction(axis: Vec3) -> str:
    """Name an axis: a letter with a sign, or its components."""
    for index, letter in enumerate("XYZ"):
        if abs(axis[index]) == 1.0:
            return letter if axis[index] > 0.0 else f"-{letter}"
    return vector(axis)


def vector(values: Vec3) -> str:
    """Write three numbers."""
    return f"({', '.join(map(number, values))})"


def number(value: float) -> str:
    """Write a number with at most five digits."""
    return f"{value + 0.0:.5g}"


def _range(allowed: Range, unit: str) -> str:
    if (allowed.lower, allowed.upper) == (-_INFINITY, _INFINITY):
        return "unlimited"
    return f"{number(allowed.lower)} to {number(allowed.upper)} {unit}"


def _scale(scale: Vec3) -> str:
    return number(scale[0]) if len(set(scale)) == 1 else vector(scale)


def _content(path: str | None, meshes: Mapping[str, MeshExtent]) -> str:
    if path is None:
        return "not found"
    if path not in meshes:
        return "not readable"
    return f"{meshes[path].triangles} triangles"
