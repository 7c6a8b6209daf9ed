"""OpenPBR shader networks, in nodes of MaterialX 1.39.

Identifiers and types are those of MaterialX's node definitions; MaterialX is not needed
to write them. OpenPBR has no occlusion.
"""

from __future__ import annotations

import math

from pxr import Gf, Sdf

from urdf_usd.converter.meshes.mesh_material import Slot, Wrap
from urdf_usd.converter.usd.writer.materials.appearance import (
    BLACK,
    Appearance,
    Texture,
    color_value,
    connect_surface,
    coordinates_name,
    create_output,
    define_shader,
    set_input,
)

_KINDS = Sdf.ValueTypeNames
_CONTEXT = "mtlx"
_INPUTS = {
    Slot.COLOR: ("base_color", _KINDS.Color3f),
    Slot.EMISSION: ("emission_color", _KINDS.Color3f),
    Slot.OPACITY: ("geometry_opacity", _KINDS.Float),
    Slot.METALNESS: ("base_metalness", _KINDS.Float),
    Slot.ROUGHNESS: ("specular_roughness", _KINDS.Float),
    Slot.NORMAL: ("geometry_normal", _KINDS.Float3),
}
_NAMES = {
    Slot.COLOR: "Color",
    Slot.EMISSION: "Emission",
    Slot.OPACITY: "Opacity",
    Slot.METALNESS: "Metalness",
    Slot.ROUGHNESS: "Roughness",
    Slot.NORMAL: "Normal",
}
_MODES = {Wrap.MIRROR: "mirror", Wrap.CLAMP: "clamp", Wrap.BLACK: "constant"}


def write_openpbr(material: Sdf.PrimSpec, appearance: Appearance) -> None:
    """Write an OpenPBR surface with its textures."""
    identifier = "ND_open_pbr_surface_surfaceshader"
    shader = define_shader(material, "OpenPbrSurface", identifier)
    values = _values(material, appearance)
    for slot, texture in appearance.textures:
        if slot in _INPUTS:
            values[slot] = _image(material, appearance, slot, texture)
    if appearance.cutoff is not None and Slot.OPACITY in dict(appearance.textures):
        values[Slot.OPACITY] = _cut(material, appearance.cutoff, values[Slot.OPACITY])
    for slot, value in values.items():
        name, kind = _INPUTS[slot]
        set_input(shader, name, kind, value)
    if Slot.EMISSION in values:
        # The default is zero.
        set_input(shader, "emission_luminance", _KINDS.Float, 1.0)
    if appearance.ior is not None:
        set_input(shader, "specular_ior", _KINDS.Float, appearance.ior)
    surface = create_output(shader, "out", _KINDS.Token)
    connect_surface(material, surface, _CONTEXT)


def _values(material: Sdf.PrimSpec, appearance: Appearance) -> dict[Slot, object]:
    """Return the values of slots without texture."""
    values: dict[Slot, object] = {Slot.OPACITY: appearance.opacity}
    if appearance.shows_corners:
        identifier = "ND_geompropvalue_color3"
        reader = define_shader(material, "CornerColorsProperty", identifier)
        set_input(reader, "geomprop", _KINDS.String, "displayColor")
        values[Slot.COLOR] = create_output(reader, "out", _KINDS.Color3f)
    elif appearance.color is not None:
        values[Slot.COLOR] = color_value(appearance.color)
    if appearance.emissive != BLACK:
        values[Slot.EMISSION] = color_value(appearance.emissive)
    if appearance.metallic is not None:
        values[Slot.METALNESS] = appearance.metallic
    if appearance.roughness is not None:
        values[Slot.ROUGHNESS] = appearance.roughness
    return values


def _image(
    material: Sdf.PrimSpec, appearance: Appearance, slot: Slot, texture: Texture
) -> Sdf.AttributeSpec:
    if slot.is_color:
        return _color_image(material, appearance, slot, texture)
    components = texture.sampling.components
    name = _NAMES[slot]
    fallback = appearance.fallback((slot,))
    if components == "a":
        kind, value = _KINDS.Color4f, Gf.Vec4f(*fallback)
        image = _read(material, slot, texture, "color4", kind, value)
    else:
        kind, value = _KINDS.Float3, Gf.Vec3f(*fallback[:3])
        image = _read(material, slot, texture, "vector3", kind, value)
    pixels = create_output(image, "out", kind)
    if slot is Slot.NORMAL:
        bumps = define_shader(material, "NormalMap", "ND_normalmap_float")
        set_input(bumps, "in", kind, pixels)
        return create_output(bumps, "out", kind)
    of_type = "color4" if components == "a" else "vector3"
    part = define_shader(material, f"{name}Component", f"ND_extract_{of_type}")
    set_input(part, "in", kind, pixels)
    index = "rgba".index(components)
    set_input(part, "index", _KINDS.Int, index)
    out = create_output(part, "out", _KINDS.Float)
    gain = texture.sampling.gain[index]
    if gain == 1.0:
        return out
    return _product(material, name, "float", _KINDS.Float, (out, gain))


def _color_image(
    material: Sdf.PrimSpec, appearance: Appearance, slot: Slot, texture: Texture
) -> Sdf.AttributeSpec:
    kind = _KINDS.Color3f
    fallback = Gf.Vec3f(*appearance.fallback((slot,))[:3])
    image = _read(material, slot, texture, "color3", kind, fallback)
    out = create_output(image, "out", kind)
    gain = texture.sampling.gain[:3]
    if gain == (1.0, 1.0, 1.0):
        return out
    return _product(material, _NAMES[slot], "color3", kind, (out, Gf.Vec3f(*gain)))


def _read(
    material: Sdf.PrimSpec,
    slot: Slot,
    texture: Texture,
    type_name: str,
    kind: Sdf.ValueTypeName,
    fallback: object,
) -> Sdf.PrimSpec:
    name = f"{_NAMES[slot]}Image"
    image = define_shader(material, name, f"ND_image_{type_name}")
    file = set_input(image, "file", _KINDS.Asset, Sdf.AssetPath(texture.asset))
    if slot.is_color:
        file.colorSpace = "srgb_texture"
    set_input(image, "default", kind, fallback)
    sampling = texture.sampling
    for axis, wrap in (("u", sampling.wrap_s), ("v", sampling.wrap_t)):
        if wrap in _MODES:
            set_input(image, f"{axis}addressmode", _KINDS.String, _MODES[wrap])
    coordinates = _coordinates(material, texture, name)
    set_input(image, "texcoord", _KINDS.Float2, coordinates)
    return image


def _coordinates(material: Sdf.PrimSpec, texture: Texture, name: str) -> Sdf.AttributeSpec:
    """Return the texture coordinates of an image.

    ``place2d`` is not used because it divides by the scale, which may be zero.
    """
    sampling = texture.sampling
    suffix = str(sampling.coordinates or "")
    identifier = "ND_geompropvalue_vector2"
    reader = define_shader(material, f"GeometryProperty{suffix}", identifier)
    primvar = coordinates_name(sampling.coordinates)
    set_input(reader, "geomprop", _KINDS.String, primvar)
    out = create_output(reader, "out", _KINDS.Float2)
    if not sampling.moves:
        return out
    kind = _KINDS.Float2
    factors = (out, Gf.Vec2f(*sampling.scale))
    out = _product(material, f"{name}Scale", "vector2", kind, factors)
    turn = define_shader(material, f"{name}Rotation", "ND_rotate2d_vector2")
    set_input(turn, "in", kind, out)
    # rotate2d rotates clockwise.
    set_input(turn, "amount", _KINDS.Float, -math.degrees(sampling.rotation))
    moved = define_shader(material, f"{name}Translation", "ND_add_vector2")
    set_input(moved, "in1", kind, create_output(turn, "out", kind))
    set_input(moved, "in2", kind, Gf.Vec2f(*sampling.translation))
    return create_output(moved, "out", kind)


def _product(
    material: Sdf.PrimSpec,
    name: str,
    type_name: str,
    kind: Sdf.ValueTypeName,
    factors: tuple[object, object],
) -> Sdf.AttributeSpec:
    product = define_shader(material, f"{name}Product", f"ND_multiply_{type_name}")
    for number, factor in enumerate(factors, start=1):
        set_input(product, f"in{number}", kind, factor)
    return create_output(product, "out", kind)


def _cut(material: Sdf.PrimSpec, cutoff: float, opacity: object) -> Sdf.AttributeSpec:
    """Return one if the opacity reaches a threshold, otherwise zero."""
    cut = define_shader(material, "OpacityCutoff", "ND_ifgreatereq_float")
    values = (("value1", opacity), ("value2", cutoff), ("in1", 1.0), ("in2", 0.0))
    for name, value in values:
        set_input(cut, name, _KINDS.Float, value)
    return create_output(cut, "out", _KINDS.Float)
