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
from functools import partial

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.checks.check import Check, compare
from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Observed, Outcome
from urdf_usd.conformance.observation.robot import JointType, Observation, Vec6
from urdf_usd.conformance.tolerance.bounds import RELATIVE
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
)
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of
from urdf_usd.conformance.verdict.attribution import agrees, known_deviations, roundings
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.reports.records.record import Difference, Grade

# The check that reports engines that refuse the written URDF.
_READABLE = "structure.links"
_JOINTS = "structure.joints"
# What PyBullet assumes for a link without <inertial> [kg].
_ASSUMED_MASS = 1.0
# Not the equations of motion: engines use the written tensor even if they state
# another.
_OF_INERTIA = {"mass.link.inertia", "mass.group.inertia"}
# Relative; one of two engines may use single precision.
_SAME = 1e-5
# Rounded numbers: principal moments, and the rotation of their axes.
_ROUNDINGS = 8.0


class RoundTrip(Struct, frozen=True, eq=False):
    """One check over all engines."""

    comparison: Comparison  # differences of all engines without those attributed to an engine
    by_engine: Mapping[str, Comparison]  # all differences of each engine


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
    compared: dict[str, tuple[_Readings, Compared]] = {}
    refused: list[Compared] = []
    lost: list[str] = []
    for engine, outcome in before.items():
        if not isinstance(outcome, Observed) or check.quantity not in outcome.observation.states:
            continue
        first, again = outcome.observation, back.outcomes.get(engine)
        if isinstance(again, Observed):
            comparison = compare(check, first, again.observation, model)
            if isinstance(comparison, Compared):
                compared[engine] = _Readings(reference, first, again.observation), comparison
        else:
            comparison = Incomparable(_refusal(engine, again, back))
        by_engine[engine] = comparison
        if isinstance(comparison, Compared):
            continue
        if not isinstance(again, Observed) and check.direct == _READABLE and not back.failure:
            difference = Difference(subject=engine, item=engine, message=comparison.reason)
            refused.append(Compared((difference,)))
        else:
            # An engine that states no value of the original has lost none.
            own = compare(check, first, first, model)
            if isinstance(own, Compared) and own.differences:
                lost.append(comparison.reason)
    if not by_engine:
        return None
    merged = [*_without_engine_errors(check, compared, model), *refused]
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


class _Readings(Struct, frozen=True, eq=False):
    """The reference observation, and those of one engine before and after."""

    reference: Observation
    before: Observation
    after: Observation


def _refusal(engine: str, outcome: Outcome | None, back: RoundTripOutcomes) -> str:
    match outcome:
        case Abstained(reason) | Crashed(reason):
            return f"{engine} reads the URDF, but not the URDF written from the USD: {reason}"
        case _:
            return f"the USD cannot be written as URDF: {back.failure}"


def _without_engine_errors(
    check: Check,
    compared: Mapping[str, tuple[_Readings, Compared]],
    model: ToleranceModel,
) -> Iterator[Compared]:
    """Leave out differences attributed to the engines; prefix the rest by their names.

    A difference that a known deviation predicts for one engine is kept if a second
    engine finds the same.
    """
    errors = {
        engine: _engine_errors(check, readings, comparison, model)
        for engine, (readings, comparison) in compared.items()
    }
    for engine, (readings, comparison) in compared.items():
        others = [one.predicted for name, one in errors.items() if name != engine]
        own = errors[engine].misread | {
            item
            for item, amount in errors[engine].predicted.items()
            if not any(
                math.isclose(amount, other.get(item, math.nan), rel_tol=_SAME) for other in others
            )
        }
        scale = max(1.0, roundings(readings.before.precision))
        kept = comparison.each(partial(_prefixed, engine, scale, own))
        note = f"{len(own)} left out, where {engine} deviates from the URDF"
        yield structs.replace(kept, note=note) if own else kept


def _prefixed(
    engine: str, scale: float, own: AbstractSet[str], difference: Difference
) -> Difference | None:
    if difference.item in own:
        return None
    message = f"{engine}: {difference.message}"
    return structs.replace(difference, bound=difference.bound * scale, message=message)


class _EngineErrors(Struct, frozen=True):
    """Items that differ because of the engine."""

    # those that it reads wrong in the first file and right in the second, or within tolerance in
    # both; fixed joints with another name
    misread: frozenset[str]
    # those that a known deviation predicts for the second file, with the difference from the URDF
    predicted: Mapping[str, float]


def _engine_errors(
    check: Check, readings: _Readings, comparison: Compared, model: ToleranceModel
) -> _EngineErrors:
    """Find the items that differ because of the engine.

    Its second observation has to equal the URDF, or the prediction of a known
    deviation. Errors in the first observation alone do not excuse the second.
    """
    failing = {
        one.item: one
        for one in comparison.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    if not failing:
        return _EngineErrors(frozenset(), {})
    before, after = (
        compare(check, readings.reference, reading, model)
        for reading in (readings.before, readings.after)
    )
    if not isinstance(before, Compared) or not isinstance(after, Compared):
        return _EngineErrors(frozenset(), {})
    first_errors = _errors_of(before, readings.before.precision)
    second_errors = _errors_of(after, readings.after.precision)
    welds = _renamed_welds(readings) if check.direct == _JOINTS else frozenset()
    refused = _refused(readings, model)
    misread = failing.keys() & first_errors.keys() - second_errors.keys()
    # Two tolerances may add up to more than one.
    correct = failing.keys() & _correct(before, first_errors)
    correct &= _correct(after, second_errors)
    return _EngineErrors(
        welds | misread | correct | _assumed(check, readings, failing.keys(), model),
        {
            item: second_errors[item].amount
            for item in failing.keys() & second_errors.keys()
            if _is_predicted(check, second_errors[item], failing[item], readings)
            or _is_refused(check, second_errors[item], refused)
        },
    )


def _assumed(
    check: Check,
    readings: _Readings,
    failing: AbstractSet[str],
    model: ToleranceModel,
) -> frozenset[str]:
    """Name items that differ only by mass that the engine assumes.

    A USD may state the mass of a rigid group at another of its links, so that other
    links have no ``<inertial>`` in the second file than in the first. Without the
    assumed mass, the second observation has to equal the first one or the URDF.
    """
    if not (check.direct or "").startswith("mass."):
        return frozenset()
    before, after = map(_without_assumed_mass, (readings.before, readings.after))
    precision = max(before.precision, after.precision)
    equal: set[str] = set()
    for reading in (before, readings.reference):
        stated = compare(check, reading, after, model)
        if isinstance(stated, Compared):
            equal |= failing - _errors_of(stated, precision).keys()
    return frozenset(equal)


def _without_assumed_mass(reading: Observation) -> Observation:
    links = tuple(
        structs.replace(link, mass=None)
        if link.name in reading.invented and link.mass and link.mass.mass == _ASSUMED_MASS
        else link
        for link in reading.links
    )
    return structs.replace(reading, links=links)


def _errors_of(comparison: Compared, precision: float) -> dict[str, Difference]:
    return {one.item: one for one in comparison.differences if not agrees(one, precision)}


def _correct(comparison: Compared, errors: Mapping[str, Difference]) -> set[str]:
    return {one.item for one in comparison.differences} - errors.keys()


def _is_predicted(check: Check, error: Difference, change: Difference, readings: _Readings) -> bool:
    """Whether known deviations predict the value that is read from the second file.

    Deviations caused by the text of the first file do not apply to the second. Links
    that the engine misreads alike in both files do not contribute to the change.

    Args:
        check: The check of the round trip.
        error: Difference of the second file from the URDF.
        change: Difference between the two files.
        readings: The observations.
    """
    identifier = check.direct or check.id
    written = structs.replace(readings.reference, repaired=(), quaternions=())
    error = structs.replace(error, traces=change.traces or error.traces)
    known = known_deviations(identifier, error, written, readings.after)
    return bool(known) and all(identifier.startswith(one.predicts) for one in known)


def _renamed_welds(readings: _Readings) -> frozenset[str]:
    """Name fixed joints that connect the same two links under another name.

    A USD may merge fixed links into one body; the joint's name is another check.
    """
    before, after = (
        {
            (joint.parent, joint.child): joint.name
            for joint in reading.joints
            if joint.type is JointType.FIXED
        }
        for reading in (readings.before, readings.after)
    )
    return frozenset(
        name
        for links in before.keys() & after.keys()
        if before[links] != after[links]
        for name in (before[links], after[links])
    )


def _refused(readings: _Readings, model: ToleranceModel) -> frozenset[str]:
    """Name links whose inertia an engine rejects in the written URDF alone.

    The two smaller principal moments of a flat body add up to the largest; rounding to
    float32 may leave their sum below it. Engines then use no inertia, or zero, but keep
    mass and centre.
    """
    again = {link.name: link.mass for link in readings.after.links}
    links = set()
    for link in readings.reference.links:
        here, there = link.mass, again.get(link.name)
        if (
            here
            and there
            and here.inertia
            and _is_flat(here.inertia)
            and not any(there.inertia or ())
            and abs(here.mass - there.mass) <= model.tolerance.mass * here.mass
            and math.dist(here.center, there.center) <= model.tolerance.position
        ):
            links.add(link.name)
    # A group with such a link has no inertia either; its item is its first link.
    stated = {name for name, mass in again.items() if mass is None or mass.inertia}
    for group in model.groups:
        if (missing := set(group) - stated) and missing <= links:
            links.add(group[0])
    return frozenset(links)


def _is_flat(inertia: Vec6) -> bool:
    """Whether the smaller moments add up to the largest within rounding to float32."""
    small, middle, large = np.linalg.eigvalsh(tensor_of(inertia))
    return bool(small + middle - large <= _ROUNDINGS * RELATIVE * large)


def _is_refused(check: Check, difference: Difference, refused: AbstractSet[str]) -> bool:
    """Whether a difference in inertia is caused by rejected tensors alone."""
    parts = set(difference.traces or (difference.item,))
    return check.direct in _OF_INERTIA and parts <= refused
