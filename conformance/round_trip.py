"""There and back: one engine reads the URDF, and the URDF written back from the USD.

Whatever the engine makes of a URDF it makes of both, so its quirks cancel and what is
left is the doing of the two conversions. Where an engine reads the first file against
the specification and the second one by it, the difference is its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from urdf_usd.conformance.attribution import agrees, known_deviations, roundings
from urdf_usd.conformance.comparison import Compared, Difference, Incomparable, Words
from urdf_usd.conformance.comparisons.asking import compare
from urdf_usd.conformance.groups import tensor_of
from urdf_usd.conformance.observation import JointType
from urdf_usd.conformance.record import Grade
from urdf_usd.conformance.tolerance import RELATIVE
from urdf_usd.conformance.witness import Abstained, Crashed, Observed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.conformance.checks import Check
    from urdf_usd.conformance.comparison import Comparison, Yardstick
    from urdf_usd.conformance.observation import Observation, Vec6
    from urdf_usd.conformance.witness import Outcome

# The check that tells of an engine that refuses what was written back.
_READABLE = "structure.links"
_JOINTS = "structure.joints"
# Of the principal moments, and of the attitude of their axes.
_ROUNDINGS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class Back:
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


def compare_back(
    check: Check,
    spec: Observation,
    there: Mapping[str, Outcome],
    back: Back,
    yardstick: Yardstick,
) -> RoundTrip | None:
    """Compare what engines read in a URDF with what they read in the one written back.

    Args:
        check: One of the round trip.
        spec: The specification's reading of the URDF.
        there: What engines said of the URDF.
        back: What became of the other.
        yardstick: What all comparisons are measured with.

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
    merged: list[Compared] = []
    for reading in readings:
        outcome = back.outcomes.get(reading.witness)
        if isinstance(outcome, Observed):
            again = outcome.observation
            found = compare(check, reading, again, yardstick)
            if isinstance(found, Compared):
                merged.append(
                    _without_own(check, _Trip(spec, reading, again), found, yardstick)
                )
        else:
            reason = _refusal(reading.witness, outcome, back)
            found = Incomparable(reason)
            if check.direct == _READABLE and back.failure is None:
                merged.append(Compared((_unreadable(reading.witness, reason),)))
        by_engine[reading.witness] = found
    return RoundTrip(_merged(merged, by_engine), by_engine)


@dataclass(frozen=True, slots=True, eq=False)
class _Trip:
    """Three readings: by the specification, and by one engine before and after."""

    spec: Observation
    there: Observation
    again: Observation


def _refusal(engine: str, outcome: Outcome | None, back: Back) -> str:
    match outcome:
        case Abstained(reason) | Crashed(reason):
            return f"{engine} reads the URDF, but not what is written back: {reason}"
        case _:
            return f"the USD cannot be written as URDF: {back.failure}"


def _unreadable(engine: str, reason: str) -> Difference:
    return Difference(engine, engine, math.inf, words=partial(Words, reason))


def _without_own(
    check: Check, trip: _Trip, found: Compared, yardstick: Yardstick
) -> Compared:
    """Leave out what is the engine's doing, and say whose word the rest is."""
    engine = trip.there.witness
    scale = max(1.0, roundings(trip.there.precision))
    own = _own_doing(check, trip, found, yardstick)

    def told(difference: Difference) -> Difference:
        return structs.replace(
            difference,
            bound=difference.bound * scale,
            words=partial(_said_of, engine, difference),
        )

    def rest(differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
        return tuple(told(one) for one in differences if one.item not in own)

    note = f"{len(own)} left out, where {engine} departs from the URDF"
    return Compared(
        rest(found.differences),
        None if found.told is None else rest(found.told),
        note if own else found.note,
    )


def _said_of(engine: str, difference: Difference) -> Words:
    words = difference.words()
    return structs.replace(words, message=f"{engine}: {words.message}")


def _own_doing(
    check: Check, trip: _Trip, found: Compared, yardstick: Yardstick
) -> frozenset[str]:
    """Name the values that differ because the engine does not read the URDF by it."""
    failing = [
        one
        for one in found.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    ]
    if not failing:
        return frozenset()
    before, after = (
        compare(check, trip.spec, reading, yardstick)
        for reading in (trip.there, trip.again)
    )
    departs = {
        one.item
        for one in (before.differences if isinstance(before, Compared) else ())
        if not agrees(one, trip.there.precision)
    }
    follows = {
        one.item
        for one in (after.differences if isinstance(after, Compared) else ())
        if agrees(one, trip.again.precision)
    }
    excused = _excused(trip)
    welds = _renamed_welds(trip) if check.direct == _JOINTS else frozenset()
    return welds | frozenset(
        one.item
        for one in failing
        if one.item in departs & follows
        or known_deviations(check.direct or check.id, one, trip.spec, trip.there)
        or _is_excused(one, excused, trip)
    )


def _renamed_welds(trip: _Trip) -> frozenset[str]:
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


def _excused(trip: _Trip) -> frozenset[str]:
    """Name links of which an engine makes something of its own, on the way back alone.

    A link without ``<inertial>`` and one whose mass is zero are the same to the
    specification, and to a USD that does not say more; not to every engine. And where
    two principal moments add up to the third, as those of flat bodies do, rounding to
    float32 may leave them short of it, which engines refuse.
    """
    again = {link.name: link.mass for link in trip.again.links}
    found = set()
    for link in trip.spec.links:
        mass = again.get(link.name)
        if not (link.mass and link.mass.mass):
            if link.name in trip.again.invented:
                found.add(link.name)
        elif (
            link.mass.inertia
            and _is_flat(link.mass.inertia)
            and not any((mass and mass.inertia) or ())
        ):
            found.add(link.name)
    return frozenset(found)


def _is_flat(inertia: Vec6) -> bool:
    """Whether float32 can tell whether the smaller moments make up the largest."""
    small, middle, large = np.linalg.eigvalsh(tensor_of(inertia))
    return bool(small + middle - large <= _ROUNDINGS * RELATIVE * large)


def _is_excused(difference: Difference, excused: frozenset[str], trip: _Trip) -> bool:
    """Say whether a difference arises in such links alone.

    A weld that another link carries now is the same weld.
    """
    welds = {j.name for j in trip.there.joints if j.type is JointType.FIXED}
    parts = set(difference.traces or (difference.item,)) - welds
    return bool(parts) and parts <= excused


def _merged(parts: list[Compared], by_engine: Mapping[str, Comparison]) -> Comparison:
    if not parts:
        reasons = dict.fromkeys(
            comparison.reason
            for comparison in by_engine.values()
            if isinstance(comparison, Incomparable)
        )
        return Incomparable("; ".join(reasons))
    notes = dict.fromkeys(part.note for part in parts if part.note)
    return Compared(
        tuple(one for part in parts for one in part.differences),
        tuple(
            one
            for part in parts
            for one in (part.differences if part.told is None else part.told)
        ),
        "; ".join(notes) or None,
    )
