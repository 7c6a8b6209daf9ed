"""Faults in colours, opacities and textures of visuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdShade

from urdf_usd.conformance.mutation.fault import Fault, Scale, Seed
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.mutation.shape_faults import shape_sites
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.bounds import Tolerance

_COLOR = ("visual.colour",)
_OPACITY = ("visual.opacity",)
_TEXTURE = ("visual.texture",)
# Components this close to 0 or 1 are equal in sRGB and linear.
_EXTREME = 5e-3
# Smallest part of a mesh's surface that is changed.
_LEAST = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class _Painted:
    """A visual, or a part of one, with a preview surface of its own.

    Attributes:
        subject: The changed part, for reports.
        mesh: Path of the visual.
        path: Path of the prim with the binding: the visual, or a subset of it.
        material: Path of the material.
        shader: Its surface, on the good stage.
    """

    subject: str
    mesh: str
    path: str
    material: str
    shader: UsdShade.Shader

    @property
    def color(self) -> tuple[float, float, float] | None:
        """Linear colour, if it is constant."""
        input_ = self.shader.GetInput("diffuseColor")
        return None if not input_ or input_.HasConnectedSource() else input_.Get()

    @property
    def opacity(self) -> float | None:
        """Opacity, if it is constant."""
        input_ = self.shader.GetInput("opacity")
        return None if not input_ or input_.HasConnectedSource() else input_.Get()

    def image(self, name: str) -> UsdShade.Shader | None:
        """Return the node of the image that an input is connected to, or None."""
        input_ = self.shader.GetInput(name)
        for source in input_.GetValueProducingAttributes() if input_ else ():
            node = UsdShade.Shader(source.GetPrim())
            if node.GetShaderId() == "UsdUVTexture":
                return node
        return None

    @property
    def appearance(self) -> tuple[object, ...]:
        """Colour, opacity and textures, for comparison."""
        files = [
            str(image.GetInput("file").Get()) if image else None
            for image in map(self.image, ("diffuseColor", "opacity"))
        ]
        return self.color, self.opacity, *files


def _painted(asset: GoodAsset) -> Iterator[_Painted]:
    """Yield the parts of visuals with a stated appearance, without small ones."""
    stated: dict[str, list[bool]] = {}
    for shape in asset.spec.shapes:
        if shape.role is Role.VISUAL:
            decided = bool(shape.appearances) and not any(
                one.problem for one in shape.appearances
            )
            stated.setdefault(shape.link, []).append(decided)
    for site in shape_sites(asset, Role.VISUAL):
        above = site.prim.GetParent()
        if not all(stated.get(str(above.GetDisplayName() or above.GetName()), [False])):
            continue
        subsets = UsdShade.MaterialBindingAPI(site.prim).GetMaterialBindSubsets()
        parts = [one.GetPrim() for one in subsets if _share(site.prim, one) > _LEAST]
        for prim in parts or ([] if subsets else [site.prim]):
            material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
            if not material:
                continue
            shader, _, _ = material.ComputeSurfaceSource()
            subject = f"{prim.GetName()} of {site.subject}" if subsets else site.subject
            yield _Painted(
                subject, site.path, str(prim.GetPath()), str(material.GetPath()), shader
            )


def _share(mesh: UsdGeom.Mesh, subset: UsdGeom.Subset) -> float:
    """Return the part of a mesh's surface that is in a subset."""
    points = np.array(UsdGeom.Mesh(mesh).GetPointsAttr().Get(), np.float64)
    corners = np.array(UsdGeom.Mesh(mesh).GetFaceVertexIndicesAttr().Get())
    counts = np.array(UsdGeom.Mesh(mesh).GetFaceVertexCountsAttr().Get())
    # Newell: half the sum over the corners of each with the next.
    starts = np.cumsum(counts) - counts
    following = np.arange(1, len(corners) + 1)
    following[starts + counts - 1] = starts
    placed = points[corners]
    crossed = np.cross(placed, placed[following])
    areas = np.linalg.norm(np.add.reduceat(crossed, starts), axis=1)
    return float(areas[np.array(subset.GetIndicesAttr().Get())].sum() / areas.sum())


def _encoded(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.color is not None:
            equivalent = all(c < _EXTREME or c > 1 - _EXTREME for c in part.color)
            yield Seed(
                part.subject, partial(_encode, _path(part)), equivalent=equivalent
            )


def _path(part: _Painted) -> str:
    return str(part.shader.GetPath())


def _encode(shader: str, stage: Usd.Stage, _: float) -> None:
    color = stage.GetPrimAtPath(shader).GetAttribute("inputs:diffuseColor")
    linear = np.array(color.Get(), np.float64)
    color.Set(tuple((1.055 * linear ** (1 / 2.4) - 0.055).tolist()))


def _tinted(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.color is not None:
            yield Seed(part.subject, partial(_tint, _path(part)))


def _tint(shader: str, stage: Usd.Stage, size: float) -> None:
    color = stage.GetPrimAtPath(shader).GetAttribute("inputs:diffuseColor")
    red, green, blue = color.Get()
    color.Set((red + (size if red < 1 - size else -size), green, blue))


def _unbound(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        # A part may inherit what its mesh is bound to.
        mesh = UsdShade.MaterialBindingAPI(asset.stage.GetPrimAtPath(part.mesh))
        inherits = part.path != part.mesh and mesh.ComputeBoundMaterial()[0]
        if part.color is not None and not inherits:
            yield Seed(part.subject, partial(_unbind, part.path))


def _unbind(path: str, stage: Usd.Stage, _: float) -> None:
    prim = stage.GetPrimAtPath(path)
    UsdShade.MaterialBindingAPI(prim).UnbindAllBindings()


def _opaque(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.opacity is not None and part.opacity < 1:
            yield Seed(part.subject, partial(_set, _path(part), "opacity", 1.0))


def _transparent(asset: GoodAsset) -> Iterator[Seed]:
    """Write transparency as opacity."""
    for part in _painted(asset):
        if part.opacity is not None:
            equivalent = abs(part.opacity - 0.5) < _EXTREME
            edit = partial(_set, _path(part), "opacity", 1.0 - part.opacity)
            yield Seed(part.subject, edit, equivalent=equivalent)


def _set(shader: str, name: str, value: float, stage: Usd.Stage, _: float) -> None:
    shading = UsdShade.Shader(stage.GetPrimAtPath(shader))
    shading.CreateInput(name, Sdf.ValueTypeNames.Float).Set(value)


def _untextured(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.image("diffuseColor"):
            edit = partial(_disconnect, _path(part), "diffuseColor", (0.5, 0.5, 0.5))
            yield Seed(part.subject, edit)


def _unmasked(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.image("opacity"):
            yield Seed(part.subject, partial(_disconnect, _path(part), "opacity", 1.0))


def _disconnect(
    shader: str,
    name: str,
    value: object,
    stage: Usd.Stage,
    _: float,
) -> None:
    input_ = UsdShade.Shader(stage.GetPrimAtPath(shader)).GetInput(name)
    input_.GetAttr().SetConnections([])
    input_.Set(value)


def _wrongly_textured(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.image("diffuseColor"):
            yield Seed(part.subject, partial(_retexture, _path(part), asset.root_layer))


def _retexture(shader: str, file: str, stage: Usd.Stage, _: float) -> None:
    shading = UsdShade.Shader(stage.GetPrimAtPath(shader))
    sources = shading.GetInput("diffuseColor").GetValueProducingAttributes()
    image = UsdShade.Shader(sources[0].GetPrim()).GetInput("file")
    for attribute in image.GetValueProducingAttributes():
        attribute.Set(Sdf.AssetPath(file))


def _unfactored(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        image = part.image("diffuseColor")
        if image and (factor := image.GetInput("scale")):
            equivalent = min(tuple(factor.Get())[:3]) > 1 - _EXTREME
            path = str(image.GetPath())
            yield Seed(part.subject, partial(_whiten, path), equivalent=equivalent)


def _whiten(image: str, stage: Usd.Stage, _: float) -> None:
    node = UsdShade.Shader(stage.GetPrimAtPath(image))
    node.GetInput("scale").Set((1.0, 1.0, 1.0, 1.0))


def _exchanged(asset: GoodAsset) -> Iterator[Seed]:
    """Give a part of a mesh the material of the next."""
    meshes: dict[str, list[_Painted]] = {}
    for part in _painted(asset):
        meshes.setdefault(part.mesh, []).append(part)
    for parts in meshes.values():
        for part, other in pairwise(parts):
            equivalent = part.appearance == other.appearance
            edit = partial(_bind, part.path, other.material)
            yield Seed(part.subject, edit, equivalent=equivalent)


def _bind(path: str, material: str, stage: Usd.Stage, _: float) -> None:
    bound = UsdShade.Material(stage.GetPrimAtPath(material))
    UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(path)).Bind(bound)


APPEARANCE_FAULTS = (
    Fault("look.encoded", "colour left in sRGB", _COLOR, _encoded),
    Fault("look.unbound", "colour lost", _COLOR, _unbound),
    Fault(
        "look.tinted",
        "colour tinted",
        _COLOR,
        _tinted,
        Scale("linear red", "1", Tolerance().color),
    ),
    Fault(
        "look.exchanged",
        "material of another part",
        (*_COLOR, *_OPACITY, *_TEXTURE),
        _exchanged,
    ),
    Fault("look.opaque", "opacity lost", _OPACITY, _opaque),
    Fault("look.transparent", "opacity taken for transparency", _OPACITY, _transparent),
    Fault("look.unmasked", "image of opacities lost", _OPACITY, _unmasked),
    Fault("look.unfactored", "factor of texture lost", _COLOR, _unfactored),
    Fault("look.untextured", "texture lost", _TEXTURE, _untextured),
    Fault("look.retextured", "texture of another file", _TEXTURE, _wrongly_textured),
)
