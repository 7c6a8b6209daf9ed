"""Appearance of materials, and their shader networks: UsdPreviewSurface and OpenPBR.

Inputs without value are not authored. OpenPBR is in nodes of MaterialX 1.39, with the
identifiers and types of MaterialX's node definitions; MaterialX is not needed to write
them. OpenPBR has no occlusion.
"""

from __future__ import annotations

import math

from msgspec import Struct, structs
from pxr import Gf, Sdf

from urdf_usd.converter.meshes.mesh_materials import PLAIN_SAMPLING, Sampling, Slot, Wrap
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.usd.writer.specs import define

_KINDS = Sdf.ValueTypeNames
BLACK = (0.0, 0.0, 0.0)
# Default diffuse colour of UsdPreviewSurface; fallback of textures without colour.
GREY = (0.18, 0.18, 0.18)
_ROUGHNESS = 0.5


class Texture(Struct, frozen=True):
    """A texture of the asset.

    Attributes:
        asset: Asset path, relative to the library layer.
        sampling: Texture coordinates, wrapping and components.
    """

    asset: str
    sampling: Sampling = PLAIN_SAMPLING


class Appearance(Struct, frozen=True):
    """Appearance of a material.

    Attributes:
        name: Name in its file, or None.
        color: sRGB components in [0, 1], or None.
        opacity: One is opaque.
        emissive: sRGB components in [0, 1].
        metallic: From 0 to 1, or None.
        roughness: From 0 to 1, or None.
        ior: Index of refraction, or None.
        cutoff: Opacity threshold of cut-outs; None for blending.
        shows_corners: Whether vertex colours replace the colour.
        textures: Textures by slot; each replaces the value of its slot.
    """

    name: str | None
    color: Vec3 | None = None
    opacity: float = 1.0
    emissive: Vec3 = BLACK
    metallic: float | None = None
    roughness: float | None = None
    ior: float | None = None
    cutoff: float | None = None
    shows_corners: bool = False
    textures: tuple[tuple[Slot, Texture], ...] = ()

    @property
    def images(self) -> tuple[tuple[Texture, bool, tuple[Slot, ...]], ...]:
        """Texture reads, each with its slots; one read may serve several slots.

        Returns:
            Each with whether it is sRGB-encoded, and its slots. Alpha is never encoded,
            so that it can be taken from either kind.
        """
        slots_by_use: dict[tuple[Texture, bool], list[Slot]] = {}
        for slot, texture in self.textures:
            whole = structs.replace(
                texture, sampling=structs.replace(texture.sampling, components="rgb")
            )
            is_color = slot.is_color or (
                texture.sampling.components == "a" and (whole, True) in slots_by_use
            )
            slots_by_use.setdefault((whole, is_color), []).append(slot)
        return tuple((*key, tuple(slots)) for key, slots in slots_by_use.items())

    def components(self, slot: Slot) -> str:
        """Return the components of the texture of a slot."""
        return dict(self.textures)[slot].sampling.components

    def fallback(self, slots: tuple[Slot, ...]) -> Vec4:
        """Return the linear fallback value of a missing texture."""
        if Slot.COLOR in slots:
            red, green, blue = linear(self.color or GREY)
            return red, green, blue, self.opacity
        if Slot.EMISSION in slots:
            return (*linear(self.emissive), 1.0)
        if Slot.NORMAL in slots:
            return 0.0, 0.0, 1.0, 1.0
        values = {
            Slot.OPACITY: self.opacity,
            Slot.ROUGHNESS: _ROUGHNESS if self.roughness is None else self.roughness,
            Slot.METALNESS: self.metallic or 0.0,
            Slot.OCCLUSION: 1.0,
        }
        rgba = [1.0, 1.0, 1.0, 1.0]
        for slot in slots:
            rgba["rgba".index(self.components(slot))] = values[slot]
        red, green, blue, alpha = rgba
        return red, green, blue, alpha


# Largest sRGB component that is encoded linearly.
_LINEAR_ENCODED = 0.04045


def linear(color: Vec3) -> Vec3:
    """Return the linear components of an sRGB colour; without numpy."""
    red, green, blue = (
        encoded / 12.92 if encoded <= _LINEAR_ENCODED else ((encoded + 0.055) / 1.055) ** 2.4
        for encoded in color
    )
    return red, green, blue


def coordinates_name(number: int) -> str:
    """Return the primvar name of a set of texture coordinates."""
    return f"st{number or ''}"


def write_networks(
    material: Sdf.PrimSpec, appearance: Appearance, networks: MaterialNetworks
) -> None:
    """Write the shader networks of a material.

    The preview surface is always written, for renderers without MaterialX.
    """
    write_preview_surface(material, appearance)
    if networks is MaterialNetworks.OPENPBR:
        write_openpbr(material, appearance)


_PREVIEW_NAMES = {
    Slot.COLOR: "Diffuse",
    Slot.EMISSION: "Emissive",
    Slot.OPACITY: "Opacity",
    Slot.METALNESS: "Metallic",
    Slot.ROUGHNESS: "Roughness",
    Slot.NORMAL: "Normal",
    Slot.OCCLUSION: "Occlusion",
}
_PREVIEW_INPUTS = {
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
        *_preview_values(material, appearance).items(),
        *_shown(material, appearance),
    ):
        name, kind = _PREVIEW_INPUTS[slot]
        set_input(shader, name, kind, value)
    if appearance.ior is not None:
        set_input(shader, "ior", _KINDS.Float, appearance.ior)
    if appearance.cutoff is not None:
        set_input(shader, "opacityThreshold", _KINDS.Float, appearance.cutoff)
    surface = create_output(shader, "surface", _KINDS.Token)
    connect_surface(material, surface)


def _preview_values(material: Sdf.PrimSpec, appearance: Appearance) -> dict[Slot, object]:
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
        image = _preview_texture(material, appearance, texture, slots, is_color=is_color)
        for slot in slots:
            components = appearance.components(slot)
            kind = _KINDS.Float3 if components == "rgb" else _KINDS.Float
            shown.append((slot, create_output(image, components, kind)))
    return shown


def _preview_texture(
    material: Sdf.PrimSpec,
    appearance: Appearance,
    texture: Texture,
    slots: tuple[Slot, ...],
    *,
    is_color: bool,
) -> Sdf.PrimSpec:
    name = f"{_PREVIEW_NAMES[slots[0]]}Texture"
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
    set_input(image, "st", _KINDS.Float2, _preview_coordinates(material, texture, name))
    return image


def _preview_coordinates(material: Sdf.PrimSpec, texture: Texture, name: str) -> Sdf.AttributeSpec:
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


_OPENPBR_INPUTS = {
    Slot.COLOR: ("base_color", _KINDS.Color3f),
    Slot.EMISSION: ("emission_color", _KINDS.Color3f),
    Slot.OPACITY: ("geometry_opacity", _KINDS.Float),
    Slot.METALNESS: ("base_metalness", _KINDS.Float),
    Slot.ROUGHNESS: ("specular_roughness", _KINDS.Float),
    Slot.NORMAL: ("geometry_normal", _KINDS.Float3),
}
_OPENPBR_NAMES = {
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
    values = _openpbr_values(material, appearance)
    for slot, texture in appearance.textures:
        if slot in _OPENPBR_INPUTS:
            values[slot] = _image(material, appearance, slot, texture)
    if appearance.cutoff is not None and Slot.OPACITY in dict(appearance.textures):
        values[Slot.OPACITY] = _cut(material, appearance.cutoff, values[Slot.OPACITY])
    for slot, value in values.items():
        name, kind = _OPENPBR_INPUTS[slot]
        set_input(shader, name, kind, value)
    if Slot.EMISSION in values:
        # The default is zero.
        set_input(shader, "emission_luminance", _KINDS.Float, 1.0)
    if appearance.ior is not None:
        set_input(shader, "specular_ior", _KINDS.Float, appearance.ior)
    surface = create_output(shader, "out", _KINDS.Token)
    connect_surface(material, surface, "mtlx")


def _openpbr_values(material: Sdf.PrimSpec, appearance: Appearance) -> dict[Slot, object]:
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
    name = _OPENPBR_NAMES[slot]
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
    return _product(material, _OPENPBR_NAMES[slot], "color3", kind, (out, Gf.Vec3f(*gain)))


def _read(
    material: Sdf.PrimSpec,
    slot: Slot,
    texture: Texture,
    type_name: str,
    kind: Sdf.ValueTypeName,
    fallback: object,
) -> Sdf.PrimSpec:
    name = f"{_OPENPBR_NAMES[slot]}Image"
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


def define_shader(material: Sdf.PrimSpec, name: str, identifier: str) -> Sdf.PrimSpec:
    """Define a shader below a material; one that is there is returned."""
    shader = define(material.layer, material.path.AppendChild(name), "Shader")
    kind = _attribute(shader, "info:id", _KINDS.Token, Sdf.VariabilityUniform)
    kind.default = identifier
    return shader


def set_input(
    shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, value: object
) -> Sdf.AttributeSpec:
    """Give an input of a shader a value, or connect it if the value is an output."""
    input_ = _attribute(shader, f"inputs:{name}", kind)
    if isinstance(value, Sdf.AttributeSpec):
        input_.connectionPathList.explicitItems = [value.path]
    else:
        input_.default = value
    return input_


def create_output(shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName) -> Sdf.AttributeSpec:
    """Return an output of a shader, which is created if necessary."""
    return _attribute(shader, f"outputs:{name}", kind)


def connect_surface(material: Sdf.PrimSpec, surface: Sdf.AttributeSpec, context: str = "") -> None:
    """Connect the surface of a material, in a render context or in all."""
    name = f"outputs:{context}:surface" if context else "outputs:surface"
    output = _attribute(material, name, _KINDS.Token)
    output.connectionPathList.explicitItems = [surface.path]


def _attribute(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
) -> Sdf.AttributeSpec:
    """Return an attribute, which is created if necessary.

    Shaders of several textures may share one that reads their coordinates.
    """
    existing = spec.attributes.get(name)
    if existing is not None:
        return existing
    return Sdf.AttributeSpec(spec, name, kind, variability)


def color_value(color: Vec3) -> Gf.Vec3f:
    """Convert an sRGB colour to a linear ``GfVec3f``."""
    return Gf.Vec3f(*linear(color))
