"""COLLADA: normals, texture coordinates, colours and materials."""

from __future__ import annotations

import numpy as np
import pytest

from urdf_usd.converter.meshes.collada.mesh import read_dae
from urdf_usd.converter.meshes.corner_values import CornerValues
from urdf_usd.converter.meshes.mesh_material import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
)

# A quadrilateral in an oblique plane, and its unit normal.
CORNERS = np.array([[0.5, 0.0, 0.0], [1.5, 1.0, 0.0], [1.5, 1.0, 2.0], [0.5, 0.0, 2.0]])
NORMAL = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
ST = [[0.1, 0.2], [0.9, 0.25], [0.85, 0.75], [0.15, 0.7]]

EFFECTS = """
<library_images><image id="i"><init_from>skin%20one.png</init_from></image>
</library_images>
<library_materials>
  <material id="m1" name="red paint"><instance_effect url="#e1"/></material>
  <material id="m2" name="skin"><instance_effect url="#e2"/></material>
</library_materials>
<library_effects>
  <effect id="e1"><profile_COMMON><technique sid="c"><phong>
    <emission><color>0 0 0.125 1</color></emission>
    <diffuse><color>0.5 0.25 0 1</color></diffuse>
    {transparency}
  </phong></technique></profile_COMMON></effect>
  <effect id="e2"><profile_COMMON>
    <newparam sid="su"><surface type="2D"><init_from>i</init_from></surface></newparam>
    <newparam sid="sa"><sampler2D><source>su</source></sampler2D></newparam>
    <technique sid="c"><lambert>
      <diffuse><texture texture="sa" texcoord="UV"/></diffuse>
    </lambert></technique></profile_COMMON></effect>
</library_effects>
"""
BIND = """<bind_material><technique_common>
<instance_material symbol="a" target="#m1"/>
<instance_material symbol="b" target="#{second}"/>
</technique_common></bind_material>"""


def source(name: str, rows: list[list[float]] | np.ndarray, params: str) -> str:
    """Write an array of numbers."""
    numbers = " ".join(str(float(x)) for row in rows for x in row)
    listed = "".join(f'<param name="{p}" type="float"/>' for p in params)
    return f"""<source id="{name}"><float_array id="{name}a">{numbers}</float_array>
      <technique_common><accessor source="#{name}a" count="{len(rows)}"
      stride="{len(params)}">{listed}</accessor></technique_common></source>"""


def document(
    inputs: str, *, transform: str = "", transparency: str = "", second: str = "m2"
) -> bytes:
    """Write two triangles with materials a and b; every input has offset one or so."""
    corners = ["0 3 1 2 2 1", "0 3 2 1 3 0"]
    faces = "".join(
        f'<triangles count="1" material="{symbol}">'
        f'<input semantic="VERTEX" source="#v" offset="0"/>{inputs}<p>{p}</p>'
        "</triangles>"
        for symbol, p in zip("ab", corners, strict=True)
    )
    return f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
      <asset><up_axis>Z_UP</up_axis></asset>
      {EFFECTS.format(transparency=transparency)}
      <library_geometries><geometry id="g"><mesh>
        {source("s", CORNERS, "XYZ")}
        {source("n", np.tile(2 * NORMAL, (4, 1)), "XYZ")}
        {source("t", ST[::-1], "ST")}
        {source("c", np.eye(4)[:, :3], "RGB")}
        <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
        {faces}</mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="scene"><node>{transform}
        <instance_geometry url="#g">{BIND.format(second=second)}</instance_geometry>
      </node></visual_scene></library_visual_scenes>
      <scene><instance_visual_scene url="#scene"/></scene></COLLADA>""".encode()


def entry(semantic: str, name: str) -> str:
    """Write an input at offset one."""
    return f'<input semantic="{semantic}" source="#{name}" offset="1"/>'


ALL = entry("NORMAL", "n") + entry("TEXCOORD", "t") + entry("COLOR", "c")


def at_corners(held: CornerValues | None) -> np.ndarray:
    """Return the value of every corner."""
    assert held is not None
    flat: np.ndarray = held.values[held.indices]
    return flat


def test_values_of_corners_are_those_of_their_own_index() -> None:
    """Texture coordinates as they are: v points upwards in COLLADA as in USD."""
    attributes = read_dae(document(ALL)).attributes

    np.testing.assert_allclose(at_corners(attributes.normals), np.tile(NORMAL, (6, 1)))
    expected = [ST[i] for i in (0, 1, 2, 0, 2, 3)]
    np.testing.assert_allclose(at_corners(attributes.texture_coordinates), expected)
    rows = np.eye(4)[[3, 2, 1, 3, 1, 0], :3]
    np.testing.assert_array_equal(at_corners(attributes.colors), rows)


@pytest.mark.parametrize("scale", ["1 3 0.5", "-1 3 0.5", "-1 -3 -0.5"])
def test_normals_stay_upright_on_faces_that_are_scaled_and_mirrored(scale: str) -> None:
    """The reference is the cross product of the face's own edges."""
    mesh = read_dae(document(ALL, transform=f"<scale>{scale}</scale>"))

    corners = mesh.points[mesh.face_indices.reshape(-1, 3)]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    geometric = cross / np.linalg.norm(cross, axis=1, keepdims=True)
    normals = at_corners(mesh.attributes.normals)
    np.testing.assert_allclose(normals, np.repeat(geometric, 3, axis=0), atol=1e-6)
    # Each corner keeps its texture coordinate.
    sign = np.sign(np.array(scale.split(), dtype=float))
    for point, st in zip(
        mesh.points[mesh.face_indices],
        at_corners(mesh.attributes.texture_coordinates),
        strict=True,
    ):
        (number,) = np.flatnonzero(
            np.isclose(CORNERS * np.abs([1, 3, 0.5]) * sign, point).all(axis=1)
        )
        np.testing.assert_allclose(st, ST[number])


def test_materials_follow_the_bindings_of_the_instance() -> None:
    """Symbols are bound to ids; a sampler leads over a surface to the image."""
    attributes = read_dae(document(ALL)).attributes

    assert attributes.face_materials is not None
    assert [attributes.materials[i] for i in attributes.face_materials] == [
        MeshMaterial("red paint", (0.5, 0.25, 0.0), 1.0, (0.0, 0.0, 0.125)),
        MeshMaterial("skin", textures=((Slot.COLOR, MeshTexture("skin%20one.png")),)),
    ]


def test_a_binding_to_nothing_leaves_its_faces_without_material() -> None:
    """The others keep theirs."""
    attributes = read_dae(document(ALL, second="lost")).attributes

    assert attributes.face_materials is not None
    assert attributes.face_materials.tolist() == [0, -1]
    assert [material.name for material in attributes.materials] == ["red paint"]


@pytest.mark.parametrize(
    ("mode", "transparent", "factor", "opacity"),
    [
        ("", "1 1 1 0.5", "0.5", 0.25),
        ('opaque="A_ONE"', "0 0 0 0.5", "1", 0.5),
        ('opaque="A_ZERO"', "0 0 0 0.25", "1", 0.75),
        # The luminance weights of the COLLADA 1.5 specification.
        ('opaque="RGB_ZERO"', "0 1 0 1", "0.5", 1 - 0.71516 / 2),
        ('opaque="RGB_ONE"', "0 1 0 1", "0.5", 0.71516 / 2),
        # Mixed up by an exporter: nobody ships an invisible part.
        ("", "1 1 1 1", "0", 1.0),
    ],
)
def test_opacity_is_counted_as_the_document_says(
    mode: str, transparent: str, factor: str, opacity: float
) -> None:
    """In each of the modes of the specification."""
    text = (
        f"<transparent {mode}><color>{transparent}</color></transparent>"
        f"<transparency><float>{factor}</float></transparency>"
    )

    material, _ = read_dae(document(ALL, transparency=text)).attributes.materials

    assert material.opacity == pytest.approx(opacity, rel=1e-5)


SAMPLER = (
    """<newparam sid="sa"><sampler2D><source>su</source>{}</sampler2D></newparam>"""
)


def changed(old: str, new: str, **options: str) -> bytes:
    """Return the document with one passage replaced."""
    text = document(ALL, **options).decode()
    assert old in text
    return text.replace(old, new).encode()


@pytest.mark.parametrize(
    ("mode", "wrap"),
    [
        ("WRAP", Wrap.REPEAT),
        ("MIRROR", Wrap.MIRROR),
        ("CLAMP", Wrap.CLAMP),
        ("BORDER", Wrap.BLACK),
        ("NONE", Wrap.BLACK),
    ],
)
def test_samplers_say_what_is_beyond_the_edges(mode: str, wrap: Wrap) -> None:
    """In each direction; the specification's default is to repeat."""
    data = changed(SAMPLER.format(""), SAMPLER.format(f"<wrap_t>{mode}</wrap_t>"))

    _, skin = read_dae(data).attributes.materials

    ((_, texture),) = skin.textures
    assert texture.sampling == Sampling(wrap_t=wrap)


def test_images_of_emission_and_opacity_are_read() -> None:
    """Opacity is the alpha of its image in the default mode."""
    image = '<texture texture="sa" texcoord="UV"/>'
    data = changed(
        f"<diffuse>{image}</diffuse>",
        f"<emission>{image}</emission><diffuse>{image}</diffuse>"
        f"<transparent>{image}</transparent>",
    )

    _, skin = read_dae(data).attributes.materials

    assert {slot: one.sampling.components for slot, one in skin.textures} == {
        Slot.COLOR: "rgb",
        Slot.EMISSION: "rgb",
        Slot.OPACITY: "a",
    }


def test_a_number_beside_the_image_of_opacity_is_its_factor() -> None:
    """The specification multiplies the two."""
    image = '<texture texture="sa" texcoord="UV"/>'
    data = changed(
        f"<diffuse>{image}</diffuse>",
        f"<transparent>{image}</transparent>"
        "<transparency><float>0.25</float></transparency>",
    )

    _, skin = read_dae(data).attributes.materials

    ((_, texture),) = skin.textures
    assert texture.sampling.gain == (0.25, 0.25, 0.25, 0.25)


def test_values_may_be_named_elsewhere_in_the_effect() -> None:
    """By a parameter, as some exporters write all of them."""
    data = changed(
        "<diffuse><color>0.5 0.25 0 1</color></diffuse>",
        '<diffuse><param ref="paint"/></diffuse>',
    ).replace(
        b'<effect id="e1"><profile_COMMON>',
        b'<effect id="e1"><profile_COMMON><newparam sid="paint">'
        b"<float4>0.25 0.5 0.75 1</float4></newparam>",
    )

    red, _ = read_dae(data).attributes.materials

    assert red.color == (0.25, 0.5, 0.75)


def test_an_effect_may_say_that_both_sides_are_seen() -> None:
    """In the way of Google Earth, which exporters share."""
    data = changed(
        "</technique></profile_COMMON></effect>\n  <effect",
        '</technique><extra><technique profile="GOOGLEEARTH"><double_sided>1'
        "</double_sided></technique></extra></profile_COMMON></effect>\n  <effect",
    )

    red, skin = read_dae(data).attributes.materials

    assert red.double_sided
    assert not skin.double_sided


def test_a_texture_lies_in_the_set_that_its_instance_binds() -> None:
    """Sets have numbers of their own, and the first one that there is counts as 0."""
    further = (
        '<input semantic="TEXCOORD" source="#t" offset="1" set="4"/>'
        '<input semantic="TEXCOORD" source="#u" offset="1" set="11"/>'
    )
    bound = (
        '<instance_material symbol="b" target="#m2"><bind_vertex_input semantic="UV" '
        'input_semantic="TEXCOORD" input_set="11"/></instance_material>'
    )
    other = [[s + 2, t - 3] for s, t in ST[::-1]]
    data = document(further).decode()
    data = data.replace('<instance_material symbol="b" target="#m2"/>', bound)
    data = data.replace('<source id="c"', f'{source("u", other, "ST")}<source id="c"')

    attributes = read_dae(data.encode()).attributes

    ((_, texture),) = attributes.materials[1].textures
    assert texture.sampling.coordinates == 1
    first, second = attributes.coordinate_sets
    expected = np.array([ST[i] for i in (0, 1, 2, 0, 2, 3)])
    np.testing.assert_allclose(at_corners(first), expected)
    np.testing.assert_allclose(at_corners(second), expected + np.array([2, -3]))


def test_a_broken_input_costs_only_itself() -> None:
    """Neither the surface nor the other inputs."""
    mesh = read_dae(document(entry("NORMAL", "lost") + entry("TEXCOORD", "t")))

    assert len(mesh.face_counts) == 2
    assert mesh.skipped == ()
    assert mesh.attributes.normals is None
    assert mesh.attributes.texture_coordinates is not None
