"""Faults in the shapes of links, and in the appearance of visuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade, Vt

from tests.faults.fault import (
    OBLIQUE,
    RED,
    STRANGER,
    Edit,
    Fault,
    Place,
    Robot,
    apply,
    author,
    bind,
    block,
    bodies,
    both,
    change,
    deactivate,
    red_material,
    robot,
    row,
    table,
    urdf_name,
    where,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance.bounds import Tolerance

_Array = NDArray[np.float64]
_TOKENS = UsdGeom.Tokens
_TYPES = Sdf.ValueTypeNames
_SHOWN = (_TOKENS.default_, _TOKENS.render)
_NAN = math.nan
_ANY_VALUE = "structure.values reader.refuses visual.shapes"


# Shapes of links.


def _is_group(prim: Usd.Prim) -> bool:
    """Whether a shape is a group of a collision mesh, below the Xform of the mesh."""
    return bool(prim.GetParent().GetAttribute("urdf:collision"))


def _link_of(prim: Usd.Prim) -> Usd.Prim:
    return prim.GetParent().GetParent() if _is_group(prim) else prim.GetParent()


def _scale_of(prim: Usd.Prim) -> _Array:
    scale = (prim.GetParent() if _is_group(prim) else prim).GetAttribute("xformOp:scale").Get()
    return np.ones(3) if scale is None else np.array(scale, np.float64)


def _shapes(role: Role) -> Callable[[Robot], Iterator[Place]]:
    def places(good: Robot) -> Iterator[Place]:
        for prim in good.stage.Traverse():
            if not prim.IsA(UsdGeom.Gprim):
                continue
            shown = UsdGeom.Imageable(prim).ComputePurpose() in _SHOWN
            if prim.HasAPI(UsdPhysics.CollisionAPI) if role is Role.COLLISION else shown:
                yield Place(good, prim, diagonal=_diagonal(good, prim, role))

    return places


def _diagonal(good: Robot, prim: Usd.Prim, role: Role) -> float:
    """Return the diagonal of the URDF shape of a prim, matched by position and size."""
    low, high = (np.array(corner) for corner in UsdGeom.Boundable(prim).GetExtentAttr().Get())
    size = float(np.linalg.norm((high - low) * _scale_of(prim)))
    placed = prim.GetParent() if _is_group(prim) else prim
    at = np.array(placed.GetAttribute("xformOp:translate").Get() or (0.0, 0.0, 0.0))
    link = urdf_name(_link_of(prim))

    def extent(shape: ShapeObservation) -> float:
        return math.dist(shape.surface.lower, shape.surface.upper) if shape.surface else 0.0

    similar = [
        (float(np.linalg.norm(at - shape.position)) + abs(extent(shape) - size), extent(shape))
        for shape in good.spec.shapes
        if shape.role is role and shape.link == link and extent(shape)
    ]
    return min(similar)[1] if similar else size


_colliders, _visuals = _shapes(Role.COLLISION), _shapes(Role.VISUAL)


def _is_mesh(place: Place) -> bool:
    return bool(place.prim.IsA(UsdGeom.Mesh))


def _mesh_arrays(prim: Usd.Prim) -> tuple[_Array, NDArray[np.int64], NDArray[np.int64]]:
    mesh = UsdGeom.Mesh(prim)
    return (
        np.array(mesh.GetPointsAttr().Get(), np.float64),
        np.array(mesh.GetFaceVertexCountsAttr().Get()),
        np.array(mesh.GetFaceVertexIndicesAttr().Get()),
    )


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


def _centimetres(place: Place) -> None:
    points = place.prim.GetAttribute("points")
    points.Set([point * 100.0 for point in points.Get()])


def _stray_point(place: Place) -> None:
    """Add a point that no face uses, outside of the mesh."""
    points = place.prim.GetAttribute("points")
    low, high = UsdGeom.PointBased.ComputeExtent(points.Get())
    points.Set([*points.Get(), high + (high - low)])


def _split_face(place: Place) -> None:
    """Split the first triangle of the first face in three, in the same plane."""
    mesh = UsdGeom.Mesh(place.prim)
    points = list(mesh.GetPointsAttr().Get())
    counts = list(mesh.GetFaceVertexCountsAttr().Get())
    corners = list(mesh.GetFaceVertexIndicesAttr().Get())
    a, b, c = corners[:3]
    rest = [a, *corners[2 : counts[0]]] if counts[0] > 3 else []
    new = len(points)
    points.append((points[a] + points[b] + points[c]) / 3)
    faces = [a, b, new, b, c, new, c, a, new, *rest]
    mesh.GetFaceVertexCountsAttr().Set([3, 3, 3, *([len(rest)] if rest else []), *counts[1:]])
    mesh.GetFaceVertexIndicesAttr().Set([*faces, *corners[counts[0] :]])
    mesh.GetPointsAttr().Set(points)


def _lose_faces(place: Place) -> None:
    """Leave out every other face."""
    mesh, (_, counts, corners) = UsdGeom.Mesh(place.prim), _mesh_arrays(place.prim)
    kept = np.arange(len(counts)) % 2 == 0
    mesh.GetFaceVertexCountsAttr().Set(counts[kept].tolist())
    mesh.GetFaceVertexIndicesAttr().Set(corners[np.repeat(kept, counts)].tolist())


def _shift(place: Place) -> None:
    step = place.size * place.diagonal * OBLIQUE
    if _is_group(place.prim):
        # It has no translation, and the scale of the mesh is above it.
        moved = UsdGeom.Xformable(place.prim).AddTranslateOp().GetAttr()
        moved.Set(Gf.Vec3d(*(step / _scale_of(place.prim)).tolist()))
    else:
        moved = place.prim.GetAttribute("xformOp:translate")
        moved.Set(Gf.Vec3d(*(np.array(moved.Get()) + step).tolist()))


def _merge_groups(place: Place) -> None:
    """Replace the groups of a collision mesh by one mesh, with one convex hull."""
    if not _is_group(place.prim):
        return
    siblings = [one for one in place.prim.GetParent().GetChildren() if one.IsA(UsdGeom.Mesh)]
    points: list[Gf.Vec3f] = []
    counts: list[int] = []
    corners: list[int] = []
    for mesh in map(UsdGeom.Mesh, siblings):
        corners += [len(points) + corner for corner in mesh.GetFaceVertexIndicesAttr().Get()]
        points += list(mesh.GetPointsAttr().Get())
        counts += list(mesh.GetFaceVertexCountsAttr().Get())
    whole = UsdGeom.Mesh(siblings[0])
    whole.GetPointsAttr().Set(points)
    whole.GetFaceVertexCountsAttr().Set(counts)
    whole.GetFaceVertexIndicesAttr().Set(corners)
    for prim in siblings[1:]:
        prim.SetActive(False)


def _make_slippery(place: Place) -> None:
    material = UsdShade.Material.Define(place.stage, place.extra)
    api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    api.CreateDynamicFrictionAttr(0.01)
    api.CreateRestitutionAttr(0.9)
    bind(place, place.extra, "physics")


def _common_faults(role: Role) -> Iterator[Fault]:
    """Yield the faults that colliders and visuals share."""
    places = _colliders if role is Role.COLLISION else _visuals
    group = "collider" if role is Role.COLLISION else "visual"
    meshes = where(places, _is_mesh)
    scale = "xformOp:scale"
    for check, of, edits in (
        ("shapes", places, {"dropped": deactivate, "repeated": _repeat}),
        ("support", places, {"radius": change(lambda old: old / 2, "radius")}),
        (
            "support",
            where(places, lambda place: place.prim.GetTypeName() in ("Cylinder", "Capsule")),
            {"axis": author("axis", "X")},
        ),
        (
            "support",
            where(meshes, lambda place: place.prim.GetAttribute(scale)),
            {"unscaled": lambda place: place.prim.GetAttribute(scale).Set(Gf.Vec3f(1.0))},
        ),
        ("support", meshes, {"units": _centimetres}),
        ("area", meshes, {"faces": _lose_faces}),
        ("triangles", meshes, {"split": _split_face}),
    ):
        yield from table(group, f"{role}.{check}", of, edits)
    yield from table(
        group,
        f"{role}.volume",
        meshes,
        {"turned-over": author("orientation", "leftHanded")},
        equivalent=True,
    )
    tolerance = Tolerance().shape
    yield from table(group, f"{role}.support", places, {"shifted": _shift}, tolerance=tolerance)


_collision_meshes = where(_colliders, _is_mesh)
_visual_meshes = where(_visuals, _is_mesh)

SHAPE_FAULTS = (
    *(fault for role in Role for fault in _common_faults(role)),
    row("collider.merged", "collision.shapes", _colliders, _merge_groups),
    row("collider.stray", "collision.support", _collision_meshes, _stray_point),
    row("collider.shown", "visual.shapes", _colliders, author("purpose", "default")),
    row("collider.trigger", "collision.filters", _colliders, apply("PhysxTriggerAPI")),
    row("collider.slippery", "collision.materials", _colliders, _make_slippery),
    *table(
        "collider",
        "collision.approximation",
        _collision_meshes,
        {
            "hull-mujoco": author("mjc:maxhullvert", 8, "MjcMeshCollisionAPI"),
            "hull-thick": author(
                "physxConvexHullCollision:minThickness", 0.1, "PhysxConvexHullCollisionAPI"
            ),
            "pieces": author(
                "physxConvexDecompositionCollision:maxConvexHulls",
                1,
                "PhysxConvexDecompositionCollisionAPI",
            ),
        },
    ),
    *table(
        "visual",
        "visual.shapes",
        _visuals,
        {"hidden": author("visibility", "invisible"), "guide": author("purpose", "guide")},
    ),
    *table(
        "visual",
        "visual.subdivision",
        _visual_meshes,
        {
            "smoothed": author("subdivisionScheme", "catmullClark"),
            # The fallback is Catmull-Clark.
            "schemeless": block("subdivisionScheme"),
        },
    ),
)

# Extents, faces and normals of visuals.


def _extent(factor: float) -> Edit:
    def edit(place: Place) -> None:
        extent = UsdGeom.Boundable(place.prim).GetExtentAttr()
        extent.Set([corner * factor for corner in extent.Get()])

    return edit


def _blur(place: Place) -> None:
    mesh = UsdGeom.Mesh(place.prim)
    mesh.CreateVelocitiesAttr([Gf.Vec3f(1.0, 0.0, 0.0)] * len(mesh.GetPointsAttr().Get()))


def _overlap(place: Place) -> None:
    """Put the first face in two material subsets."""
    for name in ("one", "other"):
        subset = UsdGeom.Subset.CreateGeomSubset(
            UsdGeom.Imageable(place.prim),
            f"{STRANGER}_{name}",
            _TOKENS.face,
            [0],
            UsdShade.Tokens.materialBind,
        )
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim())


def _face_normals(prim: Usd.Prim) -> list[Gf.Vec3f]:
    areas = _face_areas(prim)
    size = np.linalg.norm(areas, axis=1, keepdims=True)
    return [Gf.Vec3f(*unit) for unit in (areas / np.where(size, size, 1.0)).tolist()]


def _normals(values: Callable[[Usd.Prim], list[Gf.Vec3f]], interpolation: str) -> Edit:
    def edit(place: Place) -> None:
        api = UsdGeom.PrimvarsAPI(place.prim)
        primvar = api.CreatePrimvar("normals", _TYPES.Normal3fArray, interpolation)
        primvar.Set(values(place.prim))
        if primvar.IsIndexed():
            primvar.BlockIndices()

    return edit


def _as_of_points(prim: Usd.Prim) -> list[Gf.Vec3f]:
    """Return the normals of faces, unless there are as many as points."""
    values = _face_normals(prim)
    many = len(values) == len(UsdGeom.Mesh(prim).GetPointsAttr().Get())
    return [*values, values[0]] if many else values


def _up(prim: Usd.Prim) -> list[Gf.Vec3f]:
    return [Gf.Vec3f(0, 0, 1)] * len(UsdGeom.Mesh(prim).GetPointsAttr().Get())


def _is_round(place: Place) -> bool:
    """Whether the normals of a mesh have no common direction."""
    mean = np.mean([np.array(normal) for normal in _face_normals(place.prim)], axis=0)
    return bool(np.linalg.norm(mean) < 0.4)


def _has_own_normals(place: Place) -> bool:
    """Whether a mesh has normals that differ from those of its faces."""
    primvar = UsdGeom.PrimvarsAPI(place.prim).GetPrimvar("normals")
    if not primvar:
        return False
    own = np.array(primvar.ComputeFlattened(), np.float64)
    _, counts, corners = _mesh_arrays(place.prim)
    if primvar.GetInterpolation() == _TOKENS.vertex:
        own = own[corners]
    areas = _face_areas(place.prim)
    length = np.linalg.norm(own, axis=1, keepdims=True)
    unit = own / np.where(length, length, 1.0)
    facing = (unit * np.repeat(areas, counts, axis=0)).sum(axis=1) @ np.repeat(1 / counts, counts)
    return bool(facing < 0.9997 * np.linalg.norm(areas, axis=1).sum())


MESH_FAULTS = (
    *table(
        "geometry",
        "visual.geometry",
        _visuals,
        {"extent": _extent(0.1), "far-extent": _extent(50.0)},
    ),
    row(
        "geometry.handedness",
        "visual.geometry",
        where(_visuals, lambda place: not _is_mesh(place)),
        author("orientation", "leftHanded"),
    ),
    *table(
        "geometry",
        "visual.geometry",
        _visual_meshes,
        {"hole": author("holeIndices", Vt.IntArray([0])), "velocities": _blur, "overlap": _overlap},
    ),
    *table(
        "normals",
        "visual.normals",
        _visual_meshes,
        {
            "flipped": _normals(lambda prim: [-one for one in _face_normals(prim)], "uniform"),
            "count": _normals(
                lambda prim: _face_normals(prim) + _face_normals(prim)[:1], "uniform"
            ),
            "interpolation": _normals(_as_of_points, "vertex"),
            "nan": _normals(lambda prim: [Gf.Vec3f(_NAN)] * len(_face_normals(prim)), "uniform"),
        },
    ),
    row(
        "normals.constant",
        "visual.normals",
        where(_visual_meshes, _is_round),
        _normals(_up, "vertex"),
    ),
    row(
        "normals.lost",
        "visual.normals",
        where(_visual_meshes, _has_own_normals),
        lambda place: place.prim.GetAttribute("primvars:normals").Block(),
    ),
)

# Values over time, unusable values and further prims.


def _drift(place: Place) -> None:
    """Let a prim move from its place."""
    attribute = place.prim.GetAttribute("xformOp:translate")
    if not attribute:
        attribute = UsdGeom.Xformable(place.prim).AddTranslateOp().GetAttr()
    kind = type(attribute.GetTypeName().defaultValue)
    start = attribute.Get() or kind(0.0)
    attribute.Set(start)
    attribute.Set(start, 0.0)
    attribute.Set(start + kind(0.0, 0.0, 0.5), 24.0)


def _blink(place: Place) -> None:
    visibility = UsdGeom.Imageable(place.prim).CreateVisibilityAttr()
    visibility.Set(_TOKENS.inherited)
    visibility.Set(_TOKENS.invisible, 0.0)


def _turn_by_zero(place: Place) -> None:
    attribute = place.prim.GetAttribute("xformOp:orient")
    if not attribute:
        precision = UsdGeom.XformOp.PrecisionFloat
        attribute = UsdGeom.Xformable(place.prim).AddOrientOp(precision).GetAttr()
    attribute.Set(type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0, 0.0))


def _lose_point(place: Place) -> None:
    points = UsdGeom.Mesh(place.prim).GetPointsAttr()
    points.Set([Gf.Vec3f(_NAN, 0.0, 0.0), *list(points.Get())[1:]])


def _below(place: Place) -> Sdf.Path:
    return place.prim.GetPath().AppendChild(STRANGER)


def _points(place: Place) -> None:
    cloud = UsdGeom.Points.Define(place.stage, _below(place))
    cloud.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    cloud.CreateWidthsAttr([0.1, 0.1])


def _curves(place: Place) -> None:
    curves = UsdGeom.BasisCurves.Define(place.stage, _below(place))
    curves.CreateTypeAttr(_TOKENS.linear)
    curves.CreateCurveVertexCountsAttr([2])
    curves.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    curves.CreateWidthsAttr([0.1])


def _display(color: Gf.Vec3f) -> Edit:
    return lambda place: UsdGeom.Gprim(place.prim).CreateDisplayColorAttr([color])


PRIM_FAULTS = (
    row("time.body", "structure.animation", bodies, _drift),
    row("time.visual", "structure.animation reader.refuses", _visuals, _drift),
    row("time.visibility", "structure.animation", _visuals, _blink),
    *table(
        "value",
        _ANY_VALUE,
        _visuals,
        {"orient": _turn_by_zero, "color": _display(Gf.Vec3f(_NAN, 0.0, 0.0))},
    ),
    row("value.points", _ANY_VALUE, _visual_meshes, _lose_point),
    row(
        "scene.glow",
        "structure.scene",
        _visual_meshes,
        lambda place: UsdLux.LightAPI.Apply(place.prim),
    ),
    *table("scene", "visual.shapes", bodies, {"points": _points, "curves": _curves}),
)

# Appearance. A place is a visual, or a part of one, with a preview surface of its own.


def _painted(good: Robot) -> Iterator[Place]:
    """Yield the parts of visuals with a stated appearance, without small ones."""
    decided: dict[str, bool] = {}
    for shape in good.spec.shapes:
        if shape.role is Role.VISUAL:
            stated = bool(shape.appearances) and not any(look.problem for look in shape.appearances)
            decided[shape.link] = decided.get(shape.link, True) and stated
    for visual in _visuals(good):
        if not decided.get(urdf_name(visual.prim.GetParent())):
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


def _image(place: Place, name: str = "diffuseColor") -> UsdShade.Shader | None:
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


_colored = where(_painted, lambda place: _constant(place, "diffuseColor") is not None)
_textured = where(_painted, _image)
_translucent = where(_painted, lambda place: (_constant(place, "opacity") or 1.0) < 1.0)


def _large_images(good: Robot) -> Iterator[Place]:
    """Yield textured parts; of those with one appearance, compared together, large ones."""
    parts = list(_painted(good))
    looks = [(part.mesh, _appearance(part)) for part in parts]
    for part, look in zip(parts, looks, strict=True):
        alike = [one.share for one, other in zip(parts, looks, strict=True) if other == look]
        if _image(part) and part.share >= max(alike) / 2:
            yield part


def _input(name: str, kind: Sdf.ValueTypeName, value: object, shader: str = "surface") -> Edit:
    """Set an input of the surface or of the image of its colour, and disconnect it."""

    def edit(place: Place) -> None:
        node = _surface(place) if shader == "surface" else _image(place)
        given = node.CreateInput(name, kind)  # type: ignore[union-attr]
        given.GetAttr().SetConnections([])
        given.Set(value)

    return edit


def _encode(place: Place) -> None:
    """Leave a colour in sRGB; components near 0 or 1 are equal in both."""
    color = np.array(_constant(place, "diffuseColor"), np.float64)
    if np.minimum(color, 1 - color).max() > 5e-3:
        encoded = (1.055 * color ** (1 / 2.4) - 0.055).tolist()
        _surface(place).GetInput("diffuseColor").Set(Gf.Vec3f(*encoded))


def _tint(place: Place) -> None:
    red, green, blue = _constant(place, "diffuseColor")
    step = place.size if red < 1 - place.size else -place.size
    _surface(place).GetInput("diffuseColor").Set(Gf.Vec3f(red + step, green, blue))


def _unbind(place: Place) -> None:
    # A part may inherit what its mesh is bound to.
    inherits = place.path != place.mesh and UsdShade.MaterialBindingAPI(_mesh(place))
    if not (inherits and inherits.ComputeBoundMaterial()[0]):
        UsdShade.MaterialBindingAPI(place.prim).UnbindAllBindings()


def _invert_opacity(place: Place) -> None:
    opacity = _constant(place, "opacity")
    if opacity is not None and abs(opacity - 0.5) > 5e-3:
        _surface(place).GetInput("opacity").Set(1.0 - opacity)


def _retexture(place: Place) -> None:
    file = place.robot.stage.GetRootLayer().realPath
    for attribute in _image(place).GetInput("file").GetValueProducingAttributes():  # type: ignore[union-attr]
        attribute.Set(Sdf.AssetPath(file))


def _whiten(place: Place) -> None:
    scale = _image(place).GetInput("scale")  # type: ignore[union-attr]
    if scale and min(tuple(scale.Get())[:3]) < 1 - 5e-3:
        scale.Set(Gf.Vec4f(1.0))


def _next_part(place: Place) -> Place | None:
    """Return the part after a part of a mesh, if it looks different."""
    for part, other in pairwise(_painted(place.robot)):
        if part.path == place.path and other.mesh == part.mesh:
            return other if _appearance(other) != _appearance(part) else None
    return None


def _bind_next(place: Place) -> None:
    if other := _next_part(place):
        bind(place, _material(other).GetPath())


def _exchange_faces(place: Place) -> None:
    if other := _next_part(place):
        subsets = [UsdGeom.Subset(place.stage.GetPrimAtPath(one.path)) for one in (place, other)]
        faces = [subset.GetIndicesAttr().Get() for subset in subsets]
        for subset, indices in zip(subsets, reversed(faces), strict=True):
            subset.GetIndicesAttr().Set(indices)


def _specular(place: Place) -> None:
    """Define a specular colour, unless the material does."""
    link = urdf_name(_mesh(place).GetParent())
    looks = [
        look for one in place.robot.spec.shapes if one.link == link for look in one.appearances
    ]
    if not any("specularColor" in look.unread for look in looks):
        _surface(place).CreateInput("useSpecularWorkflow", _TYPES.Int).Set(1)
        _surface(place).CreateInput("specularColor", _TYPES.Color3f).Set((1.0, 0.0, 0.0))


def _bind_red(purpose: str = UsdShade.Tokens.allPurpose) -> Edit:
    def edit(place: Place) -> None:
        red_material(place.stage, place.extra)
        bind(place, place.extra, purpose)

    return edit


def _overrule(place: Place) -> None:
    """Bind a red material to the robot, stronger than those of its visuals."""
    parts = _painted(place.robot)
    if any(_constant(part, "diffuseColor") or _image(part) for part in parts):
        binding = UsdShade.MaterialBindingAPI.Apply(place.prim)
        stronger = UsdShade.Tokens.strongerThanDescendants
        binding.Bind(red_material(place.stage, place.extra), bindingStrength=stronger)


def _in_context(context: str, node: str, **inputs: tuple[Sdf.ValueTypeName, object]) -> Edit:
    """Give a material another surface in one render context."""

    def edit(place: Place) -> None:
        material = _material(place)
        path = material.GetPath().AppendChild(STRANGER)
        shader = UsdShade.Shader.Define(place.stage, path)
        shader.CreateIdAttr(node)
        for name, (kind, value) in inputs.items():
            shader.CreateInput(name, kind).Set(value)
        output = shader.CreateOutput("surface", _TYPES.Token)
        material.CreateSurfaceOutput(context).ConnectToSource(output)

    return edit


def _plain(good: Robot) -> Iterator[Place]:
    """Yield visuals for which neither URDF nor mesh states a look."""
    plain: dict[str, bool] = {}
    for shape in good.spec.shapes:
        if shape.role is Role.VISUAL:
            bare = bool(shape.appearances) and not any(
                look.color or look.texture or look.problem or look.unread
                for look in shape.appearances
            )
            plain[shape.link] = plain.get(shape.link, True) and bare
    return (place for place in _visuals(good) if plain.get(urdf_name(place.prim.GetParent())))


_OPEN_PBR, _STANDARD = "ND_open_pbr_surface_surfaceshader", "ND_standard_surface_surfaceshader"
_UNSEEN = (_TYPES.Float, 0.37)

APPEARANCE_FAULTS = (
    *table("look", "visual.colour", _colored, {"encoded": _encode, "unbound": _unbind}),
    row("look.tinted", "visual.colour", _colored, _tint, tolerance=Tolerance().color),
    *table(
        "look",
        "visual.colour visual.opacity visual.texture visual.material",
        _painted,
        {"exchanged": _bind_next, "misplaced": _exchange_faces},
    ),
    row("look.opaque", "visual.opacity", _translucent, _input("opacity", _TYPES.Float, 1.0)),
    row("look.transparent", "visual.opacity", _painted, _invert_opacity),
    row(
        "look.unmasked",
        "visual.opacity",
        where(_painted, lambda place: _image(place, "opacity")),
        _input("opacity", _TYPES.Float, 1.0),
    ),
    row("look.unfactored", "visual.colour", _textured, _whiten),
    *table(
        "look",
        "visual.texture",
        _textured,
        {
            "untextured": _input("diffuseColor", _TYPES.Color3f, Gf.Vec3f(0.5)),
            "retextured": _retexture,
        },
    ),
    *table(
        "look",
        "visual.material",
        _painted,
        {
            "glowing": _input("emissiveColor", _TYPES.Color3f, Gf.Vec3f(0.5, 0, 0)),
            "metal": _input("metallic", _TYPES.Float, 1.0),
            "clearcoat": _input("clearcoat", _TYPES.Float, 1.0),
            "occluded": _input("occlusion", _TYPES.Float, 0.1),
            "displaced": _input("displacement", _TYPES.Float, 0.5),
            "specular": _specular,
            "full": _bind_red(UsdShade.Tokens.full),
            "preview": _bind_red(UsdShade.Tokens.preview),
            "storm": _in_context("glslfx", "UsdPreviewSurface", diffuseColor=(_TYPES.Color3f, RED)),
            "storm-clear": _in_context("glslfx", "UsdPreviewSurface", opacity=_UNSEEN),
            "materialx-metal": _in_context("mtlx", _OPEN_PBR, base_metalness=_UNSEEN),
            "materialx-clear": _in_context("mtlx", _OPEN_PBR, geometry_opacity=_UNSEEN),
            "materialx-light": _in_context(
                "mtlx",
                _STANDARD,
                emission=(_TYPES.Float, 1.0),
                emission_color=(_TYPES.Color3f, RED),
            ),
        },
    ),
    row(
        "look.cut-out",
        "visual.material",
        _translucent,
        _input("opacityThreshold", _TYPES.Float, 0.99),
    ),
    row(
        "look.displayed",
        "visual.material",
        where(_colored, lambda place: place.path == place.mesh),
        _display(RED),
    ),
    row(
        "look.misnamed",
        "visual.colour visual.texture",
        _painted,
        lambda place: _surface(place).GetIdAttr().Set("UsdPreviewSurfac"),
    ),
    row("look.overruled", "visual.colour visual.texture", robot, _overrule),
    row("look.invented", "visual.colour", _plain, _bind_red()),
    row(
        "time.color",
        "structure.animation",
        _colored,
        lambda place: _surface(place).GetInput("diffuseColor").GetAttr().Set(RED, 12.0),
    ),
)

# Images and their coordinates.


def _st(place: Place) -> UsdShade.Input:
    return _image(place).GetInput("st")  # type: ignore[union-attr]


def _misread_coordinates(place: Place) -> None:
    """Read texture coordinates from a primvar that does not exist."""
    for source in _st(place).GetValueProducingAttributes():
        UsdShade.Shader(source.GetPrim()).CreateInput("varname", _TYPES.String).Set("map1")


def _turn_image(place: Place) -> None:
    """Turn texture coordinates by a node."""
    node = UsdShade.Shader.Define(place.stage, f"{_image(place).GetPath()}_{STRANGER}")  # type: ignore[union-attr]
    node.CreateIdAttr("UsdTransform2d")
    node.CreateInput("in", _TYPES.Float2).ConnectToSource(_st(place).GetConnectedSources()[0][0])
    node.CreateInput("rotation", _TYPES.Float).Set(90.0)
    _st(place).ConnectToSource(node.CreateOutput("result", _TYPES.Float2))


def _take_red(place: Place) -> None:
    """Connect the colour to one component of the image."""
    output = _image(place).CreateOutput("r", _TYPES.Float)  # type: ignore[union-attr]
    _surface(place).GetInput("diffuseColor").ConnectToSource(output)


def _coordinates(wrong: Callable[[_Array], _Array]) -> Edit:
    def edit(place: Place) -> None:
        primvar = UsdGeom.PrimvarsAPI(_mesh(place)).GetPrimvar("st")
        values = wrong(np.array(primvar.Get(), np.float64))
        primvar.Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(values, np.float32)))

    return edit


def _leaves_image(place: Place) -> bool:
    primvar = UsdGeom.PrimvarsAPI(_mesh(place)).GetPrimvar("st")
    values = np.array(primvar.ComputeFlattened(), np.float64)
    return bool(values.min() < 0.0 or values.max() > 1.0)


TEXTURE_FAULTS = (
    *table(
        "texture",
        "visual.material",
        _large_images,
        {
            "raw": _input("sourceColorSpace", _TYPES.Token, "raw", "image"),
            "bias": _input("bias", _TYPES.Float4, Gf.Vec4f(0.2, 0.2, 0.2, 0.0), "image"),
            "red": _take_red,
        },
    ),
    row(
        "texture.clamped",
        "visual.material",
        where(_textured, _leaves_image),
        both(
            _input("wrapS", _TYPES.Token, "clamp", "image"),
            _input("wrapT", _TYPES.Token, "clamp", "image"),
        ),
    ),
    *table(
        "texture",
        "visual.mapping",
        _large_images,
        {
            "misnamed": _misread_coordinates,
            "disconnected": lambda place: _st(place).GetAttr().SetConnections([]),
            "placed": _turn_image,
        },
    ),
    *table(
        "texture",
        "visual.mapping",
        _textured,
        {
            "flipped": _coordinates(lambda st: st * (1, -1) + (0, 1)),
            "doubled": _coordinates(lambda st: st * 2.0),
            "swapped": _coordinates(lambda st: st[:, ::-1]),
            "count": _coordinates(lambda st: st[:-1]),
            "unmapped": lambda place: _mesh(place).GetAttribute("primvars:st").Block(),
            "grouped": lambda place: (
                UsdGeom.PrimvarsAPI(_mesh(place)).GetPrimvar("st").SetElementSize(2)
            ),
        },
    ),
)

VISUAL_FAULTS = (*SHAPE_FAULTS, *MESH_FAULTS, *PRIM_FAULTS, *APPEARANCE_FAULTS, *TEXTURE_FAULTS)
