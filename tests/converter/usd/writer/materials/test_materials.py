"""Bindings, textures and shader inputs of converted materials."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import UsdGeom

from tests.converter.meshes.gltf_files import UV, triangle
from tests.converter.usd.textured_meshes import (
    FACES,
    SURFACE,
    parted,
    png,
    robot,
    rules,
    source,
    surface,
    visual,
)
from urdf_usd.conformance.engines.mesh_materials import image_digest

# The sRGB values 0.5 and 0.25 in linear light (IEC 61966-2-1).
HALF, QUARTER = 0.21404114, 0.05087609

URDF_BLUE = '<material name="blue"><color rgba="0 0.25 0.5 0.75"/></material>'
RED = "newmtl red\nKd 0.5 0.25 0\nKe 0 0 0.5\nd 0.75\n"


def test_single_mesh_material_overrides_the_urdf_material(tmp_path: Path) -> None:
    """Without a subset; the URDF's material is reported as not used."""
    parted(tmp_path, RED, "red", "", "")

    conversion, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    assert not prim.GetChildren()
    shader = surface(prim)
    np.testing.assert_allclose(shader.GetInput("diffuseColor").Get(), (HALF, QUARTER, 0), rtol=1e-6)
    np.testing.assert_allclose(shader.GetInput("emissiveColor").Get(), (0, 0, HALF), rtol=1e-6)
    assert shader.GetInput("opacity").Get() == 0.75
    assert "material-overridden" in rules(conversion)


def test_urdf_material_is_bound_to_faces_without_material(tmp_path: Path) -> None:
    """To the whole visual; the subset overrides it."""
    parted(tmp_path, RED, "", "red", "")
    (tmp_path / "part.obj").write_text(
        SURFACE + f"{FACES[0]}\nusemtl red\n{FACES[1]}\n{FACES[2]}\n"
    )

    conversion, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    (subset,) = prim.GetChildren()
    assert list(UsdGeom.Subset(subset).GetIndicesAttr().Get()) == [1, 2]
    whole = surface(prim).GetInput("diffuseColor").Get()
    np.testing.assert_allclose(whole, (0, QUARTER, HALF), rtol=1e-6)
    assert surface(subset).GetInput("opacity").Get() == 0.75
    assert "material-overridden" not in rules(conversion)


def test_urdf_material_is_used_if_the_mtl_file_is_missing(tmp_path: Path) -> None:
    """The missing file is reported."""
    parted(tmp_path, "", "red", "red", "red")
    (tmp_path / "part.mtl").unlink()

    conversion, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))

    bound = surface(stage.GetPrimAtPath("/r/Geometry/a/visual"))
    assert bound.GetInput("opacity").Get() == 0.75
    assert "mesh-partial" in rules(conversion)


TEXTURED = '<material name="t"><color rgba="0.5 0.25 0 1"/><texture filename="{}"/></material>'


def test_equal_images_are_copied_once_and_equal_names_are_numbered(
    tmp_path: Path,
) -> None:
    """Names are made unique in the order of use."""
    parted(tmp_path, "", "", "", "")
    for folder, shade in (("x", 10), ("y", 20), ("z", 10)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "skin.png").write_bytes(png(shade))
    appearances = [TEXTURED.format(f"{folder}/skin.png") for folder in "xyz"]

    robot(tmp_path, "".join(visual("part.obj", appearance) for appearance in appearances))

    textures = tmp_path / "asset/payload/Textures"
    assert {one.name: one.read_bytes() for one in textures.iterdir()} == {
        "skin.png": png(10),
        "skin_1.png": png(20),
    }


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


@pytest.mark.parametrize(
    ("shape", "content", "rule"),
    [
        ('<box size="1 2 3"/>', png(50), "texture-dropped"),
        ('<mesh filename="part.obj"/>', b"GIF89a", "texture-dropped"),
        ('<mesh filename="part.obj"/>', None, "texture-missing"),
        ('<mesh filename="bare.obj"/>', png(50), "texture-dropped"),
    ],
    ids=["primitive", "gif", "lost", "no coordinates"],
)
def test_colour_is_used_if_a_texture_cannot_be_shown(
    tmp_path: Path, shape: str, content: bytes | None, rule: str
) -> None:
    """Primitives, damaged files, missing files, meshes without texture coordinates."""
    parted(tmp_path, "", "", "", "")
    bare = re.sub(r"/\d", "", (tmp_path / "part.obj").read_text())
    (tmp_path / "bare.obj").write_text(bare)
    if content is not None:
        (tmp_path / "skin.png").write_bytes(content)
    material = TEXTURED.format("skin.png")

    conversion, stage = robot(tmp_path, f"<visual><geometry>{shape}</geometry>{material}</visual>")

    color = surface(stage.GetPrimAtPath("/r/Geometry/a/visual")).GetInput("diffuseColor")
    np.testing.assert_allclose(color.Get(), (HALF, QUARTER, 0), rtol=1e-6)
    assert [name for name in rules(conversion) if "texture" in name] == [rule]
    assert not (tmp_path / "asset/payload/Textures").exists()


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


def test_embedded_gltf_images_are_written_with_unique_names(
    tmp_path: Path,
) -> None:
    """The mesh states doubleSided as the file does."""
    for name, shade in (("one", 10), ("two", 20)):
        document = triangle(
            pbrMetallicRoughness={"baseColorTexture": {"index": 0}},
            doubleSided=name == "one",
        )
        image = document.view(png(shade))
        document.add("images", {"bufferView": image, "name": "skin"})
        document.add("textures", {"source": 0})
        (tmp_path / f"{name}.glb").write_bytes(document.glb())

    conversion, stage = robot(tmp_path, visual("one.glb") + visual("two.glb"))

    assert rules(conversion) == ["robot-static"]
    textures = tmp_path / "asset/payload/Textures"
    assert {one.name: one.read_bytes() for one in textures.iterdir()} == {
        "skin.png": png(10),
        "skin_1.png": png(20),
    }
    first, second = (
        stage.GetPrimAtPath(f"/r/Geometry/a/{name}") for name in ("visual", "visual_1")
    )
    assert UsdGeom.Mesh(first).GetDoubleSidedAttr().Get()
    assert not UsdGeom.Mesh(second).GetDoubleSidedAttr().Get()
    image_shader, _ = source(surface(second), "diffuseColor")
    path = image_shader.GetInput("file").Get().resolvedPath
    assert Path(path) == textures / "skin_1.png"


def test_second_texture_coordinates_are_a_separate_primvar(tmp_path: Path) -> None:
    """A texture uses the first set if the mesh lacks its own."""
    document = triangle(pbrMetallicRoughness={"baseColorTexture": {"index": 0, "texCoord": 1}})
    document.add("images", {"bufferView": document.view(png(1)), "name": "skin"})
    document.add("textures", {"source": 0})
    attributes = document.root["meshes"][0]["primitives"][0]["attributes"]
    (tmp_path / "bare.glb").write_bytes(document.glb())
    attributes["TEXCOORD_1"] = document.accessor(UV[::-1].copy())
    (tmp_path / "rich.glb").write_bytes(document.glb())

    _, stage = robot(tmp_path, visual("rich.glb") + visual("bare.glb"))

    names = []
    for name in ("visual", "visual_1"):
        prim = stage.GetPrimAtPath(f"/r/Geometry/a/{name}")
        image, _ = source(surface(prim), "diffuseColor")
        reader, _ = source(image, "st")
        names.append(reader.GetInput("varname").Get())
        assert UsdGeom.PrimvarsAPI(prim).HasPrimvar(names[-1])
    assert names == ["st1", "st"]


def test_gltf_vertex_colours_are_connected_to_the_material(tmp_path: Path) -> None:
    """By a primvar reader: renderers ignore displayColor if a material is bound."""
    document = triangle(pbrMetallicRoughness={"baseColorFactor": [0.5, 1, 0.25, 1]})
    colors = np.array([[1, 0, 0.2], [0, 0.4, 1], [0.2, 0.2, 0.2]], "<f4")
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["COLOR_0"] = document.accessor(colors)
    (tmp_path / "part.glb").write_bytes(document.glb())

    _, stage = robot(tmp_path, visual("part.glb"))

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    reader, output = source(surface(prim), "diffuseColor")
    assert reader.GetIdAttr().Get() == "UsdPrimvarReader_float3"
    assert (reader.GetInput("varname").Get(), output) == ("displayColor", "result")
    shown = UsdGeom.Gprim(prim).GetDisplayColorPrimvar().ComputeFlattened()
    np.testing.assert_allclose(shown, colors * [0.5, 1, 0.25], atol=1e-7)


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


def test_obj_textures_are_connected_to_their_inputs(tmp_path: Path) -> None:
    """Colour and emission are sRGB, opacity is raw."""
    for shade, name in enumerate(("kd", "ke", "d")):
        (tmp_path / f"{name}.png").write_bytes(png(shade))
    maps = "map_Kd -clamp on kd.png\nmap_Ke ke.png\nmap_d -s 2 3 d.png\n"
    parted(tmp_path, f"newmtl m\n{maps}", "m", "m", "m")

    _, stage = robot(tmp_path, visual("part.obj"))

    shader = surface(stage.GetPrimAtPath("/r/Geometry/a/visual"))
    found = {}
    for name in ("diffuseColor", "emissiveColor", "opacity"):
        image, output = source(shader, name)
        space = image.GetInput("sourceColorSpace").Get()
        file = Path(image.GetInput("file").Get().path).name
        found[name] = (file, output, space, image.GetInput("wrapS").Get())
    assert found == {
        "diffuseColor": ("kd.png", "rgb", "sRGB", "clamp"),
        "emissiveColor": ("ke.png", "rgb", "sRGB", "repeat"),
        "opacity": ("d.png", "r", "raw", "repeat"),
    }
    transforms, _ = source(source(shader, "opacity")[0], "st")
    assert transforms.GetIdAttr().Get() == "UsdTransform2d"
    assert tuple(transforms.GetInput("scale").Get()) == (2, 3)
