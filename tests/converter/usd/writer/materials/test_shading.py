"""Both shader networks of a material compute its appearance.

They are evaluated node by node according to the specifications: UsdPreviewSurface's for one
kind, MaterialX's for the other. Images are a function of texture coordinates and wrap modes, so
that wrong ones change the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf, Usd, UsdShade

from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.usd.writer.materials import write_networks
from urdf_usd.converter.usd.writer.specs import define

_COORDINATES = {"st": (0.3, 0.8), "st1": (-1.2, 0.4), "st2": (2.5, -0.7)}
_CORNER_COLOR = np.array([0.9, 0.2, 0.4])
_WRAPS = {"repeat": 1.0, "mirror": 0.9, "clamp": 0.8, "black": 0.7}
# Those of MaterialX; the first is its default.
_MODES = {"periodic": "repeat", "mirror": "mirror", "clamp": "clamp", "constant": "black"}


def _pixel(place: np.ndarray, wrap: tuple[str, str], *, is_color: bool) -> np.ndarray:
    """Return an image's linear components; a colour is darker than raw data."""
    s, t = place
    rgba = np.array([0.3 + 0.01 * s, 0.5 - 0.02 * t, 0.6 + 0.03 * s * t, 0.7 + 0.01 * t])
    rgba *= _WRAPS[wrap[0]] * _WRAPS[wrap[1]] ** 2
    return rgba * np.array([0.5, 0.5, 0.5, 1.0]) if is_color else rgba


def _value(attribute: UsdShade.Input) -> np.ndarray:
    sources, _ = attribute.GetConnectedSources()
    if not sources:
        return np.array(attribute.Get(), dtype=float)
    shader = UsdShade.Shader(sources[0].source.GetPrim())
    return _NODES[shader.GetIdAttr().Get()](shader, sources[0].sourceName)


def _input(shader: UsdShade.Shader, name: str, default: object = 0.0) -> np.ndarray:
    found = shader.GetInput(name)
    return _value(found) if found else np.array(default, dtype=float)


def _uv_texture(shader: UsdShade.Shader, output: str) -> np.ndarray:
    is_color = shader.GetInput("sourceColorSpace").Get() == "sRGB"
    wrap = shader.GetInput("wrapS").Get(), shader.GetInput("wrapT").Get()
    rgba = _pixel(_input(shader, "st"), wrap, is_color=is_color)
    rgba = rgba * _input(shader, "scale", [1] * 4) + _input(shader, "bias", [0] * 4)
    return np.array(rgba[:3] if output == "rgb" else rgba["rgba".index(output)])


def _turned(degrees: np.ndarray, vector: np.ndarray) -> np.ndarray:
    turned = np.exp(1j * math.radians(float(degrees))) * complex(*vector)
    return np.array([turned.real, turned.imag])


def _transform_2d(shader: UsdShade.Shader, _: str) -> np.ndarray:
    scaled = _input(shader, "in") * _input(shader, "scale", [1, 1])
    turned = _turned(_input(shader, "rotation"), scaled)
    moved: np.ndarray = turned + _input(shader, "translation", [0, 0])
    return moved


def _primvar(shader: UsdShade.Shader, _: str) -> np.ndarray:
    name = (shader.GetInput("varname") or shader.GetInput("geomprop")).Get()
    return _CORNER_COLOR if name == "displayColor" else np.array(_COORDINATES[name])


def _image(shader: UsdShade.Shader, _: str) -> np.ndarray:
    is_color = shader.GetInput("file").GetAttr().GetColorSpace() == "srgb_texture"
    u, v = (
        _MODES[mode.Get() if (mode := shader.GetInput(f"{axis}addressmode")) else "periodic"]
        for axis in "uv"
    )
    width = int(shader.GetIdAttr().Get()[-1])
    return _pixel(_input(shader, "texcoord"), (u, v), is_color=is_color)[:width]


def _of_inputs(
    function: Callable[..., np.ndarray], *names: str
) -> Callable[[UsdShade.Shader, str], np.ndarray]:
    return lambda shader, _: function(*(_input(shader, name) for name in names))


_multiply = _of_inputs(lambda one, other: one * other, "in1", "in2")
_extract = _of_inputs(lambda vector, index: vector[int(index)], "in", "index")
_NODES: dict[str, Callable[[UsdShade.Shader, str], np.ndarray]] = {
    "UsdUVTexture": _uv_texture,
    "UsdTransform2d": _transform_2d,
    **dict.fromkeys(("UsdPrimvarReader_float2", "UsdPrimvarReader_float3"), _primvar),
    **dict.fromkeys(("ND_geompropvalue_vector2", "ND_geompropvalue_color3"), _primvar),
    **dict.fromkeys(("ND_image_color3", "ND_image_color4", "ND_image_vector3"), _image),
    **{f"ND_multiply_{kind}": _multiply for kind in ("vector2", "color3", "float")},
    **{f"ND_extract_{kind}": _extract for kind in ("color4", "vector3")},
    # Its GLSL is clockwise: (cos x + sin y, cos y - sin x).
    "ND_rotate2d_vector2": _of_inputs(lambda turn, place: _turned(-turn, place), "amount", "in"),
    "ND_add_vector2": _of_inputs(lambda one, other: one + other, "in1", "in2"),
    "ND_ifgreatereq_float": _of_inputs(
        lambda value, least, one, other: one if value >= least else other,
        *("value1", "value2", "in1", "in2"),
    ),
    # In the tangent frame, where it is a unit vector.
    "ND_normalmap_float": _of_inputs(lambda vector: vector * 2 - 1, "in"),
}

# What both networks compute: input of the preview, of OpenPBR.
_SHARED = {
    mm.Slot.COLOR: ("diffuseColor", "base_color"),
    mm.Slot.EMISSION: ("emissiveColor", "emission_color"),
    mm.Slot.OPACITY: ("opacity", "geometry_opacity"),
    mm.Slot.METALNESS: ("metallic", "base_metalness"),
    mm.Slot.ROUGHNESS: ("roughness", "specular_roughness"),
    mm.Slot.NORMAL: ("normal", "geometry_normal"),
}
_UNITS = st.floats(0, 1).map(lambda x: round(x, 6))
_PAIRS = st.tuples(st.floats(-2, 2), st.floats(-2, 2))


@st.composite
def _textures(draw: st.DrawFn, slot: mm.Slot) -> mm.MeshTexture:
    whole = slot.is_color or slot is mm.Slot.NORMAL
    gain = draw(st.tuples(_UNITS, _UNITS, _UNITS, _UNITS))
    sampling = mm.Sampling(
        components="rgb" if whole else draw(st.sampled_from("rgba")),
        wrap_s=draw(st.sampled_from(mm.Wrap)),
        wrap_t=draw(st.sampled_from(mm.Wrap)),
        coordinates=draw(st.integers(0, 2)),
        scale=draw(_PAIRS),
        rotation=draw(st.floats(-4, 4)),
        translation=draw(_PAIRS),
        gain=(1.0, 1.0, 1.0, 1.0) if slot is mm.Slot.NORMAL else gain,
    )
    return mm.MeshTexture(f"./{draw(st.sampled_from('ab'))}.png", None, sampling)


@st.composite
def _appearances(draw: st.DrawFn) -> mm.MeshMaterial:
    slots = draw(st.lists(st.sampled_from(mm.Slot), unique=True))
    return mm.MeshMaterial(
        name="x",
        color=draw(st.none() | st.tuples(_UNITS, _UNITS, _UNITS)),
        opacity=draw(_UNITS),
        emissive=draw(st.tuples(_UNITS, _UNITS, _UNITS)),
        metallic=draw(st.none() | _UNITS),
        roughness=draw(st.none() | _UNITS),
        ior=draw(st.none() | st.floats(0.001, 10)),
        cutoff=draw(st.none() | st.floats(0.01, 0.99)),
        shows_corners=draw(st.booleans()),
        textures=tuple((slot, draw(_textures(slot))) for slot in slots),
    )


@given(_appearances())
def test_both_networks_compute_the_appearance(appearance: mm.MeshMaterial) -> None:
    """Values of slots without image; otherwise the sampled image."""
    layer = Sdf.Layer.CreateAnonymous()
    write_networks(define(layer, Sdf.Path("/m"), "Material"), appearance, MaterialNetworks.OPENPBR)
    stage = Usd.Stage.Open(layer)
    material = UsdShade.Material.Get(stage, "/m")
    preview, openpbr = (material.ComputeSurfaceSource(context)[0] for context in ("", "mtlx"))

    for slot, names in _SHARED.items():
        found = [
            _value(shader.GetInput(name))
            for shader, name in zip((preview, openpbr), names, strict=True)
            if shader.GetInput(name)
        ]
        value = _expected(appearance, slot)
        expected = [] if value is None else [value, value]
        if slot is mm.Slot.OPACITY and appearance.cutoff is not None:
            # An input of the preview surface, a comparison in MaterialX.
            threshold = preview.GetInput("opacityThreshold").Get()
            assert threshold == pytest.approx(appearance.cutoff)
            if slot in dict(appearance.textures):
                expected[1] = np.array(float(expected[1] >= appearance.cutoff))
        assert len(found) == len(expected), slot
        for actual, desired in zip(found, expected, strict=True):
            np.testing.assert_allclose(actual, desired, atol=1e-5, err_msg=slot)


def _expected(appearance: mm.MeshMaterial, slot: mm.Slot) -> np.ndarray | None:
    texture = dict(appearance.textures).get(slot)
    if texture is None:
        color, emissive = (
            None if rgb is None else mm.linear_from_srgb(rgb)
            for rgb in (appearance.color, appearance.emissive)
        )
        number = {
            mm.Slot.COLOR: _CORNER_COLOR if appearance.shows_corners else color,
            mm.Slot.EMISSION: emissive if any(appearance.emissive) else None,
            mm.Slot.OPACITY: appearance.opacity,
            mm.Slot.METALNESS: appearance.metallic,
            mm.Slot.ROUGHNESS: appearance.roughness,
        }.get(slot)
        return None if number is None else np.array(number)
    sampling = texture.sampling
    scaled = np.array(_COORDINATES[f"st{sampling.coordinates or ''}"]) * sampling.scale
    place = _turned(np.degrees(sampling.rotation), scaled) + sampling.translation
    wrap = (sampling.wrap_s.value, sampling.wrap_t.value)
    rgba = _pixel(place, wrap, is_color=slot.is_color) * sampling.gain
    if slot is mm.Slot.NORMAL:
        return rgba[:3] * 2 - 1
    if sampling.components == "rgb":
        return rgba[:3]
    return np.array(rgba["rgba".index(sampling.components)])
