"""One asset with a variant of the physics for each simulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics

from tests.converter.usd.authored import applied
from tests.converter.usd.composed import composed
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import BodyNesting, Layout

_VARIANTS = {"newton": Profile.GENERIC, "physx": Profile.PHYSX}
_SIMULATORS = ("newton", "physx", "mjc", "Newton", "Physx", "Mjc")
# Beginnings of names of schemas and properties, by variant set of SimReady.
_OWN = {"Newton": "newton", "PhysX": "physx", "MuJoCo": "mjc"}


def _convert(
    folder: Path,
    profile: Profile = Profile.GENERIC,
    *,
    layout: Layout = Layout.LAYERED,
    variants: bool = True,
) -> Usd.Stage:
    options = ConvertOptions(
        profile=profile,
        layout=layout,
        physics_variants=variants,
        bodies=BodyNesting.FLAT,
    )
    asset = convert(write_whole_robot(folder), folder / "usd", options).root_layer
    return Usd.Stage.Open(str(asset))


def _select(stage: Usd.Stage, name: str, variant: str) -> None:
    stage.GetDefaultPrim().GetVariantSet(name).SetVariantSelection(variant)


def _schemas(stage: Usd.Stage) -> dict[str, list[str]]:
    """Return the applied schemas of all prims, whether or not they are registered."""
    return {str(prim.GetPath()): sorted(applied(prim)) for prim in stage.Traverse()}


def _of_simulators(stage: Usd.Stage) -> list[str]:
    """Return the names of schemas and properties of simulators."""
    return [
        name
        for prim in stage.Traverse()
        for name in (*applied(prim), *prim.GetAuthoredPropertyNames())
        if name.startswith(_SIMULATORS)
    ]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("variant", _VARIANTS)
def test_variant_composes_to_the_asset_of_its_simulator(
    tmp_path: Path, layout: Layout, variant: str
) -> None:
    """Prims in the same order, with the same schemas and values."""
    for name in ("one", "several"):
        (tmp_path / name).mkdir()
    several = _convert(tmp_path / "several", layout=layout)
    one = _convert(tmp_path / "one", _VARIANTS[variant], layout=layout, variants=False)

    _select(several, "Physics", variant)

    assert composed(several) == composed(one)
    assert list(composed(several)) == list(composed(one))
    assert _schemas(several) == _schemas(one)


@pytest.mark.parametrize(
    ("profile", "order"),
    [
        (Profile.GENERIC, "newton"),
        (Profile.ROS, "newton"),
        (Profile.PHYSX, "physx"),
    ],
)
def test_variant_of_the_profile_is_selected(tmp_path: Path, profile: Profile, order: str) -> None:
    """Newton's schemas are those that PhysX reads as well."""
    stage = _convert(tmp_path, profile)

    physics = stage.GetDefaultPrim().GetVariantSet("Physics")
    names = ["mujoco", "newton", "none", "physics", "physx"]
    assert sorted(physics.GetVariantNames()) == names
    assert physics.GetVariantSelection() == order


@pytest.mark.parametrize("profile", [Profile.GENERIC, Profile.ROS, Profile.PHYSX])
def test_neutral_variant_has_no_schemas_of_simulators(tmp_path: Path, profile: Profile) -> None:
    """UsdPhysics alone, with the limits of effort."""
    stage = _convert(tmp_path, profile)
    assert _of_simulators(stage)

    _select(stage, "Physics", "physics")

    assert _of_simulators(stage) == []
    assert any(prim.HasAPI(UsdPhysics.DriveAPI) for prim in stage.Traverse()), (
        "efforts are in UsdPhysics"
    )


def test_assets_for_several_simulators_have_flat_bodies(tmp_path: Path) -> None:
    """One of them is PhysX; a conversion can be repeated in its folder."""
    with pytest.raises(ValueError, match="must be flat"):
        ConvertOptions(physics_variants=True, bodies=BodyNesting.NESTED)
    options = ConvertOptions(physics_variants=True)
    assert options.nesting is BodyNesting.FLAT
    urdf = write_whole_robot(tmp_path)
    for _ in range(2):
        convert(urdf, tmp_path / "usd", options)
    plain = convert(urdf, tmp_path / "usd").root_layer
    names = {entry.name for entry in plain.parent.rglob("*.usda")}
    assert not names & {"Newton.usda", "Physx.usda", "Mujoco.usda"}


def test_profile_without_simulators_is_refused() -> None:
    """It would have two equal variants."""
    with pytest.raises(ValueError, match="has no schemas of simulators"):
        ConvertOptions(profile=Profile.USDPHYSICS, physics_variants=True)


def test_simready_has_a_variant_set_for_each_simulator(tmp_path: Path) -> None:
    """RV.001 to RV.011: disabled, a payload, metadata."""
    stage = _convert(tmp_path, Profile.SIMREADY)
    prim = stage.GetDefaultPrim()
    layer = stage.GetRootLayer()
    described = layer.customLayerData["SimReady_Metadata"]["Variants"]["Physics"]

    assert _of_simulators(stage) == []
    for name in _OWN:
        chosen = prim.GetVariantSet(name)
        assert chosen.GetVariantNames() == ["Disabled", "Enabled"]
        assert chosen.GetVariantSelection() == "Disabled"
        assert described[name] == {
            "prim": str(prim.GetPath()),
            "variantSetName": name,
            "activateOption": "Enabled",
        }
        enabled = prim.GetPath().AppendVariantSelection(name, "Enabled")
        spec = layer.GetPrimAtPath(enabled)
        assert spec.payloadList.prependedItems == [
            Sdf.Payload(f"./runnables/physics/{name.lower()}.usda")
        ]
        assert not spec.properties
        assert not spec.nameChildren


@pytest.mark.parametrize("name", _OWN)
def test_enabled_simulator_of_simready_has_its_schemas_only(tmp_path: Path, name: str) -> None:
    """In addition to UsdPhysics."""
    stage = _convert(tmp_path, Profile.SIMREADY)

    _select(stage, name, "Enabled")

    found = _of_simulators(stage)
    assert found
    assert {word.lower().startswith(_OWN[name]) for word in found} == {True}
    again = convert(
        tmp_path / "whole.urdf",
        tmp_path / "usd",
        ConvertOptions(profile=Profile.SIMREADY),
    )
    assert not (again.root_layer.parent / "runnables").exists()
