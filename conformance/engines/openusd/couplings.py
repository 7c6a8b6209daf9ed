"""Mimic couplings of joints, from simulators' schemas and ``urdf:`` attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SchemaFamily,
    applied_schemas,
    is_storable,
    used_families,
)
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    Units,
    number_attribute,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.observation.robot import (
    HeadCoupling,
    MimicObservation,
    head_coupling,
)

# float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far.
_SAME = 1e-6
_SAME_OFFSET = 1e-12
MUJOCO = "MjcEqualityJointAPI"
# PhysX uses these for prismatic joints as well.
_PHYSX_INSTANCES = ("rotX", "rotY", "rotZ")
# PhysX treats a limit of a revolute joint from here on as none [degrees].
_PHYSX_UNLIMITED = 0.5e38


class Couplings(Struct, frozen=True, eq=False):
    """All joints, to resolve leaders."""

    stage: Usd.Stage
    units: Units
    named: Mapping[str, Usd.Prim]  # joints by URDF name
    families: frozenset[SchemaFamily]  # of the asset


def couplings_of(physics: Physics) -> Couplings:
    """Prepare to read couplings."""
    prims = [physics.stage.GetPrimAtPath(path) for path in physics.joints]
    named = {urdf_name(prim): prim for prim in prims}
    return Couplings(physics.stage, physics.units, named, used_families(physics))


class Linear(Struct, frozen=True, eq=False):
    """Position = multiplier * position of the leader + offset [rad or m]."""

    leader: Usd.Prim
    multiplier: float
    offset: float


class _MimicSchema(NamedTuple):
    """A simulator's schema for couplings."""

    family: SchemaFamily | None  # None if no simulator needs it
    name: str
    read: Callable[[Usd.Prim, Couplings], Linear | None]
    # Whether it could couple a joint to a leader.
    could: Callable[[Usd.Prim, Usd.Prim], bool]


def coupling(name: str, couplings: Couplings, remarks: list[str]) -> MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can.

    Args:
        name: URDF name of the joint.
        couplings: All joints.
        remarks: Receives notes on missing and contradictory couplings.
    """
    custom = _custom(name, couplings)
    custom_head = head_coupling(name, partial(_custom, couplings=couplings))
    stated: list[tuple[str, MimicObservation, HeadCoupling | None]] = []
    for schema in _SCHEMAS:
        if (mimic := _stated(schema, name, couplings)) is not None:
            head = head_coupling(name, partial(_acting, schema, couplings=couplings))
            stated.append((schema.name, mimic, head))
        elif custom and custom_head and _is_missing(schema, name, custom, custom_head, couplings):
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
    """Yield the schemas that couple a joint, and how."""
    for schema in _SCHEMAS:
        if (read := schema.read(prim, couplings)) is not None:
            yield schema.name, read


def _stated(schema: _MimicSchema, name: str, couplings: Couplings) -> MimicObservation | None:
    prim = couplings.named.get(name)
    read = schema.read(prim, couplings) if prim else None
    if read is None:
        return None
    return MimicObservation(urdf_name(read.leader), read.multiplier, read.offset)


def _acting(schema: _MimicSchema, name: str, couplings: Couplings) -> MimicObservation | None:
    return _stated(schema, name, couplings) or _custom(name, couplings)


def _is_missing(
    schema: _MimicSchema,
    name: str,
    custom: MimicObservation,
    custom_head: HeadCoupling,
    couplings: Couplings,
) -> bool:
    """Whether an asset with a schema's family lacks it for a custom coupling."""
    prim, leader = couplings.named.get(name), couplings.named.get(custom.leader)
    if schema.family not in couplings.families or not (prim and leader):
        return False
    numbers = custom_head.multiplier, custom_head.offset / _unit(prim, couplings)
    return all(not n or is_storable(n) for n in numbers) and schema.could(prim, leader)


def _alike(one: HeadCoupling | None, other: HeadCoupling | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.leader == other.leader
        and math.isclose(one.multiplier, other.multiplier, rel_tol=_SAME)
        and abs(one.offset - other.offset) <= _SAME_OFFSET + _SAME * one.terms
    )


def _custom(name: str, couplings: Couplings) -> MimicObservation | None:
    """Return the ``urdf:mimic`` coupling of the joint of a name."""
    prim = couplings.named.get(name)
    leader = text_attribute(prim, "urdf:mimic:joint") if prim else None
    if leader is None:
        return None
    multiplier = _first(prim, 1.0, "urdf:mimic:multiplier")
    return MimicObservation(leader, multiplier, _first(prim, 0.0, "urdf:mimic:offset"))


def _unit(prim: Usd.Prim, couplings: Couplings) -> float:
    """SI value of one unit of a joint's position."""
    is_revolute = prim.IsA(UsdPhysics.RevoluteJoint)
    return math.radians(1.0) if is_revolute else couplings.units.length


def _radian_unit(prim: Usd.Prim, couplings: Couplings) -> float:
    """SI value of one unit of a joint's position in MuJoCo."""
    return 1.0 if prim.IsA(UsdPhysics.RevoluteJoint) else couplings.units.length


def _target(prim: Usd.Prim, name: str, couplings: Couplings) -> Usd.Prim | None:
    targets = prim.GetRelationship(name).GetTargets()
    return couplings.stage.GetPrimAtPath(targets[0]) if targets else None


def _first(prim: Usd.Prim, fallback: float, *names: str) -> float:
    """Return the first authored number; schemas may not be registered with OpenUSD."""
    for name in names:
        if (value := number_attribute(prim, name)) is not None:
            return value
    return fallback


def _read_newton(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    leader = _target(prim, "newton:mimicJoint", couplings)
    if "NewtonMimicAPI" not in applied_schemas(prim) or _is_disabled(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "newton:mimicCoef0") * _unit(prim, couplings)
    return Linear(leader, _first(prim, 1.0, "newton:mimicCoef1"), offset)


def _is_disabled(prim: Usd.Prim) -> bool:
    return prim.GetAttribute("newton:mimicEnabled").Get() is False


def _read_extended(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    """Read the coupling of REP 158, section 4.2.2, in units of the joint."""
    leader = _target(prim, "ext_physics:mimic:joint", couplings)
    if "ExtendedPhysicsMimicAPI" not in applied_schemas(prim) or not leader:
        return None
    offset = _first(prim, 0.0, "ext_physics:mimic:offset") * _unit(prim, couplings)
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
    leader = _target(prim, f"{prefix}:referenceJoint", couplings)
    if not leader or not _physx_couples(prim, leader):
        return None
    # PhysX drops the coupling if an authored axis of the leader is unknown; it ignores
    # which one it is, as the leader has one degree of freedom.
    axis = prim.GetAttribute(f"{prefix}:referenceJointAxis")
    if axis and axis.IsAuthored() and axis.Get() not in _PHYSX_INSTANCES:
        return None
    unit = _unit(prim, couplings)
    ratio = unit / _unit(leader, couplings)
    gearing = _first(prim, 1.0, f"{prefix}:gearing")
    return Linear(leader, -gearing * ratio, -_first(prim, 0.0, f"{prefix}:offset") * unit)


def _physx_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """PhysX couples prismatic joints, and revolute joints with limits."""
    return _may_take_part(prim) and _may_take_part(leader)


def _may_take_part(prim: Usd.Prim) -> bool:
    if UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get():
        return False
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return True
    if not prim.IsA(UsdPhysics.RevoluteJoint):
        return False
    joint = UsdPhysics.RevoluteJoint(prim)
    limits = joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get()
    return all(abs(limit) < _PHYSX_UNLIMITED for limit in limits)


def _read_mujoco(prim: Usd.Prim, couplings: Couplings) -> Linear | None:
    """Read ``position = coef0 + coef1 * leader``, in radians or distance.

    The schema includes that of Newton, whose attributes precede its own.
    """
    if MUJOCO not in applied_schemas(prim) or _is_disabled(prim):
        return None
    leader = _target(prim, "newton:mimicJoint", couplings) or _target(prim, "mjc:target", couplings)
    if not leader:
        return None
    unit = _radian_unit(prim, couplings)
    ratio = unit / _radian_unit(leader, couplings)
    offset = number_attribute(prim, "newton:mimicCoef0")
    if offset is None:
        offset = _first(prim, 0.0, "mjc:coef0") * unit
    else:
        offset *= _unit(prim, couplings)
    multiplier = _first(prim, 1.0, "newton:mimicCoef1", "mjc:coef1")
    return Linear(leader, multiplier * ratio, offset)


def _mujoco_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """MuJoCo couples all joints with one coordinate."""
    kinds = (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint)
    return all(any(one.IsA(kind) for kind in kinds) for one in (prim, leader))


_SCHEMAS = (
    _MimicSchema(SchemaFamily.NEWTON, "NewtonMimicAPI", _read_newton, _newton_couples),
    _MimicSchema(SchemaFamily.PHYSX, "PhysxMimicJointAPI", _read_physx, _physx_couples),
    _MimicSchema(SchemaFamily.MUJOCO, MUJOCO, _read_mujoco, _mujoco_couples),
    _MimicSchema(None, "ExtendedPhysicsMimicAPI", _read_extended, _newton_couples),
)
