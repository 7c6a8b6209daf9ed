"""Materials of gprims, as sRGB colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from pxr import Ar, Sdf, Usd, UsdGeom, UsdShade

from urdf_usd.converter.colors import srgb_from_linear
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.model import Material, Vec4

# Colour inputs of UsdPreviewSurface, and of the MDL surfaces that Omniverse writes.
_COLORS = ("diffuseColor", "diffuse_color_constant")
_CONTEXTS = ("", "mdl")
# UsdPreviewSurface's own.
_DEFAULT_COLOR = (0.18, 0.18, 0.18)


# Image of the colour in the MDL surfaces that Omniverse writes.
_MDL_IMAGE = "diffuse_texture"
_REPEATING = {"repeat", "useMetadata"}


class Texture(Struct, frozen=True):
    """An image that gives the colour of a mesh.

    Attributes:
        material: Name of the material.
        reference: The path in the stage.
        location: The path that it resolves to, perhaps inside a package.
        primvar: Name of the texture coordinates.
        scale: Factors of the coordinates.
        rotation: Counter-clockwise rotation of the scaled coordinates [deg].
        translation: Offset of the rotated coordinates.
    """

    material: str
    reference: str
    location: str
    primvar: str
    scale: tuple[float, float] = (1.0, 1.0)
    rotation: float = 0.0
    translation: tuple[float, float] = (0.0, 0.0)


def read_texture(prim: Usd.Prim) -> Texture | None:
    """Read the texture of the diffuse colour of the material of most faces.

    None for gprims other than meshes, to which URDF maps no textures.
    """
    if not prim.IsA(UsdGeom.Mesh):
        return None
    material = _main_material(_faces_by_material(prim), prim)
    source = _surface_source(material)
    if source is None:
        return None
    name = material.GetPrim().GetDisplayName() or material.GetPrim().GetName()
    plain = source.GetInput(_MDL_IMAGE)
    if plain and (image := _value(plain)):
        return Texture(name, image.path, image.resolvedPath, "st")
    found = next(filter(None, map(source.GetInput, _COLORS)), None)
    shader = _computing(found) if found else None
    file = shader.GetInput("file") if shader else None
    image = _value(file) if file else None
    if shader is None or not image:
        return None
    place = _connected(shader, "st")
    steps: dict[str, Any] = {}
    if place and str(place.GetIdAttr().Get()) == "UsdTransform2d":
        for step in ("scale", "rotation", "translation"):
            given = place.GetInput(step)
            value = _value(given) if given else None
            if value is not None:
                steps[step] = value if step == "rotation" else (value[0], value[1])
        place = _connected(place, "in")
    named = place.GetInput("varname") if place else None
    primvar = _value(named) if named else None
    coordinates = str(primvar or "st")
    return Texture(name, image.path, image.resolvedPath, coordinates, **steps)


def read_image(location: str, largest: int) -> bytes:
    """Return the content of an image file, also inside a package.

    Args:
        location: The path that a texture resolves to.
        largest: Size above which the file is not read [byte].

    Returns:
        Nothing if it is missing or too large.
    """
    asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(location)) if location else None
    if not asset or asset.GetSize() > largest:
        return b""
    return bytes(asset.GetBuffer())


def _connected(shader: UsdShade.Shader, name: str) -> UsdShade.Shader | None:
    given = shader.GetInput(name)
    return _computing(given) if given else None


def read_material(prim: Usd.Prim, texture: Texture | None = None) -> Findings[Material | None]:
    """Read the bound material of a gprim, or its display colour; None without both.

    Args:
        prim: The gprim.
        texture: Texture of its colour that is not left out.
    """
    faces = _faces_by_material(prim)
    if not faces:
        rgba = _own_color(prim)
        return None if rgba is None else Material(None, rgba)
    if len(faces) > 1:
        message = f"{prim.GetPath()} has {len(faces)} materials; that of most faces is used"
        yield Diagnostic("material-parts", message)
    return (yield from _read_bound(_main_material(faces, prim), prim, texture))


def _main_material(faces: dict[Sdf.Path, int], prim: Usd.Prim) -> UsdShade.Material:
    """Return the material of most faces; an invalid one without any."""
    if not faces:
        return UsdShade.Material()
    largest = max(faces, key=faces.__getitem__)
    return UsdShade.Material.Get(prim.GetStage(), largest)


def _surface_source(material: UsdShade.Material) -> UsdShade.Shader | None:
    if not material:
        return None
    sources = (material.ComputeSurfaceSource(context)[0] for context in _CONTEXTS)
    return next(filter(None, sources), None)


def _faces_by_material(prim: Usd.Prim) -> dict[Sdf.Path, int]:
    """Count the faces of each material; a primitive has one face."""
    binding = UsdShade.MaterialBindingAPI(prim)
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get()
    left = 1 if counts is None else len(counts)
    faces: dict[Sdf.Path, int] = {}
    for subset in binding.GetMaterialBindSubsets():
        part, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
        size = len(subset.GetIndicesAttr().Get() or ())
        left -= size
        if part and size:
            faces[part.GetPath()] = faces.get(part.GetPath(), 0) + size
    whole, _ = binding.ComputeBoundMaterial()
    if whole and left > 0:
        faces[whole.GetPath()] = faces.get(whole.GetPath(), 0) + left
    return faces


def _read_bound(
    material: UsdShade.Material, gprim: Usd.Prim, texture: Texture | None
) -> Findings[Material | None]:
    prim = material.GetPrim()
    source = _surface_source(material)
    if source is None:
        return None
    images = list(dict.fromkeys(_images(source)))
    if texture is not None:
        settings = list(_other_settings(source))
        if settings:
            message = (
                f"{', '.join(settings)} of texture {texture.reference!r} of material "
                f"{prim.GetPath()} are not converted"
            )
            yield Diagnostic("texture-dropped", message)
        images = [image for image in images if image != repr(texture.reference)]
    if images:
        named = ", ".join(images)
        message = f"textures of material {prim.GetPath()} are not converted: {named}"
        yield Diagnostic("texture-dropped", message)
    color = _color(source, gprim)
    if color is None:
        return None
    opacity = source.GetInput("opacity")
    alpha = _value(opacity) if opacity and not _computing(opacity) else None
    red, green, blue = srgb_from_linear(color[:3]).tolist()
    rgba = red, green, blue, 1.0 if alpha is None else float(alpha)
    return Material(prim.GetDisplayName() or prim.GetName(), rgba)


def _images(source: UsdShade.Shader) -> Iterator[str]:
    """Yield the file names of a surface's textures."""
    for one in source.GetInputs():
        shader = _computing(one)
        file = shader.GetInput("file") if shader else None
        if file:
            value = _value(file)
            yield repr(value.path if value else "")


def _other_settings(source: UsdShade.Shader) -> Iterator[str]:
    """Yield the settings of the texture of a colour that URDF cannot represent."""
    found = next(filter(None, map(source.GetInput, _COLORS)), None)
    shader = _computing(found) if found else None
    if shader is None:
        return
    for name, neutral in (("scale", 1.0), ("bias", 0.0)):
        given = shader.GetInput(name)
        value = _value(given) if given else None
        if value is not None and any(float(part) != neutral for part in value):
            yield name
    for name in ("wrapS", "wrapT"):
        given = shader.GetInput(name)
        value = _value(given) if given else None
        if value is not None and str(value) not in _REPEATING:
            yield name


def _color(source: UsdShade.Shader, gprim: Usd.Prim) -> tuple[float, ...] | None:
    """Return the linear colour of a surface if it is uniform."""
    found = next(filter(None, map(source.GetInput, _COLORS)), None)
    if found is None:
        return _DEFAULT_COLOR
    shader = _computing(found)
    if shader is None:
        value = _value(found)
        return _DEFAULT_COLOR if value is None else tuple(map(float, value))
    if str(shader.GetIdAttr().Get()).startswith("UsdPrimvarReader"):
        # The first vertex colour, as for a gprim without material.
        colors = UsdGeom.Gprim(gprim).GetDisplayColorAttr().Get()
        if colors:
            return tuple(map(float, colors[0]))
    fallback = shader.GetInput("fallback")
    value = _value(fallback) if fallback else None
    return tuple(map(float, value)) if value else None


def _computing(shader_input: UsdShade.Input) -> UsdShade.Shader | None:
    """Return the shader that an input is connected to, for example a texture."""
    for attribute in shader_input.GetValueProducingAttributes():
        kind = UsdShade.Utils.GetType(attribute.GetName())
        if kind == UsdShade.AttributeType.Output:
            return UsdShade.Shader(attribute.GetPrim())
    return None


def _value(shader_input: UsdShade.Input) -> Any:  # noqa: ANN401  pxr is untyped
    """Return the value of an input, set here or at its material's interface."""
    for attribute in shader_input.GetValueProducingAttributes():
        return attribute.Get()
    return shader_input.Get()


def _own_color(prim: Usd.Prim) -> Vec4 | None:
    gprim = UsdGeom.Gprim(prim)
    colors, opacities = (
        attribute.Get()
        for attribute in (gprim.GetDisplayColorAttr(), gprim.GetDisplayOpacityAttr())
    )
    if not colors:
        return None
    red, green, blue = srgb_from_linear(colors[0]).tolist()
    return red, green, blue, float(opacities[0]) if opacities else 1.0
