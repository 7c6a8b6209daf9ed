"""Faults in values over time, unusable values, prims of no robot, and normals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Ts, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

from urdf_usd.conformance.mutation.fault import (
    EXTRA_PRIM,
    REFUSED,
    Fault,
    Seed,
    StageEdit,
    on_prim,
    set_value,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.mutation.shape_faults import ShapeSite, shape_sites
from urdf_usd.conformance.observation.shapes import Role

_TIME = ("structure.animation",)
_VALUES = ("structure.values", REFUSED)
_SCENE = ("structure.scene",)
_SHAPES = ("visual.shapes",)
_GEOMETRY = ("visual.geometry",)
_NORMALS = ("visual.normals",)
_TYPES = Sdf.ValueTypeNames
_TOKENS = UsdGeom.Tokens
_NAN = math.nan
# Mean of normals that have no common direction.
_SCATTERED = 0.4
# Mean cosine of the angle between the normals of points and faces of a smooth mesh.
_SMOOTH = 0.9997

PrimEdit = Callable[[Usd.Prim], None]


def _of_bodies(edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    for body in asset.bodies:
        yield Seed(body.subject, on_prim(body.path, edit))


def _of_joints(edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        yield Seed(site.subject, on_prim(site.path, edit))


def _of_visuals(
    edit: PrimEdit, applies: Callable[[ShapeSite], bool], asset: GoodAsset
) -> Iterator[Seed]:
    for site in shape_sites(asset, Role.VISUAL):
        if applies(site):
            yield Seed(site.subject, on_prim(site.path, edit))


def _any(_: ShapeSite) -> bool:
    return True


def _is_mesh(site: ShapeSite) -> bool:
    return bool(site.prim.IsA(UsdGeom.Mesh))


def _is_primitive(site: ShapeSite) -> bool:
    return not _is_mesh(site)


def _is_round(site: ShapeSite) -> bool:
    """Whether the normals of a mesh have no common direction."""
    if not _is_mesh(site):
        return False
    mean = np.mean([np.array(normal) for normal in _face_normals(site.prim)], axis=0)
    return bool(np.linalg.norm(mean) < _SCATTERED)


def _has_normals(site: ShapeSite) -> bool:
    """Whether a mesh has normals that differ from those of its faces."""
    primvar = UsdGeom.PrimvarsAPI(site.prim).GetPrimvar("normals")
    if not primvar:
        return False
    own = np.array(primvar.ComputeFlattened(), np.float64)
    counts = UsdGeom.Mesh(site.prim).GetFaceVertexCountsAttr().Get()
    if primvar.GetInterpolation() == _TOKENS.vertex:
        own = own[np.array(UsdGeom.Mesh(site.prim).GetFaceVertexIndicesAttr().Get())]
    areas = _face_areas(site.prim)
    length = np.linalg.norm(own, axis=1, keepdims=True)
    unit = own / np.where(length, length, 1.0)
    shares = np.repeat(1.0 / np.array(counts), counts)
    facing = (unit * np.repeat(areas, counts, axis=0)).sum(axis=1) @ shares
    return bool(facing < _SMOOTH * np.linalg.norm(areas, axis=1).sum())


def _once(edit: Callable[[str, Usd.Stage], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the stage, given a free path below the default prim."""
    if asset.bodies:
        path = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed("robot", lambda stage, _: edit(path, stage))


def _in_link(
    edit: Callable[[str, Usd.Stage], None], asset: GoodAsset
) -> Iterator[Seed]:
    """Edit the stage, given a free path below a body."""
    for body in asset.bodies:
        yield Seed(body.subject, _at(f"{body.path}/{EXTRA_PRIM}", edit))


def _at(path: str, edit: Callable[[str, Usd.Stage], None]) -> StageEdit:
    def apply(stage: Usd.Stage, _: float) -> None:
        edit(path, stage)

    return apply


# Values over time.


def _drift(prim: Usd.Prim) -> None:
    """Let a prim move from its place."""
    attribute = prim.GetAttribute("xformOp:translate")
    if not attribute:
        attribute = UsdGeom.Xformable(prim).AddTranslateOp().GetAttr()
    place = attribute.Get()
    if place is None:
        place = type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0)
        attribute.Set(place)
    attribute.Set(place, 0.0)
    attribute.Set(place + type(place)(0.0, 0.0, 0.5), 24.0)


def _moves_to(prim: Usd.Prim) -> None:
    """State another mass at one time."""
    mass = UsdPhysics.MassAPI(prim).GetMassAttr()
    mass.Set(2.0 * (mass.Get() or 1.0), 0.0)


def _curve(prim: Usd.Prim) -> None:
    """Let the mass follow a spline."""
    spline = Ts.Spline("float")
    for time, value in ((0.0, 1.0), (10.0, 2.0)):
        spline.SetKnot(Ts.Knot(typeName="float", time=time, value=value))
    UsdPhysics.MassAPI(prim).GetMassAttr().SetSpline(spline)


def _blink(prim: Usd.Prim) -> None:
    visibility = UsdGeom.Imageable(prim).CreateVisibilityAttr()
    visibility.Set(_TOKENS.inherited)
    visibility.Set(_TOKENS.invisible, 0.0)


def _timed_limit(prim: Usd.Prim) -> None:
    anchor = UsdPhysics.Joint(prim).CreateLocalPos1Attr()
    anchor.Set((anchor.Get() or Gf.Vec3f(0.0)) + Gf.Vec3f(0.1, 0.0, 0.0), 5.0)


# Unusable values.


def _turned_by(name: str, quaternion: Gf.Quatf) -> PrimEdit:
    def edit(prim: Usd.Prim) -> None:
        prim.CreateAttribute(name, _TYPES.Quatf, custom=False).Set(quaternion)

    return edit


def _turn_by_zero(prim: Usd.Prim) -> None:
    """Add an orientation of zero to the transform of a shape."""
    attribute = prim.GetAttribute("xformOp:orient")
    if not attribute:
        op = UsdGeom.Xformable(prim).AddOrientOp(UsdGeom.XformOp.PrecisionFloat)
        attribute = op.GetAttr()
    attribute.Set(type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0, 0.0))


def _lose_point(prim: Usd.Prim) -> None:
    points = UsdGeom.Mesh(prim).GetPointsAttr()
    values = list(points.Get())
    values[0] = Gf.Vec3f(_NAN, 0.0, 0.0)
    points.Set(values)


def _show_nan(prim: Usd.Prim) -> None:
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([Gf.Vec3f(_NAN, 0.0, 0.0)])


# Prims of no robot.


def _light(path: str, stage: Usd.Stage) -> None:
    UsdLux.DistantLight.Define(stage, path).CreateIntensityAttr(500.0)


def _glow(prim: Usd.Prim) -> None:
    UsdLux.LightAPI.Apply(prim)


def _camera(path: str, stage: Usd.Stage) -> None:
    UsdGeom.Camera.Define(stage, path)


def _instances(path: str, stage: Usd.Stage) -> None:
    instancer = UsdGeom.PointInstancer.Define(stage, path)
    cube = UsdGeom.Cube.Define(stage, f"{path}/cube")
    instancer.CreatePrototypesRel().SetTargets([cube.GetPath()])
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


def _points(path: str, stage: Usd.Stage) -> None:
    cloud = UsdGeom.Points.Define(stage, path)
    cloud.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    cloud.CreateWidthsAttr([0.1, 0.1])


def _curves(path: str, stage: Usd.Stage) -> None:
    curves = UsdGeom.BasisCurves.Define(stage, path)
    curves.CreateTypeAttr(_TOKENS.linear)
    curves.CreateCurveVertexCountsAttr([2])
    curves.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    curves.CreateWidthsAttr([0.1])


# Geometry.


def _shrink_extent(prim: Usd.Prim) -> None:
    low, high = UsdGeom.Boundable(prim).GetExtentAttr().Get()
    UsdGeom.Boundable(prim).CreateExtentAttr([low * 0.1, high * 0.1])


def _widen_extent(prim: Usd.Prim) -> None:
    low, high = UsdGeom.Boundable(prim).GetExtentAttr().Get()
    UsdGeom.Boundable(prim).CreateExtentAttr([low * 50.0, high * 50.0])


def _open(prim: Usd.Prim) -> None:
    UsdGeom.Mesh(prim).CreateHoleIndicesAttr([0])


def _left_handed(prim: Usd.Prim) -> None:
    UsdGeom.Gprim(prim).CreateOrientationAttr(_TOKENS.leftHanded)


def _show_cards(path: str, stage: Usd.Stage) -> None:
    del path
    api = UsdGeom.ModelAPI.Apply(stage.GetDefaultPrim())
    api.CreateModelDrawModeAttr(_TOKENS.bounds)
    api.CreateModelApplyDrawModeAttr(True)


def _blur(prim: Usd.Prim) -> None:
    mesh = UsdGeom.Mesh(prim)
    count = len(mesh.GetPointsAttr().Get())
    mesh.CreateVelocitiesAttr([Gf.Vec3f(1.0, 0.0, 0.0)] * count)


def _overlap(prim: Usd.Prim) -> None:
    """Put the first face in two material subsets."""
    for name in ("one", "other"):
        subset = UsdGeom.Subset.CreateGeomSubset(
            UsdGeom.Imageable(prim),
            f"{EXTRA_PRIM}_{name}",
            _TOKENS.face,
            [0],
            UsdShade.Tokens.materialBind,
        )
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim())


# Normals.


def _face_areas(prim: Usd.Prim) -> NDArray[np.float64]:
    """Return the (F, 3) area vectors of faces, by Newell's method."""
    mesh = UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get(), np.float64)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get())
    starts = np.cumsum(counts) - counts
    following = np.arange(1, len(corners) + 1)
    following[starts + counts - 1] = starts
    placed = points[corners]
    crossed = np.cross(placed, placed[following])
    summed: NDArray[np.float64] = np.add.reduceat(crossed, starts) / 2.0
    return summed


def _face_normals(prim: Usd.Prim) -> list[Gf.Vec3f]:
    """Return a unit normal per face."""
    areas = _face_areas(prim)
    size = np.linalg.norm(areas, axis=1, keepdims=True)
    units = areas / np.where(size, size, 1.0)
    return [Gf.Vec3f(*unit) for unit in units.tolist()]


def _author_normals(
    prim: Usd.Prim, values: list[Gf.Vec3f], interpolation: str
) -> None:
    primvar = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(
        "normals", _TYPES.Normal3fArray, interpolation
    )
    primvar.Set(values)
    if primvar.IsIndexed():
        primvar.BlockIndices()


def _flip_normals(prim: Usd.Prim) -> None:
    values = [-normal for normal in _face_normals(prim)]
    _author_normals(prim, values, _TOKENS.uniform)


def _flatten_normals(prim: Usd.Prim) -> None:
    """Let all normals point up."""
    count = len(UsdGeom.Mesh(prim).GetPointsAttr().Get())
    _author_normals(prim, [Gf.Vec3f(0.0, 0.0, 1.0)] * count, _TOKENS.vertex)


def _miscount_normals(prim: Usd.Prim) -> None:
    values = _face_normals(prim)
    _author_normals(prim, [*values, values[0]], _TOKENS.uniform)


def _misname_interpolation(prim: Usd.Prim) -> None:
    """State the normals of faces as those of points."""
    values = _face_normals(prim)
    if len(values) == len(UsdGeom.Mesh(prim).GetPointsAttr().Get()):
        values.append(values[0])
    _author_normals(prim, values, _TOKENS.vertex)


def _lose_normals(prim: Usd.Prim) -> None:
    prim.GetAttribute("primvars:normals").Block()


def _break_normals(prim: Usd.Prim) -> None:
    values = [Gf.Vec3f(_NAN, 0.0, 0.0)] * len(_face_normals(prim))
    _author_normals(prim, values, _TOKENS.uniform)


def _body(
    identifier: str, title: str, aims: tuple[str, ...], edit: PrimEdit
) -> Fault:
    return Fault(identifier, title, aims, partial(_of_bodies, edit))


def _joint(
    identifier: str, title: str, aims: tuple[str, ...], edit: PrimEdit
) -> Fault:
    return Fault(identifier, title, aims, partial(_of_joints, edit))


def _visual(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: PrimEdit,
    applies: Callable[[ShapeSite], bool] = _any,
) -> Fault:
    return Fault(identifier, title, aims, partial(_of_visuals, edit, applies))


def _extra(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[str, Usd.Stage], None],
) -> Fault:
    return Fault(identifier, title, aims, partial(_once, edit))


AUTHORED_FAULTS = (
    _body("time.body", "body moved at time samples", _TIME, _drift),
    _visual("time.visual", "visual moved at time samples", (*_TIME, REFUSED), _drift),
    _body("time.mass", "mass at a time sample", _TIME, _moves_to),
    _body("time.spline", "mass as a spline", (*_TIME, REFUSED), _curve),
    _joint("time.anchor", "joint frame at a time sample", (*_TIME, REFUSED), _timed_limit),
    _visual("time.visibility", "visual hidden at a time sample", _TIME, _blink),
    _body(
        "value.center",
        "NaN in a centre of mass",
        _VALUES,
        set_value("physics:centerOfMass", Gf.Vec3f(0.0, _NAN, 0.0)),
    ),
    _body(
        "value.mass",
        "infinite mass",
        _VALUES,
        set_value("physics:mass", math.inf),
    ),
    _body(
        "value.inertia",
        "NaN in an inertia",
        _VALUES,
        set_value("physics:diagonalInertia", Gf.Vec3f(_NAN, 1.0, 1.0)),
    ),
    _joint(
        "value.anchor",
        "NaN in a joint frame",
        _VALUES,
        set_value("physics:localPos0", Gf.Vec3f(_NAN, 0.0, 0.0)),
    ),
    _joint(
        "value.rotation",
        "zero quaternion in a joint frame",
        _VALUES,
        _turned_by("physics:localRot0", Gf.Quatf(0.0, 0.0, 0.0, 0.0)),
    ),
    _joint(
        "value.length",
        "quaternion of length two in a joint frame",
        _VALUES,
        _turned_by("physics:localRot1", Gf.Quatf(0.0, 2.0, 0.0, 0.0)),
    ),
    _body(
        "value.axes",
        "principal axes as a quaternion of length two",
        _VALUES,
        _turned_by("physics:principalAxes", Gf.Quatf(2.0, 0.0, 0.0, 0.0)),
    ),
    _visual("value.orient", "zero quaternion of a visual", _VALUES, _turn_by_zero),
    _visual(
        "value.points",
        "NaN in points of a visual",
        (*_VALUES, *_SHAPES),
        _lose_point,
        _is_mesh,
    ),
    _visual("value.color", "NaN in a displayed colour", _VALUES, _show_nan),
    _extra("scene.light", "light added", _SCENE, _light),
    _visual("scene.glow", "visual made a light", _SCENE, _glow, _is_mesh),
    _extra("scene.camera", "camera added", _SCENE, _camera),
    _extra("scene.instances", "instances added", _SCENE, _instances),
    Fault("scene.points", "points added", _SHAPES, partial(_in_link, _points)),
    Fault("scene.curves", "curves added", _SHAPES, partial(_in_link, _curves)),
    _visual("geometry.extent", "extent too small", _GEOMETRY, _shrink_extent),
    _visual("geometry.far-extent", "extent too large", _GEOMETRY, _widen_extent),
    _visual("geometry.hole", "hole in a mesh", _GEOMETRY, _open, _is_mesh),
    _visual(
        "geometry.handedness",
        "primitive left-handed",
        _GEOMETRY,
        _left_handed,
        _is_primitive,
    ),
    _visual(
        "geometry.mesh-handedness",
        "mesh left-handed",
        ("visual.volume",),
        _left_handed,
        _is_mesh,
    ),
    _visual("geometry.velocities", "velocities of points", _GEOMETRY, _blur, _is_mesh),
    _visual("geometry.overlap", "face in two subsets", _GEOMETRY, _overlap, _is_mesh),
    _extra("geometry.cards", "robot drawn as its bounds", _GEOMETRY, _show_cards),
    _visual("normals.flipped", "normals flipped", _NORMALS, _flip_normals, _is_mesh),
    _visual("normals.constant", "normals all up", _NORMALS, _flatten_normals, _is_round),
    _visual("normals.count", "one normal too many", _NORMALS, _miscount_normals, _is_mesh),
    _visual(
        "normals.interpolation",
        "normals of faces as of points",
        _NORMALS,
        _misname_interpolation,
        _is_mesh,
    ),
    _visual("normals.lost", "normals lost", _NORMALS, _lose_normals, _has_normals),
    _visual("normals.nan", "NaN in normals", _NORMALS, _break_normals, _is_mesh),
)
