"""Measures of surfaces in a link's frame, for all witnesses that know points or sizes.

Nothing here comes from the converter, so that an error cannot hide by being made twice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.shapes import DIRECTIONS, ShapeKind, Surface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conformance.shapes import Vec3

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]

_TOWARDS = np.array(DIRECTIONS)
_TOWARDS.flags.writeable = False
# Points that are multiplied with all directions at once. Their products stay in the
# cache, and are too few for BLAS to start threads, which cost ten times the work.
_BLOCK = 256
# What float32 can do to three axes that are at right angles and of one length.
_SAME = 1e-6


def mesh_surface(points: Array, triangles: Indices, transform: Array) -> Surface | None:
    """Measure a surface of triangles.

    A mirroring transform turns no surface inside out: outside stays outside.

    Args:
        points: (N, 3) in the mesh's own frame.
        triangles: (M, 3) indices of points, counter-clockwise seen from outside.
        transform: (4, 4) from there to the link's frame [m]; it may scale and shear.

    Returns:
        None if there is no triangle, or a point that is not finite.
    """
    if not len(triangles):
        return None
    placed = moved(points, transform)
    used = np.zeros(len(points), dtype=bool)
    used[triangles.reshape(-1)] = True
    reached = placed if used.all() else placed[used]
    if not np.isfinite(reached).all():
        return None
    support = _reach(reached)
    # Relative to the middle, because products of far coordinates lose digits.
    middle = (support[:3] - support[3:6]) / 2.0
    near = placed - middle
    a, b, c = (np.take(near, triangles[:, corner], axis=0) for corner in range(3))
    along, across = b - a, c - a
    normals = _cross(along, across) / 2.0
    areas = np.sqrt(np.einsum("mi,mi->m", normals, normals))
    area = float(areas.sum())
    oriented = normals.sum(axis=0)
    # Each face over the middle is a cone of a third of its area times its height.
    volume = float(np.einsum("mi,mi->", a, normals)) / 3.0 + middle @ oriented / 3.0
    outwards = math.copysign(1.0, float(np.linalg.det(transform[:3, :3])))
    weights = areas / area if area else np.full(len(areas), 1.0 / len(areas))
    center = middle + weights @ (a + b + c) / 3.0
    return Surface(
        support=tuple(support.tolist()),
        area=area,
        edges=float(sum(_lengths(side).sum() for side in (along, c - b, across))),
        oriented_area=_vec3(oriented * outwards),
        volume=float(volume * outwards),
        center=_vec3(center),
        triangles=_distinct(points, triangles),
    )


def face_areas(
    points: Array, counts: Indices, corners: Indices, transform: Array
) -> Array:
    """Return the (F) areas of polygons, as fans [m^2].

    Args:
        points: (N, 3) in the mesh's own frame.
        counts: (F) corners of each face.
        corners: Points of all corners, face by face.
        transform: (4, 4) from there to metres.
    """
    placed = moved(points, transform)
    triangles = fans(counts, corners)
    a, b, c = (placed[triangles[:, corner]] for corner in range(3))
    faces = np.repeat(np.arange(len(counts)), np.maximum(counts - 2, 0))
    areas = _lengths(_cross(b - a, c - a)) / 2.0
    summed = np.bincount(faces, weights=areas, minlength=len(counts))
    return summed.astype(np.float64)


def moved(points: Array, transform: Array) -> Array:
    """Return (N, 3) points by a (4, 4) transform."""
    # Without BLAS, which starts threads.
    turned: Array = np.einsum("ni,ji->nj", points, transform[:3, :3])
    return turned + transform[:3, 3]


def fans(counts: Indices, corners: Indices) -> Indices:
    """Return the (M, 3) triangles that fan out from the first corners of polygons."""
    if (counts == 3).all():  # noqa: PLR2004  triangles
        return corners[: 3 * len(counts)].reshape(-1, 3)
    return corners[fan_places(counts)]


def fan_places(counts: Indices) -> Indices:
    """Return the (M, 3) places of the corners of fans in a list of all corners."""
    counts = np.asarray(counts, np.int64)
    if (counts == 3).all():  # noqa: PLR2004  triangles
        return np.arange(3 * len(counts)).reshape(-1, 3)
    starts = np.cumsum(counts) - counts
    sizes = np.maximum(counts - 2, 0)
    first = np.repeat(starts, sizes)
    step = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.stack([first, first + step + 1, first + step + 2], axis=-1)


def primitive_surface(
    kind: ShapeKind, size: Sequence[float], transform: Array
) -> Surface | None:
    """Measure a primitive.

    Args:
        kind: Box, cylinder, capsule or sphere.
        size: As in :class:`~conformance.shapes.ShapeObservation`.
        transform: (4, 4) rigid transform from the shape's frame to the link's [m].
    """
    if not all(math.isfinite(value) and value >= 0 for value in size):
        return None
    axes = _TOWARDS @ transform[:3, :3]
    sideways, upwards = np.hypot(axes[:, 0], axes[:, 1]), np.abs(axes[:, 2])
    match kind:
        case ShapeKind.BOX:
            x, y, z = size
            reach = np.abs(axes) @ (np.array(size) / 2.0)
            area, volume = 2.0 * (x * y + y * z + z * x), x * y * z
        case ShapeKind.SPHERE:
            (radius,) = size
            reach = np.full(len(axes), radius)
            area, volume = 4.0 * math.pi * radius**2, 4.0 / 3.0 * math.pi * radius**3
        case ShapeKind.CYLINDER:
            radius, length = size
            reach = sideways * radius + upwards * length / 2.0
            area = 2.0 * math.pi * radius * (radius + length)
            volume = math.pi * radius**2 * length
        case ShapeKind.CAPSULE:
            radius, length = size
            reach = radius + upwards * length / 2.0
            area = 2.0 * math.pi * radius * (2.0 * radius + length)
            volume = math.pi * radius**2 * (length + 4.0 / 3.0 * radius)
        case _:
            raise ValueError(f"a {kind} has no size")
    center = transform[:3, 3]
    return Surface(
        support=tuple((reach + _TOWARDS @ center).tolist()),
        area=area,
        edges=0.0,
        oriented_area=(0.0, 0.0, 0.0),
        volume=volume,
        center=_vec3(center),
        triangles=0,
    )


def stretched(
    kind: ShapeKind, size: Sequence[float], transform: Array
) -> tuple[ShapeKind, tuple[float, ...], Array]:
    """Take the scale out of the transform of a primitive, and into its size.

    Returns:
        Kind, size and rigid transform; OTHER, without a size, if the scale makes
        something else of it.
    """
    linear = transform[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    rigid = transform.copy()
    if not (np.isfinite(scale).all() and scale.all()):
        return ShapeKind.OTHER, (), rigid
    axes = linear / scale
    rigid[:3, :3] = axes
    square = np.abs(axes.T @ axes - np.eye(3)).max() <= _SAME
    round_about_z = abs(scale[0] - scale[1]) <= _SAME * scale[0]
    uniform = np.ptp(scale) <= _SAME * scale.max()
    fits = {
        ShapeKind.BOX: square,
        ShapeKind.CYLINDER: square and round_about_z,
        ShapeKind.CAPSULE: square and uniform,
        ShapeKind.SPHERE: square and uniform,
    }
    if not fits[kind]:
        return ShapeKind.OTHER, (), rigid
    factors = {
        ShapeKind.BOX: scale,
        ShapeKind.CYLINDER: scale[1:],
        ShapeKind.CAPSULE: scale[1:],
        ShapeKind.SPHERE: scale[:1],
    }[kind]
    return kind, tuple((np.asarray(size) * factors).tolist()), rigid


def _distinct(points: Array, triangles: Indices) -> int:
    """Count the triangles whose corners are three points, also in float32.

    Others have no area, and readers and writers of files leave them out.
    """
    first, second, third = (np.ascontiguousarray(each) for each in triangles.T)
    same = np.ones((3, len(triangles)), dtype=bool)
    # One coordinate after the other, over which numpy is several times faster.
    for values in points.T.astype(np.float32):
        a, b, c = values[first], values[second], values[third]
        same[0] &= a == b
        same[1] &= b == c
        same[2] &= c == a
    return int(len(triangles) - same.any(axis=0).sum())


def _reach(points: Array) -> Array:
    # The greatest of a few hundred rows only in the end: of rows so short, numpy takes
    # longer for the greatest one than for their products.
    reach = np.full((min(len(points), _BLOCK), len(_TOWARDS)), -np.inf)
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK] @ _TOWARDS.T
        greatest = reach[: len(block)]
        np.maximum(greatest, block, out=greatest)
    farthest: Array = reach.max(axis=0)
    return farthest


def _cross(a: Array, b: Array) -> Array:
    # numpy's own is several times slower on many short vectors.
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )


def _lengths(vectors: Array) -> Array:
    lengths: Array = np.sqrt(np.einsum("mi,mi->m", vectors, vectors))
    return lengths


def _vec3(values: Array) -> Vec3:
    x, y, z = values.tolist()
    return x, y, z
