"""Colliders that replace those of the URDF, because the user requested it.

They are compared with what the kind of collider promises, and are never exact:

* none: the link has no collider.
* hull: one convex hull for each mesh of the URDF, also for one of several groups.
* mesh: the triangles of each mesh.
* primitives: for each mesh a primitive whose support function is within the stated
  distance, which is the distance of two convex surfaces; or the convex hull.
* decomposition: convex pieces, none twice and none outside the mesh's extents. Together
  they have the mesh's support function and, if it is closed, its volume.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.check import Compared, Comparison, Sides, difference
from urdf_usd.conformance.checks.shapes import (
    LinkShapes,
    Shapes,
    area,
    combined_surface,
    named,
    shapes_by_link,
    support,
    triangles,
    volume,
    worst_of,
)
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import (
    Role,
    ShapeKind,
    ShapeObservation,
)
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.conformance.verdict.judged import ColliderChoice
from urdf_usd.reports.quantities import value_text
from urdf_usd.reports.records.record import Difference, Range, Value

_MEASURES = {
    "collision.support": support,
    "collision.area": area,
    "collision.volume": volume,
    "collision.triangles": triangles,
}
_PRIMITIVES = frozenset({ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE})
# Distance of the pieces of a decomposition from the mesh, as a part of its size, and of
# their volume from that of a closed mesh: the concavity at which CoACD stops.
_DECOMPOSED = 0.05
# Part of the area of a closed surface that the sum of its area vectors may have.
_CLOSED = 1e-3
# Rounding of a distance that the converter computed in double precision.
_SLACK = 1.001


def compare_chosen(
    check: str,
    comparison: Comparison,
    sides: tuple[Observation, Observation],
    model: ToleranceModel,
    choices: Mapping[str, ColliderChoice],
) -> Comparison:
    """Compare the colliders of some links with what was requested for them.

    Args:
        check: Identifier of the check.
        comparison: With the colliders of the URDF.
        sides: Observations of the URDF and of the USD.
        model: Bounds and tolerances.
        choices: Requested colliders, by link.

    Returns:
        The comparison, with other differences for these links.
    """
    if not isinstance(comparison, Compared):
        return comparison
    if check != "collision.shapes" and check not in _MEASURES:
        return comparison
    kept = tuple(d for d in comparison.differences if d.item not in choices)
    chosen = []
    for shapes in shapes_by_link(Sides(*sides, model), Role.COLLISION):
        choice = choices.get(shapes.link)
        if choice is None:
            continue
        if check == "collision.shapes":
            chosen.append(_present(shapes, choice, model))
            continue
        found = list(_measured(check, shapes, choice, model))
        if found:
            chosen.append(_marked(worst_of(found), choice))
    differences = (*kept, *chosen)
    reported = comparison.reported
    if reported is not None:
        reported = (*(d for d in reported if d.item not in choices), *chosen)
    return structs.replace(
        comparison,
        differences=differences,
        reported=reported,
        note=comparison.note if not differences else None,
    )


def _marked(made: Difference, choice: ColliderChoice) -> Difference:
    allowed = max(made.bound, made.tolerance)
    if made.amount <= allowed:
        message = f"{made.subject}: colliders of kind {choice.kind}, as requested"
    else:
        message = f"{made.message}; {choice.kind} was requested"
    return structs.replace(made, estimated=True, message=message)


def _present(shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel) -> Difference:
    """Check number and kinds of colliders.

    With a mesh of the URDF that cannot be read, they are right or unknown, as is what
    others may have made of it.
    """
    fault = _fault(shapes, choice, model)
    unread = [shape for shape in shapes.expected if shape.surface is None]
    unknown = bool(unread) and choice.kind != "none"
    unknown = unknown and (not fault or len(shapes.actual) > len(_readable(shapes)))
    text = fault or f"{named(shapes.actual)}: {choice.kind}, as requested"
    if unknown:
        text = f"{unread[0].name}: {unread[0].problem}; not compared"
    return difference(
        f"link {shapes.link}",
        "collision",
        (f"{choice.kind} for {named(shapes.expected)}", named(shapes.actual)),
        message=f"link {shapes.link}: collision {text}",
        amount=math.nan if unknown else math.inf if fault else 0.0,
        unknown=unknown,
        estimated=True,
    )


def _fault(shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel) -> str | None:
    """Return what is wrong with the colliders of a link, or None."""
    actual = shapes.actual
    if choice.kind == "none":
        return f"has {named(actual)}; none was requested" if actual else None
    if broken := [shape for shape in actual if shape.surface is None or shape.problem]:
        return f"{broken[0].name}: {broken[0].problem}"
    pairs = _pairs(shapes, choice)
    if pairs is None:
        wholes = len(_readable(shapes))
        return f"has {len(actual)} colliders for {wholes} of the URDF"
    for whole, found in pairs:
        kept = whole[0].kind is not ShapeKind.MESH
        if kept and [one.kind for one in found] != [whole[0].kind]:
            return f"has {named(found)} for {named(whole)}"
        if not (kept or all(_is_of_kind(one, choice.kind) for one in found)):
            return f"has {named(found)}, not {choice.kind} of {named(whole)}"
    return _doubled(actual, model) if choice.kind == "decomposition" else None


def _is_of_kind(shape: ShapeObservation, kind: str) -> bool:
    is_hull = shape.kind is ShapeKind.MESH and shape.hull
    match kind:
        case "hull" | "decomposition":
            return is_hull
        case "mesh":
            return shape.kind is ShapeKind.MESH and not shape.hull
        case _:
            return is_hull or shape.kind in _PRIMITIVES


def _doubled(pieces: Shapes, model: ToleranceModel) -> str | None:
    """Report a piece that is there twice."""
    for index, one in enumerate(pieces):
        first = combined_surface((one,))
        for other in pieces[index + 1 :]:
            apart = np.abs(combined_surface((other,)).reach - first.reach).max()
            if apart <= model.tolerance.shape * first.size:
                return f"has {one.name} twice"
    return None


def _wholes(shapes: Shapes) -> list[Shapes]:
    """Return the shapes of the URDF, each with all groups of its mesh."""
    by_source: dict[str, list[ShapeObservation]] = {}
    for shape in shapes:
        source, group, _ = shape.source.rpartition(" group ")
        by_source.setdefault(source if group else shape.source, []).append(shape)
    return [tuple(parts) for parts in by_source.values()]


def _readable(shapes: LinkShapes) -> list[Shapes]:
    """Return those shapes of the URDF whose groups can all be read."""
    return [whole for whole in _wholes(shapes.expected) if all(shape.surface for shape in whole)]


def _pairs(shapes: LinkShapes, choice: ColliderChoice) -> list[tuple[Shapes, Shapes]] | None:
    """Pair the shapes of the URDF that can be read with the nearest colliders.

    Every collider of a decomposition belongs to the nearest shape that contains it.
    None if there are too few or too many.
    """
    wholes = _readable(shapes)
    actual = list(shapes.actual)
    if not wholes and not actual:
        return []
    if not wholes or not all(shape.surface for shape in actual):
        return None
    if choice.kind != "decomposition" and len(actual) != len(wholes):
        return None
    outer = np.array([combined_surface(whole).reach for whole in wholes])
    inner = np.array([combined_surface((shape,)).reach for shape in actual])
    found: list[list[ShapeObservation]] = [[] for _ in wholes]
    if choice.kind == "decomposition":
        # How far a piece lies outside a shape; of several around it, the smallest.
        outside = np.maximum(inner[:, np.newaxis] - outer, 0.0).max(axis=2)
        sizes = np.array([combined_surface(whole).size for whole in wholes])
        outside = np.where(outside <= _DECOMPOSED * sizes, 0.0, outside)
        for piece, row in zip(actual, outside.tolist(), strict=True):
            order = [(distance, size) for distance, size in zip(row, sizes, strict=True)]
            found[order.index(min(order))].append(piece)
        return list(zip(wholes, map(tuple, found), strict=True)) if all(found) else None
    apart = np.abs(outer[:, np.newaxis] - inner).max(axis=2)
    for index in np.argsort(apart, axis=None, kind="stable").tolist():
        one, other = divmod(index, len(actual))
        taken = any(actual[other] in each for each in found)
        if not found[one] and not taken:
            found[one].append(actual[other])
    return list(zip(wholes, map(tuple, found), strict=True))


def _measured(
    check: str, shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel
) -> Iterator[Difference]:
    """Yield the differences of the colliders of a link in one measure."""
    pairs = None if choice.kind == "none" else _pairs(shapes, choice)
    for whole, found in pairs or ():
        part = LinkShapes(shapes.link, whole, found)
        if found[0].kind is whole[0].kind and choice.kind != "decomposition":
            yield from _MEASURES[check](part, model)
        elif check == "collision.support":
            yield _support(part, choice)
        elif check == "collision.volume" and choice.kind == "decomposition":
            yield from _volume_of_pieces(part)
        elif check == "collision.volume":
            yield from _volume_of_primitive(part, choice)


def _difference(
    part: LinkShapes,
    text: str,
    values: tuple[Value, Value],
    unit: str,
    **amounts: Any,  # noqa: ANN401  amount and tolerance
) -> Difference:
    subject = f"link {part.link}"
    return difference(subject, "", values, unit, message=f"{subject}: {text}", **amounts)


def _support(part: LinkShapes, choice: ColliderChoice) -> Difference:
    """Compare support functions with the distance that a collider may have."""
    expected, actual = part.surfaces
    is_cut = choice.kind == "decomposition"
    allowed = _DECOMPOSED * expected.size if is_cut else choice.distance(expected.size)
    off = float(np.abs(actual.reach - expected.reach).max())
    return _difference(
        part,
        f"{named(part.actual)} is {value_text(off, 'm')} from {named(part.expected)}, "
        f"not at most {value_text(allowed, 'm')}",
        (Range(low=0.0, high=allowed), off),
        "m",
        amount=off / expected.size,
        tolerance=allowed * _SLACK / expected.size,
    )


def _volume_of_pieces(part: LinkShapes) -> Iterator[Difference]:
    """Compare the volume of convex pieces with that of a closed mesh.

    It is at most that of the convex hull, apart from the same tolerance. Of several
    groups together that is not known, but that of a box around them.
    """
    expected, _ = part.surfaces
    if float(np.linalg.norm(expected.oriented)) > _CLOSED * expected.area:
        return
    solid = abs(expected.volume_about(expected.middle))
    hulls = [shape.hull_volume for shape in part.actual]
    total = math.fsum(one for one in hulls if one is not None)
    around = [shape.hull_volume for shape in part.expected]
    most = math.fsum(one for one in around if one is not None)
    if len(around) > 1:
        most = float(np.prod(expected.reach[:3] + expected.reach[3:6]))
    if not most or None in hulls or None in around or solid > most:
        return
    yield _difference(
        part,
        f"{len(hulls)} pieces of {value_text(total, 'm^3')}; mesh "
        f"{value_text(solid, 'm^3')}, its convex hull {value_text(most, 'm^3')}",
        (Range(low=solid, high=most), total),
        "m^3",
        amount=max(solid - total, total - most, 0.0) / most,
        tolerance=_DECOMPOSED,
    )


def _volume_of_primitive(part: LinkShapes, choice: ColliderChoice) -> Iterator[Difference]:
    """Compare the volume of a primitive with that of a convex hull.

    Volumes of convex bodies at a distance d differ by at most d times the area of the
    larger one grown by d, which is less than that of a box around it.
    """
    expected, _ = part.surfaces
    hull = part.expected[0].hull_volume if len(part.expected) == 1 else None
    surface = part.actual[0].surface
    if not hull or surface is None:
        return
    distance = choice.distance(expected.size)
    a, b, c = (expected.reach[:3] + expected.reach[3:6] + 2 * distance).tolist()
    yield _difference(
        part,
        f"{named(part.actual)} has {value_text(surface.volume, 'm^3')}, the convex hull "
        f"{value_text(hull, 'm^3')}",
        (hull, surface.volume),
        "m^3",
        amount=abs(surface.volume - hull) / hull,
        tolerance=2 * (a * b + b * c + c * a) * distance / hull,
    )
