"""Mimic couplings of joints, from simulators' schemas and ``urdf:`` attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SAME,
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
from urdf_usd.conformance.observation.robot import HeadCoupling, MimicObservation, head_coupling

_SAME_OFFSET = 1e-12
MUJOCO = "MjcEqualityJointAPI"
# PhysX uses these for prismatic joints as well.
_PHYSX_INSTANCES = ("rotX", "rotY", "rotZ")
# PhysX treats a limit of a revolute joint from here on as none [degrees].
_PHYSX_UNLIMITED = 0.5e38


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
        is_revolute = prim.IsA(UsdPhysics.RevoluteJoint)
        return math.radians(1.0) if is_revolute else self.units.length

    def radian_unit(self, prim: Usd.Prim) -> float:
        """SI value of one unit of a joint's position in MuJoCo."""
        return 1.0 if prim.IsA(UsdPhysics.RevoluteJoint) else self.units.length

    def target(self, prim: Usd.Prim, name: str) -> Usd.Prim | None:
        """Return the first target of a relationship."""
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
    """Prepare to read couplings."""
    prims = [physics.stage.GetPrimAtPath(path) for path in physics.joints]
    named = {urdf_name(prim): prim for prim in prims}
    return Couplings(physics.stage, physics.units, named, used_families(physics))


class _MimicSchema(NamedTuple):
    """A simulator's schema for couplings."""

    family: SchemaFamily | None  # None if no simulator needs it
    name: str
    read: Callable[[Usd.Prim, Couplings], Linear | None]
    # Whether it could couple a joint to a leader.
    could: Callable[[Usd.Prim, Usd.Prim], bool]

    def stated(self, name: str, couplings: Couplings) -> MimicObservation | None:
        """Return the coupling of the joint of a name."""
        prim = couplings.named.get(name)
        read = self.read(prim, couplings) if prim else None
        if read is None:
            return None
        return MimicObservation(urdf_name(read.leader), read.multiplier, read.offset)


def coupling(name: str, couplings: Couplings, remarks: list[str]) -> MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can.

    Args:
        name: URDF name of the joint.
        couplings: All joints.
        remarks: Receives notes on missing and contradictory couplings.
    """
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
    """Yield the schemas that couple a joint, and how."""
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
