"""A picture of a stage, as SimReady requires next to an asset (SR.002)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdShade

Array: TypeAlias = NDArray[np.float64]
Triangles: TypeAlias = Array
"""(N, 3, 3) corners."""

SIZE = 256
# Of the picture that the robot covers.
_FILLED = 0.9
# Directions to the camera and to the light, right-handed with Z up.
_CAMERA, _LIGHT = (2.0, -1.5, 1.0), (2.0, -1.0, 3.0)
_AMBIENT, _DIFFUSE = 0.45, 0.55
_GREY = (0.5, 0.5, 0.5)
_SEGMENTS = 32
# Pixels in one array.
_MOST = 100_000


def write_thumbnail(stage: Usd.Stage, file: Path) -> None:
    """Write a picture of the visible prims of a stage.

    It is drawn by an orthographic projection, without textures, and with a white
    background.
    """
    surfaces = list(_surfaces(stage))
    pixels = np.full((SIZE * SIZE, 3), 255, np.uint8)
    if surfaces:
        _draw(surfaces, pixels)
    file.parent.mkdir(parents=True)
    file.write_bytes(_png(pixels.reshape(SIZE, SIZE, 3)))


def _surfaces(stage: Usd.Stage) -> Iterator[tuple[Triangles, Array]]:
    """Yield the triangles and linear colour of each visible shape, in the world."""
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
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if not material:
        parts = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
        if parts:
            binding = UsdShade.MaterialBindingAPI(parts[0].GetPrim())
            material, _ = binding.ComputeBoundMaterial()
    shader, _, _ = material.ComputeSurfaceSource() if material else (None, "", "")
    color = shader.GetInput("diffuseColor").Get() if shader else None
    return np.array(color if isinstance(color, Gf.Vec3f) else _GREY, np.float64)


def _triangles(prim: Usd.Prim) -> Triangles:
    """Return the triangles of a shape in its own frame."""
    if prim.IsA(UsdGeom.Mesh):
        mesh = UsdGeom.Mesh(prim)
        points = np.array(mesh.GetPointsAttr().Get() or (), np.float64).reshape(-1, 3)
        counts = np.array(mesh.GetFaceVertexCountsAttr().Get() or (), np.int64)
        indices = np.array(mesh.GetFaceVertexIndicesAttr().Get() or (), np.int64)
        return points[_fans(counts, indices)]
    if prim.IsA(UsdGeom.Cube):
        half = UsdGeom.Cube(prim).GetSizeAttr().Get() / 2
        # A prism with four sides.
        ring = half * 2**0.5
        outline = [(0.0, -half), (ring, -half), (ring, half), (0.0, half)]
        return _revolved(outline, 4, turn=np.pi / 4)
    if prim.IsA(UsdGeom.Sphere):
        return _revolved(_round(UsdGeom.Sphere(prim).GetRadiusAttr().Get(), 0.0))
    if prim.IsA(UsdGeom.Capsule):
        capsule = UsdGeom.Capsule(prim)
        radius, height = capsule.GetRadiusAttr().Get(), capsule.GetHeightAttr().Get()
        return _revolved(_round(radius, height / 2))
    if prim.IsA(UsdGeom.Cylinder):
        cylinder = UsdGeom.Cylinder(prim)
        radius, half = (
            cylinder.GetRadiusAttr().Get(),
            cylinder.GetHeightAttr().Get() / 2,
        )
        return _revolved([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])
    return np.empty((0, 3, 3))


def _fans(counts: NDArray[np.int64], indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split faces into triangles around their first corners."""
    corners = np.arange(len(indices))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    inner = (corners > starts) & (corners + 1 < starts + np.repeat(counts, counts))
    second = corners[inner]
    chosen = np.stack([starts[inner], second, second + 1], axis=1)
    return np.asarray(indices[chosen], np.int64)


def _round(radius: float, half: float) -> list[tuple[float, float]]:
    """Return the outline of a capsule with half a height; a sphere for zero."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, _SEGMENTS // 2).tolist()
    return [
        (
            float(radius * np.cos(angle)),
            float(radius * np.sin(angle) + (half if angle > 0 else -half)),
        )
        for angle in angles
    ]


def _revolved(
    outline: list[tuple[float, float]], segments: int = _SEGMENTS, turn: float = 0.0
) -> Triangles:
    """Return the surface of an outline (radius, height) around Z."""
    angles = turn + np.linspace(0.0, 2 * np.pi, segments + 1)
    radii, heights = np.array(outline).T
    rings = np.stack(
        [
            radii[:, None] * np.cos(angles),
            radii[:, None] * np.sin(angles),
            np.broadcast_to(heights[:, None], (len(radii), len(angles))),
        ],
        axis=-1,
    )
    a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
    pairs = [np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]
    return np.concatenate([pair.reshape(-1, 3, 3) for pair in pairs])


def _draw(surfaces: list[tuple[Triangles, Array]], pixels: NDArray[np.uint8]) -> None:
    """Draw the pixels whose centres triangles cover, the nearest triangle of each.

    Of a triangle that covers none, the pixel of its centroid is drawn: parts may be
    thinner than pixels.
    """
    forward = np.array(_CAMERA) / np.sqrt(np.sum(np.square(_CAMERA)))
    right = np.cross((0.0, 0.0, 1.0), forward)
    right /= np.sqrt(np.sum(right * right))
    axes = (right, np.cross(forward, right), forward)
    corners = np.concatenate([triangles for triangles, _ in surfaces])
    seen = np.stack([(corners * axis).sum(axis=-1) for axis in axes], axis=-1)
    lower, upper = seen.min(axis=(0, 1)), seen.max(axis=(0, 1))
    extent = float(max(upper[0] - lower[0], upper[1] - lower[1]))
    scale = _FILLED * SIZE / extent if extent > 0 else 1.0
    seen = (seen - (lower + upper) / 2) * (scale, -scale, scale) + (
        SIZE / 2,
        SIZE / 2,
        0.0,
    )
    colors = _shaded(corners, surfaces)
    depth = np.full(SIZE * SIZE, -np.inf)
    heights = _first(seen[..., 1].max(axis=1)) - _first(seen[..., 1].min(axis=1))
    bare = np.full(len(seen), True)
    for part in _chunks(heights):
        triangle, row, ends, nears = _spans(seen[part], heights[part])
        begin = _first(ends[:, 0])
        widths = _first(ends[:, 1]) - begin
        bare[part.start + triangle[widths > 0]] = False
        for some in _chunks(widths):
            span, offset = _counted(widths[some])
            column = begin[some][span] + offset
            (left, end), (near, far) = ends[some][span].T, nears[some][span].T
            share = (column + 0.5 - left) / (end - left)
            place = row[some][span] * SIZE + column
            shown = colors[part.start + triangle[some][span]]
            _paint(place, near + share * (far - near), shown, depth, pixels)
    column, row = np.floor(seen[bare, :, :2].mean(axis=1)).astype(np.int64).T
    _paint(row * SIZE + column, seen[bare, :, 2].mean(axis=1), colors[bare], depth, pixels)


def _first(coordinates: Array) -> NDArray[np.int64]:
    """Return the first pixel whose centre is at a coordinate or beyond."""
    return np.ceil(coordinates - 0.5).astype(np.int64)


def _chunks(counts: NDArray[np.int64]) -> Iterator[slice]:
    """Split an array so that the counts of each part have a limited sum."""
    sums = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = sums[start - 1] if start else 0
        end = int(np.searchsorted(sums, before + _MOST, side="right"))
        yield slice(start, max(end, start + 1))
        start = max(end, start + 1)


def _counted(
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an index for each count as often as it says, and a number from zero."""
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(len(index)) - (np.cumsum(counts) - counts)[index]


def _spans(
    seen: Triangles, heights: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    """Cut triangles by the centre lines of rows of pixels.

    Args:
        seen: (N, 3, 3) corners: column, row and depth.
        heights: (N) rows whose centre lines cut each triangle.

    Returns:
        (M) index of the triangle, (M) row, (M, 2) columns and (M, 2) depths of the left
        and the right end.
    """
    triangle, offset = _counted(heights)
    row = _first(seen[..., 1].min(axis=1))[triangle] + offset
    begin = seen[triangle]
    end = np.roll(begin, -1, axis=1)
    line = row[:, None] + 0.5
    above, below = begin[..., 1] >= line, end[..., 1] >= line
    # Two edges of the three have their ends on different sides of the line.
    cut = above != below
    rise = np.where(cut, end[..., 1] - begin[..., 1], 1.0)
    share = (line - begin[..., 1]) / rise
    points = begin[..., ::2] + share[..., None] * (end - begin)[..., ::2]
    column, depth = points[cut].reshape(-1, 2, 2).transpose(2, 0, 1)
    order = np.argsort(column, axis=1, kind="stable")
    column, depth = (np.take_along_axis(x, order, axis=1) for x in (column, depth))
    return triangle, row, column, depth


def _shaded(corners: Triangles, surfaces: list[tuple[Triangles, Array]]) -> NDArray[np.uint8]:
    """Return the sRGB colour of each triangle, lit from one direction on both sides."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.sqrt((normals * normals).sum(axis=1))
    light = np.array(_LIGHT) / np.sqrt(np.sum(np.square(_LIGHT)))
    cosines = np.abs((normals * light).sum(axis=1)) / np.where(lengths > 0, lengths, 1)
    counts = [len(triangles) for triangles, _ in surfaces]
    linear = np.repeat(np.array([color for _, color in surfaces]), counts, axis=0)
    lit = linear * (_AMBIENT + _DIFFUSE * cosines)[:, None]
    encoded = np.round(255 * np.clip(lit, 0, 1) ** (1 / 2.2))
    return np.asarray(encoded, np.uint8)


def _paint(
    place: NDArray[np.int64],
    near: Array,
    colors: NDArray[np.uint8],
    depth: Array,
    pixels: NDArray[np.uint8],
) -> None:
    """Paint pixels where something is nearer than what they show."""
    order = np.lexsort((near, place))
    last = np.append(place[order[1:]] != place[order[:-1]], True)[: len(order)]
    best = order[last]
    best = best[near[best] > depth[place[best]]]
    depth[place[best]] = near[best]
    pixels[place[best]] = colors[best]


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode (height, width, 3) pixels."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
