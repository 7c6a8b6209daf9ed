"""Joint types and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import radians
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Continuous,
    Fixed,
    Floating,
    JointKind,
    Planar,
    Prismatic,
    Range,
    Revolute,
    Spherical,
    Vec3,
)
from urdf_usd.converter.usd.urdf_attributes import read_text
from urdf_usd.converter.usd.writer.float32 import LEAST_RANGE, NO_LIMIT

Matrix: TypeAlias = "NDArray[np.float64]"
# Maps "X", "Y" or "Z" of the joint frame to a unit vector in the child.
_AxisOf: TypeAlias = Callable[[str], Vec3]

_KINDS = UsdPhysics.ObjectType
_UNIT = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_FREEDOMS = tuple(f"{motion}{axis}" for motion in ("Trans", "Rot") for axis in "XYZ")
# Smaller offsets of a joint frame from the link's origin or axis are ignored [m].
_AT_ORIGIN = 1e-9


class AxisChain(Struct, frozen=True):
    """A joint of several degrees of freedom as a chain of one-axis joints.

    From parent to child, the chain translates along X, Y and Z of the joint frame and
    then rotates about X, Y and Z of the frame that results: the motion is
    T(x, y, z) Rx Ry Rz, in the joint frame of side 0. A joint that is followed from
    side 1 to side 0 has the inverse motion: the reversed order and negated axes.

    Attributes:
        axes: Instance name of ``PhysicsLimitAPI``, such as ``rotX``, and motion of each
            joint. Axes are in the joint frame, except that of the last joint, which is
            in the child body.
        backwards: Whether the child is on side 0.
        cone: Angles of the cone limit of a spherical joint [deg]; None for a D6 joint.
    """

    axes: tuple[tuple[str, JointKind], ...]
    backwards: bool = False
    cone: tuple[float, float] | None = None


def is_floating(prim: Usd.Prim, description: UsdPhysics.JointDesc) -> bool:
    """Return whether a joint is a floating joint of URDF: disabled, without limits."""
    if read_text(prim, "joint:type") == "floating":
        return True
    return (
        not description.jointEnabled
        and description.type == _KINDS.D6Joint
        and not any(pair.second.enabled for pair in description.jointLimits)
    )


def joint_kind(
    prim: Usd.Prim,
    description: UsdPhysics.JointDesc,
    turn: Matrix,
    length: float,
    *,
    backwards: bool,
    lockable: bool = True,
) -> Findings[JointKind | AxisChain]:
    """Read the type and limits of a joint.

    Args:
        prim: The joint.
        description: Its description by OpenUSD's physics parser.
        turn: (3, 3) rotation of the joint frame in the child body.
        length: Unit of length [m].
        backwards: Whether the child is on side 0. Then the axis is negated, so that
            positions keep their sign.
        lockable: Whether a lower limit above the upper one fixes the joint.

    Returns:
        A chain for a joint of several axes that no joint type of URDF represents.
    """
    if is_floating(prim, description):
        return Floating()

    def axis_of(token: str) -> Vec3:
        unit = np.array(_UNIT[token]) * (-1.0 if backwards else 1.0)
        x, y, z = (float(c) + 0.0 for c in turn @ unit)
        return x, y, z

    match description.type:
        case _KINDS.FixedJoint:
            return Fixed()
        case _KINDS.SphericalJoint:
            if not description.limit.enabled:
                return Spherical()
            message = (
                f"the cone limit of joint {prim.GetPath()} becomes a limit about each of two axes"
            )
            yield Diagnostic("joint-limit-approximated", message)
            return _cone(prim, axis_of, backwards=backwards)
        case _KINDS.D6Joint:
            return _generic(description, axis_of, length, backwards=backwards)
        case _:
            return _limited(prim, description, axis_of, length, lockable=lockable)


def _limited(
    prim: Usd.Prim,
    description: UsdPhysics.RevoluteJointDesc | UsdPhysics.PrismaticJointDesc,
    axis_of: _AxisOf,
    length: float,
    *,
    lockable: bool,
) -> JointKind:
    limits = _range(description.limit)
    declared = read_text(prim, "joint:type")
    if limits.lower > limits.upper and declared is None and lockable:
        # Reversed limits lock a joint, except in our own conversions.
        return Fixed()
    # None if blocked; the parser uses the schema's fallback then.
    axis = axis_of(str(prim.GetAttribute("physics:axis").Get() or "X"))
    if description.type == _KINDS.PrismaticJoint:
        return Prismatic(axis, _scaled(limits, length))
    if limits == UNLIMITED and declared != "revolute":
        return Continuous(axis)
    return Revolute(axis, _scaled(limits, radians(1)))


def _cone(prim: Usd.Prim, axis_of: _AxisOf, *, backwards: bool) -> AxisChain:
    """Read a spherical joint whose primary axis is limited to a cone.

    Angle 0 turns the primary axis towards the next axis, that is about the one after
    it. The rotation about the primary axis is the last of the chain and not limited.
    OpenUSD's parser reads no limit if one of the angles is negative.
    """
    joint = UsdPhysics.SphericalJoint(prim)
    primary = "XYZ".index(str(joint.GetAxisAttr().Get() or "X"))
    angles = (
        float(joint.GetConeAngle0LimitAttr().Get()),
        float(joint.GetConeAngle1LimitAttr().Get()),
    )
    limits = {}
    for step, angle in zip((2, 1), angles, strict=True):
        name = f"Rot{'XYZ'[(primary + step) % 3]}"
        limits[name] = Range(-angle, angle)
    names = (*limits, f"Rot{'XYZ'[primary]}")
    return _chain(names, limits, axis_of, 1.0, backwards=backwards, cone=angles)


def _generic(
    description: UsdPhysics.D6JointDesc,
    axis_of: _AxisOf,
    length: float,
    *,
    backwards: bool,
) -> JointKind | AxisChain:
    """Read a D6 joint, whose six axes are locked, limited or free."""
    limits = {
        str(pair.first.name): _range(pair.second)
        for pair in description.jointLimits
        if pair.second.enabled
    }
    locked = {
        name
        for name, limit in limits.items()
        if limit.lower > limit.upper or (limit.lower, limit.upper) == (0.0, 0.0)
    }
    free = tuple(name for name in _FREEDOMS if name not in locked)
    if len(free) == 1:
        return _single(free[0], limits, axis_of(free[0][-1]), length)
    bounded = any(limits.get(name, UNLIMITED) != UNLIMITED for name in free)
    kind = None if bounded else _several(free, axis_of)
    if kind is not None:
        return kind
    return _chain(free, limits, axis_of, length, backwards=backwards)


def _chain(  # what is known of a joint
    names: tuple[str, ...],
    limits: Mapping[str, Range],
    axis_of: _AxisOf,
    length: float,
    *,
    backwards: bool,
    cone: tuple[float, float] | None = None,
) -> AxisChain:
    """Return the chain of the free axes, given in the order from side 0 to side 1."""
    *inner, last = reversed(names) if backwards else names
    sign = -1.0 if backwards else 1.0
    kinds = []
    for name in inner:
        x, y, z = (sign * component + 0.0 for component in _UNIT[name[-1]])
        kinds.append(_single(name, limits, (x, y, z), length))
    kinds.append(_single(last, limits, axis_of(last[-1]), length))
    tokens = (name[0].lower() + name[1:] for name in (*inner, last))
    return AxisChain(tuple(zip(tokens, kinds, strict=True)), backwards, cone)


def _single(name: str, limits: Mapping[str, Range], axis: Vec3, length: float) -> JointKind:
    limit = limits.get(name, UNLIMITED)
    if name.startswith("Trans"):
        return Prismatic(axis, _scaled(limit, length))
    if limit == UNLIMITED:
        return Continuous(axis)
    return Revolute(axis, _scaled(limit, radians(1)))


def _several(free: tuple[str, ...], axis_of: _AxisOf) -> JointKind | None:
    if not free:
        return Fixed()
    if free == _FREEDOMS:
        return Floating()
    if free == _FREEDOMS[3:]:
        return Spherical()
    for normal in "XYZ":
        plane = {f"Trans{axis}" for axis in "XYZ" if axis != normal}
        if set(free) == plane | {f"Rot{normal}"}:
            return Planar(axis_of(normal))
    return None


def offset_from_axis(kind: JointKind, frame: Matrix) -> Vec3 | None:
    """Return the origin of a link's frame in its body; None for the body's origin.

    In URDF, a joint axis passes through the origin of the child link. For prismatic and
    fixed joints, the origin does not matter.

    Args:
        kind: Joint type.
        frame: (4, 4) joint frame in the body [m].
    """
    place = frame[:3, 3]
    match kind:
        case Revolute(axis) | Continuous(axis) | Planar(axis):
            away = place - np.dot(place, axis) * np.array(axis)
        case Spherical():
            away = place
        case _:
            return None
    if np.linalg.norm(away) <= _AT_ORIGIN:
        return None
    x, y, z = (float(c) + 0.0 for c in place)
    return x, y, z


def _range(limit: UsdPhysics.JointLimit) -> Range:
    if not limit.enabled:
        return UNLIMITED
    # The variant for MuJoCo has no equal limits.
    is_empty = limit.lower == 0.0 and limit.upper == LEAST_RANGE
    return Range(_open(limit.lower), 0.0 if is_empty else _open(limit.upper))


def _scaled(limits: Range, unit: float) -> Range:
    return Range(limits.lower * unit, limits.upper * unit)


def _open(value: float) -> float:
    """Return infinity for a very large limit, which represents no limit."""
    return float(np.copysign(np.inf, value)) if abs(value) >= NO_LIMIT else float(value)
