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

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.checks.check import Check, Compared, Comparison, Incomparable, compare
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import JointType, Observation, Vec6
from urdf_usd.conformance.tolerance.bounds import RELATIVE
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of
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


class RoundTrip(Struct, frozen=True, eq=False):
    """One check over all engines."""

    comparison: Comparison  # differences of all engines without those attributed to an engine
    by_engine: Mapping[str, Comparison]  # all differences of each engine


class _Trip(Struct, frozen=True, eq=False):
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
) -> RoundTrip | None:
    """Compare each engine's observations of the original and the written URDF.

    Args:
        check: A check of the round trip.
        reference: The reference observation of the original URDF.
        before: Outcomes for the original URDF.
        back: Outcomes for the written URDF.
        model: Bounds and tolerances.

    Returns:
        None if no engine states the quantity of the check for the original.
    """
    by_engine: dict[str, Comparison] = {}
    compared: dict[str, tuple[_Trip, Compared]] = {}
    refused: list[Compared] = []
    lost: list[str] = []
    for engine, outcome in before.items():
        if not isinstance(outcome, Observed) or check.quantity not in outcome.observation.states:
            continue
        first, again = outcome.observation, back.outcomes.get(engine)
        if isinstance(again, Observed):
            comparison = compare(check, first, again.observation, model)
            if isinstance(comparison, Compared):
                trip = _Trip(check, model, reference, first, again.observation)
                compared[engine] = trip, comparison
        else:
            comparison = Incomparable(_refusal(engine, again, back))
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
        return RoundTrip(Incomparable("; ".join(dict.fromkeys(lost))), by_engine)
    notes = [part.note for part in merged]
    if not merged:
        notes = [one.reason for one in by_engine.values() if isinstance(one, Incomparable)]
    together = Compared(
        tuple(one for part in merged for one in part.differences),
        tuple(one for part in merged for one in part.shown) if merged else None,
        "; ".join(dict.fromkeys(filter(None, notes))) or None,
    )
    return RoundTrip(together, by_engine)


def _refusal(engine: str, outcome: Outcome | None, back: RoundTripOutcomes) -> str:
    match outcome:
        case Unsupported(reason) | Crashed(reason):
            return f"{engine} reads the URDF, but not the URDF written from the USD: {reason}"
        case _:
            return f"the USD cannot be written as URDF: {back.failure}"


def _without_engine_errors(compared: Mapping[str, tuple[_Trip, Compared]]) -> Iterator[Compared]:
    """Leave out differences attributed to the engines; prefix the rest by their names.

    A difference that a known deviation predicts for one engine is kept if a second
    engine finds the same.
    """
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
    """Find the items that differ because of the engine.

    Its second observation has to equal the URDF, or the prediction of a known
    deviation. Errors in the first observation alone do not excuse the second.

    Returns:
        Items that it reads wrong in the first file and right in the second, or within tolerance
        in both, and fixed joints with another name; and those that a known deviation predicts for
        the second file, with the difference from the URDF.
    """
    check = trip.check
    failing = {
        one.item: one
        for one in comparison.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    if not failing:
        return frozenset(), {}
    before, after = (
        compare(check, trip.reference, side, trip.model) for side in (trip.before, trip.after)
    )
    if isinstance(before, Incomparable) or isinstance(after, Incomparable):
        return frozenset(), {}
    first, second = _errors(before, trip.before.precision), _errors(after, trip.after.precision)
    # Two tolerances may add up to more than one.
    correct = (by_item(before).keys() - first.keys()) & (by_item(after).keys() - second.keys())
    misread = failing.keys() & (first.keys() - second.keys() | correct)
    misread |= _assumed(trip, failing.keys())
    if check.direct == _JOINTS:
        misread |= _renamed_welds(trip)
    refused = _refused(trip)
    predicted = {
        item: second[item].amount
        for item in failing.keys() & second.keys()
        if _is_predicted(trip, second[item], failing[item])
        # A difference in inertia that rejected tensors alone cause.
        or (check.direct in _OF_INERTIA and refused.issuperset(second[item].traces or (item,)))
    }
    return misread, predicted


def _assumed(trip: _Trip, failing: AbstractSet[str]) -> set[str]:
    """Name items that differ only by mass that the engine assumes.

    A USD may have the mass of a rigid group at another of its links, so that other
    links have no ``<inertial>`` in the second file than in the first. Without the
    assumed mass, the second observation has to equal the first one or the URDF.
    """
    if not (trip.check.direct or "").startswith("mass."):
        return set()
    before, after = map(_without_assumed_mass, (trip.before, trip.after))
    precision = max(before.precision, after.precision)
    equal: set[str] = set()
    for side in (before, trip.reference):
        comparison = compare(trip.check, side, after, trip.model)
        if isinstance(comparison, Compared):
            equal |= failing - _errors(comparison, precision).keys()
    return equal


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


def _is_predicted(trip: _Trip, error: Difference, change: Difference) -> bool:
    """Whether known deviations predict the value that is read from the second file.

    Deviations caused by the text of the first file do not apply to the second. Links
    that the engine misreads alike in both files do not contribute to the change.

    Args:
        trip: The round trip.
        error: Difference of the second file from the URDF.
        change: Difference between the two files.
    """
    identifier = trip.check.direct or trip.check.id
    written = structs.replace(trip.reference, repaired=(), quaternions=())
    error = structs.replace(error, traces=change.traces or error.traces)
    known = known_deviations(identifier, error, written, trip.after)
    return bool(known) and all(identifier.startswith(one.predicts) for one in known)


def _renamed_welds(trip: _Trip) -> set[str]:
    """Name fixed joints that connect the same two links under another name.

    A USD may merge fixed links into one body; the joint's name is another check.
    """
    before, after = (
        {
            (joint.parent, joint.child): joint.name
            for joint in reading.joints
            if joint.type is JointType.FIXED
        }
        for reading in (trip.before, trip.after)
    )
    return {
        name
        for links in before.keys() & after.keys()
        if before[links] != after[links]
        for name in (before[links], after[links])
    }


def _refused(trip: _Trip) -> set[str]:
    """Name links whose inertia an engine rejects in the written URDF alone.

    The two smaller principal moments of a flat body add up to the largest; rounding to
    float32 may leave their sum below it. Engines then use no inertia, or zero, but keep
    mass and centre.
    """
    tolerance = trip.model.tolerance
    again = {link.name: link.mass for link in trip.after.links}
    links = set()
    for link in trip.reference.links:
        expected, actual = link.mass, again.get(link.name)
        if (
            expected
            and actual
            and expected.inertia
            and _is_flat(expected.inertia)
            and not any(actual.inertia or ())
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


def _is_flat(inertia: Vec6) -> bool:
    """Whether the smaller moments add up to the largest within rounding to float32."""
    small, middle, large = np.linalg.eigvalsh(tensor_of(inertia))
    return bool(small + middle - large <= _ROUNDINGS * RELATIVE * large)
