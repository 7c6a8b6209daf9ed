"""Authoring of prims and attributes in a layer, without a stage.

A stage recomposes after every edit, with all of OpenUSD's threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from pxr import Sdf, Usd

_APPLIED = "apiSchemas"
# Schemas whose attributes are written by `write`; of equal names the types are equal.
_SCHEMAS = (
    *("Cube", "Cylinder", "Capsule", "Sphere", "Mesh", "GeomSubset", "PhysicsScene"),
    *("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"),
    *("PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsMaterialAPI"),
    *("PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"),
)

SCOPE_PROPERTIES = frozenset({"proxyPrim", "purpose", "visibility"})


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; missing ancestors become overs."""
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def over(layer: Sdf.Layer, path: Sdf.Path) -> Sdf.PrimSpec:
    """Return an over of a prim."""
    return Sdf.CreatePrimInLayer(layer, path)


def prim_specs(
    layer: Sdf.Layer, below: Sdf.Path = Sdf.Path.absoluteRootPath
) -> Iterator[Sdf.PrimSpec]:
    """Yield the prims of a layer, parents first."""
    paths: list[Sdf.Path] = []
    layer.Traverse(below, paths.append)
    for path in paths:
        if path.IsPrimPath():
            yield layer.GetPrimAtPath(path)


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Store a name as ``displayName`` if the prim has another name."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def apply(spec: Sdf.PrimSpec, schema: str) -> None:
    """Apply a schema to a prim, after those already applied in its layer."""
    set_applied(spec, [*applied(spec), schema])


def apply_once(spec: Sdf.PrimSpec, schema: str) -> None:
    """Apply a schema to a prim unless its layer does."""
    if schema not in applied(spec):
        apply(spec, schema)


def applied(spec: Sdf.PrimSpec) -> list[str]:
    """Return the schemas that a layer applies to a prim."""
    return spec.GetInfo(_APPLIED).prependedItems if spec.HasInfo(_APPLIED) else []


def set_applied(spec: Sdf.PrimSpec, schemas: Sequence[str]) -> None:
    """Replace the schemas that a layer applies to a prim."""
    if schemas:
        spec.SetInfo(_APPLIED, Sdf.TokenListOp.Create(prependedItems=list(schemas)))
    else:
        spec.ClearInfo(_APPLIED)


def write(spec: Sdf.PrimSpec, name: str, value: object) -> None:
    """Author an attribute of UsdGeom or UsdPhysics, with the type of its schema."""
    kind, variability = _types()[name]
    write_new(spec, name, kind, value, variability)


@cache
def _types() -> dict[str, tuple[Sdf.ValueTypeName, Sdf.Variability]]:
    registry = Usd.SchemaRegistry()
    types = {}
    for schema in _SCHEMAS:
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        for name in definition.GetPropertyNames():
            if spec := definition.GetSchemaAttributeSpec(name):
                types[name] = spec.typeName, spec.variability
    return types


def write_new(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    value: object,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
    *,
    custom: bool = False,
    **metadata: object,
) -> None:
    """Author an attribute of any type."""
    attribute = Sdf.AttributeSpec(spec, name, kind, variability, custom)
    for key, field in metadata.items():
        attribute.SetInfo(key, field)
    attribute.default = value


def relate(spec: Sdf.PrimSpec, name: str, target: Sdf.Path) -> None:
    """Author a relationship to one prim."""
    relationship = Sdf.RelationshipSpec(spec, name, custom=False)
    relationship.targetPathList.explicitItems = [target]
