"""Matching of the shapes of a link on both sides.

Shapes of a link have no order. If both sides have the same number of each kind, each
shape is compared with the nearest one; otherwise one side may have split or merged
them, and all of them are compared as one surface. Convex colliders that fill others
without gaps are compared as solids: the faces between them are inside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import (
    Role,
    ShapeKind,
    ShapeObservation,
    Surface,
)
from urdf_usd.conformance.tolerance.bounds import (
    ARITHMETIC,
    QUATERNION,
    RELATIVE,
    length,
)
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.records.record import Difference

Array: TypeAlias = NDArray[np.float64]
Shapes: TypeAlias = tuple[ShapeObservation, ...]

# Axes that bound a shape come first, then their opposites.
_AXES = 3
# Numbers that are rounded on the way to a point of the link: the point itself and a
# scale, and the point once more in the reader of the mesh file.
_PER_POINT = 3 * RELATIVE + QUATERNION
# Part of the cube of its size that a convex shape fills if it is not flat.
_FLAT = 1e-6
_MOST_NAMED = 3
# Pairs of observations of one robot, in two roles.
_CACHE_SIZE = 64
# Surfaces in the cache: more than most robots have in all observations.
_MOST_SURFACES = 4096


class LinkShapes(Struct, frozen=True):
    """Shapes of one link in one role, on both sides: all of them, or a match."""

    link: str
    expected: Shapes
    actual: Shapes
    is_solid: bool = False  # both sides are the same solid, cut into convex pieces differently

    @property
    def surfaces(self) -> tuple[CombinedSurface, CombinedSurface]:
        """The combined surface of each side, all shapes of which have one."""
        return combined_surface(self.expected), combined_surface(self.actual)


class CombinedSurface(Struct, frozen=True, eq=False):
    """The combined surface of shapes, with the fields of ``Surface``."""

    reach: Array  # (D) support function [m]
    area: float
    edges: float
    oriented: Array  # (3) oriented area [m^2]
    volume: float
    center: Array  # (3) of the surface [m]
    triangles: int
    size: float  # diagonal of the bounds [m]; one for a point
    middle: Array  # (3) of the bounds [m]
    point_bound: float  # rounding of a point of the surface [m]
    support_alone: bool  # whether the other measures are unknown

    def volume_about(self, point: Array) -> float:
        """Signed volume of the cones from a point over all faces [m^3]."""
        return self.volume - float(point @ self.oriented) / 3.0


@lru_cache(maxsize=_CACHE_SIZE)
def shapes_by_link(
    expected: Observation, actual: Observation, role: Role, model: ToleranceModel
) -> tuple[LinkShapes, ...]:
    """Return the links of the robot that have shapes on either side.

    Links with a shape that an engine cannot state are left out.
    """
    names = tuple(link for group in model.groups for link in group)
    sides = []
    for side in (expected, actual):
        shapes: dict[str, dict[str, ShapeObservation]] = {name: {} for name in names}
        seen: set[str] = set()
        for shape in side.shapes:
            # A shape of several frames belongs to the first of these links that the robot has.
            if shape.role is role and shape.link in shapes and shape.source not in seen:
                seen.add(shape.source)
                shapes[shape.link][shape.source] = shape
        sides.append(shapes)
    pairs = (
        LinkShapes(name, tuple(sides[0][name].values()), tuple(sides[1][name].values()))
        for name in names
    )
    return tuple(
        pair
        for pair in pairs
        if (both := (*pair.expected, *pair.actual)) and all(shape.stated for shape in both)
    )


@lru_cache(maxsize=_CACHE_SIZE)
def matches_by_link(
    expected: Observation, actual: Observation, role: Role, model: ToleranceModel
) -> tuple[tuple[LinkShapes, ...], ...]:
    """Return the matched shapes of each of those links."""

    def compared(part: LinkShapes) -> LinkShapes:
        is_solid = kinds(part.expected) != kinds(part.actual) and same_solid(part, model)
        return structs.replace(part, is_solid=is_solid)

    links = shapes_by_link(expected, actual, role, model)
    return tuple(tuple(map(compared, matched_shapes(shapes))) for shapes in links)


def matched_shapes(shapes: LinkShapes) -> tuple[LinkShapes, ...]:
    """Match the shapes of a link; empty if a side has no surface.

    Shapes that the expected side cannot state are left out, unless the actual side has more
    shapes than remain.
    """
    expected = tuple(shape for shape in shapes.expected if shape.surface)
    actual = shapes.actual
    missing = len(expected) < len(shapes.expected) and len(actual) > len(expected)
    if missing or not expected or not actual or not all(shape.surface for shape in actual):
        return ()
    if kinds(expected) != kinds(actual):
        return (LinkShapes(shapes.link, expected, actual),)
    return tuple(LinkShapes(shapes.link, (a,), (b,)) for a, b in nearest(expected, actual))


def same_solid(shapes: LinkShapes, model: ToleranceModel) -> bool:
    """Whether convex colliders of one side fill those of the other without gaps.

    Each piece of the side with more of them has to lie in one of the other side, and the pieces
    in it have to have its support function and, together, its volume. Shapes that both sides
    have may be of any kind.
    """
    if any(shape.role is not Role.COLLISION for shape in (*shapes.expected, *shapes.actual)):
        return False
    expected, actual = [], list(shapes.actual)
    for shape in shapes.expected:
        same = next((other for other in actual if _is_equal(shape, other, model)), None)
        if same is None:
            expected.append(shape)
        else:
            actual.remove(same)
    whole, pieces = (actual, expected) if len(actual) <= len(expected) else (expected, actual)
    volumes = [convex_volume(shape, model) for shape in whole]
    filling: list[list[ShapeObservation]] = [[] for _ in whole]
    for piece in pieces:
        around = [
            (volume, index)
            for index, (shape, volume) in enumerate(zip(whole, volumes, strict=True))
            if volume is not None and contains(shape, piece, model)
        ]
        if not around:
            return False
        filling[min(around)[1]].append(piece)
    for shape, volume, parts in zip(whole, volumes, filling, strict=True):
        if volume is None or not parts:
            return False
        outer, inner = combined_surface((shape,)), combined_surface(tuple(parts))
        filled = [convex_volume(part, model) for part in parts]
        missing = volume - math.fsum(part for part in filled if part is not None)
        # The volume of a flat shape does not show a gap.
        if (
            None in filled
            or volume <= _FLAT * outer.size**3
            or not abs(missing) <= model.tolerance.shape * volume
            or not _is_near(inner.reach, outer.reach, outer, model)
        ):
            return False
    return True


def _is_equal(one: ShapeObservation, other: ShapeObservation, model: ToleranceModel) -> bool:
    if one.kind is not other.kind or one.surface is None or other.surface is None:
        return False
    first, second = combined_surface((one,)), combined_surface((other,))
    return (
        _is_near(first.reach, second.reach, first, model)
        and _is_near(first.center, second.center, first, model)
        and math.isclose(first.area, second.area, rel_tol=model.tolerance.shape)
    )


def _is_near(one: Array, other: Array, scale: CombinedSurface, model: ToleranceModel) -> bool:
    """Whether lengths [m] are equal within the tolerance of a shape."""
    allowed = max(scale.point_bound, model.tolerance.shape * scale.size)
    return float(np.abs(one - other).max()) <= allowed


def convex_volume(shape: ShapeObservation, model: ToleranceModel) -> float | None:
    """Return the volume of a convex collider [m^3]; None if it may be concave.

    Groups of an OBJ file collide as their convex hulls.
    """
    surface, hull = shape.surface, shape.hull_volume
    if surface is None or surface.support_alone:
        return None
    if shape.kind not in {ShapeKind.MESH, ShapeKind.OTHER}:
        return surface.volume
    if hull is None or shape.hull or shape.pieces > 1:
        return hull
    is_convex = math.isclose(hull, surface.volume, rel_tol=model.tolerance.shape)
    return hull if is_convex else None


def contains(outer: ShapeObservation, inner: ShapeObservation, model: ToleranceModel) -> bool:
    """Whether a shape is nowhere farther out than another, by support functions."""
    if outer.surface is None or inner.surface is None:
        return False
    around, inside = combined_surface((outer,)), combined_surface((inner,))
    farther = float((inside.reach - around.reach).max())
    allowed = max(inside.point_bound + around.point_bound, model.tolerance.shape * inside.size)
    return farther <= allowed


def kinds(shapes: Shapes) -> list[ShapeKind]:
    """Return the sorted kinds of shapes."""
    return sorted(shape.kind for shape in shapes)


def nearest(
    expected: Shapes, actual: Shapes
) -> tuple[tuple[ShapeObservation, ShapeObservation], ...]:
    """Pair shapes with surfaces: equal kinds first, then the most similar."""
    if len(expected) == len(actual) == 1:
        return ((expected[0], actual[0]),)
    alone = any(shape.surface and shape.surface.support_alone for shape in (*expected, *actual))

    def traits(surface: Surface) -> tuple[float, ...]:
        if alone:
            return surface.support
        width = math.copysign(abs(surface.volume) ** (1.0 / 3.0), surface.volume)
        return *surface.support, *surface.center, math.sqrt(surface.area), width

    sides = [
        np.array([traits(shape.surface) for shape in side if shape.surface])
        for side in (expected, actual)
    ]
    apart = np.abs(sides[0][:, np.newaxis] - sides[1]).max(axis=2)
    unlike = np.array([[one.kind is not other.kind for other in actual] for one in expected])
    pairs: dict[int, int] = {}
    for index in np.lexsort((apart.reshape(-1), unlike.reshape(-1))).tolist():
        one, other = divmod(index, len(actual))
        if one not in pairs and other not in pairs.values():
            pairs[one] = other
    return tuple((expected[one], actual[other]) for one, other in pairs.items())


# A shape of one observation is compared with those of several.
@lru_cache(maxsize=_MOST_SURFACES)
def combined_surface(shapes: Shapes) -> CombinedSurface:
    """Combine shapes, all of which have surfaces."""
    surfaces = [shape.surface for shape in shapes if shape.surface]
    areas = np.array([surface.area for surface in surfaces])
    area = math.fsum(areas)
    weights = areas / area if area else np.full(len(areas), 1.0 / len(areas))
    reach = np.array([surface.support for surface in surfaces]).max(axis=0)
    high, low = reach[:_AXES], reach[_AXES : 2 * _AXES]
    # The point, the scale and the rotation of its prim are stored, each relative to the distance
    # from the prim's origin, and so is that origin.
    origin = max(math.hypot(*shape.position) for shape in shapes)
    corner = length(np.maximum(high, low))
    single = surfaces[0].center if len(surfaces) == 1 else None
    return CombinedSurface(
        reach=reach,
        area=area,
        edges=math.fsum(surface.edges for surface in surfaces),
        oriented=np.array([surface.oriented_area for surface in surfaces]).sum(axis=0),
        volume=math.fsum(surface.volume for surface in surfaces),
        center=np.array(single or weights @ np.array([one.center for one in surfaces])),
        triangles=sum(surface.triangles for surface in surfaces),
        size=length(high + low) or 1.0,
        middle=(high - low) / 2.0,
        point_bound=_PER_POINT * (corner + origin) + RELATIVE * origin + ARITHMETIC,
        support_alone=any(surface.support_alone for surface in surfaces),
    )


def worst_of(differences: Sequence[Difference]) -> Difference:
    """Return the difference to report of a link: that of the worst grade, the largest.

    A part that cannot be compared comes before equal ones.
    """
    return max(differences, key=lambda one: (one.grade.severity, one.severity))


def named(shapes: Sequence[ShapeObservation]) -> str:
    """Format shapes: kinds, sizes, files."""
    if not shapes:
        return "nothing"
    texts = Counter(
        f"convex piece of {shape.name}"
        if len(shapes) > 1 and shape.role is Role.COLLISION and shape.pieces > 1
        else _name(shape)
        for shape in shapes
    )
    listed = [f"{count} x {text}" if count > 1 else text for text, count in texts.items()]
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name(shape: ShapeObservation) -> str:
    sizes = shape.size
    if not sizes and shape.surface:
        bounds = zip(shape.surface.lower, shape.surface.upper, strict=True)
        sizes = tuple(high - low for low, high in bounds)
    text = " x ".join(f"{size:.4g}" for size in sizes)
    label = f"{shape.kind} {shape.name}" if shape.kind is ShapeKind.MESH else shape.kind
    return f"{label} ({text} m)" if text else label
