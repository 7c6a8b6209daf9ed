"""Authoring of prims and attributes in a layer, without a stage.

A stage recomposes after every edit, with all of OpenUSD's threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from pxr import Sdf

from urdf_usd.converter.usd.writer.schema_types import (
    ATTRIBUTE_TYPES,
    UNIFORM_ATTRIBUTES,
)

_APPLIED = "apiSchemas"


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; missing ancestors become overs."""
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Store a name as ``displayName`` if the prim has another name."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def over(layer: Sdf.Layer, path: Sdf.Path) -> Sdf.PrimSpec:
    """Return an over of a prim."""
    return Sdf.CreatePrimInLayer(layer, path)


def apply(spec: Sdf.PrimSpec, schema: str) -> None:
    """Apply a schema to a prim, after those already applied in its layer."""
    set_applied(spec, [*applied(spec), schema])


def applied(spec: Sdf.PrimSpec) -> list[str]:
    """Return the schemas that a layer applies to a prim."""
    return spec.GetInfo(_APPLIED).prependedItems if spec.HasInfo(_APPLIED) else []


def set_applied(spec: Sdf.PrimSpec, schemas: Sequence[str]) -> None:
    """Replace the schemas that a layer applies to a prim."""
    if schemas:
        names = Sdf.TokenListOp.Create(prependedItems=list(schemas))
        spec.SetInfo(_APPLIED, names)
    else:
        spec.ClearInfo(_APPLIED)


def write(spec: Sdf.PrimSpec, name: str, value: object) -> None:
    """Author an attribute of UsdGeom or UsdPhysics."""
    uniform = name in UNIFORM_ATTRIBUTES
    variability = Sdf.VariabilityUniform if uniform else Sdf.VariabilityVarying
    write_new(spec, name, ATTRIBUTE_TYPES[name], value, variability)


def relate(spec: Sdf.PrimSpec, name: str, target: Sdf.Path) -> None:
    """Author a relationship to one prim."""
    relationship = Sdf.RelationshipSpec(spec, name, custom=False)
    relationship.targetPathList.explicitItems = [target]


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
