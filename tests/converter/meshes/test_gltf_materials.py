"""glTF: materials, textures and colours of vertices."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.converter.meshes.gltf_files import UV, Gltf, Json, triangle
from urdf_usd.converter.colors import linear_from_srgb
from urdf_usd.converter.meshes.gltf import read_gltf
from urdf_usd.converter.meshes.mesh_materials import (
    MeshMaterial,
    MeshTexture,
    Slot,
    Wrap,
)

IMAGE = b"\x89PNG\r\n\x1a\nwhatever"


def material_of(document: Gltf) -> MeshMaterial:
    """Return the only material."""
    (material,) = read_gltf(document.glb()).attributes.materials
    return material


def textured(use: Json | None = None, sampler: Json | None = None) -> Gltf:
    """Return a triangle whose colour is an embedded image."""
    factor = [0.2, 0.4, 1.0, 0.6]
    color: Json = {"index": 0}
    document = triangle(
        pbrMetallicRoughness={
            "baseColorFactor": factor,
            "baseColorTexture": color | (use or {}),
        },
    )
    document.add("images", {"bufferView": document.view(IMAGE), "name": "skin"})
    texture: Json = {"source": 0}
    if sampler is not None:
        texture["sampler"] = document.add("samplers", sampler)
    document.add("textures", texture)
    return document


def test_factors_are_linear_and_exact() -> None:
    """Unlike in trimesh, they are not rounded to bytes; URDF's colours are sRGB."""
    factor = [0.2, 0.4005, 1.0, 0.6]
    document = triangle(
        pbrMetallicRoughness={
            "baseColorFactor": factor,
            "metallicFactor": 0.25,
            "roughnessFactor": 0.75,
        },
        emissiveFactor=[0.1, 0.0, 0.3],
        alphaMode="BLEND",
        doubleSided=True,
    )

    material = material_of(document)

    assert material.color is not None
    assert linear_from_srgb(material.color) == pytest.approx(factor[:3], abs=1e-15)
    # IEC 61966-2-1, computed by hand for 0.2.
    assert material.color[0] == pytest.approx(0.484529, abs=1e-6)
    assert linear_from_srgb(material.emissive) == pytest.approx([0.1, 0, 0.3])
    assert (material.metallic, material.roughness) == (0.25, 0.75)
    assert (material.opacity, material.cutoff) == (0.6, None)
    assert material.double_sided


def test_default_material_is_that_of_the_specification() -> None:
    """White and metallic."""
    assert material_of(triangle()) == MeshMaterial(
        "m", (1.0, 1.0, 1.0), metallic=1.0, roughness=1.0
    )


@pytest.mark.parametrize(
    ("mode", "cutoff", "opacity", "expected"),
    [
        ("OPAQUE", None, 1.0, None),
        ("BLEND", None, 0.6, None),
        ("MASK", None, 0.6, 0.5),
        ("MASK", 0.25, 0.6, 0.25),
    ],
)
def test_alpha_is_used_according_to_the_alpha_mode(
    mode: str, cutoff: float | None, opacity: float, expected: float | None
) -> None:
    """An opaque material ignores the alpha of its factor and image."""
    document = textured()
    about = document.root["materials"][0]
    about["alphaMode"] = mode
    if cutoff is not None:
        about["alphaCutoff"] = cutoff

    material = material_of(document)

    assert (material.opacity, material.cutoff) == (opacity, expected)
    assert (Slot.OPACITY in dict(material.textures)) == (mode != "OPAQUE")


@pytest.mark.parametrize("kind", ["view", "base64", "file"])
def test_images_are_embedded_or_separate_files(kind: str) -> None:
    """An embedded image has content and a name, a separate one has a path."""
    document = textured()
    if kind == "base64":
        body = base64.b64encode(IMAGE).decode()
        document.root["images"] = [{"uri": f"data:image/png;base64,{body}"}]
    elif kind == "file":
        document.root["images"] = [{"uri": "../my%20skin.png"}]

    ((slot, texture),) = material_of(document).textures

    assert slot is Slot.COLOR
    expected = {
        "view": ("skin", IMAGE),
        "base64": ("image_0", IMAGE),
        "file": ("../my skin.png", None),
    }
    assert (texture.reference, texture.content) == expected[kind]
    assert texture.sampling.gain == (0.2, 0.4, 1.0, 0.6)


def test_samplers_set_the_wrap_mode() -> None:
    """By OpenGL constants; the default is to repeat."""
    sampler = {"wrapS": 33071, "wrapT": 33648}

    ((_, plain),) = material_of(textured()).textures
    ((_, texture),) = material_of(textured(sampler=sampler)).textures

    assert (plain.sampling.wrap_s, plain.sampling.wrap_t) == (Wrap.REPEAT, Wrap.REPEAT)
    assert (texture.sampling.wrap_s, texture.sampling.wrap_t) == (Wrap.CLAMP, Wrap.MIRROR)


@given(
    st.floats(-7, 7),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
)
def test_texture_transform_is_converted_to_v_up(
    angle: float,
    offset: tuple[float, float],
    scale: tuple[float, float],
    uv: tuple[float, float],
) -> None:
    """Matrices of KHR_texture_transform as implementations apply them.

    Rotation is counter-clockwise in a plane where v points down.
    """
    moved = {"offset": list(offset), "rotation": angle, "scale": list(scale)}
    use = {"extensions": {"KHR_texture_transform": moved}}

    ((_, texture),) = material_of(textured(use)).textures

    sine, cosine = math.sin(angle), math.cos(angle)
    down = np.array([[cosine, sine], [-sine, cosine]]) @ (np.array(uv) * scale)
    expected = [0, 1] + (down + offset) * [1, -1]
    sampling = texture.sampling
    # UsdTransform2d: scale, rotate counter-clockwise, translate.
    sine, cosine = math.sin(sampling.rotation), math.cos(sampling.rotation)
    scaled = np.array([uv[0], 1 - uv[1]]) * sampling.scale
    found = np.array([[cosine, -sine], [sine, cosine]]) @ scaled + sampling.translation
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_metallic_and_roughness_use_channels_of_one_image() -> None:
    """Blue and green, with separate factors."""
    document = textured()
    surface = document.root["materials"][0]["pbrMetallicRoughness"]
    surface["metallicRoughnessTexture"] = {"index": 0}
    surface |= {"metallicFactor": 0.5, "roughnessFactor": 0.25}
    document.root["materials"][0] |= {
        "emissiveTexture": {"index": 0},
        "emissiveFactor": [1, 0.5, 0],
        "normalTexture": {"index": 0, "scale": 2},
        "occlusionTexture": {"index": 0},
    }

    textures = dict(material_of(document).textures)

    parts = {slot: one.sampling.components for slot, one in textures.items()}
    assert parts == {
        Slot.COLOR: "rgb",
        Slot.EMISSION: "rgb",
        Slot.ROUGHNESS: "g",
        Slot.METALNESS: "b",
        Slot.NORMAL: "rgb",
        Slot.OCCLUSION: "r",
    }
    rough, metal = (textures[slot].sampling for slot in (Slot.ROUGHNESS, Slot.METALNESS))
    gains = (rough.gain, metal.gain, textures[Slot.EMISSION].sampling.gain)
    assert gains == ((1, 0.25, 0.5, 1), (1, 0.25, 0.5, 1), (1, 0.5, 0, 1))


def test_second_texture_coordinates_are_kept_if_a_texture_uses_them() -> None:
    """Otherwise they are dropped."""
    document = textured({"texCoord": 2})
    second = document.accessor(UV[::-1].copy())
    unused = document.accessor(UV * 2)
    attributes = document.root["meshes"][0]["primitives"][0]["attributes"]
    attributes |= {"TEXCOORD_1": unused, "TEXCOORD_2": second}

    attributes = read_gltf(document.glb()).attributes

    ((_, texture),) = attributes.materials[0].textures
    assert texture.sampling.coordinates == 2
    _, between, held = attributes.coordinate_sets
    assert between is None
    assert held is not None
    found = held.values[held.indices]
    np.testing.assert_allclose(found, UV[::-1] * [1, -1] + [0, 1], rtol=1e-6)


def test_vertex_colours_multiply_the_material_colour() -> None:
    """Both are linear; the result is encoded in sRGB as URDF's colours are."""
    document = triangle(pbrMetallicRoughness={"baseColorFactor": [0.5, 1, 0.25, 1]})
    rgb = np.array([[255, 0, 51, 255], [0, 102, 255, 255], [51, 51, 51, 0]], "<u1")
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["COLOR_0"] = document.accessor(rgb, normalized=True)

    attributes = read_gltf(document.glb()).attributes

    assert attributes.materials[0].shows_corners
    assert attributes.colors is not None
    found = linear_from_srgb(attributes.colors.values[attributes.colors.indices])
    np.testing.assert_allclose(found, rgb[:, :3] / 255 * [0.5, 1, 0.25], atol=1e-12)


def test_vertex_colours_are_dropped_if_there_is_a_texture() -> None:
    """UsdPreviewSurface cannot multiply them; a warning is reported."""
    document = textured()
    rgb = np.array([[1, 0, 0.2]] * 3, "<f4")
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["COLOR_0"] = document.accessor(rgb)

    mesh = read_gltf(document.glb())

    assert not mesh.attributes.materials[0].shows_corners
    assert mesh.skipped == ("colours of vertices are not multiplied with textures",)


def test_specular_glossiness_material_keeps_its_diffuse_colour() -> None:
    """Of specular and glossiness, the diffuse part is a colour like any other."""
    document = triangle(
        extensions={
            "KHR_materials_pbrSpecularGlossiness": {
                "diffuseFactor": [0.5, 0.25, 0, 1],
                "glossinessFactor": 0.75,
            }
        }
    )

    material = material_of(document)

    assert material.color is not None
    assert linear_from_srgb(material.color) == pytest.approx([0.5, 0.25, 0])
    assert (material.metallic, material.roughness) == (0.0, 0.25)


def test_faces_of_an_invalid_material_have_none() -> None:
    """The material of the URDF is used for them."""
    document = textured()
    document.root["textures"][0]["source"] = 4

    mesh = read_gltf(document.glb())

    assert mesh.attributes.face_materials is None
    assert mesh.skipped == ("material 0 is left out: it refers to images 4, of 1",)


def test_images_of_extensions_are_named() -> None:
    """WebP and KTX2 are found, and later dropped by their content."""
    document = textured()
    document.root["textures"][0] = {"extensions": {"EXT_texture_webp": {"source": 0}}}
    document.root["images"][0] = {"uri": "skin.webp"}

    ((_, texture),) = material_of(document).textures

    assert texture == MeshTexture("skin.webp", sampling=texture.sampling)
