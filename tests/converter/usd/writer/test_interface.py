"""What the default prim of an asset says, and what its variants switch off."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics

from tests.converter.usd.composed import Said, composed, physics_of
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.usd.writer.interface import is_written_here

LINKS = "/whole_robot/Geometry/torso"
COLLIDERS = {
    f"{LINKS}/collision",
    f"{LINKS}/mirrored",
    f"{LINKS}/upper_arm/collision",
    f"{LINKS}/upper_arm/_2nd_arm/collision",
    f"{LINKS}/upper_arm/_2nd_arm/tool/collision",
}
_SHAPE = '<geometry><box size="0.2 0.4 0.6"/></geometry>'
_PLACE = '<origin xyz="1 2 3"/>'


@pytest.fixture(params=list(Layout))
def asset(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Root layer of the whole robot in every layout."""
    options = ConvertOptions(layout=request.param)
    return convert(write_whole_robot(tmp_path), tmp_path / "usd", options).root_layer


def _choosing(asset: Path, **choices: str) -> Usd.Stage:
    """Reference an asset and choose variants there: the asset is not edited."""
    stage = Usd.Stage.CreateInMemory()
    prim = stage.DefinePrim("/whole_robot")
    prim.GetReferences().AddReference(str(asset))
    for name, variant in choices.items():
        prim.GetVariantSet(name).SetVariantSelection(variant)
    stage.SetDefaultPrim(prim)
    return stage


def _said(asset: Path, **choices: str) -> dict[str, Said]:
    return composed(_choosing(asset, **choices))


def test_everything_is_on_unless_chosen_otherwise(asset: Path) -> None:
    """The sets, their variants, and what a consumer gets that knows of neither."""
    stage = Usd.Stage.Open(str(asset))
    sets = stage.GetDefaultPrim().GetVariantSets()

    assert sorted(sets.GetNames()) == ["Colliders", "Physics"]
    assert sorted(sets.GetVariantSet("Physics").GetVariantNames()) == [
        "none",
        "physics",
    ]
    assert sorted(sets.GetVariantSet("Colliders").GetVariantNames()) == [
        "colliders",
        "none",
    ]
    on = _said(asset, Physics="physics", Colliders="colliders")
    assert composed(stage) == on
    assert {p for p, prim in on.items() if _is_collider(prim)} == COLLIDERS


def _is_collider(prim: Said) -> bool:
    schemas = prim["schemas"]
    return isinstance(schemas, list) and "PhysicsCollisionAPI" in schemas


def test_no_physics_is_left_when_it_is_off(asset: Path) -> None:
    """Frames, shapes and materials stay as they are."""
    on, off = _said(asset), _said(asset, Physics="none")

    assert physics_of(off) == {}
    assert not [key for prim in off.values() for key in prim if "urdf:" in key]
    appearances = ("/whole_robot/Geometry", "/whole_robot/Materials")
    kept = [
        path for path in on if path.startswith(appearances) and "gazebo" not in path
    ]
    assert sorted(off) == sorted(["/whole_robot", *kept])
    for path in kept:
        plain = physics_of({path: on[path]}).get(path, [])
        rest = {k: v for k, v in on[path].items() if k not in plain}
        rest = {k: v for k, v in rest.items() if not k.startswith(("newton:", "urdf:"))}
        rest["schemas"] = [
            schema
            for schema in _list(on[path]["schemas"])
            if not schema.startswith(("Newton", "Physics"))
        ]
        assert off[path] == rest


def _list(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def test_only_colliders_leave_when_they_are_off(asset: Path) -> None:
    """Bodies keep their masses, joints stay, visuals that share a mesh stay."""
    on, off = _said(asset), _said(asset, Colliders="none")

    gone = {path for path in on if path not in off}
    assert {p for p in gone if not p.startswith(tuple(f"{c}/" for c in COLLIDERS))} == (
        COLLIDERS
    )
    assert off == {path: prim for path, prim in on.items() if path not in gone}


def test_masses_do_not_depend_on_colliders(asset: Path) -> None:
    """What OpenUSD computes for a body, which it would else take from its shapes."""
    masses = []
    for variant in ("colliders", "none"):
        stage = _choosing(asset, Colliders=variant)
        body = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath(f"{LINKS}/upper_arm"))
        masses.append(body.ComputeMassProperties(lambda _: None)[:3])
        found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
        assert (UsdPhysics.ObjectType.CubeShape in found) == (variant == "colliders")

    assert masses[0] == masses[1]
    assert masses[0][0] == 1.5


def test_the_interface_holds_no_prim_but_the_robot(tmp_path: Path) -> None:
    """It stays light, however large the robot: all else is behind payloads."""
    file = convert(write_whole_robot(tmp_path), tmp_path / "usd").root_layer

    stage = Usd.Stage.Open(str(file), Usd.Stage.LoadNone)

    assert [str(prim.GetPath()) for prim in stage.TraverseAll()] == ["/whole_robot"]
    specs: list[Sdf.Path] = []
    stage.GetRootLayer().Traverse("/", specs.append)
    assert len(specs) < 15
    assert file.stat().st_size < 2000
    prim = stage.GetDefaultPrim()
    assert prim.HasAuthoredPayloads()
    assert Usd.ModelAPI(prim).GetKind() == "component"
    assert prim.GetAssetInfo()["name"] == "whole robot"
    assert prim.GetDisplayName() == "whole robot"


def _hint(folder: Path, shapes: str) -> list[list[float]] | None:
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{shapes}</link></robot>')
    stage = Usd.Stage.Open(str(convert(urdf, folder / "usd").root_layer))
    value = UsdGeom.ModelAPI(stage.GetDefaultPrim()).GetExtentsHint()
    return None if value is None else [list(corner) for corner in value]


def test_the_extent_is_that_of_what_is_seen(tmp_path: Path) -> None:
    """Half the sides of a box around its place; colliders do not count."""
    far = '<collision><origin xyz="9 9 9"/><geometry><sphere radius="1"/></geometry>'
    seen = f"<visual>{_PLACE}{_SHAPE}</visual>{far}</collision>"

    hint = _hint(tmp_path, seen)

    assert hint is not None
    assert hint[0] == pytest.approx([0.9, 1.8, 2.7], rel=1e-6)
    assert hint[1] == pytest.approx([1.1, 2.2, 3.3], rel=1e-6)
    assert len(hint) == 2


def test_where_nothing_is_seen_the_extent_is_that_of_the_colliders(
    tmp_path: Path,
) -> None:
    """A viewer that has not loaded the payload has something to show."""
    hint = _hint(tmp_path, f"<collision>{_PLACE}{_SHAPE}</collision>")

    assert hint is not None
    assert hint[0] == pytest.approx([0.9, 1.8, 2.7], rel=1e-6)
    assert hint[1] == pytest.approx([1.1, 2.2, 3.3], rel=1e-6)


def test_a_robot_without_shapes_has_no_extent(tmp_path: Path) -> None:
    """Bounds of nothing are no finite numbers."""
    assert _hint(tmp_path, "") is None


def test_a_robot_without_colliders_can_be_told_to_have_none(tmp_path: Path) -> None:
    """Scenes choose for all robots alike."""
    urdf = tmp_path / "r.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')
    asset = convert(urdf, tmp_path / "usd").root_layer

    assert _said(asset, Colliders="none") == _said(asset)
    assert not (tmp_path / "usd/payload/NoColliders.usda").exists()


@pytest.mark.parametrize("layout", list(Layout))
def test_openusd_has_nothing_to_say_of_a_bare_robot(
    tmp_path: Path, layout: Layout
) -> None:
    """Layers that would be empty are still what variants load."""
    urdf = tmp_path / "r.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')

    with Tf.DiagnosticTrap() as trap:
        asset = convert(urdf, tmp_path / "usd", ConvertOptions(layout=layout))
        off = _said(asset.root_layer, Physics="none")
        assert not trap.HasWarnings()

    assert list(off) == ["/whole_robot", "/whole_robot/Geometry", f"{LINKS[:-5]}a"]


@pytest.mark.parametrize("text", ["", "#usda 1.0\n", "no layer", "#usda 1.0\n(("])
@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usdz"])
def test_files_of_others_are_not_taken_for_ours(
    tmp_path: Path, text: str, suffix: str
) -> None:
    """They would be replaced."""
    file = tmp_path / f"robot{suffix}"
    file.write_text(text)

    assert not is_written_here(file)


def test_what_a_conversion_wrote_is_known(asset: Path) -> None:
    """In every layout."""
    assert is_written_here(asset)
