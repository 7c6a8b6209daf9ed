"""The material library, and bindings of its materials.

Materials of a mesh file override that of the URDF, per part; the URDF's material is
bound to parts without one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs
from pxr import Gf, Sdf

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.robot.model import Link, MeshFile, Robot, Vec3
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.geometry import MeshLibrary, SurfaceParts, coordinates_name
from urdf_usd.converter.usd.writer.textures import Image, copy_textures, image_of, outside_note

KINDS = specs.KINDS
LIBRARY_ROOT = Sdf.Path("/Materials")
# Folder next to the library.
TEXTURES = "Textures"
_UNNAMED = "material"
_NO_PARTS = SurfaceParts((), covered=False, coordinate_sets=())


class _Part(Struct, frozen=True):
    """A visual, or a part of it, with a material."""

    visual: Sdf.Path
    subset: str | None  # Of its mesh; None for the visual itself.
    material: mm.MeshMaterial  # Without textures.
    images: list[tuple[mm.Slot, Image, mm.Sampling]]
    mesh_file: str | None = None  # The file that has the material; None if the URDF does.


def author_materials(
    library: Sdf.Layer,
    layer: Sdf.Layer,
    geometry: Sdf.Layer,
    robot: Robot,
    prims: specs.Prims,
    meshes: MeshLibrary,
    library_asset: str,
    networks: MaterialNetworks,
) -> tuple[Diagnostic, ...]:
    """Write each distinct material to an empty library, reference and bind it in a layer.

    Textures are copied beside the library. Its path, ``library_asset``, is relative to the layer.
    """
    specs.define(library, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    library.defaultPrim = LIBRARY_ROOT.name
    notes: list[Diagnostic] = []
    parts: list[_Part] = []
    images: dict[Image, Location | None] = {}
    for link in robot.links:
        for part in _parts(link, prims.visual[link.name], meshes, notes):
            parts.append(part)
            for _, image, _ in part.images:
                images.setdefault(image, link.location)
                if image.path and part.mesh_file:
                    folder_of_mesh = Path(part.mesh_file).parent
                    notes += outside_note(image.path, folder_of_mesh, link.location)
    files, problems = copy_textures(images, Path(library.realPath).parent / TEXTURES)
    bound = []
    for part in parts:
        textures = tuple(
            (slot, mm.MeshTexture(f"./{TEXTURES}/{files[image]}", sampling=sampling))
            for slot, image, sampling in part.images
            if image in files
        )
        if part.mesh_file or textures or part.material.color:
            bound.append((part, structs.replace(part.material, textures=textures)))
    materials = list(dict.fromkeys(material for _, material in bound))
    names = specs.sibling_names(material.name or _UNNAMED for material in materials)
    local: dict[mm.MeshMaterial, Sdf.Path] = {}
    if materials:
        specs.define(layer, prims.materials, "Scope")
    for material, name in zip(materials, names, strict=True):
        spec = specs.define(library, LIBRARY_ROOT.AppendChild(name), "Material")
        if material.name:
            specs.show_spec_name(spec, material.name)
        write_networks(spec, material, networks)
        local[material] = prims.materials.AppendChild(name)
        reference = Sdf.Reference(library_asset, spec.path)
        specs.define(layer, local[material], "Material").referenceList.prependedItems = [reference]
    # Bindings to prims in other layers would be lost across a payload.
    for part, material in bound:
        path = part.visual
        if geometry.GetPrimAtPath(path):
            owner = specs.over(layer, path.AppendChild(part.subset) if part.subset else path)
            specs.apply(owner, "MaterialBindingAPI")
            specs.relate(owner, "material:binding", local[material])
    first: dict[tuple[str, str], Diagnostic] = {}
    for note in (*notes, *problems):
        first.setdefault((note.rule, note.message), note)
    return tuple(first.values())


def _parts(
    link: Link, paths: Sequence[Sdf.Path], meshes: MeshLibrary, notes: list[Diagnostic]
) -> Iterator[_Part]:
    """Yield the parts of a link with materials; report what is not used."""
    for visual, path in zip(link.visuals, paths, strict=True):
        mesh = visual.geometry if isinstance(visual.geometry, MeshFile) else None
        file = (mesh.path if mesh else None) or ""
        surface = meshes.parts.get(file, _NO_PARTS)
        shows_textures = 0 in surface.coordinate_sets

        def drop(reference: str | None, shape: str = "mesh" if mesh else "shape") -> None:
            lacks = f"a {shape} it is on has no texture coordinates"
            message = f"texture {reference!r} is not converted: {lacks}; the colour is used"
            notes.append(Diagnostic("texture-dropped", message, link.location))

        own = visual.material
        if own is not None and surface.covered:
            name = f"material {own.name!r}" if own.name else "a material"
            message = f"{name} is not used on meshes that have their own"
            notes.append(Diagnostic("material-overridden", message, link.location))
        elif own is not None:
            images: list[tuple[mm.Slot, Image, mm.Sampling]] = []
            if own.texture_path and shows_textures:
                image = Image(own.texture_uri or "", own.texture_path)
                images.append((mm.Slot.COLOR, image, mm.PLAIN_SAMPLING))
            elif own.texture_path:
                drop(own.texture_uri)
            material = mm.MeshMaterial(own.name or "")
            if own.rgba is not None:
                red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in own.rgba)
                material = mm.MeshMaterial(own.name or "", (red, green, blue), opacity)
            yield _Part(path, None, material, images)
        for subset, material in surface.materials:
            images = []
            for slot, texture in material.textures:
                if not shows_textures:
                    drop(texture.reference)
                    continue
                # The first texture coordinates, if the surface lacks those of the texture.
                known = texture.sampling.coordinates in surface.coordinate_sets
                sampling = texture.sampling if known else texture.sampled(coordinates=0).sampling
                images.append((slot, image_of(texture, file), sampling))
            plain = structs.replace(material, textures=(), double_sided=False)
            yield _Part(path, subset, plain, images, file)


# Shader networks: UsdPreviewSurface and OpenPBR
#
# Inputs without value are not authored. OpenPBR is in nodes of MaterialX 1.39, with the
# identifiers and types of MaterialX's node definitions; MaterialX is not needed to write
# them. OpenPBR has no occlusion. Textures of a material are relative to its layer.

_BLACK = (0.0, 0.0, 0.0)
# Default diffuse colour of UsdPreviewSurface; fallback of textures without colour.
_GREY = (0.18, 0.18, 0.18)
_ROUGHNESS = 0.5
# Name in nodes of UsdPreviewSurface, its input, name in nodes of OpenPBR, and its input.
_INPUTS = {
    mm.Slot.COLOR: ("Diffuse", "diffuseColor", "Color", "base_color", KINDS.Color3f),
    mm.Slot.EMISSION: ("Emissive", "emissiveColor", "Emission", "emission_color", KINDS.Color3f),
    mm.Slot.OPACITY: ("Opacity", "opacity", "Opacity", "geometry_opacity", KINDS.Float),
    mm.Slot.METALNESS: ("Metallic", "metallic", "Metalness", "base_metalness", KINDS.Float),
    mm.Slot.ROUGHNESS: ("Roughness", "roughness", "Roughness", "specular_roughness", KINDS.Float),
    mm.Slot.NORMAL: ("Normal", "normal", "Normal", "geometry_normal", KINDS.Normal3f),
    mm.Slot.OCCLUSION: ("Occlusion", "occlusion", "", "", KINDS.Float),
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
_MODES = {mm.Wrap.MIRROR: "mirror", mm.Wrap.CLAMP: "clamp", mm.Wrap.BLACK: "constant"}


def write_networks(
    material: Sdf.PrimSpec, look: mm.MeshMaterial, networks: MaterialNetworks
) -> None:
    """Write the shader networks of a material: a preview surface for all renderers."""
    # Values of slots, also of those with a texture.
    values: dict[mm.Slot, object] = {mm.Slot.OPACITY: look.opacity}
    if look.color is not None or look.shows_corners:
        values = {mm.Slot.COLOR: _linear(look.color or _GREY), **values}
    if look.emissive != _BLACK:
        values[mm.Slot.EMISSION] = _linear(look.emissive)
    if look.metallic is not None:
        values[mm.Slot.METALNESS] = look.metallic
    if look.roughness is not None:
        values[mm.Slot.ROUGHNESS] = look.roughness
    _write_preview_surface(material, look, dict(values))
    if networks is MaterialNetworks.OPENPBR:
        _write_openpbr(material, look, {mm.Slot.OPACITY: look.opacity, **values})


def _linear(color: Vec3) -> Gf.Vec3f:
    """Return the linear components of an sRGB colour; without numpy."""
    return Gf.Vec3f(*(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color))


def _fallback(look: mm.MeshMaterial, slots: list[mm.Slot]) -> Gf.Vec4f:
    """Return the linear value in place of a texture that is missing."""
    if mm.Slot.COLOR in slots:
        return Gf.Vec4f(*_linear(look.color or _GREY), look.opacity)
    if mm.Slot.EMISSION in slots:
        return Gf.Vec4f(*_linear(look.emissive), 1.0)
    if mm.Slot.NORMAL in slots:
        return Gf.Vec4f(0.0, 0.0, 1.0, 1.0)
    values = {
        mm.Slot.OPACITY: look.opacity,
        mm.Slot.ROUGHNESS: _ROUGHNESS if look.roughness is None else look.roughness,
        mm.Slot.METALNESS: look.metallic or 0.0,
        mm.Slot.OCCLUSION: 1.0,
    }
    rgba = Gf.Vec4f(1.0)
    for slot in slots:
        rgba["rgba".index(dict(look.textures)[slot].sampling.components)] = values[slot]
    return rgba


def _write_preview_surface(
    material: Sdf.PrimSpec, look: mm.MeshMaterial, values: dict[mm.Slot, object]
) -> None:
    shader = _node(material, "PreviewSurface", "UsdPreviewSurface")
    if look.shows_corners:
        reader = _node(material, "CornerColors", "UsdPrimvarReader_float3", varname="displayColor")
        if look.color is not None:
            _set_input(reader, "fallback", values[mm.Slot.COLOR])
        values[mm.Slot.COLOR] = _output(reader, "result", KINDS.Float3)
    # Slots by texture read, and by whether it is sRGB-encoded.
    reads: dict[tuple[mm.MeshTexture, bool], list[mm.Slot]] = {}
    for slot, texture in look.textures:
        values.pop(slot, None)
        whole = texture.sampled(components="rgb")
        # Alpha is never encoded, so that it can be taken from either kind.
        is_alpha = texture.sampling.components == "a"
        is_color = slot.is_color or (is_alpha and (whole, True) in reads)
        reads.setdefault((whole, is_color), []).append(slot)
    for (texture, is_color), slots in reads.items():
        name, sampling = f"{_INPUTS[slots[0]][0]}Texture", texture.sampling
        image = _node(
            material,
            name,
            "UsdUVTexture",
            file=Sdf.AssetPath(texture.reference),
            sourceColorSpace="sRGB" if is_color else "raw",
            wrapS=sampling.wrap_s.value,
            wrapT=sampling.wrap_t.value,
            fallback=_fallback(look, slots),
        )
        if mm.Slot.NORMAL in slots:
            # From [0, 1] to [-1, 1].
            _set_input(image, "scale", Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
            _set_input(image, "bias", Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
        elif sampling.gain != mm.PLAIN_SAMPLING.gain:
            _set_input(image, "scale", Gf.Vec4f(*sampling.gain))
        reader_name = f"TextureCoordinates{sampling.coordinates or ''}"
        primvar = coordinates_name(sampling.coordinates)
        reader = _node(material, reader_name, "UsdPrimvarReader_float2", varname=primvar)
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
        for slot in slots:
            components = dict(look.textures)[slot].sampling.components
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


def _write_openpbr(
    material: Sdf.PrimSpec, look: mm.MeshMaterial, values: dict[mm.Slot, object]
) -> None:
    shader = _node(material, "OpenPbrSurface", "ND_open_pbr_surface_surfaceshader")
    if look.shows_corners:
        node = "ND_geompropvalue_color3"
        reader = _node(material, "CornerColorsProperty", node, geomprop="displayColor")
        values[mm.Slot.COLOR] = _output(reader, "out", KINDS.Color3f)
    for slot, texture in look.textures:
        if slot is not mm.Slot.OCCLUSION:
            values[slot] = _openpbr_image(material, look, slot, texture)
    if look.cutoff is not None and mm.Slot.OPACITY in dict(look.textures):
        # One if the opacity reaches the threshold, otherwise zero.
        compared = {
            "value1": values[mm.Slot.OPACITY],
            "value2": look.cutoff,
            "in1": 1.0,
            "in2": 0.0,
        }
        cut = _node(material, "OpacityCutoff", "ND_ifgreatereq_float", **compared)
        values[mm.Slot.OPACITY] = _output(cut, "out", KINDS.Float)
    for slot, value in values.items():
        *_, name, kind = _INPUTS[slot]
        _set_input(shader, name, value, KINDS.Float3 if slot is mm.Slot.NORMAL else kind)
    if mm.Slot.EMISSION in values:
        # The default is zero.
        _set_input(shader, "emission_luminance", 1.0)
    if look.ior is not None:
        _set_input(shader, "specular_ior", look.ior)
    _connect(material, "outputs:mtlx:surface", _output(shader, "out", KINDS.Token))


def _openpbr_image(
    material: Sdf.PrimSpec, look: mm.MeshMaterial, slot: mm.Slot, texture: mm.MeshTexture
) -> Sdf.AttributeSpec:
    name, sampling = _INPUTS[slot][2], texture.sampling

    def calculate(
        step: str, node: str, kind: Sdf.ValueTypeName, **inputs: object
    ) -> Sdf.AttributeSpec:
        return _output(_node(material, f"{name}{step}", f"ND_{node}", **inputs), "out", kind)

    def multiply(
        step: str, type_name: str, value: Sdf.AttributeSpec, factor: object
    ) -> Sdf.AttributeSpec:
        node = f"ND_multiply_{type_name}"
        product = _node(material, f"{name}{step}Product", node, in1=value)
        _set_input(product, "in2", factor, value.typeName)
        return _output(product, "out", value.typeName)

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
    exact = default if type_name == "color4" else Gf.Vec3f(*default[:3])
    _set_input(image, "default", exact, kind)
    for axis, wrap in (("u", sampling.wrap_s), ("v", sampling.wrap_t)):
        if wrap in _MODES:
            _set_input(image, f"{axis}addressmode", _MODES[wrap])
    primvar, suffix = coordinates_name(sampling.coordinates), sampling.coordinates or ""
    node = "ND_geompropvalue_vector2"
    reader = _node(material, f"GeometryProperty{suffix}", node, geomprop=primvar)
    coordinates = _output(reader, "out", KINDS.Float2)
    if sampling.moves:
        # Not place2d, which divides by the scale, which may be zero. rotate2d is clockwise.
        scaled = multiply("ImageScale", "vector2", coordinates, Gf.Vec2f(*sampling.scale))
        turning = {"in": scaled, "amount": -math.degrees(sampling.rotation)}
        turned = calculate("ImageRotation", "rotate2d_vector2", KINDS.Float2, **turning)
        moving = {"in1": turned, "in2": Gf.Vec2f(*sampling.translation)}
        coordinates = calculate("ImageTranslation", "add_vector2", KINDS.Float2, **moving)
    _set_input(image, "texcoord", coordinates)
    pixels = _output(image, "out", kind)
    if slot is mm.Slot.NORMAL:
        bumps = _node(material, "NormalMap", "ND_normalmap_float", **{"in": pixels})
        return _output(bumps, "out", kind)
    factor: object = Gf.Vec3f(*sampling.gain[:3])
    is_full = sampling.gain[:3] == mm.PLAIN_SAMPLING.gain[:3]
    if not slot.is_color:
        index = "rgba".index(sampling.components)
        extracted = {"in": pixels, "index": index}
        pixels = calculate("Component", f"extract_{type_name}", KINDS.Float, **extracted)
        type_name, factor, is_full = "float", sampling.gain[index], sampling.gain[index] == 1.0
    return pixels if is_full else multiply("", type_name, pixels, factor)


def _node(material: Sdf.PrimSpec, name: str, identifier: str, **inputs: object) -> Sdf.PrimSpec:
    """Define a shader below a material; several textures may share one that is there."""
    shader = specs.define(material.layer, material.path.AppendChild(name), "Shader")
    _attribute(shader, "info:id", KINDS.Token, specs.UNIFORM).default = identifier
    for key, value in inputs.items():
        _set_input(shader, key, value)
    return shader


def _set_input(
    shader: Sdf.PrimSpec, name: str, value: object, kind: Sdf.ValueTypeName | None = None
) -> None:
    """Give an input a value, or connect it if the value is an output."""
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
    existing = spec.attributes.get(name)
    return existing or Sdf.AttributeSpec(spec, name, kind, variability)
