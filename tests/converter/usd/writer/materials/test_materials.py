"""Images of converted materials, and files outside of the folders of a mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.textured_meshes import png, robot, surface, visual
from urdf_usd.conformance.engines.mesh_materials import image_digest

# Two triangles and a quadrilateral; every corner has a texture coordinate.
_PLAIN = Path(__file__).parents[4] / "data/assets/plain.obj"


def _written(image: Path) -> tuple[list[str], Path]:
    """Convert a robot with an image; return the rules that are reported, and the new file."""
    material = f'<material name="t"><texture filename="{image}"/></material>'
    conversion, _ = robot(image.parent, visual(str(_PLAIN), material))
    rules = [diagnostic.rule for diagnostic in conversion.diagnostics]
    return rules, image.parent / "asset/payload/Textures/skin.png"


@pytest.mark.parametrize("form", ["GIF", "TIFF", "BMP", "TGA"])
def test_other_images_are_written_as_png_with_equal_pixels(form: str, tmp_path: Path) -> None:
    """Without metadata, so that bytes depend on the pixels alone."""
    pixels = np.arange(36, dtype=np.uint8).reshape(4, 3, 3) * 7
    Image.fromarray(pixels).save(tmp_path / "skin.x", form)

    rules, written = _written(tmp_path / "skin.x")

    assert "texture-dropped" not in rules
    with Image.open(written, formats=["PNG"]) as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)
        assert not image.info


@pytest.mark.parametrize(("order", "mode"), [("<", "I;16"), (">", "I;16B")])
def test_image_of_16_bits_keeps_them(order: str, mode: str, tmp_path: Path) -> None:
    """In TIFF of either order of bytes."""
    grey = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    source = tmp_path / "skin.tif"
    Image.frombytes(mode, (4, 3), grey.astype(f"{order}u2").tobytes()).save(source)

    _, written = _written(source)

    with Image.open(written) as image:
        np.testing.assert_array_equal(np.asarray(image), grey)
    assert image_digest(source.read_bytes()) == image_digest(written.read_bytes()) is not None


def test_image_with_too_many_pixels_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may become an image that fills the memory."""
    Image.new("RGB", (40, 40)).save(tmp_path / "skin.gif")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1500)

    assert "texture-dropped" in _written(tmp_path / "skin.gif")[0]


def test_files_of_meshes_outside_of_their_package_are_used_and_reported(tmp_path: Path) -> None:
    """The file may be of unknown origin and refer to any other file."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>p</name></package>")
    surface_text = _PLAIN.read_text().replace("mtllib plain.mtl", "mtllib part.mtl\nusemtl m")
    (package / "part.obj").write_text(surface_text)
    (package / "part.mtl").write_text("newmtl m\nmap_Kd ../skin.png\n")
    (tmp_path / "skin.png").write_bytes(png(7))
    document = triangle()
    (package / "part.gltf").write_bytes(document.text("../numbers.bin"))
    (tmp_path / "numbers.bin").write_bytes(document.content)

    conversion, stage = robot(package, visual("part.obj") + visual("part.gltf"))

    outside = [d.message for d in conversion.diagnostics if d.rule == "file-outside"]
    end = "lies outside the folders of its mesh; it is used"
    assert sorted(outside) == [f"{package}/../{name} {end}" for name in ("numbers.bin", "skin.png")]
    assert (package / "asset/payload/Textures/skin.png").read_bytes() == png(7)
    assert surface(stage.GetPrimAtPath("/r/Geometry/a/visual")).GetInput("diffuseColor")
