"""Effort, velocity, damping, friction and couplings of joints, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a value that they
could state and do not is absent, even if a custom attribute ``urdf:`` states it. In an asset
without such schemas the ``urdf:`` attributes are used. Drives count as a schema family: in an asset
without drives no joint is driven, and there is no attribute for the limit of a motor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import ANGULAR, UNBOUNDED
from urdf_usd.conformance.engines.openusd.reading import (
    Reading,
    SchemaFamily,
    Units,
    applied_schemas,
    number_attribute,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.observation.robot import (
    HeadCoupling,
    JointType,
    MimicObservation,
    head_coupling,
)

SAME = 1e-6
"""float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far."""
_SAME_OFFSET = 1e-12
MUJOCO = "MjcEqualityJointAPI"
# PhysX uses these for prismatic joints as well.
_PHYSX_INSTANCES = ("rotX", "rotY", "rotZ")
# PhysX treats a limit of a revolute joint from here on as none [degrees].
_PHYSX_UNLIMITED = 0.5e38
# The smallest normal number of float32.
_SMALLEST = 2.0**-126
_RANGE = "mjc:actuatorfrcrange"
# The value of a joint that turns is per radian, not per degree.
_PER_RADIAN = "mjc:damping"


class Freedom(NamedTuple):
    """The degree of freedom of a joint that has exactly one."""

    angular: bool  # whether it is a rotation; schemas use degrees then
    # Instance name in multiple-apply schemas: ``angular``, or ``transY`` of an untyped joint
    instance: str


def freedom_of(prim: Usd.Prim, kind: JointType | None, axis: int | None) -> Freedom | None:
    """Return the degree of freedom of a joint; None if it has not exactly one."""
    if axis is None or kind not in ANGULAR | {JointType.PRISMATIC}:
        return None
    angular = kind in ANGULAR
    if prim.GetTypeName() == "PhysicsJoint":
        return Freedom(angular, f"{'rot' if angular else 'trans'}{'XYZ'[axis]}")
    return Freedom(angular, "angular" if angular else "linear")


class _Number(NamedTuple):
    custom: str  # attribute in SI units
    # Attributes of schemas, with braces for the instance of the freedom, and the schema that has to
    # be applied. Newton and its importer of MuJoCo's schemas read attributes whether or not a
    # schema is applied.
    sources: tuple[tuple[SchemaFamily, str, str | None], ...]


_PHYSX_AXIS = "PhysxJointAxisAPI:{}"
_LIMITS = ("effort", "velocity")  # infinity stands for no limit
# Newton's schema excludes zero, and PhysX would freeze the joint.
_WITHOUT_ZERO = "velocity"
# An axis of PhysX with its own schema ignores the velocity of the joint.
_OF_JOINT = ("physxJoint:maxJointVelocity", "PhysxJointAPI")
NUMBERS = {
    "effort": _Number(
        "urdf:limit:effort",
        (
            (SchemaFamily.DRIVES, "drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),
            (SchemaFamily.MUJOCO, _RANGE, None),
        ),
    ),
    "velocity": _Number(
        "urdf:limit:velocity",
        (
            (SchemaFamily.NEWTON, "newton:velocityLimit", None),
            (SchemaFamily.PHYSX, "physxJointAxis:{}:maxJointVelocity", _PHYSX_AXIS),
        ),
    ),
    "damping": _Number(
        "urdf:dynamics:damping",
        (
            (SchemaFamily.NEWTON, "newton:damping", None),
            (SchemaFamily.PHYSX, "physxJointAxis:{}:viscousFrictionCoefficient", _PHYSX_AXIS),
            (SchemaFamily.MUJOCO, _PER_RADIAN, None),
        ),
    ),
    "friction": _Number(
        "urdf:dynamics:friction",
        (
            (SchemaFamily.NEWTON, "newton:friction", None),
            # One number in URDF, whether the joint moves or rests.
            (SchemaFamily.PHYSX, "physxJointAxis:{}:dynamicFrictionEffort", _PHYSX_AXIS),
            (SchemaFamily.PHYSX, "physxJointAxis:{}:staticFrictionEffort", _PHYSX_AXIS),
            (SchemaFamily.MUJOCO, "mjc:frictionloss", None),
        ),
    ),
}


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    lower, upper = (number_attribute(prim, f"{_RANGE}:{end}") or 0.0 for end in ("min", "max"))
    limited = text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    is_effective = limited != "false" and (limited != "auto" or lower < upper)
    return (lower, upper) if is_effective else None


def _unit(field: str, freedom: Freedom, units: Units) -> float:
    force = units.effort(angular=freedom.angular)
    position = units.position(angular=freedom.angular)
    return {"velocity": position, "damping": force / position}.get(field, force)


def stated_numbers(
    field: str, prim: Usd.Prim, freedom: Freedom, units: Units, *, of_axis: bool = False
) -> Iterator[tuple[SchemaFamily, str, float | None]]:
    """Yield the attributes that schema families read, and their values in SI units.

    The smallest number stands for zero, which no range of MuJoCo can be. A range with two bounds is
    NaN.

    Args:
        field: As in :func:`joint_numbers`.
        prim: The joint.
        freedom: Its degree of freedom.
        units: Those of the stage.
        of_axis: Whether to leave out attributes of the whole joint.
    """
    applied = applied_schemas(prim)
    for family, template, schema in NUMBERS[field].sources:
        name, needed = template.format(freedom.instance), schema and schema.format(freedom.instance)
        if field == "velocity" and needed and needed not in applied and not of_axis:
            name, needed = _OF_JOINT
        value = number_attribute(prim, name) if needed is None or needed in applied else None
        if name == _RANGE and (bounds := force_range(prim)):
            value = bounds[1] if bounds[0] == -bounds[1] else math.nan
        if of_axis and "{" not in template:
            value = None
        if field in _LIMITS and value is not None:
            value = None if value >= UNBOUNDED else 0.0 if 0.0 < value <= _SMALLEST else value
        if value is not None:
            value *= _unit(field, freedom, units)
            value *= math.radians(1.0) if name == _PER_RADIAN and freedom.angular else 1.0
        yield family, name, value


def joint_numbers(
    prim: Usd.Prim, freedom: Freedom | None, reading: Reading, remarks: list[str]
) -> dict[str, float | None]:
    """Read effort, velocity, damping and friction of a joint in SI units; None is absent.

    Units of schemas depend on the freedom, so that joints without exactly one have custom
    attributes alone. A value is NaN if two simulators read different ones, so that it equals none
    of a URDF, whether that has one or not. ``remarks`` receives notes on missing and contradictory
    values.
    """
    found: dict[str, float | None] = {}
    for field, number in NUMBERS.items():
        custom = found[field] = number_attribute(prim, number.custom)
        if freedom is None:
            continue
        sources = [*stated_numbers(field, prim, freedom, reading.units)]
        missing = [
            x for family, x, value in sources if value is None and family in reading.families
        ]
        if custom is not None and missing:
            stored = custom / _unit(field, freedom, reading.units)
            expressible = custom > 0.0 and is_storable(custom) and is_storable(stored)
            # Schemas state no negative numbers.
            if expressible or (custom == 0.0 and field != _WITHOUT_ZERO):
                remarks.append(f"{number.custom} is {custom:g}, but {missing[0]} is absent")
                found[field] = None
                continue
        stated = [(name, value) for _, name, value in sources if value is not None]
        if not stated:
            continue
        first, value = stated[0]
        other = next((x for x in stated[1:] if not math.isclose(value, x[1], rel_tol=SAME)), None)
        if other is not None:
            remarks.append(f"{first} is {value:g}, {other[0]} is {other[1]:g}")
            value = math.nan
        elif custom is not None and not math.isclose(value, custom, rel_tol=SAME):
            remarks.append(f"{first} is {value:g}, {number.custom} is {custom:g}")
        found[field] = value
    return found


def is_storable(value: float) -> bool:
    """Whether float32 can represent a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


class Linear(NamedTuple):
    """Position = multiplier * position of the leader + offset [rad or m]."""

    leader: Usd.Prim
    multiplier: float
    offset: float


# Schemas of couplings in the order of precedence; REP 158 (section 4.2.2) is of no simulator.
_EXTENDED = "ExtendedPhysicsMimicAPI"
_COUPLINGS = {
    "NewtonMimicAPI": SchemaFamily.NEWTON,
    "PhysxMimicJointAPI": SchemaFamily.PHYSX,
    MUJOCO: SchemaFamily.MUJOCO,
    _EXTENDED: None,
}


def schema_couplings(prim: Usd.Prim, reading: Reading) -> dict[str, Linear]:
    """Return the couplings of a joint by schema, in the order of precedence."""
    applied, own, found = applied_schemas(prim), _unit_of(prim, reading), dict[str, Linear]()
    is_enabled = prim.GetAttribute("newton:mimicEnabled").Get() is not False

    def first(fallback: float, *names: str) -> float:
        numbers = (number_attribute(prim, name) for name in names)
        return next((number for number in numbers if number is not None), fallback)

    def target(name: str) -> Usd.Prim | None:
        targets = prim.GetRelationship(name).GetTargets()
        return reading.prim(targets[0]) if targets else None

    newton = target("newton:mimicJoint")
    if "NewtonMimicAPI" in applied and is_enabled and newton:
        offset = first(0.0, "newton:mimicCoef0") * own
        found["NewtonMimicAPI"] = Linear(newton, first(1.0, "newton:mimicCoef1"), offset)
    instance = next((x for x in _PHYSX_INSTANCES if f"PhysxMimicJointAPI:{x}" in applied), None)
    begin = f"physxMimicJoint:{instance}"
    leader = target(f"{begin}:referenceJoint") if instance else None
    if leader and _can_couple("PhysxMimicJointAPI", prim, leader):
        # PhysX drops the coupling if an authored axis of the leader is unknown; it ignores which
        # one it is, as the leader has one degree of freedom.
        axis = prim.GetAttribute(f"{begin}:referenceJointAxis")
        if not axis or not axis.IsAuthored() or axis.Get() in _PHYSX_INSTANCES:
            # position + gearing * leader + offset = 0
            multiplier = -first(1.0, f"{begin}:gearing") * (own / _unit_of(leader, reading))
            offset = -first(0.0, f"{begin}:offset") * own
            found["PhysxMimicJointAPI"] = Linear(leader, multiplier, offset)
    # It includes the schema of Newton, whose attributes precede its own, in radians or distance.
    leader = (newton or target("mjc:target")) if MUJOCO in applied and is_enabled else None
    if leader:
        length = reading.units.length
        unit, of_leader = (
            1.0 if joint.IsA(UsdPhysics.RevoluteJoint) else length for joint in (prim, leader)
        )
        has_newton = number_attribute(prim, "newton:mimicCoef0") is not None
        offset = first(0.0, "newton:mimicCoef0", "mjc:coef0") * (own if has_newton else unit)
        multiplier = first(1.0, "newton:mimicCoef1", "mjc:coef1") * (unit / of_leader)
        found[MUJOCO] = Linear(leader, multiplier, offset)
    leader = target("ext_physics:mimic:joint") if _EXTENDED in applied else None
    if leader:
        offset = first(0.0, "ext_physics:mimic:offset") * own
        found[_EXTENDED] = Linear(leader, first(1.0, "ext_physics:mimic:multiplier"), offset)
    return found


def _unit_of(prim: Usd.Prim, reading: Reading) -> float:
    """SI value of one unit of a joint's position."""
    return reading.units.position(angular=prim.IsA(UsdPhysics.RevoluteJoint))


def _can_couple(schema: str, *joints: Usd.Prim) -> bool:
    """Whether a schema could couple joints.

    Newton's coefficients have one unit, so both joints are of one type. PhysX couples prismatic
    joints, and revolute joints with limits. MuJoCo couples all joints with one coordinate.
    """
    if schema == "NewtonMimicAPI":
        return len({prim.GetTypeName() for prim in joints}) == 1
    for prim in joints:
        revolute = UsdPhysics.RevoluteJoint(prim)
        if not (revolute or prim.IsA(UsdPhysics.PrismaticJoint)):
            return False
        if schema == MUJOCO:
            continue
        limits = (revolute.GetLowerLimitAttr(), revolute.GetUpperLimitAttr()) if revolute else ()
        if UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get() or any(
            abs(limit.Get()) >= _PHYSX_UNLIMITED for limit in limits
        ):
            return False
    return True


def coupling(name: str, reading: Reading, remarks: list[str]) -> MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can."""
    prims = reading.joint_prims

    def custom(name: str) -> MimicObservation | None:
        prim = prims.get(name)
        leader = text_attribute(prim, "urdf:mimic:joint") if prim else None
        if leader is None:
            return None
        multiplier = number_attribute(prim, "urdf:mimic:multiplier")
        offset = number_attribute(prim, "urdf:mimic:offset") or 0.0
        return MimicObservation(leader, 1.0 if multiplier is None else multiplier, offset)

    def of_schema(schema: str, name: str) -> MimicObservation | None:
        found = schema_couplings(prims[name], reading).get(schema) if name in prims else None
        return found and MimicObservation(urdf_name(found.leader), found.multiplier, found.offset)

    def acting(schema: str, name: str) -> MimicObservation | None:
        return of_schema(schema, name) or custom(name)

    own, own_head = custom(name), head_coupling(name, custom)
    stated: list[tuple[str, MimicObservation, HeadCoupling | None]] = []
    for schema, family in _COUPLINGS.items():
        if (mimic := of_schema(schema, name)) is not None:
            head = head_coupling(name, partial(acting, schema))
            stated.append((schema, mimic, head))
        elif own and own_head and family in reading.families and {name, own.leader} <= {*prims}:
            # The asset has schemas of the simulator, and lacks this one.
            numbers = own_head.multiplier, own_head.offset / _unit_of(prims[name], reading)
            is_storable_all = all(not number or is_storable(number) for number in numbers)
            if is_storable_all and _can_couple(schema, prims[name], prims[own.leader]):
                remarks.append(f"urdf:mimic names {own.leader}, but {schema} does not")
                return None
    if not stated:
        return own
    (first, mimic, head), *others = stated
    for other_name, _, other in others:
        if not _alike(head, other):
            remarks.append(f"{first} and {other_name} disagree")
            return None
    if own and not _alike(head, own_head):
        remarks.append(f"{first} and urdf:mimic disagree")
    return mimic


def _alike(one: HeadCoupling | None, other: HeadCoupling | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.leader == other.leader
        and math.isclose(one.multiplier, other.multiplier, rel_tol=SAME)
        and abs(one.offset - other.offset) <= _SAME_OFFSET + SAME * one.terms
    )
