"""Colliders that replace those of the URDF, because the user requested it.

They are compared with what the kind of collider promises, and are never exact: no collider; one
convex hull for each mesh; the triangles of each mesh; for each mesh a primitive whose support
function is within the stated distance, or the convex hull; or convex pieces, none twice and none
outside the mesh's extents, with its support function and, if it is closed, its volume.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks import shapes as compared
from urdf_usd.conformance.checks.check import Compared, Comparison, Sides, difference
from urdf_usd.conformance.checks.shapes import LinkShapes, Shapes, combined_surface, named
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation
from urdf_usd.conformance.tolerance import ToleranceModel
from urdf_usd.conformance.verdict.judged import ColliderChoice
from urdf_usd.reports.records.record import Difference, Range
from urdf_usd.reports.text import value_text

_MEASURES = {
    "collision.support": compared.support,
    "collision.area": compared.area,
    "collision.volume": compared.volume,
    "collision.triangles": compared.triangles,
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
    check: str, comparison: Comparison, sides: Sides, choices: Mapping[str, ColliderChoice]
) -> Comparison:
    """Return a comparison with other differences for links whose colliders were requested."""
    is_measure = check in _MEASURES
    if not isinstance(comparison, Compared) or not (is_measure or check == "collision.shapes"):
        return comparison
    chosen = []
    for shapes in compared.shapes_by_link(sides, Role.COLLISION):
        if (choice := choices.get(shapes.link)) is None:
            continue
        if not is_measure:
            chosen.append(_present(shapes, choice, sides.model))
        elif found := list(_measured(check, shapes, choice, sides.model)):
            made = compared.worst_of(found)
            message = f"{made.message}; {choice.kind} was requested"
            if made.amount <= max(made.bound, made.tolerance):
                message = f"{made.subject}: colliders of kind {choice.kind}, as requested"
            chosen.append(structs.replace(made, estimated=True, message=message))
    kept = comparison.each(lambda one: None if one.item in choices else one)
    differences = (*kept.differences, *chosen)
    reported = None if kept.reported is None else (*kept.reported, *chosen)
    return Compared(differences, reported, None if differences else comparison.note)


def _present(shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel) -> Difference:
    """Check number and kinds of colliders; unknown with a mesh of the URDF that cannot be read."""
    fault = _fault(shapes, choice, model)
    unread = [shape for shape in shapes.expected if shape.surface is None]
    unknown = bool(unread) and choice.kind != "none"
    unknown = unknown and (not fault or len(shapes.actual) > len(_readable(shapes)))
    text = fault or f"{named(shapes.actual)}: {choice.kind}, as requested"
    if unknown:
        text = f"{unread[0].name}: {unread[0].problem}; not compared"
    values = f"{choice.kind} for {named(shapes.expected)}", named(shapes.actual)
    amounts = (math.nan if unknown else math.inf if fault else 0.0), 0.0, 0.0
    fields = {"unknown": unknown, "estimated": True}
    return difference(f"link {shapes.link}", f"collision {text}", values, "", amounts, **fields)


def _fault(shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel) -> str | None:
    """Return what is wrong with the colliders of a link, or None."""
    actual = shapes.actual
    if choice.kind == "none":
        return f"has {named(actual)}; none was requested" if actual else None
    if broken := [shape for shape in actual if shape.surface is None or shape.problem]:
        return f"{broken[0].name}: {broken[0].problem}"
    pairs = _pairs(shapes, choice)
    if pairs is None:
        return f"has {len(actual)} colliders for {len(_readable(shapes))} of the URDF"
    for whole, found in pairs:
        if whole[0].kind is not ShapeKind.MESH:
            if [shape.kind for shape in found] != [whole[0].kind]:
                return f"has {named(found)} for {named(whole)}"
        elif not all(_is_of_kind(shape, choice.kind) for shape in found):
            return f"has {named(found)}, not {choice.kind} of {named(whole)}"
    for one, other in combinations(actual if choice.kind == "decomposition" else (), 2):
        first, second = combined_surface((one,)), combined_surface((other,))
        apart = np.abs(second.reach - first.reach).max()
        if apart <= model.tolerance.shape * first.size:
            return f"has {one.name} twice"
    return None


def _is_of_kind(shape: ShapeObservation, kind: str) -> bool:
    is_mesh = shape.kind is ShapeKind.MESH
    if kind == "mesh":
        return is_mesh and not shape.hull
    return (is_mesh and shape.hull) or (kind == "primitives" and shape.kind in _PRIMITIVES)


def _readable(shapes: LinkShapes) -> list[Shapes]:
    """Return the shapes of the URDF, each with all groups of its mesh, that can be read."""
    by_source: dict[str, list[ShapeObservation]] = {}
    for shape in shapes.expected:
        source, group, _ = shape.source.rpartition(" group ")
        by_source.setdefault(source if group else shape.source, []).append(shape)
    return [tuple(parts) for parts in by_source.values() if all(shape.surface for shape in parts)]


def _pairs(shapes: LinkShapes, choice: ColliderChoice) -> list[tuple[Shapes, Shapes]] | None:
    """Pair readable shapes of the URDF with the nearest colliders; None if too few or many."""
    wholes, actual = _readable(shapes), shapes.actual
    if not wholes and not actual:
        return []
    is_cut = choice.kind == "decomposition"
    if not wholes or not all(shape.surface for shape in actual):
        return None
    if not is_cut and len(actual) != len(wholes):
        return None
    outer = np.array([combined_surface(whole).reach for whole in wholes])
    inner = np.array([combined_surface((shape,)).reach for shape in actual])
    found: list[list[ShapeObservation]] = [[] for _ in wholes]
    if is_cut:
        # How far a piece lies outside a shape; of several around it, the smallest.
        sizes = np.array([combined_surface(whole).size for whole in wholes])
        outside = np.maximum(inner[:, np.newaxis] - outer, 0.0).max(axis=2)
        outside[outside <= _DECOMPOSED * sizes] = 0.0
        for piece, row in zip(actual, outside, strict=True):
            found[int(np.lexsort((sizes, row))[0])].append(piece)
    else:
        apart = np.abs(outer[:, np.newaxis] - inner).max(axis=2)
        taken = set[int]()
        for index in np.argsort(apart, axis=None, kind="stable").tolist():
            one, other = divmod(index, len(actual))
            if not found[one] and other not in taken:
                found[one].append(actual[other])
                taken.add(other)
    return list(zip(wholes, map(tuple, found), strict=True)) if all(found) else None


def _measured(
    check: str, shapes: LinkShapes, choice: ColliderChoice, model: ToleranceModel
) -> Iterator[Difference]:
    """Yield the differences of the colliders of a link in one measure."""
    pairs = None if choice.kind == "none" else _pairs(shapes, choice)
    is_cut, subject = choice.kind == "decomposition", f"link {shapes.link}"
    for whole, found in pairs or ():
        part = LinkShapes(shapes.link, whole, found)
        expected, actual = part.surfaces
        if found[0].kind is whole[0].kind and not is_cut:
            yield from _MEASURES[check](part, model)
        elif check == "collision.support":
            allowed = choice.distance(expected.size)
            if is_cut:
                allowed = _DECOMPOSED * expected.size
            off = float(np.abs(actual.reach - expected.reach).max())
            text = f"{named(found)} is {value_text(off, 'm')} from {named(whole)}"
            text = f"{text}, not at most {value_text(allowed, 'm')}"
            amounts = off / expected.size, 0.0, allowed * _SLACK / expected.size
            yield difference(subject, text, (Range(low=0.0, high=allowed), off), "m", amounts)
        elif check == "collision.volume" and is_cut:
            yield from _volume_of_pieces(part)
        elif check == "collision.volume":
            hull, surface = whole[0].hull_volume if len(whole) == 1 else None, found[0].surface
            if not hull or surface is None:
                continue
            # Volumes of convex bodies at a distance d differ by at most d times the area of the
            # larger one grown by d, which is less than that of a box around it.
            distance = choice.distance(expected.size)
            a, b, c = (expected.reach[:3] + expected.reach[3:6] + 2 * distance).tolist()
            texts = [value_text(one, "m^3") for one in (hull, surface.volume)]
            text = f"{named(found)} has {texts[1]}, the convex hull {texts[0]}"
            tolerance = 2 * (a * b + b * c + c * a) * distance / hull
            amounts = abs(surface.volume - hull) / hull, 0.0, tolerance
            yield difference(subject, text, (hull, surface.volume), "m^3", amounts)


def _volume_of_pieces(part: LinkShapes) -> Iterator[Difference]:
    """Compare the volume of convex pieces with that of a closed mesh, and with that of its hull."""
    expected, _ = part.surfaces
    pieces, around = ([shape.hull_volume for shape in s] for s in (part.actual, part.expected))
    if None in pieces or None in around:
        return
    solid = abs(expected.volume_about(expected.middle))
    total, most = (math.fsum(one or 0.0 for one in volumes) for volumes in (pieces, around))
    if len(around) > 1:
        most = float(np.prod(expected.reach[:3] + expected.reach[3:6]))
    is_open = float(np.linalg.norm(expected.oriented)) > _CLOSED * expected.area
    if is_open or not most or solid > most:
        return
    texts = [value_text(one, "m^3") for one in (total, solid, most)]
    text = f"{len(pieces)} pieces of {texts[0]}; mesh {texts[1]}, its convex hull {texts[2]}"
    amounts = max(solid - total, total - most, 0.0) / most, 0.0, _DECOMPOSED
    values = Range(low=solid, high=most), total
    yield difference(f"link {part.link}", text, values, "m^3", amounts)
