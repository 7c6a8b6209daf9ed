"""Matching of the shapes of a link on both sides.

Shapes of a link have no order. If both sides have the same number of each kind, each
shape is compared with the nearest one; otherwise one side may have split or merged
them, and all of them are compared as one surface. Convex colliders that fill others
without gaps are compared as solids: the faces between them are inside.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import (
    DIRECTIONS,
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
from urdf_usd.conformance.tolerance.comparison import ToleranceModel
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
    """Shapes of one link in one role, on both sides: all of them, or a match.

    Attributes:
        link: Name of the link.
        ours: Of the first side.
        theirs: Of the second side.
        is_solid: Whether both sides are the same solid, cut into convex pieces
            differently.
    """

    link: str
    ours: Shapes
    theirs: Shapes
    is_solid: bool = False


class CombinedSurface(Struct, frozen=True, eq=False):
    """The combined surface of shapes, with the fields of ``Surface``.

    Attributes:
        reach: (D) support function [m].
        center: (3) of the surface [m].
        oriented: (3) oriented area [m^2].
        size: Diagonal of the bounds [m]; one for a point.
        middle: (3) of the bounds [m].
        point_bound: Rounding of a point of the surface [m].
        support_alone: Whether the other measures are unknown.
    """

    reach: Array
    area: float
    edges: float
    oriented: Array
    volume: float
    center: Array
    triangles: int
    size: float
    middle: Array
    point_bound: float
    support_alone: bool

    def volume_about(self, point: Array) -> float:
        """Signed volume of the cones from a point over all faces [m^3]."""
        return self.volume - float(point @ self.oriented) / 3.0


@lru_cache(maxsize=_CACHE_SIZE)
def shapes_by_link(
    expected: Observation,
    actual: Observation,
    role: Role,
    model: ToleranceModel,
) -> tuple[LinkShapes, ...]:
    """Return the links of the robot that have shapes on either side.

    Links with a shape that an engine cannot state are left out.
    """
    names = tuple(link for group in model.groups for link in group)
    ours = _of_links(expected, role, frozenset(names))
    theirs = _of_links(actual, role, frozenset(names))
    pairs = (LinkShapes(n, tuple(ours[n]), tuple(theirs[n])) for n in names)
    return tuple(
        pair
        for pair in pairs
        if (pair.ours or pair.theirs) and all(shape.stated for shape in (*pair.ours, *pair.theirs))
    )


@lru_cache(maxsize=_CACHE_SIZE)
def matches_by_link(
    expected: Observation,
    actual: Observation,
    role: Role,
    model: ToleranceModel,
) -> tuple[tuple[tuple[LinkShapes, CombinedSurface, CombinedSurface], ...], ...]:
    """Return the matched shapes of each of those links, and their surfaces.

    Cached, as several checks measure them.
    """
    return tuple(
        tuple(
            (part, combined_surface(part.ours), combined_surface(part.theirs))
            for part in _matched_solids(shapes, model)
        )
        for shapes in shapes_by_link(expected, actual, role, model)
    )


def _of_links(
    reading: Observation, role: Role, links: frozenset[str]
) -> defaultdict[str, list[ShapeObservation]]:
    shapes_of: defaultdict[str, list[ShapeObservation]] = defaultdict(list)
    seen: set[str] = set()
    for shape in reading.shapes:
        if shape.role is role and shape.link in links and shape.source not in seen:
            seen.add(shape.source)
            shapes_of[shape.link].append(shape)
    return shapes_of


def matched_shapes(shapes: LinkShapes) -> tuple[LinkShapes, ...]:
    """Match the shapes of a link; empty if a side has no surface.

    Shapes that the first side cannot state are left out, unless the second side has
    more shapes than remain.
    """
    ours = tuple(shape for shape in shapes.ours if shape.surface)
    theirs = shapes.theirs
    missing = len(ours) < len(shapes.ours) and len(theirs) > len(ours)
    if missing or not ours or not theirs or not all(s.surface for s in theirs):
        return ()
    if kinds(ours) != kinds(theirs):
        return (LinkShapes(shapes.link, ours, theirs),)
    return tuple(
        LinkShapes(shapes.link, (here,), (there,)) for here, there in nearest(ours, theirs)
    )


def _matched_solids(shapes: LinkShapes, model: ToleranceModel) -> tuple[LinkShapes, ...]:
    """Match the shapes of a link, and find the matches that are the same solid."""
    return tuple(
        part
        if kinds(part.ours) == kinds(part.theirs)
        else structs.replace(part, is_solid=same_solid(part, model))
        for part in matched_shapes(shapes)
    )


def same_solid(shapes: LinkShapes, model: ToleranceModel) -> bool:
    """Whether convex colliders of one side fill those of the other without gaps.

    Each piece of the side with more of them has to lie in one of the other side, and
    the pieces in it have to have its support function and, together, its volume.
    Shapes that both sides have may be of any kind.
    """
    if any(s.role is not Role.COLLISION for s in (*shapes.ours, *shapes.theirs)):
        return False
    ours, theirs = _without_equal(shapes, model)
    whole, pieces = (theirs, ours) if len(theirs) <= len(ours) else (ours, theirs)
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
    return all(
        volume is not None and parts and _fills(parts, shape, volume, model)
        for shape, volume, parts in zip(whole, volumes, filling, strict=True)
    )


def _fills(
    pieces: Sequence[ShapeObservation],
    whole: ShapeObservation,
    volume: float,
    model: ToleranceModel,
) -> bool:
    """Whether pieces inside a convex shape have its extents and its volume."""
    outer, inner = combined_surface((whole,)), combined_surface(tuple(pieces))
    volumes = [convex_volume(piece, model) for piece in pieces]
    filled = math.fsum(one for one in volumes if one is not None)
    allowed = model.tolerance.shape
    # The volume of a flat shape does not show a gap.
    return (
        None not in volumes
        and volume > _FLAT * outer.size**3
        and abs(filled - volume) <= allowed * volume
        and _is_near(inner.reach, outer.reach, outer, model)
    )


def _without_equal(
    shapes: LinkShapes, model: ToleranceModel
) -> tuple[list[ShapeObservation], list[ShapeObservation]]:
    """Return the shapes of both sides without those that the other side has as well."""
    ours, theirs = [], list(shapes.theirs)
    for here in shapes.ours:
        same = next((there for there in theirs if _is_equal(here, there, model)), None)
        if same is None:
            ours.append(here)
        else:
            theirs.remove(same)
    return ours, theirs


def _is_equal(here: ShapeObservation, there: ShapeObservation, model: ToleranceModel) -> bool:
    if here.kind is not there.kind or here.surface is None or there.surface is None:
        return False
    one, other = combined_surface((here,)), combined_surface((there,))
    return (
        _is_near(one.reach, other.reach, one, model)
        and _is_near(one.center, other.center, one, model)
        and math.isclose(one.area, other.area, rel_tol=model.tolerance.shape)
    )


def _is_near(here: Array, there: Array, scale: CombinedSurface, model: ToleranceModel) -> bool:
    """Whether lengths [m] are equal within the tolerance of a shape."""
    allowed = max(scale.point_bound, model.tolerance.shape * scale.size)
    return float(np.abs(here - there).max()) <= allowed


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


def nearest(ours: Shapes, theirs: Shapes) -> tuple[tuple[ShapeObservation, ShapeObservation], ...]:
    """Pair shapes with surfaces: equal kinds first, then the most similar."""
    if len(ours) == len(theirs) == 1:
        return ((ours[0], theirs[0]),)
    alone = any(s.surface and s.surface.support_alone for s in (*ours, *theirs))
    left, right = (_traits(side, support_alone=alone) for side in (ours, theirs))
    apart = np.abs(left[:, np.newaxis] - right).max(axis=2)
    unlike = np.array([[a.kind is not b.kind for b in theirs] for a in ours])
    order = np.lexsort((apart.reshape(-1), unlike.reshape(-1)))
    pairs: list[tuple[ShapeObservation, ShapeObservation]] = []
    free = set(range(len(ours))), set(range(len(theirs)))
    for place in order.tolist():
        here, there = divmod(place, len(theirs))
        if here in free[0] and there in free[1]:
            free[0].discard(here)
            free[1].discard(there)
            pairs.append((ours[here], theirs[there]))
    return tuple(pairs)


def _traits(shapes: Shapes, *, support_alone: bool) -> Array:
    surfaces = [shape.surface for shape in shapes if shape.surface]
    if support_alone:
        return np.array([surface.support for surface in surfaces])
    return np.array(
        [
            (
                *s.support,
                *s.center,
                math.sqrt(s.area),
                math.copysign(abs(s.volume) ** (1.0 / 3.0), s.volume),
            )
            for s in surfaces
        ]
    )


@lru_cache(maxsize=_MOST_SURFACES)
def combined_surface(shapes: Shapes) -> CombinedSurface:
    """Combine shapes, all of which have surfaces.

    Cached, as a shape of one observation is compared with those of several.
    """
    surfaces = [shape.surface for shape in shapes if shape.surface]
    joined = surfaces[0] if len(surfaces) == 1 else _joined(surfaces)
    reach = np.array(joined.support)
    high, low = reach[:_AXES], reach[_AXES : 2 * _AXES]
    distance = max(math.hypot(*shape.position) for shape in shapes)
    return CombinedSurface(
        reach=reach,
        area=joined.area,
        edges=joined.edges,
        oriented=np.array(joined.oriented_area),
        volume=joined.volume,
        center=np.array(joined.center),
        triangles=joined.triangles,
        size=length(high + low) or 1.0,
        middle=(high - low) / 2.0,
        point_bound=_point_bound(length(np.maximum(high, low)), distance),
        support_alone=joined.support_alone,
    )


def _joined(surfaces: Sequence[Surface]) -> Surface:
    area = math.fsum(surface.area for surface in surfaces)
    weights = np.array([surface.area for surface in surfaces])
    weights = weights / area if area else np.full(len(surfaces), 1.0 / len(surfaces))
    supports = np.array([surface.support for surface in surfaces])
    oriented = np.array([surface.oriented_area for surface in surfaces])
    ox, oy, oz = oriented.sum(axis=0).tolist()
    x, y, z = (weights @ np.array([surface.center for surface in surfaces])).tolist()
    return Surface(
        support=tuple(supports.max(axis=0).tolist()),
        area=area,
        edges=math.fsum(surface.edges for surface in surfaces),
        oriented_area=(ox, oy, oz),
        volume=math.fsum(surface.volume for surface in surfaces),
        center=(x, y, z),
        triangles=sum(surface.triangles for surface in surfaces),
        support_alone=any(surface.support_alone for surface in surfaces),
    )


def _point_bound(corner: float, origin: float) -> float:
    """Return the rounding of a point of a surface [m].

    The point, the scale and the rotation of its prim are stored, each relative to the
    distance from the prim's origin, and so is that origin.

    Args:
        corner: Distance of the farthest corner of the bounds [m].
        origin: Largest distance of an origin of a shape [m].
    """
    return _PER_POINT * (corner + origin) + RELATIVE * origin + ARITHMETIC


def worst_of(differences: Sequence[Difference]) -> Difference:
    """Return the difference to report of a link: that of the worst grade, the largest.

    A part that cannot be compared comes before equal ones.
    """
    if len(differences) == 1:
        return differences[0]
    return max(differences, key=lambda one: (one.grade.severity, one.severity))


def direction_text(index: int) -> str:
    """Format a direction."""
    return "(" + ", ".join(f"{value:.2g}" for value in DIRECTIONS[index]) + ")"


def named(shapes: Sequence[ShapeObservation]) -> str:
    """Format shapes: kinds, sizes, files."""
    if not shapes:
        return "nothing"
    texts = Counter(
        f"convex piece of {shape.name}" if len(shapes) > 1 and _is_piece(shape) else _name(shape)
        for shape in shapes
    )
    listed = [f"{count} x {text}" if count > 1 else text for text, count in texts.items()]
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_piece(shape: ShapeObservation) -> bool:
    return shape.role is Role.COLLISION and shape.pieces > 1


def _name(shape: ShapeObservation) -> str:
    sizes = shape.size
    if not sizes and shape.surface:
        bounds = zip(shape.surface.lower, shape.surface.upper, strict=True)
        sizes = tuple(high - low for low, high in bounds)
    text = " x ".join(f"{size:.4g}" for size in sizes)
    label = f"{shape.kind} {shape.name}" if shape.kind is ShapeKind.MESH else shape.kind
    return f"{label} ({text} m)" if text else label
