"""Queries of the schema registry of OpenUSD, and of the schemas of a prim."""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from pxr import Plug, Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.settings.coverage import plugin_schemas

FAMILIES = ("usdPhysics", "newton", "physx")
"""Beginnings of the names of the plugins whose schemas are seeded."""

_INSTANCE = "__INSTANCE_NAME__"


class SchemaProperty(Struct, frozen=True, eq=False):
    """A property of a schema.

    Attributes:
        name: Its name, with the instance of the schema.
        type: Type of an attribute; None for a relationship.
        fallback: Fallback of an attribute, if it has one.
        allowed: Allowed tokens, if the schema lists them.
    """

    name: str
    type: Sdf.ValueTypeName | None
    fallback: object
    allowed: tuple[str, ...]


@cache
def family_schemas() -> tuple[str, ...]:
    """Return the registered schemas of :data:`FAMILIES`, by plugin and name."""
    plugins = sorted(
        plugin.name
        for plugin in Plug.Registry().GetAllPlugins()
        if plugin.name.startswith(FAMILIES) and "Types" in plugin.metadata
    )
    return tuple(schema for plugin in plugins for schema in sorted(plugin_schemas(plugin)))


def definition_of(schema: str) -> Usd.PrimDefinition:
    """Return the definition of a schema; None if it is not registered."""
    registry = Usd.SchemaRegistry()
    return registry.FindConcretePrimDefinition(schema) or registry.FindAppliedAPIPrimDefinition(
        schema
    )


@cache
def all_properties(schema: str) -> tuple[SchemaProperty, ...]:
    """Return the properties of a schema that schemas of the families define."""
    definition = definition_of(schema)
    # Those of any type that is drawn or placed, and of built-in API schemas.
    general = set(definition_of("Xform").GetPropertyNames())
    found = []
    for name in definition.GetPropertyNames():
        attribute = definition.GetSchemaAttributeSpec(name)
        if name in general:
            continue
        found.append(
            SchemaProperty(
                name,
                attribute.typeName if attribute else None,
                attribute.default if attribute else None,
                tuple(attribute.allowedTokens or ()) if attribute else (),
            )
        )
    return tuple(found)


@cache
def own_properties(schema: str) -> tuple[SchemaProperty, ...]:
    """Return the properties of a schema that no schema has from which it derives."""
    bases = {
        str(info.identifier)
        for base in Usd.SchemaRegistry.GetTypeFromSchemaTypeName(schema).GetAllAncestorTypes()
        if (info := Usd.SchemaRegistry.FindSchemaInfo(base))
    }
    built_in = set(definition_of(schema).GetAppliedAPISchemas())
    inherited = {
        name
        for base in (bases | built_in) - {schema}
        if base in family_schemas()
        for name in definition_of(base).GetPropertyNames()
    }
    return tuple(one for one in all_properties(schema) if one.name not in inherited)


def applied_properties(applied: str) -> tuple[SchemaProperty, ...]:
    """Return the own properties of an applied schema; none if it is not registered."""
    schema, _, instance = applied.partition(":")
    if not definition_of(schema):
        return ()
    return tuple(instanced(one, instance) for one in own_properties(schema))


def instanced(one: SchemaProperty, instance: str) -> SchemaProperty:
    """Return a property with the name that it has in an instance of its schema."""
    return SchemaProperty(
        one.name.replace(_INSTANCE, instance), one.type, one.fallback, one.allowed
    )


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the applied schemas of a prim, also those that are not registered."""
    return tuple(
        dict.fromkeys((*prim.GetAppliedSchemas(), *prim.GetPrimTypeInfo().GetAppliedAPISchemas()))
    )


def physics_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the applied and the typed schemas of a prim that are of the families."""
    found = [name for name in applied_schemas(prim) if name.split(":")[0] in family_schemas()]
    return tuple([str(prim.GetTypeName())] * is_family_type(prim) + sorted(found))


def is_family_type(prim: Usd.Prim) -> bool:
    """Whether the type of a prim is a schema of the families."""
    return prim.GetTypeName() in family_schemas()


def plugin_of(schema: str) -> str:
    """Return the plugin of a type of prims."""
    found = Usd.SchemaRegistry.GetTypeFromSchemaTypeName(schema)
    return str(Plug.Registry().GetPluginForType(found).name) if found else ""


def kind_of(prim: Usd.Prim) -> str:
    """Return the name of the kind of a prim."""
    shape = "Gprim" if prim.IsA(UsdGeom.Gprim) else str(prim.GetTypeName())
    names = [name for name in physics_schemas(prim) if name != shape]
    return f"{shape} ({', '.join(names)})" if names else shape


def is_a(prim: Usd.Prim, schema: str) -> bool:
    """Whether a prim is of a type, or of one derived from it."""
    return bool(prim.IsA(Usd.SchemaRegistry.GetTypeFromSchemaTypeName(schema)))


def distance(prim: Usd.Prim, schema: str) -> int:
    """Return the rank of a target: the same type, a related one, another one."""
    if prim.GetTypeName() == schema:
        return 0
    return 1 if schema in family_schemas() and is_related(prim, schema) else 2


def is_related(prim: Usd.Prim, schema: str) -> bool:
    """Whether a prim and a type have a common base type in the families."""
    if not is_family_type(prim):
        return False
    types = [
        {
            base
            for base in Usd.SchemaRegistry.GetTypeFromSchemaTypeName(name).GetAllAncestorTypes()
            if (info := Usd.SchemaRegistry.FindSchemaInfo(base))
            and str(info.identifier) in family_schemas()
        }
        for name in (str(prim.GetTypeName()), schema)
    ]
    return bool(types[0] & types[1])


def can_have(prim: Usd.Prim, schema: str, instance: str) -> bool:
    """Whether a schema can be applied to a prim; one with instances is for joints."""
    if instance and not prim.IsA(UsdPhysics.Joint):
        return False
    types = Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema, instance)
    return not types or any(is_a(prim, name) for name in types)
