"""Materials: a library of preview surfaces, localised in the asset and bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Gf, Sdf, Usd, UsdShade

from converter.diagnostics import Diagnostic
from converter.usd.geometry import show_name
from converter.usd.names import sibling_names

if TYPE_CHECKING:
    from converter.model import Material, Robot, Vec3
    from converter.topology import Tree
    from converter.usd.prims import Prims

LIBRARY_ROOT = Sdf.Path("/Materials")
# A material that has no name in the URDF.
_UNNAMED = "material"


def linear_from_srgb(value: float) -> float:
    """Return the linear value of an sRGB component (IEC 61966-2-1)."""
    if value <= 0.04045:  # noqa: PLR2004  the standard's threshold
        return value / 12.92
    return float(((value + 0.055) / 1.055) ** 2.4)


def author_material_library(
    robot: Robot, stage: Usd.Stage
) -> tuple[dict[Material, Sdf.Path], tuple[Diagnostic, ...]]:
    """Write each distinct coloured material of a robot to a library stage.

    Returns:
        Library prim by material, and what was left out.
    """
    stage.CreateClassPrim(LIBRARY_ROOT).SetTypeName("Scope")
    stage.SetDefaultPrim(stage.GetPrimAtPath(LIBRARY_ROOT))
    used = {
        visual.material: link.location
        for link in reversed(robot.links)
        for visual in reversed(link.visuals)
        if visual.material is not None
    }
    ordered = list(reversed(used.items()))
    diagnostics = tuple(
        Diagnostic(
            "texture-dropped",
            f"texture {material.texture_uri!r} is not converted",
            location,
        )
        for material, location in ordered
        if material.texture_uri is not None
    )
    coloured = [material for material, _ in ordered if material.rgba is not None]
    names = sibling_names(material.name or _UNNAMED for material in coloured)
    prims = {}
    for material, name in zip(coloured, names, strict=True):
        prims[material] = LIBRARY_ROOT.AppendChild(name)
        _write_material(stage, prims[material], material)
    return prims, diagnostics


def author_materials(
    stage: Usd.Stage,
    tree: Tree,
    prims: Prims,
    library: dict[Material, Sdf.Path],
    library_asset: str,
) -> None:
    """Reference the library's materials into the asset and bind them.

    Bindings must stay inside the asset: one that crosses a payload is lost.
    """
    if not library:
        return
    stage.DefinePrim(prims.materials, "Scope")
    local = {}
    for material, path in library.items():
        local[material] = prims.materials.AppendChild(path.name)
        shade = UsdShade.Material.Define(stage, local[material])
        shade.GetPrim().GetReferences().AddReference(library_asset, path)
    for name in tree.links:
        for visual, path in zip(
            tree.link[name].visuals, prims.visual[name], strict=True
        ):
            prim = stage.GetPrimAtPath(path)
            if not prim or visual.material not in local:
                continue
            binding = UsdShade.MaterialBindingAPI.Apply(prim)
            binding.Bind(UsdShade.Material.Get(stage, local[visual.material]))


def _write_material(stage: Usd.Stage, path: Sdf.Path, material: Material) -> None:
    shade = UsdShade.Material.Define(stage, path)
    if material.name:
        show_name(shade.GetPrim(), material.name)
    shader = UsdShade.Shader.Define(stage, path.AppendChild("PreviewSurface"))
    shader.CreateIdAttr("UsdPreviewSurface")
    color, opacity = _linear(material)
    kinds = Sdf.ValueTypeNames
    shader.CreateInput("diffuseColor", kinds.Color3f).Set(Gf.Vec3f(*color))
    shader.CreateInput("opacity", kinds.Float).Set(opacity)
    surface = shader.CreateOutput("surface", kinds.Token)
    shade.CreateSurfaceOutput().ConnectToSource(surface)


def _linear(material: Material) -> tuple[Vec3, float]:
    """Linear colour and opacity, clamped to the range that both formats define."""
    clamped = [min(max(value, 0.0), 1.0) for value in material.rgba or ()]
    red, green, blue = (linear_from_srgb(value) for value in clamped[:3])
    return (red, green, blue), clamped[3]
