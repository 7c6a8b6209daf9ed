"""Textures of meshes, in URDF and after a conversion of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pxr import Usd, UsdGeom, UsdUtils

from tests.converter.usd.textured_meshes import png, source, surface
from urdf_usd.conformance.export.files import export
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import AuthoringError
from urdf_usd.converter.urdf.parse import parse

_STAGES = Path(__file__).parents[2] / "data/usd/stages/textures_export.json"


def _textured(folder: Path) -> None:
    """Write a link with a mesh whose colour is an image."""
    (folder / "image.png").write_bytes(png(50))
    stages = json.loads(_STAGES.read_text(encoding="utf-8"))
    (folder / "r.usda").write_text("\n".join(next(iter(stages.values()))["stage"]))


def test_texture_is_written_and_converted_back(tmp_path: Path) -> None:
    """Its coordinates are in the stored stages."""
    _textured(tmp_path)

    written = export(tmp_path / "r.usda", tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (visual,) = parse(written.urdf).robot.links[0].visuals
    assert visual.material
    assert visual.material.name == "skin"
    assert visual.material.texture_path
    assert Path(visual.material.texture_path).read_bytes() == png(50)
    stage = Usd.Stage.Open(str(convert(written.urdf, tmp_path / "usd").root_layer))
    meshes = Usd.PrimRange(stage.GetDefaultPrim(), Usd.TraverseInstanceProxies())
    (prim,) = (one for one in meshes if one.IsA(UsdGeom.Mesh))
    image, _ = source(surface(prim), "diffuseColor")
    assert Path(image.GetInput("file").Get().resolvedPath).read_bytes() == png(50)


def test_second_export_replaces_the_first(tmp_path: Path) -> None:
    usd = tmp_path / "r.usda"
    _textured(tmp_path)
    export(usd, tmp_path / "out/r.urdf")

    export(usd, tmp_path / "out/r.urdf")

    (image,) = (tmp_path / "out/meshes").glob("*.png")
    image.write_bytes(png(51))
    with pytest.raises(AuthoringError, match=r"image_\w+\.png was not written"):
        export(usd, tmp_path / "out/r.urdf")


def test_texture_in_a_package_is_written(tmp_path: Path) -> None:
    _textured(tmp_path)
    package = tmp_path / "r.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "r.usda"), str(package))

    written = export(package, tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (image,) = (tmp_path / "out/meshes").glob("*.png")
    assert image.read_bytes() == png(50)


@pytest.mark.parametrize("image", [b"GIF89a", None])
def test_texture_without_image_is_left_out(tmp_path: Path, image: bytes | None) -> None:
    _textured(tmp_path)
    (tmp_path / "image.png").unlink()
    if image is not None:
        (tmp_path / "image.png").write_bytes(image)

    written = export(tmp_path / "r.usda", tmp_path / "out/r.urdf")

    assert [one.rule for one in written.diagnostics] == ["texture-dropped"]
    assert "<texture" not in written.urdf.read_text()
