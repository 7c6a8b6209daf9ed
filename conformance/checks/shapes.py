"""Shapes of links: number and kind, extents, surface area, volume, triangles.

If both sides have the same number of each kind, each shape is compared with the nearest one;
otherwise all of them are compared as one surface. Differences are relative to the shape. Bounds
follow from the rounding of stored points: if the corners of a triangle move by d, its area changes
by at most d/2 times the sum of its sides, and the volume of a closed surface by d times its area.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.observation.robot import Quantity, SettingKind
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation, Surface
from urdf_usd.conformance.tolerance import ARITHMETIC, QUATERNION, RELATIVE, ToleranceModel, length
from urdf_usd.reports.records.record import Difference, Grade, Range, Value
from urdf_usd.reports.text import value_text

Array: TypeAlias = NDArray[np.float64]
Shapes: TypeAlias = tuple[ShapeObservation, ...]
Measure: TypeAlias = "Callable[[LinkShapes, ToleranceModel], Iterator[Difference]]"

_NOUNS = {Role.COLLISION: "colliders", Role.VISUAL: "visuals"}
# Numbers that are rounded on the way to a point of the link: the point itself and a
# scale, and the point once more in the reader of the mesh file.
_PER_POINT = 3 * RELATIVE + QUATERNION
# A primitive's area has two factors and its volume three, each of which may be stored as a size
# and a scale.
_AREA = 4 * RELATIVE
_VOLUME = 6 * RELATIVE
# A surface is open if the sum of its area vectors exceeds this part of its area.
_CLOSED = 1e-3
# A wrong size beyond this factor is reported as a factor.
_FACTOR = 1.5
_MOST_NAMED = 3
# Pairs of observations of one robot, in two roles.
_CACHE_SIZE = 64
# Surfaces in the cache: more than most robots have in all observations.
_MOST_SURFACES = 4096


class LinkShapes(Struct, frozen=True, dict=True):
    """Shapes of one link in one role, on both sides: all of them, or a match."""

    link: str
    expected: Shapes
    actual: Shapes

    @cached_property
    def name(self) -> str:
        return named(self.expected)

    @cached_property
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
def shapes_by_link(sides: check.Sides, role: Role) -> tuple[LinkShapes, ...]:
    """Return the links with shapes on either side, but for those with one that is not stated."""
    names = tuple(link for group in sides.model.groups for link in group)
    both = []
    for side in (sides.expected, sides.actual):
        shapes: dict[str, dict[str, ShapeObservation]] = {name: {} for name in names}
        seen: set[str] = set()
        for shape in side.shapes:
            # A shape of several frames belongs to the first of these links that the robot has.
            if shape.role is role and shape.link in shapes and shape.source not in seen:
                seen.add(shape.source)
                shapes[shape.link][shape.source] = shape
        both.append({name: tuple(of_link.values()) for name, of_link in shapes.items()})
    pairs = (LinkShapes(name, both[0][name], both[1][name]) for name in names)
    return tuple(
        pair
        for pair in pairs
        if (every := (*pair.expected, *pair.actual)) and all(shape.stated for shape in every)
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _matches_by_link(sides: check.Sides, role: Role) -> tuple[tuple[LinkShapes, ...], ...]:
    """Return the matched shapes of each of those links."""
    return tuple(map(matched_shapes, shapes_by_link(sides, role)))


def matched_shapes(shapes: LinkShapes) -> tuple[LinkShapes, ...]:
    """Match the shapes of a link; empty if a side has no surface.

    Shapes that the expected side cannot state are left out, unless the actual side has more.
    """
    expected = tuple(shape for shape in shapes.expected if shape.surface)
    actual = shapes.actual
    missing = len(expected) < len(shapes.expected) and len(actual) > len(expected)
    if missing or not expected or not actual or not all(shape.surface for shape in actual):
        return ()
    if kinds(expected) != kinds(actual):
        return (LinkShapes(shapes.link, expected, actual),)
    return tuple(LinkShapes(shapes.link, (a,), (b,)) for a, b in nearest(expected, actual))


def contains(outer: ShapeObservation, inner: ShapeObservation, model: ToleranceModel) -> bool:
    """Whether a shape is nowhere farther out than another, by support functions."""
    if outer.surface is None or inner.surface is None:
        return False
    around, inside = combined_surface((outer,)), combined_surface((inner,))
    farther = float((inside.reach - around.reach).max())
    allowed = max(inside.point_bound + around.point_bound, model.tolerance.shape * inside.size)
    return farther <= allowed


def kinds(shapes: Shapes) -> list[ShapeKind]:
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
    # Axes that bound a shape come first, then their opposites.
    high, low = reach[:3], reach[3:6]
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
    """Return the difference to report of a link: that of the worst grade, the largest."""
    return max(differences, key=lambda one: (one.grade.severity, one.severity))


def named(shapes: Sequence[ShapeObservation]) -> str:
    texts = Counter[str]()
    for shape in shapes:
        sizes = shape.size
        if not sizes and shape.surface:
            bounds = zip(shape.surface.lower, shape.surface.upper, strict=True)
            sizes = tuple(high - low for low, high in bounds)
        text = " x ".join(f"{size:.4g}" for size in sizes)
        label = f"{shape.kind} {shape.name}" if shape.kind is ShapeKind.MESH else shape.kind
        texts[f"{label} ({text} m)" if text else label] += 1
    listed = [f"{count} x {text}" if count > 1 else text for text, count in texts.items()]
    more = len(listed) - _MOST_NAMED
    shown = ", ".join(listed[:_MOST_NAMED]) or "nothing"
    return shown + (f" and {more} more" if more > 0 else "")


def _define_presence(role: Role) -> None:
    """Define the check of number and kind of the shapes of links."""

    @check.check(
        f"{role}.shapes",
        f"{_NOUNS[role]} of links",
        Quantity(f"{role} shapes"),
        clause="Every link has the same number of shapes of each kind; each group of a collider's "
        "OBJ file is one. Shapes that are split, merged or written as meshes are close if their "
        "surface is the same and no convex hull is over several of them. A mesh of the URDF that "
        "cannot be read is reported, but does not fail the USD.",
        reads="physics:collisionEnabled" if role is Role.COLLISION else "purpose visibility",
    )
    def compare(sides: check.Sides) -> check.Differences:
        for shapes in shapes_by_link(sides, role):
            # Equality has no unit: 1 is close, and nan if a mesh of the URDF cannot be read.
            amount, text = _presence(shapes, sides.model)
            values = named(shapes.expected), named(shapes.actual)
            amounts, unknown = (amount, 0.0, float(amount == 1.0)), math.isnan(amount)
            subject, text = f"link {shapes.link}", f"{role} {text}"
            yield check.difference(subject, text, values, "", amounts, unknown=unknown)


def _presence(shapes: LinkShapes, model: ToleranceModel) -> tuple[float, str]:
    """Compare number and kind of the shapes of a link: 0 equal, 1 close, inf, nan unreadable."""
    expected, actual = shapes.expected, shapes.actual
    missing = [shape for shape in expected if shape.surface is None]
    replaced = [shape.problem for shape in actual if shape.surface and shape.problem]
    unread = [shape for shape in actual if shape.surface is None]
    if replaced:
        return math.inf, f"{named(actual)}: {replaced[0]}"
    if unread and not missing:
        return math.inf, f"{unread[0].name}: {unread[0].problem}"
    if missing and len(actual) >= len(expected) - len(missing):
        more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
        return math.nan, f"{missing[0].name}: {missing[0].problem}; not compared{more}"
    if kinds(expected) == kinds(actual):
        return 0.0, "shapes are equal in number and kind"
    message = f"has {named(actual)}, not {named(expected)}"
    same = bool(expected and actual and not missing and not unread)
    if same and len(expected) == len(actual):
        pairs = nearest(expected, actual)
        same = all(two.kind in {one.kind, ShapeKind.MESH} for one, two in pairs)
    if not same or any(
        one.grade is Grade.FAILS
        for part in matched_shapes(shapes)
        for measure in (support, area)
        for one in measure(part, model)
    ):
        return math.inf, message
    # Convex hulls that lie in no single shape of the URDF fill the space between shapes.
    spanning = tuple(
        shape
        for shape in actual
        if shape.hull and not any(contains(one, shape, model) for one in expected)
    )
    if spanning:
        return math.inf, f"{message}: {named(spanning)} is one convex hull over several"
    return 1.0, f"{message}: the same surface"


def _measure(
    name: str, title: str, collision: str = "", visual: str = ""
) -> Callable[[Measure], Measure]:
    """Define the checks of colliders and visuals by one measure; its docstring is the clause."""

    def define(measure: Measure) -> Measure:
        clause = " ".join((measure.__doc__ or "").split())

        def define_for(role: Role) -> None:
            quantity, titled = Quantity(f"{role} shapes"), title.format(_NOUNS[role])
            reads = collision if role is Role.COLLISION else visual

            @check.check(f"{role}.{name}", titled, quantity, "1", clause=clause, reads=reads)
            def compare(sides: check.Sides) -> check.Differences:
                links = _matches_by_link(sides, role)
                measured = ([d for part in of for d in measure(part, sides.model)] for of in links)
                return (worst_of(of_link) for of_link in measured if of_link)

        for role in _NOUNS:
            define_for(role)
        return measure

    return define


def _difference(
    part: LinkShapes,
    model: ToleranceModel,
    amount: float,
    bound: float,
    text: str,
    values: Sequence[Value | NDArray[np.float64]],
    unit: str = "",
) -> Difference:
    plain = [tuple(one.tolist()) if isinstance(one, np.ndarray) else one for one in values]
    amounts, text = (amount, bound, model.tolerance.shape), f"{part.name} {text}"
    return check.difference(f"link {part.link}", text, plain, unit, amounts)


for _role in _NOUNS:
    _define_presence(_role)


@_measure("support", "extents of {}", "axis height length radius size width", "points")
def support(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Support function along 134 directions, and centroid, relative to the size of the shape."""
    expected, actual = part.surfaces
    off = float(np.abs(actual.reach - expected.reach).max()) / expected.size
    bound = expected.point_bound / expected.size
    extents = [
        Range(low=tuple((-one.reach[3:6]).tolist()), high=tuple(one.reach[:3].tolist()))
        for one in (expected, actual)
    ]
    yield _difference(part, model, off, bound, _misplaced(expected, actual), extents, "m")
    if expected.support_alone or actual.support_alone:
        return
    # A shape inside others has no effect on the support function, but on the centroid.
    shift = length(actual.center - expected.center)
    bound += 2 * _area_bound(expected)
    text = f"has a surface whose centroid differs by {value_text(shift, 'm')}"
    centers = expected.center, actual.center
    yield _difference(part, model, shift / expected.size, bound, text, centers, "m")


def _misplaced(expected: CombinedSurface, actual: CombinedSurface) -> str:
    """Describe a wrong position or a wrong size."""
    off = float(np.abs(actual.reach - expected.reach).max())
    factor = actual.size / expected.size
    if not 1 / _FACTOR < factor < _FACTOR:
        return f"is {factor:.4g} times as large as in the URDF"
    shift = length(actual.middle - expected.middle)
    moved = shift > 0.9 * off and abs(actual.size - expected.size) <= 0.1 * off
    how = "is shifted by" if moved else "has extents that differ by"
    return f"{how} {value_text(shift if moved else off, 'm')}"


def _area_bound(shape: CombinedSurface) -> float:
    if not shape.area:
        return _AREA
    return shape.point_bound * shape.edges / (2.0 * shape.area) + _AREA


@_measure("area", "surface area of {}", visual="faceVertexCounts faceVertexIndices")
def area(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Surface area, relative; it also detects parts that others enclose."""
    expected, actual = part.surfaces
    if expected.support_alone or actual.support_alone:
        return
    values = expected.area, actual.area
    texts = [value_text(one, "m^2") for one in values]
    text = f"has {texts[1]} of surface, not {texts[0]}"
    amount, bound = check.relative_difference(*values), _area_bound(expected)
    yield _difference(part, model, amount, bound, text, values, "m^2")


@_measure("volume", "volume of {}")
def volume(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Signed volume of closed surfaces, relative; of open ones the sum of area vectors."""
    expected, actual = part.surfaces
    if expected.support_alone or actual.support_alone:
        return
    if length(expected.oriented) > _CLOSED * expected.area:
        off = length(actual.oriented - expected.oriented) / expected.area
        turned = float(actual.oriented @ expected.oriented) < 0
        text = "is inside out" if turned else "has differently oriented faces"
        sums = expected.oriented, actual.oriented
        yield _difference(part, model, off, _area_bound(expected), text, sums, "m^2")
        return
    volumes = [side.volume_about(expected.middle) for side in (expected, actual)]
    rounding = expected.point_bound * expected.area
    bound = _VOLUME + (rounding / abs(volumes[0]) if volumes[0] else math.inf)
    texts = [value_text(value, "m^3") for value in volumes]
    inside_out = "is inside out: it " if volumes[0] * volumes[1] < 0 else ""
    text = f"{inside_out}encloses {texts[1]}, not {texts[0]}"
    yield _difference(part, model, check.relative_difference(*volumes), bound, text, volumes, "m^3")


@_measure("triangles", "triangle count of {}")
def triangles(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Number of triangles of meshes, polygons counted as fans, relative."""
    counts = [side.triangles for side in part.surfaces]
    if all(counts):
        text = f"has {counts[1]} triangles, not {counts[0]}"
        yield _difference(part, model, check.relative_difference(*counts), 0.0, text, counts)


check.unexpected(
    SettingKind.FILTER,
    "collision.filters",
    "collision filters",
    "Links that no joint connects collide with all others: no filters, groups or triggers.",
    "physics:filteredGroups physics:filteredPairs physics:invertFilteredGroups "
    "physics:mergeGroup newton:selfCollisionEnabled physxArticulation:enabledSelfCollisions",
)
check.unexpected(
    SettingKind.APPROXIMATION,
    "collision.approximation",
    "collision approximations",
    "Meshes collide as their surface, its convex hull or parts of that, without offsets.",
)
check.unexpected(
    SettingKind.MATERIAL,
    "collision.materials",
    "contact materials",
    "Contact materials have friction 0.5 or 1, as simulators without one, and no restitution.",
    "physics:dynamicFriction physics:restitution physics:staticFriction",
)
