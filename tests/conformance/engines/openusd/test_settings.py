"""Settings of a stage that no URDF implies, and settings that make no difference."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
from pxr import Sdf, Usd

from tests.tools.documentation.coverage import (
    NEWTON_SCHEMAS,
    document,
    physics_attributes,
    plugin_schemas,
)
from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    FALLBACKS,
    HARMLESS,
    is_accounted,
    is_implied,
    schema_attribute,
)

SCHEMAS = (*plugin_schemas("usdPhysics"), *NEWTON_SCHEMAS)


@pytest.mark.parametrize("name", physics_attributes(SCHEMAS))
def test_every_physics_property_is_accounted(name: str) -> None:
    assert is_accounted(name) or name in FALLBACKS


def test_page_of_attributes_is_up_to_date() -> None:
    page = Path(__file__).parents[4] / "docs" / "dev" / "coverage.md"

    assert page.read_text(encoding="utf-8") == document()


def test_no_property_is_compared_and_has_a_fallback() -> None:
    assert not COMPARED.keys() & {*HARMLESS, *FALLBACKS}


def _fallbacks(definition: Usd.PrimDefinition) -> Iterator[tuple[str, object]]:
    for name in definition.GetPropertyNames():
        attribute = definition.GetAttributeDefinition(name)
        if attribute:
            general = schema_attribute(name.replace("__INSTANCE_NAME__", "angular"))
            yield general, attribute.GetFallbackValue()


def test_fallbacks_are_those_of_the_registry() -> None:
    """Of PhysX where its schemas are installed; they are read without registering them."""
    registry = Usd.SchemaRegistry()
    found = [
        fallback
        for schema in SCHEMAS
        if (
            definition := registry.FindConcretePrimDefinition(schema)
            or registry.FindAppliedAPIPrimDefinition(schema)
        )
        for fallback in _fallbacks(definition)
    ]
    package = util.find_spec("physx_usd_schemas")
    if package and package.origin:
        file = Path(package.origin).parent / "PhysxSchema/resources/generatedSchema.usda"
        layer = Sdf.Layer.FindOrOpen(str(file))
        for prim in layer.rootPrims:
            found += [
                (schema_attribute(one.name.replace("__INSTANCE_NAME__", "rotX")), one.default)
                for one in prim.attributes
            ]
    known = [(name, value) for name, value in found if name in FALLBACKS and value is not None]

    assert len(known) >= 14
    assert [pair for pair in known if not is_implied(pair[0], pair[1], FALLBACKS[pair[0]])] == []
