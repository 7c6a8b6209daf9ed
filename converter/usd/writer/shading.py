"""Shader networks of materials: UsdPreviewSurface and OpenPBR.

Inputs without value are not authored. OpenPBR is in nodes of MaterialX 1.39, with the
identifiers and types of MaterialX's node definitions; MaterialX is not needed to write
them. OpenPBR has no occlusion.

Textures of a material are relative to its layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pxr import Gf, Sdf

from urdf_usd.converter.meshes.mesh_materials import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
)
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.usd.writer.specs import KINDS, UNIFORM, define

_BLACK = (0.0, 0.0, 0.0)
# Default diffuse colour of UsdPreviewSurface; fallback of textures without colour.
_GREY = (0.18, 0.18, 0.18)
_ROUGHNESS = 0.5
_FULL_GAIN = (1.0, 1.0, 1.0, 1.0)
# Name in nodes of UsdPreviewSurface, its input, name in nodes of OpenPBR, and its input.
_INPUTS = {
    Slot.COLOR: ("Diffuse", "diffuseColor", "Color", "base_color", KINDS.Color3f),
    Slot.EMISSION: ("Emissive", "emissiveColor", "Emission", "emission_color", KINDS.Color3f),
    Slot.OPACITY: ("Opacity", "opacity", "Opacity", "geometry_opacity", KINDS.Float),
    Slot.METALNESS: ("Metallic", "metallic", "Metalness", "base_metalness", KINDS.Float),
    Slot.ROUGHNESS: ("Roughness", "roughness", "Roughness", "specular_roughness", KINDS.Float),
    Slot.NORMAL: ("Normal", "normal", "Normal", "geometry_normal", KINDS.Normal3f),
    Slot.OCCLUSION: ("Occlusion", "occlusion", "", "", KINDS.Float),
}
_TOKENS = frozenset({"sourceColorSpace", "wrapS", "wrapT"})
_KIND_OF = {
    str: KINDS.String,
    float: KINDS.Float,
    int: KINDS.Int,
    Sdf.AssetPath: KINDS.Asset,
    Gf.Vec2f: KINDS.Float2,
    Gf.Vec3f: KINDS.Float3,
    Gf.Vec4f: KINDS.Float4,
}
_MODES = {Wrap.MIRROR: "mirror", Wrap.CLAMP: "clamp", Wrap.BLACK: "constant"}


def coordinates_name(number: int) -> str:
    """Return the primvar name of a set of texture coordinates."""
    return f"st{number or ''}"


def _linear(color: Vec3) -> Vec3:
    """Return the linear components of an sRGB colour; without numpy."""
    red, green, blue = (
        encoded / 12.92 if encoded <= 0.04045 else ((encoded + 0.055) / 1.055) ** 2.4
        for encoded in color
    )
    return red, green, blue


def write_networks(material: Sdf.PrimSpec, look: MeshMaterial, networks: MaterialNetworks) -> None:
    """Write the shader networks of a material.

    The preview surface is always written, for renderers without MaterialX.
    """
    _write_preview_surface(material, look)
    if networks is MaterialNetworks.OPENPBR:
        _write_openpbr(material, look)


def _values(look: MeshMaterial) -> dict[Slot, object]:
    """Return the values of slots, also of those with a texture."""
    values: dict[Slot, object] = {}
    if look.color is not None or look.shows_corners:
        values[Slot.COLOR] = Gf.Vec3f(*_linear(look.color or _GREY))
    values[Slot.OPACITY] = look.opacity
    if look.emissive != _BLACK:
        values[Slot.EMISSION] = Gf.Vec3f(*_linear(look.emissive))
    if look.metallic is not None:
        values[Slot.METALNESS] = look.metallic
    if look.roughness is not None:
        values[Slot.ROUGHNESS] = look.roughness
    return values


def _images(look: MeshMaterial) -> Iterator[tuple[MeshTexture, bool, list[Slot]]]:
    """Yield texture reads, whether they are sRGB-encoded, and the slots of each.

    Alpha is never encoded, so that it can be taken from either kind.
    """
    slots_by_read: dict[tuple[MeshTexture, bool], list[Slot]] = {}
    for slot, texture in look.textures:
        whole = texture.sampled(components="rgb")
        is_alpha = texture.sampling.components == "a"
        is_color = slot.is_color or (is_alpha and (whole, True) in slots_by_read)
        slots_by_read.setdefault((whole, is_color), []).append(slot)
    return ((*read, slots) for read, slots in slots_by_read.items())


def _components(look: MeshMaterial, slot: Slot) -> str:
    return dict(look.textures)[slot].sampling.components


def _fallback(look: MeshMaterial, slots: list[Slot]) -> Vec4:
    """Return the linear value in place of a texture that is missing."""
    if Slot.COLOR in slots:
        return (*_linear(look.color or _GREY), look.opacity)
    if Slot.EMISSION in slots:
        return (*_linear(look.emissive), 1.0)
    if Slot.NORMAL in slots:
        return 0.0, 0.0, 1.0, 1.0
    values = {
        Slot.OPACITY: look.opacity,
        Slot.ROUGHNESS: _ROUGHNESS if look.roughness is None else look.roughness,
        Slot.METALNESS: look.metallic or 0.0,
        Slot.OCCLUSION: 1.0,
    }
    rgba = [1.0, 1.0, 1.0, 1.0]
    for slot in slots:
        rgba["rgba".index(_components(look, slot))] = values[slot]
    red, green, blue, alpha = rgba
    return red, green, blue, alpha


def _write_preview_surface(material: Sdf.PrimSpec, look: MeshMaterial) -> None:
    shader = _node(material, "PreviewSurface", "UsdPreviewSurface")
    values = _values(look)
    if look.shows_corners:
        reader = _node(material, "CornerColors", "UsdPrimvarReader_float3", varname="displayColor")
        if look.color is not None:
            _set_input(reader, "fallback", values[Slot.COLOR])
        values[Slot.COLOR] = _output(reader, "result", KINDS.Float3)
    for slot, _ in look.textures:
        values.pop(slot, None)
    for texture, is_color, slots in _images(look):
        image = _preview_texture(material, look, texture, slots, is_color=is_color)
        for slot in slots:
            components = _components(look, slot)
            kind = KINDS.Float3 if components == "rgb" else KINDS.Float
            values[slot] = _output(image, components, kind)
    for slot, value in values.items():
        _, name, *_, kind = _INPUTS[slot]
        _set_input(shader, name, value, kind)
    if look.ior is not None:
        _set_input(shader, "ior", look.ior)
    if look.cutoff is not None:
        _set_input(shader, "opacityThreshold", look.cutoff)
    _connect(material, "outputs:surface", _output(shader, "surface", KINDS.Token))


def _preview_texture(
    material: Sdf.PrimSpec,
    look: MeshMaterial,
    texture: MeshTexture,
    slots: list[Slot],
    *,
    is_color: bool,
) -> Sdf.PrimSpec:
    name, sampling = f"{_INPUTS[slots[0]][0]}Texture", texture.sampling
    image = _node(
        material,
        name,
        "UsdUVTexture",
        file=Sdf.AssetPath(texture.reference),
        sourceColorSpace="sRGB" if is_color else "raw",
        wrapS=sampling.wrap_s.value,
        wrapT=sampling.wrap_t.value,
        fallback=Gf.Vec4f(*_fallback(look, slots)),
    )
    if Slot.NORMAL in slots:
        # From [0, 1] to [-1, 1].
        _set_input(image, "scale", Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
        _set_input(image, "bias", Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
    elif sampling.gain != _FULL_GAIN:
        _set_input(image, "scale", Gf.Vec4f(*sampling.gain))
    primvar = coordinates_name(sampling.coordinates)
    suffix = sampling.coordinates or ""
    reader = _node(
        material, f"TextureCoordinates{suffix}", "UsdPrimvarReader_float2", varname=primvar
    )
    coordinates = _output(reader, "result", KINDS.Float2)
    if sampling.moves:
        placement = _node(
            material,
            f"{name}Placement",
            "UsdTransform2d",
            **{"in": coordinates},
            rotation=math.degrees(sampling.rotation),
            scale=Gf.Vec2f(*sampling.scale),
            translation=Gf.Vec2f(*sampling.translation),
        )
        coordinates = _output(placement, "result", KINDS.Float2)
    _set_input(image, "st", coordinates)
    return image


def _write_openpbr(material: Sdf.PrimSpec, look: MeshMaterial) -> None:
    shader = _node(material, "OpenPbrSurface", "ND_open_pbr_surface_surfaceshader")
    values = {Slot.OPACITY: look.opacity, **_values(look)}
    if look.shows_corners:
        node = "ND_geompropvalue_color3"
        reader = _node(material, "CornerColorsProperty", node, geomprop="displayColor")
        values[Slot.COLOR] = _output(reader, "out", KINDS.Color3f)
    for slot, texture in look.textures:
        if slot is not Slot.OCCLUSION:
            values[slot] = _openpbr_image(material, look, slot, texture)
    if look.cutoff is not None and Slot.OPACITY in dict(look.textures):
        # One if the opacity reaches the threshold, otherwise zero.
        compared = {"value1": values[Slot.OPACITY], "value2": look.cutoff, "in1": 1.0, "in2": 0.0}
        cut = _node(material, "OpacityCutoff", "ND_ifgreatereq_float", **compared)
        values[Slot.OPACITY] = _output(cut, "out", KINDS.Float)
    for slot, value in values.items():
        *_, name, kind = _INPUTS[slot]
        _set_input(shader, name, value, KINDS.Float3 if slot is Slot.NORMAL else kind)
    if Slot.EMISSION in values:
        # The default is zero.
        _set_input(shader, "emission_luminance", 1.0)
    if look.ior is not None:
        _set_input(shader, "specular_ior", look.ior)
    _connect(material, "outputs:mtlx:surface", _output(shader, "out", KINDS.Token))


def _openpbr_image(
    material: Sdf.PrimSpec, look: MeshMaterial, slot: Slot, texture: MeshTexture
) -> Sdf.AttributeSpec:
    name, sampling = _INPUTS[slot][2], texture.sampling
    type_name, kind = "vector3", KINDS.Float3
    if slot.is_color:
        type_name, kind = "color3", KINDS.Color3f
    elif sampling.components == "a":
        type_name, kind = "color4", KINDS.Color4f
    file = Sdf.AssetPath(texture.reference)
    image = _node(material, f"{name}Image", f"ND_image_{type_name}", file=file)
    if slot.is_color:
        image.attributes["inputs:file"].colorSpace = "srgb_texture"
    default = _fallback(look, [slot])
    exact = Gf.Vec4f(*default) if type_name == "color4" else Gf.Vec3f(*default[:3])
    _set_input(image, "default", exact, kind)
    for axis, wrap in (("u", sampling.wrap_s), ("v", sampling.wrap_t)):
        if wrap in _MODES:
            _set_input(image, f"{axis}addressmode", _MODES[wrap])
    _set_input(image, "texcoord", _openpbr_coordinates(material, sampling, f"{name}Image"))
    pixels = _output(image, "out", kind)
    if slot is Slot.NORMAL:
        bumps = _node(material, "NormalMap", "ND_normalmap_float", **{"in": pixels})
        return _output(bumps, "out", kind)
    factor: object = Gf.Vec3f(*sampling.gain[:3])
    is_full = sampling.gain[:3] == _FULL_GAIN[:3]
    if not slot.is_color:
        index = "rgba".index(sampling.components)
        node = f"ND_extract_{type_name}"
        component = _node(material, f"{name}Component", node, **{"in": pixels}, index=index)
        type_name, pixels = "float", _output(component, "out", KINDS.Float)
        factor, is_full = sampling.gain[index], sampling.gain[index] == 1.0
    return pixels if is_full else _product(material, name, type_name, pixels, factor)


def _openpbr_coordinates(
    material: Sdf.PrimSpec, sampling: Sampling, name: str
) -> Sdf.AttributeSpec:
    """Return the texture coordinates of an image.

    ``place2d`` is not used because it divides by the scale, which may be zero.
    """
    primvar, suffix = coordinates_name(sampling.coordinates), sampling.coordinates or ""
    node = "ND_geompropvalue_vector2"
    reader = _node(material, f"GeometryProperty{suffix}", node, geomprop=primvar)
    read = _output(reader, "out", KINDS.Float2)
    if not sampling.moves:
        return read
    scaled = _product(material, f"{name}Scale", "vector2", read, Gf.Vec2f(*sampling.scale))
    # rotate2d rotates clockwise.
    turning = {"in": scaled, "amount": -math.degrees(sampling.rotation)}
    turn = _node(material, f"{name}Rotation", "ND_rotate2d_vector2", **turning)
    addends = _output(turn, "out", KINDS.Float2), Gf.Vec2f(*sampling.translation)
    node = "ND_add_vector2"
    moved = _node(material, f"{name}Translation", node, in1=addends[0], in2=addends[1])
    return _output(moved, "out", KINDS.Float2)


def _product(
    material: Sdf.PrimSpec, name: str, type_name: str, value: Sdf.AttributeSpec, factor: object
) -> Sdf.AttributeSpec:
    product = _node(material, f"{name}Product", f"ND_multiply_{type_name}", in1=value)
    _set_input(product, "in2", factor, value.typeName)
    return _output(product, "out", value.typeName)


def _node(material: Sdf.PrimSpec, name: str, identifier: str, **inputs: object) -> Sdf.PrimSpec:
    """Define a shader below a material; several textures may share one that is there."""
    shader = define(material.layer, material.path.AppendChild(name), "Shader")
    _attribute(shader, "info:id", KINDS.Token, UNIFORM).default = identifier
    for key, value in inputs.items():
        _set_input(shader, key, value)
    return shader


def _set_input(
    shader: Sdf.PrimSpec, name: str, value: object, kind: Sdf.ValueTypeName | None = None
) -> None:
    """Give an input of a shader a value, or connect it if the value is an output.

    Its type is that of the value, unless another one is given.
    """
    if isinstance(value, Sdf.AttributeSpec):
        attribute = _attribute(shader, f"inputs:{name}", kind or value.typeName)
        attribute.connectionPathList.explicitItems = [value.path]
    else:
        kind = kind or (KINDS.Token if name in _TOKENS else _KIND_OF[type(value)])
        _attribute(shader, f"inputs:{name}", kind).default = value


def _output(shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName) -> Sdf.AttributeSpec:
    return _attribute(shader, f"outputs:{name}", kind)


def _connect(material: Sdf.PrimSpec, name: str, surface: Sdf.AttributeSpec) -> None:
    _attribute(material, name, KINDS.Token).connectionPathList.explicitItems = [surface.path]


def _attribute(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
) -> Sdf.AttributeSpec:
    """Return an attribute, which is created if necessary."""
    existing = spec.attributes.get(name)
    return existing or Sdf.AttributeSpec(spec, name, kind, variability)
