"""Measures of surfaces and solids in a link's frame, for engines that state points or sizes.

Of a mesh, ``points`` are (N, 3) in its own frame, ``triangles`` (M, 3) indices of points,
counter-clockwise seen from outside, and ``transform`` is the (4, 4) matrix from that frame to the
link's [m]; it may scale and shear. A mirroring transform keeps the outside of a surface outside.
Solids have density one. Convex hulls are those of scipy, integrals over triangles those of trimesh.

It shares no code with the converter, so that an error of one side is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import trimesh
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.special import elliprg

from urdf_usd.conformance.engines.statements import Array, vec3
from urdf_usd.conformance.observation import shapes as observed

Indices: TypeAlias = NDArray[np.integer]

_TOWARDS = np.array(observed.DIRECTIONS)
_TOWARDS.flags.writeable = False
# Points per matrix product with all directions. The product stays in the cache, and is
# too small for BLAS to start threads, which cost ten times the work.
_BLOCK = 256
# Tolerance of orthogonality and of equal lengths of axes in float32.
_SAME = 1e-6
# A closed surface is a solid if it has at least this part of the volume of its convex
# hull, at most that volume, and A + B >= C, up to rounding.
_LEAST, _ROUNDING = 1e-3, 1e-6
# Thickness of a hull relative to its size, up to which it is flat in single precision.
_FLAT = 1e-7


def mesh_surface(points: Array, triangles: Indices, transform: Array) -> observed.Surface | None:
    """Measure a surface of triangles, see :func:`measured_mesh`."""
    measured = measured_mesh(points, triangles, transform)
    return measured[0] if measured else None


def unused_points(points: Array, triangles: Indices) -> Array:
    """Return the (K, 3) points that are finite and no corner of a triangle."""
    unused = np.array(np.isfinite(points).all(axis=1))
    unused[triangles.reshape(-1)] = False
    found: Array = points[unused]
    return found


def support_of(points: Array, transform: Array) -> Array:
    """Return the support function of one or more points per direction of ``DIRECTIONS`` [m]."""
    return _reach(moved(points, transform).T)


def measured_mesh(
    points: Array, triangles: Indices, transform: Array
) -> tuple[observed.Surface, Array] | None:
    """Measure a surface of triangles, and the (M) areas of these [m^2].

    None if there is no triangle, or a point that is not finite.
    """
    if not len(triangles):
        return None
    placed, used = moved(points, transform), np.zeros(len(points), dtype=bool)
    used[triangles.reshape(-1)] = True
    reached = placed.T[:, used]
    if not np.isfinite(reached).all():
        return None
    support = _reach(reached)
    # Relative to the middle, because products of far coordinates lose digits.
    middle = (support[:3] - support[3:6]) / 2.0
    a, b, c = _corners(placed - middle, triangles)
    ab, ac, bc = b - a, c - a, c - b
    normals = _cross(ab, ac) / 2.0
    areas = _lengths(normals)
    area, outwards = float(areas.sum()), _outwards(transform)
    oriented = normals.sum(axis=1)
    # The volume of a cone from the middle is a third of its area times its height.
    cones = float((a * normals).sum())
    weights = areas / area if area else np.full(len(areas), 1.0 / len(areas))
    # Triangles two corners of which are equal in float32 have no area, and many readers and
    # writers leave them out.
    single = _corners(points.astype(np.float32), triangles)
    x, y, z = (single == single[[1, 2, 0]]).swapaxes(0, 1)
    is_flat = (x & y & z).any(axis=0)
    surface = observed.Surface(
        support=tuple(support.tolist()),
        area=area,
        edges=sum(float(_lengths(side).sum()) for side in (ab, bc, ac)),
        oriented_area=vec3(oriented * outwards),
        volume=(cones + float(middle @ oriented)) / 3.0 * outwards,
        center=vec3(middle + (a + b + c) @ weights / 3.0),
        triangles=int((~is_flat).sum()),
    )
    return surface, areas


def measured_shading(
    points: Array, triangles: Indices, normals: NDArray[np.floating] | None, transform: Array
) -> observed.Shading:
    """Measure the normals of a surface of triangles.

    Normals, (M, 3, 3) of the corners of triangles and of any length, are transformed by the inverse
    transpose, as by renderers; without any, those of the faces are measured.
    """
    linear, outwards = transform[:3, :3], _outwards(transform)
    a, b, c = _corners(moved(points, transform), triangles)
    faces = _cross(b - a, c - a) * (outwards / 2.0)
    areas = _lengths(faces)
    whole = float(areas.sum()) or 1.0
    if normals is None:
        return observed.Shading(False, float(areas.any()), 0.0, vec3(faces.sum(axis=1) / whole))
    # Cofactors are the inverse transpose apart from a factor, also without an inverse.
    cofactors = np.cross(np.roll(linear, -1, axis=0), np.roll(linear, -2, axis=0)) * outwards
    turned = np.einsum("ij,jcm->icm", cofactors, np.ascontiguousarray(normals.T, np.float64))
    lengths = _lengths(turned)
    a, b, c = (turned / np.where(lengths > 0.0, lengths, 1.0)).swapaxes(0, 1)
    mean = (a + b + c) / 3.0
    along = (mean * faces).sum(axis=0)
    return observed.Shading(
        stated=True,
        facing=float(along.sum()) / whole,
        against=float(areas[along < 0.0].sum()) / whole,
        mean=vec3(mean @ areas / whole),
    )


def surface_center(
    points: Array, triangles: Indices, areas: Array, transform: Array
) -> observed.Vec3 | None:
    """Return the centroid of triangles with (M) areas [m^2]; None without area."""
    total = float(areas.sum())
    if not total:
        return None
    center = areas @ points[triangles].mean(axis=1) / total
    return vec3(transform[:3, :3] @ center + transform[:3, 3])


def measured_mapping(
    points: Array, triangles: Indices, coordinates: NDArray[np.floating], transform: Array
) -> observed.Mapping:
    """Measure the texture coordinates of a surface, (M, 3, 2) of the corners of triangles.

    A product of two functions that are linear on a triangle, p and q, has the mean
    (sum of p q + sum of p times sum of q) / 12, with sums over its corners.
    """
    a, b, c = places = _corners(moved(points, transform), triangles)
    areas = _lengths(_cross(b - a, c - a)) / 2.0
    # Coordinates, then axes; (3, M) by corner.
    u, v, *_ = values = (*np.ascontiguousarray(coordinates.T, np.float64), *places.swapaxes(0, 1))
    sums = [each.sum(axis=0) for each in values]

    def integral(one: int, other: int) -> float:
        products = (values[one] * values[other]).sum(axis=0) + sums[one] * sums[other]
        return float(areas @ products) / 12.0

    first = [float(areas @ each) / 3.0 for each in sums[:2]]
    along = [integral(each, axis) for each in (0, 1) for axis in (2, 3, 4)]
    signed = ((u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0])) / 2.0
    return observed.Mapping(
        moments=(*first, integral(0, 0), integral(1, 1), *along),
        center=vec3((a + b + c) @ areas / 3.0),
        oriented=float(signed.sum()) * _outwards(transform),
        unsigned=float(np.abs(signed).sum()),
    )


def moved(points: Array, transform: Array) -> Array:
    """Return (N, 3) points by a (4, 4) transform."""
    # Without BLAS, which starts threads; coordinate by coordinate, in a quarter of the time.
    placed: Array = np.einsum("ij,jn->in", transform[:3, :3], np.ascontiguousarray(points.T))
    return (placed + transform[:3, 3:]).T


def fans(counts: Indices, corners: Indices) -> Indices:
    """Return the (M, 3) triangles that fan out from the first corners of polygons."""
    return corners[fan_places(counts)]


def fan_places(counts: Indices) -> Indices:
    """Return the (M, 3) places of the corners of fans in a list of all corners."""
    counts = np.asarray(counts, np.int64)
    if (counts == 3).all():
        return np.arange(3 * len(counts)).reshape(-1, 3)
    starts = np.cumsum(counts) - counts
    sizes = np.maximum(counts - 2, 0)
    first = np.repeat(starts, sizes)
    step = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.stack([first, first + step + 1, first + step + 2], axis=-1)


def primitive_surface(
    kind: observed.ShapeKind, size: Sequence[float], transform: Array
) -> observed.Surface | None:
    """Measure a box, cylinder, capsule or sphere, with a rigid transform.

    Sizes are as in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`.
    """
    if not all(math.isfinite(value) and value >= 0 for value in size):
        return None
    axes = _TOWARDS @ transform[:3, :3]
    if kind is observed.ShapeKind.BOX:
        x, y, z = size
        reach = np.abs(axes) @ (np.array(size) / 2.0)
        return plain_surface(reach, transform, 2.0 * (x * y + y * z + z * x), x * y * z)
    # A sphere is a capsule without a straight part.
    radius, length = (*size, 0.0)[:2]
    upwards = np.abs(axes[:, 2]) * length / 2.0
    if kind is observed.ShapeKind.CYLINDER:
        reach = np.hypot(axes[:, 0], axes[:, 1]) * radius + upwards
        area, volume = 2.0 * math.pi * radius * (radius + length), math.pi * radius**2 * length
    else:
        reach = radius + upwards
        area = 2.0 * math.pi * radius * (2.0 * radius + length)
        volume = math.pi * radius**2 * (length + 4.0 / 3.0 * radius)
    return plain_surface(reach, transform, area, volume)


def plain_surface(reach: Array, transform: Array, area: float, volume: float) -> observed.Surface:
    """Return the surface of a symmetric solid, by its support function about its centre."""
    center = transform[:3, 3]
    return observed.Surface(
        support=tuple((reach + _TOWARDS @ center).tolist()),
        area=area,
        edges=0.0,
        oriented_area=(0.0, 0.0, 0.0),
        volume=volume,
        center=vec3(center),
        triangles=0,
    )


def ellipsoid_surface(radii: Array, transform: Array) -> observed.Surface:
    """Measure an ellipsoid with (3,) semi-axes [m]; its area is by Carlson's integral R_G."""
    a, b, c = (float(radius) for radius in radii)
    reach = np.linalg.norm(_TOWARDS @ transform[:3, :3] * [a, b, c], axis=1)
    area = 4.0 * math.pi * elliprg((a * b) ** 2, (b * c) ** 2, (c * a) ** 2)
    return plain_surface(reach, transform, float(area), 4.0 / 3.0 * math.pi * a * b * c)


def hull_surface(points: Array) -> observed.Surface:
    """Measure a convex hull by its points alone, (N, 3) in the link's frame [m]."""
    support, middle = _reach(points.T), np.eye(4)
    middle[:3, 3] = (support[:3] - support[3:6]) / 2.0
    plain = plain_surface(support - _TOWARDS @ middle[:3, 3], middle, 0.0, 0.0)
    return structs.replace(plain, support_alone=True)


def stretched(
    kind: observed.ShapeKind, size: Sequence[float], transform: Array
) -> tuple[observed.ShapeKind, tuple[float, ...], Array]:
    """Move the scale of the transform of a primitive into its size.

    The kind is OTHER, without a size, if the scaled shape is of another kind.
    """
    scale, rigid = np.linalg.norm(transform[:3, :3], axis=0), transform.copy()
    if not (np.isfinite(scale).all() and scale.all()):
        return observed.ShapeKind.OTHER, (), rigid
    axes = rigid[:3, :3] = transform[:3, :3] / scale
    # Number of scales that have to be the same.
    alike = {observed.ShapeKind.BOX: 1, observed.ShapeKind.CYLINDER: 2}.get(kind, 3)
    is_square = np.abs(axes.T @ axes - np.eye(3)).max() <= _SAME
    if not is_square or np.ptp(scale[:alike]) > _SAME * scale[:alike].max():
        return observed.ShapeKind.OTHER, (), rigid
    return kind, tuple((np.asarray(size) * scale[-len(size) :]).tolist()), rigid


def _reach(points: Array) -> Array:
    """Return the support function of (3, N) points."""
    blocks = np.array_split(points, points.shape[1] // _BLOCK + 1, axis=1)
    farthest: Array = np.max([(_TOWARDS @ block).max(axis=1) for block in blocks], axis=0)
    return farthest


def _outwards(transform: Array) -> float:
    """Return -1 if a transform mirrors, else 1."""
    return math.copysign(1.0, float(np.linalg.det(transform[:3, :3])))


def _corners(points: NDArray[np.floating], triangles: Indices) -> Array:
    """Return the three corners of triangles, (3, M) each: numpy is fastest on coordinates."""
    return np.take(np.ascontiguousarray(points.T), triangles.T, axis=1).swapaxes(0, 1)


def _cross(one: Array, other: Array) -> Array:
    """Return the cross products of (3, M) vectors, in half the time of ``np.cross``."""
    (x, y, z), (u, v, w) = one, other
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u])


def _lengths(vectors: Array) -> Array:
    x, y, z = vectors
    lengths: Array = np.sqrt(x * x + y * y + z * z)
    return lengths


class Solid(Struct, frozen=True, eq=False):
    """A solid of density one, in any unit of length."""

    volume: float
    center: Array  # (3,) centre of mass in the solid's own frame
    inertia: Array  # (3, 3) about the centre of mass, along the axes of that frame

    def placed(self, transform: Array) -> Solid:
        turn = transform[:3, :3]
        center = turn @ self.center + transform[:3, 3]
        return Solid(self.volume, center, turn @ self.inertia @ turn.T)


EMPTY = Solid(0.0, np.zeros(3), np.zeros((3, 3)))


def joined(solids: Sequence[Solid]) -> Solid:
    """Return several solids, at least one of which has a volume, as one."""
    volume = math.fsum(solid.volume for solid in solids)
    center = np.sum([solid.volume * solid.center for solid in solids], axis=0) / volume
    inertia = np.zeros((3, 3))
    for solid in solids:
        arm = solid.center - center
        inertia += solid.inertia
        inertia += solid.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Solid(volume, center, inertia)


def box(half_extents: Array) -> Solid:
    volume = float(8.0 * np.prod(half_extents))
    squares = half_extents**2
    moments = volume / 3.0 * (squares.sum() - squares)
    return Solid(volume, np.zeros(3), np.diag(moments))


def sphere(radius: float) -> Solid:
    return capsule(radius, 0.0, 2)


def cylinder(radius: float, half_height: float, axis: int) -> Solid:
    volume = 2.0 * np.pi * radius**2 * half_height
    across = volume * (radius**2 / 4.0 + half_height**2 / 3.0)
    return _round(volume, across, volume * radius**2 / 2.0, axis)


def capsule(radius: float, half_height: float, axis: int) -> Solid:
    """Return a capsule; ``half_height`` is half the cylinder without the caps."""
    tube, caps = cylinder(radius, half_height, axis), 4.0 / 3.0 * np.pi * radius**3
    moved = half_height**2 + 0.75 * half_height * radius
    ball = _round(caps, caps * (0.4 * radius**2 + moved), caps * 0.4 * radius**2, axis)
    return Solid(tube.volume + caps, tube.center, tube.inertia + ball.inertia)


def cone(radius: float, half_height: float, axis: int) -> Solid:
    """Return a cone with its apex towards the positive axis, centred by its height."""
    volume = 2.0 / 3.0 * np.pi * radius**2 * half_height
    across = volume * 0.15 * (radius**2 + half_height**2)
    solid = _round(volume, across, 0.3 * volume * radius**2, axis)
    return structs.replace(solid, center=np.eye(3)[axis] * -half_height / 2.0)


def _round(volume: float, across: float, along: float, axis: int) -> Solid:
    moments = np.full(3, across)
    moments[axis] = along
    return Solid(volume, np.zeros(3), np.diag(moments))


def hull_triangles(points: Array) -> Indices | None:
    """Return the convex hull of (N, 3) points, as (K, 3) indices seen from outside.

    None if it is flat, or points are not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lower, upper = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
        size = float((upper - lower).max())
    if not 0.0 < size < np.inf:
        return None
    scaled = (points - (lower + upper) / 2.0) / size
    try:
        hull = ConvexHull(scaled)
    except (QhullError, ValueError):
        return None
    if hull.volume < _FLAT * hull.area:
        return None
    facets: Indices = hull.simplices
    a, b, c = (scaled[facets[:, corner]] for corner in range(3))
    outward = np.einsum("mi,mi->m", np.cross(b - a, c - a), hull.equations[:, :3])
    return np.where((outward < 0)[:, np.newaxis], facets[:, ::-1], facets)


def convex_hull(points: Array) -> Solid:
    hull = hull_triangles(points)
    return EMPTY if hull is None else _within(points[hull])


def hull_volume(points: Array, triangles: Indices) -> float:
    """Return the volume of the convex hull of a mesh, zero if it is flat."""
    return convex_hull(points[np.unique(triangles)]).volume


def enclosed_solid(points: Array, triangles: Indices, to_link: Array) -> Solid:
    """Return the solid of a mesh, or of its convex hull; EMPTY if that is flat."""
    placed = moved(points, to_link)
    around = convex_hull(placed[np.unique(triangles)])
    if not around.volume or not _encloses(points, triangles):
        return around
    inside = _within(placed[triangles])
    if not _LEAST <= inside.volume / around.volume <= 1 + _ROUNDING:
        return around
    a, b, c = np.linalg.eigvalsh(inside.inertia).tolist()
    return inside if a > 0 and a + b >= c * (1 - _ROUNDING) else around


def _within(corners: Array) -> Solid:
    """Return the solid in (M, 3, 3) triangles, seen in either orientation."""
    # About a point in the middle and in their own size: far and small coordinates lose digits.
    middle = corners.reshape(-1, 3).mean(axis=0)
    size = float(np.abs(corners - middle).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        found = trimesh.triangles.mass_properties((corners - middle) / size)
    sign = math.copysign(1.0, found.volume)
    inertia = np.asarray(found.inertia) * (sign * size**5)
    center = middle + size * np.asarray(found.center_mass)
    return Solid(sign * float(found.volume) * size**3, center, inertia)


def _encloses(points: Array, triangles: Indices) -> bool:
    """Return whether each edge has as many triangles on one side as on the other."""
    # Corners are equal if they are in single precision.
    single = points.astype(np.float32) + np.float32(0.0)
    corners = np.unique(single, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    ends = np.concatenate([corners[:, (0, 1)], corners[:, (1, 2)], corners[:, (2, 0)]])
    sign = np.sign(ends[:, 1] - ends[:, 0])
    _, edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return not np.bincount(edge.reshape(-1), sign).any()
