"""One joint, from its prim and from what OpenUSD's physics parser says of it."""

from __future__ import annotations

from math import degrees, radians
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from pxr import Gf, Usd, UsdPhysics

from converter.diagnostics import Diagnostic, StageError
from converter.model import (
    UNLIMITED,
    Calibration,
    Continuous,
    Dynamics,
    Fixed,
    Floating,
    JointKind,
    Mimic,
    Planar,
    Prismatic,
    Range,
    Revolute,
    SafetyController,
    Spherical,
    Vec3,
)
from converter.spatial import rotation_from_quat_wxyz
from converter.usd.custom import read_number, read_text
from converter.usd.storage import FARTHEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = UsdPhysics.ObjectType
JOINT_DESCRIPTIONS = (
    _KINDS.FixedJoint,
    _KINDS.RevoluteJoint,
    _KINDS.PrismaticJoint,
    _KINDS.SphericalJoint,
    _KINDS.D6Joint,
)
_UNIT = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


class Gaps(TypedDict):
    """Fields of a joint that UsdPhysics has no schema for."""

    effort: float | None
    velocity: float | None
    dynamics: Dynamics | None
    mimic: Mimic | None
    safety: SafetyController | None
    calibration: Calibration | None


def joint_kind(prim: Usd.Prim, description: UsdPhysics.JointDesc) -> JointKind | None:
    """Return how a joint moves; None for a joint that is switched off.

    Raises:
        StageError: URDF has no such motion.
    """
    if not description.jointEnabled:
        return Floating() if read_text(prim, "joint:type") == "floating" else None
    match description.type:
        case _KINDS.FixedJoint:
            return Fixed()
        case _KINDS.SphericalJoint:
            return Spherical()
        case _KINDS.RevoluteJoint:
            limits = _range(description.limit, angular=True)
            return _hinge(prim, _axis(prim, description), limits)
        case _KINDS.PrismaticJoint:
            return Prismatic(
                _axis(prim, description), _range(description.limit, angular=False)
            )
        case _:
            return _d6_kind(prim, description)


def local_transform(position: Gf.Vec3f, orientation: Gf.Quatf) -> NDArray[np.float64]:
    """Return the (4, 4) transform of a joint frame into its body's frame."""
    transform = np.eye(4)
    w, (x, y, z) = orientation.GetReal(), orientation.GetImaginary()
    transform[:3, :3] = rotation_from_quat_wxyz((w, x, y, z))
    transform[:3, 3] = position
    return transform


def read_gaps(prim: Usd.Prim) -> Gaps:
    """Read ``urdf:`` attributes, and Newton's where those are absent."""
    angular = prim.IsA(UsdPhysics.RevoluteJoint)
    velocity = read_number(prim, "limit:velocity")
    if velocity is None and (said := _newton(prim, "velocityLimit")) is not None:
        velocity = radians(said) if angular else said
    damping = read_number(prim, "dynamics:damping")
    if damping is None and (said := _newton(prim, "damping")) is not None:
        damping = degrees(said) if angular else said
    friction = read_number(prim, "dynamics:friction")
    if friction is None:
        friction = _newton(prim, "friction")
    dynamics = Dynamics(damping, friction)
    safety = SafetyController(
        *(
            read_number(prim, f"safety_controller:{name}")
            for name in (
                "k_velocity",
                "k_position",
                "soft_lower_limit",
                "soft_upper_limit",
            )
        )
    )
    calibration = Calibration(
        read_number(prim, "calibration:rising"),
        read_number(prim, "calibration:falling"),
    )
    return Gaps(
        effort=read_number(prim, "limit:effort"),
        velocity=velocity,
        dynamics=None if dynamics == Dynamics() else dynamics,
        mimic=_mimic(prim, angular=angular),
        safety=None if safety == SafetyController() else safety,
        calibration=None if calibration == Calibration() else calibration,
    )


def _newton(prim: Usd.Prim, name: str) -> float | None:
    attribute = prim.GetAttribute(f"newton:{name}")
    if not attribute or not attribute.HasAuthoredValue():
        return None
    return float(attribute.Get())


def _mimic(prim: Usd.Prim, *, angular: bool) -> Mimic | None:
    leader = read_text(prim, "mimic:joint")
    multiplier = read_number(prim, "mimic:multiplier")
    offset = read_number(prim, "mimic:offset")
    if leader is not None and multiplier is not None and offset is not None:
        return Mimic(leader, multiplier, offset)
    targets = prim.GetRelationship("newton:mimicJoint").GetTargets()
    if not targets:
        return None
    target = prim.GetStage().GetPrimAtPath(targets[0])
    multiplier = _newton(prim, "mimicCoef1")
    offset = _newton(prim, "mimicCoef0") or 0.0
    return Mimic(
        target.GetDisplayName() or target.GetName(),
        1.0 if multiplier is None else multiplier,
        radians(offset) if angular else offset,
    )


def _hinge(prim: Usd.Prim, axis: Vec3, limits: Range) -> Revolute | Continuous:
    if limits == UNLIMITED and read_text(prim, "joint:type") != "revolute":
        return Continuous(axis)
    return Revolute(axis, limits)


def _axis(prim: Usd.Prim, description: UsdPhysics.JointDesc) -> Vec3:
    token = prim.GetAttribute("physics:axis").Get()
    return _child_axis(str(token), description)


def _child_axis(token: str, description: UsdPhysics.JointDesc) -> Vec3:
    """Turn an axis of the joint frame into the child's frame."""
    frame = local_transform(
        description.localPose1Position, description.localPose1Orientation
    )
    x, y, z = (float(c) + 0.0 for c in frame[:3, :3] @ _UNIT[token])
    return x, y, z


def _range(limit: UsdPhysics.JointLimit, *, angular: bool) -> Range:
    if not limit.enabled:
        return UNLIMITED
    lower, upper = (_unlimited(value) for value in (limit.lower, limit.upper))
    return Range(radians(lower), radians(upper)) if angular else Range(lower, upper)


def _unlimited(value: float) -> float:
    """Read a very distant limit as none, which is how one side is left open."""
    return float(np.copysign(np.inf, value)) if abs(value) >= FARTHEST else float(value)


def _d6_kind(prim: Usd.Prim, description: UsdPhysics.D6JointDesc) -> JointKind:
    """Read a generic joint whose locked axes leave a motion that URDF has."""
    limits = {
        str(pair.first.name): pair.second
        for pair in description.jointLimits
        if pair.second.enabled
    }
    locked = {name for name, limit in limits.items() if limit.lower > limit.upper}
    bounded = set(limits) - locked
    free = {f"{motion}{axis}" for motion in ("Trans", "Rot") for axis in "XYZ"} - locked
    if not free:
        return Fixed()
    if not locked and not bounded:
        return Floating()
    if len(free) == 1:
        (name,) = free
        axis = _child_axis(name[-1], description)
        angular = name.startswith("Rot")
        limits_of = _range(limits[name], angular=angular) if bounded else UNLIMITED
        if not angular:
            return Prismatic(axis, limits_of)
        return Revolute(axis, limits_of) if bounded else Continuous(axis)
    if not bounded:
        for normal in "XYZ":
            plane = {f"Trans{axis}" for axis in "XYZ" if axis != normal}
            if free == plane | {f"Rot{normal}"}:
                return Planar(_child_axis(normal, description))
        if free == {"RotX", "RotY", "RotZ"}:
            return Spherical()
    message = f"joint {prim.GetPath()} is free in {', '.join(sorted(free))}"
    raise StageError((Diagnostic("stage-structure", message),))
