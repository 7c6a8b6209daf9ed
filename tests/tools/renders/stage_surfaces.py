"""Visible triangles of a stage with colours and images, without converter code.

Materials are read as UsdPreviewSurface, limited to the diffuse colour and its image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from pxr import Usd, UsdGeom, UsdShade

Array = np.ndarray

# Default colour, as in PyBullet and most viewers.
_UNSTATED = (1.0, 1.0, 1.0)
# UsdPreviewSurface's default.
_GREY = (0.18, 0.18, 0.18)
_SEGMENTS = 48
_RINGS = 24


@dataclass(frozen=True)
class Surface:
    """Triangles of one material, with separate points per corner.

    Attributes:
        points: (3 T, 3) positions [m].
        normals: (3 T, 3) unit vectors.
        coordinates: (3 T, 2) texture coordinates, with (0, 0) at the lower left corner;
            None without an image.
        colors: (3 T, 3) linear colours of corners, which replace ``color``; or None.
        color: Linear colour, and factor of the image.
        image: (height, width, 3) sRGB bytes.
        wrap: Wrap mode.
    """

    points: Array
    normals: Array
    coordinates: Array | None
    colors: Array | None
    color: tuple[float, float, float]
    image: Array | None = None
    wrap: str = "repeat"


@dataclass(frozen=True)
class _Faces:
    """Triangulation of a gprim: face of each triangle, index of each corner."""

    points: Array
    faces: Array
    corners: Array


def stage_surfaces(file: str) -> Iterator[Surface]:
    """Yield the visible surfaces of a stage."""
    stage = Usd.Stage.Open(file)
    cache = UsdGeom.XformCache()
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Gprim):
            continue
        purpose = UsdGeom.Imageable(prim).ComputePurpose()
        if purpose not in {UsdGeom.Tokens.default_, UsdGeom.Tokens.render}:
            continue
        matrix = np.array(cache.GetLocalToWorldTransform(prim))
        for faces, owner in _parts(prim):
            yield _surface(prim, owner, faces, matrix)


def _parts(prim: Usd.Prim) -> Iterator[tuple[_Faces, Usd.Prim]]:
    """Yield the triangles of each material, and the prim that it is bound to."""
    if not prim.IsA(UsdGeom.Mesh):
        yield _primitive(prim), prim
        return
    whole = _mesh(UsdGeom.Mesh(prim))
    left = np.ones(len(whole.faces), dtype=bool)
    for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
        chosen = np.isin(whole.faces, np.array(subset.GetIndicesAttr().Get()))
        left &= ~chosen
        yield _chosen(whole, chosen), subset.GetPrim()
    if left.any():
        yield _chosen(whole, left), prim


def _chosen(whole: _Faces, triangles: Array) -> _Faces:
    corners = np.repeat(triangles, 3)
    return _Faces(whole.points[corners], whole.faces[triangles], whole.corners[corners])


def _mesh(mesh: UsdGeom.Mesh) -> _Faces:
    points = np.array(mesh.GetPointsAttr().Get(), dtype=float)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get())
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    starts = np.cumsum(counts) - counts
    rows, faces = [], []
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        for number in range(1, count - 1):
            first = starts[chosen]
            rows.append(np.stack([first, first + number, first + number + 1], axis=1))
            faces.append(chosen)
    corners = np.concatenate(rows).ravel()
    return _Faces(points[indices[corners]], np.concatenate(faces), corners)


def _surface(prim: Usd.Prim, owner: Usd.Prim, faces: _Faces, matrix: Array) -> Surface:
    points = faces.points @ matrix[:3, :3] + matrix[3, :3]
    corners = points.reshape(-1, 3, 3)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if np.linalg.det(matrix[:3, :3]) < 0:
        flat = -flat
    normals = np.repeat(flat, 3, axis=0)
    stated = _corner_values(prim, "normals", faces)
    if stated is not None:
        normals = stated @ np.linalg.inv(matrix[:3, :3]).T
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1), 0)
    look = _look(owner, prim, faces)
    return Surface(points=points, normals=normals, **look)


def _corner_values(prim: Usd.Prim, name: str, faces: _Faces) -> Array | None:
    primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar(name)
    if not primvar or not primvar.HasValue():
        return None
    values: Array = np.array(primvar.ComputeFlattened(), dtype=float)
    match primvar.GetInterpolation():
        case "faceVarying":
            chosen = faces.corners
        case "vertex" | "varying":
            indices = np.array(UsdGeom.Mesh(prim).GetFaceVertexIndicesAttr().Get())
            chosen = indices[faces.corners]
        case "uniform":
            chosen = np.repeat(faces.faces, 3)
        case _:
            chosen = np.zeros(len(faces.corners), dtype=int)
    rows: Array = values[chosen]
    return rows


def _look(owner: Usd.Prim, prim: Usd.Prim, faces: _Faces) -> dict[str, Any]:
    material, _ = UsdShade.MaterialBindingAPI(owner).ComputeBoundMaterial()
    found: dict[str, Any] = {
        "coordinates": None,
        "colors": None,
        "color": _UNSTATED,
    }
    shader = material.ComputeSurfaceSource()[0] if material else None
    if not shader:
        found["colors"] = _corner_values(prim, "displayColor", faces)
        return found
    diffuse = shader.GetInput("diffuseColor")
    sources = diffuse.GetConnectedSources()[0] if diffuse else ()
    if not sources:
        value = diffuse.Get() if diffuse else None
        found["color"] = _GREY if value is None else tuple(value)
        return found
    texture = UsdShade.Shader(sources[0].source.GetPrim())
    if texture.GetIdAttr().Get() == "UsdPrimvarReader_float3":
        name = texture.GetInput("varname").Get()
        found["colors"] = _corner_values(prim, name, faces)
        return found
    with Image.open(texture.GetInput("file").Get().resolvedPath) as image:
        found["image"] = np.asarray(image.convert("RGB"))
    found["wrap"] = texture.GetInput("wrapS").Get()
    scale = texture.GetInput("scale")
    found["color"] = tuple(scale.Get())[:3] if scale else (1.0, 1.0, 1.0)
    found["coordinates"] = _coordinates(prim, texture, faces)
    return found


def _coordinates(prim: Usd.Prim, texture: UsdShade.Shader, faces: _Faces) -> Array | None:
    (source, *_), _ = texture.GetInput("st").GetConnectedSources()
    reader = UsdShade.Shader(source.source.GetPrim())
    turn, translation = np.eye(2), np.zeros(2)
    if reader.GetIdAttr().Get() == "UsdTransform2d":
        angle = math.radians(reader.GetInput("rotation").Get())
        sine, cosine = math.sin(angle), math.cos(angle)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        turn = turn * np.array(reader.GetInput("scale").Get())
        translation = np.array(reader.GetInput("translation").Get())
        (source, *_), _ = reader.GetInput("in").GetConnectedSources()
        reader = UsdShade.Shader(source.source.GetPrim())
    st = _corner_values(prim, reader.GetInput("varname").Get(), faces)
    return None if st is None else st @ turn.T + translation


def _primitive(prim: Usd.Prim) -> _Faces:
    """Cut a primitive into triangles."""
    if prim.IsA(UsdGeom.Cube):
        size = UsdGeom.Cube(prim).GetSizeAttr().Get()
        points = _box() * size
    elif prim.IsA(UsdGeom.Sphere):
        points = _turned(_arc(0.0, UsdGeom.Sphere(prim).GetRadiusAttr().Get()))
    else:
        kind = UsdGeom.Capsule if prim.IsA(UsdGeom.Capsule) else UsdGeom.Cylinder
        shape = kind(prim)
        radius = shape.GetRadiusAttr().Get()
        half = shape.GetHeightAttr().Get() / 2
        if kind is UsdGeom.Capsule:
            profile = _arc(half, radius)
        else:
            profile = [(0, -half), (radius, -half), (radius, half), (0, half)]
        points = _turned(profile)
        axis = "XYZ".index(shape.GetAxisAttr().Get())
        points = np.roll(points, axis - 2, axis=1)
    count = len(points) // 3
    return _Faces(points, np.arange(count), np.arange(len(points)))


def _arc(half: float, radius: float) -> list[tuple[float, float]]:
    angles = np.linspace(-np.pi / 2, np.pi / 2, 2 * _RINGS)
    return [
        (radius * np.cos(angle), radius * np.sin(angle) + math.copysign(half, angle))
        for angle in angles
    ]


def _turned(profile: list[tuple[float, float]]) -> Array:
    """Turn a profile (radius, height) about the Z axis."""
    turns = np.linspace(0, 2 * np.pi, _SEGMENTS + 1)
    ring = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    rows = np.array([[[r * x, r * y, z] for x, y in ring] for r, z in profile], dtype=float)
    low, high = rows[:-1], rows[1:]
    a, b, c, d = low[:, :-1], low[:, 1:], high[:, 1:], high[:, :-1]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3)


def _box() -> Array:
    sides = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            square = np.array([[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]])
            side = np.insert(square.astype(float), axis, sign, axis=1)
            outwards = sign if axis != 1 else -sign
            sides.append(side if outwards > 0 else side[::-1])
    return np.concatenate(sides) / 2


def bounds(surfaces: list[Surface]) -> tuple[Array, Array]:
    """Return the lowest and highest corner of surfaces."""
    points = np.concatenate([surface.points for surface in surfaces])
    return points.min(axis=0), points.max(axis=0)
