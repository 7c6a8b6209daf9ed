"""Faults in the extent, the faces and the normals of visuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

from urdf_usd.conformance.mutation.fault import EXTRA_PRIM, Fault
from urdf_usd.conformance.mutation.shapes.shape_faults import (
    ShapeSite,
    is_any,
    is_mesh,
    of_shapes,
)
from urdf_usd.conformance.observation.shapes import Role

_GEOMETRY = ("visual.geometry",)
_NORMALS = ("visual.normals",)
_TYPES = Sdf.ValueTypeNames
_TOKENS = UsdGeom.Tokens
_NAN = math.nan
# Mean of normals that have no common direction.
_SCATTERED = 0.4
# Mean cosine of the angle between the normals of points and faces of a smooth mesh.
_SMOOTH = 0.9997


def _is_primitive(site: ShapeSite) -> bool:
    return not is_mesh(site)


def _is_round(site: ShapeSite) -> bool:
    """Whether the normals of a mesh have no common direction."""
    if not is_mesh(site):
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


def _author_normals(prim: Usd.Prim, values: list[Gf.Vec3f], interpolation: str) -> None:
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


def visual_fault(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[Usd.Prim], None],
    applies: Callable[[ShapeSite], bool] = is_any,
) -> Fault:
    """Return the fault of an edit of visuals."""
    return Fault(identifier, title, aims, partial(of_shapes, edit, Role.VISUAL, applies))


MESH_FAULTS = (
    visual_fault("geometry.extent", "extent too small", _GEOMETRY, _shrink_extent),
    visual_fault("geometry.far-extent", "extent too large", _GEOMETRY, _widen_extent),
    visual_fault("geometry.hole", "hole in a mesh", _GEOMETRY, _open, is_mesh),
    visual_fault(
        "geometry.handedness",
        "primitive left-handed",
        _GEOMETRY,
        _left_handed,
        _is_primitive,
    ),
    visual_fault(
        "geometry.mesh-handedness",
        "mesh left-handed",
        ("visual.volume",),
        _left_handed,
        is_mesh,
    ),
    visual_fault("geometry.velocities", "velocities of points", _GEOMETRY, _blur, is_mesh),
    visual_fault("geometry.overlap", "face in two subsets", _GEOMETRY, _overlap, is_mesh),
    visual_fault("normals.flipped", "normals flipped", _NORMALS, _flip_normals, is_mesh),
    visual_fault("normals.constant", "normals all up", _NORMALS, _flatten_normals, _is_round),
    visual_fault("normals.count", "one normal too many", _NORMALS, _miscount_normals, is_mesh),
    visual_fault(
        "normals.interpolation",
        "normals of faces as of points",
        _NORMALS,
        _misname_interpolation,
        is_mesh,
    ),
    visual_fault("normals.lost", "normals lost", _NORMALS, _lose_normals, _has_normals),
    visual_fault("normals.nan", "NaN in normals", _NORMALS, _break_normals, is_mesh),
)
