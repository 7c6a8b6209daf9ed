"""Contacts that a URDF does not imply: filters, materials and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.engines.openusd.settings import APPROXIMATIONS, COMPARED, Parts
from urdf_usd.conformance.engines.openusd.stage import collides, is_shown
from urdf_usd.conformance.observation.robot import JointType, SettingKind, UnexpectedSetting
from urdf_usd.conformance.observation.simulation import USUAL_FRICTIONS

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
