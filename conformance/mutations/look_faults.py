"""Faults in colours, opacities and textures of visuals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Sdf, UsdShade

from conformance.mutations.fault import Fault, Scale, Seed
from conformance.mutations.shape_faults import shape_sites
from conformance.shapes import Look, Role
from conformance.tolerance import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.mutations.shape_faults import ShapeSite
    from conformance.mutations.specimen import Specimen

_COLOR = ("visual.colour",)
_OPACITY = ("visual.opacity",)
_TEXTURE = ("visual.texture",)
# Components that are this close to black or white are the same in sRGB and in light.
_EXTREME = 5e-3


def _sites(
    specimen: Specimen, applies: Callable[[Look], bool]
) -> Iterator[tuple[ShapeSite, Look, str]]:
    """Visuals whose look the URDF decides, with it and the path of their shader."""
    stated: dict[str, list[Look]] = {}
    for shape in specimen.spec.shapes:
        if shape.role is Role.VISUAL:
            stated.setdefault(shape.link, []).extend(shape.looks)
    for site in shape_sites(specimen, Role.VISUAL):
        above = site.prim.GetParent()
        looks = stated.get(str(above.GetDisplayName() or above.GetName()), [])
        material, _ = UsdShade.MaterialBindingAPI(site.prim).ComputeBoundMaterial()
        # Which visual of several it is does not matter if there is one.
        if len(looks) == 1 and material and applies(looks[0]):
            shader, _, _ = material.ComputeSurfaceSource()
            yield site, looks[0], str(shader.GetPath())


def _colored(look: Look) -> bool:
    return look.color is not None and look.texture is None


def _encoded(specimen: Specimen) -> Iterator[Seed]:
    for site, look, shader in _sites(specimen, _colored):
        moot = all(c < _EXTREME or c > 1 - _EXTREME for c in look.color or ())
        yield Seed(site.subject, partial(_encode, shader), moot=moot)


def _encode(shader: str, stage: Any, _: float) -> None:  # noqa: ANN401
    color = stage.GetPrimAtPath(shader).GetAttribute("inputs:diffuseColor")
    linear = np.array(color.Get(), np.float64)
    color.Set(tuple((1.055 * linear ** (1 / 2.4) - 0.055).tolist()))


def _tinted(specimen: Specimen) -> Iterator[Seed]:
    for site, _, shader in _sites(specimen, _colored):
        yield Seed(site.subject, partial(_tint, shader))


def _tint(shader: str, stage: Any, size: float) -> None:  # noqa: ANN401
    color = stage.GetPrimAtPath(shader).GetAttribute("inputs:diffuseColor")
    red, green, blue = color.Get()
    color.Set((red + (size if red < 1 - size else -size), green, blue))


def _unbound(specimen: Specimen) -> Iterator[Seed]:
    for site, _, _ in _sites(specimen, _colored):
        yield Seed(site.subject, partial(_unbind, site.path))


def _unbind(path: str, stage: Any, _: float) -> None:  # noqa: ANN401
    prim = stage.GetPrimAtPath(path)
    UsdShade.MaterialBindingAPI(prim).UnbindAllBindings()


def _opaque(specimen: Specimen) -> Iterator[Seed]:
    for site, _, shader in _sites(specimen, lambda look: look.opacity < 1):
        yield Seed(site.subject, partial(_set, shader, "opacity", 1.0))


def _transparent(specimen: Specimen) -> Iterator[Seed]:
    """Take opacity for transparency."""
    for site, look, shader in _sites(specimen, _colored):
        moot = abs(look.opacity - 0.5) < _EXTREME
        value = 1.0 - look.opacity
        yield Seed(site.subject, partial(_set, shader, "opacity", value), moot=moot)


def _set(shader: str, name: str, value: float, stage: Any, _: float) -> None:  # noqa: ANN401
    shading = UsdShade.Shader(stage.GetPrimAtPath(shader))
    shading.CreateInput(name, Sdf.ValueTypeNames.Float).Set(value)


def _untextured(specimen: Specimen) -> Iterator[Seed]:
    for site, _, shader in _sites(specimen, lambda look: look.texture is not None):
        yield Seed(site.subject, partial(_disconnect, shader))


def _disconnect(shader: str, stage: Any, _: float) -> None:  # noqa: ANN401
    shading = UsdShade.Shader(stage.GetPrimAtPath(shader))
    color = shading.GetInput("diffuseColor")
    color.GetAttr().SetConnections([])
    color.Set((0.5, 0.5, 0.5))


def _wrongly_textured(specimen: Specimen) -> Iterator[Seed]:
    for site, _, shader in _sites(specimen, lambda look: look.texture is not None):
        yield Seed(site.subject, partial(_retexture, shader, specimen.asset))


def _retexture(shader: str, file: str, stage: Any, _: float) -> None:  # noqa: ANN401
    shading = UsdShade.Shader(stage.GetPrimAtPath(shader))
    sources = shading.GetInput("diffuseColor").GetValueProducingAttributes()
    image = UsdShade.Shader(sources[0].GetPrim()).GetInput("file")
    for attribute in image.GetValueProducingAttributes():
        attribute.Set(Sdf.AssetPath(file))


LOOK_FAULTS = (
    Fault("look.encoded", "colour left in sRGB", _COLOR, _encoded),
    Fault("look.unbound", "colour lost", _COLOR, _unbound),
    Fault(
        "look.tinted",
        "colour tinted",
        _COLOR,
        _tinted,
        Scale("linear red", "1", Tolerance().color),
    ),
    Fault("look.opaque", "opacity lost", _OPACITY, _opaque),
    Fault("look.transparent", "opacity taken for transparency", _OPACITY, _transparent),
    Fault("look.untextured", "texture lost", _TEXTURE, _untextured),
    Fault("look.retextured", "texture of another file", _TEXTURE, _wrongly_textured),
)
