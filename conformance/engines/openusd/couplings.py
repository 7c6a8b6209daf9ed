"""Mimic couplings of joints, from simulators' schemas and ``urdf:`` attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

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
_NEWTON = "NewtonMimicAPI"
_PHYSX = "PhysxMimicJointAPI"
MUJOCO = "MjcEqualityJointAPI"
_EXTENDED = "ExtendedPhysicsMimicAPI"
# PhysX uses these for prismatic joints as well.
_PHYSX_INSTANCES = ("rotX", "rotY", "rotZ")
# PhysX treats a limit of a revolute joint from here on as none [degrees].
_PHYSX_UNLIMITED = 0.5e38


class Couplings(Struct, frozen=True, eq=False):
    """All joints, to resolve leaders.

    Attributes:
        stage: The open stage.
        units: Its units.
        named: Joint prims by URDF name.
        families: Schema families of the asset.
    """

    stage: Usd.Stage
    units: Units
    named: Mapping[str, Usd.Prim]
    families: frozenset[SchemaFamily]


def couplings_of(physics: Physics) -> Couplings:
    """Prepare to read couplings."""
    prims = [physics.stage.GetPrimAtPath(path) for path in physics.joints]
    return Couplings(
        stage=physics.stage,
        units=physics.units,
        named={urdf_name(prim): prim for prim in prims},
        families=used_families(physics),
    )


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
    for mimic_schema in _SCHEMAS:
        if (mimic := mimic_schema.of(name, couplings)) is not None:
            head = head_coupling(name, partial(mimic_schema.acting, couplings=couplings))
            stated.append((mimic_schema.schema, mimic, head))
        elif (
            custom and custom_head and mimic_schema.is_missing(name, custom, custom_head, couplings)
        ):
            remarks.append(f"urdf:mimic names {custom.leader}, but {mimic_schema.schema} does not")
            return None
    if not stated:
        return custom
    (first, mimic, head), *others = stated
    for schema, _, other in others:
        if not _alike(head, other):
            remarks.append(f"{first} and {schema} disagree")
            return None
    if custom and not _alike(head, custom_head):
        remarks.append(f"{first} and urdf:mimic disagree")
    return mimic


class Linear(Struct, frozen=True, eq=False):
    """Position = multiplier * position of the leader + offset [rad or m]."""

    leader: Usd.Prim
    multiplier: float
    offset: float


class _MimicSchema(Struct, frozen=True):
    """A simulator's schema for couplings.

    Attributes:
        family: Its schema family; None if no simulator needs it.
        schema: Its name.
        read: Reads the effective coupling of a joint prim, if any.
        could: Whether the schema could couple one joint prim to another.
    """

    family: SchemaFamily | None
    schema: str
    read: Callable[[Usd.Prim, Couplings], Linear | None]
    could: Callable[[Usd.Prim, Usd.Prim], bool]

    def of(self, name: str, couplings: Couplings) -> MimicObservation | None:
        """Return the coupling of the joint of a name."""
        prim = couplings.named.get(name)
        read = self.read(prim, couplings) if prim else None
        if read is None:
            return None
        return MimicObservation(urdf_name(read.leader), read.multiplier, read.offset)

    def acting(self, name: str, couplings: Couplings) -> MimicObservation | None:
        """Return the same, or the custom coupling where there is none."""
        return self.of(name, couplings) or _custom(name, couplings)

    def is_missing(
        self,
        name: str,
        custom: MimicObservation,
        custom_head: HeadCoupling,
        couplings: Couplings,
    ) -> bool:
        """Whether an asset with this family lacks the schema for a custom coupling.

        Args:
            name: The joint.
            custom: Its ``urdf:mimic`` coupling.
            custom_head: The same, to the head of its chain.
            couplings: All joints.
        """
        prim = couplings.named.get(name)
        leader = couplings.named.get(custom.leader)
        if self.family not in couplings.families or not (prim and leader):
            return False
        numbers = custom_head.multiplier, custom_head.offset / _unit(prim, couplings)
        expressible = all(not number or is_storable(number) for number in numbers)
        return expressible and self.could(prim, leader)


def _alike(one: HeadCoupling | None, other: HeadCoupling | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.leader == other.leader
        and math.isclose(one.multiplier, other.multiplier, rel_tol=_SAME)
        and abs(one.offset - other.offset) <= _SAME_OFFSET + _SAME * one.terms
    )


def _unit(prim: Usd.Prim, couplings: Couplings) -> float:
    """SI value of one unit of a joint's position."""
    if prim.IsA(UsdPhysics.RevoluteJoint):
        return math.radians(1.0)
    return couplings.units.length


def _custom(name: str, couplings: Couplings) -> MimicObservation | None:
    """Return the ``urdf:mimic`` coupling of the joint of a name."""
    prim = couplings.named.get(name)
    leader = text_attribute(prim, "urdf:mimic:joint") if prim else None
    if leader is None:
        return None
    multiplier = number_attribute(prim, "urdf:mimic:multiplier")
    return MimicObservation(
        leader,
        1.0 if multiplier is None else multiplier,
        number_attribute(prim, "urdf:mimic:offset") or 0.0,
    )


def _read_newton(
    prim: Usd.Prim,
    couplings: Couplings,
) -> Linear | None:
    # With the schema's fallbacks, as the schema may not be registered with OpenUSD.
    if _NEWTON not in applied_schemas(prim):
        return None
    enabled = prim.GetAttribute("newton:mimicEnabled").Get()
    leader = _target(prim, "newton:mimicJoint", couplings)
    if enabled is False or not leader:
        return None
    return _linear(prim, leader, "newton:mimicCoef1", "newton:mimicCoef0", couplings)


def _linear(
    prim: Usd.Prim,
    leader: Usd.Prim,
    multiplier_name: str,
    offset_name: str,
    couplings: Couplings,
) -> Linear:
    """Read a multiplier, by default 1, and an offset in units of the joint."""
    multiplier = number_attribute(prim, multiplier_name)
    return Linear(
        leader=leader,
        multiplier=1.0 if multiplier is None else multiplier,
        offset=(number_attribute(prim, offset_name) or 0.0) * _unit(prim, couplings),
    )


def _read_extended(
    prim: Usd.Prim,
    couplings: Couplings,
) -> Linear | None:
    """Read the coupling of REP 158, section 4.2.2, in units of the joint."""
    if _EXTENDED not in applied_schemas(prim):
        return None
    leader = _target(prim, "ext_physics:mimic:joint", couplings)
    if not leader:
        return None
    prefix = "ext_physics:mimic"
    return _linear(prim, leader, f"{prefix}:multiplier", f"{prefix}:offset", couplings)


def _newton_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """Newton's coefficients have one unit, so both joints are of one type."""
    return bool(prim.GetTypeName() == leader.GetTypeName())


def _read_physx(
    prim: Usd.Prim,
    couplings: Couplings,
) -> Linear | None:
    """Read ``position + gearing * leader + offset = 0``."""
    applied = applied_schemas(prim)
    found = [name for name in _PHYSX_INSTANCES if f"{_PHYSX}:{name}" in applied]
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
    gearing = number_attribute(prim, f"{prefix}:gearing")
    offset = number_attribute(prim, f"{prefix}:offset")
    unit = _unit(prim, couplings)
    ratio = unit / _unit(leader, couplings)
    return Linear(
        leader=leader,
        multiplier=-(1.0 if gearing is None else gearing) * ratio,
        offset=-(offset or 0.0) * unit,
    )


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


def _read_mujoco(
    prim: Usd.Prim,
    couplings: Couplings,
) -> Linear | None:
    """Read ``position = coef0 + coef1 * leader``, in radians or distance.

    The schema includes that of Newton, whose attributes precede its own.
    """
    if MUJOCO not in applied_schemas(prim):
        return None
    leader = _target(prim, "newton:mimicJoint", couplings) or _target(prim, "mjc:target", couplings)
    if not leader or prim.GetAttribute("newton:mimicEnabled").Get() is False:
        return None
    multiplier = number_attribute(prim, "newton:mimicCoef1")
    if multiplier is None:
        multiplier = number_attribute(prim, "mjc:coef1")
    offset = number_attribute(prim, "newton:mimicCoef0")
    unit = _unit(prim, couplings)
    if offset is None:
        offset = number_attribute(prim, "mjc:coef0")
        unit = _radian_unit(prim, couplings)
    ratio = _radian_unit(prim, couplings) / _radian_unit(leader, couplings)
    return Linear(
        leader=leader,
        multiplier=(1.0 if multiplier is None else multiplier) * ratio,
        offset=(offset or 0.0) * unit,
    )


def _radian_unit(prim: Usd.Prim, couplings: Couplings) -> float:
    """SI value of one unit of a joint's position in MuJoCo."""
    return 1.0 if prim.IsA(UsdPhysics.RevoluteJoint) else couplings.units.length


def _mujoco_couples(prim: Usd.Prim, leader: Usd.Prim) -> bool:
    """MuJoCo couples all joints with one coordinate."""
    kinds = (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint)
    return all(any(one.IsA(kind) for kind in kinds) for one in (prim, leader))


def _target(prim: Usd.Prim, name: str, couplings: Couplings) -> Usd.Prim | None:
    targets = prim.GetRelationship(name).GetTargets()
    return couplings.stage.GetPrimAtPath(targets[0]) if targets else None


_SCHEMAS = (
    _MimicSchema(SchemaFamily.NEWTON, _NEWTON, _read_newton, _newton_couples),
    _MimicSchema(SchemaFamily.PHYSX, _PHYSX, _read_physx, _physx_couples),
    _MimicSchema(SchemaFamily.MUJOCO, MUJOCO, _read_mujoco, _mujoco_couples),
    _MimicSchema(None, _EXTENDED, _read_extended, _newton_couples),
)


def schema_couplings(prim: Usd.Prim, couplings: Couplings) -> Iterator[tuple[str, Linear]]:
    """Yield the schemas that couple a joint, and how."""
    for mimic_schema in _SCHEMAS:
        if (read := mimic_schema.read(prim, couplings)) is not None:
            yield mimic_schema.schema, read
