"""The engine apart from what ``test_stored`` shows, and the settings that it knows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
from pxr import Sdf, Usd

from tests.conformance.engines.usd_observations import observe_stage
from tests.tools.documentation.coverage import (
    NEWTON_SCHEMAS,
    document,
    physics_attributes,
    plugin_schemas,
)
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.reading import SchemaFamily, refusal
from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    FALLBACKS,
    HARMLESS,
    is_accounted,
    is_implied,
    schema_attribute,
)
from urdf_usd.conformance.engines.protocol import (
    Available,
    InvalidFileError,
    Side,
    UnsupportedError,
)

_ROOT = Path(__file__).parents[3]
SCHEMAS = (*plugin_schemas("usdPhysics"), *NEWTON_SCHEMAS)


def test_name_and_version_are_reported() -> None:
    engine = OpenusdEngine()
    available = engine.availability()

    assert (engine.name, engine.side) == ("openusd", Side.USD)
    assert isinstance(available, Available)
    assert available.version.startswith("usd-core 2")


@pytest.mark.parametrize(
    ("text", "reason"), [("not a layer", "OpenUSD: "), (None, "Failed to open layer")]
)
def test_file_that_is_no_stage_is_refused_in_one_line_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | None, reason: str
) -> None:
    path = tmp_path / "robot.usda"
    if text is not None:
        path.write_text(text)

    with pytest.raises(UnsupportedError, match=reason) as refusal:
        observe_stage(path)

    assert "\n" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("families", "meant"),
    [
        ({SchemaFamily.NEWTON, SchemaFamily.PHYSX}, True),
        ({SchemaFamily.DRIVES}, True),
        (set(), True),
        ({SchemaFamily.DRIVES, SchemaFamily.PHYSX}, False),
    ],
)
def test_refusal_counts_unless_the_asset_has_schemas_of_other_simulators_alone(
    families: set[SchemaFamily], *, meant: bool
) -> None:
    error = refusal("Newton: no", families, {SchemaFamily.NEWTON})

    assert isinstance(error, InvalidFileError) is meant


def test_mimic_is_read_whenever_schemas_are_registered() -> None:
    script = """
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.engines.usd_observations import observe_stage
reading = observe_stage("tests/data/usd/nested_arm.usda")
print(next(joint.mimic for joint in reading.joints if joint.name == "wrist_turn"))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT)

    assert "leader='elbow', multiplier=-2.0" in done.stdout


@pytest.mark.parametrize("name", physics_attributes(SCHEMAS))
def test_every_physics_property_is_accounted(name: str) -> None:
    assert is_accounted(name) or name in FALLBACKS


def test_page_of_attributes_is_up_to_date() -> None:
    assert (_ROOT / "docs/dev/coverage.md").read_text(encoding="utf-8") == document()


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

    assert not COMPARED.keys() & {*HARMLESS, *FALLBACKS}
    assert len(known) >= 14
    assert [pair for pair in known if not is_implied(pair[0], pair[1], FALLBACKS[pair[0]])] == []
