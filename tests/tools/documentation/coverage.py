"""Table of all properties of all schemas: ``python -m`` this module prints it.

``docs/dev/coverage.md`` is its output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from pxr import Plug, Tf, Usd

from urdf_usd.conformance.engines.openusd.appearances import NODES, node_inputs
from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    FALLBACKS,
    HARMLESS,
    HARMLESS_TYPES,
    KIND_OF,
    NAMESPACES,
    TYPES,
    harmless_reason,
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
# What a URDF implies for compared attributes without a rule.
_IMPLIED = {
    "collision.approximation": "the surface, or convex hulls of it",
    "collision.filters": "contacts of all links but those of one joint",
    "collision.materials": "none, or what a simulator uses without a material",
    "dynamics.drives": "no actuator",
    "structure.scene": "one scene, with the gravity of the Earth",
}
_METADATA = (
    ("stage", "`defaultPrim`", "a prim", "the file is refused without one"),
    ("stage", "`kilogramsPerUnit`", "the unit of masses", "`mass.total`"),
    ("stage", "`metersPerUnit`", "the unit of lengths", "`kinematics.position`"),
    ("stage", "`upAxis`", "Z of the root link", "`kinematics.up`"),
    (
        "stage",
        "`startTimeCode`, `endTimeCode`, `timeCodesPerSecond`, `framesPerSecond`",
        "ignored: no value changes over time",
        "`structure.animation`",
    ),
    ("prim", "`active`, specifier, variants, references", "a prim", "what it composes"),
    ("prim", "`apiSchemas`", "see the schemas", "theirs"),
    ("prim", "`instanceable`", "no bodies or joints in it", "`structure.scene`"),
    ("prim", "`kind`, `hidden`, `documentation`, `customData`", "ignored: texts", ""),
    (
        "visual",
        "`material:binding` for every purpose, and its strength",
        "one appearance",
        "`visual.colour`, `visual.material`",
    ),
    (
        "visual",
        "`subsetFamily:materialBind:familyType`",
        "ignored: faces in two subsets are found",
        "`visual.geometry`",
    ),
    (
        "attribute",
        "its type",
        "that of the registry of schemas, or of shaders; roles are ignored",
        "the file is refused",
    ),
    (
        "joint",
        "`physics:body0` and `physics:body1` exchanged, with their frames",
        (
            "the parent in `physics:body0`: Newton refuses others, or computes other "
            "forces. Ignored in an asset for PhysX alone, which computes the same, and "
            "of a joint to the world"
        ),
        "`dynamics.joints`",
    ),
    (
        "joint",
        "drives of another axis, such as `linear` of a revolute joint",
        (
            "ignored: UsdPhysics, PhysX and Newton do not read them. An effort that is "
            "there alone is missing"
        ),
        "`limits.effort`",
    ),
    (
        "collider",
        ("`physics:approximation` removed, `none`, `convexDecomposition`, `meshSimplification`"),
        (
            "ignored: each is between the surface, which a URDF names, and its convex "
            "hull. Newton uses the triangles for `none` and `meshSimplification`; "
            "PhysX has contacts with all of them"
        ),
        "",
    ),
    (
        "link",
        "`visibility`, which its shapes inherit",
        "ignored without visuals: hidden colliders collide",
        "`visual.shapes`",
    ),
    (
        "material",
        "`inputs:opacityThreshold`",
        "ignored on an opaque surface: no point is below it",
        "`visual.material`",
    ),
    (
        "material",
        "`inputs:useSpecularWorkflow`, `inputs:specularColor`",
        (
            "ignored where a mesh file may define specular colours (COLLADA, glTF, "
            "`Ks` of MTL), as there is no one conversion of them"
        ),
        "`visual.material`",
    ),
    (
        "texture",
        "`inputs:wrapS`, `inputs:wrapT`",
        "ignored if coordinates are in [0, 1], or the file has modes of its own",
        "`visual.material`",
    ),
    (
        "`urdf:`",
        "numbers of controllers, custom attributes, Scopes with `urdf:within`",
        "what the URDF says; ignored if the USD keeps none of the kind",
        "`structure.words`",
    ),
    ("attribute", "time samples, splines", "none", "`structure.animation`"),
    ("attribute", "NaN, infinite numbers", "none", "`structure.values`"),
    ("attribute", "quaternions", "of length one", "`structure.values`"),
    ("attribute", "`colorSpace` of a colour", "linear Rec. 709", "`visual.material`"),
)
_PLUGINS = (
    ("UsdGeom", "usdGeom"),
    ("UsdShade", "usdShade"),
    ("UsdLux", "usdLux"),
    ("UsdSkel", "usdSkel"),
    ("UsdVol", "usdVol"),
    ("Other schemas of OpenUSD", "usd", "usdMedia", "usdProc", "usdRender", "usdUI"),
)
# What a URDF implies for inputs of shader nodes other than the fallback.
_NODE_INPUTS = {
    "diffuseColor": ("the colour or texture", "visual.colour"),
    "opacity": ("the alpha of the colour", "visual.opacity"),
    "file": ("the texture", "visual.texture"),
    "scale": ("the factor of the texture, or of coordinates", "visual.colour"),
    "st": ("the texture coordinates of the mesh", "visual.mapping"),
    "varname": ("the primvar of texture coordinates", "visual.mapping"),
    "in": ("the texture coordinates of the mesh", "visual.mapping"),
    "rotation": ("the texture coordinates of the mesh", "visual.mapping"),
    "translation": ("the texture coordinates of the mesh", "visual.mapping"),
    "sourceColorSpace": ("sRGB for colours", "visual.material"),
    "wrapS": ("repeat, outside of [0, 1]", "visual.material"),
    "wrapT": ("repeat, outside of [0, 1]", "visual.material"),
}
_NODE_HARMLESS = {"fallback": "the image or primvar is there"}
_HEADING = """\
# Properties of schemas

What the harness makes of every property of OpenUSD's schemas, of Newton's schemas for
rigid robots, of Isaac Sim's for robots, and of the attributes of PhysX and MuJoCo that
it reads.
It compares a property with the URDF, or requires the value that a URDF implies because
it has no element for it, or ignores the property for the reason given. An authored
value of a registered schema that is in no table, and differs from its fallback, fails a
check too; so does a prim of a type that no robot consists of, such as a light, a camera
or instances of points. So do attributes of PhysX and MuJoCo that are in no table, and
applied schemas that are neither registered nor known: those of deformables, particles,
tendons and vehicles, or of other simulators. `*` stands for the instance of a schema,
`…` for any end of a name.

<!-- Generated: python -m tests.tools.documentation.coverage -->
"""
_COLUMNS = "| property | a URDF implies | check |\n|---|---|---|\n"


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
    return tuple(sorted(name for name in names if name.startswith(NAMESPACES)))


def plugin_schemas(plugin: str) -> Iterator[str]:
    """Yield the schemas of a plugin by name."""
    for name in Plug.Registry().GetPluginWithName(plugin).metadata["Types"]:
        if info := Usd.SchemaRegistry.FindSchemaInfo(Tf.Type.FindByName(name)):
            yield str(info.identifier)


def document() -> str:
    """Return the page."""
    physics = physics_attributes(plugin_schemas("usdPhysics"))
    newton = physics_attributes(NEWTON_SCHEMAS)
    known = {*COMPARED, *HARMLESS, *FALLBACKS} - {*physics, *newton}
    further = sorted(name for name in known if name.startswith(NAMESPACES))
    isaac = sorted(name for name in known if name.startswith("isaac:"))
    sections = (
        ("UsdPhysics", physics),
        ("Newton", tuple(name for name in newton if name not in physics)),
        ("PhysX, MuJoCo, and joint states", tuple(further)),
        ("Isaac Sim's robot schema", tuple(isaac)),
    )
    tables = [
        _table(title, ((name, f"{_implied(name)} | {_check(name)}") for name in names))
        for title, names in sections
    ]
    listed: set[str] = set()
    for title, *plugins in _PLUGINS:
        rows = dict(row for plugin in plugins for row in _properties_of(plugin))
        tables.append(_table(title, ((name, rows[name]) for name in sorted(rows.keys() - listed))))
        listed |= rows.keys()
    return "".join((_HEADING, *tables, _nodes(), _metadata()))


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a section with a row for all properties of which the same is said."""
    names: dict[str, list[str]] = {}
    for name, said in rows:
        names.setdefault(said, []).append(f"`{name}`")
    lines = (f"| {', '.join(same)} | {said} |\n" for said, same in names.items())
    return f"\n## {title}\n\n{_COLUMNS}" + "".join(lines)


def _properties_of(plugin: str) -> Iterator[tuple[str, str]]:
    """Yield names of the properties of a plugin's schemas, and what is said of them."""
    registry = Usd.SchemaRegistry()
    # Properties that several schemas have are those of a robot's prims.
    for schema in sorted(plugin_schemas(plugin), key=_is_alien, reverse=True):
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        alien = _is_alien(schema)
        for name in definition.GetPropertyNames() if definition else ():
            shown = name.replace("__INSTANCE_NAME__", "*")
            fallback = definition.GetAttributeFallbackValue(name)
            text = f"no {schema} | `structure.scene`" if alien else ""
            if schema in HARMLESS_TYPES:
                text = "ignored: settings of renderers and editors | "
            yield shown, text or _general(name, fallback)


def _is_alien(schema: str) -> bool:
    """Whether no robot has a prim of a type, or with an API."""
    info = Usd.SchemaRegistry.FindSchemaInfo(schema)
    return schema == "LightAPI" or bool(
        info
        and info.kind == Usd.SchemaKind.ConcreteTyped
        and schema not in TYPES | HARMLESS_TYPES
        and not info.type.IsA(Tf.Type.FindByName("UsdGeomGprim"))
    )


def _general(name: str, fallback: object) -> str:
    """Return what a URDF implies for a property, and the check."""
    if name in COMPARED:
        return f"the value of the URDF | `{COMPARED[name]}`"
    if reason := harmless_reason(name):
        return f"ignored: {reason} | "
    words = "nothing" if fallback is None else f"the fallback, {fallback}"
    if str(fallback) in {"", "[]", "@@"}:
        words = "the fallback, which is empty"
    return f"{words} | `visual.geometry`"


def _nodes() -> str:
    """Return the tables of the shader nodes of a preview surface."""
    text = ""
    for node in NODES:
        rows = []
        for name, fallback in sorted(node_inputs(node).items()):
            implied, check = _NODE_INPUTS.get(
                name, (f"the fallback, {fallback}", "visual.material")
            )
            said = f"{implied} | `{check}`"
            if name in _NODE_HARMLESS:
                said = f"ignored: {_NODE_HARMLESS[name]} | "
            rows.append((f"inputs:{name}", said))
        text += _table(node, rows)
    return text


def _metadata() -> str:
    rows = "".join(
        f"| {where} | {what} | {implied} | {check} |\n" for where, what, implied, check in _METADATA
    )
    columns = "| of | metadata | a URDF implies | check |\n|---|---|---|---|\n"
    return f"\n## Metadata and values\n\n{columns}{rows}"


def _implied(name: str) -> str:
    if name in COMPARED:
        return _IMPLIED.get(COMPARED[name], "the value of the URDF")
    if name in FALLBACKS:
        return str(FALLBACKS[name])
    return f"ignored: {harmless_reason(name)}"


def _check(name: str) -> str:
    check = _CHECKS[KIND_OF[name]] if name in KIND_OF else COMPARED.get(name)
    return f"`{check}`" if check else ""


if __name__ == "__main__":
    sys.stdout.write(document())
