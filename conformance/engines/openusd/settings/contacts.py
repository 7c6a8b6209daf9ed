"""Contacts that a URDF does not imply: filters, materials and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.engines.openusd.settings.parts import (
    Parts,
    collides,
    is_shown,
)
from urdf_usd.conformance.engines.openusd.settings.schema_attributes import (
    APPROXIMATIONS,
    COMPARED,
)
from urdf_usd.conformance.observation.robot import (
    JointType,
    SettingKind,
    UnexpectedSetting,
)
from urdf_usd.conformance.observation.simulation import USUAL_FRICTIONS

# Purpose of the binding of a contact material.
_PHYSICS = "physics"
_FRICTION = ("physics:dynamicFriction", "physics:staticFriction")
_MATERIAL_ATTRIBUTES = (*_FRICTION, "physics:restitution")
# Shapes with it mark a place, and are neither drawn nor in contact.
_SITE = "NewtonSiteAPI"
# Subdivisions that keep all points of a surface.
_FLAT = frozenset({UsdGeom.Tokens.none, UsdGeom.Tokens.bilinear})


def contact_settings(
    every: Sequence[Usd.Prim], parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    """Yield contacts between links of a joint, and contacts that are filtered out."""
    kind = SettingKind.FILTER
    collide = {parts.body_of(path): path for path in parts.physics.shapes}
    collide.pop(WORLD, None)
    for joint in joints:
        descriptor = parts.physics.joints.get(joint.path)
        if descriptor and descriptor.collisionEnabled and collide.keys() >= set(joint.bodies):
            prim = parts.physics.stage.GetPrimAtPath(joint.path)
            yield UnexpectedSetting(
                kind,
                f"joint {joint.name}",
                "physics:collisionEnabled lets the links that it connects collide with "
                f"each other ({parts.subject(prim)})",
                "False",
                "True",
            )
    joined = {frozenset(joint.bodies) for joint in joints}
    rigid = _rigid_parts(joints)

    def matters(pair: frozenset[str]) -> bool:
        """Whether two bodies could collide, and a contact would move them."""
        parts_of_pair = {rigid.get(body, body) for body in pair}
        return len(parts_of_pair) > 1 and pair not in joined and pair <= collide.keys()

    for prim in every:
        yield from _of_triggers(prim, parts)
    for prim in map(parts.physics.stage.GetPrimAtPath, parts.physics.articulations):
        for schema, name in (
            ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
            ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
        ):
            if (
                prim.GetAttribute(name).Get() is False
                and schema in applied_schemas(prim)
                and any(map(matters, map(frozenset, combinations(collide, 2))))
            ):
                yield parts.setting(kind, prim, name, "True", value=False)
    named = dict(filtered_pairs(every, parts))
    for pair, source in {**named, **dict(_filtered_groups(every, parts))}.items():
        if matters(pair):
            here, there = map(parts.physics.stage.GetPrimAtPath, sorted(pair))
            yield UnexpectedSetting(
                kind,
                parts.subject(here),
                f"does not collide with {parts.subject(there)}: {source}",
                "contacts",
                "no contacts",
                attribute="physics:filteredPairs" if pair in named else "",
                partner=parts.subject(there),
            )


def _of_triggers(prim: Usd.Prim, parts: Parts) -> Iterator[UnexpectedSetting]:
    if collides(prim) and "PhysxTriggerAPI" in applied_schemas(prim):
        yield UnexpectedSetting(
            SettingKind.FILTER,
            parts.subject(prim),
            f"collider {prim.GetName()} is a trigger of PhysX, without contacts",
            "contacts",
            "no contacts",
        )


def _rigid_parts(joints: Sequence[Connection]) -> dict[str, str]:
    """Return a representative body for every body that fixed joints connect."""
    members: dict[str, list[str]] = {}
    part: dict[str, str] = {}
    for joint in joints:
        if joint.mobility.type is not JointType.FIXED or WORLD in joint.bodies:
            continue
        one, other = (part.setdefault(body, body) for body in joint.bodies)
        if one != other:
            moved = members.pop(other, [other])
            members.setdefault(one, [one]).extend(moved)
            part.update(dict.fromkeys(moved, one))
    return part


def filtered_pairs(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[tuple[frozenset[str], str]]:
    """Yield pairs of bodies that a relationship filters out, and where."""
    for prim in every:
        if not prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            continue
        pairs = UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()
        for target in pairs:
            for pair in product(
                _filtered_bodies(str(prim.GetPath()), parts),
                _filtered_bodies(str(target), parts),
            ):
                yield frozenset(pair), f"physics:filteredPairs of {prim.GetName()}"


def _filtered_bodies(path: str, parts: Parts) -> tuple[str, ...]:
    """Return the bodies that a filter of a body, collider or articulation concerns."""
    if path in parts.physics.shapes:
        return (parts.body_of(path),)
    if path in parts.physics.articulations:
        return tuple(parts.physics.bodies)
    return (path,) if path in parts.physics.bodies else ()


def _filtered_groups(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[tuple[frozenset[str], str]]:
    groups = [prim for prim in every if prim.IsA(UsdPhysics.CollisionGroup)]
    if not groups:
        return
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(parts.physics.stage)
    members: dict[str, list[str]] = {}
    for prim in groups:
        collection = UsdPhysics.CollisionGroup(prim).GetCollidersCollectionAPI()
        query = collection.ComputeMembershipQuery()
        members[str(prim.GetPath())] = [
            parts.body_of(path)
            for path in parts.physics.shapes
            if query.IsPathIncluded(Sdf.Path(path))
        ]
    for one, other in product(members, members):
        if table.IsCollisionEnabled(Sdf.Path(one), Sdf.Path(other)):
            continue
        for pair in product(members[one], members[other]):
            yield frozenset(pair), f"collision group {Sdf.Path(one).name}"


def material_settings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield properties of the contact materials that colliders have."""
    materials = {
        str(prim.GetPath()): settings
        for prim in every
        if prim.IsA(UsdShade.Material) and (settings := tuple(_of_material(prim)))
    }
    if not materials:
        return
    for prim in every:
        if not collides(prim):
            continue
        binding = UsdShade.MaterialBindingAPI(prim)
        bound, _ = binding.ComputeBoundMaterial(_PHYSICS)
        for name, value in materials.get(str(bound.GetPath()), ()) if bound else ():
            yield UnexpectedSetting(
                SettingKind.MATERIAL,
                parts.subject(prim),
                f"{name} of its collider is {value:.6g}; the URDF states none",
                "none",
                value,
                attribute=name,
            )


def _is_usual(prim: Usd.Prim) -> bool:
    """Whether a contact material is that of a simulator for shapes without one."""
    dynamic, static, restitution = (prim.GetAttribute(name).Get() for name in _MATERIAL_ATTRIBUTES)
    return restitution == 0 and any(static == dynamic == usual for usual in USUAL_FRICTIONS)


def _of_material(prim: Usd.Prim) -> Iterator[tuple[str, float]]:
    schemas = applied_schemas(prim)
    if prim.HasAPI(UsdPhysics.MaterialAPI) and not _is_usual(prim):
        for name in _MATERIAL_ATTRIBUTES:
            attribute = prim.GetAttribute(name)
            # A bound material without friction has that of its schema, zero; without a
            # material simulators take their own.
            if attribute.HasAuthoredValue() or name in _FRICTION:
                yield name, float(attribute.Get())
    if "NewtonMaterialAPI" in schemas:
        definition = prim.GetPrimDefinition()
        for name, check in COMPARED.items():
            attribute = prim.GetAttribute(name)
            if (
                check == "collision.materials"
                and name.startswith("newton:")
                and attribute.HasAuthoredValue()
                and attribute.Get() != definition.GetAttributeFallbackValue(name)
            ):
                yield name, float(attribute.Get())


def shape_settings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield shapes that consumers read as something else, or approximate."""
    for prim in every:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        if _SITE in applied_schemas(prim):
            yield UnexpectedSetting(
                SettingKind.APPROXIMATION,
                parts.subject(prim),
                f"{prim.GetName()} is a site of Newton, not a shape",
                "a shape",
                "a site",
            )
        # The parser takes a collider with a schema of materials for a material.
        if collides(prim) and prim.HasAPI(UsdPhysics.MaterialAPI):
            yield UnexpectedSetting(
                SettingKind.APPROXIMATION,
                parts.subject(prim),
                f"collider {prim.GetName()} has PhysicsMaterialAPI, and UsdPhysics "
                "parses it as a material",
                "a collider",
                "a material",
            )
        if not prim.IsA(UsdGeom.Mesh):
            continue
        if prim.HasAPI(UsdPhysics.MeshCollisionAPI) and collides(prim):
            token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
            if token not in APPROXIMATIONS:
                yield parts.setting(
                    SettingKind.APPROXIMATION,
                    prim,
                    "physics:approximation",
                    "an approximation of UsdPhysics",
                    token,
                )
        scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get()
        if scheme not in _FLAT and is_shown(prim):
            yield parts.setting(SettingKind.SUBDIVISION, prim, "subdivisionScheme", "none", scheme)
