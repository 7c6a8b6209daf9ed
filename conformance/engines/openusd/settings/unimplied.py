"""Settings of a stage that change a simulation, and that no URDF implies.

The attributes of physics schemas are those of the tables of :mod:`.physics_attributes`.
An authored value of a registered physics schema that is in no table, and differs from
its fallback, is a setting as well. Schemas of PhysX and MuJoCo are read by name, as
their plugins need not be installed: an attribute that is in no table is a setting, and
so is an applied schema that is neither registered nor known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import LinkPrims
from urdf_usd.conformance.engines.openusd.settings.actuators import actuators
from urdf_usd.conformance.engines.openusd.settings.contacts import (
    contact_settings,
    material_settings,
    shape_settings,
)
from urdf_usd.conformance.engines.openusd.settings.mechanism import (
    free_joints,
    masses_without_body,
    untypical_couplings,
)
from urdf_usd.conformance.engines.openusd.settings.parts import Parts, short
from urdf_usd.conformance.engines.openusd.settings.physics_attributes import (
    LABELS,
    NAMESPACES,
    RULES_OF,
    UNREGISTERED_SCHEMAS,
    Rule,
    is_accounted,
    schema_attribute,
)
from urdf_usd.conformance.engines.openusd.settings.robot_schema import (
    robot_schema_settings,
)
from urdf_usd.conformance.engines.openusd.settings.scenes import (
    outside_robot,
    scene_settings,
)
from urdf_usd.conformance.engines.openusd.stage import Authored, Physics
from urdf_usd.conformance.observation.robot import (
    SettingKind,
    UnimpliedSetting,
)

_REGISTERED = ("physics:", "newton:", "drive:", "limit:")
# Beginnings of names of attributes, and of schemas and types, without a plugin.
_UNREGISTERED = (("physx", "Physx"), ("mjc:", "Mjc"))


def unimplied_settings(
    physics: Physics, links: LinkPrims, joints: Sequence[Connection]
) -> tuple[UnimpliedSetting, ...]:
    """Return the settings of a stage that no URDF implies.

    Args:
        physics: The open stage and its descriptors.
        links: The candidates for links.
        joints: The joints that connect something.
    """
    parts = Parts(physics, links)
    found: list[UnimpliedSetting] = []
    every = [prim for prim, _ in physics.authored]
    for prim, properties in physics.authored:
        found += _of_attributes(prim, properties, parts)
        found += _of_schemas(prim, parts)
    found += scene_settings(every, parts)
    found += outside_robot(every, parts)
    found += contact_settings(every, parts, joints)
    found += material_settings(every, parts)
    found += masses_without_body(every, parts)
    found += untypical_couplings(every, parts)
    found += free_joints(parts)
    found += (
        UnimpliedSetting(
            SettingKind.JOINT,
            f"joint {joint.name}",
            f"no joint of a URDF moves like it: {joint.mobility.note}",
            "a joint of a URDF",
            "another joint",
        )
        for joint in joints
        if joint.mobility.type is None
    )
    found += shape_settings(every, parts)
    found += actuators(every, parts)
    found += robot_schema_settings(every, parts, joints)
    return tuple(dict.fromkeys(found))


def articulation_starts(physics: Physics, links: LinkPrims) -> tuple[str, ...]:
    """Name the links whose body has an articulation root of its own."""
    return tuple(
        links.by_path[path].name
        for path in physics.bodies
        if path in links.by_path
        and physics.stage.GetPrimAtPath(path).HasAPI(UsdPhysics.ArticulationRootAPI)
    )


def _of_attributes(
    prim: Usd.Prim, properties: Iterable[Authored], parts: Parts
) -> Iterator[UnimpliedSetting]:
    values = [
        (name, value)
        for name, _, value in properties
        if value is not None and name.startswith(NAMESPACES)
    ]
    if not values:
        return
    schemas = (*applied_schemas(prim), str(prim.GetTypeName()))
    for name, value in values:
        general = schema_attribute(name)
        for rule in RULES_OF.get(general, ()):
            if not rule.is_implied(value) and _has_effect(rule, name, prim):
                yield parts.setting(rule.kind, prim, name, rule.implied, value)
        if general in RULES_OF:
            continue
        if name.startswith(_REGISTERED) and not is_accounted(general):
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            if fallback is not None and value != fallback:
                yield parts.setting(_kind_of(prim), prim, name, str(fallback), value)
        elif not is_accounted(general) and any(
            name.startswith(beginning) and any(known.startswith(kind) for known in schemas)
            for beginning, kind in _UNREGISTERED
        ):
            yield parts.setting(_kind_of(prim), prim, name, "nothing", short(value))


def _of_schemas(prim: Usd.Prim, parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield applied schemas of which nothing is known."""
    registered = prim.GetAppliedSchemas()
    for schema in applied_schemas(prim):
        name = schema.partition(":")[0]
        if (
            schema not in registered
            and name not in UNREGISTERED_SCHEMAS
            and not name.startswith(LABELS)
            and not Usd.SchemaRegistry.FindSchemaInfo(name)
        ):
            yield UnimpliedSetting(
                _kind_of(prim),
                parts.subject(prim),
                f"{prim.GetName()} has the schema {schema}, of which no URDF has a counterpart",
                "no such schema",
                schema,
            )


def _has_effect(rule: Rule, name: str, prim: Usd.Prim) -> bool:
    if rule.kind is SettingKind.DRIVE and not _drives(name.split(":")[1], prim):
        return False
    if rule.schema is None:
        return rule.kind is not SettingKind.JOINT or bool(prim.IsA(UsdPhysics.Joint))
    instance = name.split(":")[1] if "*" in rule.schema else ""
    # Applied by name, or included in another schema.
    schemas = {*applied_schemas(prim), *prim.GetAppliedSchemas()}
    return rule.schema.replace("*", instance) in schemas


def _drives(instance: str, prim: Usd.Prim) -> bool:
    """Whether a drive of an instance acts on a joint of its type."""
    if prim.IsA(UsdPhysics.RevoluteJoint):
        return bool(instance == UsdPhysics.Tokens.angular)
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return bool(instance == UsdPhysics.Tokens.linear)
    return bool(prim.GetTypeName() == "PhysicsJoint")


def _kind_of(prim: Usd.Prim) -> SettingKind:
    if prim.IsA(UsdPhysics.Joint):
        return SettingKind.JOINT
    if prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return SettingKind.BODY
    if prim.HasAPI(UsdPhysics.CollisionAPI):
        return SettingKind.APPROXIMATION
    return SettingKind.SCENE
