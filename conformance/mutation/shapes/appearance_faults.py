"""Faults in colours, opacities and textures of visuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

from urdf_usd.conformance.mutation.fault import EXTRA_PRIM, Fault, Scale, Seed
from urdf_usd.conformance.mutation.good_asset import GoodAsset, shown_name
from urdf_usd.conformance.mutation.shapes.shape_faults import shape_sites
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.bounds import Tolerance

_COLOR = ("visual.colour",)
_OPACITY = ("visual.opacity",)
_TEXTURE = ("visual.texture",)
_MATERIAL = ("visual.material",)
_MAPPING = ("visual.mapping",)
_TYPES = Sdf.ValueTypeNames
# Components this close to 0 or 1 are equal in sRGB and linear.
_EXTREME = 5e-3
# Smallest part of a mesh's surface that is changed.
_LEAST = 1e-3


class _Painted(Struct, frozen=True, eq=False):
    """A visual, or a part of one, with a preview surface of its own.

    Attributes:
        subject: The changed part, for reports.
        mesh: Path of the visual.
        path: Path of the prim with the binding: the visual, or a subset of it.
        material: Path of the material.
        shader: Its surface, on the good stage.
        share: Its part of the surface of the visual.
    """

    subject: str
    mesh: str
    path: str
    material: str
    shader: UsdShade.Shader
    share: float = 1.0

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
            decided = bool(shape.appearances) and not any(one.problem for one in shape.appearances)
            stated.setdefault(shape.link, []).append(decided)
    for site in shape_sites(asset, Role.VISUAL):
        above = site.prim.GetParent()
        if not all(stated.get(str(above.GetDisplayName() or above.GetName()), [False])):
            continue
        subsets = UsdShade.MaterialBindingAPI(site.prim).GetMaterialBindSubsets()
        shares = ((one.GetPrim(), _share(site.prim, one)) for one in subsets)
        parts = [(prim, share) for prim, share in shares if share > _LEAST]
        for prim, share in parts or ([] if subsets else [(site.prim, 1.0)]):
            material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
            if not material:
                continue
            shader, _, _ = material.ComputeSurfaceSource()
            subject = f"{prim.GetName()} of {site.subject}" if subsets else site.subject
            yield _Painted(
                subject,
                site.path,
                str(prim.GetPath()),
                str(material.GetPath()),
                shader,
                share,
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
            yield Seed(part.subject, partial(_encode, _path(part)), equivalent=equivalent)


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


def _surfaces(edit: Callable[[UsdShade.Shader], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the surface shaders of parts."""
    for part in _painted(asset):
        yield Seed(part.subject, partial(_edit_shader, _path(part), edit))


def _edit_shader(
    path: str, edit: Callable[[UsdShade.Shader], None], stage: Usd.Stage, _: float
) -> None:
    edit(UsdShade.Shader(stage.GetPrimAtPath(path)))


def _input(name: str, kind: Sdf.ValueTypeName, value: object) -> Callable[[UsdShade.Shader], None]:
    """Return the edit of a shader that sets an input, and disconnects it."""

    def edit(shader: UsdShade.Shader) -> None:
        attribute = shader.CreateInput(name, kind)
        attribute.GetAttr().SetConnections([])
        attribute.Set(value)

    return edit


def _of_opaque(edit: Callable[[UsdShade.Shader], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the surface shaders of parts that are not opaque."""
    for part in _painted(asset):
        if part.opacity is not None and part.opacity < 1.0:
            yield Seed(part.subject, partial(_edit_shader, _path(part), edit))


def _specular(shader: UsdShade.Shader) -> None:
    shader.CreateInput("useSpecularWorkflow", _TYPES.Int).Set(1)
    shader.CreateInput("specularColor", _TYPES.Color3f).Set((1.0, 0.0, 0.0))


def _speculars(asset: GoodAsset) -> Iterator[Seed]:
    """Edit parts whose material defines no specular colour."""
    defined = {
        shape.link
        for shape in asset.spec.shapes
        for look in shape.appearances
        if "specularColor" in look.unread
    }
    for part in _painted(asset):
        above = asset.stage.GetPrimAtPath(part.mesh).GetParent()
        if shown_name(above) not in defined:
            yield Seed(part.subject, partial(_edit_shader, _path(part), _specular))


def _misname(shader: UsdShade.Shader) -> None:
    shader.GetIdAttr().Set("UsdPreviewSurfac")


def _images(edit: Callable[[UsdShade.Shader], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the nodes that read colour textures.

    Parts of one appearance are compared together: only the larger ones of them are
    edited.
    """
    parts = tuple(_painted(asset))
    for part in parts:
        alike = (
            one.share
            for one in parts
            if one.mesh == part.mesh and one.appearance == part.appearance
        )
        image = part.image("diffuseColor")
        if image and part.share >= max(alike) / 2:
            edited = partial(_edit_shader, str(image.GetPath()), edit)
            yield Seed(part.subject, edited)


def _misread_coordinates(shader: UsdShade.Shader) -> None:
    """Read texture coordinates from a primvar that does not exist."""
    for source in shader.GetInput("st").GetValueProducingAttributes():
        reader = UsdShade.Shader(source.GetPrim())
        reader.CreateInput("varname", _TYPES.String).Set("map1")


def _disconnect_coordinates(shader: UsdShade.Shader) -> None:
    shader.GetInput("st").GetAttr().SetConnections([])


def _place(shader: UsdShade.Shader) -> None:
    """Move texture coordinates by a node."""
    node = UsdShade.Shader.Define(shader.GetPrim().GetStage(), f"{shader.GetPath()}_{EXTRA_PRIM}")
    node.CreateIdAttr("UsdTransform2d")
    given = shader.GetInput("st")
    source = given.GetConnectedSources()[0][0]
    node.CreateInput("in", _TYPES.Float2).ConnectToSource(source)
    node.CreateInput("rotation", _TYPES.Float).Set(90.0)
    result = node.CreateOutput("result", _TYPES.Float2)
    given.ConnectToSource(result)


def _take_red(shader: UsdShade.Shader) -> None:
    """Connect the colour to one component of the image."""
    output = shader.CreateOutput("r", _TYPES.Float)
    surface = next(
        UsdShade.Shader(prim)
        for prim in shader.GetPrim().GetParent().GetChildren()
        if UsdShade.Shader(prim).GetShaderId() == "UsdPreviewSurface"
    )
    surface.GetInput("diffuseColor").ConnectToSource(output)


def _coordinates(
    edit: Callable[[NDArray[np.float64]], NDArray[np.float64]], asset: GoodAsset
) -> Iterator[Seed]:
    """Change the texture coordinates of meshes with a colour texture."""
    for part in _painted(asset):
        if part.image("diffuseColor"):
            yield Seed(part.subject, partial(_map, part.mesh, edit))


def _map(
    path: str,
    edit: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    stage: Usd.Stage,
    _: float,
) -> None:
    primvar = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath(path)).GetPrimvar("st")
    given = np.array(primvar.Get(), np.float64)
    primvar.Set(Vt.Vec2fArray.FromNumpy(edit(given).astype(np.float32)))


def _flip(given: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([given[:, 0], 1.0 - given[:, 1]])


def _double(given: NDArray[np.float64]) -> NDArray[np.float64]:
    return given * 2.0


def _swap(given: NDArray[np.float64]) -> NDArray[np.float64]:
    return given[:, ::-1]


def _shorten(given: NDArray[np.float64]) -> NDArray[np.float64]:
    return given[:-1]


def _unmapped(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.image("diffuseColor"):
            yield Seed(part.subject, partial(_lose_primvar, part.mesh))


def _lose_primvar(path: str, stage: Usd.Stage, _: float) -> None:
    stage.GetPrimAtPath(path).GetAttribute("primvars:st").Block()


def _clamped(asset: GoodAsset) -> Iterator[Seed]:
    """Let images end where texture coordinates leave [0, 1]."""
    for part in _painted(asset):
        if image := part.image("diffuseColor"):
            mesh = asset.stage.GetPrimAtPath(part.mesh)
            primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
            given = np.array(primvar.ComputeFlattened(), np.float64)
            within = given.min() >= 0.0 and given.max() <= 1.0
            edit = partial(_edit_shader, str(image.GetPath()), _clamp)
            yield Seed(part.subject, edit, equivalent=within)


def _clamp(shader: UsdShade.Shader) -> None:
    for name in ("wrapS", "wrapT"):
        shader.CreateInput(name, _TYPES.Token).Set("clamp")


def _rebound(purpose: str, asset: GoodAsset) -> Iterator[Seed]:
    """Bind a red material for one purpose alone."""
    for part in _painted(asset):
        edit = partial(_bind_red, part.path, f"{asset.root}/{EXTRA_PRIM}", purpose)
        yield Seed(part.subject, edit)


def _bind_red(path: str, material: str, purpose: str, stage: Usd.Stage, _: float) -> None:
    bound = _red(stage, material)
    binding = UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(path))
    binding.Bind(bound, materialPurpose=purpose)


def _red(stage: Usd.Stage, path: str) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, path)
    shader = UsdShade.Shader.Define(stage, f"{path}/surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", _TYPES.Color3f).Set((0.97, 0.03, 0.11))
    output = shader.CreateOutput("surface", _TYPES.Token)
    material.CreateSurfaceOutput().ConnectToSource(output)
    return material


def _overruled(asset: GoodAsset) -> Iterator[Seed]:
    """Bind a red material to the robot, stronger than those of its visuals."""
    if any(part.color or part.image("diffuseColor") for part in _painted(asset)):
        yield Seed("robot", partial(_overrule, f"{asset.root}/{EXTRA_PRIM}"))


def _overrule(path: str, stage: Usd.Stage, _: float) -> None:
    binding = UsdShade.MaterialBindingAPI.Apply(stage.GetDefaultPrim())
    stronger = UsdShade.Tokens.strongerThanDescendants
    binding.Bind(_red(stage, path), bindingStrength=stronger)


def _recontexted(
    context: str,
    identifier: str,
    inputs: Mapping[str, tuple[Sdf.ValueTypeName, object]],
    shader: UsdShade.Shader,
) -> None:
    """Give a material another surface in one render context."""
    prim = shader.GetPrim()
    while not prim.IsA(UsdShade.Material):
        prim = prim.GetParent()
    path = prim.GetPath().AppendChild(EXTRA_PRIM)
    other = UsdShade.Shader.Define(prim.GetStage(), path)
    other.CreateIdAttr(identifier)
    for name, (kind, value) in inputs.items():
        other.CreateInput(name, kind).Set(value)
    output = other.CreateOutput("surface", _TYPES.Token)
    UsdShade.Material(prim).CreateSurfaceOutput(context).ConnectToSource(output)


def _in_context(
    identifier: str,
    context: str,
    node: str,
    **inputs: tuple[Sdf.ValueTypeName, object],
) -> Fault:
    edit = partial(_recontexted, context, node, inputs)
    title = f"{' and '.join(inputs)} of the surface in {context}"
    return Fault(f"look.{identifier}", title, _MATERIAL, partial(_surfaces, edit))


def _colored_alone(asset: GoodAsset) -> Iterator[Seed]:
    """Bind a red material to visuals for which neither URDF nor mesh states a look."""
    plain: dict[str, bool] = {}
    for shape in asset.spec.shapes:
        if shape.role is Role.VISUAL:
            bare = bool(shape.appearances) and not any(
                one.color or one.texture or one.problem or one.unread for one in shape.appearances
            )
            plain[shape.link] = plain.get(shape.link, True) and bare
    for site in shape_sites(asset, Role.VISUAL):
        above = site.prim.GetParent()
        if plain.get(str(above.GetDisplayName() or above.GetName())):
            path = f"{asset.root}/{EXTRA_PRIM}"
            edit = partial(_bind_red, site.path, path, UsdShade.Tokens.allPurpose)
            yield Seed(site.subject, edit)


def _regrouped(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.image("diffuseColor"):
            yield Seed(part.subject, partial(_regroup, part.mesh))


def _regroup(path: str, stage: Usd.Stage, _: float) -> None:
    primvar = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath(path)).GetPrimvar("st")
    primvar.SetElementSize(2)


def _displayed(asset: GoodAsset) -> Iterator[Seed]:
    """State another displayed colour than that of the material."""
    for part in _painted(asset):
        if part.color is not None and part.path == part.mesh:
            yield Seed(part.subject, partial(_display, part.mesh))


def _display(path: str, stage: Usd.Stage, _: float) -> None:
    prim = UsdGeom.Gprim(stage.GetPrimAtPath(path))
    prim.CreateDisplayColorAttr([(0.97, 0.03, 0.11)])


def _surface(
    identifier: str, title: str, name: str, kind: Sdf.ValueTypeName, value: object
) -> Fault:
    edit = _input(name, kind, value)
    return Fault(f"look.{identifier}", title, _MATERIAL, partial(_surfaces, edit))


def _image(
    identifier: str,
    title: str,
    edit: Callable[[UsdShade.Shader], None],
    aims: tuple[str, ...] = ("visual.material",),
) -> Fault:
    return Fault(f"texture.{identifier}", title, aims, partial(_images, edit))


def _misplaced(asset: GoodAsset) -> Iterator[Seed]:
    """Let two parts of one mesh with different materials exchange a triangle each."""
    meshes: dict[str, list[_Painted]] = {}
    for part in _painted(asset):
        if part.path != part.mesh:
            meshes.setdefault(part.mesh, []).append(part)
    for parts in meshes.values():
        for part, other in pairwise(parts):
            same = part.appearance == other.appearance
            edit = partial(_exchange_faces, part.path, other.path)
            if not same:
                yield Seed(part.subject, edit)


def _exchange_faces(path: str, other: str, stage: Usd.Stage, _: float) -> None:
    one, two = (
        UsdGeom.Subset(stage.GetPrimAtPath(each)).GetIndicesAttr() for each in (path, other)
    )
    first, second = one.Get(), two.Get()
    one.Set(second)
    two.Set(first)


def _timed_color(asset: GoodAsset) -> Iterator[Seed]:
    for part in _painted(asset):
        if part.color is not None:
            yield Seed(part.subject, partial(_edit_shader, _path(part), _fade))


def _fade(shader: UsdShade.Shader) -> None:
    shader.GetInput("diffuseColor").GetAttr().Set((0.02, 0.98, 0.51), 12.0)


def _mapped(
    identifier: str,
    title: str,
    edit: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> Fault:
    seeds = partial(_coordinates, edit)
    return Fault(f"texture.{identifier}", title, _MAPPING, seeds)


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
    _surface("glowing", "emission added", "emissiveColor", _TYPES.Color3f, (0.5, 0, 0)),
    _surface("metal", "material made a metal", "metallic", _TYPES.Float, 1.0),
    _surface("clearcoat", "clear coat added", "clearcoat", _TYPES.Float, 1.0),
    _surface("occluded", "occlusion added", "occlusion", _TYPES.Float, 0.1),
    _surface("displaced", "surface displaced", "displacement", _TYPES.Float, 0.5),
    Fault("look.specular", "specular workflow", _MATERIAL, _speculars),
    Fault(
        "look.misnamed",
        "shader misspelt",
        (*_COLOR, *_TEXTURE),
        partial(_surfaces, _misname),
    ),
    Fault(
        "look.cut-out",
        "opacity made a threshold",
        _MATERIAL,
        partial(_of_opaque, _input("opacityThreshold", _TYPES.Float, 0.99)),
    ),
    *(
        Fault(
            f"look.{purpose}",
            f"other material for purpose {purpose}",
            _MATERIAL,
            partial(_rebound, purpose),
        )
        for purpose in (UsdShade.Tokens.full, UsdShade.Tokens.preview)
    ),
    Fault(
        "look.overruled",
        "material of the whole robot",
        (*_COLOR, *_TEXTURE),
        _overruled,
    ),
    _in_context(
        "storm",
        "glslfx",
        "UsdPreviewSurface",
        diffuseColor=(_TYPES.Color3f, (0.97, 0.03, 0.11)),
    ),
    _in_context("storm-clear", "glslfx", "UsdPreviewSurface", opacity=(_TYPES.Float, 0.3)),
    _in_context(
        "materialx-metal",
        "mtlx",
        "ND_open_pbr_surface_surfaceshader",
        base_metalness=(_TYPES.Float, 0.37),
    ),
    _in_context(
        "materialx-clear",
        "mtlx",
        "ND_open_pbr_surface_surfaceshader",
        geometry_opacity=(_TYPES.Float, 0.37),
    ),
    _in_context(
        "materialx-light",
        "mtlx",
        "ND_standard_surface_surfaceshader",
        emission=(_TYPES.Float, 1.0),
        emission_color=(_TYPES.Color3f, (0.97, 0.03, 0.11)),
    ),
    Fault("look.invented", "colour of a visual without any", _COLOR, _colored_alone),
    Fault("texture.grouped", "coordinates in groups of two", _MAPPING, _regrouped),
    Fault("look.displayed", "displayed colour differs", _MATERIAL, _displayed),
    _image(
        "raw",
        "colours of image read as linear",
        _input("sourceColorSpace", _TYPES.Token, "raw"),
    ),
    _image(
        "bias",
        "bias of image",
        _input("bias", _TYPES.Float4, Gf.Vec4f(0.2, 0.2, 0.2, 0.0)),
    ),
    _image("red", "one component of image", _take_red),
    _image("misnamed", "primvar of image misspelt", _misread_coordinates, _MAPPING),
    _image("disconnected", "image without coordinates", _disconnect_coordinates, _MAPPING),
    _image("placed", "image turned by a node", _place, _MAPPING),
    _mapped("flipped", "texture coordinates flipped", _flip),
    _mapped("doubled", "texture coordinates doubled", _double),
    _mapped("swapped", "texture coordinates swapped", _swap),
    _mapped("count", "texture coordinate missing", _shorten),
    Fault("texture.unmapped", "texture coordinates lost", _MAPPING, _unmapped),
    Fault("texture.clamped", "image not repeated", _MATERIAL, _clamped),
    Fault(
        "look.misplaced",
        "material subsets exchanged",
        (*_COLOR, *_OPACITY, *_TEXTURE, *_MATERIAL),
        _misplaced,
    ),
    Fault("time.color", "colour at a time sample", ("structure.animation",), _timed_color),
)
