"""What UsdPhysics has no schema for: read from ``urdf:``, Newton's schemas, drives."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isclose, isfinite, pi
from typing import TYPE_CHECKING, TypedDict

from pxr import Usd, UsdPhysics

from converter.model import (
    Calibration,
    Continuous,
    Dynamics,
    Mimic,
    Prismatic,
    Revolute,
    SafetyController,
)
from converter.usd.custom import read_number, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pxr import Sdf

    from converter.model import JointKind
    from converter.usd.placement import Units

_DEGREE = pi / 180
# A number in double and the same in float32 differ by less, relative or below what
# float32 tells from zero.
_SAME = 1e-6
_NOTHING = 1e-36


class Gaps(TypedDict):
    """Fields of a joint that UsdPhysics has no schema for."""

    effort: float | None
    velocity: float | None
    acceleration: float | None
    deceleration: float | None
    jerk: float | None
    dynamics: Dynamics | None
    mimic: Mimic | None
    safety: SafetyController | None
    calibration: Calibration | None
    dont_collapse: bool


@dataclass(frozen=True, slots=True)
class _Scale:
    """SI values of one unit of the schemas, for the motion of one joint."""

    position: float
    force: float

    @property
    def damping(self) -> float:
        return self.force / self.position


def read_gaps(
    prim: Usd.Prim,
    kind: JointKind,
    units: Units,
    joint_names: Mapping[Sdf.Path, str],
) -> Gaps:
    """Read what a joint says beyond UsdPhysics.

    ``urdf:`` attributes hold doubles; where a schema that simulators read says another
    number, the schema counts.

    Args:
        prim: The joint, or a frame that keeps what was said of its joint.
        kind: How the joint moves.
        units: Units of the stage.
        joint_names: URDF names of joint prims.
    """
    scale = None
    if isinstance(kind, Revolute | Continuous):
        scale = _Scale(_DEGREE, units.inertia)
    elif isinstance(kind, Prismatic):
        scale = _Scale(units.length, units.force)
    velocity = damping = friction = effort = None
    if scale:
        velocity = _schema(prim, "newton:velocityLimit", scale.position)
        velocity = velocity or _schema(
            prim, "physxJoint:maxJointVelocity", scale.position
        )
        damping = _schema(prim, "newton:damping", scale.damping)
        friction = _schema(prim, "newton:friction", scale.force)
        effort = _drive_limit(prim, scale.force)
    dynamics = Dynamics(
        _effective(read_number(prim, "dynamics:damping"), damping),
        _effective(read_number(prim, "dynamics:friction"), friction),
    )
    safety = _safety(prim)
    calibration = Calibration(
        read_number(prim, "calibration:rising"),
        read_number(prim, "calibration:falling"),
    )
    return Gaps(
        effort=_effective(read_number(prim, "limit:effort"), effort),
        velocity=_effective(read_number(prim, "limit:velocity"), velocity),
        acceleration=read_number(prim, "limit:acceleration"),
        deceleration=read_number(prim, "limit:deceleration"),
        jerk=read_number(prim, "limit:jerk"),
        dynamics=None if dynamics == Dynamics() else dynamics,
        mimic=_mimic(prim, scale, joint_names),
        safety=None if safety == SafetyController() else safety,
        calibration=None if calibration == Calibration() else calibration,
        dont_collapse=bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
    )


def _safety(prim: Usd.Prim) -> SafetyController:
    return SafetyController(
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


def has_drive(prim: Usd.Prim) -> bool:
    """Say whether a joint has a drive with gains, for which URDF has no word."""
    return any(
        drive.GetStiffnessAttr().Get() or drive.GetDampingAttr().Get()
        for drive in UsdPhysics.DriveAPI.GetAll(prim)
    )


def _effective(custom: float | None, schema: float | None) -> float | None:
    if schema is None or (
        custom is not None and isclose(custom, schema, rel_tol=_SAME, abs_tol=_NOTHING)
    ):
        return custom
    return schema


def _schema(prim: Usd.Prim, name: str, unit: float) -> float | None:
    attribute = prim.GetAttribute(name)
    if not attribute or not attribute.HasAuthoredValue():
        return None
    value = float(attribute.Get())
    return value * unit if isfinite(value) else None


def _drive_limit(prim: Usd.Prim, unit: float) -> float | None:
    """Return the largest force of a drive; an infinite one is no limit."""
    limits = [
        float(drive.GetMaxForceAttr().Get())
        for drive in UsdPhysics.DriveAPI.GetAll(prim)
        if drive.GetMaxForceAttr().HasAuthoredValue()
    ]
    largest = max(limits, default=inf)
    return largest * unit if isfinite(largest) else None


def _mimic(
    prim: Usd.Prim, scale: _Scale | None, joint_names: Mapping[Sdf.Path, str]
) -> Mimic | None:
    custom = _kept_mimic(prim)
    targets = prim.GetRelationship("newton:mimicJoint").GetTargets()
    enabled = prim.GetAttribute("newton:mimicEnabled").Get()
    leader = joint_names.get(targets[0]) if targets else None
    if leader is None or scale is None or enabled is False:
        return custom if custom and custom.joint in joint_names.values() else None
    multiplier = _schema(prim, "newton:mimicCoef1", 1.0)
    offset = _schema(prim, "newton:mimicCoef0", scale.position)
    schema = Mimic(leader, 1.0 if multiplier is None else multiplier, offset or 0.0)
    return custom if custom and _same_mimic(custom, schema) else schema


def _kept_mimic(prim: Usd.Prim) -> Mimic | None:
    leader = read_text(prim, "mimic:joint")
    multiplier = read_number(prim, "mimic:multiplier")
    offset = read_number(prim, "mimic:offset")
    if leader is None or multiplier is None or offset is None:
        return None
    return Mimic(leader, multiplier, offset)


def _same_mimic(one: Mimic, other: Mimic) -> bool:
    return (
        one.joint == other.joint
        and isclose(one.multiplier, other.multiplier, rel_tol=_SAME, abs_tol=_NOTHING)
        and isclose(one.offset, other.offset, rel_tol=_SAME, abs_tol=_NOTHING)
    )
