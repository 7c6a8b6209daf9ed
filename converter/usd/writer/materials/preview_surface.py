"""UsdPreviewSurface shader networks.

Inputs without value are not authored.
"""

from __future__ import annotations

import math

from pxr import Gf, Sdf

from urdf_usd.converter.meshes.mesh_material import Slot
from urdf_usd.converter.usd.writer.materials.appearance import (
    BLACK,
    Appearance,
    Texture,
    color_value,
    connect_surface,
    coordinates_name,
    create_output,
    define_shader,
    linear,
    set_input,
)

_KINDS = Sdf.ValueTypeNames
_NAMES = {
    Slot.COLOR: "Diffuse",
    Slot.EMISSION: "Emissive",
    Slot.OPACITY: "Opacity",
    Slot.METALNESS: "Metallic",
    Slot.ROUGHNESS: "Roughness",
    Slot.NORMAL: "Normal",
    Slot.OCCLUSION: "Occlusion",
}
_INPUTS = {
    Slot.COLOR: ("diffuseColor", _KINDS.Color3f),
    Slot.EMISSION: ("emissiveColor", _KINDS.Color3f),
    Slot.OPACITY: ("opacity", _KINDS.Float),
    Slot.METALNESS: ("metallic", _KINDS.Float),
    Slot.ROUGHNESS: ("roughness", _KINDS.Float),
    Slot.NORMAL: ("normal", _KINDS.Normal3f),
    Slot.OCCLUSION: ("occlusion", _KINDS.Float),
}


def write_preview_surface(material: Sdf.PrimSpec, appearance: Appearance) -> None:
    """Write a UsdPreviewSurface with its textures."""
    shader = define_shader(material, "PreviewSurface", "UsdPreviewSurface")
    for slot, value in (
        *_values(material, appearance).items(),
        *_shown(material, appearance),
    ):
        name, kind = _INPUTS[slot]
        set_input(shader, name, kind, value)
    if appearance.ior is not None:
        set_input(shader, "ior", _KINDS.Float, appearance.ior)
    if appearance.cutoff is not None:
        set_input(shader, "opacityThreshold", _KINDS.Float, appearance.cutoff)
    surface = create_output(shader, "surface", _KINDS.Token)
    connect_surface(material, surface)


def _values(material: Sdf.PrimSpec, appearance: Appearance) -> dict[Slot, object]:
    """Return the values of slots without texture."""
    values: dict[Slot, object] = {}
    if appearance.shows_corners:
        reader = define_shader(material, "CornerColors", "UsdPrimvarReader_float3")
        set_input(reader, "varname", _KINDS.String, "displayColor")
        if appearance.color is not None:
            fallback = Gf.Vec3f(*linear(appearance.color))
            set_input(reader, "fallback", _KINDS.Float3, fallback)
        values[Slot.COLOR] = create_output(reader, "result", _KINDS.Float3)
    elif appearance.color is not None:
        values[Slot.COLOR] = color_value(appearance.color)
    values[Slot.OPACITY] = appearance.opacity
    if appearance.emissive != BLACK:
        values[Slot.EMISSION] = color_value(appearance.emissive)
    if appearance.metallic is not None:
        values[Slot.METALNESS] = appearance.metallic
    if appearance.roughness is not None:
        values[Slot.ROUGHNESS] = appearance.roughness
    with_image = {slot for slot, _ in appearance.textures}
    return {slot: value for slot, value in values.items() if slot not in with_image}


def _shown(material: Sdf.PrimSpec, appearance: Appearance) -> list[tuple[Slot, Sdf.AttributeSpec]]:
    """Write each texture once, and return the output for each slot."""
    shown = []
    for texture, is_color, slots in appearance.images:
        image = _image(material, appearance, texture, slots, is_color=is_color)
        for slot in slots:
            components = appearance.components(slot)
            kind = _KINDS.Float3 if components == "rgb" else _KINDS.Float
            shown.append((slot, create_output(image, components, kind)))
    return shown


def _image(
    material: Sdf.PrimSpec,
    appearance: Appearance,
    texture: Texture,
    slots: tuple[Slot, ...],
    *,
    is_color: bool,
) -> Sdf.PrimSpec:
    name = f"{_NAMES[slots[0]]}Texture"
    image = define_shader(material, name, "UsdUVTexture")
    sampling = texture.sampling
    set_input(image, "file", _KINDS.Asset, Sdf.AssetPath(texture.asset))
    space = "sRGB" if is_color else "raw"
    set_input(image, "sourceColorSpace", _KINDS.Token, space)
    set_input(image, "wrapS", _KINDS.Token, sampling.wrap_s.value)
    set_input(image, "wrapT", _KINDS.Token, sampling.wrap_t.value)
    set_input(image, "fallback", _KINDS.Float4, Gf.Vec4f(*appearance.fallback(slots)))
    if Slot.NORMAL in slots:
        # From [0, 1] to [-1, 1].
        set_input(image, "scale", _KINDS.Float4, Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
        set_input(image, "bias", _KINDS.Float4, Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
    elif sampling.gain != (1.0, 1.0, 1.0, 1.0):
        set_input(image, "scale", _KINDS.Float4, Gf.Vec4f(*sampling.gain))
    set_input(image, "st", _KINDS.Float2, _coordinates(material, texture, name))
    return image


def _coordinates(material: Sdf.PrimSpec, texture: Texture, name: str) -> Sdf.AttributeSpec:
    sampling = texture.sampling
    suffix = str(sampling.coordinates or "")
    identifier = "UsdPrimvarReader_float2"
    reader = define_shader(material, f"TextureCoordinates{suffix}", identifier)
    primvar = coordinates_name(sampling.coordinates)
    set_input(reader, "varname", _KINDS.String, primvar)
    read = create_output(reader, "result", _KINDS.Float2)
    if not sampling.moves:
        return read
    placement = define_shader(material, f"{name}Placement", "UsdTransform2d")
    set_input(placement, "in", _KINDS.Float2, read)
    degrees = math.degrees(sampling.rotation)
    set_input(placement, "rotation", _KINDS.Float, degrees)
    set_input(placement, "scale", _KINDS.Float2, Gf.Vec2f(*sampling.scale))
    translation = Gf.Vec2f(*sampling.translation)
    set_input(placement, "translation", _KINDS.Float2, translation)
    return create_output(placement, "result", _KINDS.Float2)
