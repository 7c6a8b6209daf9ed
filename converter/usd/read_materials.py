"""The look of a gprim, in the sRGB colours of URDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pxr import UsdGeom, UsdShade

from converter.diagnostics import Diagnostic
from converter.model import Material

if TYPE_CHECKING:
    from pxr import Usd

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
    bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    parts = [
        UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()[0]
        for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    ]
    looks = {part.GetPath(): part for part in parts if part}
    if looks:
        first = next(iter(looks.values()))
        if len(looks) > 1:
            message = f"{prim.GetPath()} has {len(looks)} materials; the first counts"
            yield Diagnostic("material-parts", message)
        bound = first
    if not bound:
        rgba = _own_color(prim)
        return None if rgba is None else Material(None, rgba)
    return (yield from _read_bound(bound))


def _read_bound(material: UsdShade.Material) -> Findings[Material]:
    prim = material.GetPrim()
    name = prim.GetDisplayName() or prim.GetName()
    sources = (material.ComputeSurfaceSource(context)[0] for context in _CONTEXTS)
    source = next(filter(None, sources), None)
    if source is None:
        return Material(name)
    color: tuple[float, ...] | None = _DEFAULT_COLOR
    for input_name in _COLORS:
        found = source.GetInput(input_name)
        if not found:
            continue
        if _is_computed(found):
            message = f"texture of material {prim.GetPath()} is not converted"
            yield Diagnostic("texture-dropped", message)
            color = None
        elif (value := _value(found)) is not None:
            color = tuple(float(component) for component in value)
        break
    if color is None:
        return Material(name)
    opacity = source.GetInput("opacity")
    alpha = _value(opacity) if opacity else None
    red, green, blue = (srgb_from_linear(component) for component in color)
    return Material(name, (red, green, blue, 1.0 if alpha is None else float(alpha)))


def _is_computed(shader_input: UsdShade.Input) -> bool:
    """Say whether a shader, for example a texture, gives the value."""
    return any(
        UsdShade.Utils.GetType(attribute.GetName()) == UsdShade.AttributeType.Output
        for attribute in shader_input.GetValueProducingAttributes()
    )


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
    red, green, blue = (srgb_from_linear(float(component)) for component in colors[0])
    return red, green, blue, float(opacities[0]) if opacities else 1.0


def srgb_from_linear(value: float) -> float:
    """Return the sRGB component of a linear value (IEC 61966-2-1), within [0, 1]."""
    value = min(max(value, 0.0), 1.0)
    if value <= 0.0031308:  # noqa: PLR2004  the standard's threshold
        return value * 12.92
    return float(1.055 * value ** (1 / 2.4) - 0.055)
