"""A picture of a stage, as SimReady requires next to an asset (SR.002)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from pxr import Gf, Usd, UsdGeom, UsdShade

from urdf_usd.converter.robot.solids import fan_triangles

Array: TypeAlias = NDArray[np.float64]

SIZE = 256
# Drawn larger and reduced, so that edges are smooth.
_OVERSAMPLING = 2
# Of the picture that the robot covers.
_FILLED = 0.9
# Directions to the camera and to the light, right-handed with Z up.
_CAMERA, _LIGHT = (2.0, -1.5, 1.0), (2.0, -1.0, 3.0)
_AMBIENT, _DIFFUSE = 0.45, 0.55
_GREY = (0.5, 0.5, 0.5)
_SEGMENTS = 32
# Edges are halved until they are shorter [pixels], so that the order of the triangles is
# that of their surfaces.
_LONGEST = 12.0


def write_thumbnail(stage: Usd.Stage, file: Path) -> None:
    """Write a picture of the visible prims of a stage.

    It is an orthographic projection without textures, on white.
    """
    width = SIZE * _OVERSAMPLING
    image = Image.new("RGB", (width, width), "white")
    if surfaces := list(_surfaces(stage)):
        triangles = np.concatenate([triangles for triangles, _ in surfaces])
        colors = np.concatenate([_shaded(*surface) for surface in surfaces])
        seen, colors = _divided(_projected(triangles, width), colors)
        draw = ImageDraw.Draw(image)
        farthest_first = np.argsort(seen[..., 2].sum(axis=1), kind="stable")
        corners = seen[farthest_first, :, :2].reshape(-1, 6).tolist()
        for outline, color in zip(corners, colors[farthest_first].tolist(), strict=True):
            draw.polygon(outline, fill=tuple(color))
    file.parent.mkdir(parents=True)
    image.reduce(_OVERSAMPLING).save(file, "PNG")


def _surfaces(stage: Usd.Stage) -> Iterator[tuple[Array, Array]]:
    """Yield the triangles (N, 3, 3) and the linear colour of each visible shape, in the world."""
    cache = UsdGeom.XformCache()
    shown = {UsdGeom.Tokens.default_, UsdGeom.Tokens.render}
    for prim in stage.Traverse():
        image = UsdGeom.Gprim(prim)
        if not image or image.ComputePurpose() not in shown:
            continue
        triangles = _triangles(prim)
        if len(triangles):
            matrix = np.array(cache.GetLocalToWorldTransform(prim))
            # Without a matrix product, whose last digits depend on the machine.
            placed = sum(triangles[..., [i]] * matrix[i, :3] for i in range(3))
            yield placed + matrix[3, :3], _color(prim)


def _color(prim: Usd.Prim) -> Array:
    binding = UsdShade.MaterialBindingAPI(prim)
    material, _ = binding.ComputeBoundMaterial()
    if not material and (parts := binding.GetMaterialBindSubsets()):
        material, _ = UsdShade.MaterialBindingAPI(parts[0].GetPrim()).ComputeBoundMaterial()
    shader, _, _ = material.ComputeSurfaceSource() if material else (None, "", "")
    color = shader.GetInput("diffuseColor").Get() if shader else None
    return np.array(color if isinstance(color, Gf.Vec3f) else _GREY, np.float64)


def _triangles(prim: Usd.Prim) -> Array:
    """Return the triangles of a shape in its own frame."""

    def number(name: str) -> float:
        return float(prim.GetAttribute(name).Get())

    match prim.GetTypeName():
        case "Mesh":
            points = np.array(prim.GetAttribute("points").Get() or (), np.float64)
            counts = np.array(prim.GetAttribute("faceVertexCounts").Get() or (), np.int64)
            indices = np.array(prim.GetAttribute("faceVertexIndices").Get() or (), np.int64)
            return np.asarray(points.reshape(-1, 3)[fan_triangles(counts, indices)], np.float64)
        case "Cube":
            half = number("size") / 2
            # A prism with four sides.
            return _revolved(half * np.array([[0, -1], [2**0.5, -1], [2**0.5, 1], [0, 1]]), 4)
        case "Cylinder":
            size = (number("radius"), number("height") / 2)
            return _revolved(np.array([[0, -1], [1, -1], [1, 1], [0, 1]]) * size)
        case "Sphere" | "Capsule" as kind:
            angles = np.linspace(-np.pi / 2, np.pi / 2, _SEGMENTS // 2)
            half = number("height") / 2 if kind == "Capsule" else 0.0
            circle = number("radius") * np.stack([np.cos(angles), np.sin(angles)], axis=1)
            circle[:, 1] += np.where(angles > 0, half, -half)
            return _revolved(circle)
        case _:
            return np.empty((0, 3, 3))


def _revolved(outline: Array, segments: int = _SEGMENTS) -> Array:
    """Return the triangles of an outline (radius, height) turned around Z."""
    angles = np.pi / segments + np.linspace(0.0, 2 * np.pi, segments + 1)
    radii, heights = outline[:, :1], np.broadcast_to(outline[:, 1:], (len(outline), len(angles)))
    rings = np.stack([radii * np.cos(angles), radii * np.sin(angles), heights], axis=-1)
    a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
    return np.stack([a, b, c, a, c, d], axis=-2).reshape(-1, 3, 3)


def _projected(triangles: Array, width: int) -> Array:
    """Return corners as column, row, and distance towards the camera."""
    forward = np.array(_CAMERA) / np.sqrt(np.sum(np.square(_CAMERA)))
    right = np.cross((0.0, 0.0, 1.0), forward)
    right /= np.sqrt(np.sum(right * right))
    axes = (right, np.cross(forward, right), forward)
    seen = np.stack([(triangles * axis).sum(axis=-1) for axis in axes], axis=-1)
    lower, upper = seen.min(axis=(0, 1)), seen.max(axis=(0, 1))
    extent = float((upper - lower)[:2].max())
    scale = _FILLED * width / extent if extent > 0 else 1.0
    return np.asarray((seen - (lower + upper) / 2) * (scale, -scale, scale) + (width / 2,) * 3)


def _divided(seen: Array, colors: NDArray[np.uint8]) -> tuple[Array, NDArray[np.uint8]]:
    """Halve triangles at their longest edges."""
    finished = []
    while len(seen):
        edges = np.roll(seen, -1, axis=1) - seen
        lengths = np.sqrt((edges * edges).sum(axis=-1))
        long = lengths.max(axis=1) > _LONGEST
        finished.append((seen[~long], colors[~long]))
        first = lengths[long].argmax(axis=1)[:, None] + np.arange(3)
        a, b, c = np.take_along_axis(seen[long], first[..., None] % 3, axis=1).swapaxes(0, 1)
        middle = (a + b) / 2
        halves = np.stack([a, middle, c]), np.stack([middle, b, c])
        seen = np.concatenate([half.swapaxes(0, 1) for half in halves])
        colors = np.tile(colors[long], (2, 1))
    divided, painted = zip(*finished, strict=True)
    return np.concatenate(divided), np.concatenate(painted)


def _shaded(triangles: Array, color: Array) -> NDArray[np.uint8]:
    """Return the sRGB colour of each triangle, lit from one direction on both sides."""
    a, b, c = triangles.swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    lengths = np.sqrt((normals * normals).sum(axis=1))
    light = np.array(_LIGHT) / np.sqrt(np.sum(np.square(_LIGHT)))
    cosines = np.abs((normals * light).sum(axis=1)) / np.where(lengths > 0, lengths, 1)
    lit = color * (_AMBIENT + _DIFFUSE * cosines)[:, None]
    return np.asarray(np.round(255 * np.clip(lit, 0, 1) ** (1 / 2.2)), np.uint8)
