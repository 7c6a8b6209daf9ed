"""Effort, velocity, damping, friction and couplings of joints, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a value that
they could state and do not is absent, even if a custom attribute ``urdf:`` states it. In an asset
without such schemas the ``urdf:`` attributes are used. Drives count as a schema family: in an asset
without drives no joint is driven, and there is no attribute for the limit of a motor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import ANGULAR, LINEAR, UNBOUNDED
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    Units,
    number_attribute,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.engines.protocol import AbstentionError, InvalidFileError
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


class SchemaFamily(StrEnum):
    """Schemas of one simulator for joints, or the drives of OpenUSD."""

    DRIVES = "drives"
    NEWTON = "newton"
    PHYSX = "physx"
    MUJOCO = "mujoco"


# Prefixes of names of schemas and properties, in lower case.
_BEGINNINGS = {
    SchemaFamily.DRIVES: ("drive:", "physicsdriveapi:"),
    SchemaFamily.NEWTON: ("newton",),
    SchemaFamily.PHYSX: ("physx",),
    SchemaFamily.MUJOCO: ("mjc",),
}


def used_families(physics: Physics) -> frozenset[SchemaFamily]:
    """Return the schema families that any joint uses."""
    names: set[str] = set()
    for path in physics.joints:
        prim = physics.stage.GetPrimAtPath(path)
        names |= {*map(str.lower, (*applied_schemas(prim), *prim.GetAuthoredPropertyNames()))}
    return frozenset(
        family
        for family, beginnings in _BEGINNINGS.items()
        if any(name.startswith(beginnings) for name in names)
    )


def refusal(
    reason: str, families: Collection[SchemaFamily], own: Collection[SchemaFamily]
) -> AbstentionError:
    """Return the error for a stage that a simulator refuses."""
    others = set(families) - {SchemaFamily.DRIVES}
    meant = not others or others & set(own)
    return InvalidFileError(reason) if meant else AbstentionError(reason)


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the API schemas of a prim, registered in OpenUSD or not.

    ``GetAppliedSchemas`` leaves out schemas that are not registered, as those of PhysX, or that
    were registered after a stage was opened in the same process.
    """
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


class Freedom(Struct, frozen=True):
    """The degree of freedom of a joint that has exactly one."""

    angular: bool  # whether it is a rotation; schemas use degrees then
    # Instance name in multiple-apply schemas: ``angular``, or ``transY`` of an untyped joint
    instance: str


def freedom_of(prim: Usd.Prim, kind: JointType, axis: int | None) -> Freedom | None:
    """Return the degree of freedom of a joint; None if it has not exactly one."""
    if axis is None or kind not in ANGULAR | LINEAR:
        return None
    angular = kind in ANGULAR
    if prim.GetTypeName() == "PhysicsJoint":
        return Freedom(angular, f"{'rot' if angular else 'trans'}{'XYZ'[axis]}")
    return Freedom(angular, "angular" if angular else "linear")


class _Number(NamedTuple):
    custom: str  # attribute in SI units
    unit: str  # key of _unit
    # Attributes of each source, with braces for the instance of the freedom. The first whose schema
    # is applied is read.
    sources: tuple[tuple[str, ...], ...]
    has_zero: bool = True  # whether schemas can state zero; none can state negative numbers
    is_limit: bool = False  # whether infinity stands for no limit


# Families of attributes by their beginnings, and schemas that have to be applied. Newton and its
# importer of MuJoCo's schemas read attributes whether or not a schema is applied.
_SCHEMA_OF = {
    "drive": (SchemaFamily.DRIVES, "PhysicsDriveAPI:{}"),
    "newton": (SchemaFamily.NEWTON, None),
    "physxJointAxis": (SchemaFamily.PHYSX, "PhysxJointAxisAPI:{}"),
    "physxJoint": (SchemaFamily.PHYSX, "PhysxJointAPI"),
    "mjc": (SchemaFamily.MUJOCO, None),
}
_NUMBERS = {
    "effort": _Number(
        "urdf:limit:effort", "force", (("drive:{}:physics:maxForce",), (_RANGE,)), is_limit=True
    ),
    "velocity": _Number(
        "urdf:limit:velocity",
        "velocity",
        (
            ("newton:velocityLimit",),
            # An axis with its own schema ignores that of the joint.
            ("physxJointAxis:{}:maxJointVelocity", "physxJoint:maxJointVelocity"),
        ),
        # Newton's schema excludes it, and PhysX would freeze the joint.
        has_zero=False,
        is_limit=True,
    ),
    "damping": _Number(
        "urdf:dynamics:damping",
        "damping",
        (("newton:damping",), ("physxJointAxis:{}:viscousFrictionCoefficient",), (_PER_RADIAN,)),
    ),
    "friction": _Number(
        "urdf:dynamics:friction",
        "force",
        (
            ("newton:friction",),
            # One number in URDF, whether the joint moves or rests.
            ("physxJointAxis:{}:dynamicFrictionEffort",),
            ("physxJointAxis:{}:staticFrictionEffort",),
            ("mjc:frictionloss",),
        ),
    ),
}


def _unit(number: _Number, units: Units, *, angular: bool) -> float:
    """SI value of the unit of schemas for a number."""
    position = units.position(angular=angular)
    force = units.effort(angular=angular)
    return {"force": force, "velocity": position, "damping": force / position}[number.unit]


def is_storable(value: float) -> bool:
    """Whether float32 can represent a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    lower, upper = (number_attribute(prim, f"{_RANGE}:{end}") or 0.0 for end in ("min", "max"))
    limited = text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    is_effective = limited != "false" and (limited != "auto" or lower < upper)
    return (lower, upper) if is_effective else None


def _authored(prim: Usd.Prim, name: str) -> float | None:
    """Return a number; of a range of forces its bound, NaN if it has two."""
    if name != _RANGE:
        return number_attribute(prim, name)
    bounds = force_range(prim)
    if bounds is None:
        return None
    return bounds[1] if bounds[0] == -bounds[1] else math.nan


def _read(
    number: _Number,
    source: tuple[str, ...],
    prim: Usd.Prim,
    freedom: Freedom,
    unit: float,
    *,
    of_axis: bool = False,
) -> tuple[str, float | None]:
    """Return the attribute that a schema family reads, and its value in SI units.

    The smallest number stands for zero, which no range of MuJoCo can be.
    """
    applied, name, value = applied_schemas(prim), "", None
    for template in source:
        if of_axis and "{" not in template:
            continue
        name = template.format(freedom.instance)
        _, schema = _SCHEMA_OF[template.partition(":")[0]]
        if schema is None or schema.format(freedom.instance) in applied:
            value = _authored(prim, name)
            break
    if value is None or (number.is_limit and value >= UNBOUNDED):
        return name, None
    if number.is_limit and 0.0 < value <= _SMALLEST:
        return name, 0.0
    is_per_radian = name == _PER_RADIAN and freedom.angular
    return name, value * unit * (math.radians(1.0) if is_per_radian else 1.0)


def joint_numbers(
    prim: Usd.Prim,
    freedom: Freedom | None,
    units: Units,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> dict[str, float | None]:
    """Read effort, velocity, damping and friction of a joint in SI units; None is absent.

    Args:
        prim: The joint.
        freedom: Its degree of freedom, if it has exactly one. Units of schemas depend on it, so
            that other joints have custom attributes alone.
        units: Units of the stage.
        families: Schema families of the asset.
        remarks: Receives notes on missing and contradictory values.
    """
    return {
        field: number_attribute(prim, number.custom)
        if freedom is None
        else _effective(prim, freedom, number, units, families, remarks)
        for field, number in _NUMBERS.items()
    }


def stated_numbers(
    prim: Usd.Prim, freedom: Freedom, units: Units, *, of_axis: bool = False
) -> dict[str, list[float]]:
    """Return what the schemas state of a joint, in SI units, by field of :func:`joint_numbers`.

    Args:
        prim: The joint.
        freedom: Its degree of freedom.
        units: Units of the stage.
        of_axis: Whether attributes of the whole joint are left out.
    """
    found: dict[str, list[float]] = {}
    for field, number in _NUMBERS.items():
        unit = _unit(number, units, angular=freedom.angular)
        values = (
            _read(number, source, prim, freedom, unit, of_axis=of_axis)[1]
            for source in number.sources
        )
        found[field] = [value for value in values if value is not None]
    return found


def _effective(
    prim: Usd.Prim,
    freedom: Freedom,
    number: _Number,
    units: Units,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> float | None:
    """Return the value of the schemas, or of the custom attribute without any.

    The value is NaN if two simulators read different ones, so that it equals none of a URDF,
    whether that has one or not.
    """
    custom = number_attribute(prim, number.custom)
    unit = _unit(number, units, angular=freedom.angular)
    stated: list[tuple[str, float]] = []
    missing: list[str] = []
    for source in number.sources:
        name, value = _read(number, source, prim, freedom, unit)
        if value is not None:
            stated.append((name, value))
        elif _SCHEMA_OF[source[0].partition(":")[0]][0] in families:
            missing.append(name)
    if custom is not None and missing:
        is_expressible = is_storable(custom) and is_storable(custom / unit) and custom > 0.0
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


class Linear(Struct, frozen=True, eq=False):
    """Position = multiplier * position of the leader + offset [rad or m]."""

    leader: Usd.Prim
    multiplier: float
    offset: float


class Couplings(Struct, frozen=True, eq=False):
    """All joints, to resolve leaders."""

    stage: Usd.Stage
    units: Units
    named: Mapping[str, Usd.Prim]  # joints by URDF name
    families: frozenset[SchemaFamily]  # of the asset

    def unit(self, prim: Usd.Prim) -> float:
        """SI value of one unit of a joint's position."""
        return self.units.position(angular=prim.IsA(UsdPhysics.RevoluteJoint))

    def radian_unit(self, prim: Usd.Prim) -> float:
        """SI value of one unit of a joint's position in MuJoCo."""
        return 1.0 if prim.IsA(UsdPhysics.RevoluteJoint) else self.units.length

    def target(self, prim: Usd.Prim, name: str) -> Usd.Prim | None:
        targets = prim.GetRelationship(name).GetTargets()
        return self.stage.GetPrimAtPath(targets[0]) if targets else None

    def custom(self, name: str) -> MimicObservation | None:
        """Return the ``urdf:mimic`` coupling of the joint of a name."""
        prim = self.named.get(name)
        leader = text_attribute(prim, "urdf:mimic:joint") if prim else None
        if leader is None:
            return None
        multiplier = _first(prim, 1.0, "urdf:mimic:multiplier")
        return MimicObservation(leader, multiplier, _first(prim, 0.0, "urdf:mimic:offset"))


def couplings_of(physics: Physics) -> Couplings:
    prims = [physics.stage.GetPrimAtPath(path) for path in physics.joints]
    named = {urdf_name(prim): prim for prim in prims}
    return Couplings(physics.stage, physics.units, named, used_families(physics))


class _MimicSchema(NamedTuple):
    family: SchemaFamily | None  # None if no simulator needs it
    name: str
    read: Callable[[Usd.Prim, Couplings], Linear | None]
    # Whether it could couple a joint to a leader.
    could: Callable[[Usd.Prim, Usd.Prim], bool]

    def stated(self, name: str, couplings: Couplings) -> MimicObservation | None:
        prim = couplings.named.get(name)
        read = self.read(prim, couplings) if prim else None
        if read is None:
            return None
        return MimicObservation(urdf_name(read.leader), read.multiplier, read.offset)


def coupling(name: str, couplings: Couplings, remarks: list[str]) -> MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can."""
    custom = couplings.custom(name)
    custom_head = head_coupling(name, couplings.custom)
    stated: list[tuple[str, MimicObservation, HeadCoupling | None]] = []
    for schema in _SCHEMAS:
        if (mimic := schema.stated(name, couplings)) is not None:

            def acting(joint: str, schema: _MimicSchema = schema) -> MimicObservation | None:
                return schema.stated(joint, couplings) or couplings.custom(joint)

            stated.append((schema.name, mimic, head_coupling(name, acting)))
        elif custom and custom_head and schema.family in couplings.families:
            # The asset has schemas of the simulator, and lacks this one.
            prim, leader = couplings.named.get(name), couplings.named.get(custom.leader)
            if prim and leader and schema.could(prim, leader):
                numbers = custom_head.multiplier, custom_head.offset / couplings.unit(prim)
                if all(not number or is_storable(number) for number in numbers):
                    remarks.append(f"urdf:mimic names {custom.leader}, but {schema.name} does not")
                    return None
    if not stated:
        return custom
    (first, mimic, head), *others = stated
    for other_name, _, other in others:
        if not _alike(head, other):
            remarks.append(f"{first} and {other_name} disagree")
            return None
    if custom and not _alike(head, custom_head):
        remarks.append(f"{first} and urdf:mimic disagree")
    return mimic


def schema_couplings(prim: Usd.Prim, couplings: Couplings) -> Iterator[tuple[str, Linear]]:
    for schema in _SCHEMAS:
        if (read := schema.read(prim, couplings)) is not None:
            yield schema.name, read


def _alike(one: HeadCoupling | None, other: HeadCoupling | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.leader == other.leader
        and math.isclose(one.multiplier, other.multiplier, rel_tol=SAME)
        and abs(one.offset - other.offset) <= _SAME_OFFSET + SAME * one.terms
    )


def _first(prim: Usd.Prim, fallback: float, *names: str) -> float:
    """Return the first authored number; schemas may not be registered with OpenUSD."""
    for name in names:
        if (value := number_attribute(prim, name)) is not None:
            return value
    return fallback


def _is_disabled(prim: Usd.Prim) -> bool:
    return prim.GetAttribute("newton:mimicEnabled").Get() is False


def _read_newton(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    leader = couplings.target(prim, "newton:mimicJoint")
    if "NewtonMimicAPI" not in applied_schemas(prim) or _is_disabled(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "newton:mimicCoef0") * couplings.unit(prim)
    return Linear(leader, _first(prim, 1.0, "newton:mimicCoef1"), offset)


def _read_extended(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    """Read the coupling of REP 158, section 4.2.2, in units of the joint."""
    leader = couplings.target(prim, "ext_physics:mimic:joint")
    if "ExtendedPhysicsMimicAPI" not in applied_schemas(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "ext_physics:mimic:offset") * couplings.unit(prim)
    return Linear(leader, _first(prim, 1.0, "ext_physics:mimic:multiplier"), offset)


def _newton_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """Newton's coefficients have one unit, so both joints are of one type."""
    return bool(prim.GetTypeName() == leader.GetTypeName())


def _read_physx(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    """Read ``position + gearing * leader + offset = 0``."""
    applied = applied_schemas(prim)
    found = [name for name in _PHYSX_INSTANCES if f"PhysxMimicJointAPI:{name}" in applied]
    if not found:
        return None
    prefix = f"physxMimicJoint:{found[0]}"
    leader = couplings.target(prim, f"{prefix}:referenceJoint")
    if not leader or not _physx_couples(prim, leader):
        return None
    # PhysX drops the coupling if an authored axis of the leader is unknown; it ignores which one it
    # is, as the leader has one degree of freedom.
    axis = prim.GetAttribute(f"{prefix}:referenceJointAxis")
    if axis and axis.IsAuthored() and axis.Get() not in _PHYSX_INSTANCES:
        return None
    unit = couplings.unit(prim)
    gearing = _first(prim, 1.0, f"{prefix}:gearing")
    multiplier = -gearing * (unit / couplings.unit(leader))
    return Linear(leader, multiplier, -_first(prim, 0.0, f"{prefix}:offset") * unit)


def _physx_couples(*joints: Usd.Prim) -> bool:
    """PhysX couples prismatic joints, and revolute joints with limits."""
    for prim in joints:
        if UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get():
            return False
        if prim.IsA(UsdPhysics.PrismaticJoint):
            continue
        joint = UsdPhysics.RevoluteJoint(prim)
        if not joint:
            return False
        limits = joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get()
        if not all(abs(limit) < _PHYSX_UNLIMITED for limit in limits):
            return False
    return True


def _read_mujoco(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    """Read ``position = coef0 + coef1 * leader``, in radians or distance.

    The schema includes that of Newton, whose attributes precede its own.
    """
    if MUJOCO not in applied_schemas(prim) or _is_disabled(prim):
        return None
    names = ("newton:mimicJoint", "mjc:target")
    leader = next(filter(None, (couplings.target(prim, name) for name in names)), None)
    if not leader:
        return None
    unit = couplings.radian_unit(prim)
    offset = number_attribute(prim, "newton:mimicCoef0")
    if offset is None:
        offset = _first(prim, 0.0, "mjc:coef0") * unit
    else:
        offset *= couplings.unit(prim)
    multiplier = _first(prim, 1.0, "newton:mimicCoef1", "mjc:coef1")
    return Linear(leader, multiplier * (unit / couplings.radian_unit(leader)), offset)


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
