"""COLLADA: normals, texture coordinates, colours and materials."""

from __future__ import annotations

import numpy as np
import pytest

from urdf_usd.converter.meshes.collada import read_dae
from urdf_usd.converter.meshes.mesh import CornerValues
from urdf_usd.converter.meshes.mesh_materials import (
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
    """Return the value at every corner."""
    assert held is not None
    flat: np.ndarray = held.values[held.indices]
    return flat


def test_each_input_is_indexed_by_its_own_offset() -> None:
    """Texture coordinates are unchanged: v points up in COLLADA and in USD."""
    attributes = read_dae(document(ALL)).attributes

    np.testing.assert_allclose(at_corners(attributes.normals), np.tile(NORMAL, (6, 1)))
    expected = [ST[i] for i in (0, 1, 2, 0, 2, 3)]
    np.testing.assert_allclose(at_corners(attributes.texture_coordinates), expected)
    rows = np.eye(4)[[3, 2, 1, 3, 1, 0], :3]
    np.testing.assert_array_equal(at_corners(attributes.colors), rows)


@pytest.mark.parametrize("scale", ["1 3 0.5", "-1 3 0.5", "-1 -3 -0.5"])
def test_normals_follow_scaled_and_mirrored_faces(scale: str) -> None:
    """Compared with the cross product of the face's edges."""
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
    """Symbols are bound to ids; a sampler refers to an image through a surface."""
    attributes = read_dae(document(ALL)).attributes

    assert attributes.face_materials is not None
    assert [attributes.materials[i] for i in attributes.face_materials] == [
        MeshMaterial("red paint", (0.5, 0.25, 0.0), 1.0, (0.0, 0.0, 0.125)),
        MeshMaterial("skin", textures=((Slot.COLOR, MeshTexture("skin%20one.png")),)),
    ]


def test_unresolved_material_binding_leaves_faces_without_material() -> None:
    """Other faces keep theirs."""
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
        # Some exporters invert opacity: a fully transparent material is not intended.
        ("", "1 1 1 1", "0", 1.0),
    ],
)
def test_opacity_follows_the_declared_mode(
    mode: str, transparent: str, factor: str, opacity: float
) -> None:
    """In each of the modes of the specification."""
    text = (
        f"<transparent {mode}><color>{transparent}</color></transparent>"
        f"<transparency><float>{factor}</float></transparency>"
    )

    material, _ = read_dae(document(ALL, transparency=text)).attributes.materials

    assert material.opacity == pytest.approx(opacity, rel=1e-5)


SAMPLER = """<newparam sid="sa"><sampler2D><source>su</source>{}</sampler2D></newparam>"""


def changed(old: str, new: str, **options: str) -> bytes:
    """Return the document with one part replaced."""
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
def test_samplers_set_the_wrap_mode(mode: str, wrap: Wrap) -> None:
    """In each direction; the specification's default is to repeat."""
    data = changed(SAMPLER.format(""), SAMPLER.format(f"<wrap_t>{mode}</wrap_t>"))

    _, skin = read_dae(data).attributes.materials

    ((_, texture),) = skin.textures
    assert texture.sampling == Sampling(wrap_t=wrap)


def test_emission_and_opacity_textures_are_read() -> None:
    """In the default mode, opacity is the alpha channel of its texture."""
    image = '<texture texture="sa" texcoord="UV"/>'
    data = changed(
        f"<diffuse>{image}</diffuse>",
        f"<emission>{image}</emission><diffuse>{image}</diffuse><transparent>{image}</transparent>",
    )

    _, skin = read_dae(data).attributes.materials

    assert {slot: one.sampling.components for slot, one in skin.textures} == {
        Slot.COLOR: "rgb",
        Slot.EMISSION: "rgb",
        Slot.OPACITY: "a",
    }


def test_transparency_is_a_factor_of_the_opacity_texture() -> None:
    """The specification multiplies the two."""
    image = '<texture texture="sa" texcoord="UV"/>'
    data = changed(
        f"<diffuse>{image}</diffuse>",
        f"<transparent>{image}</transparent><transparency><float>0.25</float></transparency>",
    )

    _, skin = read_dae(data).attributes.materials

    ((_, texture),) = skin.textures
    assert texture.sampling.gain == (0.25, 0.25, 0.25, 0.25)


def test_values_may_be_parameters_of_the_effect() -> None:
    """Some exporters write all values as parameters."""
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


def test_double_sided_extra_of_an_effect_is_read() -> None:
    """The extension of Google Earth, which several exporters write."""
    data = changed(
        "</technique></profile_COMMON></effect>\n  <effect",
        '</technique><extra><technique profile="GOOGLEEARTH"><double_sided>1'
        "</double_sided></technique></extra></profile_COMMON></effect>\n  <effect",
    )

    red, skin = read_dae(data).attributes.materials

    assert red.double_sided
    assert not skin.double_sided


def test_texture_uses_the_coordinate_set_that_its_instance_binds() -> None:
    """Sets have arbitrary numbers; the first one becomes set 0."""
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


def test_invalid_input_is_dropped_alone() -> None:
    """The surface and the other inputs are kept."""
    mesh = read_dae(document(entry("NORMAL", "lost") + entry("TEXCOORD", "t")))

    assert len(mesh.face_counts) == 2
    assert mesh.skipped == ()
    assert mesh.attributes.normals is None
    assert mesh.attributes.texture_coordinates is not None
