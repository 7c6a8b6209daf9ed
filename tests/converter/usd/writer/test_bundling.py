"""Single-layer and USDZ assets are equivalent to the layered asset."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdShade, UsdUtils, UsdValidation

from tests.converter.usd.composed import composed
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout, MaterialNetworks

OTHERS = [Layout.SINGLE, Layout.USDZ]


def _asset(folder: Path, layout: Layout) -> Path:
    options = ConvertOptions(
        layout=layout, materials=MaterialNetworks.OPENPBR, physics_variants=True
    )
    urdf = write_whole_robot(folder)
    return convert(urdf, folder / f"{layout}", options).root_layer


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("layout", OTHERS)
@pytest.mark.parametrize(
    ("physics", "colliders"),
    [("newton", "colliders"), ("physx", "none"), ("mujoco", "colliders"), ("none", "none")],
)
def test_layouts_compose_to_the_same_stage_in_all_variants(
    tmp_path: Path, layout: Layout, physics: str, colliders: str
) -> None:
    stages = [Usd.Stage.Open(str(_asset(tmp_path, Layout.LAYERED)))]
    stages.append(Usd.Stage.Open(str(_asset(tmp_path, layout))))
    for stage in stages:
        sets = stage.GetDefaultPrim().GetVariantSets()
        sets.SetSelection("Physics", physics)
        sets.SetSelection("Colliders", colliders)

    layered, other = map(composed, stages)
    assert other == layered
    assert list(other) == list(layered)


@pytest.mark.parametrize("layout", OTHERS)
def test_bundled_layer_has_no_external_references(tmp_path: Path, layout: Layout) -> None:
    """Except textures; each surface is stored once, in a class."""
    asset = _asset(tmp_path, layout)
    layer = Sdf.Layer.FindOrOpen(str(asset))

    # An empty path stands for the layer itself.
    assert layer.GetCompositionAssetDependencies() == [""]
    assert [prim.name for prim in layer.rootPrims] == [
        "whole_robot",
        "GeometryLibrary",
        "MaterialsLibrary",
    ]
    library = layer.GetPrimAtPath("/GeometryLibrary")
    assert library.specifier == Sdf.SpecifierClass
    assert [mesh.name for mesh in library.nameChildren] == ["part", "part_1"]
    holders: list[Sdf.Path] = []
    layer.Traverse("/", holders.append)
    assert [str(path) for path in holders if path.name == "points"] == [
        "/GeometryLibrary/part.points",
        "/GeometryLibrary/part_1.points",
    ]


def test_robot_named_like_a_library_class_is_bundled(tmp_path: Path) -> None:
    urdf = write_whole_robot(tmp_path)
    urdf.write_text(urdf.read_text().replace("whole robot", "GeometryLibrary"))
    options = ConvertOptions(layout=Layout.SINGLE)

    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))

    assert stage.GetPrimAtPath("/GeometryLibrary").GetKind() == "component"
    visual = stage.GetPrimAtPath("/GeometryLibrary/Geometry/torso/visual")
    assert len(visual.GetAttribute("points").Get()) == 4


@pytest.mark.parametrize("layout", list(Layout))
def test_moved_asset_resolves_all_files(tmp_path: Path, layout: Layout) -> None:
    asset = _asset(tmp_path, layout)
    (tmp_path / "elsewhere").mkdir()
    moved = asset.parent.rename(tmp_path / "elsewhere/robot") / asset.name

    stage = Usd.Stage.Open(str(moved))
    _, _, unresolved = UsdUtils.ComputeAllDependencies(str(moved))

    assert stage.GetCompositionErrors() == []
    assert unresolved == []
    subset = stage.GetPrimAtPath("/whole_robot/Geometry/torso/visual/skin_one")
    appearance, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
    color = appearance.ComputeSurfaceSource()[0].GetInput("diffuseColor")
    (source,) = color.GetValueProducingAttributes()
    image = UsdShade.Shader(source.GetPrim()).GetInput("file").Get()
    assert image.resolvedPath.endswith(("Textures/skin.png", "Textures/skin.png]"))


@pytest.mark.parametrize("layout", list(Layout))
def test_every_layout_passes_openusd_validation(tmp_path: Path, layout: Layout) -> None:
    """All registered validators, including those of packages and variants."""
    urdf = write_whole_robot(tmp_path)
    asset = convert(urdf, tmp_path / "usd", ConvertOptions(layout=layout)).root_layer
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)
    stage = Usd.Stage.Open(str(asset))
    sets = stage.GetDefaultPrim().GetVariantSets()

    for physics, colliders in (("physics", "colliders"), ("none", "none")):
        sets.SetSelection("Physics", physics)
        sets.SetSelection("Colliders", colliders)
        errors = context.Validate(stage)
        assert [f"{e.GetName()}: {e.GetMessage()}" for e in errors] == []


_FORMER = {
    **{layout.value: ConvertOptions(layout=layout) for layout in Layout},
    **{one.value: ConvertOptions(profile=one) for one in (Profile.ROS, Profile.ISAAC)},
    "runnables": ConvertOptions(
        profile=Profile.SIMREADY, physics_variants=True, metadata=(("robot_type", "Humanoid"),)
    ),
    "variants": ConvertOptions(physics_variants=True),
}


@pytest.mark.parametrize("former", _FORMER)
def test_every_asset_replaces_any_other(tmp_path: Path, former: str) -> None:
    """No file of the former asset remains; a repeated conversion has the same bytes."""
    urdf = write_whole_robot(tmp_path)
    convert(urdf, tmp_path / "usd", _FORMER[former])
    for name in (former, *Layout):
        asset = convert(urdf, tmp_path / "usd", _FORMER[name]).root_layer
        fresh = convert(urdf, tmp_path / f"new {name}", _FORMER[name])

        assert asset.is_file()
        assert _files(tmp_path / "usd") == _files(fresh.root_layer.parent)
