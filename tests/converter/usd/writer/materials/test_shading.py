"""Shader networks: computed values, and node definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf, Usd, UsdShade

from tests.converter.usd.networks import CORNER_COLOR, Point, pixel
from tests.converter.usd.textured_meshes import shaders
from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.usd.writer.materials import write_networks
from urdf_usd.converter.usd.writer.specs import define

# What both networks compute: input of the preview, of OpenPBR.
_SHARED = {
    mm.Slot.COLOR: ("diffuseColor", "base_color"),
    mm.Slot.EMISSION: ("emissiveColor", "emission_color"),
    mm.Slot.OPACITY: ("opacity", "geometry_opacity"),
    mm.Slot.METALNESS: ("metallic", "base_metalness"),
    mm.Slot.ROUGHNESS: ("roughness", "specular_roughness"),
    mm.Slot.NORMAL: ("normal", "geometry_normal"),
}
POINT = Point({"st": (0.3, 0.8), "st1": (-1.2, 0.4), "st2": (2.5, -0.7)})

units = st.floats(0, 1).map(lambda x: round(x, 6))
pairs = st.tuples(st.floats(-2, 2), st.floats(-2, 2))


@st.composite
def samplings(draw: st.DrawFn, slot: mm.Slot) -> mm.Sampling:
    whole = slot.is_color or slot is mm.Slot.NORMAL
    gain = draw(st.tuples(units, units, units, units))
    return mm.Sampling(
        components="rgb" if whole else draw(st.sampled_from("rgba")),
        wrap_s=draw(st.sampled_from(mm.Wrap)),
        wrap_t=draw(st.sampled_from(mm.Wrap)),
        coordinates=draw(st.integers(0, 2)),
        scale=draw(pairs),
        rotation=draw(st.floats(-4, 4)),
        translation=draw(pairs),
        gain=(1.0, 1.0, 1.0, 1.0) if slot is mm.Slot.NORMAL else gain,
    )


@st.composite
def appearances(draw: st.DrawFn) -> mm.MeshMaterial:
    slots = draw(st.lists(st.sampled_from(mm.Slot), unique=True))
    return mm.MeshMaterial(
        name="x",
        color=draw(st.none() | st.tuples(units, units, units)),
        opacity=draw(units),
        emissive=draw(st.tuples(units, units, units)),
        metallic=draw(st.none() | units),
        roughness=draw(st.none() | units),
        ior=draw(st.none() | st.floats(0.001, 10)),
        shows_corners=draw(st.booleans()),
        textures=tuple(
            (
                slot,
                mm.MeshTexture(f"./{draw(st.sampled_from('ab'))}.png", None, draw(samplings(slot))),
            )
            for slot in slots
        ),
    )


def written(appearance: mm.MeshMaterial) -> UsdShade.Material:
    return _material(appearance, MaterialNetworks.OPENPBR)


def _material(appearance: mm.MeshMaterial, networks: MaterialNetworks) -> UsdShade.Material:
    layer = Sdf.Layer.CreateAnonymous()
    write_networks(define(layer, _PATH, "Material"), appearance, networks)
    stage = Usd.Stage.Open(layer)
    _STAGES[:] = [stage]
    return UsdShade.Material.Get(stage, _PATH)


_STAGES: list[Usd.Stage] = []
_PATH = Sdf.Path("/m")


def surface(material: UsdShade.Material, context: str = "") -> UsdShade.Shader:
    return material.ComputeSurfaceSource(context)[0]


@given(appearances())
def test_both_networks_compute_the_appearance(appearance: mm.MeshMaterial) -> None:
    """Values of slots without image; otherwise the sampled image."""
    material = written(appearance)

    for slot, names in _SHARED.items():
        found = [
            POINT.value(shader.GetInput(name))
            for shader, name in zip(
                (surface(material), surface(material, "mtlx")), names, strict=True
            )
            if shader.GetInput(name)
        ]
        expected = _expected(appearance, slot)
        if expected is None:
            assert found == [], slot
            continue
        assert len(found) == 2, slot
        for value in found:
            np.testing.assert_allclose(value, expected, atol=1e-5, err_msg=slot)


def _expected(appearance: mm.MeshMaterial, slot: mm.Slot) -> np.ndarray | None:
    texture = dict(appearance.textures).get(slot)
    if texture is None:
        return _number(appearance, slot)
    sampling = texture.sampling
    name = f"st{sampling.coordinates or ''}"
    turn = np.exp(1j * sampling.rotation)
    scaled = np.array(POINT.coordinates[name]) * sampling.scale
    turned = turn * complex(*scaled)
    place = np.array([turned.real, turned.imag]) + sampling.translation
    rgba = pixel(place, is_color=slot.is_color) * sampling.gain
    if slot is mm.Slot.NORMAL:
        return rgba[:3] * 2 - 1
    if sampling.components == "rgb":
        return rgba[:3]
    return np.array(rgba["rgba".index(sampling.components)])


def _number(appearance: mm.MeshMaterial, slot: mm.Slot) -> np.ndarray | None:
    color = None if appearance.color is None else mm.linear_from_srgb(appearance.color)
    numbers = {
        mm.Slot.COLOR: CORNER_COLOR if appearance.shows_corners else color,
        mm.Slot.EMISSION: mm.linear_from_srgb(appearance.emissive)
        if any(appearance.emissive)
        else None,
        mm.Slot.OPACITY: appearance.opacity,
        mm.Slot.METALNESS: appearance.metallic,
        mm.Slot.ROUGHNESS: appearance.roughness,
        mm.Slot.NORMAL: None,
    }
    value = numbers[slot]
    return None if value is None else np.array(value)


@pytest.mark.parametrize(
    ("wrap", "preview", "mode"),
    [
        (mm.Wrap.REPEAT, "repeat", None),
        (mm.Wrap.MIRROR, "mirror", "mirror"),
        (mm.Wrap.CLAMP, "clamp", "clamp"),
        (mm.Wrap.BLACK, "black", "constant"),
    ],
)
def test_wrap_modes_are_written_in_both_networks(
    wrap: mm.Wrap, preview: str, mode: str | None
) -> None:
    """``periodic`` is the default of MaterialX."""
    texture = mm.MeshTexture("./a.png", None, mm.Sampling(wrap_t=wrap))
    found = {
        shader.GetIdAttr().Get(): shader
        for shader in shaders(written(mm.MeshMaterial("x", textures=((mm.Slot.COLOR, texture),))))
    }

    image = found["UsdUVTexture"]
    assert image.GetInput("wrapT").Get() == preview
    assert image.GetInput("wrapS").Get() == "repeat"
    stated = found["ND_image_color3"].GetInput("vaddressmode")
    assert (stated.Get() if stated else None) == mode


def test_opacity_cutoff_is_a_threshold_in_both_networks() -> None:
    """An input of the preview surface, a comparison in MaterialX."""
    texture = mm.MeshTexture("./a.png", None, mm.Sampling("a"))
    opacity = float(pixel(np.array(POINT.coordinates["st"]), is_color=False)[3])

    for cutoff, left in ((opacity - 0.01, 1.0), (opacity + 0.01, 0.0)):
        appearance = mm.MeshMaterial("x", cutoff=cutoff, textures=((mm.Slot.OPACITY, texture),))
        material = written(appearance)
        threshold = surface(material).GetInput("opacityThreshold").Get()
        assert threshold == pytest.approx(cutoff)
        whole = surface(material, "mtlx").GetInput("geometry_opacity")
        assert float(POINT.value(whole)) == left
