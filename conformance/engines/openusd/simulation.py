"""Drives, armature, initial state and contacts of a stage, and contacts that no URDF implies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SAME,
    Freedom,
    SchemaFamily,
    applied_schemas,
    freedom_of,
    used_families,
)
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import WORLD, LinkPrims
from urdf_usd.conformance.engines.openusd.settings import APPROXIMATIONS, COMPARED, Parts
from urdf_usd.conformance.engines.openusd.shapes import carriers
from urdf_usd.conformance.engines.openusd.stage import Physics, collides, is_shown, number_attribute
from urdf_usd.conformance.observation.robot import JointType, SettingKind, UnexpectedSetting
from urdf_usd.conformance.observation.simulation import (
    USUAL_FRICTIONS,
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)

SELF_COLLISION = (
    ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
    ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
)
"""Whether the links of an articulation collide: schemas and their attributes."""
_FRICTION = ("physics:dynamicFriction", "physics:staticFriction")
_MATERIAL_ATTRIBUTES = (*_FRICTION, "physics:restitution")
_NEWTON_MATERIAL = tuple(
    name
    for name, check in COMPARED.items()
    if check == "collision.materials" and name.startswith("newton:")
)
# Subdivisions that keep all points of a surface.
_FLAT = frozenset({UsdGeom.Tokens.none, UsdGeom.Tokens.bilinear})


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


def contact_settings(parts: Parts, joints: Sequence[Connection]) -> Iterator[UnexpectedSetting]:
    """Yield contacts between links of a joint, and contacts that are filtered out."""
    kind, physics = SettingKind.FILTER, parts.physics
    prim_at = physics.stage.GetPrimAtPath
    collide = {parts.body_of(path) for path in physics.shapes} - {WORLD}
    for joint in joints:
        descriptor = physics.joints.get(joint.path)
        if descriptor and descriptor.collisionEnabled and collide >= set(joint.bodies):
            message = "physics:collisionEnabled lets the links that it connects collide with each "
            message += f"other ({parts.subject(prim_at(joint.path))})"
            yield UnexpectedSetting(kind, f"joint {joint.name}", message, "False", "True")
    joined = {frozenset(joint.bodies) for joint in joints}
    rigid = _rigid_parts(joints)

    def matters(pair: frozenset[str]) -> bool:
        """Whether two bodies could collide, and a contact would move them."""
        parts_of_pair = {rigid.get(body, body) for body in pair}
        return len(parts_of_pair) > 1 and pair not in joined and pair <= collide

    for prim in parts.prims:
        if collides(prim) and "PhysxTriggerAPI" in applied_schemas(prim):
            message = f"collider {prim.GetName()} is a trigger of PhysX, without contacts"
            yield parts.setting(kind, prim, message, "contacts", "no contacts")
    for prim in map(prim_at, physics.articulations):
        for schema, name in SELF_COLLISION:
            if (
                prim.GetAttribute(name).Get() is False
                and schema in applied_schemas(prim)
                and any(map(matters, map(frozenset, combinations(collide, 2))))
            ):
                yield parts.value_setting(kind, prim, name, "True", value=False)
    named = dict(filtered_pairs(parts))
    for pair, source in {**named, **dict(_filtered_groups(parts))}.items():
        if matters(pair):
            subject, other = (parts.subject(prim_at(path)) for path in sorted(pair))
            message = f"does not collide with {other}: {source}"
            attribute = "physics:filteredPairs" if pair in named else ""
            sides = "contacts", "no contacts"
            yield UnexpectedSetting(kind, subject, message, *sides, attribute, other)


def _rigid_parts(joints: Sequence[Connection]) -> dict[str, str]:
    """Return a representative body for every body that fixed joints connect."""
    members: dict[str, list[str]] = {}
    part: dict[str, str] = {}
    for joint in joints:
        if joint.mobility.type is JointType.FIXED and WORLD not in joint.bodies:
            one, other = (part.setdefault(body, body) for body in joint.bodies)
            if one != other:
                moved = members.pop(other, [other])
                members.setdefault(one, [one]).extend(moved)
                part.update(dict.fromkeys(moved, one))
    return part


def filtered_pairs(parts: Parts) -> Iterator[tuple[frozenset[str], str]]:
    """Yield pairs of bodies that a relationship filters out, and where."""

    def bodies(path: str) -> tuple[str, ...]:
        """Return the bodies that a filter of a body, collider or articulation concerns."""
        if path in parts.physics.shapes:
            return (parts.body_of(path),)
        if path in parts.physics.articulations:
            return tuple(parts.physics.bodies)
        return (path,) if path in parts.physics.bodies else ()

    for prim in parts.prims:
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            for target in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                for pair in product(bodies(str(prim.GetPath())), bodies(str(target))):
                    yield frozenset(pair), f"physics:filteredPairs of {prim.GetName()}"


def _filtered_groups(parts: Parts) -> Iterator[tuple[frozenset[str], str]]:
    groups = [prim for prim in parts.prims if prim.IsA(UsdPhysics.CollisionGroup)]
    if not groups:
        return
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(parts.physics.stage)
    members: dict[Sdf.Path, list[str]] = {}
    for prim in groups:
        collection = UsdPhysics.CollisionGroup(prim).GetCollidersCollectionAPI()
        query, shapes = collection.ComputeMembershipQuery(), parts.physics.shapes
        inside = [path for path in shapes if query.IsPathIncluded(Sdf.Path(path))]
        members[prim.GetPath()] = [parts.body_of(path) for path in inside]
    for one, other in product(members, members):
        if not table.IsCollisionEnabled(one, other):
            for pair in product(members[one], members[other]):
                yield frozenset(pair), f"collision group {one.name}"


def material_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield properties of the contact materials that colliders have."""
    materials = {
        str(prim.GetPath()): settings
        for prim in parts.prims
        if prim.IsA(UsdShade.Material) and (settings := tuple(_of_material(prim)))
    }
    for prim in parts.prims if materials else ():
        if not collides(prim):
            continue
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        for name, value in materials.get(str(bound.GetPath()), ()) if bound else ():
            message = f"{name} of its collider is {value:.6g}; the URDF states none"
            kind, subject = SettingKind.MATERIAL, parts.subject(prim)
            yield UnexpectedSetting(kind, subject, message, "none", value, attribute=name)


def _of_material(prim: Usd.Prim) -> Iterator[tuple[str, float]]:
    schemas = applied_schemas(prim)
    if prim.HasAPI(UsdPhysics.MaterialAPI):
        values = {name: prim.GetAttribute(name).Get() for name in _MATERIAL_ATTRIBUTES}
        dynamic, static, restitution = values.values()
        # That of a simulator for shapes without a material.
        is_usual = any(static == dynamic == usual for usual in USUAL_FRICTIONS)
        for name, value in values.items() if restitution != 0 or not is_usual else ():
            # A bound material without friction has that of its schema, zero; without a material
            # simulators take their own.
            if prim.GetAttribute(name).HasAuthoredValue() or name in _FRICTION:
                yield name, float(value)
    definition = prim.GetPrimDefinition()
    for name in _NEWTON_MATERIAL if "NewtonMaterialAPI" in schemas else ():
        attribute, fallback = prim.GetAttribute(name), definition.GetAttributeFallbackValue(name)
        if attribute.HasAuthoredValue() and attribute.Get() != fallback:
            yield name, float(attribute.Get())


def shape_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield shapes that consumers read as something else, or approximate."""
    kind = SettingKind.APPROXIMATION
    for prim in parts.prims:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        # It marks a place, and is neither drawn nor in contact.
        if "NewtonSiteAPI" in applied_schemas(prim):
            message = f"{prim.GetName()} is a site of Newton, not a shape"
            yield parts.setting(kind, prim, message, "a shape", "a site")
        if collides(prim) and prim.HasAPI(UsdPhysics.MaterialAPI):
            message = f"collider {prim.GetName()} has PhysicsMaterialAPI, and UsdPhysics parses it "
            yield parts.setting(kind, prim, f"{message}as a material", "a collider", "a material")
        if not prim.IsA(UsdGeom.Mesh):
            continue
        if prim.HasAPI(UsdPhysics.MeshCollisionAPI) and collides(prim):
            token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
            if token not in APPROXIMATIONS:
                name, implied = "physics:approximation", "an approximation of UsdPhysics"
                yield parts.value_setting(kind, prim, name, implied, token)
        scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get()
        if scheme not in _FLAT and is_shown(prim):
            name = "subdivisionScheme"
            yield parts.value_setting(SettingKind.SUBDIVISION, prim, name, "none", scheme)
