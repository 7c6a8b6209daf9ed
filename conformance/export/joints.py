"""Motions, numbers and couplings of the joints of a stage, as URDF has them.

The reading of the engine is used, and the ``urdf:`` attributes of a conversion: they are doubles,
and count unless a schema has another value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd import simulation
from urdf_usd.conformance.engines.openusd.joints import Connection, free_axes
from urdf_usd.conformance.engines.openusd.reading import Reading, text_attribute
from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m

# Relative and absolute tolerance between a double and its float32.
_SAME = 1e-6
_NOTHING = 1e-36
_TYPES = UsdPhysics.ObjectType
_SAFETY = ("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")
_SIMPLE: dict[JointType | None, m.JointKind] = {
    JointType.FLOATING: m.Floating(),
    JointType.SPHERICAL: m.Spherical(),
}


Motion: TypeAlias = tuple[tuple[str, m.JointKind], ...]
"""The motion of a joint: that of one joint of URDF, or of a chain of them.

Each has the instance name of multiple-apply schemas, such as ``rotX``, and a type, whose axis is in
the joint frame, except that of the last joint, which is in the child body. From parent to child, a
chain translates along X, Y and Z of the joint frame and then rotates about X, Y and Z of the frame
that results: T(x, y, z) Rx Ry Rz in the joint frame of side 0. A joint that is followed from side 1
to side 0 has the inverse motion: the reversed order and negated axes.
"""


def read_motion(
    joint: Connection, reading: Reading, notes: list[Diagnostic], *, lockable: bool
) -> Motion:
    descriptor, mobility = reading.joints[joint.path], joint.mobility
    prim, is_generic = reading.prim(joint.path), descriptor.type == _TYPES.D6Joint
    if not descriptor.jointEnabled:
        return (("", m.Floating()),)
    if descriptor.type == _TYPES.SphericalJoint and descriptor.limit.enabled:
        message = f"the cone limit of joint {joint.path} is left out"
        notes.append(Diagnostic("joint-limit-approximated", message))
    # Limits of the free axes [m or rad], in the order from side 0 to side 1.
    free = free_axes(descriptor, reading.units) if is_generic else {}
    is_bounded = len(free) > 1 and any(x != (-math.inf, math.inf) for x in free.values())
    if not (is_generic and (mobility.type is None or is_bounded)):
        axis, kind = joint.axis_in_child, _SIMPLE.get(mobility.type, m.Fixed())
        if axis is None or mobility.type in {None, JointType.FIXED, *_SIMPLE}:
            return (("", kind),)
        if mobility.type is JointType.PLANAR:
            return (("", m.Planar(vec3(np.array(axis) + 0.0))),)
        limits = m.UNLIMITED
        if mobility.lower is not None and mobility.upper is not None:
            limits = m.Range(mobility.lower, mobility.upper)
        declared = text_attribute(prim, "urdf:joint:type")
        # Not in our own conversions.
        if limits.lower > limits.upper and declared is None and lockable:
            return (("", kind),)
        is_linear = mobility.type is JointType.PRISMATIC
        token = next(iter(free), "linear" if is_linear else "angular")
        kind = _single(axis, limits, linear=is_linear, revolute=declared == "revolute")
        return ((token, kind),)
    tokens = [*free][::-1] if joint.reversed else [*free]
    frame = joint.anchors[joint.child][:3, :3]
    axes = []
    for token in tokens:
        column = (frame if token == tokens[-1] else np.eye(3))[:, "XYZ".index(token[-1])]
        axis = vec3(-column if joint.reversed else column)
        axes.append((token, _single(axis, m.Range(*free[token]), linear=token.startswith("trans"))))
    return tuple(axes) or (("", m.Fixed()),)


def _single(
    axis: Sequence[float], limits: m.Range, *, linear: bool, revolute: bool = False
) -> m.JointKind:
    own = vec3(np.array(axis) + 0.0)
    if linear:
        return m.Prismatic(own, limits)
    return m.Revolute(own, limits) if revolute or limits != m.UNLIMITED else m.Continuous(own)


def read_fields(
    prim: Usd.Prim,
    kind: m.JointKind,
    token: str,
    names: Mapping[str, str],
    reading: Reading,
    *,
    of_axis: bool = False,
) -> dict[str, Any]:
    """Read the fields of a joint of URDF other than its type and frames.

    ``token`` is the instance of schemas for its axis, ``names`` are those of the joints that others
    can mimic, by path. Of a joint of several axes (``of_axis``), attributes of the whole joint are
    not read, because schemas do not state how they apply.
    """
    moves = isinstance(kind, m.Revolute | m.Continuous | m.Prismatic)
    freedom = simulation.Freedom(not isinstance(kind, m.Prismatic), token)
    # NaN is a range with two bounds, of which URDF has one.
    lower, upper = simulation.force_range(prim) or (0.0, 0.0)
    bound = max(-lower, upper) * reading.units.effort(angular=freedom.angular)

    def own(name: str) -> float | None:
        return None if of_axis else stages.number_attribute(prim, f"urdf:{name}")

    def number(field: str) -> float | None:
        """Return the first number in schemas, or the smallest effort, unless ours is the same."""
        custom, units = own(field), reading.units
        sources = simulation.stated_numbers(field, prim, freedom, units, of_axis=of_axis)
        values = [x for _, _, x in sources if x is not None] if moves else []
        if field == "limit:effort":
            values = sorted(bound if math.isnan(x) else x for x in values)
        return values[0] if values and (custom is None or not _close(custom, values[0])) else custom

    dynamics = m.Dynamics(number("dynamics:damping"), number("dynamics:friction"))
    safety = m.SafetyController(*(own(f"safety_controller:{name}") for name in _SAFETY))
    calibration = m.Calibration(own("calibration:rising"), own("calibration:falling"))
    return {
        "effort": number("limit:effort"),
        "velocity": number("limit:velocity"),
        **{name: own(f"limit:{name}") for name in ("acceleration", "deceleration", "jerk")},
        "dynamics": None if dynamics == m.Dynamics() else dynamics,
        "mimic": _read_mimic(prim, names, reading) if moves and not of_axis else None,
        "safety": None if safety == m.SafetyController() else safety,
        "calibration": None if calibration == m.Calibration() else calibration,
        "dont_collapse": not of_axis and bool(prim.GetAttribute("urdf:joint:dont_collapse").Get()),
    }


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_NOTHING)


def _read_mimic(prim: Usd.Prim, names: Mapping[str, str], reading: Reading) -> m.Mimic | None:
    """Read the mimic coupling of a joint.

    If the schemas of simulators agree with the ``urdf:`` attributes, possibly after resolving a
    chain, or state nothing, the coupling of these is returned.
    """
    leader = text_attribute(prim, "urdf:mimic:joint")
    multiplier = stages.number_attribute(prim, "urdf:mimic:multiplier")
    offset = stages.number_attribute(prim, "urdf:mimic:offset")
    custom = None
    if leader in names.values() and multiplier is not None and offset is not None:
        custom = m.Mimic(str(leader), multiplier, offset)
    remarks: list[str] = []
    found = simulation.coupling(stages.urdf_name(prim), reading, remarks)
    is_read = found is not None and found.leader in {*names.values()} - {stages.urdf_name(prim)}
    if found is None or not is_read or _is_polynomial(prim) or (custom and not remarks):
        return custom
    return m.Mimic(found.leader, found.multiplier + 0.0, found.offset + 0.0)


def _is_polynomial(prim: Usd.Prim) -> bool:
    """Whether MuJoCo's coupling of a joint is not linear."""
    powers = (prim.GetAttribute(f"mjc:coef{power}").Get() for power in (2, 3, 4))
    return simulation.MUJOCO in stages.applied_schemas(prim) and any(powers)


def faulty_leaders(prim: Usd.Prim, names: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Find couplings to a prim that is no joint of the robot, or to the joint itself."""
    # Those to no joint are not read, nor are polynomials of MuJoCo.
    applied, path = stages.applied_schemas(prim), prim.GetPath()
    if _is_polynomial(prim):
        message = f"joint {path} follows a polynomial of another; omitted"
        yield Diagnostic("mimic-polynomial", message)
    is_newton = prim.GetAttribute("newton:mimicEnabled").Get() is not False
    relationships = ["newton:mimicJoint"] * is_newton
    relationships += ["mjc:target"] * (simulation.MUJOCO in applied)
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
    # The force of an actuator of MuJoCo without bias is its control alone.
    servos = {
        target
        for prim in stage.Traverse()
        if prim.GetTypeName() == "MjcActuator"
        and text_attribute(prim, "mjc:biasType") not in {None, "none"}
        and any(prim.GetAttribute("mjc:biasPrm").Get() or ())
        for target in prim.GetRelationship("mjc:target").GetTargets()
    }
    heavier = driven = 0
    for prim in prims:
        authored = {x.GetName() for x in prim.GetAuthoredAttributes() if x.Get()}
        heavier += any(name.endswith(":armature") for name in authored)
        # A spring of MuJoCo is the same as a drive with stiffness.
        gains = [x for x in authored if x.endswith((":physics:stiffness", ":physics:damping"))]
        driven += bool(gains) or "mjc:stiffness" in authored or prim.GetPath() in servos
    if heavier:
        message = f"armature of {heavier} joints is not URDF; left out"
        yield Diagnostic("joint-armature-dropped", message)
    if driven:
        message = f"gains and targets of {driven} drives are not URDF; left out"
        yield Diagnostic("joint-drive-dropped", message)
