"""Single-layer and USDZ assets are equivalent to the layered asset; assets replace each other."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Usd, UsdShade, UsdUtils, UsdValidation

from tests.converter.usd.composed import composed
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout, MaterialNetworks
from urdf_usd.converter.usd.writer.layouts import write_package

_WHOLE = Path(__file__).parents[3] / "data/assets/whole.urdf"


def _asset(folder: Path, layout: Layout, **options: Any) -> Path:  # noqa: ANN401  of any type
    chosen = ConvertOptions(layout=layout, **options)
    return convert(_WHOLE, folder / f"{layout}", chosen).root_layer


def _select(stage: Usd.Stage, physics: str, colliders: str) -> None:
    sets = stage.GetDefaultPrim().GetVariantSets()
    sets.SetSelection("Physics", physics)
    sets.SetSelection("Colliders", colliders)


def test_layouts_compose_to_the_same_stage_in_all_variants(tmp_path: Path) -> None:
    options = {"materials": MaterialNetworks.OPENPBR, "physics_variants": True}
    stages = [Usd.Stage.Open(str(_asset(tmp_path, layout, **options))) for layout in Layout]
    for physics in ("newton", "physx", "mujoco", "none"):
        for colliders in ("colliders", "none"):
            for stage in stages:
                _select(stage, physics, colliders)
            layered, *others = map(composed, stages)
            for other in others:
                assert other == layered
                assert list(other) == list(layered)


def test_robot_named_like_a_library_class_is_bundled(tmp_path: Path) -> None:
    urdf = tmp_path / "whole.urdf"
    urdf.write_text(_WHOLE.read_text().replace("whole robot", "GeometryLibrary"))
    (tmp_path / "part.obj").symlink_to(_WHOLE.with_name("part.obj"))
    options = ConvertOptions(layout=Layout.SINGLE)

    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))

    assert stage.GetPrimAtPath("/GeometryLibrary").GetKind() == "component"
    visual = stage.GetPrimAtPath("/GeometryLibrary/Geometry/torso/visual")
    assert len(visual.GetAttribute("points").Get()) == 4


@pytest.mark.parametrize("layout", list(Layout))
def test_moved_asset_is_valid_and_resolves_all_files(tmp_path: Path, layout: Layout) -> None:
    asset = _asset(tmp_path, layout)
    (tmp_path / "elsewhere").mkdir()
    moved = asset.parent.rename(tmp_path / "elsewhere/robot") / asset.name
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)

    stage = Usd.Stage.Open(str(moved))
    _, _, unresolved = UsdUtils.ComputeAllDependencies(str(moved))

    assert stage.GetCompositionErrors() == []
    assert unresolved == []
    subset = stage.GetPrimAtPath("/whole_robot/Geometry/torso/visual/skin_one")
    appearance, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
    (source,) = (
        appearance.ComputeSurfaceSource()[0].GetInput("diffuseColor").GetValueProducingAttributes()
    )
    image = UsdShade.Shader(source.GetPrim()).GetInput("file").Get()
    assert image.resolvedPath.endswith(("Textures/skin.png", "Textures/skin.png]"))
    for physics, colliders in (("physics", "colliders"), ("none", "none")):
        _select(stage, physics, colliders)
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
    convert(_WHOLE, tmp_path / "usd", _FORMER[former])
    for name in (former, *Layout):
        made = (
            convert(_WHOLE, tmp_path / folder, _FORMER[name]).root_layer.parent
            for folder in ("usd", f"new {name}")
        )
        replaced, fresh = (
            {p.relative_to(asset): p.is_file() and p.read_bytes() for p in asset.rglob("*")}
            for asset in made
        )
        assert replaced == fresh


def _write(folder: Path, contents: list[bytes]) -> Path:
    files = []
    for number, content in enumerate(contents):
        # Names of every length, some of them in folders, some beyond ASCII.
        name = f"{'ä' if number % 3 == 1 else 'x'}{'y' * number}.bin"
        file = folder / ("deep" if number % 2 else ".") / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        files.append(file)
    write_package(folder / "p.usdz", folder, files)
    return folder / "p.usdz"


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=9))
def test_files_of_a_package_are_aligned_to_64_bytes(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    """Stored without compression and encryption."""
    package = _write(tmp_path_factory.mktemp("package"), contents)

    raw = package.read_bytes()
    with zipfile.ZipFile(package) as archive:
        assert archive.testzip() is None
        members = archive.infolist()
    for member, content in zip(members, contents, strict=True):
        header = raw[member.header_offset :][:30]
        # Behind the name and the extra field, whose lengths are at the end of the header.
        start = member.header_offset + 30
        start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:], "little")
        assert start % 64 == 0
        assert raw[start : start + len(content)] == content
        assert (member.compress_type, member.flag_bits & 1) == (zipfile.ZIP_STORED, 0)


def test_package_above_the_zip_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)

    with pytest.raises(OSError, match="may not exceed 2 GiB"):
        _write(tmp_path, [bytes(80), bytes(80)])
