"""Materials of gprims, as sRGB colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pxr import Sdf, Usd, UsdGeom, UsdShade

from urdf_usd.converter.colors import srgb_from_linear
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.model import Material, Vec4

# Colour inputs of UsdPreviewSurface, and of the MDL surfaces that Omniverse writes.
_COLORS = ("diffuseColor", "diffuse_color_constant")
_CONTEXTS = ("", "mdl")
# UsdPreviewSurface's own.
_DEFAULT_COLOR = (0.18, 0.18, 0.18)


def read_material(prim: Usd.Prim) -> Findings[Material | None]:
    """Read the bound material of a gprim, or its display colour; None without both."""
    faces = _faces_by_material(prim)
    if not faces:
        rgba = _own_color(prim)
        return None if rgba is None else Material(None, rgba)
    if len(faces) > 1:
        message = (
            f"{prim.GetPath()} has {len(faces)} materials; that of most faces is used"
        )
        yield Diagnostic("material-parts", message)
    largest = max(faces, key=faces.__getitem__)
    material = UsdShade.Material.Get(prim.GetStage(), largest)
    return (yield from _read_bound(material, prim))


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
    material: UsdShade.Material, gprim: Usd.Prim
) -> Findings[Material | None]:
    prim = material.GetPrim()
    sources = (material.ComputeSurfaceSource(context)[0] for context in _CONTEXTS)
    source = next(filter(None, sources), None)
    if source is None:
        return None
    images = list(dict.fromkeys(_images(source)))
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
