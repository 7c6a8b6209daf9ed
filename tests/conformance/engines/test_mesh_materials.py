"""Materials of mesh files are reported as their formats define them."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.converter.usd.textured_meshes import png
from urdf_usd.conformance.engines.mesh_materials import FileMaterial, image_digest
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.conformance.observation.shapes import Appearance, Role
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import CheckRecord, Grade

STILL = Configurations((), (), ("zero",))
# sRGB components and their linear values, from the table of IEC 61966-2-1.
HALF, HALF_LIGHT = 0.5, 0.21404114
FIFTH, FIFTH_LIGHT = 0.2, 0.03310477
PAINT = '<material name="own"><color rgba="0.5 0 1 0.25"/></material>'

BARE_OBJ = """o convex_0
v 0 0 0
v 1 0 0
v 0 1 0
f 1 2 3
o 1
v 0 0 2
f 1 2 4
"""
# Triangles of 0.5, 1 and 1.5 m^2.
OBJ = """mtllib looks.mtl
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 2
v 0 0 3
vt 0.1 0.2
f 1/1 2/1 3/1
usemtl red paint
f 1/1 2/1 4/1
usemtl skin
f 1/1 3/1 5/1
"""
LIBRARY = """newmtl red paint
Kd 0.5 0.2 1
Tr 0.25
newmtl skin
Kd 0.2 0.5 0.5
map_Kd -s 2 2 -clamp on skin image.png
map_d mask.png
d 0.5
"""


def _read(folder: Path, mesh: str, material: str = "", scale: str = "") -> Observation:
    (folder / "robot.urdf").write_text(
        f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{mesh}" '
        f"{scale}/></geometry>{material}</visual></link></robot>"
    )
    return ReferenceEngine().observe(Request(str(folder / "robot.urdf"), STILL))


def _looks(reading: Observation) -> tuple[Appearance, ...]:
    (shape,) = (shape for shape in reading.shapes if shape.role is Role.VISUAL)
    return tuple(sorted(shape.appearances, key=lambda look: look.area))


def _checks(folder: Path, reading: Observation) -> dict[str, CheckRecord]:
    """Convert the robot that was read, and compare."""
    layer = convert(folder / "robot.urdf", folder / "asset").root_layer
    usd = OpenusdEngine().observe(Request(str(layer), STILL))
    judgement = judge({"reference": Observed(reading)}, Observed(usd))
    return {check.id: check for check in judgement.checks}


def _obj(folder: Path, library: str = LIBRARY) -> None:
    (folder / "part.obj").write_text(OBJ)
    (folder / "looks.mtl").write_text(library)
    (folder / "skin image.png").write_bytes(png(80))
    (folder / "mask.png").write_bytes(png(120))


def _digest(content: bytes) -> str:
    with Image.open(BytesIO(content)) as image:
        shown = image.convert("RGBA")
    size = f"RGBA {shown.size}".encode()
    return hashlib.sha256(size + shown.tobytes()).hexdigest()


def test_obj_materials_have_areas_and_the_urdf_colour_fills_the_rest(
    tmp_path: Path,
) -> None:
    """Areas include the scale of the mesh."""
    _obj(tmp_path)
    reading = _read(tmp_path, "part.obj", PAINT, 'scale="2 2 2"')
    own, red, skin = _looks(reading)

    assert (own.area, red.area, skin.area) == pytest.approx((2.0, 4.0, 6.0))
    assert own.color == pytest.approx((HALF_LIGHT, 0.0, 1.0), abs=1e-7)
    assert (own.opacity, red.opacity, skin.opacity) == (0.25, 0.75, 0.5)
    assert red.color == pytest.approx((HALF_LIGHT, FIFTH_LIGHT, 1.0), abs=1e-7)
    # The colour is a factor of the texture.
    assert skin.color == pytest.approx((FIFTH_LIGHT, HALF_LIGHT, HALF_LIGHT), abs=1e-7)
    assert (skin.texture, skin.image) == (_digest(png(80)), "skin image.png")
    assert skin.mask == _digest(png(120))


def test_changed_material_library_is_read_again(tmp_path: Path) -> None:
    """The mesh that names it is unchanged."""
    _obj(tmp_path)
    before = load_mesh(str(tmp_path / "part.obj"))
    (tmp_path / "looks.mtl").write_text("newmtl skin\nKd 1\n")
    after = load_mesh(str(tmp_path / "part.obj"))

    assert before.materials[1].image is not None
    assert after.materials == (FileMaterial(), FileMaterial((1, 1, 1), (1, 1, 1)))


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("Kd 0.5", FileMaterial((HALF_LIGHT,) * 3, (HALF_LIGHT,) * 3)),
        ("Kd xyz 0.1 0.2 0.3", FileMaterial()),
        ("Kd 0 0 0", FileMaterial((0, 0, 0), None)),
        ("d -halo 0.25", FileMaterial(opacity=0.25)),
        ("d 0.75\nTr 0.9", FileMaterial(opacity=0.75)),
        ("d 0", FileMaterial()),
        ("Ke 0 0 0", FileMaterial()),
        ("Ke 0 0.5 0", FileMaterial(has_more=True)),
        ("Kd 1 1 1\nNi 1.33", FileMaterial((1, 1, 1), properties=(("ior", (1.33,)),))),
        # The fallback of a preview surface, and what the format does not allow.
        ("Kd 1 1 1\nNi 1.5", FileMaterial((1, 1, 1))),
        ("Kd 1 1 1\nNi 0", FileMaterial((1, 1, 1))),
        ("Kd 1 1 1\nNi glass", FileMaterial((1, 1, 1))),
    ],
)
def test_mtl_statements_are_read(statements: str, expected: FileMaterial, tmp_path: Path) -> None:
    """Colours that are not RGB, and black factors, are left undetermined."""
    _obj(tmp_path, f"newmtl skin\n{statements}\n")
    material = load_mesh(str(tmp_path / "part.obj")).materials[1]

    assert material.color == (
        None if expected.color is None else pytest.approx(expected.color, abs=1e-7)
    )
    assert (material.factor is None) == (expected.factor is None)
    assert material.opacity == expected.opacity
    assert material.defines_appearance == expected.defines_appearance
    assert dict(material.properties).get("ior") == dict(expected.properties).get("ior")


def _dae(folder: Path, *effects: str, params: str = "") -> None:
    """Write a document with two triangles, of 0.5 and 1 m^2."""
    materials, bound, triangles = "", "", ""
    for number, effect in enumerate(effects):
        materials += f"""<effect id="e{number}"><profile_COMMON>{params}
          <technique sid="t"><lambert>{effect}</lambert></technique>
          </profile_COMMON></effect>"""
        bound += f"""<instance_material symbol="s{number}" target="#m{number}"/>"""
        corner = 3 + number
        triangles += f"""<triangles count="1" material="s{number}">
          <input semantic="VERTEX" source="#v" offset="0"/>
          <input semantic="TEXCOORD" source="#t" offset="1" set="0"/>
          <p>0 0 1 0 {corner} 0</p></triangles>"""
    library = "".join(
        f'<material id="m{n}"><instance_effect url="#e{n}"/></material>'
        for n in range(len(effects))
    )
    (folder / "skin.png").write_bytes(png(80))
    (folder / "part.dae").write_text(f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><up_axis>Z_UP</up_axis></asset>
  <library_images><image id="i"><init_from>skin.png</init_from></image></library_images>
  <library_effects>{materials}</library_effects>
  <library_materials>{library}</library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="q" count="15">
      0 0 0 1 0 0 0 0 9 0 1 0 0 0 2</float_array>
      <technique_common><accessor source="#q" count="5" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/>
        <param name="Z" type="float"/></accessor></technique_common></source>
    <source id="t"><float_array id="u" count="2">0.3 0.4</float_array>
      <technique_common><accessor source="#u" count="1" stride="2">
        <param name="S" type="float"/><param name="T" type="float"/>
        </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{triangles}
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g">
    <bind_material><technique_common>{bound}</technique_common></bind_material>
  </instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""")


SAMPLER = """<newparam sid="f"><surface type="2D"><init_from>i</init_from></surface>
  </newparam><newparam sid="l"><sampler2D><source>f</source></sampler2D></newparam>"""
TEXTURE = '<texture texture="l" texcoord="c"/>'


def test_collada_materials_have_areas(tmp_path: Path) -> None:
    """A texture replaces the colour."""
    red = "<diffuse><color>0.5 0.2 1 1</color></diffuse>"
    _dae(tmp_path, red, f"<diffuse>{TEXTURE}</diffuse>", params=SAMPLER)
    first, second = _looks(_read(tmp_path, "part.dae", PAINT))

    assert (first.area, second.area) == pytest.approx((0.5, 1.0))
    assert first.color == pytest.approx((HALF_LIGHT, FIFTH_LIGHT, 1.0), abs=1e-7)
    assert (first.texture, second.texture) == (None, _digest(png(80)))
    assert second.color == (1.0, 1.0, 1.0)


LUMINANCE = 0.212671 * 0.5 + 0.715160 * 0.25 + 0.072169


# COLLADA 1.5, chapter 7, "Determining Transparency".
@pytest.mark.parametrize(
    ("words", "opacity"),
    [
        ("<transparency><float>0.75</float></transparency>", 0.75),
        ("<transparent><color>0.5 0.25 1 0.5</color></transparent>", 0.5),
        (
            (
                '<transparent opaque="A_ONE"><color>1 1 1 0.5</color></transparent>'
                "<transparency><float>0.5</float></transparency>"
            ),
            0.25,
        ),
        (
            (
                '<transparent opaque="A_ZERO"><color>1 1 1 0.5</color></transparent>'
                "<transparency><float>0.5</float></transparency>"
            ),
            0.75,
        ),
        (
            (
                '<transparent opaque="RGB_ZERO"><color>0.5 0.25 1 1</color>'
                "</transparent><transparency><float>0.5</float></transparency>"
            ),
            1 - LUMINANCE / 2,
        ),
        (
            '<transparent opaque="RGB_ZERO"><color>0.5 0.25 1 1</color></transparent>',
            1 - LUMINANCE,
        ),
        (
            '<transparent opaque="RGB_ONE"><color>0.5 0.25 1 1</color></transparent>',
            LUMINANCE,
        ),
        ("<transparency><float>0</float></transparency>", 1.0),
        (f'<transparent opaque="RGB_ZERO">{TEXTURE}</transparent>', None),
    ],
)
def test_collada_opacity_follows_its_declared_mode(
    words: str, opacity: float | None, tmp_path: Path
) -> None:
    """Zero is read as one; the luminance of a texture is left undetermined."""
    paint = f"<diffuse><color>1 0 0 1</color></diffuse>{words}"
    _dae(tmp_path, paint, params=SAMPLER)
    (look,) = _looks(_read(tmp_path, "part.dae"))

    assert look.opacity == (None if opacity is None else pytest.approx(opacity))


def test_opacity_texture_is_reported_with_its_factor(tmp_path: Path) -> None:
    """The alpha channel of one image can be used by both."""
    words = f"""<diffuse>{TEXTURE}</diffuse><transparent>{TEXTURE}</transparent>
      <transparency><float>0.5</float></transparency>"""
    _dae(tmp_path, words, params=SAMPLER)
    (look,) = _looks(_read(tmp_path, "part.dae"))

    assert (look.opacity, look.mask) == (0.5, look.texture)
    assert look.texture == _digest(png(80))


def _gltf(folder: Path, *materials: Mapping[str, object], corners: bool = False) -> str:
    """Write a GLB whose primitives, of growing size, have these materials."""
    image = png(80)
    binary, views, accessors, primitives = b"", [], [], []

    def add(numbers: bytes, count: int, form: str, **more: object) -> int:
        nonlocal binary
        views.append({"buffer": 0, "byteOffset": len(binary)})
        views[-1]["byteLength"] = len(numbers)
        accessors.append(
            {"bufferView": len(views) - 1, "componentType": 5126, "count": count}
            | {"type": form, **more}
        )
        binary += numbers
        return len(accessors) - 1

    for number in range(len(materials)):
        points = np.array([[0, 0, 0], [1, 0, 0], [0, 1 + number, 0]], "<f4")
        bounds = {"min": points.min(0).tolist(), "max": points.max(0).tolist()}
        attributes = {"POSITION": add(points.tobytes(), 3, "VEC3", **bounds)}
        attributes["TEXCOORD_0"] = add(points[:, :2].tobytes(), 3, "VEC2")
        if corners:
            shades = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
            attributes["COLOR_0"] = add(shades.tobytes(), 3, "VEC3")
        primitives.append({"attributes": attributes, "material": number})
    views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(image)})
    binary += image + bytes(-len(image) % 4)
    text = json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": primitives}],
            "materials": materials,
            "textures": [{"source": 0}],
            "images": [{"bufferView": len(views) - 1, "mimeType": "image/png"}],
            "bufferViews": views,
            "accessors": accessors,
            "buffers": [{"byteLength": len(binary)}],
        }
    ).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    head = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks))
    (folder / "part.glb").write_bytes(head + chunks)
    return "part.glb"


BLENDING: dict[str, object] = {
    "pbrMetallicRoughness": {"baseColorFactor": [0.123456789, 0.5, 1, 0.25]},
    "alphaMode": "BLEND",
}
IMAGE: dict[str, object] = {
    "pbrMetallicRoughness": {
        "baseColorFactor": [0.5, 0.25, 1, 0.25],
        "baseColorTexture": {"index": 0},
    }
}


def test_gltf_factors_are_linear_and_alpha_needs_blend_mode(
    tmp_path: Path,
) -> None:
    """The default alpha mode is opaque, the default colour white."""
    cut = IMAGE | {"alphaMode": "MASK"}
    plain, blending, image, mask = _looks(
        _read(tmp_path, _gltf(tmp_path, {}, BLENDING, IMAGE, cut), PAINT)
    )

    assert (plain.area, blending.area, image.area) == pytest.approx((0.5, 1.0, 1.5))
    assert (plain.color, plain.opacity) == ((1.0, 1.0, 1.0), 1.0)
    assert (blending.color, blending.opacity) == ((0.123456789, 0.5, 1.0), 0.25)
    assert (image.color, image.opacity) == ((0.5, 0.25, 1.0), 1.0)
    assert (image.texture, image.mask) == (_digest(png(80)), None)
    assert (mask.texture, mask.mask, mask.opacity) == (*[_digest(png(80))] * 2, 0.25)


def test_vertex_colours_leave_the_colour_undetermined(tmp_path: Path) -> None:
    """The colour of the URDF does not replace them."""
    (look,) = _looks(_read(tmp_path, _gltf(tmp_path, {}, corners=True), PAINT))

    assert (look.color, look.opacity) == (None, 1.0)


@pytest.mark.parametrize("shown", ["", "comment TextureFile skin.png\n"])
def test_conversion_keeps_texture_coordinates_of_ply(shown: str, tmp_path: Path) -> None:
    """With an image of the file, or of the URDF."""
    (tmp_path / "skin.png").write_bytes(png(200))
    rows = "0 0 0 .1 .2\n1 0 0 .9 .3\n0 2 0 .4 .8\n0 0 3 .2 .7\n"
    fields = "".join(f"property float {name}\n" for name in "xyzst")
    (tmp_path / "part.ply").write_text(
        f"ply\nformat ascii 1.0\n{shown}element vertex 4\n{fields}element face 2\n"
        "property list uchar int vertex_indices\nend_header\n"
        f"{rows}3 0 1 2\n3 0 3 1\n"
    )
    texture = '<material name="m"><texture filename="skin.png"/></material>'
    checks = _checks(tmp_path, _read(tmp_path, "part.ply", "" if shown else texture))

    for check in ("texture", "mapping", "colour"):
        assert checks[f"visual.{check}"].grade is Grade.EXACT


@pytest.mark.parametrize("form", ["obj", "dae", "glb"])
def test_conversion_keeps_materials_exactly(form: str, tmp_path: Path) -> None:
    """Colours, factors, opacities, textures and their opacity textures."""
    _obj(tmp_path)
    red = "<diffuse><color>0.5 0.2 1 1</color></diffuse>"
    skin = f"<diffuse>{TEXTURE}</diffuse><transparent>{TEXTURE}</transparent>"
    _dae(tmp_path, red, skin, params=SAMPLER)
    _gltf(tmp_path, BLENDING, IMAGE, IMAGE | {"alphaMode": "MASK"})
    checks = _checks(tmp_path, _read(tmp_path, f"part.{form}", PAINT))

    for check in ("colour", "opacity", "texture"):
        assert checks[f"visual.{check}"].grade is Grade.EXACT


@pytest.mark.parametrize("images", ["<library_images/>", ""])
def test_collada_image_that_is_not_there_costs_its_texture_alone(
    images: str, tmp_path: Path
) -> None:
    """The document names an image that it does not have."""
    skin = f"<diffuse>{TEXTURE}</diffuse>"
    _dae(tmp_path, skin, skin, params=SAMPLER)
    path = tmp_path / "part.dae"
    text = re.sub("<library_images>.*</library_images>", images, path.read_text())
    path.write_text(text)
    checks = _checks(tmp_path, _read(tmp_path, "part.dae"))

    grades = {check.grade for check in checks.values()}
    assert checks["visual.texture"].grade is Grade.NOT_COMPARABLE
    assert "is not found" in checks["visual.texture"].findings[0].message
    assert checks["visual.area"].grade is Grade.EXACT
    assert grades == {Grade.EXACT, Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}


@pytest.mark.parametrize("form", ["GIF", "TIFF", "BMP", "TGA"])
def test_images_in_other_formats_are_compared_by_pixels(form: str, tmp_path: Path) -> None:
    """With the PNG that the converter makes of them."""
    _obj(tmp_path)
    skin = tmp_path / "skin image.png"
    Image.effect_noise((8, 8), 80.0).save(skin, form)
    check = _checks(tmp_path, _read(tmp_path, "part.obj"))["visual.texture"]

    assert check.grade is Grade.EXACT


def test_image_with_one_other_pixel_has_another_digest() -> None:
    """The encoding of the same pixels does not matter."""
    image = Image.effect_noise((8, 8), 80.0).convert("RGB")
    digests = set()
    for form in ("PNG", "TIFF", "BMP", "TGA"):
        image.save(encoded := BytesIO(), form)
        digests.add(image_digest(encoded.getvalue()))
    image.putpixel((3, 5), (1, 2, 3))
    image.save(changed := BytesIO(), "PNG")

    assert len(digests) == 1
    assert image_digest(changed.getvalue()) not in digests


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not found"), (b"GIF89a", "is no image that can be read")],
)
def test_unusable_texture_is_not_compared(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    """No USD could contain it."""
    _obj(tmp_path)
    (tmp_path / "skin image.png").unlink()
    if content:
        (tmp_path / "skin image.png").write_bytes(content)
    reading = _read(tmp_path, "part.obj")
    check = _checks(tmp_path, reading)["visual.texture"]

    assert _looks(reading)[-1].problem == f"texture skin image.png {reason}"
    assert check.grade is Grade.NOT_COMPARABLE


@pytest.mark.parametrize("vertex", ["nan 0 3", "0 1e39 3"])
def test_invalid_faces_do_not_fail_the_check(tmp_path: Path, vertex: str) -> None:
    """The triangles of 0.5 and 1 m^2 remain."""
    (tmp_path / "damaged.obj").write_text(OBJ.replace("v 0 0 3", f"v {vertex}"))
    reading = _read(tmp_path, "damaged.obj")

    (shape,) = (shape for shape in reading.shapes if shape.role is Role.VISUAL)
    assert shape.surface is not None
    assert shape.surface.area == pytest.approx(1.5)
    checks = _checks(tmp_path, reading)
    assert not [check for check in checks.values() if check.grade == "fails"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("0.obj", BARE_OBJ), ("0.obj", BARE_OBJ.replace("o ", "g "))],
)
def test_meshes_without_materials_have_none(tmp_path: Path, name: str, text: str) -> None:
    """Trimesh would name materials after objects and folders."""
    folder = tmp_path / "000"
    folder.mkdir()
    (folder / name).write_text(text)

    mesh = load_mesh(str(folder / name))

    assert not mesh.materials
    assert set(mesh.material_of.tolist()) == {-1}


@pytest.mark.parametrize("libraries", [("twice.mtl",), ("red.mtl", "blue.mtl")])
def test_first_material_of_a_name_is_used(tmp_path: Path, libraries: tuple[str, ...]) -> None:
    """Within one library and across several."""
    red, blue = "newmtl paint\nKd 1 0 0\n", "newmtl paint\nKd 0 0 1\n"
    (tmp_path / "twice.mtl").write_text(red + blue)
    (tmp_path / "red.mtl").write_text(red)
    (tmp_path / "blue.mtl").write_text(blue)
    lines = [*(f"mtllib {name}" for name in libraries), BARE_OBJ.splitlines()[1]]
    lines += ["v 1 0 0", "v 0 1 0", "usemtl paint", "f 1 2 3", ""]
    (tmp_path / "part.obj").write_text("\n".join(lines))

    (paint,) = load_mesh(str(tmp_path / "part.obj")).materials

    assert paint.color == (1.0, 0.0, 0.0)
