"""Shapes of links: number and kind, extents, surface area, volume, triangles.

Differences are relative to the shape's own size, area or volume. Bounds follow from the
rounding of stored points: if the corners of a triangle move by d, its area changes by
at most d/2 times the sum of its sides, and the volume of a closed surface by d times
its area.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from urdf_usd.conformance.checks.check import Check
from urdf_usd.conformance.checks.shape_pairs import (
    CombinedSurface,
    LinkShapes,
    Shapes,
    combined_surface,
    contains,
    convex_volume,
    direction_text,
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
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.conformance.tolerance.bounds import RELATIVE, length
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    ToleranceModel,
    number,
    relative_difference,
)
from urdf_usd.reports.records.record import Difference, Grade

Measure: TypeAlias = Callable[
    [LinkShapes, CombinedSurface, CombinedSurface, ToleranceModel],
    Iterator[Difference],
]

# A primitive's area has two factors and its volume three, each of which may be stored
# as a size and a scale.
_AREA = 4 * RELATIVE
_VOLUME = 6 * RELATIVE
# A surface is open if the sum of its area vectors exceeds this part of its area.
_CLOSED = 1e-3
# A wrong size beyond this factor is reported as a factor.
_FACTOR = 1.5
_NONE = "no link has such shapes, or none that both sides can state"
_UNPAIRED = "no shape is stated by both sides"


def present(
    role: Role,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Check that links have shapes of the same kinds.

    Shapes that are split, merged or written as meshes are close if their surface is
    the same.
    """
    links = shapes_by_link(expected, actual, role, model)
    return Compared(
        tuple(_presence(role, shapes, model) for shapes in links),
        note=None if links else _NONE,
    )


def measured(
    measure: Measure,
    role: Role,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare shapes by one measure; one difference per link, its worst one."""
    links = matches_by_link(expected, actual, role, model)
    by_link = (
        [
            difference
            for part, ours, theirs in matches
            for difference in measure(part, ours, theirs, model)
        ]
        for matches in links
    )
    differences = tuple(worst_of(of_link) for of_link in by_link if of_link)
    note = None if differences else _UNPAIRED if links else _NONE
    return Compared(differences, note=note)


def _presence(role: Role, shapes: LinkShapes, model: ToleranceModel) -> Difference:
    amount, allowed, message = _verdict(shapes, model)
    unknown = math.isnan(amount)
    return Difference(
        item=shapes.link,
        subject=f"link {shapes.link}",
        amount=amount,
        tolerance=allowed,
        message=f"link {shapes.link}: {role} {message}",
        expected=named(shapes.ours),
        actual=named(shapes.theirs),
        unknown=unknown,
    )


def _verdict(shapes: LinkShapes, model: ToleranceModel) -> tuple[float, float, str]:
    """Return amount and tolerance of a difference without unit, and its description.

    The amount is nan if a mesh of the URDF cannot be read.
    """
    fails = math.inf, 0.0
    missing = [shape for shape in shapes.ours if shape.surface is None]
    stand_ins = [s.problem for s in shapes.theirs if s.surface and s.problem]
    unstated = [s for s in shapes.theirs if s.surface is None]
    if stand_ins:
        return *fails, f"{named(shapes.theirs)}: {stand_ins[0]}"
    if unstated and not missing:
        return *fails, f"{unstated[0].name}: {unstated[0].problem}"
    if missing and len(shapes.theirs) >= len(shapes.ours) - len(missing):
        message = f"{missing[0].name}: {missing[0].problem}; not compared"
        more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
        return math.nan, 0.0, message + more
    if kinds(shapes.ours) == kinds(shapes.theirs):
        return 0.0, 0.0, "shapes are equal in number and kind"
    return _differently_divided(shapes, model)


def _differently_divided(shapes: LinkShapes, model: ToleranceModel) -> tuple[float, float, str]:
    """Judge shapes of different kinds or number, all of which can be read."""
    fails, close = (math.inf, 0.0), (1.0, 1.0)
    message = f"has {named(shapes.theirs)}, not {named(shapes.ours)}"
    if same_solid(shapes, model):
        return *close, f"{message}: the same solid"
    if not _same_surface(shapes, model):
        return *fails, message
    if joint := _joint_hulls(shapes, model):
        hulls = f"{named(joint)} is one convex hull over several"
        return *fails, f"{message}: {hulls}"
    return *close, f"{message}: the same surface"


def _same_surface(shapes: LinkShapes, model: ToleranceModel) -> bool:
    """Whether shapes of different kinds or number have the same surface."""
    ours, theirs = shapes.ours, shapes.theirs
    if not ours or not theirs or any(s.surface is None for s in (*ours, *theirs)):
        return False
    cut = matched_shapes(shapes)
    if len(ours) == len(theirs):
        pairs = nearest(ours, theirs)
        only_meshes = all(there.kind in {here.kind, ShapeKind.MESH} for here, there in pairs)
        if not only_meshes:
            return False
    return all(
        difference.grade is not Grade.FAILS
        for part in cut
        for measure in (support, area)
        for difference in measure(
            part, combined_surface(part.ours), combined_surface(part.theirs), model
        )
    )


def _joint_hulls(shapes: LinkShapes, model: ToleranceModel) -> Shapes:
    """Return the convex hulls of one side that lie in no single shape of the URDF.

    They fill the space between shapes. Smaller pieces of a shape are no such hulls.
    """
    return tuple(
        shape
        for shape in shapes.theirs
        if shape.hull and not any(contains(one, shape, model) for one in shapes.ours)
    )


def _difference(
    part: LinkShapes,
    amount: float,
    bound: float,
    model: ToleranceModel,
    words: tuple[str, str, str],
) -> Difference:
    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        amount=amount,
        bound=bound,
        tolerance=model.tolerance.shape,
        message=f"link {part.link}: {named(part.ours)} {words[0]}",
        expected=words[1],
        actual=words[2],
    )


def support(
    part: LinkShapes,
    ours: CombinedSurface,
    theirs: CombinedSurface,
    model: ToleranceModel,
) -> Iterator[Difference]:
    """Compare support functions and centroids of surfaces, relative to the size."""
    off = float(np.abs(theirs.reach - ours.reach).max())
    bound = ours.point_bound / ours.size
    yield _difference(
        part,
        off / ours.size,
        bound,
        model,
        (_misplaced(ours, theirs), _bounds(ours), _bounds(theirs)),
    )
    if part.is_solid or ours.support_alone or theirs.support_alone:
        return
    # A shape inside others has no effect on the support function, but on the centroid.
    shift = length(theirs.center - ours.center)
    yield _difference(
        part,
        shift / ours.size,
        bound + 2 * _area_bound(ours),
        model,
        (_off_center(ours, theirs), _point(ours), _point(theirs)),
    )


def _off_center(ours: CombinedSurface, theirs: CombinedSurface) -> str:
    moved = theirs.center - ours.center
    shift = length(moved)
    whole_moves = length(theirs.middle - ours.middle - moved) < 0.1 * shift
    how = "is shifted by" if whole_moves else "has a surface whose centroid differs by"
    return f"{how} {number(shift, 'm')}"


def _misplaced(ours: CombinedSurface, theirs: CombinedSurface) -> str:
    """Describe a wrong position or a wrong size."""
    apart = theirs.reach - ours.reach
    shift = theirs.middle - ours.middle
    farthest = int(np.abs(apart).argmax())
    off = float(abs(apart[farthest]))
    factor = theirs.size / ours.size
    if not 1 / _FACTOR < factor < _FACTOR:
        return f"is {factor:.4g} times as large as in the URDF"
    if length(shift) > 0.9 * off and abs(theirs.size - ours.size) <= 0.1 * off:
        return f"is shifted by {number(length(shift), 'm')}"
    way = "further" if apart[farthest] > 0 else "less"
    return f"extends {number(off, 'm')} {way} than in the URDF along {direction_text(farthest)}"


def _area_bound(shape: CombinedSurface) -> float:
    if not shape.area:
        return _AREA
    return shape.point_bound * shape.edges / (2.0 * shape.area) + _AREA


def area(
    part: LinkShapes,
    ours: CombinedSurface,
    theirs: CombinedSurface,
    model: ToleranceModel,
) -> Iterator[Difference]:
    """Compare surface areas, relative."""
    if part.is_solid or ours.support_alone or theirs.support_alone:
        return
    expected, actual = number(ours.area, "m^2"), number(theirs.area, "m^2")
    yield _difference(
        part,
        relative_difference(ours.area, theirs.area),
        _area_bound(ours),
        model,
        (f"has {actual} of surface, not {expected}", expected, actual),
    )


def volume(
    part: LinkShapes,
    ours: CombinedSurface,
    theirs: CombinedSurface,
    model: ToleranceModel,
) -> Iterator[Difference]:
    """Compare signed volumes, relative; of open surfaces, sums of area vectors."""
    if ours.support_alone or theirs.support_alone:
        return
    if part.is_solid:
        here, there = (
            math.fsum(convex_volume(shape, model) or 0.0 for shape in side)
            for side in (part.ours, part.theirs)
        )
        yield _difference(
            part,
            relative_difference(here, there),
            _VOLUME,
            model,
            _volume_words(here, there),
        )
        return
    if length(ours.oriented) > _CLOSED * ours.area:
        off = length(theirs.oriented - ours.oriented) / ours.area
        turned = float(theirs.oriented @ ours.oriented) < 0
        text = "is inside out" if turned else "has differently oriented faces"
        yield _difference(
            part,
            off,
            _area_bound(ours),
            model,
            (text, _normals(ours), _normals(theirs)),
        )
        return
    here, there = (side.volume_about(ours.middle) for side in (ours, theirs))
    bound = ours.point_bound * ours.area / abs(here) if here else math.inf
    yield _difference(
        part,
        relative_difference(here, there),
        bound + _VOLUME,
        model,
        _volume_words(here, there),
    )


def _volume_words(ours: float, theirs: float) -> tuple[str, str, str]:
    expected, actual = number(ours, "m^3"), number(theirs, "m^3")
    inside_out = "is inside out: it " if ours * theirs < 0 else ""
    return f"{inside_out}encloses {actual}, not {expected}", expected, actual


def triangles(
    part: LinkShapes,
    ours: CombinedSurface,
    theirs: CombinedSurface,
    model: ToleranceModel,
) -> Iterator[Difference]:
    """Compare numbers of triangles, polygons counted as fans, relative."""
    if part.is_solid or not ours.triangles or not theirs.triangles:
        return
    yield _difference(
        part,
        relative_difference(ours.triangles, theirs.triangles),
        0.0,
        model,
        (
            f"has {theirs.triangles} triangles, not {ours.triangles}",
            str(ours.triangles),
            str(theirs.triangles),
        ),
    )


def _bounds(shape: CombinedSurface) -> str:
    low, high = -shape.reach[3:6], shape.reach[:3]
    return f"from {_triple(low)} to {_triple(high)} m"


def _point(shape: CombinedSurface) -> str:
    return f"{_triple(shape.center)} m"


def _normals(shape: CombinedSurface) -> str:
    return f"sum of area vectors {_triple(shape.oriented)} m^2"


def _triple(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"


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
                partial(present, role),
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
                partial(measured, support, role),
                "Support function along 134 directions of the link frame, and centroid of the "
                "surface, relative to the size of the shape: pose, scale and dimensions. The "
                "convex hull of a mesh has the same extents.",
            ),
            (
                "area",
                "surface area of {}",
                "1",
                partial(measured, area, role),
                "Surface area, relative; it also detects parts that others enclose.",
            ),
            (
                "volume",
                "volume of {}",
                "1",
                partial(measured, volume, role),
                "Signed volume of closed surfaces, relative; of open ones the sum of area "
                "vectors. Both change sign if a surface is inside out.",
            ),
            (
                "triangles",
                "triangle count of {}",
                "1",
                partial(measured, triangles, role),
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
