"""Measures of surfaces in a link's frame, for engines that state points or sizes.

Of a mesh, ``points`` are (N, 3) in its own frame, ``triangles`` (M, 3) indices of points,
counter-clockwise seen from outside, and ``transform`` is the (4, 4) matrix from that frame to the
link's [m]; it may scale and shear. A mirroring transform keeps the outside of a surface outside.

It shares no code with the converter, so that an error of one side is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.observation.shapes import (
    DIRECTIONS,
    Mapping,
    Shading,
    ShapeKind,
    Surface,
    Vec3,
)

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.integer]

_TOWARDS = np.array(DIRECTIONS)
_TOWARDS.flags.writeable = False
# Points per matrix product with all directions. The product stays in the cache, and is
# too small for BLAS to start threads, which cost ten times the work.
_BLOCK = 256
# Corners of a triangle.
_TRIANGLE = 3
_FLOAT32 = float(np.finfo(np.float32).eps)
# Tolerance of orthogonality and of equal lengths of axes in float32.
_SAME = 1e-6


def mesh_surface(points: Array, triangles: Indices, transform: Array) -> Surface | None:
    """Measure a surface of triangles, see :func:`measured_mesh`."""
    measured = measured_mesh(points, triangles, transform)
    return measured[0] if measured else None


def unused_points(points: Array, triangles: Indices) -> Array:
    """Return the (K, 3) points that are finite and no corner of a triangle."""
    unused = np.ones(len(points), dtype=bool)
    unused[triangles.reshape(-1)] = False
    found: Array = points[unused]
    return found[np.isfinite(found).all(axis=1)]


def support_of(points: Array, transform: Array) -> Array:
    """Return the support function of one or more points per direction of ``DIRECTIONS`` [m]."""
    return _reach(_moved(points, transform))


def measured_mesh(
    points: Array, triangles: Indices, transform: Array
) -> tuple[Surface, Array] | None:
    """Measure a surface of triangles, and the (M) areas of these [m^2].

    None if there is no triangle, or a point that is not finite.
    """
    if not len(triangles):
        return None
    placed = _moved(points, transform)
    used = np.zeros(len(points), dtype=bool)
    used[triangles.reshape(-1)] = True
    reached = placed if used.all() else placed[:, used]
    if not np.isfinite(reached).all():
        return None
    support = _reach(reached)
    # Relative to the middle, because products of far coordinates lose digits.
    middle = (support[:3] - support[3:6]) / 2.0
    placed -= middle[:, np.newaxis]
    a, b, c = _corners(placed, triangles)
    normals = _cross(b - a, c - a) / 2.0
    areas = _lengths(normals)
    area, outwards = float(areas.sum()), _outwards(transform)
    oriented = normals.sum(axis=1)
    # The volume of a cone from the middle is a third of its area times its height.
    cones = float((a * normals).sum())
    center = (a + b + c) @ areas / 3.0 / area if area else placed[:, triangles].mean(axis=(1, 2))
    # Largest area of a triangle two corners of which are equal in float32.
    size = np.linalg.norm(support[:3] + support[3:6])
    least = _FLOAT32 * np.abs(points).max() * np.linalg.norm(transform[:3, :3]) * size
    small = triangles[~(areas > least)]
    surface = Surface(
        support=tuple(support.tolist()),
        area=area,
        edges=sum(float(_lengths(side).sum()) for side in (b - a, c - b, a - c)),
        oriented_area=vec3(oriented * outwards),
        volume=(cones + float(middle @ oriented)) / 3.0 * outwards,
        center=vec3(middle + center),
        triangles=len(triangles) - len(small) + _distinct(points, small),
    )
    return surface, areas


def measured_shading(
    points: Array, triangles: Indices, normals: NDArray[np.floating] | None, transform: Array
) -> Shading:
    """Measure the normals of a surface of triangles.

    Normals, (M, 3, 3) of the corners of triangles and of any length, are transformed by the inverse
    transpose, as by renderers; without any, those of the faces are measured.
    """
    linear, outwards = transform[:3, :3], _outwards(transform)
    a, b, c = _corners(_moved(points, transform), triangles)
    faces = _cross(b - a, c - a) * (outwards / 2.0)
    areas = _lengths(faces)
    whole = float(areas.sum()) or 1.0
    if normals is None:
        facing = 1.0 if areas.any() else 0.0
        return Shading(False, facing, 0.0, vec3(faces.sum(axis=1) / whole))
    # Cofactors are the inverse transpose apart from a factor, also without an inverse.
    cofactors = _cross(np.roll(linear, -1, axis=1), np.roll(linear, -2, axis=1)) * outwards
    mean = np.zeros_like(faces)
    for corner in range(3):
        turned = np.einsum("ij,mj->im", cofactors, normals[:, corner].astype(np.float64))
        length = _lengths(turned)
        mean += turned / np.where(length > 0.0, length, 1.0) / 3.0
    along = (mean * faces).sum(axis=0)
    return Shading(
        stated=True,
        facing=float(along.sum()) / whole,
        against=float(areas[along < 0.0].sum()) / whole,
        mean=vec3(mean @ areas / whole),
    )


def surface_center(
    points: Array, triangles: Indices, areas: Array, transform: Array
) -> Vec3 | None:
    """Return the centroid of triangles with (M) areas [m^2]; None without area."""
    total = float(areas.sum())
    if not total:
        return None
    center = areas @ points[triangles].mean(axis=1) / total
    return vec3(transform[:3, :3] @ center + transform[:3, 3])


def measured_mapping(
    points: Array, triangles: Indices, coordinates: NDArray[np.floating], transform: Array
) -> Mapping:
    """Measure the texture coordinates of a surface, (M, 3, 2) of the corners of triangles.

    A product of two functions that are linear on a triangle, p and q, has the mean
    (sum of p q + sum of p times sum of q) / 12, with sums over its corners.
    """
    a, b, c = _corners(_moved(points, transform), triangles)
    areas = _lengths(_cross(b - a, c - a)) / 2.0
    # (3, M) by corner.
    u, v = np.transpose(coordinates.astype(np.float64), (2, 1, 0))
    places = np.stack([a, b, c])
    middles = places.sum(axis=0)
    # Functions at the corners, with their sums.
    across, upwards = (u, u.sum(axis=0)), (v, v.sum(axis=0))
    axes = [(places[:, axis], middles[axis]) for axis in range(3)]

    def integral(one: tuple[Array, Array], other: tuple[Array, Array]) -> float:
        products = (one[0] * other[0]).sum(axis=0) + one[1] * other[1]
        return float(areas @ products) / 12.0

    first = [float(areas @ total) / 3.0 for _, total in (across, upwards)]
    along = [integral(each, axis) for each in (across, upwards) for axis in axes]
    signed = ((u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0])) / 2.0
    return Mapping(
        moments=(*first, integral(across, across), integral(upwards, upwards), *along),
        center=vec3(middles @ areas / 3.0),
        oriented=float(signed.sum()) * _outwards(transform),
        unsigned=float(np.abs(signed).sum()),
    )


def moved(points: Array, transform: Array) -> Array:
    """Return (N, 3) points by a (4, 4) transform."""
    return np.ascontiguousarray(_moved(points, transform).T)


def fans(counts: Indices, corners: Indices) -> Indices:
    """Return the (M, 3) triangles that fan out from the first corners of polygons."""
    if (counts == _TRIANGLE).all():
        return corners[: 3 * len(counts)].reshape(-1, 3)
    return corners[fan_places(counts)]


def fan_places(counts: Indices) -> Indices:
    """Return the (M, 3) places of the corners of fans in a list of all corners."""
    counts = np.asarray(counts, np.int64)
    if (counts == _TRIANGLE).all():
        return np.arange(3 * len(counts)).reshape(-1, 3)
    starts = np.cumsum(counts) - counts
    sizes = np.maximum(counts - 2, 0)
    first = np.repeat(starts, sizes)
    step = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.stack([first, first + step + 1, first + step + 2], axis=-1)


def primitive_surface(kind: ShapeKind, size: Sequence[float], transform: Array) -> Surface | None:
    """Measure a box, cylinder, capsule or sphere, with a rigid transform.

    Sizes are as in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`.
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
        center=vec3(center),
        triangles=0,
    )


def hull_surface(points: Array) -> Surface:
    """Measure a convex hull by its points alone, (N, 3) in the link's frame [m]."""
    support = _reach(points.T)
    middle = (support[:3] - support[3:6]) / 2.0
    return Surface(
        support=tuple(support.tolist()),
        area=0.0,
        edges=0.0,
        oriented_area=(0.0, 0.0, 0.0),
        volume=0.0,
        center=vec3(middle),
        triangles=0,
        support_alone=True,
    )


def stretched(
    kind: ShapeKind, size: Sequence[float], transform: Array
) -> tuple[ShapeKind, tuple[float, ...], Array]:
    """Move the scale of the transform of a primitive into its size.

    Returns:
        Kind, size and rigid transform; OTHER, without a size, if the scaled shape is
        of another kind.
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

    Others have no area, and many readers and writers leave them out.
    """
    a, b, c = points[triangles.T].astype(np.float32)
    same = [(one == other).all(axis=1) for one, other in ((a, b), (b, c), (c, a))]
    return int(len(triangles) - np.logical_or.reduce(same).sum())


def _reach(columns: Array) -> Array:
    # Reduce over the columns of a block at the end only.
    count = columns.shape[1]
    reach = np.full((len(_TOWARDS), min(count, _BLOCK)), -np.inf)
    for start in range(0, count, _BLOCK):
        block = _TOWARDS @ columns[:, start : start + _BLOCK]
        greatest = reach[:, : block.shape[1]]
        np.maximum(greatest, block, out=greatest)
    farthest: Array = reach.max(axis=1)
    return farthest


def _moved(points: Array, transform: Array) -> Array:
    """Return (N, 3) points by a (4, 4) transform, as (3, N): numpy is fastest on coordinates."""
    # Without BLAS, which starts threads.
    x, y, z = points.T
    placed = np.empty((3, len(points)))
    for row, (a, b, c, offset) in zip(placed, transform[:3].tolist(), strict=True):
        row[:] = x * a + y * b + z * c + offset
    return placed


def _corners(placed: Array, triangles: Indices) -> tuple[Array, Array, Array]:
    """Return the first, second and third corners of triangles, (3, M) each."""
    first, second, third = np.ascontiguousarray(triangles.T)
    return tuple(np.take(placed, corner, axis=1) for corner in (first, second, third))


def _outwards(transform: Array) -> float:
    """Return -1 if a transform mirrors, else 1."""
    return math.copysign(1.0, float(np.linalg.det(transform[:3, :3])))


def _cross(a: Array, b: Array) -> Array:
    """Return (3, M) products; numpy's own take several times as long."""
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def _lengths(vectors: Array) -> Array:
    x, y, z = vectors
    lengths: Array = np.sqrt(x * x + y * y + z * z)
    return lengths
