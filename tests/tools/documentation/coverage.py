"""Prints ``docs/dev/coverage.md``, the table of all properties of all schemas."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pxr import Plug, Tf, Usd

from tests.tools.corpora import table
from urdf_usd.conformance.engines.openusd import settings as s
from urdf_usd.conformance.engines.openusd.appearances import NODES, node_inputs
from urdf_usd.conformance.observation.robot import SettingKind

NEWTON_SCHEMAS = tuple(
    f"Newton{name}API"
    for name in (
        *("ArticulationRoot", "Collision", "Joint", "Mass", "Material", "MeshCollision"),
        *("Mimic", "Scene"),
    )
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
# What a URDF implies for compared attributes without a rule.
_IMPLIED = {
    "collision.approximation": "the surface, or convex hulls of it",
    "collision.filters": "contacts of all links but those of one joint",
    "collision.materials": "none, or what a simulator uses without a material",
    "dynamics.drives": "no actuator",
    "structure.scene": "one scene, with the gravity of the Earth",
}
_PLUGINS = (
    ("UsdGeom", "usdGeom"),
    ("UsdShade", "usdShade"),
    ("UsdLux", "usdLux"),
    ("UsdSkel", "usdSkel"),
    ("UsdVol", "usdVol"),
    ("Other schemas of OpenUSD", "usd", "usdMedia", "usdProc", "usdRender", "usdUI"),
)
# What a URDF implies for inputs of shader nodes other than the fallback.
_COORDINATES = ("the texture coordinates of the mesh", "visual.mapping")
_REPEATED = ("repeat, outside of [0, 1]", "visual.material")
_NODE_INPUTS = {
    "diffuseColor": ("the colour or texture", "visual.colour"),
    "opacity": ("the alpha of the colour", "visual.opacity"),
    "file": ("the texture", "visual.texture"),
    "scale": ("the factor of the texture, or of coordinates", "visual.colour"),
    "varname": ("the primvar of texture coordinates", "visual.mapping"),
    **dict.fromkeys(("st", "in", "rotation", "translation"), _COORDINATES),
    "sourceColorSpace": ("sRGB for colours", "visual.material"),
    **dict.fromkeys(("wrapS", "wrapT"), _REPEATED),
}
_PAGE = Path(__file__).parents[3] / "docs/dev/coverage.md"
# The text before and after the generated tables is written by hand.
_BEGIN, _END = "documentation.coverage -->\n", "\n## Metadata and values"
_COLUMNS = ("property", "a URDF implies", "check")


def definition_of(schema: str) -> Usd.PrimDefinition:
    known = Usd.SchemaRegistry()
    return known.FindConcretePrimDefinition(schema) or known.FindAppliedAPIPrimDefinition(schema)


def _names(schema: str) -> list[str]:
    definition = definition_of(schema)
    return list(definition.GetPropertyNames()) if definition else []


def physics_attributes(schemas: Iterable[str]) -> tuple[str, ...]:
    """Return the physics properties of schemas, with ``*`` for instances, sorted."""
    every = (name for schema in schemas for name in _names(schema))
    names = {s.schema_attribute(name.replace("__INSTANCE_NAME__", "angular")) for name in every}
    return tuple(sorted(name for name in names if name.startswith(s.NAMESPACES)))


def plugin_schemas(plugin: str) -> Iterator[str]:
    """Yield the schemas of a plugin by name."""
    for name in Plug.Registry().GetPluginWithName(plugin).metadata["Types"]:
        if info := Usd.SchemaRegistry.FindSchemaInfo(Tf.Type.FindByName(name)):
            yield str(info.identifier)


def document() -> str:
    """Return the page."""
    physics = physics_attributes(plugin_schemas("usdPhysics"))
    newton = physics_attributes(NEWTON_SCHEMAS)
    known = sorted({*s.COMPARED, *s.HARMLESS, *s.FALLBACKS} - {*physics, *newton})
    names_of = {
        "UsdPhysics": physics,
        "Newton": [name for name in newton if name not in physics],
        "PhysX, MuJoCo, and joint states": [one for one in known if one.startswith(s.NAMESPACES)],
        "Isaac Sim's robot schema": [name for name in known if name.startswith("isaac:")],
    }
    tables = [_table(to, ((one, _physics(one)) for one in own)) for to, own in names_of.items()]
    listed: set[str] = set()
    for title, *plugins in _PLUGINS:
        rows = dict(row for plugin in plugins for row in _properties_of(plugin))
        tables.append(_table(title, ((name, rows[name]) for name in sorted(rows.keys() - listed))))
        listed |= rows.keys()
    for node in NODES:
        inputs = sorted(node_inputs(node).items())
        tables.append(_table(node, ((f"inputs:{name}", _input(name, to)) for name, to in inputs)))
    page = _PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(_BEGIN)
    return "".join((before, begin, *tables, *rest.rpartition(_END)[1:]))


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a section with a row for all properties of which the same is said."""
    names: dict[str, list[str]] = {}
    for name, said in rows:
        names.setdefault(said, []).append(f"`{name}`")
    lines = table(_COLUMNS, [(", ".join(same), said) for said, same in names.items()])
    return "\n".join((f"\n## {title}\n", *lines, ""))


def _properties_of(plugin: str) -> Iterator[tuple[str, str]]:
    """Yield names of the properties of a plugin's schemas, and what is said of them."""
    # Properties that several schemas have are those of a robot's prims.
    for schema in sorted(plugin_schemas(plugin), key=_is_alien, reverse=True):
        for name in _names(schema):
            text = f"no {schema} | `structure.scene`" if _is_alien(schema) else ""
            if schema in s.HARMLESS_TYPES:
                text = "ignored: settings of renderers and editors | "
            fallback = definition_of(schema).GetAttributeFallbackValue(name)
            yield name.replace("__INSTANCE_NAME__", "*"), text or _general(name, fallback)


def _is_alien(schema: str) -> bool:
    """Whether no robot has a prim of a type, or with an API."""
    info = Usd.SchemaRegistry.FindSchemaInfo(schema)
    is_typed = info and info.kind == Usd.SchemaKind.ConcreteTyped
    return schema == "LightAPI" or bool(
        is_typed
        and schema not in s.TYPES | s.HARMLESS_TYPES
        and not info.type.IsA(Tf.Type.FindByName("UsdGeomGprim"))
    )


# What a URDF implies for a property or an input, and the check.


def _general(name: str, fallback: object) -> str:
    if name in s.COMPARED:
        return f"the value of the URDF | `{s.COMPARED[name]}`"
    if reason := s.harmless_reason(name):
        return f"ignored: {reason} | "
    words = "nothing" if fallback is None else f"the fallback, {fallback}"
    is_empty = str(fallback) in {"", "[]", "@@"}
    return f"{'the fallback, which is empty' if is_empty else words} | `visual.geometry`"


def _input(name: str, fallback: object) -> str:
    if name == "fallback":
        return "ignored: the image or primvar is there | "
    implied, check = _NODE_INPUTS.get(name, (f"the fallback, {fallback}", "visual.material"))
    return f"{implied} | `{check}`"


def _physics(name: str) -> str:
    check = _CHECKS[s.KIND_OF[name]] if name in s.KIND_OF else s.COMPARED.get(name)
    implied = f"ignored: {s.harmless_reason(name)}"
    if name in s.COMPARED:
        implied = _IMPLIED.get(s.COMPARED[name], "the value of the URDF")
    elif name in s.FALLBACKS:
        implied = str(s.FALLBACKS[name])
    return f"{implied} | `{check}`" if check else f"{implied} | "


if __name__ == "__main__":
    sys.stdout.write(document())
