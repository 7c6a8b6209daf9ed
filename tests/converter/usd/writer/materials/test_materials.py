"""Bindings, textures and shader inputs of converted materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.textured_meshes import (
    parted,
    png,
    robot,
    rules,
    surface,
    visual,
)
from urdf_usd.conformance.engines.mesh_materials import image_digest

# The sRGB values 0.5 and 0.25 in linear light (IEC 61966-2-1).
HALF, QUARTER = 0.21404114, 0.05087609


TEXTURED = '<material name="t"><color rgba="0.5 0.25 0 1"/><texture filename="{}"/></material>'


@pytest.mark.parametrize("form", ["GIF", "TIFF", "BMP", "TGA"])
def test_other_images_are_written_as_png_with_equal_pixels(form: str, tmp_path: Path) -> None:
    """Without metadata, so that bytes depend on the pixels alone."""
    parted(tmp_path, "", "", "", "")
    pixels = np.arange(36, dtype=np.uint8).reshape(4, 3, 3) * 7
    Image.fromarray(pixels).save(tmp_path / "skin.x", form)

    conversion, _ = robot(tmp_path, visual("part.obj", TEXTURED.format("skin.x")))

    assert "texture-dropped" not in rules(conversion)
    written = tmp_path / "asset/payload/Textures/skin.png"
    with Image.open(written, formats=["PNG"]) as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)
        assert not image.info


@pytest.mark.parametrize("order", ["<", ">"])
def test_image_of_16_bits_keeps_them(order: str, tmp_path: Path) -> None:
    """In TIFF of either order of bytes."""
    parted(tmp_path, "", "", "", "")
    grey = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    mode = {"<": "I;16", ">": "I;16B"}[order]
    data = grey.astype(f"{order}u2").tobytes()
    Image.frombytes(mode, (4, 3), data).save(tmp_path / "skin.tif")

    robot(tmp_path, visual("part.obj", TEXTURED.format("skin.tif")))

    written = tmp_path / "asset/payload/Textures/skin.png"
    with Image.open(written) as image:
        np.testing.assert_array_equal(np.asarray(image), grey)
    source = (tmp_path / "skin.tif").read_bytes()
    assert image_digest(source) == image_digest(written.read_bytes()) is not None


def test_image_with_too_many_pixels_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may become an image that fills the memory."""
    parted(tmp_path, "", "", "", "")
    Image.new("RGB", (40, 40)).save(tmp_path / "skin.gif")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1500)

    conversion, _ = robot(tmp_path, visual("part.obj", TEXTURED.format("skin.gif")))

    assert "texture-dropped" in rules(conversion)


def test_texture_of_a_mesh_is_found_relative_to_the_mesh(tmp_path: Path) -> None:
    """Also outside the folders of the mesh, which is reported."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>p</name></package>")
    parted(package, "newmtl m\nmap_Kd ../skin.png\n", "m", "m", "m")
    (tmp_path / "skin.png").write_bytes(png(7))

    conversion, stage = robot(package, visual("part.obj"))

    assert [d.message for d in conversion.diagnostics if d.rule == "file-outside"] == [
        f"{package}/../skin.png lies outside the folders of its mesh; it is used"
    ]
    assert (package / "asset/payload/Textures/skin.png").read_bytes() == png(7)
    assert surface(stage.GetPrimAtPath("/r/Geometry/a/visual")).GetInput("diffuseColor")


def test_gltf_buffer_outside_the_package_is_reported(tmp_path: Path) -> None:
    """The file may be of unknown origin and refer to any other file."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>p</name></package>")
    document = triangle()
    (package / "part.gltf").write_bytes(document.text("../numbers.bin"))
    (tmp_path / "numbers.bin").write_bytes(document.content)

    conversion, _ = robot(package, visual("part.gltf"))

    assert rules(conversion) == ["robot-static", "file-outside"]
