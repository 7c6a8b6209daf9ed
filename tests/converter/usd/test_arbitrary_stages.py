"""Any stage is read as a robot or refused with a ``StageError``.

The converter's and the harness's reader are tested; neither may raise another
exception. Each case changes one thing of a stage that both can read.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, Vt

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine, named_prims
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.export.assets import read_usd
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.urdf.write import write

_DATA = Path(__file__).parents[2] / "data/usd"
_AT_REST = Configurations((), (), ("zero",))
# Prims that are missing, inactive, of another type, or outside of the robot.
_TARGETS = (
    *("", "/nowhere", "/kind", "/undefined", "/off", "/stuff", "/post", "/table", "/copy"),
    *("/copy/part", "/post.size", "/arm", "/nowhere /post"),
)
_NAN = float("nan")
_VALUES: tuple[tuple[str, object], ...] = (
    ("string", "x"),
    ("float", _NAN),
    ("asset", Sdf.AssetPath("x.png")),
    ("double3", Gf.Vec3d(1.0, 2.0, 3.0)),
    ("float3", Gf.Vec3f(_NAN)),
    ("int[]", Vt.IntArray([-1, 7])),
    ("float[]", Vt.FloatArray()),
    ("quatf", Gf.Quatf(_NAN)),
    ("point3f[]", Vt.Vec3fArray([Gf.Vec3f(_NAN)])),
    ("quatf", Gf.Quatf(0.0, 0.0, 0.0, 0.0)),
    ("", Sdf.ValueBlock()),
)


def _arm() -> Sdf.Layer:
    """Return a robot that both can read, with additional prims."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    flat = Usd.Stage.Open(str(_DATA / "nested_arm.usda")).Flatten().ExportToString()
    layer.ImportFromString(flat + (_DATA / "surroundings.txt").read_text(encoding="utf-8"))
    return layer


def _properties(kind: type[Sdf.PropertySpec]) -> list[str]:
    """Return the paths of properties, the first of each name."""
    layer = _arm()
    paths: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    found = [path for path in paths if isinstance(layer.GetObjectAtPath(path), kind)]
    return sorted({path.name: str(path) for path in reversed(found)}.values())


def _read_by_both(layer: Sdf.Layer, folder: Path) -> None:
    """Read a layer; anything but the documented errors is raised."""
    file = folder / "odd.usda"
    layer.Export(str(file))
    with contextlib.suppress(StageError):
        write(read_usd(file).robot)
    with contextlib.suppress(UnsupportedError):
        OpenusdEngine().observe(Request(str(file), _AT_REST))
    with contextlib.suppress(UnsupportedError):
        named_prims(str(file))


def test_unchanged_stage_is_read(tmp_path: Path) -> None:
    file = tmp_path / "arm.usda"
    _arm().Export(str(file))

    assert len(read_usd(file).robot.links) > 3
    assert OpenusdEngine().observe(Request(str(file), _AT_REST)).links


@pytest.mark.parametrize("relationship", _properties(Sdf.RelationshipSpec))
@pytest.mark.parametrize("target", _TARGETS)
def test_relationships_may_have_any_target(tmp_path: Path, relationship: str, target: str) -> None:
    layer = _arm()
    targets = layer.GetObjectAtPath(relationship).targetPathList
    targets.ClearEditsAndMakeExplicit()
    for path in target.split():
        targets.explicitItems.append(path)

    _read_by_both(layer, tmp_path)


@pytest.mark.parametrize("attribute", _properties(Sdf.AttributeSpec))
def test_attributes_may_have_any_type_and_value(tmp_path: Path, attribute: str) -> None:
    """OpenUSD returns authored values, independent of the schema."""
    for kind, value in _VALUES:
        layer = _arm()
        spec = layer.GetObjectAtPath(attribute)
        if kind:
            owner, name = spec.owner, spec.name
            owner.RemoveProperty(spec)
            spec = Sdf.AttributeSpec(owner, name, Sdf.ValueTypeNames.Find(kind))
        spec.default = value

        _read_by_both(layer, tmp_path)


def test_bytes_that_are_not_text_cause_no_internal_error(tmp_path: Path) -> None:
    """OpenUSD's message quotes them, and cannot be decoded."""
    file = tmp_path / "odd.usda"
    file.write_bytes(b"#usda 1.0\n\x96\xff(")

    with pytest.raises(StageError, match="cannot be opened"):
        read_usd(file)
    with pytest.raises(UnsupportedError, match="OpenUSD"):
        OpenusdEngine().observe(Request(str(file), _AT_REST))


def test_corrupt_layer_is_an_error_of_export_and_named_by_the_engine(tmp_path: Path) -> None:
    (tmp_path / "corrupt.usda").write_text("#usda 1.0\ndef {{{")
    file = stage(tmp_path, body("a") + 'def Xform "b" (references = @./corrupt.usda@) {\n}\n')

    with pytest.raises(StageError) as refused:
        read_usd(file)
    observed = observe_stage(file)

    assert {found.rule for found in refused.value.diagnostics} == {"stage-incomplete"}
    assert observed.missing
    for message in (str(refused.value), *observed.missing):
        assert file.name in message
    # An address in memory would differ in each process.
    assert "0x" not in f"{refused.value}{observed.missing}{observed.notes}"
