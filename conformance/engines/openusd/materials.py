"""How the parts of a prim look: its materials, or the colour that it carries itself.

What is stated is what a preview surface shows. Materials that have none are not stated.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Ar, UsdGeom, UsdShade

from urdf_usd.conformance.observation.shapes import Look, merged

if TYPE_CHECKING:
    from urdf_usd.conformance.engines.openusd.transforms import Array
    from urdf_usd.conformance.observation.shapes import Vec3

_PREVIEW = "UsdPreviewSurface"
_TEXTURE = "UsdUVTexture"


def state_looks(
    prim: Any,  # noqa: ANN401  pxr is untyped
    area: float,
    areas: Array,
) -> tuple[Look, ...]:
    """State how a Gprim looks, part by part; nothing if a part cannot be stated.

    Args:
        prim: The Gprim.
        area: Of its surface [m^2].
        areas: (F) areas of its faces, if it is a mesh [m^2].
    """
    looks = []
    rest = area
    subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    for subset in subsets:
        faces = np.array(subset.GetIndicesAttr().Get(), np.int64)
        own = float(areas[faces[(faces >= 0) & (faces < len(areas))]].sum())
        looks.append(_look(subset.GetPrim(), own))
        rest -= own
    # What subsets leave, but for rounding.
    if not looks or rest > 1e-9 * area:
        looks.append(_look(prim, rest))
    return merged(look for look in looks if look) if all(looks) else ()


def _look(prim: Any, area: float) -> Look | None:  # noqa: ANN401
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if not material:
        return Look(area, _carried(prim, "displayColor"), _carried_opacity(prim))
    shader, _, _ = material.ComputeSurfaceSource()
    if not shader or shader.GetShaderId() != _PREVIEW:
        return None
    texture = _texture(shader, "diffuseColor")
    mask = _texture(shader, "opacity")
    return Look(
        area=area,
        color=_vec3(texture.factors[:3]) if texture else _color(shader),
        opacity=mask.factor if mask else _number(shader, "opacity", 1.0),
        texture=texture.digest if texture else None,
        image=texture.name if texture else None,
        mask=mask.digest if mask else None,
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


@dataclass(frozen=True, slots=True)
class _Texture:
    """An image that an input takes its values from.

    Attributes:
        name: Of its file.
        digest: SHA-256 of its content; of nothing, if it is not found.
        factors: What red, green, blue and alpha are multiplied with.
        output: Which of them is taken.
    """

    name: str
    digest: str
    factors: tuple[float, ...]
    output: str

    @property
    def factor(self) -> float:
        """What the component that is taken is multiplied with."""
        return self.factors["rgba".index(self.output)] if self.output in "rgba" else 1.0


def _texture(shader: Any, name: str) -> _Texture | None:  # noqa: ANN401
    for source in _sources(shader, name):
        node = UsdShade.Shader(source.GetPrim())
        if node.GetShaderId() != _TEXTURE:
            continue
        asset = node.GetInput("file")
        for file in asset.GetValueProducingAttributes() if asset else ():
            path = file.Get()
            scale = next((one.Get() for one in _sources(node, "scale")), None)
            return _Texture(
                name=Path(path.path).name,
                digest=_digest(path.resolvedPath),
                factors=tuple(scale or (1.0, 1.0, 1.0, 1.0)),
                output=str(source.GetBaseName()),
            )
    return None


def _digest(resolved: str) -> str:
    opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved))
    if not opened:
        return hashlib.sha256().hexdigest()
    with opened as content:
        return hashlib.sha256(content.GetBuffer()).hexdigest()


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
