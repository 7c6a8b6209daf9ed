"""Properties of schemas that custom data has to avoid."""

from __future__ import annotations

from pxr import Usd

from urdf_usd.converter.usd.writer.specs import SCOPE_PROPERTIES


def test_properties_of_scopes_are_those_of_the_schema() -> None:
    """Names of custom data on a Scope must differ."""
    scope = Usd.SchemaRegistry().FindConcretePrimDefinition("Scope")

    assert set(scope.GetPropertyNames()) == SCOPE_PROPERTIES
