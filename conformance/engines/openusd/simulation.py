"""Drives, armature, initial state and contacts of a stage, as simulators read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pxr import Usd, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.contacts import SELF_COLLISION, filtered_pairs
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SAME,
    Freedom,
    SchemaFamily,
    applied_schemas,
    freedom_of,
    used_families,
)
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import LinkPrims
from urdf_usd.conformance.engines.openusd.settings import Parts
from urdf_usd.conformance.engines.openusd.shapes import carriers
from urdf_usd.conformance.engines.openusd.stage import Physics, number_attribute
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)


def observe_simulation(
    physics: Physics, links: LinkPrims, joints: Sequence[Connection]
) -> SimulationObservation:
    families = used_families(physics)
    newton = SchemaFamily.NEWTON in families
    drives, armatures, positions = [], [], []
    springs: dict[str, list[tuple[str, float]]] = {"Stiffness": [], "Damping": []}
    for joint in joints:
        prim = physics.stage.GetPrimAtPath(joint.path)
        kind, axis = joint.mobility.type, joint.mobility.axis
        freedom = freedom_of(prim, kind, axis) if kind else None
        if freedom is None:
            continue
        if drive := _drive(joint.name, prim, freedom, physics):
            drives.append(drive)
        if (armature := _armature(prim, freedom, physics)) is not None:
            armatures.append((joint.name, armature))
        if position := _position(prim, freedom, physics, newton=newton):
            positions.append((joint.name, position))
        for part, gains in springs.items():
            if (gain := number_attribute(prim, f"newton:limit{part}")) is not None:
                gains.append((joint.name, _gain(gain, freedom, physics)))
    parts = Parts(physics, links)
    pairs = set()
    for pair, _ in filtered_pairs(parts):
        names = sorted(links.by_path[path].name for path in pair if path in links.by_path)
        if len(names) > 1:
            pairs.add((names[0], names[1]))
    return SimulationObservation(
        drives=tuple(drives),
        armatures=tuple(armatures),
        positions=tuple(positions),
        filtered_pairs=tuple(sorted(pairs)),
        self_collision=_self_collision(physics, families),
        contact_materials=tuple(_contact_materials(parts)),
        # Without Newton's schemas, limits are hard.
        limit_stiffnesses=tuple(springs["Stiffness"]) if newton else None,
        limit_dampings=tuple(springs["Damping"]) if newton else None,
    )


def _gain(value: float, freedom: Freedom, physics: Physics) -> float:
    """Return force over position in SI units."""
    units, angular = physics.units, freedom.angular
    return value * units.effort(angular=angular) / units.position(angular=angular)


def _drive(
    name: str, prim: Usd.Prim, freedom: Freedom, physics: Physics
) -> DriveObservation | None:
    if f"PhysicsDriveAPI:{freedom.instance}" not in applied_schemas(prim):
        return None
    begin = f"drive:{freedom.instance}:physics"
    place = physics.units.position(angular=freedom.angular)

    def stated(attribute: str) -> float:
        # Without a value, that of the schema.
        return number_attribute(prim, f"{begin}:{attribute}") or 0.0

    return DriveObservation(
        joint=name,
        stiffness=_gain(stated("stiffness"), freedom, physics),
        damping=_gain(stated("damping"), freedom, physics),
        target_position=stated("targetPosition") * place,
        target_velocity=stated("targetVelocity") * place,
        acceleration=prim.GetAttribute(f"{begin}:type").Get() == UsdPhysics.Tokens.acceleration,
    )


def _armature(prim: Usd.Prim, freedom: Freedom, physics: Physics) -> float | None:
    """Return the armature, NaN if attributes contradict each other."""
    applied = applied_schemas(prim)
    instance = freedom.instance
    names = ["newton:armature", "mjc:armature"]
    if "PhysxJointAPI" in applied:
        names.append("physxJoint:armature")
    if f"PhysxJointAxisAPI:{instance}" in applied:
        names.append(f"physxJointAxis:{instance}:armature")
    unit = physics.units.inertia if freedom.angular else physics.units.mass
    return _agreed([number_attribute(prim, name) for name in names], unit)


def _position(prim: Usd.Prim, freedom: Freedom, physics: Physics, *, newton: bool) -> float | None:
    """Return the initial position, NaN if PhysX and Newton start elsewhere."""
    instance = freedom.instance
    unit = physics.units.position(angular=freedom.angular)
    state = None
    if f"PhysicsJointStateAPI:{instance}" in applied_schemas(prim):
        state = number_attribute(prim, f"state:{instance}:physics:position")
    own = number_attribute(prim, f"newton:{instance}:position")
    if newton:
        # Newton reads its own attribute, PhysX the state.
        return _agreed([state or 0.0, own or 0.0], unit)
    return _agreed([state, own], unit)


def _agreed(values: Sequence[float | None], unit: float) -> float | None:
    stated = [value for value in values if value is not None]
    if not stated:
        return None
    if not all(math.isclose(value, stated[0], rel_tol=SAME) for value in stated):
        return math.nan
    return stated[0] * unit


def _contact_materials(parts: Parts) -> Iterator[ContactMaterialObservation]:
    """Yield the contact material of each collider, for every candidate above it."""
    for path in parts.physics.shapes:
        prim = parts.physics.stage.GetPrimAtPath(path)
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        values: tuple[float | None, float | None, float | None] = (None,) * 3
        if bound and bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
            material = UsdPhysics.MaterialAPI(bound)
            values = (
                material.GetStaticFrictionAttr().Get(),
                material.GetDynamicFrictionAttr().Get(),
                material.GetRestitutionAttr().Get(),
            )
        for link in carriers(prim, parts.links):
            name = parts.links.by_path[link].name
            yield ContactMaterialObservation(name, *values, source=path)


def _self_collision(physics: Physics, families: frozenset[SchemaFamily]) -> bool | None:
    stated = {
        bool(value)
        for path in physics.articulations
        for schema, name in SELF_COLLISION
        if schema in applied_schemas(prim := physics.stage.GetPrimAtPath(path))
        and (value := prim.GetAttribute(name).Get()) is not None
        and prim.GetAttribute(name).HasAuthoredValue()
    }
    if not stated and SchemaFamily.MUJOCO in families:
        # MuJoCo has no such setting: all links collide but those of a joint.
        return True
    return stated.pop() if len(stated) == 1 else None
