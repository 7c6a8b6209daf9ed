"""Evaluation of shader networks, node by node, according to the specifications.

UsdPreviewSurface's specification for one kind, MaterialX's for the other. Images are a
function of the texture coordinates, so that wrong coordinates change the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pxr import Sdf, UsdShade

Numbers = np.ndarray

CORNER_COLOR = np.array([0.9, 0.2, 0.4])


@dataclass(frozen=True)
class Point:
    """A point of a surface."""

    coordinates: dict[str, tuple[float, float]]  # by primvar

    def value(self, attribute: UsdShade.Input) -> Numbers:
        sources, _ = attribute.GetConnectedSources()
        if not sources:
            return _plain(attribute.Get())
        shader = UsdShade.Shader(sources[0].source.GetPrim())
        return _NODES[shader.GetIdAttr().Get()](self, shader, sources[0].sourceName)

    def of(self, shader: UsdShade.Shader, name: str, default: object = None) -> Numbers:
        found = shader.GetInput(name)
        return self.value(found) if found else np.array(default, dtype=float)


def _plain(value: object) -> Numbers:
    if isinstance(value, Sdf.AssetPath | str):
        return np.array(value.path if isinstance(value, Sdf.AssetPath) else value)
    return np.array(value, dtype=float)


def pixel(place: Numbers, *, is_color: bool) -> Numbers:
    """Return an image's linear components; a colour is darker than raw data."""
    s, t = place
    rgba = np.array([0.3 + 0.01 * s, 0.5 - 0.02 * t, 0.6 + 0.03 * s * t, 0.7 + 0.01 * t])
    return rgba * np.array([0.5, 0.5, 0.5, 1.0]) if is_color else rgba


def _uv_texture(point: Point, shader: UsdShade.Shader, output: str) -> Numbers:
    is_color = shader.GetInput("sourceColorSpace").Get() == "sRGB"
    rgba = pixel(point.of(shader, "st"), is_color=is_color)
    rgba = rgba * point.of(shader, "scale", [1] * 4) + point.of(shader, "bias", [0] * 4)
    taken: Numbers = rgba[:3] if output == "rgb" else rgba["rgba".index(output)]
    return taken


def _transform_2d(point: Point, shader: UsdShade.Shader, _: str) -> Numbers:
    angle = math.radians(float(point.of(shader, "rotation", 0)))
    sine, cosine = math.sin(angle), math.cos(angle)
    scaled = point.of(shader, "in") * point.of(shader, "scale", [1, 1])
    turned = np.array([[cosine, -sine], [sine, cosine]]) @ scaled
    result: Numbers = turned + point.of(shader, "translation", [0, 0])
    return result


def _primvar(point: Point, shader: UsdShade.Shader, _: str) -> Numbers:
    name = shader.GetInput("varname") or shader.GetInput("geomprop")
    if name.Get() == "displayColor":
        return CORNER_COLOR
    return np.array(point.coordinates[name.Get()])


def _image(width: int) -> Callable[[Point, UsdShade.Shader, str], Numbers]:
    def read(point: Point, shader: UsdShade.Shader, _: str) -> Numbers:
        is_color = shader.GetInput("file").GetAttr().GetColorSpace() == "srgb_texture"
        return pixel(point.of(shader, "texcoord"), is_color=is_color)[:width]

    return read


def _rotate(point: Point, shader: UsdShade.Shader, _: str) -> Numbers:
    # Its GLSL: (cos x + sin y, cos y - sin x).
    angle = math.radians(float(point.of(shader, "amount", 0)))
    sine, cosine = math.sin(angle), math.cos(angle)
    turned: Numbers = np.array([[cosine, sine], [-sine, cosine]]) @ point.of(shader, "in")
    return turned


def _of_inputs(function: Callable[..., Numbers], *names: str) -> Callable[..., Numbers]:
    return lambda point, shader, _: function(*(point.of(shader, name, 0) for name in names))


_multiply = _of_inputs(lambda one, other: one * other, "in1", "in2")
_extract = _of_inputs(lambda vector, index: vector[int(index)], "in", "index")
_NODES: dict[str, Callable[..., Numbers]] = {
    "UsdUVTexture": _uv_texture,
    "UsdTransform2d": _transform_2d,
    "UsdPrimvarReader_float2": _primvar,
    "UsdPrimvarReader_float3": _primvar,
    "ND_image_color3": _image(3),
    "ND_image_color4": _image(4),
    "ND_image_vector3": _image(3),
    "ND_geompropvalue_vector2": _primvar,
    "ND_geompropvalue_color3": _primvar,
    "ND_rotate2d_vector2": _rotate,
    "ND_multiply_vector2": _multiply,
    "ND_multiply_color3": _multiply,
    "ND_multiply_float": _multiply,
    "ND_add_vector2": _of_inputs(lambda one, other: one + other, "in1", "in2"),
    "ND_extract_color4": _extract,
    "ND_extract_vector3": _extract,
    "ND_ifgreatereq_float": _of_inputs(
        lambda value, least, one, other: one if value >= least else other,
        *("value1", "value2", "in1", "in2"),
    ),
    # In the tangent frame, where it is a unit vector.
    "ND_normalmap_float": _of_inputs(lambda vector: vector * 2 - 1, "in"),
}
