"""Appearance of materials, and their shader networks: UsdPreviewSurface and OpenPBR.

Inputs without value are not authored. OpenPBR is in nodes of MaterialX 1.39, with the
identifiers and types of MaterialX's node definitions; MaterialX is not needed to write
them. OpenPBR has no occlusion.
"""

from __future__ import annotations

import math
from typing import TypeAlias

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
    """A texture of the asset; its path is relative to the library layer."""

    asset: str
    sampling: Sampling = PLAIN_SAMPLING


class Appearance(Struct, frozen=True):
    """Appearance of a material; colours are sRGB components in [0, 1]."""

    name: str | None  # In its file.
    color: Vec3 | None = None
    opacity: float = 1.0
    emissive: Vec3 = BLACK
    metallic: float | None = None  # From 0 to 1, as roughness.
    roughness: float | None = None
    ior: float | None = None  # Index of refraction.
    cutoff: float | None = None  # Opacity threshold of cut-outs; None for blending.
    shows_corners: bool = False  # Whether vertex colours replace the colour.
    textures: tuple[tuple[Slot, Texture], ...] = ()  # Each replaces the value of its slot.

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


# Name in nodes of UsdPreviewSurface, its input, name in nodes of OpenPBR, and its input.
_INPUTS = {
    Slot.COLOR: ("Diffuse", "diffuseColor", "Color", "base_color", _KINDS.Color3f),
    Slot.EMISSION: ("Emissive", "emissiveColor", "Emission", "emission_color", _KINDS.Color3f),
    Slot.OPACITY: ("Opacity", "opacity", "Opacity", "geometry_opacity", _KINDS.Float),
    Slot.METALNESS: ("Metallic", "metallic", "Metalness", "base_metalness", _KINDS.Float),
    Slot.ROUGHNESS: ("Roughness", "roughness", "Roughness", "specular_roughness", _KINDS.Float),
    Slot.NORMAL: ("Normal", "normal", "Normal", "geometry_normal", _KINDS.Normal3f),
    Slot.OCCLUSION: ("Occlusion", "occlusion", "", "", _KINDS.Float),
}
_MODES = {Wrap.MIRROR: "mirror", Wrap.CLAMP: "clamp", Wrap.BLACK: "constant"}
_Input: TypeAlias = "tuple[str, Sdf.ValueTypeName, object]"


def write_networks(
    material: Sdf.PrimSpec, appearance: Appearance, networks: MaterialNetworks
) -> None:
    """Write the shader networks of a material.

    The preview surface is always written, for renderers without MaterialX.
    """
    _write_preview_surface(material, appearance)
    if networks is MaterialNetworks.OPENPBR:
        _write_openpbr(material, appearance)


def _values(appearance: Appearance) -> dict[Slot, object]:
    """Return the values of slots, also of those with a texture."""
    values: dict[Slot, object] = {}
    if appearance.color is not None or appearance.shows_corners:
        values[Slot.COLOR] = Gf.Vec3f(*linear(appearance.color or GREY))
    values[Slot.OPACITY] = appearance.opacity
    if appearance.emissive != BLACK:
        values[Slot.EMISSION] = Gf.Vec3f(*linear(appearance.emissive))
    if appearance.metallic is not None:
        values[Slot.METALNESS] = appearance.metallic
    if appearance.roughness is not None:
        values[Slot.ROUGHNESS] = appearance.roughness
    return values


def _write_preview_surface(material: Sdf.PrimSpec, appearance: Appearance) -> None:
    shader = _node(material, "PreviewSurface", "UsdPreviewSurface")
    values = _values(appearance)
    if appearance.shows_corners:
        reader = _node(
            material,
            "CornerColors",
            "UsdPrimvarReader_float3",
            ("varname", _KINDS.String, "displayColor"),
        )
        if appearance.color is not None:
            _set_input(reader, "fallback", _KINDS.Float3, values[Slot.COLOR])
        values[Slot.COLOR] = _output(reader, "result", _KINDS.Float3)
    for slot, _ in appearance.textures:
        values.pop(slot, None)
    for texture, is_color, slots in appearance.images:
        image = _preview_texture(material, appearance, texture, slots, is_color=is_color)
        for slot in slots:
            components = appearance.components(slot)
            kind = _KINDS.Float3 if components == "rgb" else _KINDS.Float
            values[slot] = _output(image, components, kind)
    for slot, value in values.items():
        _, name, *_, kind = _INPUTS[slot]
        _set_input(shader, name, kind, value)
    if appearance.ior is not None:
        _set_input(shader, "ior", _KINDS.Float, appearance.ior)
    if appearance.cutoff is not None:
        _set_input(shader, "opacityThreshold", _KINDS.Float, appearance.cutoff)
    _connect(material, "outputs:surface", _output(shader, "surface", _KINDS.Token))


def _preview_texture(
    material: Sdf.PrimSpec,
    appearance: Appearance,
    texture: Texture,
    slots: tuple[Slot, ...],
    *,
    is_color: bool,
) -> Sdf.PrimSpec:
    name, sampling = f"{_INPUTS[slots[0]][0]}Texture", texture.sampling
    image = _node(
        material,
        name,
        "UsdUVTexture",
        ("file", _KINDS.Asset, Sdf.AssetPath(texture.asset)),
        ("sourceColorSpace", _KINDS.Token, "sRGB" if is_color else "raw"),
        ("wrapS", _KINDS.Token, sampling.wrap_s.value),
        ("wrapT", _KINDS.Token, sampling.wrap_t.value),
        ("fallback", _KINDS.Float4, Gf.Vec4f(*appearance.fallback(slots))),
    )
    if Slot.NORMAL in slots:
        # From [0, 1] to [-1, 1].
        _set_input(image, "scale", _KINDS.Float4, Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
        _set_input(image, "bias", _KINDS.Float4, Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
    elif sampling.gain != (1.0, 1.0, 1.0, 1.0):
        _set_input(image, "scale", _KINDS.Float4, Gf.Vec4f(*sampling.gain))
    kind = _KINDS.Float2
    primvar = "varname", _KINDS.String, coordinates_name(sampling.coordinates)
    suffix = sampling.coordinates or ""
    reader = _node(material, f"TextureCoordinates{suffix}", "UsdPrimvarReader_float2", primvar)
    coordinates = _output(reader, "result", kind)
    if sampling.moves:
        placement = _node(
            material,
            f"{name}Placement",
            "UsdTransform2d",
            ("in", kind, coordinates),
            ("rotation", _KINDS.Float, math.degrees(sampling.rotation)),
            ("scale", kind, Gf.Vec2f(*sampling.scale)),
            ("translation", kind, Gf.Vec2f(*sampling.translation)),
        )
        coordinates = _output(placement, "result", kind)
    _set_input(image, "st", kind, coordinates)
    return image


def _write_openpbr(material: Sdf.PrimSpec, appearance: Appearance) -> None:
    shader = _node(material, "OpenPbrSurface", "ND_open_pbr_surface_surfaceshader")
    values = {Slot.OPACITY: appearance.opacity, **_values(appearance)}
    if appearance.shows_corners:
        corners = "geomprop", _KINDS.String, "displayColor"
        reader = _node(material, "CornerColorsProperty", "ND_geompropvalue_color3", corners)
        values[Slot.COLOR] = _output(reader, "out", _KINDS.Color3f)
    for slot, texture in appearance.textures:
        if slot is not Slot.OCCLUSION:
            values[slot] = _openpbr_image(material, appearance, slot, texture)
    if appearance.cutoff is not None and Slot.OPACITY in dict(appearance.textures):
        # One if the opacity reaches the threshold, otherwise zero.
        cut = _node(
            material,
            "OpacityCutoff",
            "ND_ifgreatereq_float",
            ("value1", _KINDS.Float, values[Slot.OPACITY]),
            ("value2", _KINDS.Float, appearance.cutoff),
            ("in1", _KINDS.Float, 1.0),
            ("in2", _KINDS.Float, 0.0),
        )
        values[Slot.OPACITY] = _output(cut, "out", _KINDS.Float)
    for slot, value in values.items():
        *_, name, kind = _INPUTS[slot]
        _set_input(shader, name, _KINDS.Float3 if slot is Slot.NORMAL else kind, value)
    if Slot.EMISSION in values:
        # The default is zero.
        _set_input(shader, "emission_luminance", _KINDS.Float, 1.0)
    if appearance.ior is not None:
        _set_input(shader, "specular_ior", _KINDS.Float, appearance.ior)
    _connect(material, "outputs:mtlx:surface", _output(shader, "out", _KINDS.Token))


def _openpbr_image(
    material: Sdf.PrimSpec, appearance: Appearance, slot: Slot, texture: Texture
) -> Sdf.AttributeSpec:
    name, sampling = _INPUTS[slot][2], texture.sampling
    fallback = appearance.fallback((slot,))
    type_name, kind = "vector3", _KINDS.Float3
    if slot.is_color:
        type_name, kind = "color3", _KINDS.Color3f
    elif sampling.components == "a":
        type_name, kind = "color4", _KINDS.Color4f
    default = Gf.Vec4f(*fallback) if type_name == "color4" else Gf.Vec3f(*fallback[:3])
    file = "file", _KINDS.Asset, Sdf.AssetPath(texture.asset)
    image = _node(material, f"{name}Image", f"ND_image_{type_name}", file)
    if slot.is_color:
        image.attributes["inputs:file"].colorSpace = "srgb_texture"
    _set_input(image, "default", kind, default)
    for axis, wrap in (("u", sampling.wrap_s), ("v", sampling.wrap_t)):
        if wrap in _MODES:
            _set_input(image, f"{axis}addressmode", _KINDS.String, _MODES[wrap])
    coordinates = _openpbr_coordinates(material, sampling, f"{name}Image")
    _set_input(image, "texcoord", _KINDS.Float2, coordinates)
    pixels = _output(image, "out", kind)
    if slot is Slot.NORMAL:
        bumps = _node(material, "NormalMap", "ND_normalmap_float", ("in", kind, pixels))
        return _output(bumps, "out", kind)
    if slot.is_color:
        gain = sampling.gain[:3]
        if gain == (1.0, 1.0, 1.0):
            return pixels
        return _product(material, name, "color3", kind, (pixels, Gf.Vec3f(*gain)))
    index = "rgba".index(sampling.components)
    component = _node(
        material,
        f"{name}Component",
        f"ND_extract_{type_name}",
        ("in", kind, pixels),
        ("index", _KINDS.Int, index),
    )
    value = _output(component, "out", _KINDS.Float)
    if sampling.gain[index] == 1.0:
        return value
    return _product(material, name, "float", _KINDS.Float, (value, sampling.gain[index]))


def _openpbr_coordinates(
    material: Sdf.PrimSpec, sampling: Sampling, name: str
) -> Sdf.AttributeSpec:
    """Return the texture coordinates of an image.

    ``place2d`` is not used because it divides by the scale, which may be zero.
    """
    kind = _KINDS.Float2
    primvar = "geomprop", _KINDS.String, coordinates_name(sampling.coordinates)
    suffix = sampling.coordinates or ""
    reader = _node(material, f"GeometryProperty{suffix}", "ND_geompropvalue_vector2", primvar)
    read = _output(reader, "out", kind)
    if not sampling.moves:
        return read
    factors = (read, Gf.Vec2f(*sampling.scale))
    scaled = _product(material, f"{name}Scale", "vector2", kind, factors)
    # rotate2d rotates clockwise.
    amount = "amount", _KINDS.Float, -math.degrees(sampling.rotation)
    turn = _node(material, f"{name}Rotation", "ND_rotate2d_vector2", ("in", kind, scaled), amount)
    moved = _node(material, f"{name}Translation", "ND_add_vector2")
    _set_input(moved, "in1", kind, _output(turn, "out", kind))
    _set_input(moved, "in2", kind, Gf.Vec2f(*sampling.translation))
    return _output(moved, "out", kind)


def _product(
    material: Sdf.PrimSpec,
    name: str,
    type_name: str,
    kind: Sdf.ValueTypeName,
    factors: tuple[object, object],
) -> Sdf.AttributeSpec:
    inputs = [(f"in{number}", kind, factor) for number, factor in enumerate(factors, start=1)]
    product = _node(material, f"{name}Product", f"ND_multiply_{type_name}", *inputs)
    return _output(product, "out", kind)


def _node(material: Sdf.PrimSpec, name: str, identifier: str, *inputs: _Input) -> Sdf.PrimSpec:
    """Define a shader below a material; several textures may share one that is there."""
    shader = define(material.layer, material.path.AppendChild(name), "Shader")
    kind = _attribute(shader, "info:id", _KINDS.Token, Sdf.VariabilityUniform)
    kind.default = identifier
    for key, value_type, value in inputs:
        _set_input(shader, key, value_type, value)
    return shader


def _set_input(shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, value: object) -> None:
    """Give an input of a shader a value, or connect it if the value is an output."""
    attribute = _attribute(shader, f"inputs:{name}", kind)
    if isinstance(value, Sdf.AttributeSpec):
        attribute.connectionPathList.explicitItems = [value.path]
    else:
        attribute.default = value


def _output(shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName) -> Sdf.AttributeSpec:
    return _attribute(shader, f"outputs:{name}", kind)


def _connect(material: Sdf.PrimSpec, name: str, surface: Sdf.AttributeSpec) -> None:
    _attribute(material, name, _KINDS.Token).connectionPathList.explicitItems = [surface.path]


def _attribute(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
) -> Sdf.AttributeSpec:
    """Return an attribute, which is created if necessary."""
    existing = spec.attributes.get(name)
    return existing or Sdf.AttributeSpec(spec, name, kind, variability)
