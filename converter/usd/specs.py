"""Prims and attributes in a layer, while no stage composes it.

A stage composes again after every statement, and wakes OpenUSD's threads for it. Types
and variability of attributes are those that schemas declare.
"""

from __future__ import annotations

from functools import cache

from pxr import Sdf, Usd


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; what is above it becomes an over if it is not there."""
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Keep a name as ``displayName`` where the prim could not be called so."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def write(spec: Sdf.PrimSpec, name: str, value: object) -> None:
    """Author an attribute that the schema of a prim's type declares."""
    kind, variability = _declared(spec.typeName, name)
    write_new(spec, name, kind, value, variability)


def write_new(  # noqa: PLR0913  # one parameter per field
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    value: object,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
    *,
    custom: bool = False,
    **metadata: object,
) -> None:
    """Author an attribute that no schema of the prim's type declares."""
    attribute = Sdf.AttributeSpec(spec, name, kind, variability, custom)
    for key, said in metadata.items():
        attribute.SetInfo(key, said)
    attribute.default = value


@cache
def declared_names(type_name: str) -> tuple[str, ...]:
    """Name the properties that the schema of a type declares."""
    registry = Usd.SchemaRegistry()
    names = registry.FindConcretePrimDefinition(type_name).GetPropertyNames()
    return tuple(map(str, names))


@cache
def _declared(
    type_name: str, attribute: str
) -> tuple[Sdf.ValueTypeName, Sdf.Variability]:
    registry = Usd.SchemaRegistry()
    declared = registry.FindConcretePrimDefinition(type_name).GetAttributeDefinition(
        attribute
    )
    if not declared:
        raise ValueError(f"{type_name} has no {attribute}")
    return declared.GetTypeName(), declared.GetVariability()
