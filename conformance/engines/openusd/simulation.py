"""Drives, armature, initial state and contacts of a stage."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

from pxr import Usd, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import SAME, Freedom, freedom_of
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.reading import (
    Reading,
    SchemaFamily,
    Units,
    applied_schemas,
    number_attribute,
)
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)

SELF_COLLISION = (
    ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
    ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
)
"""Whether the links of an articulation collide: schemas and their attributes."""


def observe_simulation(reading: Reading, joints: Sequence[Connection]) -> SimulationObservation:
    newton, units = SchemaFamily.NEWTON in reading.families, reading.units
    drives: list[DriveObservation] = []
    numbers: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for joint in joints:
        prim, name = reading.prim(joint.path), joint.name
        freedom = freedom_of(prim, joint.mobility.type, joint.mobility.axis)
        if freedom is None:
            continue
        (angular, instance), applied = freedom, applied_schemas(prim)
        position, effort = units.position(angular=angular), units.effort(angular=angular)
        if f"PhysicsDriveAPI:{instance}" in applied:
            stiffness, damping, is_acceleration = gains_of(prim, freedom, units)
            # Without a value, that of the schema.
            place, rate = (
                (number_attribute(prim, f"drive:{instance}:physics:target{x}") or 0.0) * position
                for x in ("Position", "Velocity")
            )
            drives.append(DriveObservation(name, stiffness, damping, place, rate, is_acceleration))
        sources = ["newton:armature", "mjc:armature"]
        sources += ["physxJoint:armature"] * ("PhysxJointAPI" in applied)
        axis = f"physxJointAxis:{instance}:armature"
        sources += [axis] * (f"PhysxJointAxisAPI:{instance}" in applied)
        unit = units.inertia if angular else units.mass
        armature = _agreed([number_attribute(prim, source) for source in sources], unit)
        if armature is not None:
            numbers["armature"].append((name, armature))
        # Newton reads its own attribute, PhysX the state; NaN if they start elsewhere.
        state = number_attribute(prim, f"state:{instance}:physics:position")
        state = state if f"PhysicsJointStateAPI:{instance}" in applied else None
        own = number_attribute(prim, f"newton:{instance}:position")
        starts = [state or 0.0, own or 0.0] if newton else [state, own]
        if start := _agreed(starts, position):
            numbers["position"].append((name, start))
        for part in ("Stiffness", "Damping"):
            if (value := number_attribute(prim, f"newton:limit{part}")) is not None:
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
        if schema in applied_schemas(prim)
        and (value := prim.GetAttribute(name).Get()) is not None
        and prim.GetAttribute(name).HasAuthoredValue()
    }
    if not collides and SchemaFamily.MUJOCO in reading.families:
        # MuJoCo has no such setting: all links collide but those of a joint.
        collides = {True}
    return SimulationObservation(
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


def gains_of(prim: Usd.Prim, freedom: Freedom, units: Units) -> tuple[float, float, bool]:
    """Return stiffness and damping of a drive [SI], and whether they are accelerations."""
    begin, angular = f"drive:{freedom.instance}:physics", freedom.angular
    effort, position = units.effort(angular=angular), units.position(angular=angular)
    stiffness, damping = (
        (number_attribute(prim, f"{begin}:{name}") or 0.0) for name in ("stiffness", "damping")
    )
    is_acceleration = prim.GetAttribute(f"{begin}:type").Get() == UsdPhysics.Tokens.acceleration
    return stiffness * effort / position, damping * effort / position, is_acceleration


def _agreed(values: Sequence[float | None], unit: float) -> float | None:
    """Return the value in SI units, NaN if attributes contradict each other."""
    stated = [value for value in values if value is not None]
    if not stated:
        return None
    is_agreed = all(math.isclose(value, stated[0], rel_tol=SAME) for value in stated)
    return stated[0] * unit if is_agreed else math.nan


def _contact_materials(reading: Reading) -> Iterator[ContactMaterialObservation]:
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
            yield ContactMaterialObservation(link.name, *values, source=path)


def filtered_pairs(reading: Reading) -> Iterator[tuple[frozenset[str], str]]:
    """Yield pairs of bodies that a relationship filters out, and where."""

    def bodies(path: str) -> tuple[str, ...]:
        """Return the bodies that a filter of a body, collider or articulation concerns."""
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
