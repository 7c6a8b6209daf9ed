"""Materials as a renderer sees them: bound looks, textures and where they lie."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdShade, UsdUtils, UsdValidation

from converter import ConvertOptions, convert
from converter.usd.shading import MaterialNetworks

if TYPE_CHECKING:
    from converter.conversion import Conversion

# The sRGB values 0.5 and 0.25 in linear light (IEC 61966-2-1).
HALF, QUARTER = 0.21404114, 0.05087609

# Two triangles and a quadrilateral; every corner has a texture coordinate.
SURFACE = """mtllib part.mtl
v 0.1 0.2 0.3
v 1.4 0.0 -0.2
v 1.2 1.1 0.1
v -0.1 0.9 0.2
v 0.5 0.4 1.6
vt 0.1 0.2
vt 0.9 0.3
vt 0.8 0.7
vt 0.2 0.6
"""
FACES = ("f 4/4 3/3 2/2 1/1", "f 1/1 2/2 5/3", "f 2/1 3/4 5/3")


def png(shade: int) -> bytes:
    """Make a PNG file of one grey pixel."""
    chunks = {
        b"IHDR": b"\0\0\0\1\0\0\0\1\x08\0\0\0\0",
        b"IDAT": zlib.compress(bytes([0, shade])),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big")
        + name
        + data
        + zlib.crc32(name + data).to_bytes(4, "big")
        for name, data in chunks.items()
    )


def robot(
    folder: Path,
    visuals: str,
    networks: MaterialNetworks = MaterialNetworks.PREVIEW,
) -> tuple[Conversion, Usd.Stage]:
    """Convert a robot of one link with these visuals."""
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{visuals}</link></robot>')
    options = ConvertOptions(materials=networks)
    conversion = convert(urdf, folder / "asset", options)
    return conversion, Usd.Stage.Open(str(conversion.root_layer))


def visual(mesh: str, material: str = "") -> str:
    """Write a visual that shows a mesh file."""
    return f'<visual><geometry><mesh filename="{mesh}"/></geometry>{material}</visual>'


def parted(folder: Path, materials: str, *names: str) -> None:
    """Write part.obj, whose faces have these materials, and its library."""
    lines = [
        f"usemtl {name}\n{face}" if name else face
        for name, face in zip(names, FACES, strict=True)
    ]
    (folder / "part.obj").write_text(SURFACE + "\n".join(lines) + "\n")
    (folder / "part.mtl").write_text(materials)


def surface(prim: Usd.Prim) -> UsdShade.Shader:
    """Return the preview surface that is bound to a prim."""
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    return material.ComputeSurfaceSource()[0]


def rules(conversion: Conversion) -> list[str]:
    """Rules that the conversion cites."""
    return [diagnostic.rule for diagnostic in conversion.diagnostics]


URDF_BLUE = '<material name="blue"><color rgba="0 0.25 0.5 0.75"/></material>'
RED = "newmtl red\nKd 0.5 0.25 0\nKe 0 0 0.5\nd 0.75\n"
GREEN = "newmtl green one\nKd 0 1 0\n"


def test_one_material_of_the_mesh_wins_and_needs_no_subset(tmp_path: Path) -> None:
    """Colours are linear, and the URDF's material is reported as not used."""
    parted(tmp_path, RED, "red", "", "")

    conversion, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    assert not prim.GetChildren()
    shader = surface(prim)
    np.testing.assert_allclose(
        shader.GetInput("diffuseColor").Get(), (HALF, QUARTER, 0), rtol=1e-6
    )
    np.testing.assert_allclose(
        shader.GetInput("emissiveColor").Get(), (0, 0, HALF), rtol=1e-6
    )
    assert shader.GetInput("opacity").Get() == 0.75
    assert "material-overridden" in rules(conversion)


def test_several_materials_are_subsets_bound_one_by_one(tmp_path: Path) -> None:
    """All faces are in one of the subsets, each of which shows its own colour."""
    parted(tmp_path, RED + GREEN, "red", "green one", "red")

    _, stage = robot(tmp_path, visual("part.obj"))

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    subsets = {
        subset.GetPrim().GetName(): list(subset.GetIndicesAttr().Get())
        for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    }
    assert subsets == {"red": [0, 2], "green_one": [1]}
    assert UsdGeom.Subset.GetFamilyType(UsdGeom.Imageable(prim), "materialBind") == (
        "partition"
    )
    green = surface(prim.GetChildren()[1])
    assert tuple(green.GetInput("diffuseColor").Get()) == (0, 1, 0)
    assert not UsdShade.MaterialBindingAPI(prim).GetDirectBinding().GetMaterial()


def test_the_urdf_material_is_bound_to_faces_that_have_none(tmp_path: Path) -> None:
    """The whole visual has it; the subset overrides it."""
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


def test_a_missing_material_library_leaves_the_urdf_material(tmp_path: Path) -> None:
    """And is reported."""
    parted(tmp_path, "", "red", "red", "red")
    (tmp_path / "part.mtl").unlink()

    conversion, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))

    bound = surface(stage.GetPrimAtPath("/r/Geometry/a/visual"))
    assert bound.GetInput("opacity").Get() == 0.75
    assert "mesh-partial" in rules(conversion)


TEXTURED = (
    '<material name="t"><color rgba="0.5 0.25 0 1"/><texture filename="{}"/></material>'
)


def test_a_texture_is_copied_and_read_at_the_texture_coordinates(
    tmp_path: Path,
) -> None:
    """The network of the UsdPreviewSurface specification, and nothing outside."""
    parted(tmp_path, "", "", "", "")
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "a b.png").write_bytes(png(99))

    conversion, stage = robot(
        tmp_path, visual("part.obj", TEXTURED.format("looks/a b.png"))
    )

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    diffuse = surface(prim).GetInput("diffuseColor")
    image = UsdShade.Shader(diffuse.GetConnectedSources()[0][0].source.GetPrim())
    assert image.GetIdAttr().Get() == "UsdUVTexture"
    assert image.GetInput("sourceColorSpace").Get() == "sRGB"
    assert image.GetInput("wrapS").Get() == image.GetInput("wrapT").Get() == "repeat"
    np.testing.assert_allclose(
        image.GetInput("fallback").Get(), (HALF, QUARTER, 0, 1), rtol=1e-6
    )
    file = image.GetInput("file").Get()
    assert Path(file.resolvedPath) == tmp_path / "asset/payload/Textures/a_b.png"
    assert Path(file.resolvedPath).read_bytes() == png(99)
    reader = image.GetInput("st").GetConnectedSources()[0][0].source
    assert reader.GetInput("varname").Get() == "st"
    primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("st")
    corners = [[0.2, 0.6], [0.8, 0.7], [0.9, 0.3], [0.1, 0.2]]
    np.testing.assert_allclose(primvar.ComputeFlattened()[:4], corners, rtol=1e-6)
    layers, assets, unresolved = UsdUtils.ComputeAllDependencies(
        str(conversion.root_layer)
    )
    assert unresolved == []
    inside = [*(layer.realPath for layer in layers), *map(str, assets)]
    assert all(Path(one).is_relative_to(tmp_path / "asset") for one in inside)
    assert len(assets) == 1


def test_equal_images_are_one_file_and_equal_names_are_two(tmp_path: Path) -> None:
    """Content decides; names are made unique in the order of use."""
    parted(tmp_path, "", "", "", "")
    for folder, shade in (("x", 10), ("y", 20), ("z", 10)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "skin.png").write_bytes(png(shade))
    looks = [TEXTURED.format(f"{folder}/skin.png") for folder in "xyz"]

    robot(tmp_path, "".join(visual("part.obj", look) for look in looks))

    textures = tmp_path / "asset/payload/Textures"
    assert {one.name: one.read_bytes() for one in textures.iterdir()} == {
        "skin.png": png(10),
        "skin_1.png": png(20),
    }


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
def test_where_a_texture_cannot_be_shown_its_colour_is(
    tmp_path: Path, shape: str, content: bytes | None, rule: str
) -> None:
    """Primitives, other formats, lost files, and meshes without coordinates."""
    parted(tmp_path, "", "", "", "")
    bare = re.sub(r"/\d", "", (tmp_path / "part.obj").read_text())
    (tmp_path / "bare.obj").write_text(bare)
    if content is not None:
        (tmp_path / "skin.png").write_bytes(content)
    material = TEXTURED.format("skin.png")

    conversion, stage = robot(
        tmp_path, f"<visual><geometry>{shape}</geometry>{material}</visual>"
    )

    color = surface(stage.GetPrimAtPath("/r/Geometry/a/visual")).GetInput(
        "diffuseColor"
    )
    np.testing.assert_allclose(color.Get(), (HALF, QUARTER, 0), rtol=1e-6)
    assert [name for name in rules(conversion) if "texture" in name] == [rule]
    assert not (tmp_path / "asset/payload/Textures").exists()


def test_the_texture_of_a_mesh_is_found_from_the_mesh(tmp_path: Path) -> None:
    """Also if it lies outside the folders of the mesh, which is said."""
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


def test_openpbr_stands_beside_the_preview_surface(tmp_path: Path) -> None:
    """Each render context finds its own surface with the same colour and image."""
    parted(tmp_path, RED + GREEN, "red", "green one", "red")
    (tmp_path / "skin.png").write_bytes(png(7))
    body = visual("part.obj") + visual("part.obj", TEXTURED.format("skin.png"))
    parted(tmp_path, RED, "", "red", "red")

    _, stage = robot(tmp_path, body, MaterialNetworks.OPENPBR)

    (subset,) = stage.GetPrimAtPath("/r/Geometry/a/visual").GetChildren()
    material, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
    preview = material.ComputeSurfaceSource()[0]
    openpbr = material.ComputeSurfaceSource("mtlx")[0]
    assert preview.GetIdAttr().Get() == "UsdPreviewSurface"
    assert openpbr.GetIdAttr().Get() == "ND_open_pbr_surface_surfaceshader"
    color = openpbr.GetInput("base_color").Get()
    assert color == preview.GetInput("diffuseColor").Get()
    assert openpbr.GetInput("geometry_opacity").Get() == 0.75
    whole, _ = UsdShade.MaterialBindingAPI(
        stage.GetPrimAtPath("/r/Geometry/a/visual_1")
    ).ComputeBoundMaterial()
    base = whole.ComputeSurfaceSource("mtlx")[0].GetInput("base_color")
    image = UsdShade.Shader(base.GetConnectedSources()[0][0].source.GetPrim())
    assert image.GetIdAttr().Get() == "ND_image_color3"
    assert image.GetInput("file").GetAttr().GetColorSpace() == "srgb_texture"
    assert image.GetInput("file").Get().resolvedPath.endswith("Textures/skin.png")


def test_openusd_finds_nothing_wrong_with_textured_assets(tmp_path: Path) -> None:
    """Subsets, textures and bindings satisfy all validators."""
    (tmp_path / "skin.png").write_bytes(png(7))
    parted(tmp_path, RED + "newmtl s\nmap_Kd skin.png\n", "red", "s", "red")
    _, stage = robot(tmp_path, visual("part.obj", URDF_BLUE))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()

    errors = UsdValidation.ValidationContext(validators).Validate(stage)

    assert [f"{error.GetName()}: {error.GetMessage()}" for error in errors] == []


def test_materials_are_written_into_their_own_layers(tmp_path: Path) -> None:
    """Neither the geometry layer nor the mesh library names a material."""
    parted(tmp_path, RED + GREEN, "red", "green one", "red")
    robot(tmp_path, visual("part.obj"))

    payload = tmp_path / "asset/payload"
    for name in ("Geometry.usda", "GeometryLibrary.usdc"):
        text = Sdf.Layer.FindOrOpen(str(payload / name)).ExportToString()
        assert "material:binding" not in text
        assert "Shader" not in text
