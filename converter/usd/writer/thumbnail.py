"""A picture of a stage, as SimReady requires next to an asset (SR.002)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from pxr import Gf, Usd, UsdGeom, UsdShade
from scipy.spatial import ConvexHull

from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Sphere
from urdf_usd.converter.robot.solids import fan_triangles, outline

Array: TypeAlias = NDArray[np.float64]

SIZE = 256
# Drawn larger and reduced, so that edges are smooth.
_OVERSAMPLING = 2
# Axes of the picture in the world: right, up, and towards the camera.
_AXES = np.array([[0.6, 0.8, 0.0], [-0.29712, 0.22284, 0.92848], [0.74278, -0.55709, 0.37139]])
_LIGHT = np.array([0.53452, -0.26726, 0.80178])
# Longest extent of a triangle along an axis of the picture [pixels].
_LONGEST = 24.0
_GREY = (0.5, 0.5, 0.5)


def write_thumbnail(stage: Usd.Stage, file: Path) -> None:
    """Write a picture of the visible prims of a stage.

    It is an orthographic projection without textures, on white, of triangles from the
    farthest to the nearest.
    """
    width = SIZE * _OVERSAMPLING
    image = Image.new("RGB", (width, width), "white")
    if surfaces := list(_surfaces(stage)):
        # Sums, because the last digits of matrix products depend on the machine.
        seen = [sum(points[..., [i]] * _AXES[:, i] for i in range(3)) for points, _ in surfaces]
        triangles, colors = np.concatenate(seen), np.concatenate([c for _, c in surfaces])
        lower, upper = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
        scale = 0.9 * width / (float((upper - lower)[:2].max()) or 1.0)
        triangles = (triangles - (lower + upper) / 2) * (scale, -scale, scale) + width / 2
        # The order of small triangles is that of their surfaces.
        while (is_long := np.ptp(triangles, axis=1).max(axis=1) > _LONGEST).any():
            a, b, c = triangles[is_long].swapaxes(0, 1)
            d, e, f = (a + b) / 2, (b + c) / 2, (c + a) / 2
            parts = np.stack([a, d, f, d, b, e, f, e, c, d, e, f], axis=1).reshape(-1, 3, 3)
            triangles = np.concatenate([triangles[~is_long], parts])
            colors = np.concatenate([colors[~is_long], np.repeat(colors[is_long], 4, axis=0)])
        order = np.argsort(triangles[..., 2].sum(axis=1), kind="stable")
        corners = triangles[order, :, :2].reshape(-1, 6).tolist()
        draw = ImageDraw.Draw(image)
        for polygon, color in zip(corners, colors[order].tolist(), strict=True):
            draw.polygon(polygon, fill=tuple(color))
    file.parent.mkdir(parents=True)
    image.reduce(_OVERSAMPLING).save(file, "PNG")


def _surfaces(stage: Usd.Stage) -> Iterator[tuple[Array, NDArray[np.uint8]]]:
    """Yield the triangles (N, 3, 3) of each visible shape in the world, and their sRGB colours."""
    cache = UsdGeom.XformCache()
    for prim in stage.Traverse():
        image = UsdGeom.Gprim(prim)
        if not image or image.ComputePurpose() not in {"default", "render"}:
            continue
        triangles = _triangles(prim)
        if not len(triangles):
            continue
        matrix = np.array(cache.GetLocalToWorldTransform(prim))
        placed = sum(triangles[..., [i]] * matrix[i, :3] for i in range(3)) + matrix[3, :3]
        a, b, c = np.swapaxes(placed, 0, 1)
        normals = np.cross(b - a, c - a)
        lengths = np.sqrt((normals * normals).sum(axis=1))
        # Lit from one direction, on both sides.
        cosines = np.abs((normals * _LIGHT).sum(axis=1)) / np.where(lengths > 0, lengths, 1)
        lit = np.clip(_color(prim) * (0.45 + 0.55 * cosines)[:, None], 0, 1) ** (1 / 2.2)
        yield placed, np.round(255 * lit).astype(np.uint8)


def _color(prim: Usd.Prim) -> Array:
    """Return the linear colour of a shape, or of its first part."""
    binding = UsdShade.MaterialBindingAPI(prim)
    material, _ = binding.ComputeBoundMaterial()
    if not material and (parts := binding.GetMaterialBindSubsets()):
        material, _ = UsdShade.MaterialBindingAPI(parts[0].GetPrim()).ComputeBoundMaterial()
    shader, _, _ = material.ComputeSurfaceSource() if material else (None, "", "")
    color = shader.GetInput("diffuseColor").Get() if shader else None
    return np.array(color if isinstance(color, Gf.Vec3f) else _GREY, np.float64)


def _triangles(prim: Usd.Prim) -> Array:
    """Return the triangles of a shape in its own frame."""
    names = "points", "faceVertexCounts", "faceVertexIndices", "size", "radius", "height"
    values = {name: prim.GetAttribute(name).Get() for name in names if prim.HasAttribute(name)}
    match prim.GetTypeName():
        case "Mesh":
            points, counts, indices = (np.array(values[name] or ()) for name in names[:3])
            fans = fan_triangles(counts.astype(np.int64), indices.astype(np.int64))
            return np.asarray(points.reshape(-1, 3)[fans], np.float64)
        case "Cube":
            corners = outline(Box((values["size"],) * 3))
        case "Sphere":
            corners = outline(Sphere(values["radius"]))
        case "Cylinder":
            corners = outline(Cylinder(values["radius"], values["height"]))
        case "Capsule":
            corners = outline(Capsule(values["radius"], values["height"]))
        case _:
            return np.empty((0, 3, 3))
    return np.asarray(corners[ConvexHull(corners).simplices])
