"""Types of attributes, compared with the schemas of OpenUSD."""

from __future__ import annotations

import pytest
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.usd.writer.specs import (
    ATTRIBUTE_TYPES,
    SCOPE_PROPERTIES,
    UNIFORM_ATTRIBUTES,
)


def _definitions() -> list[Usd.PrimDefinition]:
    """Return the definitions of all prim types and single-apply schemas."""
    registry = Usd.SchemaRegistry()
    schemas = (
        schema
        for module in (UsdGeom, UsdPhysics)
        for schema in vars(module).values()
        if isinstance(schema, type) and issubclass(schema, Usd.SchemaBase)
    )
    names = {registry.GetSchemaTypeName(Tf.Type(schema)) for schema in schemas}
    found = (
        registry.FindConcretePrimDefinition(name) or registry.FindAppliedAPIPrimDefinition(name)
        for name in sorted(names)
    )
    return [definition for definition in found if definition]


@pytest.mark.parametrize("name", ATTRIBUTE_TYPES)
def test_attributes_have_the_type_and_variability_of_every_schema(name: str) -> None:
    """In all schemas that declare one of the name."""
    uniform = name in UNIFORM_ATTRIBUTES
    variability = Sdf.VariabilityUniform if uniform else Sdf.VariabilityVarying

    declared = {
        (attribute.GetTypeName(), attribute.GetVariability())
        for definition in _definitions()
        if (attribute := definition.GetAttributeDefinition(name))
    }

    assert declared == {(ATTRIBUTE_TYPES[name], variability)}


def test_properties_of_scopes_are_those_of_the_schema() -> None:
    """Names of custom data on a Scope must differ."""
    scope = Usd.SchemaRegistry().FindConcretePrimDefinition("Scope")

    assert set(scope.GetPropertyNames()) == SCOPE_PROPERTIES
