"""Shapes of links: number and kind, extents, surface area, volume, triangles.

Differences are relative to the shape's own size, area or volume. Bounds follow from the rounding
of stored points: if the corners of a triangle move by d, its area changes by at most d/2 times
the sum of its sides, and the volume of a closed surface by d times its area.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.checks.check import Check, Compared, Comparison, relative_difference
from urdf_usd.conformance.checks.shape_pairs import (
    CombinedSurface,
    LinkShapes,
    contains,
    convex_volume,
    kinds,
    matched_shapes,
    matches_by_link,
    named,
    nearest,
    same_solid,
    shapes_by_link,
    worst_of,
)
from urdf_usd.conformance.checks.unexpected_settings import unexpected_check
from urdf_usd.conformance.observation.robot import Observation, Quantity, SettingKind
from urdf_usd.conformance.observation.shapes import DIRECTIONS, Role, ShapeKind
from urdf_usd.conformance.tolerance.bounds import RELATIVE, length
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.quantities import value_text
from urdf_usd.reports.records.record import Difference, Grade, Range, Value

Measure: TypeAlias = Callable[[LinkShapes, ToleranceModel], Iterator[Difference]]

# A primitive's area has two factors and its volume three, each of which may be stored as a size
# and a scale.
_AREA = 4 * RELATIVE
_VOLUME = 6 * RELATIVE
# A surface is open if the sum of its area vectors exceeds this part of its area.
_CLOSED = 1e-3
# A wrong size beyond this factor is reported as a factor.
_FACTOR = 1.5
_NONE = "no link has such shapes, or none that both sides can state"


def _present(
    role: Role, expected: Observation, actual: Observation, model: ToleranceModel
) -> Comparison:
    links = shapes_by_link(expected, actual, role, model)
    differences = []
    for shapes in links:
        # Equality has no unit: 1 is close, and nan if a mesh of the URDF cannot be read.
        amount, message = _presence(shapes, model)
        differences.append(
            Difference(
                item=shapes.link,
                subject=f"link {shapes.link}",
                message=f"link {shapes.link}: {role} {message}",
                expected=named(shapes.expected),
                actual=named(shapes.actual),
                amount=amount,
                tolerance=1.0 if amount == 1.0 else 0.0,
                unknown=math.isnan(amount),
            )
        )
    return Compared(tuple(differences), note=None if links else _NONE)


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
    if same_solid(shapes, model):
        return 1.0, f"{message}: the same solid"
    if not _same_surface(shapes, model):
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


def _same_surface(shapes: LinkShapes, model: ToleranceModel) -> bool:
    """Whether shapes of different kinds or number have the same surface."""
    expected, actual = shapes.expected, shapes.actual
    if not expected or not actual or any(s.surface is None for s in (*expected, *actual)):
        return False
    if len(expected) == len(actual):
        pairs = nearest(expected, actual)
        if not all(two.kind in {one.kind, ShapeKind.MESH} for one, two in pairs):
            return False
    return all(
        difference.grade is not Grade.FAILS
        for part in matched_shapes(shapes)
        for measure in (support, area)
        for difference in measure(part, model)
    )


def _measured(
    measure: Measure,
    role: Role,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare shapes by one measure; one difference per link, its worst one."""
    links = matches_by_link(expected, actual, role, model)
    by_link = (
        [difference for part in parts for difference in measure(part, model)] for parts in links
    )
    differences = tuple(worst_of(of_link) for of_link in by_link if of_link)
    note = None if differences else "no shape is stated by both sides" if links else _NONE
    return Compared(differences, note=note)


def _difference(
    part: LinkShapes,
    amount: float,
    bound: float,
    model: ToleranceModel,
    text: str,
    expected: Value,
    actual: Value,
    unit: str = "",
) -> Difference:
    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        message=f"link {part.link}: {named(part.expected)} {text}",
        expected=expected,
        actual=actual,
        unit=unit,
        amount=amount,
        bound=bound,
        tolerance=model.tolerance.shape,
    )


def support(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Compare support functions and centroids of surfaces, relative to the size."""
    expected, actual = part.surfaces
    off = float(np.abs(actual.reach - expected.reach).max()) / expected.size
    bound = expected.point_bound / expected.size
    text, extents = _misplaced(expected, actual), (_extent(expected), _extent(actual))
    yield _difference(part, off, bound, model, text, extents[0], extents[1], "m")
    if part.is_solid or expected.support_alone or actual.support_alone:
        return
    # A shape inside others has no effect on the support function, but on the centroid.
    moved = actual.center - expected.center
    shift = length(moved)
    whole_moves = length(actual.middle - expected.middle - moved) < 0.1 * shift
    how = "is shifted by" if whole_moves else "has a surface whose centroid differs by"
    bound += 2 * _area_bound(expected)
    how = f"{how} {value_text(shift, 'm')}"
    centers = _triple(expected.center), _triple(actual.center)
    yield _difference(part, shift / expected.size, bound, model, how, centers[0], centers[1], "m")


def _misplaced(expected: CombinedSurface, actual: CombinedSurface) -> str:
    """Describe a wrong position or a wrong size."""
    apart = actual.reach - expected.reach
    shift = length(actual.middle - expected.middle)
    farthest = int(np.abs(apart).argmax())
    off = float(abs(apart[farthest]))
    factor = actual.size / expected.size
    if not 1 / _FACTOR < factor < _FACTOR:
        return f"is {factor:.4g} times as large as in the URDF"
    if shift > 0.9 * off and abs(actual.size - expected.size) <= 0.1 * off:
        return f"is shifted by {value_text(shift, 'm')}"
    direction = "(" + ", ".join(f"{value:.2g}" for value in DIRECTIONS[farthest]) + ")"
    way = "further" if apart[farthest] > 0 else "less"
    return f"extends {value_text(off, 'm')} {way} than in the URDF along {direction}"


def _area_bound(shape: CombinedSurface) -> float:
    if not shape.area:
        return _AREA
    return shape.point_bound * shape.edges / (2.0 * shape.area) + _AREA


def area(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Compare surface areas, relative."""
    expected, actual = part.surfaces
    if part.is_solid or expected.support_alone or actual.support_alone:
        return
    amount = relative_difference(expected.area, actual.area)
    texts = value_text(expected.area, "m^2"), value_text(actual.area, "m^2")
    text = f"has {texts[1]} of surface, not {texts[0]}"
    bound = _area_bound(expected)
    yield _difference(part, amount, bound, model, text, expected.area, actual.area, "m^2")


def volume(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Compare signed volumes, relative; of open surfaces, sums of area vectors."""
    expected, actual = part.surfaces
    if expected.support_alone or actual.support_alone:
        return
    if not part.is_solid and length(expected.oriented) > _CLOSED * expected.area:
        off = length(actual.oriented - expected.oriented) / expected.area
        turned = float(actual.oriented @ expected.oriented) < 0
        text = "is inside out" if turned else "has differently oriented faces"
        sums = _triple(expected.oriented), _triple(actual.oriented)
        yield _difference(part, off, _area_bound(expected), model, text, sums[0], sums[1], "m^2")
        return
    if part.is_solid:
        volumes = [
            math.fsum(convex_volume(shape, model) or 0.0 for shape in side)
            for side in (part.expected, part.actual)
        ]
        bound = _VOLUME
    else:
        volumes = [side.volume_about(expected.middle) for side in (expected, actual)]
        rounding = expected.point_bound * expected.area
        bound = _VOLUME + (rounding / abs(volumes[0]) if volumes[0] else math.inf)
    texts = [value_text(value, "m^3") for value in volumes]
    inside_out = "is inside out: it " if volumes[0] * volumes[1] < 0 else ""
    text = f"{inside_out}encloses {texts[1]}, not {texts[0]}"
    amount = relative_difference(volumes[0], volumes[1])
    yield _difference(part, amount, bound, model, text, volumes[0], volumes[1], "m^3")


def triangles(part: LinkShapes, model: ToleranceModel) -> Iterator[Difference]:
    """Compare numbers of triangles, polygons counted as fans, relative."""
    expected, actual = part.surfaces
    if part.is_solid or not expected.triangles or not actual.triangles:
        return
    amount = relative_difference(expected.triangles, actual.triangles)
    text = f"has {actual.triangles} triangles, not {expected.triangles}"
    yield _difference(part, amount, 0.0, model, text, expected.triangles, actual.triangles)


def _extent(side: CombinedSurface) -> Range:
    return Range(low=_triple(-side.reach[3:6]), high=_triple(side.reach[:3]))


def _triple(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(values.tolist())


def shape_checks(role: Role) -> tuple[Check, ...]:
    """Return the checks of shapes in one role."""
    name = "colliders" if role is Role.COLLISION else "visuals"
    quantity = Quantity.COLLISION if role is Role.COLLISION else Quantity.VISUAL
    return tuple(
        Check(f"{role}.{part}", title.format(name), unit, quantity, function, clause)
        for part, title, unit, function, clause in (
            (
                "shapes",
                "{} of links",
                "",
                partial(_present, role),
                "Every link has the same number of shapes of each kind; each group of a "
                "collider's OBJ file is one. Shapes that are split, merged or written as meshes "
                "are close if their surface is the same and no convex hull is over several of "
                "them, or if convex colliders fill the same solid. A mesh of the URDF that cannot"
                " be read is reported, but does not fail the USD.",
            ),
            (
                "support",
                "extents of {}",
                "1",
                partial(_measured, support, role),
                "Support function along 134 directions of the link frame, and centroid of the "
                "surface, relative to the size of the shape: pose, scale and dimensions. The "
                "convex hull of a mesh has the same extents.",
            ),
            (
                "area",
                "surface area of {}",
                "1",
                partial(_measured, area, role),
                "Surface area, relative; it also detects parts that others enclose.",
            ),
            (
                "volume",
                "volume of {}",
                "1",
                partial(_measured, volume, role),
                "Signed volume of closed surfaces, relative; of open ones the sum of area "
                "vectors. Both change sign if a surface is inside out.",
            ),
            (
                "triangles",
                "triangle count of {}",
                "1",
                partial(_measured, triangles, role),
                "Number of triangles of meshes, polygons counted as fans, relative: detects "
                "decimated meshes.",
            ),
        )
    )


COLLISION_CHECKS = (
    *shape_checks(Role.COLLISION),
    unexpected_check(
        "collision.filters",
        "collision filters",
        SettingKind.FILTER,
        "Links that no joint connects collide with each other and with everything else; links "
        "that a joint connects do not collide with each other. Filtered pairs, collision groups, "
        "triggers and self-collision flags change that.",
    ),
    unexpected_check(
        "collision.approximation",
        "collision approximations",
        SettingKind.APPROXIMATION,
        "The approximation of every mesh is one that UsdPhysics or PhysX defines, and keeps the "
        "surface or its convex hull, perhaps in parts: consumers differ in what they make of "
        "others. Contacts are at the surface itself.",
    ),
    unexpected_check(
        "collision.materials",
        "contact materials",
        SettingKind.MATERIAL,
        "No material with friction or restitution is bound to a collider, except one with "
        "friction 0.5 or 1 and no restitution: URDF states none, so that every simulator uses its"
        " own, which are these.",
    ),
)
