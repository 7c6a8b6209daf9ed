"""There and back: one engine reads the URDF, and the URDF written back from the USD.

Whatever the engine makes of a URDF it makes of both, so its quirks cancel and what is
left is the doing of the two conversions. Where an engine reads the first file against
the specification and the second one by it, the difference is its own. It is also where
a known deviation says exactly what the engine makes of the second file; but not where
two engines find it, each for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.comparers import compare
from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Observed
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.conformance.records.record import Grade
from urdf_usd.conformance.tolerance.bounds import RELATIVE
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Description,
    Difference,
    Incomparable,
)
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of
from urdf_usd.conformance.verdict.attribution import agrees, known_deviations, roundings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from urdf_usd.conformance.checks.catalogue import Check
    from urdf_usd.conformance.engines.protocol import Outcome
    from urdf_usd.conformance.observation.robot import Observation, Vec6
    from urdf_usd.conformance.tolerance.comparison import Comparison, ToleranceModel

# The check that tells of an engine that refuses what was written back.
_READABLE = "structure.links"
_JOINTS = "structure.joints"
# Motion is none of them: an engine moves a robot with the tensor that is written, also
# where it does not state that.
_OF_INERTIA = {"mass.link.inertia", "mass.group.inertia"}
# Of what two engines state alike: one of them may count in single precision.
_SAME = 1e-5
# Of the principal moments, and of the attitude of their axes.
_ROUNDINGS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class RoundTripOutcomes:
    """What became of the URDF that was written back from a USD.

    Attributes:
        outcomes: Of the engines that read the URDF, by name.
        failure: Why no URDF could be written back.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RoundTrip:
    """One check over all engines.

    Attributes:
        comparison: Values of all engines, without what is an engine's own doing.
        by_engine: All values of each engine.
    """

    comparison: Comparison
    by_engine: Mapping[str, Comparison]


def compare_round_trip(
    check: Check,
    spec: Observation,
    there: Mapping[str, Outcome],
    back: RoundTripOutcomes,
    model: ToleranceModel,
) -> RoundTrip | None:
    """Compare what engines read in a URDF with what they read in the one written back.

    Args:
        check: One of the round trip.
        spec: The specification's reading of the URDF.
        there: What engines said of the URDF.
        back: What became of the other.
        model: What all comparisons are measured with.

    Returns:
        None if no engine that read the URDF states what the check is about.
    """
    readings = [
        outcome.observation
        for outcome in there.values()
        if isinstance(outcome, Observed)
        and check.quantity in outcome.observation.states
    ]
    if not readings:
        return None
    by_engine: dict[str, Comparison] = {}
    compared: dict[str, tuple[_TripReadings, Compared]] = {}
    refused: list[Compared] = []
    lost = []
    for reading in readings:
        engine = reading.engine
        outcome = back.outcomes.get(engine)
        if isinstance(outcome, Observed):
            trip = _TripReadings(spec, reading, outcome.observation)
            found = compare(check, reading, trip.again, model)
            if isinstance(found, Compared):
                compared[engine] = trip, found
            elif _is_stated(check, reading, model):
                lost.append(found)
        else:
            reason = _refusal(engine, outcome, back)
            found = Incomparable(reason)
            if check.direct == _READABLE and back.failure is None:
                refused.append(Compared((_unreadable(engine, reason),)))
            elif _is_stated(check, reading, model):
                lost.append(found)
        by_engine[engine] = found
    merged = [*_without_own(check, compared, model), *refused]
    if lost and not merged:
        reasons = dict.fromkeys(found.reason for found in lost)
        return RoundTrip(Incomparable("; ".join(reasons)), by_engine)
    return RoundTrip(_merged(merged, by_engine), by_engine)


def _is_stated(check: Check, reading: Observation, model: ToleranceModel) -> bool:
    """Whether a reading has what a check is about: it can be compared with itself."""
    own = compare(check, reading, reading, model)
    return isinstance(own, Compared) and bool(own.differences)


@dataclass(frozen=True, slots=True, eq=False)
class _TripReadings:
    """Three readings: by the specification, and by one engine before and after."""

    spec: Observation
    there: Observation
    again: Observation


def _refusal(engine: str, outcome: Outcome | None, back: RoundTripOutcomes) -> str:
    match outcome:
        case Abstained(reason) | Crashed(reason):
            return f"{engine} reads the URDF, but not what is written back: {reason}"
        case _:
            return f"the USD cannot be written as URDF: {back.failure}"


def _unreadable(engine: str, reason: str) -> Difference:
    return Difference(engine, engine, math.inf, describe=partial(Description, reason))


def _without_own(
    check: Check,
    compared: Mapping[str, tuple[_TripReadings, Compared]],
    model: ToleranceModel,
) -> Iterator[Compared]:
    """Leave out what is the engines' doing, and say whose word the rest is.

    What a known deviation explains in one engine is the USD's doing if a second engine
    finds it as well.
    """
    owns = {
        engine: _own_doing(check, trip, found, model)
        for engine, (trip, found) in compared.items()
    }
    for engine, (trip, found) in compared.items():
        others = [own.predicted for name, own in owns.items() if name != engine]
        own = owns[engine].misread | {
            item
            for item, amount in owns[engine].predicted.items()
            if not any(_is_same(amount, other.get(item)) for other in others)
        }
        scale = max(1.0, roundings(trip.there.precision))
        told = partial(_told, engine, scale, own)
        note = f"{len(own)} left out, where {engine} departs from the URDF"
        yield Compared(
            told(found.differences),
            None if found.reported is None else told(found.reported),
            note if own else found.note,
        )


def _is_same(amount: float, other: float | None) -> bool:
    """Whether two engines are as far from the URDF; nan, not stated, equals nothing."""
    return other is not None and math.isclose(amount, other, rel_tol=_SAME)


def _told(
    engine: str,
    scale: float,
    own: AbstractSet[str],
    differences: Sequence[Difference],
) -> tuple[Difference, ...]:
    return tuple(
        structs.replace(
            one, bound=one.bound * scale, describe=partial(_said_of, engine, one)
        )
        for one in differences
        if one.item not in own
    )


def _said_of(engine: str, difference: Difference) -> Description:
    description = difference.describe()
    return structs.replace(description, message=f"{engine}: {description.message}")


@dataclass(frozen=True, slots=True)
class _EngineErrors:
    """Values that differ because of the engine.

    Attributes:
        misread: Those that it reads against the URDF the first time, and by it the
            second time; welds that are called otherwise.
        predicted: Those that a known deviation makes it state the second time, with
            how far that is from the URDF.
    """

    misread: frozenset[str]
    predicted: Mapping[str, float]


def _own_doing(
    check: Check, trip: _TripReadings, found: Compared, model: ToleranceModel
) -> _EngineErrors:
    """Find the values that differ because the engine does not read a file by it.

    The second reading decides. It has to be what the URDF says, or what a known
    deviation makes of that: how the engine misreads the first file excuses nothing in
    the second.
    """
    failing = {
        one.item
        for one in found.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    if not failing:
        return _EngineErrors(frozenset(), {})
    before, after = (
        compare(check, trip.spec, reading, model)
        for reading in (trip.there, trip.again)
    )
    if not isinstance(before, Compared) or not isinstance(after, Compared):
        return _EngineErrors(frozenset(), {})
    departs = _departing(before, trip.there.precision)
    strays = _departing(after, trip.again.precision)
    welds = _renamed_welds(trip) if check.direct == _JOINTS else frozenset()
    refused = _refused(trip, model)
    return _EngineErrors(
        welds | (failing & departs.keys() - strays.keys()),
        {
            item: strays[item].amount
            for item in failing & strays.keys()
            if _is_predicted(check, strays[item], trip)
            or _is_refused(check, strays[item], refused)
        },
    )


def _departing(comparison: Compared, precision: float) -> dict[str, Difference]:
    return {
        one.item: one for one in comparison.differences if not agrees(one, precision)
    }


def _is_predicted(check: Check, difference: Difference, trip: _TripReadings) -> bool:
    """Whether known deviations leave no other choice of what is stated.

    What the text of the first file does to an engine, that of the second does not.
    """
    identifier = check.direct or check.id
    written = replace(trip.spec, repaired=(), quaternions=())
    known = known_deviations(identifier, difference, written, trip.again)
    return bool(known) and all(identifier.startswith(one.predicts) for one in known)


def _renamed_welds(trip: _TripReadings) -> frozenset[str]:
    """Name fixed joints that hold the same two links under another name.

    A USD may make one body of links that are welded; what it calls the weld is another
    check.
    """
    before, after = (
        {
            (joint.parent, joint.child): joint.name
            for joint in reading.joints
            if joint.type is JointType.FIXED
        }
        for reading in (trip.there, trip.again)
    )
    return frozenset(
        name
        for links in before.keys() & after.keys()
        if before[links] != after[links]
        for name in (before[links], after[links])
    )


def _refused(trip: _TripReadings, model: ToleranceModel) -> frozenset[str]:
    """Name links of which an engine refuses the tensor, on the way back alone.

    Where two principal moments add up to the third, as those of flat bodies do,
    rounding to float32 may leave them short of it. Engines then take none, or zero; of
    the mass and its centre they take what is written.
    """
    again = {link.name: link.mass for link in trip.again.links}
    found = set()
    for link in trip.spec.links:
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
            found.add(link.name)
    # A group of which a tensor is not stated has none; it is called by its head.
    stated = {name for name, mass in again.items() if mass is None or mass.inertia}
    for group in model.groups:
        if (silent := set(group) - stated) and silent <= found:
            found.add(group[0])
    return frozenset(found)


def _is_flat(inertia: Vec6) -> bool:
    """Whether float32 can tell whether the smaller moments make up the largest."""
    small, middle, large = np.linalg.eigvalsh(tensor_of(inertia))
    return bool(small + middle - large <= _ROUNDINGS * RELATIVE * large)


def _is_refused(
    check: Check, difference: Difference, refused: AbstractSet[str]
) -> bool:
    """Whether a difference in inertia arises in tensors that are refused alone."""
    parts = set(difference.traces or (difference.item,))
    return check.direct in _OF_INERTIA and parts <= refused


def _merged(parts: Sequence[Compared], by_engine: Mapping[str, Comparison]) -> Compared:
    if not parts:
        reasons = dict.fromkeys(
            comparison.reason
            for comparison in by_engine.values()
            if isinstance(comparison, Incomparable)
        )
        return Compared((), note="; ".join(reasons))
    notes = dict.fromkeys(part.note for part in parts if part.note)
    return Compared(
        tuple(one for part in parts for one in part.differences),
        tuple(
            one
            for part in parts
            for one in (part.differences if part.reported is None else part.reported)
        ),
        "; ".join(notes) or None,
    )
