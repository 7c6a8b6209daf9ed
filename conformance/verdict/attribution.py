"""Attribution of differences to the USD or to an engine, value by value.

The reference engine shares its URDF reader with the converter, so each of its values is compared
with the other engines of the URDF, except where they have a known deviation. If none agrees with
the reference, the value is disputed where engines contradict the USD, or agree with it alone.
Values of simulators that read the USD count against it, unless a known deviation explains them or
the judged engine reads the same value, which then fails already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct, structs

from urdf_usd.conformance.checks.check import Check, Compared, Comparison, Incomparable, compare
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.tolerance import RELATIVE, ROUNDINGS, ToleranceModel
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED, Deviation, DeviationCase, explain
from urdf_usd.reports.records.record import DeviationRecord, Difference, Grade

_UNEXPLAINED = "The engine differs from the specification for an unknown reason."


class EngineComparison(Struct, frozen=True, eq=False):
    observation: Observation  # of the URDF by the engine
    from_reference: Comparison  # the reference compared with it
    to_usd: Comparison  # it compared with the USD


class Disagreement(Struct, frozen=True):
    """A value on which an engine differs from the reference."""

    engine: str
    difference: Difference  # from the reference to the engine
    known: tuple[Deviation, ...]  # that explain it; empty if any part is unexplained
    matches_usd: bool = False


class Attribution(Struct, frozen=True):
    """Disputed items with the engines that disagree, and deviations, which do not count."""

    disputed: Mapping[str, tuple[Disagreement, ...]] = {}
    deviations: tuple[DeviationRecord, ...] = ()

    def apply(self, comparison: Compared) -> Compared:
        """Grade disputed values as such, with the messages of the engines."""

        def grade(difference: Difference) -> Difference:
            against = self.disputed.get(difference.item)
            if against is None:
                return difference
            message = "; ".join(f"{one.engine}: {one.difference.message}" for one in against)
            return structs.replace(difference, assigned=Grade.DISPUTED, message=message)

        if not self.disputed:
            return comparison
        graded = comparison.each(grade)
        # Of disputed values the values themselves are shown, not what is reported for them.
        shown = [one for one in graded.shown if one.grade is not Grade.DISPUTED]
        shown += [one for one in graded.differences if one.grade is Grade.DISPUTED]
        return structs.replace(graded, reported=tuple(shown))


def attribute(
    check: str, reference: Observation, to_usd: Comparison, comparisons: Iterable[EngineComparison]
) -> Attribution:
    supported: set[str] = set()
    disagreements: dict[str, list[Disagreement]] = {}
    for one in comparisons:
        engine, usd = one.observation, by_item(one.to_usd)
        for item, difference in by_item(one.from_reference).items():
            if agrees(difference, engine.precision):
                supported.add(item)
            elif difference.grade is Grade.FAILS:
                known = known_deviations(check, difference, reference, engine)
                matches = item in usd and agrees(usd[item], engine.precision)
                disagreements.setdefault(item, []).append(
                    Disagreement(engine.engine, difference, known, matches)
                )
    found = by_item(to_usd)
    disputed = {}
    for item, against in disagreements.items():
        unexplained = tuple(one for one in against if not one.known)
        if unexplained and item in found and item not in supported:
            fails = found[item].grade is Grade.FAILS
            if not fails or all(one.matches_usd for one in unexplained):
                disputed[item] = unexplained
    every = [one for against in disagreements.values() for one in against]
    return Attribution(disputed, _deviation_records(check, every))


def compare_simulator(
    check: Check,
    reference: Observation,
    actual: Observation,
    simulated: Observation,
    model: ToleranceModel,
) -> tuple[Comparison, Compared, tuple[DeviationRecord, ...]]:
    """Compare the URDF with a simulator's reading of the USD.

    Returns the comparison, whose bounds allow for the rounding of its arithmetic, the part of it
    that counts against the USD, and deviations.
    """
    engine, precision = simulated.engine, simulated.precision
    comparison = compare(check, reference, simulated, model)
    if isinstance(comparison, Incomparable):
        return comparison, Compared(), ()
    scale = max(1.0, roundings(precision))
    comparison = comparison.each(lambda one: _reported_by(engine, scale, one))
    from_usd = by_item(compare(check, actual, simulated, model))
    excused = set()
    disagreements = []
    for item, difference in by_item(comparison).items():
        own = from_usd.get(item)
        if difference.grade is not Grade.FAILS or own is None:
            continue
        if agrees(own, precision):
            excused.add(item)
        elif known := known_deviations(check.id, own, actual, simulated):
            excused.add(item)
            disagreements.append(Disagreement(engine, own, known))
    counted = comparison.each(lambda one: None if one.item in excused else one)
    return comparison, counted, _deviation_records(check.id, disagreements)


def _reported_by(engine: str, scale: float, difference: Difference) -> Difference | None:
    """Name the engine, and widen the bound: what exceeds the tolerance by it is close."""
    if difference.grade is Grade.NOT_COMPARABLE:
        return None
    bound, tolerance = difference.bound * scale, difference.tolerance
    if tolerance and bound > tolerance:
        bound, tolerance = max(difference.bound, tolerance), bound
    message = f"{engine}: {difference.message}"
    return structs.replace(difference, bound=bound, tolerance=tolerance, message=message)


def agrees(difference: Difference, precision: float) -> bool:
    """Whether two values are equal within tolerance and the engine's arithmetic."""
    if difference.grade in {Grade.EXACT, Grade.CLOSE}:
        return True
    allowed = roundings(precision) * difference.bound
    return difference.grade is Grade.FAILS and difference.amount <= allowed


def roundings(precision: float) -> float:
    """Ratio of the rounding of an engine's arithmetic to that of float32 storage."""
    return ROUNDINGS * precision / RELATIVE


def known_deviations(
    check: str, difference: Difference, expected: Observation, actual: Observation
) -> tuple[Deviation, ...]:
    """Return the known deviations of the actual engine that explain all parts of a difference."""
    if whole := explain(DeviationCase(check, difference.item, expected, actual), whole=True):
        return (whole,)
    parts = difference.traces or (difference.item,)
    explanations = [explain(DeviationCase(check, part, expected, actual)) for part in parts]
    known = tuple(dict.fromkeys(deviation for deviation in explanations if deviation))
    return known if all(explanations) else ()


def by_item(comparison: Comparison) -> dict[str, Difference]:
    """Return the differences of a comparison by item; none of an incomparable one."""
    if isinstance(comparison, Incomparable):
        return {}
    return {difference.item: difference for difference in comparison.differences}


def _deviation_records(check: str, found: Iterable[Disagreement]) -> tuple[DeviationRecord, ...]:
    return deviation_records(
        check,
        (
            ((one.engine, *cause), one.difference)
            for one in found
            for cause in [(own.id, own.cause) for own in one.known] or [(UNEXPLAINED, _UNEXPLAINED)]
        ),
    )


def deviation_records(
    check: str, rows: Iterable[tuple[tuple[str, str, str], Difference]], *, values: bool = False
) -> tuple[DeviationRecord, ...]:
    """Return one record for each engine, id and cause of rows, perhaps with all differences."""
    by_cause: dict[tuple[str, str, str], list[Difference]] = {}
    for key, difference in rows:
        by_cause.setdefault(key, []).append(difference)
    return tuple(
        DeviationRecord(
            **dict(zip(("engine", "id", "cause"), key, strict=True)),
            check=check,
            subjects=tuple(one.subject for one in found),
            largest=max((one.amount for one in found if one.amount < math.inf), default=None),
            values=tuple(found) if values else (),
        )
        for key, found in by_cause.items()
    )
