"""Faults in the shapes of links, and in the appearance of visuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade, Vt

from tests.faults import fault as f
from tests.faults.fault import Edit, Place, Robot, add, author, fault, seed, seed_each, where
from urdf_usd.conformance.engines.openusd.reading import urdf_name
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance import Tolerance

_Array = NDArray[np.float64]
_TOKENS = UsdGeom.Tokens
_TYPES = Sdf.ValueTypeNames
_NAN = math.nan
# A colour that no robot has.
_RED = Gf.Vec3f(0.97, 0.03, 0.11)


# Shapes of links.


def _is_group(prim: Usd.Prim) -> bool:
    """Whether a shape is a group of a collision mesh, below the Xform of the mesh."""
    return bool(prim.GetParent().GetAttribute("urdf:collision"))


def _scale_of(prim: Usd.Prim) -> _Array:
    scale = (prim.GetParent() if _is_group(prim) else prim).GetAttribute("xformOp:scale").Get()
    return np.ones(3) if scale is None else np.array(scale, np.float64)


def _shapes(role: Role) -> Callable[[Robot], Iterator[Place]]:
    def places(good: Robot) -> Iterator[Place]:
        for prim in good.stage.Traverse():
            if not prim.IsA(UsdGeom.Gprim):
                continue
            purpose = UsdGeom.Imageable(prim).ComputePurpose()
            shown = purpose in (_TOKENS.default_, _TOKENS.render)
            if prim.HasAPI(UsdPhysics.CollisionAPI) if role is Role.COLLISION else shown:
                yield Place(good, prim, diagonal=_diagonal(good, prim, role))

    return places


def _diagonal(good: Robot, prim: Usd.Prim, role: Role) -> float:
    """Return the diagonal of the URDF shape of a prim, matched by position and size."""
    low, high = (np.array(corner) for corner in UsdGeom.Boundable(prim).GetExtentAttr().Get())
    size = float(np.linalg.norm((high - low) * _scale_of(prim)))
    placed = prim.GetParent() if _is_group(prim) else prim
    at = np.array(placed.GetAttribute("xformOp:translate").Get() or (0.0, 0.0, 0.0))
    link = urdf_name(placed.GetParent())

    def extent(shape: ShapeObservation) -> float:
        return math.dist(shape.surface.lower, shape.surface.upper) if shape.surface else 0.0

    similar = [
        (float(np.linalg.norm(at - shape.position)) + abs(extent(shape) - size), extent(shape))
        for shape in good.spec.shapes
        if shape.role is role and shape.link == link and extent(shape)
    ]
    return min(similar)[1] if similar else size


def _is_mesh(place: Place) -> bool:
    return bool(place.prim.IsA(UsdGeom.Mesh))


def _mesh_arrays(prim: Usd.Prim) -> tuple[_Array, NDArray[np.int64], NDArray[np.int64]]:
    mesh = UsdGeom.Mesh(prim)
    return (
        np.array(mesh.GetPointsAttr().Get(), np.float64),
        np.array(mesh.GetFaceVertexCountsAttr().Get()),
        np.array(mesh.GetFaceVertexIndicesAttr().Get()),
    )


def _set_mesh(prim: Usd.Prim, points: Any, counts: Any, corners: Any) -> None:  # noqa: ANN401
    """Set the points, the numbers of corners of faces, and the corners."""
    mesh = UsdGeom.Mesh(prim)
    mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(np.array(points, np.float32)))
    mesh.GetFaceVertexCountsAttr().Set(np.array(counts).tolist())
    mesh.GetFaceVertexIndicesAttr().Set(np.array(corners).tolist())


def _face_areas(prim: Usd.Prim) -> _Array:
    """Return the (F, 3) area vectors of faces, by Newell's method."""
    points, counts, corners = _mesh_arrays(prim)
    starts = np.cumsum(counts) - counts
    following = np.arange(1, len(corners) + 1)
    following[starts + counts - 1] = starts
    placed = points[corners]
    crossed: _Array = np.add.reduceat(np.cross(placed, placed[following]), starts) / 2.0
    return crossed


def _repeat(place: Place) -> None:
    path = place.prim.GetPath()
    copy = place.stage.DefinePrim(path.ReplaceName(f"{path.name}_again"))
    copy.GetReferences().AddInternalReference(path)


def _points(wrong: Callable[[_Array], Any]) -> Edit:
    """Change the points of a mesh."""
    return lambda place: place.prim.GetAttribute("points").Set(
        Vt.Vec3fArray.FromNumpy(np.float32(wrong(_mesh_arrays(place.prim)[0])))
    )


def _split_face(place: Place) -> None:
    """Split the first triangle of the first face in three, in the same plane."""
    points, counts, corners = _mesh_arrays(place.prim)
    a, b, c = corners[:3]
    rest = [a, *corners[2 : counts[0]]] if counts[0] > 3 else []
    new = len(points)
    faces = [a, b, new, b, c, new, c, a, new, *rest, *corners[counts[0] :]]
    sizes = [3, 3, 3, *([len(rest)] if rest else []), *counts[1:]]
    _set_mesh(place.prim, [*points, points[[a, b, c]].mean(axis=0)], sizes, faces)


def _lose_faces(place: Place) -> None:
    """Leave out every other face."""
    points, counts, corners = _mesh_arrays(place.prim)
    kept = np.arange(len(counts)) % 2 == 0
    _set_mesh(place.prim, points, counts[kept], corners[np.repeat(kept, counts)])


def _shift(place: Place) -> None:
    step = place.diagonal * place.step
    if _is_group(place.prim):
        # It has no translation, and the scale of the mesh is above it.
        moved = UsdGeom.Xformable(place.prim).AddTranslateOp().GetAttr()
        moved.Set(Gf.Vec3d(*(np.array(step) / _scale_of(place.prim)).tolist()))
    else:
        moved = place.prim.GetAttribute("xformOp:translate")
        moved.Set(Gf.Vec3d(moved.Get()) + step)


_colliders, _visuals = _shapes(Role.COLLISION), _shapes(Role.VISUAL)
_collision_meshes, _visual_meshes = (where(of, _is_mesh) for of in (_colliders, _visuals))


@fault("collider.merged", "collision.shapes", where(_colliders, lambda at: _is_group(at.prim)))
def _(place: Place) -> None:
    """Replace the groups of a collision mesh by one mesh, with one convex hull."""
    siblings = [one for one in place.prim.GetParent().GetChildren() if one.IsA(UsdGeom.Mesh)]
    points, counts, corners = zip(*map(_mesh_arrays, siblings), strict=True)
    starts = np.cumsum([0, *map(len, points)])
    moved = [part + start for part, start in zip(corners, starts, strict=False)]
    whole = (np.concatenate(parts) for parts in (points, counts, moved))
    _set_mesh(siblings[0], *whole)
    for prim in siblings[1:]:
        prim.SetActive(False)


def _added_material(case: str, purpose: str = UsdShade.Tokens.allPurpose) -> Edit:
    """Add a material and bind it."""
    return f.both(add(case), lambda place: f.bind(place, place.extra, purpose))


_LEFT = author("orientation", "leftHanded")
for _role, _group, _places, _meshes in (
    (Role.COLLISION, "collider", _colliders, _collision_meshes),
    (Role.VISUAL, "visual", _visuals, _visual_meshes),
):
    _round = where(_places, lambda place: place.prim.GetTypeName() in ("Cylinder", "Capsule"))
    _scaled = where(_meshes, lambda place: place.prim.GetAttribute("xformOp:scale"))
    # A source that states numbers of triangles; MuJoCo's compiler changes them.
    _counted = where(
        _meshes,
        lambda at: any(one.surface and one.surface.triangles for one in at.robot.spec.shapes),
    )
    for _check, _of, _id, _edit in (
        ("shapes", _places, "dropped", lambda place: place.prim.SetActive(False)),
        ("shapes", _places, "repeated", _repeat),
        ("support", _places, "radius", f.change(lambda old, _: old / 2, "radius")),
        ("support", _round, "axis", author("axis", "X")),
        ("support", _scaled, "unscaled", author("xformOp:scale", Gf.Vec3f(1.0))),
        ("support", _meshes, "units", _points(lambda points: 100.0 * points)),
        ("area", _meshes, "faces", _lose_faces),
        ("triangles", _counted, "split", _split_face),
    ):
        seed(f"{_group}.{_id}", f"{_role}.{_check}", _of, _edit)
    seed(f"{_group}.turned-over", f"{_role}.volume", _meshes, _LEFT, equivalent=True)
    seed(f"{_group}.shifted", f"{_role}.support", _places, _shift, tolerance=Tolerance().shape)
# A point that no face uses, outside of the mesh.
_STRAY = _points(lambda at: np.vstack([at, 2 * at.max(axis=0) - at.min(axis=0)]))
seed("collider.stray", "collision.support", _collision_meshes, _STRAY)
_hidden = where(_colliders, lambda at: UsdGeom.Imageable(at.prim).ComputePurpose() == _TOKENS.guide)
seed("collider.shown", "visual.shapes", _hidden, author("purpose", "default"))
seed("collider.trigger", "collision.filters", _colliders, f.apply("PhysxTriggerAPI"))
_SLIPS = _added_material("slippery", "physics")
seed("collider.slippery", "collision.materials simulation.contacts", _colliders, _SLIPS)
_APPROXIMATION, _PIECES = "collision.approximation", "ConvexDecompositionCollision"
_HULL = author("mjc:maxhullvert", 8, "MjcMeshCollisionAPI")
seed("collider.hull-mujoco", _APPROXIMATION, _collision_meshes, _HULL)
_ONE_PIECE = author(f"physx{_PIECES}:maxConvexHulls", 1, f"Physx{_PIECES}API")
seed("collider.pieces", _APPROXIMATION, _collision_meshes, _ONE_PIECE)
_UNSEEN = {"invisible": ("visibility", "invisible"), "guide": ("purpose", "guide")}
seed_each("visual.shapes", _visuals, {f"visual.{key}": author(*to) for key, to in _UNSEEN.items()})
_CATMULL = author("subdivisionScheme", "catmullClark")
seed("visual.smoothed", "visual.subdivision", _visual_meshes, _CATMULL)
# The fallback is Catmull-Clark.
seed("visual.schemeless", "visual.subdivision", _visual_meshes, f.block("subdivisionScheme"))

# Extents, faces and normals of visuals.


def _extent(factor: float) -> Edit:
    return f.change(lambda old, _: [corner * factor for corner in old], "extent")


def _moving(place: Place) -> None:
    UsdGeom.Mesh(place.prim).CreateVelocitiesAttr(
        [Gf.Vec3f(1, 0, 0)] * len(_mesh_arrays(place.prim)[0])
    )


def _normals(interpolation: str, wrong: Callable[[_Array, int], _Array]) -> Edit:
    """Author normals that are a function of those of the faces, and the number of points."""

    def edit(place: Place) -> None:
        count = len(UsdGeom.Mesh(place.prim).GetPointsAttr().Get())
        areas = _face_areas(place.prim)
        size = np.linalg.norm(areas, axis=1, keepdims=True)
        values = np.float32(wrong(areas / np.where(size, size, 1.0), count))
        api = UsdGeom.PrimvarsAPI(place.prim)
        primvar = api.CreatePrimvar("normals", _TYPES.Normal3fArray, interpolation)
        primvar.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values)))
        if primvar.IsIndexed():
            primvar.BlockIndices()

    return edit


_EXTENTS = {"geometry.extent": _extent(0.1), "geometry.far-extent": _extent(50.0)}
seed_each("visual.geometry", _visuals, _EXTENTS)
_primitives = where(_visuals, lambda place: not _is_mesh(place))
seed("geometry.handedness", "visual.geometry", _primitives, _LEFT)
_HOLE = {"geometry.hole": author("holeIndices", Vt.IntArray([0]))}
seed_each("visual.geometry", _visual_meshes, {**_HOLE, "geometry.velocities": _moving})
_WRONG_NORMALS = {
    "normals.flipped": _normals("uniform", lambda normals, _: -normals),
    "normals.count": _normals("uniform", lambda normals, _: np.vstack([normals, normals[:1]])),
    "normals.nan": _normals("uniform", lambda normals, _: normals * _NAN),
}
seed_each("visual.normals", _visual_meshes, _WRONG_NORMALS)
_UP = _normals("vertex", lambda _, count: np.tile([0.0, 0.0, 1.0], (count, 1)))
_with_normals = where(_visual_meshes, lambda at: at.prim.GetAttribute("primvars:normals"))
seed("normals.constant", "visual.normals", _visual_meshes, _UP, equivalent=True)
_LOST = f.block("primvars:normals")
seed("normals.lost", "visual.normals", _with_normals, _LOST, equivalent=True)

# Values over time, unusable values and further prims.


def _drift(place: Place) -> None:
    """Let a prim move from its place."""
    placed = UsdGeom.Xformable(place.prim)
    attribute = place.prim.GetAttribute("xformOp:translate") or placed.AddTranslateOp().GetAttr()
    kind = type(attribute.GetTypeName().defaultValue)
    start = attribute.Get() or kind(0.0)
    attribute.Set(start)
    attribute.Set(start, 0.0)
    attribute.Set(start + kind(0.0, 0.0, 0.5), 24.0)


_ANY_VALUE = "structure.values reader.refuses visual.shapes"


@fault("value.orient", _ANY_VALUE, _visuals)
def _(place: Place) -> None:
    placed = UsdGeom.Xformable(place.prim)
    attribute = place.prim.GetAttribute("xformOp:orient") or placed.AddOrientOp().GetAttr()
    attribute.Set(type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0, 0.0))


def _display(color: Gf.Vec3f) -> Edit:
    return lambda place: UsdGeom.Gprim(place.prim).CreateDisplayColorAttr([color])


_BROKEN = _points(lambda points: np.vstack([[_NAN, *points[0, 1:]], points[1:]]))
seed("time.body", "structure.animation", f.bodies, _drift)
seed("time.visual", "structure.animation reader.refuses", _visuals, _drift)
seed("value.color", _ANY_VALUE, _visuals, _display(Gf.Vec3f(_NAN, 0.0, 0.0)))
seed("value.points", _ANY_VALUE, _visual_meshes, _BROKEN)
_GLOWS = f.both(lambda place: UsdLux.LightAPI.Apply(place.prim))
seed("scene.glow", "structure.scene", _visual_meshes, _GLOWS)
for _case in ("points", "curves"):
    seed(f"scene.{_case}", "visual.shapes", f.bodies, add(_case, below=True))

# Appearance. A place is a visual, or a part of one, with a preview surface of its own.


def _decided(good: Robot, condition: Callable[[ShapeObservation], bool]) -> set[str]:
    """Return the links all of whose visuals fulfil a condition."""
    visuals = [shape for shape in good.spec.shapes if shape.role is Role.VISUAL]
    return {one.link for one in visuals} - {one.link for one in visuals if not condition(one)}


def _painted(good: Robot) -> Iterator[Place]:
    """Yield the parts of visuals with a stated appearance, without small ones."""
    decided = _decided(
        good,
        lambda shape: bool(shape.appearances) and not any(one.problem for one in shape.appearances),
    )
    for visual in _visuals(good):
        if urdf_name(visual.prim.GetParent()) not in decided:
            continue
        subsets = UsdShade.MaterialBindingAPI(visual.prim).GetMaterialBindSubsets()
        areas = np.linalg.norm(_face_areas(visual.prim), axis=1) if subsets else np.ones(1)
        parts = [(one.GetPrim(), areas[one.GetIndicesAttr().Get()].sum()) for one in subsets]
        for prim, area in parts or [(visual.prim, 1.0)]:
            share = float(area / areas.sum())
            if share > 1e-3 and UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]:
                yield Place(good, prim, share=share, mesh=visual.path)


def _material(place: Place) -> UsdShade.Material:
    return UsdShade.MaterialBindingAPI(place.prim).ComputeBoundMaterial()[0]


def _surface(place: Place) -> UsdShade.Shader:
    return _material(place).ComputeSurfaceSource()[0]


def _constant(place: Place, name: str) -> Any:  # noqa: ANN401  a number or a colour
    given = _surface(place).GetInput(name)
    return None if not given or given.HasConnectedSource() else given.Get()


def _image(place: Place, name: str = "diffuseColor") -> Any:  # noqa: ANN401  a shader
    """Return the node of the image that an input is connected to, or None."""
    given = _surface(place).GetInput(name)
    for source in given.GetValueProducingAttributes() if given else ():
        node = UsdShade.Shader(source.GetPrim())
        if node.GetShaderId() == "UsdUVTexture":
            return node
    return None


def _appearance(place: Place) -> tuple[object, ...]:
    images = (_image(place, name) for name in ("diffuseColor", "opacity"))
    files = [str(image.GetInput("file").Get()) if image else None for image in images]
    return _constant(place, "diffuseColor"), _constant(place, "opacity"), *files


def _mesh(place: Place) -> Usd.Prim:
    return place.stage.GetPrimAtPath(place.mesh)


def _large_images(good: Robot) -> Iterator[Place]:
    """Yield textured parts; of those with one appearance, compared together, large ones."""
    parts = list(_painted(good))
    looks = [(part.mesh, _appearance(part)) for part in parts]
    for part, look in zip(parts, looks, strict=True):
        alike = [one.share for one, other in zip(parts, looks, strict=True) if other == look]
        if _image(part) and part.share >= max(alike) / 2:
            yield part


def _input(name: str, value: object, kind: Sdf.ValueTypeName = _TYPES.Float) -> Edit:
    """Set an input of the surface, or of the image of its colour, and disconnect it."""

    def edit(place: Place) -> None:
        node, _, base = name.rpartition(".")
        given = (_image(place) if node else _surface(place)).CreateInput(base, kind)
        given.GetAttr().SetConnections([])
        given.Set(value)

    return edit


def _in_context(context: str, node: str, name: str, value: object) -> Edit:
    """Give a material another surface in one render context."""

    def edit(place: Place) -> None:
        path = _material(place).GetPath().AppendChild(f.STRANGER)
        shader = UsdShade.Shader.Define(place.stage, path)
        shader.CreateIdAttr(node)
        kind = _TYPES.Float if isinstance(value, float) else _TYPES.Color3f
        shader.CreateInput(name, kind).Set(value)
        output = shader.CreateOutput("surface", _TYPES.Token)
        _material(place).CreateSurfaceOutput(context).ConnectToSource(output)

    return edit


def _is_plain(place: Place) -> bool:
    """Whether neither URDF nor mesh states a look of the visuals of the link."""
    return urdf_name(place.prim.GetParent()) in _decided(
        place.robot,
        lambda shape: (
            bool(shape.appearances)
            and not any(
                look.color or look.texture or look.problem or look.unread
                for look in shape.appearances
            )
        ),
    )


_OPEN_PBR = "ND_open_pbr_surface_surfaceshader"
_colored = where(_painted, lambda place: _constant(place, "diffuseColor") is not None)
_textured = where(_painted, _image)
_masked = where(_painted, lambda place: _image(place, "opacity"))
_translucent = where(_painted, lambda place: (_constant(place, "opacity") or 1.0) < 1.0)
_whole = where(_colored, lambda place: place.path == place.mesh)
_OPAQUE, _GREY = _input("opacity", 1.0), _input("diffuseColor", Gf.Vec3f(0.5), _TYPES.Color3f)
_LOOK = "visual.colour visual.texture"


def _tint(place: Place) -> None:
    red, green, blue = _constant(place, "diffuseColor")
    step = place.size if red < 1 - place.size else -place.size
    _surface(place).GetInput("diffuseColor").Set(Gf.Vec3f(red + step, green, blue))


@fault("look.unbound", "visual.colour", _colored)
def _(place: Place) -> None:
    # A part may inherit what its mesh is bound to.
    inherits = place.path != place.mesh and UsdShade.MaterialBindingAPI(_mesh(place))
    if not (inherits and inherits.ComputeBoundMaterial()[0]):
        UsdShade.MaterialBindingAPI(place.prim).UnbindAllBindings()


@fault("look.transparent", "visual.opacity", _painted)
def _(place: Place) -> None:
    opacity = _constant(place, "opacity")
    if opacity is not None and abs(opacity - 0.5) > 5e-3:
        _surface(place).GetInput("opacity").Set(1.0 - opacity)


@fault("look.retextured", "visual.texture", _textured)
def _(place: Place) -> None:
    file = place.robot.stage.GetRootLayer().realPath
    for attribute in _image(place).GetInput("file").GetValueProducingAttributes():
        attribute.Set(Sdf.AssetPath(file))


@fault("look.unfactored", "visual.colour", _textured)
def _(place: Place) -> None:
    scale = _image(place).GetInput("scale")
    if scale and min(tuple(scale.Get())[:3]) < 1 - 5e-3:
        scale.Set(Gf.Vec4f(1.0))


@fault("look.exchanged", f"{_LOOK} visual.opacity visual.material", _painted)
def _(place: Place) -> None:
    """Bind the material of the next part of the mesh, if it looks different."""
    for part, other in pairwise(_painted(place.robot)):
        is_next = part.path == place.path and other.mesh == part.mesh
        if is_next and _appearance(other) != _appearance(part):
            f.bind(place, _material(other).GetPath())


@fault("look.overruled", _LOOK, f.robot)
def _(place: Place) -> None:
    """Bind a red material to the robot, stronger than those of its visuals."""
    parts = _painted(place.robot)
    if any(_constant(part, "diffuseColor") or _image(part) for part in parts):
        add("red")(place)
        binding = UsdShade.MaterialBindingAPI.Apply(place.prim)
        material = UsdShade.Material(place.stage.GetPrimAtPath(place.extra))
        binding.Bind(material, bindingStrength=UsdShade.Tokens.strongerThanDescendants)


seed("look.misnamed", _LOOK, _painted, lambda at: _surface(at).GetIdAttr().Set("UsdPreviewSurfac"))
_REDDENS = f.both(lambda at: _surface(at).GetInput("diffuseColor").GetAttr().Set(_RED, 12.0))
seed("time.color", "structure.animation", _colored, _REDDENS)
seed("look.tinted", "visual.colour", _colored, _tint, tolerance=Tolerance().color)
seed("look.opaque", "visual.opacity", _translucent, _OPAQUE)
seed("look.unmasked", "visual.opacity", _masked, _OPAQUE)
seed("look.untextured", "visual.texture", _textured, _GREY)
_LOOKS = {
    "look.glowing": _input("emissiveColor", Gf.Vec3f(0.5, 0, 0), _TYPES.Color3f),
    "look.metal": _input("metallic", 1.0),
    "look.clearcoat": _input("clearcoat", 1.0),
    "look.occluded": _input("occlusion", 0.1),
    "look.displaced": _input("displacement", 0.5),
    "look.full": _added_material("red", UsdShade.Tokens.full),
    "look.preview": _added_material("red", UsdShade.Tokens.preview),
    "look.storm": _in_context("glslfx", "UsdPreviewSurface", "diffuseColor", _RED),
    "look.storm-clear": _in_context("glslfx", "UsdPreviewSurface", "opacity", 0.37),
    "look.materialx-metal": _in_context("mtlx", _OPEN_PBR, "base_metalness", 0.37),
    "look.materialx-clear": _in_context("mtlx", _OPEN_PBR, "geometry_opacity", 0.37),
}
seed_each("visual.material", _painted, _LOOKS)
seed("look.cut-out", "visual.material", _translucent, _input("opacityThreshold", 0.99))
seed("look.displayed", "visual.material", _whole, _display(_RED))
seed("look.invented", "visual.colour", where(_visuals, _is_plain), _added_material("red"))

# Images and their coordinates.


@fault("texture.red", "visual.material", _large_images)
def _(place: Place) -> None:
    """Connect the colour to one component of the image."""
    output = _image(place).CreateOutput("r", _TYPES.Float)
    _surface(place).GetInput("diffuseColor").ConnectToSource(output)


def _primvar(place: Place) -> UsdGeom.Primvar:
    return UsdGeom.PrimvarsAPI(_mesh(place)).GetPrimvar("st")


def _coordinates(wrong: Callable[[_Array], _Array]) -> Edit:
    def edit(place: Place) -> None:
        values = wrong(np.array(_primvar(place).Get(), np.float64))
        _primvar(place).Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(values, np.float32)))

    return edit


def _leaves_image(place: Place) -> bool:
    values = np.array(_primvar(place).ComputeFlattened(), np.float64)
    return bool(values.min() < 0.0 or values.max() > 1.0)


_CLAMPED = f.both(*(_input(f"image.{name}", "clamp", _TYPES.Token) for name in ("wrapS", "wrapT")))
_MISREAD = {
    "texture.raw": _input("image.sourceColorSpace", "raw", _TYPES.Token),
    "texture.bias": _input("image.bias", Gf.Vec4f(0.2, 0.2, 0.2, 0.0), _TYPES.Float4),
}
seed_each("visual.material", _large_images, _MISREAD)
seed("texture.clamped", "visual.material", where(_textured, _leaves_image), _CLAMPED)
_LOOSE = f.both(lambda at: _image(at).GetInput("st").GetAttr().SetConnections([]))
seed("texture.disconnected", "visual.mapping", _large_images, _LOOSE)
_WRONG_ST = {
    "texture.flipped": _coordinates(lambda st: st * (1, -1) + (0, 1)),
    "texture.doubled": _coordinates(lambda st: st * 2.0),
    "texture.swapped": _coordinates(lambda st: st[:, ::-1]),
    "texture.count": _coordinates(lambda st: st[:-1]),
    "texture.unmapped": lambda place: _mesh(place).GetAttribute("primvars:st").Block(),
}
seed_each("visual.mapping", _textured, _WRONG_ST)
