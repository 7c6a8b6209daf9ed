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

from urdf_usd.conformance.engines.openusd import simulation
from urdf_usd.conformance.engines.openusd.joints import Connection, free_axes
from urdf_usd.conformance.engines.openusd.reading import (
    Reading,
    applied_schemas,
    number_attribute,
    text_attribute,
)
from urdf_usd.conformance.engines.openusd.simulation import MUJOCO
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
)

# Relative and absolute tolerance between a double and its float32.
_SAME = 1e-6
_NOTHING = 1e-36
_TYPES = UsdPhysics.ObjectType
_SAFETY = ("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")
_SIMPLE: dict[JointType | None, JointKind] = {
    JointType.FLOATING: Floating(),
    JointType.SPHERICAL: Spherical(),
}


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
    cone: tuple[float, float] | None = None  # angles of the limit of a spherical joint [deg]


def read_motion(
    joint: Connection, reading: Reading, notes: list[Diagnostic], *, lockable: bool
) -> Motion:
    """Read the motion of a joint; if ``lockable``, reversed limits lock it."""
    descriptor, mobility, cone = reading.joints[joint.path], joint.mobility, None
    prim, is_generic = reading.prim(joint.path), descriptor.type == _TYPES.D6Joint
    # Limits of the free axes [m or rad], in the order from side 0 to side 1.
    free = free_axes(descriptor, reading.units) if is_generic else {}
    is_bounded = any(limits != (-math.inf, math.inf) for limits in free.values())
    if not descriptor.jointEnabled:
        return Motion((("", Floating()),))
    if descriptor.type == _TYPES.SphericalJoint and descriptor.limit.enabled:
        # Angle 0 turns the primary axis towards the next axis, that is about the one after it.
        message = f"the cone limit of joint {joint.path} becomes a limit about each of two axes"
        notes.append(Diagnostic("joint-limit-approximated", message))
        spherical = UsdPhysics.SphericalJoint(prim)
        primary = "XYZ".index(str(spherical.GetAxisAttr().Get() or "X"))
        attributes = spherical.GetConeAngle0LimitAttr(), spherical.GetConeAngle1LimitAttr()
        cone = float(attributes[0].Get()), float(attributes[1].Get())
        for step, angle in ((2, cone[0]), (1, cone[1]), (0, math.inf)):
            free[f"rot{'XYZ'[(primary + step) % 3]}"] = -math.radians(angle), math.radians(angle)
    elif not (is_generic and (mobility.type is None or (len(free) > 1 and is_bounded))):
        axis, kind = joint.axis_in_child, _SIMPLE.get(mobility.type, Fixed())
        if axis is None or mobility.type in {None, JointType.FIXED, *_SIMPLE}:
            return Motion((("", kind),))
        if mobility.type is JointType.PLANAR:
            return Motion((("", Planar(vec3(np.array(axis) + 0.0))),))
        limits = UNLIMITED
        if mobility.lower is not None and mobility.upper is not None:
            limits = Range(mobility.lower, mobility.upper)
        declared = text_attribute(prim, "urdf:joint:type")
        # Not in our own conversions.
        if limits.lower > limits.upper and declared is None and lockable:
            return Motion((("", kind),))
        is_linear = mobility.type is JointType.PRISMATIC
        token = next(iter(free), "linear" if is_linear else "angular")
        kind = _single(axis, limits, linear=is_linear, revolute=declared == "revolute")
        return Motion(((token, kind),))
    tokens = [*free][::-1] if joint.reversed else [*free]
    frame = joint.anchors[joint.child][:3, :3]
    axes = []
    for token in tokens:
        column = (frame if token == tokens[-1] else np.eye(3))[:, "XYZ".index(token[-1])]
        axis = vec3(-column if joint.reversed else column)
        axes.append((token, _single(axis, Range(*free[token]), linear=token.startswith("trans"))))
    return Motion(tuple(axes) or (("", Fixed()),), cone)


def _single(
    axis: Sequence[float], limits: Range, *, linear: bool, revolute: bool = False
) -> JointKind:
    own = vec3(np.array(axis) + 0.0)
    if linear:
        return Prismatic(own, limits)
    return Revolute(own, limits) if revolute or limits != UNLIMITED else Continuous(own)


def read_fields(
    prim: Usd.Prim,
    kind: JointKind,
    token: str,
    names: Mapping[str, str],
    reading: Reading,
    *,
    of_axis: bool = False,
) -> dict[str, Any]:
    """Read the fields of a joint of URDF other than its type and frames.

    Args:
        prim: The joint.
        kind: Its type.
        token: Instance of schemas for its axis.
        names: Names of the joints that others can mimic, by path.
        reading: The stage.
        of_axis: Whether it is one of several axes of the joint. Attributes of the whole joint are
            not read then, because schemas do not state how they apply to several axes.
    """
    moves = isinstance(kind, Revolute | Continuous | Prismatic)
    freedom = simulation.Freedom(not isinstance(kind, Prismatic), token)
    # NaN is a range with two bounds, of which URDF has one.
    lower, upper = simulation.force_range(prim) or (0.0, 0.0)
    bound = max(-lower, upper) * reading.units.effort(angular=freedom.angular)

    def own(name: str) -> float | None:
        return None if of_axis else number_attribute(prim, f"urdf:{name}")

    def number(field: str) -> float | None:
        """Return the first number in schemas, or the smallest effort, unless ours is the same."""
        custom, units = own(field), reading.units
        sources = simulation.stated_numbers(field, prim, freedom, units, of_axis=of_axis)
        values = [x for _, _, x in sources if x is not None] if moves else []
        if field == "limit:effort":
            values = sorted(bound if math.isnan(x) else x for x in values)
        return (
            custom
            if not values or (custom is not None and _close(custom, values[0]))
            else values[0]
        )

    dynamics = Dynamics(number("dynamics:damping"), number("dynamics:friction"))
    safety = SafetyController(*(own(f"safety_controller:{name}") for name in _SAFETY))
    calibration = Calibration(own("calibration:rising"), own("calibration:falling"))
    return {
        "effort": number("limit:effort"),
        "velocity": number("limit:velocity"),
        **{name: own(f"limit:{name}") for name in ("acceleration", "deceleration", "jerk")},
        "dynamics": None if dynamics == Dynamics() else dynamics,
        "mimic": _read_mimic(prim, names, reading) if moves and not of_axis else None,
        "safety": None if safety == SafetyController() else safety,
        "calibration": None if calibration == Calibration() else calibration,
        "dont_collapse": not of_axis and bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
    }


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_NOTHING)


def _read_mimic(prim: Usd.Prim, names: Mapping[str, str], reading: Reading) -> Mimic | None:
    """Read the mimic coupling of a joint.

    The schemas of simulators take precedence. If they agree with the ``urdf:`` attributes, possibly
    after resolving a chain, the coupling of these is returned.
    """
    paths = {name: path for path, name in names.items()}

    def stated(prim: Usd.Prim) -> Mimic | None:
        leader = text_attribute(prim, "urdf:mimic:joint")
        multiplier = number_attribute(prim, "urdf:mimic:multiplier")
        offset = number_attribute(prim, "urdf:mimic:offset")
        if leader is None or multiplier is None or offset is None:
            return None
        return Mimic(leader, multiplier, offset)

    custom, seen = stated(prim), set[str]()
    step = custom
    for schema, coupling in simulation.schema_couplings(prim, reading).items():
        leader = names.get(str(coupling.leader.GetPath()))
        if leader and coupling.leader != prim and not (schema == MUJOCO and _is_polynomial(prim)):
            effective = Mimic(leader, coupling.multiplier + 0.0, coupling.offset + 0.0)
            break
    else:
        return custom if custom and custom.joint in paths else None
    while step and step.joint not in seen:
        multipliers = _close(step.multiplier, effective.multiplier)
        if step.joint == effective.joint and multipliers and _close(step.offset, effective.offset):
            return custom
        seen.add(step.joint)
        above = stated(reading.prim(paths[step.joint])) if step.joint in paths else None
        step = above and Mimic(
            above.joint,
            step.multiplier * above.multiplier,
            step.multiplier * above.offset + step.offset,
        )
    return effective


def _is_polynomial(prim: Usd.Prim) -> bool:
    """Whether MuJoCo's coupling of a joint is not linear."""
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
