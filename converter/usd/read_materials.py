"""The look of a gprim, in the sRGB colours of URDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pxr import UsdGeom, UsdShade

from converter.colors import srgb_from_linear
from converter.diagnostics import Diagnostic
from converter.model import Material

if TYPE_CHECKING:
    from pxr import Sdf, Usd

    from converter.model import Vec4
    from converter.urdf.findings import Findings

# Inputs that hold the colour: of UsdPreviewSurface, and of the surfaces that Omniverse
# writes besides.
_COLORS = ("diffuseColor", "diffuse_color_constant")
_CONTEXTS = ("", "mdl")
# UsdPreviewSurface's own.
_DEFAULT_COLOR = (0.18, 0.18, 0.18)


def read_material(prim: Usd.Prim) -> Findings[Material | None]:
    """Read what is bound to a gprim, or its own colour; None if it has neither."""
    faces = _faces_by_material(prim)
    if not faces:
        rgba = _own_color(prim)
        return None if rgba is None else Material(None, rgba)
    if len(faces) > 1:
        message = f"{prim.GetPath()} has {len(faces)} materials; the largest one counts"
        yield Diagnostic("material-parts", message)
    largest = max(faces, key=faces.__getitem__)
    return (yield from _read_bound(UsdShade.Material.Get(prim.GetStage(), largest)))


def _faces_by_material(prim: Usd.Prim) -> dict[Sdf.Path, int]:
    """Count the faces that show each material; a primitive has one face."""
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


def _read_bound(material: UsdShade.Material) -> Findings[Material | None]:
    prim = material.GetPrim()
    sources = (material.ComputeSurfaceSource(context)[0] for context in _CONTEXTS)
    source = next(filter(None, sources), None)
    if source is None:
        return None
    color: tuple[float, ...] | None = _DEFAULT_COLOR
    for input_name in _COLORS:
        found = source.GetInput(input_name)
        if not found:
            continue
        shader = _computing(found)
        if shader is not None:
            message = f"texture of material {prim.GetPath()} is not converted"
            yield Diagnostic("texture-dropped", message)
            fallback = shader.GetInput("fallback")
            value = _value(fallback) if fallback else None
            color = tuple(float(component) for component in value) if value else None
        elif (value := _value(found)) is not None:
            color = tuple(float(component) for component in value)
        break
    if color is None:
        return None
    opacity = source.GetInput("opacity")
    alpha = _value(opacity) if opacity and not _computing(opacity) else None
    red, green, blue = srgb_from_linear(color[:3]).tolist()
    rgba = red, green, blue, 1.0 if alpha is None else float(alpha)
    return Material(prim.GetDisplayName() or prim.GetName(), rgba)


def _computing(shader_input: UsdShade.Input) -> UsdShade.Shader | None:
    """Return the shader, for example of a texture, that gives a value, if one does."""
    for attribute in shader_input.GetValueProducingAttributes():
        kind = UsdShade.Utils.GetType(attribute.GetName())
        if kind == UsdShade.AttributeType.Output:
            return UsdShade.Shader(attribute.GetPrim())
    return None


def _value(shader_input: UsdShade.Input) -> Any:  # noqa: ANN401  pxr is untyped
    """Return what an input is set to, here or at the interface of its material."""
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
