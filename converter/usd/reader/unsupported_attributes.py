"""Joint attributes without UsdPhysics schema, from ``urdf:`` and other schemas."""

from __future__ import annotations

from math import inf, isclose, isfinite, pi
from typing import TypedDict

from msgspec import Struct
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.robot.model import (
    Calibration,
    Continuous,
    Dynamics,
    JointKind,
    Mimic,
    Prismatic,
    Revolute,
    SafetyController,
)
from urdf_usd.converter.usd.reader.couplings import (
    NOTHING,
    SAME,
    JointNames,
    read_mimic,
)
from urdf_usd.converter.usd.reader.transforms import Units
from urdf_usd.converter.usd.urdf_attributes import read_number

_DEGREE = pi / 180
# Attributes of Newton, then of PhysX; ``{}`` is the instance name of an axis, whose
# schema
# takes precedence over that of the joint.
_AXIS_SCHEMA = "PhysxJointAxisAPI:"
_VELOCITY = (
    "newton:velocityLimit",
    "physxJointAxis:{}:maxJointVelocity",
    "physxJoint:maxJointVelocity",
)
_DAMPING = ("newton:damping", "physxJointAxis:{}:viscousFrictionCoefficient")
_FRICTION = ("newton:friction", "physxJointAxis:{}:dynamicFrictionEffort")
# Those of MuJoCo have radians, and one number for the axis of a joint.
_MUJOCO_DAMPING = ("mjc:damping",)
_MUJOCO_FRICTION = ("mjc:frictionloss",)
_MUJOCO_RANGE = "mjc:actuatorfrcrange"


class UnsupportedAttributes(TypedDict):
    """Fields of a joint without UsdPhysics schema."""

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


class _Scale(Struct, frozen=True):
    """Units of the schemas in SI, for one joint."""

    position: float
    force: float
    angular: bool

    @property
    def damping(self) -> float:
        return self.force / self.position

    @property
    def damping_per_radian(self) -> float:
        return self.force if self.angular else self.damping


def read_unsupported_attributes(
    prim: Usd.Prim,
    kind: JointKind,
    units: Units,
    joints: JointNames,
) -> UnsupportedAttributes:
    """Read the attributes of a joint without UsdPhysics schema.

    ``urdf:`` attributes are doubles; if a schema of a simulator has a different value,
    that is used.

    Args:
        prim: The joint, or the frame that stores the data of its joint.
        kind: Joint type.
        units: Units of the stage.
        joints: Names of all joints.
    """
    scale = _scale(kind, units)
    velocity = damping = friction = effort = None
    if scale:
        velocity = _schema(prim, _VELOCITY, scale.position)
        damping = _schema(prim, _DAMPING, scale.damping)
        if damping is None:
            damping = _schema(prim, _MUJOCO_DAMPING, scale.damping_per_radian)
        friction = _schema(prim, (*_FRICTION, *_MUJOCO_FRICTION), scale.force)
        limits = _drive_limit(prim, scale.force), _range_limit(prim, scale.force)
        effort = min((one for one in limits if one is not None), default=None)
    dynamics = Dynamics(
        _effective(read_number(prim, "dynamics:damping"), damping),
        _effective(read_number(prim, "dynamics:friction"), friction),
    )
    safety = _safety(prim)
    calibration = Calibration(
        read_number(prim, "calibration:rising"),
        read_number(prim, "calibration:falling"),
    )
    return UnsupportedAttributes(
        effort=_effective(read_number(prim, "limit:effort"), effort),
        velocity=_effective(read_number(prim, "limit:velocity"), velocity),
        acceleration=read_number(prim, "limit:acceleration"),
        deceleration=read_number(prim, "limit:deceleration"),
        jerk=read_number(prim, "limit:jerk"),
        dynamics=None if dynamics == Dynamics() else dynamics,
        mimic=read_mimic(prim, joints) if scale else None,
        safety=None if safety == SafetyController() else safety,
        calibration=None if calibration == Calibration() else calibration,
        dont_collapse=bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
    )


class AxisAttributes(TypedDict):
    """Fields of one axis of a joint of several axes."""

    effort: float | None
    velocity: float | None
    dynamics: Dynamics | None


def read_axis_attributes(
    prim: Usd.Prim, kind: JointKind, units: Units, token: str
) -> AxisAttributes:
    """Read the attributes of one axis of a joint of several axes.

    They are in multiple-apply schemas. Attributes of the whole joint are not read,
    because schemas do not state how they apply to several axes.

    Args:
        prim: The joint.
        kind: Motion of the axis.
        units: Units of the stage.
        token: Instance name of the axis, such as ``rotX``.
    """
    scale = _scale(kind, units)
    if scale is None:
        return AxisAttributes(effort=None, velocity=None, dynamics=None)

    def of_axis(templates: tuple[str, ...], unit: float) -> float | None:
        names = (one.format(token) for one in templates if "{}" in one)
        return _schema(prim, tuple(names), unit)

    dynamics = Dynamics(of_axis(_DAMPING, scale.damping), of_axis(_FRICTION, scale.force))
    return AxisAttributes(
        effort=_drive_limit(prim, scale.force, token),
        velocity=of_axis(_VELOCITY, scale.position),
        dynamics=None if dynamics == Dynamics() else dynamics,
    )


def _scale(kind: JointKind, units: Units) -> _Scale | None:
    if isinstance(kind, Revolute | Continuous):
        return _Scale(_DEGREE, units.inertia, angular=True)
    if isinstance(kind, Prismatic):
        return _Scale(units.length, units.force, angular=False)
    return None


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
    """Return whether a joint has a drive with gains, which URDF cannot represent.

    A spring of MuJoCo is the same as a drive with stiffness.
    """
    return bool(prim.GetAttribute("mjc:stiffness").Get()) or any(
        drive.GetStiffnessAttr().Get() or drive.GetDampingAttr().Get()
        for drive in UsdPhysics.DriveAPI.GetAll(prim)
    )


def joints_with_servo(stage: Usd.Stage) -> frozenset[Sdf.Path]:
    """Return the joints whose actuator in MuJoCo feeds back position or velocity.

    The force of an actuator without bias is its control, which URDF does not have.
    """
    return frozenset(
        target
        for prim in stage.Traverse()
        if prim.GetTypeName() == "MjcActuator"
        and prim.GetAttribute("mjc:biasType").Get() not in {None, "none"}
        and any(prim.GetAttribute("mjc:biasPrm").Get() or ())
        for target in prim.GetRelationship("mjc:target").GetTargets()
    )


def has_armature(prim: Usd.Prim) -> bool:
    """Return whether a joint has armature, in the schemas of any simulator."""
    return any(
        attribute.GetBaseName() == "armature" and attribute.Get()
        for attribute in prim.GetAuthoredAttributes()
    )


def _effective(custom: float | None, schema: float | None) -> float | None:
    if schema is None or (
        custom is not None and isclose(custom, schema, rel_tol=SAME, abs_tol=NOTHING)
    ):
        return custom
    return schema


def _schema(prim: Usd.Prim, names: tuple[str, ...], unit: float) -> float | None:
    """Return the first finite number among attributes."""
    for template in names:
        for instance in _axes(prim):
            attribute = prim.GetAttribute(template.format(instance))
            # Fallbacks are not used.
            value = attribute.Get() if attribute.HasAuthoredValue() else None
            if isinstance(value, int | float) and isfinite(value):
                return float(value) * unit
    return None


def _axes(prim: Usd.Prim) -> list[str]:
    """Return the instances of PhysX's axis schema; ``[""]`` for none."""
    applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    found = [n.removeprefix(_AXIS_SCHEMA) for n in applied if _AXIS_SCHEMA in n]
    return found or [""]


def _drive_limit(prim: Usd.Prim, unit: float, token: str | None = None) -> float | None:
    """Return the largest force of a drive; an infinite one is no limit."""
    limits = [
        float(drive.GetMaxForceAttr().Get())
        for drive in UsdPhysics.DriveAPI.GetAll(prim)
        if drive.GetMaxForceAttr().HasAuthoredValue()
        and token in {None, drive.GetMaxForceAttr().GetName().split(":")[1]}
    ]
    largest = max(limits, default=inf)
    return largest * unit if isfinite(largest) else None


def _range_limit(prim: Usd.Prim, unit: float) -> float | None:
    """Return the larger bound of MuJoCo's range of the force, if it is in effect.

    MuJoCo refuses an empty range, so that conversions write the smallest float32 for
    zero.
    """
    bounds = (prim.GetAttribute(f"{_MUJOCO_RANGE}:{end}").Get() for end in ("min", "max"))
    lower, upper = (one if isinstance(one, int | float) else 0.0 for one in bounds)
    limited = prim.GetAttribute("mjc:actuatorfrclimited").Get() or "auto"
    if limited == "false" or (limited == "auto" and not lower < upper):
        return None
    largest = max(-lower, upper)
    if not isfinite(largest):
        return None
    return largest * unit if largest > NOTHING else 0.0
