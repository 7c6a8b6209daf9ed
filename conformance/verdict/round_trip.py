"""USD → URDF round trip: one engine reads the URDF, and the URDF written from the USD.

Deviations of the engine affect both files and cancel, so the remaining
differences come from the two conversions. A difference is attributed to the engine if
it misreads the first file and reads the second as specified, or if a known deviation
predicts its value for the second file, unless another engine finds the same difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.check import Check, Compared, Comparison, Incomparable, compare
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import JointType, Observation
from urdf_usd.conformance.tolerance import RELATIVE, ToleranceModel, tensor_of
from urdf_usd.conformance.verdict.attribution import agrees, by_item, known_deviations, roundings
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.reports.records.record import Difference, Grade

# The check that reports engines that refuse the written URDF.
_READABLE = "structure.links"
_JOINTS = "structure.joints"
# What PyBullet assumes for a link without <inertial> [kg].
_ASSUMED_MASS = 1.0
# Not the equations of motion: engines use the written tensor even if they report another.
_OF_INERTIA = {"mass.link.inertia", "mass.group.inertia"}
# Relative; one of two engines may use single precision.
_SAME = 1e-5
# Rounded numbers: principal moments, and the rotation of their axes.
_ROUNDINGS = 8.0


class _Trip(NamedTuple):
    """One check by one engine: it and the reference on the URDF, it on the written one."""

    check: Check
    model: ToleranceModel
    reference: Observation
    before: Observation
    after: Observation


def compare_round_trip(
    check: Check,
    reference: Observation,
    before: Mapping[str, Outcome],
    back: RoundTripOutcomes,
    model: ToleranceModel,
) -> tuple[Comparison, Mapping[str, Comparison]] | None:
    """Compare both URDFs: differences that no engine causes, and all of each engine that can."""
    by_engine: dict[str, Comparison] = {}
    compared: dict[str, tuple[_Trip, Compared]] = {}
    refused: list[Compared] = []
    lost: list[str] = []
    for engine, outcome in before.items():
        if not isinstance(outcome, Observed) or check.quantity not in outcome.observation.states:
            continue
        first = outcome.observation
        comparison: Comparison
        match again := back.outcomes.get(engine):
            case Observed(second):
                comparison = compare(check, first, second, model)
                if isinstance(comparison, Compared):
                    compared[engine] = _Trip(check, model, reference, first, second), comparison
            case Unsupported(reason) | Crashed(reason):
                comparison = Incomparable(
                    f"{engine} reads the URDF, but not the URDF written from the USD: {reason}"
                )
            case _:
                comparison = Incomparable(f"the USD cannot be written as URDF: {back.failure}")
        by_engine[engine] = comparison
        if isinstance(comparison, Compared):
            continue
        if not isinstance(again, Observed) and check.direct == _READABLE and not back.failure:
            difference = Difference(subject=engine, item=engine, message=comparison.reason)
            refused.append(Compared((difference,)))
        # An engine that states no value of the original has lost none.
        elif by_item(compare(check, first, first, model)):
            lost.append(comparison.reason)
    if not by_engine:
        return None
    merged = [*_without_engine_errors(compared), *refused]
    if lost and not merged:
        return Incomparable("; ".join(dict.fromkeys(lost))), by_engine
    notes = [part.note for part in merged]
    if not merged:
        notes = [one.reason for one in by_engine.values() if isinstance(one, Incomparable)]
    return Compared.of(merged, "; ".join(dict.fromkeys(filter(None, notes))) or None), by_engine


def _without_engine_errors(compared: Mapping[str, tuple[_Trip, Compared]]) -> Iterator[Compared]:
    """Leave out differences that engines cause, unless predicted ones that two engines find."""
    errors = {engine: _engine_errors(*both) for engine, both in compared.items()}
    for engine, (trip, comparison) in compared.items():
        misread, predicted = errors[engine]
        others = [amounts for name, (_, amounts) in errors.items() if name != engine]
        own = misread | {
            item
            for item, amount in predicted.items()
            if not any(
                math.isclose(amount, other.get(item, math.nan), rel_tol=_SAME) for other in others
            )
        }
        scale = max(1.0, roundings(trip.before.precision))
        differences, reported = (
            tuple(
                structs.replace(one, bound=one.bound * scale, message=f"{engine}: {one.message}")
                for one in part
                if one.item not in own
            )
            for part in (comparison.differences, comparison.shown)
        )
        note = f"{len(own)} left out, where {engine} deviates from the URDF"
        yield Compared(differences, reported, note if own else comparison.note)


def _engine_errors(
    trip: _Trip, comparison: Compared
) -> tuple[AbstractSet[str], Mapping[str, float]]:
    """Find items that differ because of the engine.

    Returns those that it reads wrong in the first file alone or within tolerance in both, and fixed
    joints with another name; and amounts that a known deviation predicts for the second file.
    """
    check, direct, model = trip.check, trip.check.direct or trip.check.id, trip.model
    failing = {
        one.item: one
        for one in comparison.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    if not failing:
        return frozenset(), {}
    sides = trip.before, trip.after
    before, after = (compare(check, trip.reference, side, model) for side in sides)
    if isinstance(before, Incomparable) or isinstance(after, Incomparable):
        return frozenset(), {}
    first, second = _errors(before, trip.before.precision), _errors(after, trip.after.precision)
    # Two tolerances may add up to more than one.
    correct = (by_item(before).keys() - first.keys()) & (by_item(after).keys() - second.keys())
    misread = failing.keys() & (first.keys() - second.keys() | correct)
    if direct.startswith("mass."):
        # A USD may have the mass of a rigid group at another of its links, so that other links
        # have no <inertial> in the second file than in the first. Without the mass that the engine
        # assumes, the second observation has to equal the first one or the URDF.
        bare, bare_after = map(_without_assumed_mass, sides)
        precision = max(bare.precision, bare_after.precision)
        for side in (bare, trip.reference):
            same = compare(check, side, bare_after, model)
            if isinstance(same, Compared):
                misread |= failing.keys() - _errors(same, precision).keys()
    if direct == _JOINTS:
        # Fixed joints that connect the same two links under another name: a USD may merge fixed
        # links into one body; the joint's name is another check.
        welds, others = (
            {(j.parent, j.child): j.name for j in side.joints if j.type is JointType.FIXED}
            for side in sides
        )
        for links in welds.keys() & others.keys():
            if welds[links] != others[links]:
                misread |= {welds[links], others[links]}
    refused = _refused(trip)
    # Deviations caused by the text of the first file do not apply to the second.
    written = structs.replace(trip.reference, repaired=(), quaternions=())
    predicted = {}
    for item in failing.keys() & second.keys():
        # Links that the engine misreads alike in both files do not contribute to the change.
        error = second[item]
        traced = structs.replace(error, traces=failing[item].traces or error.traces)
        known = known_deviations(direct, traced, written, trip.after)
        if (known and all(direct.startswith(one.predicts) for one in known)) or (
            # A difference in inertia that rejected tensors alone cause.
            direct in _OF_INERTIA and refused.issuperset(error.traces or (item,))
        ):
            predicted[item] = error.amount
    return misread, predicted


def _errors(comparison: Comparison, precision: float) -> dict[str, Difference]:
    """Return the values that differ beyond the engine's arithmetic."""
    return {item: one for item, one in by_item(comparison).items() if not agrees(one, precision)}


def _without_assumed_mass(reading: Observation) -> Observation:
    links = tuple(
        structs.replace(link, mass=None)
        if link.name in reading.defaulted and link.mass and link.mass.mass == _ASSUMED_MASS
        else link
        for link in reading.links
    )
    return structs.replace(reading, links=links)


def _refused(trip: _Trip) -> set[str]:
    """Name links whose inertia an engine rejects in the written URDF alone.

    Rounding may leave the sum of the smaller moments of a flat body below the largest. Engines then
    use no inertia, or zero, but keep mass and centre.
    """
    tolerance = trip.model.tolerance
    again = {link.name: link.mass for link in trip.after.links}
    links = set()
    for link in trip.reference.links:
        expected, actual = link.mass, again.get(link.name)
        if not expected or not actual or not expected.inertia or any(actual.inertia or ()):
            continue
        small, middle, large = np.linalg.eigvalsh(tensor_of(expected.inertia))
        if (
            small + middle - large <= _ROUNDINGS * RELATIVE * large
            and abs(expected.mass - actual.mass) <= tolerance.mass * expected.mass
            and math.dist(expected.center, actual.center) <= tolerance.position
        ):
            links.add(link.name)
    # A group with such a link has no inertia either; its item is its first link.
    stated = {name for name, mass in again.items() if mass is None or mass.inertia}
    for group in trip.model.groups:
        if (missing := set(group) - stated) and missing <= links:
            links.add(group[0])
    return links
