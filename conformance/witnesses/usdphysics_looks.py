"""How the parts of a prim look: its materials, or the colour that it carries itself.

What is stated is what a preview surface shows. Materials that have none are not stated.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Ar, UsdGeom, UsdShade

from conformance.shapes import Look
from conformance.witnesses.surfaces import face_areas

if TYPE_CHECKING:
    from conformance.shapes import Vec3
    from conformance.witnesses.usdphysics_transforms import Array

_PREVIEW = "UsdPreviewSurface"
_TEXTURE = "UsdUVTexture"


def state_looks(
    prim: Any,  # noqa: ANN401  pxr is untyped
    area: float,
    to_link: Array,
) -> tuple[Look, ...]:
    """State how a Gprim looks, part by part; nothing if a part cannot be stated.

    Args:
        prim: The Gprim.
        area: Of its surface [m^2].
        to_link: (4, 4) from the prim's frame to metres.
    """
    looks = []
    rest = area
    for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
        own = _subset_area(prim, subset, to_link)
        looks.append(_look(subset.GetPrim(), own))
        rest -= own
    # What subsets leave, but for rounding.
    if not looks or rest > 1e-9 * area:
        looks.append(_look(prim, rest))
    return tuple(look for look in looks if look) if all(looks) else ()


def _subset_area(prim: Any, subset: Any, to_link: Array) -> float:  # noqa: ANN401
    mesh = UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get(), np.float64)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(), np.int64)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(), np.int64)
    faces = np.array(subset.GetIndicesAttr().Get(), np.int64)
    areas = face_areas(points, counts, corners, to_link)
    return float(areas[faces[(faces >= 0) & (faces < len(areas))]].sum())


def _look(prim: Any, area: float) -> Look | None:  # noqa: ANN401
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if not material:
        return Look(area, _carried(prim, "displayColor"), _carried_opacity(prim))
    shader, _, _ = material.ComputeSurfaceSource()
    if not shader or shader.GetShaderId() != _PREVIEW:
        return None
    texture = _texture(shader)
    return Look(
        area=area,
        color=None if texture else _color(shader),
        opacity=_number(shader, "opacity", 1.0),
        texture=hashlib.sha256(texture[1]).hexdigest() if texture else None,
        image=texture[0] if texture else None,
    )


def _sources(shader: Any, name: str) -> list[Any]:  # noqa: ANN401  pxr is untyped
    found = shader.GetInput(name)
    return list(found.GetValueProducingAttributes()) if found else []


def _color(shader: Any) -> Vec3 | None:  # noqa: ANN401  pxr is untyped
    sources = _sources(shader, "diffuseColor")
    values = [source.Get() for source in sources]
    if not sources:
        # The fallback of the preview surface.
        return 0.18, 0.18, 0.18
    return _vec3(values[0]) if values[0] is not None else None


def _number(shader: Any, name: str, fallback: float) -> float:  # noqa: ANN401
    values = [source.Get() for source in _sources(shader, name)]
    known = [value for value in values if isinstance(value, int | float)]
    return float(known[0]) if known else fallback


def _texture(shader: Any) -> tuple[str, bytes] | None:  # noqa: ANN401
    """Return name and content of the image that gives the colour, if one does."""
    for source in _sources(shader, "diffuseColor"):
        node = UsdShade.Shader(source.GetPrim())
        if node.GetShaderId() != _TEXTURE:
            continue
        asset = node.GetInput("file")
        for file in asset.GetValueProducingAttributes() if asset else ():
            path = file.Get()
            opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(path.resolvedPath))
            if opened:
                with opened as content:
                    return Path(path.path).name, bytes(content.GetBuffer())
            return Path(path.path).name, b""
    return None


def _carried(prim: Any, name: str) -> Vec3 | None:  # noqa: ANN401
    """Return a colour that is one for the whole prim, or above it."""
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
    values = primvar.ComputeFlattened() if primvar else None
    return _vec3(values[0]) if values and len(values) == 1 else None


def _carried_opacity(prim: Any) -> float:  # noqa: ANN401  pxr is untyped
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayOpacity")
    values = primvar.ComputeFlattened() if primvar else None
    return float(values[0]) if values else 1.0


def _vec3(values: Any) -> Vec3:  # noqa: ANN401  pxr is untyped
    red, green, blue = (float(value) for value in values)
    return red, green, blue
