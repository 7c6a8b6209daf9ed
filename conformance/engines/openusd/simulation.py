"""Numbers and couplings of joints, drives and contacts, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a value that they
could state and do not is absent, even if a custom attribute ``urdf:`` states it, which counts in
other assets. Drives are a schema family as well.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from pxr import Usd, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.joints import ANGULAR, UNBOUNDED, Connection
from urdf_usd.conformance.engines.openusd.reading import Reading, SchemaFamily
from urdf_usd.conformance.observation import robot as observed

SELF_COLLISION = (
    ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
    ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
)
"""Whether the links of an articulation collide: schemas and their attributes."""
SAME = 1e-6
"""float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far."""
_SAME_OFFSET = 1e-12
MUJOCO = "MjcEqualityJointAPI"
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


def freedom_of(prim: Usd.Prim, kind: observed.JointType | None, axis: int | None) -> Freedom | None:
    """Return the degree of freedom of a joint; None if it has not exactly one."""
    if axis is None or kind not in ANGULAR | {observed.JointType.PRISMATIC}:
        return None
    angular = kind in ANGULAR
    if prim.GetTypeName() == "PhysicsJoint":
        return Freedom(angular, f"{'rot' if angular else 'trans'}{'XYZ'[axis]}")
    return Freedom(angular, "angular" if angular else "linear")


# Attributes of schemas for each number of a joint, with braces for the instance of the freedom, and
# the schema that has to be applied. Newton and its importer of MuJoCo's schemas read attributes
# whether or not a schema is applied.
_AXIS = "PhysxJointAxisAPI:{}"
_NUMBERS: dict[str, tuple[tuple[SchemaFamily, str, str | None], ...]] = {
    "limit:effort": (
        (SchemaFamily.DRIVES, "drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),
        (SchemaFamily.MUJOCO, _RANGE, None),
    ),
    "limit:velocity": (
        (SchemaFamily.NEWTON, "newton:velocityLimit", None),
        (SchemaFamily.PHYSX, "physxJointAxis:{}:maxJointVelocity", _AXIS),
    ),
    "dynamics:damping": (
        (SchemaFamily.NEWTON, "newton:damping", None),
        (SchemaFamily.PHYSX, "physxJointAxis:{}:viscousFrictionCoefficient", _AXIS),
        (SchemaFamily.MUJOCO, _PER_RADIAN, None),
    ),
    "dynamics:friction": (
        (SchemaFamily.NEWTON, "newton:friction", None),
        # One number in URDF, whether the joint moves or rests.
        (SchemaFamily.PHYSX, "physxJointAxis:{}:dynamicFrictionEffort", _AXIS),
        (SchemaFamily.PHYSX, "physxJointAxis:{}:staticFrictionEffort", _AXIS),
        (SchemaFamily.MUJOCO, "mjc:frictionloss", None),
    ),
}
# Newton's schema excludes zero, and PhysX would freeze the joint.
_WITHOUT_ZERO = "limit:velocity"
# An axis of PhysX with its own schema ignores the velocity of the joint.
_OF_JOINT = ("physxJoint:maxJointVelocity", "PhysxJointAPI")


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    ends = f"{_RANGE}:min", f"{_RANGE}:max"
    lower, upper = (stages.number_attribute(prim, end) or 0.0 for end in ends)
    limited = stages.text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    is_effective = limited != "false" and (limited != "auto" or lower < upper)
    return (lower, upper) if is_effective else None


def _unit(field: str, freedom: Freedom, units: stages.Units) -> float:
    force = units.effort(angular=freedom.angular)
    position = units.position(angular=freedom.angular)
    return {"limit:velocity": position, "dynamics:damping": force / position}.get(field, force)


def stated_numbers(
    field: str, prim: Usd.Prim, freedom: Freedom, units: stages.Units, *, of_axis: bool = False
) -> Iterator[tuple[SchemaFamily, str, float | None]]:
    """Yield the attributes that schema families read, and their values in SI units.

    The smallest number stands for zero, which no range of MuJoCo can be. A range with two bounds is
    NaN. ``field`` is the end of an attribute ``urdf:``. With ``of_axis``, attributes of the whole
    joint are left out.
    """
    applied = stages.applied_schemas(prim)
    for family, template, schema in _NUMBERS[field]:
        name, needed = template.format(freedom.instance), schema and schema.format(freedom.instance)
        if field == "limit:velocity" and needed and needed not in applied and not of_axis:
            name, needed = _OF_JOINT
        value = stages.number_attribute(prim, name, needed)
        if name == _RANGE and (bounds := force_range(prim)):
            value = bounds[1] if bounds[0] == -bounds[1] else math.nan
        if of_axis and "{" not in template:
            value = None
        # Infinity stands for no limit.
        if field.startswith("limit") and value is not None:
            value = None if value >= UNBOUNDED else 0.0 if 0.0 < value <= _SMALLEST else value
        if value is not None:
            value *= _unit(field, freedom, units)
            value *= math.radians(1.0) if name == _PER_RADIAN and freedom.angular else 1.0
        yield family, name, value


def joint_numbers(
    prim: Usd.Prim, freedom: Freedom | None, reading: Reading, remarks: list[str]
) -> dict[str, float | None]:
    """Read effort, velocity, damping and friction of a joint in SI units; None is absent.

    Joints without exactly one freedom have custom attributes alone, as units of schemas depend on
    it. A value is NaN if two simulators read different ones. ``remarks`` receives notes on missing
    and contradictory values.
    """
    found: dict[str, float | None] = {}
    for field in _NUMBERS:
        custom = value = stages.number_attribute(prim, f"urdf:{field}")
        sources = [*stated_numbers(field, prim, freedom, reading.units)] if freedom else []
        missing = [x for family, x, one in sources if one is None and family in reading.families]
        stated = [(name, one) for _, name, one in sources if one is not None]
        # Schemas state no negative numbers.
        if custom is not None and missing and freedom and custom >= 0.0:
            stored = custom / _unit(field, freedom, reading.units)
            if is_storable(custom, stored) and (custom or field != _WITHOUT_ZERO):
                remarks.append(f"urdf:{field} is {custom:g}, but {missing[0]} is absent")
                value, stated = None, []
        if stated:
            first, value = stated[0]
            others = stated[1:] + [(f"urdf:{field}", custom)] * (custom is not None)
            for name, other in others:
                if other is not None and not math.isclose(value, other, rel_tol=SAME):
                    remarks.append(f"{first} is {value:g}, {name} is {other:g}")
                    value = value if name.startswith("urdf:") else math.nan
                    break
        found[field.partition(":")[2]] = value
    return found


def is_storable(*values: float) -> bool:
    return all(not value or _SMALLEST <= abs(value) < UNBOUNDED for value in values)


# Schemas of couplings in the order of precedence; REP 158 (section 4.2.2) is of no simulator.
_EXTENDED = "ExtendedPhysicsMimicAPI"
_COUPLINGS = {
    "NewtonMimicAPI": SchemaFamily.NEWTON,
    "PhysxMimicJointAPI": SchemaFamily.PHYSX,
    MUJOCO: SchemaFamily.MUJOCO,
    _EXTENDED: None,
}


def _schema_couplings(prim: Usd.Prim, reading: Reading) -> dict[str, observed.MimicObservation]:
    """Return the couplings of a joint by schema, in the order of precedence."""
    applied, own = stages.applied_schemas(prim), _unit_of(prim, reading)
    found: dict[str, observed.MimicObservation] = {}
    is_enabled = prim.GetAttribute("newton:mimicEnabled").Get() is not False

    def first(fallback: float, *names: str) -> float:
        numbers = (stages.number_attribute(prim, name) for name in names)
        return next((number for number in numbers if number is not None), fallback)

    def target(name: str) -> Usd.Prim | None:
        targets = prim.GetRelationship(name).GetTargets()
        return reading.prim(targets[0]) if targets else None

    def add(schema: str, leader: Usd.Prim, multiplier: float, offset: float) -> None:
        name = stages.urdf_name(leader)
        found[schema] = observed.MimicObservation(name, multiplier, offset)

    newton = target("newton:mimicJoint") if is_enabled else None
    if "NewtonMimicAPI" in applied and newton:
        offset = first(0.0, "newton:mimicCoef0") * own
        add("NewtonMimicAPI", newton, first(1.0, "newton:mimicCoef1"), offset)
    # PhysX uses these for prismatic joints as well.
    axes = ("rotX", "rotY", "rotZ")
    instance = next((x for x in axes if f"PhysxMimicJointAPI:{x}" in applied), None)
    begin = f"physxMimicJoint:{instance}"
    leader = target(f"{begin}:referenceJoint") if instance else None
    # PhysX drops the coupling if an authored axis of the leader is unknown; it ignores which one it
    # is, as the leader has one degree of freedom.
    axis = prim.GetAttribute(f"{begin}:referenceJointAxis")
    is_known = not axis or not axis.IsAuthored() or axis.Get() in axes
    if leader and is_known and _can_couple("PhysxMimicJointAPI", prim, leader):
        # position + gearing * leader + offset = 0
        multiplier = -first(1.0, f"{begin}:gearing") * (own / _unit_of(leader, reading))
        offset = -first(0.0, f"{begin}:offset") * own
        add("PhysxMimicJointAPI", leader, multiplier, offset)
    # It includes the schema of Newton, whose attributes precede its own, in radians or distance.
    if MUJOCO in applied and is_enabled and (leader := newton or target("mjc:target")):
        length = reading.units.length
        unit, of_leader = (
            1.0 if joint.IsA(UsdPhysics.RevoluteJoint) else length for joint in (prim, leader)
        )
        has_newton = stages.number_attribute(prim, "newton:mimicCoef0") is not None
        offset = first(0.0, "newton:mimicCoef0", "mjc:coef0") * (own if has_newton else unit)
        multiplier = first(1.0, "newton:mimicCoef1", "mjc:coef1") * (unit / of_leader)
        add(MUJOCO, leader, multiplier, offset)
    if _EXTENDED in applied and (leader := target("ext_physics:mimic:joint")):
        offset = first(0.0, "ext_physics:mimic:offset") * own
        add(_EXTENDED, leader, first(1.0, "ext_physics:mimic:multiplier"), offset)
    return found


def _unit_of(prim: Usd.Prim, reading: Reading) -> float:
    return reading.units.position(angular=prim.IsA(UsdPhysics.RevoluteJoint))


def _can_couple(schema: str, *joints: Usd.Prim) -> bool:
    """Whether a schema could couple joints."""
    # Newton's coefficients have one unit, so both joints are of one type. PhysX couples prismatic
    # joints, and revolute joints with limits. MuJoCo couples all joints with one coordinate.
    if schema == "NewtonMimicAPI":
        return len({prim.GetTypeName() for prim in joints}) == 1
    for prim in joints:
        revolute = UsdPhysics.RevoluteJoint(prim)
        ends = (revolute.GetLowerLimitAttr(), revolute.GetUpperLimitAttr()) if revolute else ()
        is_unlimited = any(abs(end.Get()) >= _PHYSX_UNLIMITED for end in ends)
        is_outside = UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get()
        if not (revolute or prim.IsA(UsdPhysics.PrismaticJoint)):
            return False
        if schema != MUJOCO and (is_outside or is_unlimited):
            return False
    return True


def coupling(name: str, reading: Reading, remarks: list[str]) -> observed.MimicObservation | None:
    """Return the effective coupling of a joint, or the custom one if no schema can."""
    prims = reading.joint_prims

    def custom(name: str) -> observed.MimicObservation | None:
        prim = prims.get(name)
        leader = stages.text_attribute(prim, "urdf:mimic:joint") if prim else None
        if leader is None:
            return None
        multiplier = stages.number_attribute(prim, "urdf:mimic:multiplier")
        offset = stages.number_attribute(prim, "urdf:mimic:offset") or 0.0
        return observed.MimicObservation(leader, 1.0 if multiplier is None else multiplier, offset)

    def of_schema(schema: str, name: str) -> observed.MimicObservation | None:
        return _schema_couplings(prims[name], reading).get(schema) if name in prims else None

    def acting(schema: str, name: str) -> observed.MimicObservation | None:
        return of_schema(schema, name) or custom(name)

    own, own_head = custom(name), observed.head_coupling(name, custom)
    stated: list[tuple[str, observed.MimicObservation, observed.HeadCoupling | None]] = []
    for schema, family in _COUPLINGS.items():
        if (mimic := of_schema(schema, name)) is not None:
            head = observed.head_coupling(name, partial(acting, schema))
            stated.append((schema, mimic, head))
        elif own and own_head and family in reading.families and {name, own.leader} <= {*prims}:
            # The asset has schemas of the simulator, and lacks this one.
            numbers = own_head.multiplier, own_head.offset / _unit_of(prims[name], reading)
            if is_storable(*numbers) and _can_couple(schema, prims[name], prims[own.leader]):
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


def _alike(one: observed.HeadCoupling | None, other: observed.HeadCoupling | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.leader == other.leader
        and math.isclose(one.multiplier, other.multiplier, rel_tol=SAME)
        and abs(one.offset - other.offset) <= _SAME_OFFSET + SAME * one.terms
    )


# Settings of a simulation.


def observe_simulation(
    reading: Reading, joints: Sequence[Connection]
) -> observed.SimulationObservation:
    newton, units = SchemaFamily.NEWTON in reading.families, reading.units
    drives: list[observed.DriveObservation] = []
    numbers: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for joint in joints:
        prim, name = reading.prim(joint.path), joint.name
        freedom = freedom_of(prim, joint.mobility.type, joint.mobility.axis)
        if freedom is None:
            continue
        angular, instance = freedom
        position, effort = units.position(angular=angular), units.effort(angular=angular)
        if f"PhysicsDriveAPI:{instance}" in stages.applied_schemas(prim):
            stiffness, damping, is_acceleration = gains_of(prim, freedom, units)
            # Without a value, that of the schema.
            place, rate = (
                (stages.number_attribute(prim, f"drive:{instance}:physics:target{x}") or 0.0)
                * position
                for x in ("Position", "Velocity")
            )
            gains = stiffness, damping, place, rate, is_acceleration
            drives.append(observed.DriveObservation(name, *gains))
        armatures = (
            *(stages.number_attribute(prim, x) for x in ("newton:armature", "mjc:armature")),
            stages.number_attribute(prim, "physxJoint:armature", "PhysxJointAPI"),
            stages.number_attribute(
                prim, f"physxJointAxis:{instance}:armature", _AXIS.format(instance)
            ),
        )
        armature = _agreed(armatures, units.inertia if angular else units.mass)
        if armature is not None:
            numbers["armature"].append((name, armature))
        # Newton reads its own attribute, PhysX the state; NaN if they start elsewhere.
        schema = f"PhysicsJointStateAPI:{instance}"
        state = stages.number_attribute(prim, f"state:{instance}:physics:position", schema)
        own = stages.number_attribute(prim, f"newton:{instance}:position")
        if start := _agreed([state or 0.0, own or 0.0] if newton else [state, own], position):
            numbers["position"].append((name, start))
        for part in ("Stiffness", "Damping"):
            if (value := stages.number_attribute(prim, f"newton:limit{part}")) is not None:
                numbers[part].append((name, value * effort / position))
    by_path = reading.links_by_path
    named = (
        sorted(by_path[path].name for path in pair if path in by_path)
        for pair, _ in filtered_pairs(reading)
    )
    collides = {
        bool(value)
        for prim in map(reading.prim, reading.articulations)
        for schema, name in SELF_COLLISION
        if schema in stages.applied_schemas(prim)
        and (value := prim.GetAttribute(name).Get()) is not None
        and prim.GetAttribute(name).HasAuthoredValue()
    }
    if not collides and SchemaFamily.MUJOCO in reading.families:
        # MuJoCo has no such setting: all links collide but those of a joint.
        collides = {True}
    return observed.SimulationObservation(
        drives=tuple(drives),
        armatures=tuple(numbers["armature"]),
        positions=tuple(numbers["position"]),
        filtered_pairs=tuple(sorted({(x[0], x[1]) for x in named if len(x) > 1})),
        self_collision=collides.pop() if len(collides) == 1 else None,
        contact_materials=tuple(_contact_materials(reading)),
        # Without Newton's schemas, limits are hard.
        limit_stiffnesses=tuple(numbers["Stiffness"]) if newton else None,
        limit_dampings=tuple(numbers["Damping"]) if newton else None,
    )


def gains_of(prim: Usd.Prim, freedom: Freedom, units: stages.Units) -> tuple[float, float, bool]:
    """Return stiffness and damping of a drive [SI], and whether they are accelerations."""
    begin, angular = f"drive:{freedom.instance}:physics", freedom.angular
    effort, position = units.effort(angular=angular), units.position(angular=angular)
    stiffness, damping = (
        (stages.number_attribute(prim, f"{begin}:{name}") or 0.0)
        for name in ("stiffness", "damping")
    )
    is_acceleration = prim.GetAttribute(f"{begin}:type").Get() == UsdPhysics.Tokens.acceleration
    return stiffness * effort / position, damping * effort / position, is_acceleration


def _agreed(values: Sequence[float | None], unit: float) -> float | None:
    stated = [value for value in values if value is not None]
    if not stated:
        return None
    is_agreed = all(math.isclose(value, stated[0], rel_tol=SAME) for value in stated)
    return stated[0] * unit if is_agreed else math.nan


def _contact_materials(reading: Reading) -> Iterator[observed.ContactMaterialObservation]:
    """Yield the contact material of each collider, for every candidate above it."""
    for path in reading.shapes:
        prim = reading.prim(path)
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        values: tuple[float | None, float | None, float | None] = (None,) * 3
        if bound and bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
            material = UsdPhysics.MaterialAPI(bound)
            values = (
                material.GetStaticFrictionAttr().Get(),
                material.GetDynamicFrictionAttr().Get(),
                material.GetRestitutionAttr().Get(),
            )
        for link in reading.carriers(prim):
            yield observed.ContactMaterialObservation(link.name, *values, source=path)


def filtered_pairs(reading: Reading) -> Iterator[tuple[frozenset[str], str]]:
    """Yield pairs of bodies that a relationship filters out, and where."""

    def bodies(path: str) -> tuple[str, ...]:
        if path in reading.shapes:
            return (reading.body_of(path),)
        if path in reading.articulations:
            return tuple(reading.bodies)
        return (path,) if path in reading.bodies else ()

    for prim in reading.prims:
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            for target in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                for pair in product(bodies(str(prim.GetPath())), bodies(str(target))):
                    yield frozenset(pair), f"physics:filteredPairs of {prim.GetName()}"
