"""Effort, velocity, damping, friction and couplings of joints, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a value that they
could state and do not is absent, even if a custom attribute ``urdf:`` states it. In an asset
without such schemas the ``urdf:`` attributes are used. Drives count as a schema family: in an asset
without drives no joint is driven, and there is no attribute for the limit of a motor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from msgspec import Struct
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


class Freedom(Struct, frozen=True):
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


# Attributes of a schema family, with braces for the instance of the freedom, and the schemas that
# have to be applied. Newton and its importer of MuJoCo's schemas read attributes whether or not a
# schema is applied. The first whose schema is applied is read.
_Source = tuple[SchemaFamily, tuple[tuple[str, str | None], ...]]


def _newton(name: str) -> _Source:
    return SchemaFamily.NEWTON, ((f"newton:{name}", None),)


def _mujoco(name: str) -> _Source:
    return SchemaFamily.MUJOCO, ((name, None),)


def _physx(axis: str, *others: tuple[str, str]) -> _Source:
    own = f"physxJointAxis:{{}}:{axis}", "PhysxJointAxisAPI:{}"
    return SchemaFamily.PHYSX, (own, *others)


class _Number(NamedTuple):
    custom: str  # attribute in SI units
    unit: Callable[[float, float], float]  # SI value of its unit, from those of force and position
    sources: tuple[_Source, ...]
    has_zero: bool = True  # whether schemas can state zero; none can state negative numbers
    is_limit: bool = False  # whether infinity stands for no limit


_NUMBERS = {
    "effort": _Number(
        "urdf:limit:effort",
        lambda force, _: force,
        (
            (SchemaFamily.DRIVES, (("drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),)),
            _mujoco(_RANGE),
        ),
        is_limit=True,
    ),
    "velocity": _Number(
        "urdf:limit:velocity",
        lambda _, position: position,
        (
            _newton("velocityLimit"),
            # An axis with its own schema ignores that of the joint.
            _physx("maxJointVelocity", ("physxJoint:maxJointVelocity", "PhysxJointAPI")),
        ),
        # Newton's schema excludes it, and PhysX would freeze the joint.
        has_zero=False,
        is_limit=True,
    ),
    "damping": _Number(
        "urdf:dynamics:damping",
        lambda force, position: force / position,
        (_newton("damping"), _physx("viscousFrictionCoefficient"), _mujoco(_PER_RADIAN)),
    ),
    "friction": _Number(
        "urdf:dynamics:friction",
        lambda force, _: force,
        (
            _newton("friction"),
            # One number in URDF, whether the joint moves or rests.
            _physx("dynamicFrictionEffort"),
            _physx("staticFrictionEffort"),
            _mujoco("mjc:frictionloss"),
        ),
    ),
}


def is_storable(value: float) -> bool:
    """Whether float32 can represent a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    lower, upper = (number_attribute(prim, f"{_RANGE}:{end}") or 0.0 for end in ("min", "max"))
    limited = text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    is_effective = limited != "false" and (limited != "auto" or lower < upper)
    return (lower, upper) if is_effective else None


def _read(
    number: _Number,
    source: _Source,
    prim: Usd.Prim,
    freedom: Freedom,
    units: Units,
    *,
    of_axis: bool = False,
) -> tuple[str, float | None]:
    """Return the attribute that a schema family reads, and its value in SI units.

    The smallest number stands for zero, which no range of MuJoCo can be. A range with two bounds is
    NaN.
    """
    applied, name, value = applied_schemas(prim), "", None
    for template, schema in source[1]:
        if of_axis and "{" not in template:
            continue
        name = template.format(freedom.instance)
        if schema is None or schema.format(freedom.instance) in applied:
            value = number_attribute(prim, name)
            if name == _RANGE and (bounds := force_range(prim)):
                value = bounds[1] if bounds[0] == -bounds[1] else math.nan
            break
    if value is None or (number.is_limit and value >= UNBOUNDED):
        return name, None
    if number.is_limit and 0.0 < value <= _SMALLEST:
        return name, 0.0
    is_per_radian = name == _PER_RADIAN and freedom.angular
    return name, value * _unit(number, freedom, units) * (
        math.radians(1.0) if is_per_radian else 1.0
    )


def _unit(number: _Number, freedom: Freedom, units: Units) -> float:
    angular = freedom.angular
    return number.unit(units.effort(angular=angular), units.position(angular=angular))


def stated_numbers(
    prim: Usd.Prim, freedom: Freedom, units: Units, *, of_axis: bool = False
) -> dict[str, list[float]]:
    """Return what the schemas state of a joint, in SI units, by field of :func:`joint_numbers`.

    ``of_axis`` leaves out attributes of the whole joint.
    """
    return {
        field: [
            value
            for source in number.sources
            if (value := _read(number, source, prim, freedom, units, of_axis=of_axis)[1])
            is not None
        ]
        for field, number in _NUMBERS.items()
    }


def joint_numbers(
    prim: Usd.Prim, freedom: Freedom | None, reading: Reading, remarks: list[str]
) -> dict[str, float | None]:
    """Read effort, velocity, damping and friction of a joint in SI units; None is absent.

    Units of schemas depend on the freedom, so that joints without exactly one have custom
    attributes alone. ``remarks`` receives notes on missing and contradictory values.
    """
    return {
        field: number_attribute(prim, number.custom)
        if freedom is None
        else _effective(prim, freedom, number, reading, remarks)
        for field, number in _NUMBERS.items()
    }


def _effective(
    prim: Usd.Prim, freedom: Freedom, number: _Number, reading: Reading, remarks: list[str]
) -> float | None:
    """Return the value of the schemas, or of the custom attribute without any.

    The value is NaN if two simulators read different ones, so that it equals none of a URDF,
    whether that has one or not.
    """
    custom = number_attribute(prim, number.custom)
    stated: list[tuple[str, float]] = []
    missing: list[str] = []
    for source in number.sources:
        name, value = _read(number, source, prim, freedom, reading.units)
        if value is not None:
            stated.append((name, value))
        elif source[0] in reading.families:
            missing.append(name)
    if custom is not None and missing:
        stored = custom / _unit(number, freedom, reading.units)
        is_expressible = is_storable(custom) and is_storable(stored) and custom > 0.0
        if is_expressible or (custom == 0.0 and number.has_zero):
            remarks.append(f"{number.custom} is {custom:g}, but {missing[0]} is absent")
            return None
    if not stated:
        return custom
    (first, value), *others = stated
    for name, other in others:
        if not math.isclose(value, other, rel_tol=SAME):
            remarks.append(f"{first} is {value:g}, {name} is {other:g}")
            return math.nan
    if custom is not None and not math.isclose(value, custom, rel_tol=SAME):
        remarks.append(f"{first} is {value:g}, {number.custom} is {custom:g}")
    return value


class Linear(NamedTuple):
    """Position = multiplier * position of the leader + offset [rad or m]."""

    leader: Usd.Prim
    multiplier: float
    offset: float


class _MimicSchema(NamedTuple):
    family: SchemaFamily | None  # None if no simulator needs it
    name: str
    read: Callable[[Usd.Prim, Reading], Linear | None]
    # Whether it could couple a joint to a leader.
    could: Callable[[Usd.Prim, Usd.Prim], bool]


def coupling(name: str, reading: Reading, remarks: list[str]) -> MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can."""
    prims = reading.joint_prims

    def custom(name: str) -> MimicObservation | None:
        prim = prims.get(name)
        leader = text_attribute(prim, "urdf:mimic:joint") if prim else None
        if leader is None:
            return None
        multiplier = _first(prim, 1.0, "urdf:mimic:multiplier")
        return MimicObservation(leader, multiplier, _first(prim, 0.0, "urdf:mimic:offset"))

    def of_schema(schema: _MimicSchema, name: str) -> MimicObservation | None:
        found = schema.read(prims[name], reading) if name in prims else None
        return found and MimicObservation(urdf_name(found.leader), found.multiplier, found.offset)

    own, own_head = custom(name), head_coupling(name, custom)
    stated: list[tuple[str, MimicObservation, HeadCoupling | None]] = []

    def acting(schema: _MimicSchema, name: str) -> MimicObservation | None:
        return of_schema(schema, name) or custom(name)

    for schema in _SCHEMAS:
        if (mimic := of_schema(schema, name)) is not None:
            stated.append((schema.name, mimic, head_coupling(name, partial(acting, schema))))
        elif (
            own
            and own_head
            and schema.family in reading.families
            and {name, own.leader} <= {*prims}
        ):
            # The asset has schemas of the simulator, and lacks this one.
            numbers = own_head.multiplier, own_head.offset / _unit_of(prims[name], reading)
            could = schema.could(prims[name], prims[own.leader])
            if could and all(not number or is_storable(number) for number in numbers):
                remarks.append(f"urdf:mimic names {own.leader}, but {schema.name} does not")
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


def schema_couplings(prim: Usd.Prim, reading: Reading) -> Iterator[tuple[str, Linear]]:
    for schema in _SCHEMAS:
        if (read := schema.read(prim, reading)) is not None:
            yield schema.name, read


def _unit_of(prim: Usd.Prim, reading: Reading) -> float:
    """SI value of one unit of a joint's position."""
    return reading.units.position(angular=prim.IsA(UsdPhysics.RevoluteJoint))


def _target(prim: Usd.Prim, name: str, reading: Reading) -> Usd.Prim | None:
    targets = prim.GetRelationship(name).GetTargets()
    return reading.prim(targets[0]) if targets else None


def _first(prim: Usd.Prim, fallback: float, *names: str) -> float:
    """Return the first authored number; schemas may not be registered with OpenUSD."""
    numbers = (number_attribute(prim, name) for name in names)
    return next((number for number in numbers if number is not None), fallback)


def _is_disabled(prim: Usd.Prim) -> bool:
    return prim.GetAttribute("newton:mimicEnabled").Get() is False


def _read_newton(prim: Usd.Prim, reading: Reading) -> Linear | None:
    leader = _target(prim, "newton:mimicJoint", reading)
    if "NewtonMimicAPI" not in applied_schemas(prim) or _is_disabled(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "newton:mimicCoef0") * _unit_of(prim, reading)
    return Linear(leader, _first(prim, 1.0, "newton:mimicCoef1"), offset)


def _read_extended(prim: Usd.Prim, reading: Reading) -> Linear | None:
    """Read the coupling of REP 158, section 4.2.2, in units of the joint."""
    leader = _target(prim, "ext_physics:mimic:joint", reading)
    if "ExtendedPhysicsMimicAPI" not in applied_schemas(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "ext_physics:mimic:offset") * _unit_of(prim, reading)
    return Linear(leader, _first(prim, 1.0, "ext_physics:mimic:multiplier"), offset)


def _newton_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """Newton's coefficients have one unit, so both joints are of one type."""
    return bool(prim.GetTypeName() == leader.GetTypeName())


def _read_physx(prim: Usd.Prim, reading: Reading) -> Linear | None:
    """Read ``position + gearing * leader + offset = 0``."""
    applied = applied_schemas(prim)
    found = [name for name in _PHYSX_INSTANCES if f"PhysxMimicJointAPI:{name}" in applied]
    if not found:
        return None
    prefix = f"physxMimicJoint:{found[0]}"
    leader = _target(prim, f"{prefix}:referenceJoint", reading)
    if not leader or not _physx_couples(prim, leader):
        return None
    # PhysX drops the coupling if an authored axis of the leader is unknown; it ignores which one it
    # is, as the leader has one degree of freedom.
    axis = prim.GetAttribute(f"{prefix}:referenceJointAxis")
    if axis and axis.IsAuthored() and axis.Get() not in _PHYSX_INSTANCES:
        return None
    unit = _unit_of(prim, reading)
    gearing = _first(prim, 1.0, f"{prefix}:gearing")
    multiplier = -gearing * (unit / _unit_of(leader, reading))
    return Linear(leader, multiplier, -_first(prim, 0.0, f"{prefix}:offset") * unit)


def _physx_couples(*joints: Usd.Prim) -> bool:
    """PhysX couples prismatic joints, and revolute joints with limits."""
    for prim in joints:
        if UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get():
            return False
        if not prim.IsA(UsdPhysics.PrismaticJoint):
            joint = UsdPhysics.RevoluteJoint(prim)
            limits = (joint.GetLowerLimitAttr(), joint.GetUpperLimitAttr()) if joint else ()
            if not limits or any(abs(limit.Get()) >= _PHYSX_UNLIMITED for limit in limits):
                return False
    return True


def _read_mujoco(prim: Usd.Prim, reading: Reading) -> Linear | None:
    """Read ``position = coef0 + coef1 * leader``, in radians or distance.

    The schema includes that of Newton, whose attributes precede its own.
    """
    if MUJOCO not in applied_schemas(prim) or _is_disabled(prim):
        return None
    names = ("newton:mimicJoint", "mjc:target")
    leader = next(filter(None, (_target(prim, name, reading) for name in names)), None)
    if not leader:
        return None
    unit, leader_unit = (
        1.0 if joint.IsA(UsdPhysics.RevoluteJoint) else reading.units.length
        for joint in (prim, leader)
    )
    offset = number_attribute(prim, "newton:mimicCoef0")
    if offset is None:
        offset = _first(prim, 0.0, "mjc:coef0") * unit
    else:
        offset *= _unit_of(prim, reading)
    multiplier = _first(prim, 1.0, "newton:mimicCoef1", "mjc:coef1")
    return Linear(leader, multiplier * (unit / leader_unit), offset)


def _mujoco_couples(*joints: Usd.Prim) -> bool:
    """MuJoCo couples all joints with one coordinate."""
    kinds = (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint)
    return all(any(prim.IsA(kind) for kind in kinds) for prim in joints)


_SCHEMAS = (
    _MimicSchema(SchemaFamily.NEWTON, "NewtonMimicAPI", _read_newton, _newton_couples),
    _MimicSchema(SchemaFamily.PHYSX, "PhysxMimicJointAPI", _read_physx, _physx_couples),
    _MimicSchema(SchemaFamily.MUJOCO, MUJOCO, _read_mujoco, _mujoco_couples),
    _MimicSchema(None, "ExtendedPhysicsMimicAPI", _read_extended, _newton_couples),
)
