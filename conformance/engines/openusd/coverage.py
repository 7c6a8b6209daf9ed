"""Table of all attributes of physics schemas: ``python -m`` this module prints it.

``docs/coverage.md`` is its output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from pxr import Plug, Tf, Usd

from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    HARMLESS,
    RULES,
    Rule,
    schema_attribute,
)
from urdf_usd.conformance.observation.robot import SettingKind

NEWTON_SCHEMAS = (
    "NewtonArticulationRootAPI",
    "NewtonCollisionAPI",
    "NewtonJointAPI",
    "NewtonMassAPI",
    "NewtonMaterialAPI",
    "NewtonMeshCollisionAPI",
    "NewtonMimicAPI",
    "NewtonSceneAPI",
)
"""Schemas of Newton that concern rigid robots; others are solvers and deformables."""

_CHECKS = {
    SettingKind.ARTICULATION: "structure.articulation",
    SettingKind.SCENE: "structure.scene",
    SettingKind.INITIAL_STATE: "structure.initial",
    SettingKind.DRIVE: "dynamics.drives",
    SettingKind.JOINT: "dynamics.joints",
    SettingKind.BODY: "dynamics.bodies",
    SettingKind.FILTER: "collision.filters",
    SettingKind.APPROXIMATION: "collision.approximation",
    SettingKind.MATERIAL: "collision.materials",
    SettingKind.SUBDIVISION: "visual.subdivision",
}
_PREFIXES = ("physics:", "newton:", "drive:", "limit:")
# What a URDF implies for attributes that settings.py reads by itself.
_IMPLIED = {
    "collision.approximation": "the surface, or convex hulls of it",
    "collision.filters": "contacts of all links but those of one joint",
    "collision.materials": "none",
    "dynamics.drives": "no actuator",
    "structure.scene": "one scene, with the gravity of the Earth",
}
_HEADING = """\
# Attributes of physics schemas

What the harness makes of every attribute and relationship of UsdPhysics, of Newton's
schemas for rigid robots, and of the attributes of PhysX that it reads. It compares an
attribute with the URDF, or requires the value that a URDF implies because it has no
element for it, or ignores the attribute for the reason given. An authored value of a
registered physics schema that is in no table, and differs from its fallback, fails a
check too. `*` stands for the instance of a schema.

<!-- Generated: python -m urdf_usd.conformance.engines.openusd.coverage -->
"""


def physics_attributes(schemas: Iterable[str]) -> tuple[str, ...]:
    """Return the physics properties of schemas, with ``*`` for instances, sorted."""
    registry = Usd.SchemaRegistry()
    names = set()
    for schema in schemas:
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        names |= {
            schema_attribute(name.replace("__INSTANCE_NAME__", "angular"))
            for name in (definition.GetPropertyNames() if definition else ())
        }
    return tuple(sorted(name for name in names if name.startswith(_PREFIXES)))


def plugin_schemas(plugin: str) -> Iterator[str]:
    """Yield the schemas of a plugin by name."""
    for name in Plug.Registry().GetPluginWithName(plugin).metadata["Types"]:
        if info := Usd.SchemaRegistry.FindSchemaInfo(Tf.Type.FindByName(name)):
            yield str(info.identifier)


def document() -> str:
    """Return the page."""
    physics = physics_attributes(plugin_schemas("usdPhysics"))
    newton = physics_attributes(NEWTON_SCHEMAS)
    known = {*COMPARED, *(rule.attribute for rule in RULES)}
    further = sorted(known - {*physics, *newton})
    sections = (
        ("UsdPhysics", physics),
        ("Newton", tuple(name for name in newton if name not in physics)),
        ("PhysX, and joint states", tuple(further)),
    )
    return _HEADING + "".join(
        f"\n## {title}\n\n| attribute | a URDF implies | check |\n|---|---|---|\n"
        + "".join(
            f"| `{name}` | {_implied(name)} | {_check(name)} |\n" for name in names
        )
        for title, names in sections
    )


def _rule(name: str) -> Rule | None:
    return next((rule for rule in RULES if rule.attribute == name), None)


def _implied(name: str) -> str:
    if rule := _rule(name):
        return rule.implied
    if name in COMPARED:
        return _IMPLIED.get(COMPARED[name], "the value of the URDF")
    return f"ignored: {HARMLESS.get(name, 'settings of one solver')}"


def _check(name: str) -> str:
    rule = _rule(name)
    check = _CHECKS[rule.kind] if rule else COMPARED.get(name)
    return f"`{check}`" if check else ""


if __name__ == "__main__":
    sys.stdout.write(document())
