"""Shader networks of one look: UsdPreviewSurface, and MaterialX beside it on request.

Inputs that a look says nothing about are not written: the shaders' defaults count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pxr import Gf, Sdf, UsdShade

from converter.usd.colors import linear_from_srgb

if TYPE_CHECKING:
    from pxr import Usd

    from converter.model import Vec3

# UsdPreviewSurface's own diffuse colour: shown where a texture is lost and there is no
# colour to fall back on.
_GREY = (0.18, 0.18, 0.18)
_BLACK = (0.0, 0.0, 0.0)
_KINDS = Sdf.ValueTypeNames


class MaterialNetworks(StrEnum):
    """Which shader networks a material has."""

    PREVIEW = "preview"
    OPENPBR = "openpbr"


@dataclass(frozen=True, slots=True)
class Look:
    """What a material shows.

    Attributes:
        name: In its file, or None.
        color: sRGB components in [0, 1], or None.
        opacity: One is opaque.
        emissive: sRGB components in [0, 1].
        texture: Asset path of an image in place of the colour, or None.
    """

    name: str | None
    color: Vec3 | None = None
    opacity: float = 1.0
    emissive: Vec3 = _BLACK
    texture: str | None = None


def write_networks(
    material: UsdShade.Material, look: Look, networks: MaterialNetworks
) -> None:
    """Give a material its shaders.

    ``OPENPBR`` adds a MaterialX network for its render context; consumers without
    MaterialX take the preview surface, which is always there.
    """
    _write_preview(material, look)
    if networks is MaterialNetworks.OPENPBR:
        _write_openpbr(material, look)


def _write_preview(material: UsdShade.Material, look: Look) -> None:
    shader = _shader(material, "PreviewSurface", "UsdPreviewSurface")
    if look.texture is not None:
        texture = _preview_texture(material, look, look.texture)
        diffuse = shader.CreateInput("diffuseColor", _KINDS.Color3f)
        diffuse.ConnectToSource(texture.CreateOutput("rgb", _KINDS.Float3))
    elif look.color is not None:
        shader.CreateInput("diffuseColor", _KINDS.Color3f).Set(_linear(look.color))
    shader.CreateInput("opacity", _KINDS.Float).Set(look.opacity)
    if look.emissive != _BLACK:
        shader.CreateInput("emissiveColor", _KINDS.Color3f).Set(_linear(look.emissive))
    surface = shader.CreateOutput("surface", _KINDS.Token)
    material.CreateSurfaceOutput().ConnectToSource(surface)


def _preview_texture(
    material: UsdShade.Material, look: Look, texture: str
) -> UsdShade.Shader:
    reader = _shader(material, "TextureCoordinates", "UsdPrimvarReader_float2")
    reader.CreateInput("varname", _KINDS.String).Set("st")
    image = _shader(material, "DiffuseTexture", "UsdUVTexture")
    image.CreateInput("file", _KINDS.Asset).Set(Sdf.AssetPath(texture))
    image.CreateInput("sourceColorSpace", _KINDS.Token).Set("sRGB")
    image.CreateInput("wrapS", _KINDS.Token).Set("repeat")
    image.CreateInput("wrapT", _KINDS.Token).Set("repeat")
    fallback = Gf.Vec4f(*_linear(look.color or _GREY), look.opacity)
    image.CreateInput("fallback", _KINDS.Float4).Set(fallback)
    coordinates = reader.CreateOutput("result", _KINDS.Float2)
    image.CreateInput("st", _KINDS.Float2).ConnectToSource(coordinates)
    return image


def _write_openpbr(material: UsdShade.Material, look: Look) -> None:
    identifier = "ND_open_pbr_surface_surfaceshader"
    shader = _shader(material, "OpenPbrSurface", identifier)
    if look.texture is not None:
        image = _openpbr_texture(material, look, look.texture)
        base = shader.CreateInput("base_color", _KINDS.Color3f)
        base.ConnectToSource(image.CreateOutput("out", _KINDS.Color3f))
    elif look.color is not None:
        shader.CreateInput("base_color", _KINDS.Color3f).Set(_linear(look.color))
    shader.CreateInput("geometry_opacity", _KINDS.Float).Set(look.opacity)
    if look.emissive != _BLACK:
        emission = shader.CreateInput("emission_color", _KINDS.Color3f)
        emission.Set(_linear(look.emissive))
        # Zero by default, which would hide the colour.
        shader.CreateInput("emission_luminance", _KINDS.Float).Set(1.0)
    surface = shader.CreateOutput("out", _KINDS.Token)
    material.CreateSurfaceOutput("mtlx").ConnectToSource(surface)


def _openpbr_texture(
    material: UsdShade.Material, look: Look, texture: str
) -> UsdShade.Shader:
    reader = _shader(material, "GeometryProperty", "ND_geompropvalue_vector2")
    reader.CreateInput("geomprop", _KINDS.String).Set("st")
    image = _shader(material, "ColorImage", "ND_image_color3")
    file = image.CreateInput("file", _KINDS.Asset)
    file.Set(Sdf.AssetPath(texture))
    file.GetAttr().SetColorSpace("srgb_texture")
    image.CreateInput("default", _KINDS.Color3f).Set(_linear(look.color or _GREY))
    coordinates = reader.CreateOutput("out", _KINDS.Float2)
    image.CreateInput("texcoord", _KINDS.Float2).ConnectToSource(coordinates)
    return image


def _shader(material: UsdShade.Material, name: str, identifier: str) -> UsdShade.Shader:
    prim: Usd.Prim = material.GetPrim()
    shader = UsdShade.Shader.Define(prim.GetStage(), prim.GetPath().AppendChild(name))
    shader.CreateIdAttr(identifier)
    return shader


def _linear(color: Vec3) -> Gf.Vec3f:
    return Gf.Vec3f(*linear_from_srgb(color).tolist())
