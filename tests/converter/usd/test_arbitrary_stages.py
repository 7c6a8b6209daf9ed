"""Any stage is read as a robot or refused with a ``StageError``.

The converter's and the harness's reader are tested; neither may raise another
exception. Each case changes one thing of a stage that both can read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, Vt

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine, named_prims
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.urdf.write import write

_ARM = Path(__file__).parents[2] / "data/usd/nested_arm.usda"
_AT_REST = Configurations((), (), ("zero",))
_BESIDE = """
class Xform "kind" (apiSchemas = ["PhysicsRigidBodyAPI"]) {
}
over "undefined" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
}
def Xform "off" (
    active = false
    apiSchemas = ["PhysicsRigidBodyAPI"]
) {
}
def Material "stuff" {
}
def Cube "post" (apiSchemas = ["PhysicsCollisionAPI"]) {
}
def Xform "table" (apiSchemas = ["PhysicsRigidBodyAPI"]) {
}
def Xform "copy" (
    instanceable = true
    references = </original>
) {
}
def Xform "original" {
    def Xform "part" (apiSchemas = ["PhysicsRigidBodyAPI"]) {
    }
}
"""
_TARGETS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "nowhere": ("/nowhere",),
    "class": ("/kind",),
    "over": ("/undefined",),
    "inactive": ("/off",),
    "material": ("/stuff",),
    "static collider": ("/post",),
    "outside": ("/table",),
    "instance": ("/copy",),
    "instance proxy": ("/copy/part",),
    "attribute": ("/post.size",),
    "default prim": ("/arm",),
    "several": ("/nowhere", "/post"),
}
_NAN = float("nan")
_VALUES: dict[str, tuple[str, object]] = {
    "text": ("string", "x"),
    "NaN": ("float", _NAN),
    "asset": ("asset", Sdf.AssetPath("x.png")),
    "vector": ("double3", Gf.Vec3d(1.0, 2.0, 3.0)),
    "vector of NaN": ("float3", Gf.Vec3f(_NAN)),
    "short array": ("int[]", Vt.IntArray([-1, 7])),
    "empty array": ("float[]", Vt.FloatArray()),
    "quaternion of NaN": ("quatf", Gf.Quatf(_NAN)),
    "points": ("point3f[]", Vt.Vec3fArray([Gf.Vec3f(_NAN)])),
    "quaternion": ("quatf", Gf.Quatf(0.0, 0.0, 0.0, 0.0)),
    "blocked": ("", Sdf.ValueBlock()),
}


def arm() -> Sdf.Layer:
    """Return a robot that both can read, with additional prims."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    flat = Usd.Stage.Open(str(_ARM)).Flatten().ExportToString()
    layer.ImportFromString(flat + _BESIDE)
    return layer


def properties(kind: type[Sdf.PropertySpec]) -> list[str]:
    """Return the paths of properties, the first of each name."""
    layer = arm()
    paths: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    found = [
        path
        for path in paths
        if path.IsPropertyPath() and isinstance(layer.GetObjectAtPath(path), kind)
    ]
    return sorted({path.name: str(path) for path in reversed(found)}.values())


def read_by_both(layer: Sdf.Layer, folder: Path) -> None:
    """Read a layer; anything but the documented errors is raised."""
    file = folder / "odd.usda"
    layer.Export(str(file))
    with contextlib.suppress(StageError):
        write(read_usd(file).robot)
    for read in _harness_readers():
        with contextlib.suppress(UnsupportedError):
            read(str(file))


def _harness_readers() -> tuple[Callable[[str], object], ...]:
    def observe(path: str) -> object:
        return OpenusdEngine().observe(Request(path, _AT_REST))

    return observe, named_prims


def test_unchanged_stage_is_read(tmp_path: Path) -> None:
    file = tmp_path / "arm.usda"
    arm().Export(str(file))

    assert len(read_usd(file).robot.links) > 3
    assert OpenusdEngine().observe(Request(str(file), _AT_REST)).links


@pytest.mark.parametrize("relationship", properties(Sdf.RelationshipSpec))
@pytest.mark.parametrize("target", _TARGETS)
def test_relationships_may_have_any_target(tmp_path: Path, relationship: str, target: str) -> None:
    """Prims that are missing, inactive or of another type."""
    layer = arm()
    targets = layer.GetObjectAtPath(relationship).targetPathList
    targets.ClearEditsAndMakeExplicit()
    for path in _TARGETS[target]:
        targets.explicitItems.append(path)

    read_by_both(layer, tmp_path)


@pytest.mark.parametrize("attribute", properties(Sdf.AttributeSpec))
def test_attributes_may_have_any_type_and_value(tmp_path: Path, attribute: str) -> None:
    """OpenUSD returns authored values, independent of the schema."""
    for kind, value in _VALUES.values():
        layer = arm()
        spec = layer.GetObjectAtPath(attribute)
        if kind:
            owner, name = spec.owner, spec.name
            owner.RemoveProperty(spec)
            spec = Sdf.AttributeSpec(owner, name, Sdf.ValueTypeNames.Find(kind))
        spec.default = value

        read_by_both(layer, tmp_path)


def test_bytes_that_are_not_text_cause_no_internal_error(tmp_path: Path) -> None:
    """OpenUSD's message quotes them, and cannot be decoded."""
    file = tmp_path / "odd.usda"
    file.write_bytes(b"#usda 1.0\n\x96\xff(")

    with pytest.raises(StageError, match="cannot be opened"):
        read_usd(file)
    with pytest.raises(UnsupportedError, match="OpenUSD"):
        OpenusdEngine().observe(Request(str(file), _AT_REST))
