"""Motions, numbers and couplings of the joints of a stage, as URDF has them.

The reading of the engine is used, and the ``urdf:`` attributes of a conversion: they are doubles,
and count unless a schema has another value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import (
    MUJOCO,
    Freedom,
    force_range,
    schema_couplings,
    stated_numbers,
)
from urdf_usd.conformance.engines.openusd.joints import Connection, free_axes
from urdf_usd.conformance.engines.openusd.reading import (
    Reading,
    Units,
    applied_schemas,
    number_attribute,
    text_attribute,
)
from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
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

# Relative and absolute tolerance between a double and its float32.
_SAME = 1e-6
_NOTHING = 1e-36
_TYPES = UsdPhysics.ObjectType
_SAFETY = ("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")


class Motion(Struct, frozen=True):
    """The motion of a joint: that of one joint of URDF, or of a chain of them.

    From parent to child, a chain translates along X, Y and Z of the joint frame and then rotates
    about X, Y and Z of the frame that results: T(x, y, z) Rx Ry Rz in the joint frame of side 0. A
    joint that is followed from side 1 to side 0 has the inverse motion: the reversed order and
    negated axes.
    """

    # Instance name of multiple-apply schemas, such as ``rotX``, and type of each joint. Axes are in
    # the joint frame, except that of the last joint, which is in the child body
    axes: tuple[tuple[str, JointKind], ...]
    backwards: bool = False  # whether the child is on side 0
    # Angles of the cone limit of a spherical joint [deg]; None for others
    cone: tuple[float, float] | None = None


def read_motion(
    joint: Connection, reading: Reading, notes: list[Diagnostic], *, lockable: bool
) -> Motion:
    """Read the motion of a joint; if ``lockable``, reversed limits lock it."""
    descriptor, mobility = reading.joints[joint.path], joint.mobility
    prim = reading.prim(joint.path)
    if not descriptor.jointEnabled:
        return Motion((("", Floating()),))
    if descriptor.type == _TYPES.SphericalJoint and descriptor.limit.enabled:
        message = f"the cone limit of joint {joint.path} becomes a limit about each of two axes"
        notes.append(Diagnostic("joint-limit-approximated", message))
        return _cone(UsdPhysics.SphericalJoint(prim), joint)
    is_generic = descriptor.type == _TYPES.D6Joint
    free = free_axes(descriptor, reading.units) if is_generic else {}
    is_bounded = any(limits != (-math.inf, math.inf) for limits in free.values())
    if is_generic and (mobility.type is None or (len(free) > 1 and is_bounded)):
        return _chain(free, joint)
    axis, token = joint.axis_in_child, ""
    kind: JointKind = Fixed()
    if mobility.type is JointType.FLOATING:
        kind = Floating()
    elif mobility.type is JointType.SPHERICAL:
        kind = Spherical()
    elif mobility.type is JointType.PLANAR and axis:
        kind = Planar(_positive(axis))
    elif mobility.type not in {None, JointType.FIXED} and axis:
        limits = UNLIMITED
        if mobility.lower is not None and mobility.upper is not None:
            limits = Range(mobility.lower, mobility.upper)
        declared = text_attribute(prim, "urdf:joint:type")
        # Not in our own conversions.
        if not (limits.lower > limits.upper and declared is None and lockable):
            linear = mobility.type is JointType.PRISMATIC
            token = next(iter(free), "linear" if linear else "angular")
            is_limited = limits != UNLIMITED or declared == "revolute"
            kind = _single(_positive(axis), limits, linear=linear, is_limited=is_limited)
    return Motion(((token, kind),))


def _single(axis: Vec3, limits: Range, *, linear: bool, is_limited: bool) -> JointKind:
    if linear:
        return Prismatic(axis, limits)
    return Revolute(axis, limits) if is_limited else Continuous(axis)


def _positive(axis: Vec3) -> Vec3:
    return vec3(np.array(axis) + 0.0)


def _cone(spherical: UsdPhysics.SphericalJoint, joint: Connection) -> Motion:
    """Read a spherical joint whose primary axis is limited to a cone.

    Angle 0 turns the primary axis towards the next axis, that is about the one after it. The
    rotation about the primary axis is the last of the chain and not limited. OpenUSD's parser reads
    no limit if one of the angles is negative.
    """
    primary = "XYZ".index(str(spherical.GetAxisAttr().Get() or "X"))
    first, second = spherical.GetConeAngle0LimitAttr(), spherical.GetConeAngle1LimitAttr()
    angles = float(first.Get()), float(second.Get())
    limits = {
        f"rot{'XYZ'[(primary + step) % 3]}": (-math.radians(angle), math.radians(angle))
        for step, angle in zip((2, 1), angles, strict=True)
    }
    limits[f"rot{'XYZ'[primary]}"] = (-math.inf, math.inf)
    return _chain(limits, joint, angles)


def _chain(
    free: Mapping[str, tuple[float, float]],
    joint: Connection,
    cone: tuple[float, float] | None = None,
) -> Motion:
    """Return the chain of the free axes, given in the order from side 0 to side 1."""
    tokens = [*free][::-1] if joint.reversed else [*free]
    frame = joint.anchors[joint.child][:3, :3]
    axes = []
    for token in tokens:
        column = (frame if token == tokens[-1] else np.eye(3))[:, "XYZ".index(token[-1])]
        axis = _positive(vec3(-column if joint.reversed else column))
        limits, linear = Range(*free[token]), token.startswith("trans")
        axes.append((token, _single(axis, limits, linear=linear, is_limited=limits != UNLIMITED)))
    return Motion(tuple(axes) or (("", Fixed()),), joint.reversed, cone)


def read_fields(
    prim: Usd.Prim, kind: JointKind, token: str, names: Mapping[str, str], reading: Reading
) -> dict[str, Any]:
    """Read the fields of a joint of URDF other than its type and frames.

    ``names`` are those of the joints that others can mimic, by path.
    """
    numbers = _schema_numbers(prim, kind, token, reading.units)

    def own(name: str) -> float | None:
        return number_attribute(prim, f"urdf:{name}")

    def effective(name: str, field: str) -> float | None:
        custom, schema = own(name), numbers.get(field)
        if schema is None or (custom is not None and _close(custom, schema)):
            return custom
        return schema

    dynamics = Dynamics(
        effective("dynamics:damping", "damping"), effective("dynamics:friction", "friction")
    )
    safety = SafetyController(*(own(f"safety_controller:{name}") for name in _SAFETY))
    calibration = Calibration(own("calibration:rising"), own("calibration:falling"))
    moves = isinstance(kind, Revolute | Continuous | Prismatic)
    return {
        "effort": effective("limit:effort", "effort"),
        "velocity": effective("limit:velocity", "velocity"),
        **{name: own(f"limit:{name}") for name in ("acceleration", "deceleration", "jerk")},
        "dynamics": None if dynamics == Dynamics() else dynamics,
        "mimic": _read_mimic(prim, names, reading) if moves else None,
        "safety": None if safety == SafetyController() else safety,
        "calibration": None if calibration == Calibration() else calibration,
        "dont_collapse": bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
    }


def read_axis_fields(prim: Usd.Prim, kind: JointKind, token: str, units: Units) -> dict[str, Any]:
    """Read the fields of one axis of a joint of several axes.

    Attributes of the whole joint are not read, because schemas do not state how they apply to
    several axes.
    """
    numbers = _schema_numbers(prim, kind, token, units, of_axis=True)
    dynamics = Dynamics(numbers.pop("damping", None), numbers.pop("friction", None))
    return {**numbers, "dynamics": None if dynamics == Dynamics() else dynamics}


def _schema_numbers(
    prim: Usd.Prim, kind: JointKind, token: str, units: Units, *, of_axis: bool = False
) -> dict[str, float]:
    """Return the numbers in schemas: of several the first, and the smallest effort."""
    if not isinstance(kind, Revolute | Continuous | Prismatic):
        return {}
    freedom = Freedom(not isinstance(kind, Prismatic), token)
    stated = stated_numbers(prim, freedom, units, of_axis=of_axis)
    # NaN is a range with two bounds, of which URDF has one.
    lower, upper = force_range(prim) or (0.0, 0.0)
    bound = max(-lower, upper) * units.effort(angular=freedom.angular)
    stated["effort"] = sorted(bound if math.isnan(x) else x for x in stated["effort"])
    return {field: values[0] for field, values in stated.items() if values}


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_NOTHING)


def _read_mimic(prim: Usd.Prim, names: Mapping[str, str], reading: Reading) -> Mimic | None:
    """Read the mimic coupling of a joint.

    The schemas of simulators take precedence. If they agree with the ``urdf:`` attributes, possibly
    after resolving a chain, the coupling of these is returned.
    """
    custom = _custom_mimic(prim)
    effective = next(
        (
            Mimic(names[path], coupling.multiplier + 0.0, coupling.offset + 0.0)
            for schema, coupling in schema_couplings(prim, reading)
            if (path := str(coupling.leader.GetPath())) in names
            and coupling.leader != prim
            and not (schema == MUJOCO and _is_polynomial(prim))
        ),
        None,
    )
    if effective is None:
        return custom if custom and custom.joint in names.values() else None
    paths = {name: path for path, name in names.items()}
    seen: set[str] = set()
    step = custom
    while step and step.joint not in seen:
        if (
            step.joint == effective.joint
            and _close(step.multiplier, effective.multiplier)
            and _close(step.offset, effective.offset)
        ):
            return custom
        seen.add(step.joint)
        above = _custom_mimic(reading.prim(paths[step.joint])) if step.joint in paths else None
        step = above and Mimic(
            above.joint,
            step.multiplier * above.multiplier,
            step.multiplier * above.offset + step.offset,
        )
    return effective


def _custom_mimic(prim: Usd.Prim) -> Mimic | None:
    leader = text_attribute(prim, "urdf:mimic:joint")
    multiplier = number_attribute(prim, "urdf:mimic:multiplier")
    offset = number_attribute(prim, "urdf:mimic:offset")
    if leader is None or multiplier is None or offset is None:
        return None
    return Mimic(leader, multiplier, offset)


def _is_polynomial(prim: Usd.Prim) -> bool:
    """Return whether MuJoCo's coupling of a joint is not linear."""
    return any(prim.GetAttribute(f"mjc:coef{power}").Get() for power in (2, 3, 4))


def faulty_leaders(prim: Usd.Prim, names: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Find couplings to a prim that is no joint of the robot, or to the joint itself.

    Those to no joint are not read, nor are polynomials of MuJoCo.
    """
    applied, path = applied_schemas(prim), prim.GetPath()
    is_newton = prim.GetAttribute("newton:mimicEnabled").Get() is not False
    relationships = ["newton:mimicJoint"] * is_newton + ["mjc:target"] * (MUJOCO in applied)
    if MUJOCO in applied and _is_polynomial(prim):
        message = f"joint {path} follows a polynomial of another; omitted"
        yield Diagnostic("mimic-polynomial", message)
    relationships += (
        f"physxMimicJoint:{schema.partition(':')[2]}:referenceJoint"
        for schema in applied
        if schema.startswith("PhysxMimicJointAPI:")
    )
    for name in relationships:
        for target in prim.GetRelationship(name).GetTargets()[:1]:
            if target == path:
                yield Diagnostic("mimic-loop", f"joint {path} mimics itself")
            elif str(target) not in names:
                message = f"joint {path} mimics {target}, which is no joint"
                yield Diagnostic("mimic-target-missing", message)


def dropped_settings(stage: Usd.Stage, prims: Sequence[Usd.Prim]) -> Iterator[Diagnostic]:
    """Report armature and gains of joints, which URDF does not have."""
    if heavier := sum(
        any(x.GetBaseName() == "armature" and x.Get() for x in prim.GetAuthoredAttributes())
        for prim in prims
    ):
        message = f"armature of {heavier} joints is not URDF; left out"
        yield Diagnostic("joint-armature-dropped", message)
    # The force of an actuator of MuJoCo without bias is its control alone.
    servos = {
        target
        for prim in stage.Traverse()
        if prim.GetTypeName() == "MjcActuator"
        and prim.GetAttribute("mjc:biasType").Get() not in {None, "none"}
        and any(prim.GetAttribute("mjc:biasPrm").Get() or ())
        for target in prim.GetRelationship("mjc:target").GetTargets()
    }
    if driven := sum(
        prim.GetPath() in servos
        # A spring of MuJoCo is the same as a drive with stiffness.
        or bool(prim.GetAttribute("mjc:stiffness").Get())
        or any(
            drive.GetStiffnessAttr().Get() or drive.GetDampingAttr().Get()
            for drive in UsdPhysics.DriveAPI.GetAll(prim)
        )
        for prim in prims
    ):
        message = f"gains and targets of {driven} drives are not URDF; left out"
        yield Diagnostic("joint-drive-dropped", message)
