"""Whose fault a difference is, value by value.

The specification's reading shares its reader with the converter, so each of its values
is put to the engines. An engine that departs in a known way is not heard on that value.
If nobody who is heard supports the specification, the value is disputed where the
engines contradict what the USD says, or side with the USD against the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import DeviationRecord, Grade
from urdf_usd.conformance.tolerance.bounds import RELATIVE, ROUNDINGS
from urdf_usd.conformance.tolerance.comparison import Compared
from urdf_usd.conformance.verdict.conditions import DeviationCase
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from urdf_usd.conformance.observation.robot import Observation
    from urdf_usd.conformance.tolerance.comparison import Comparison, Difference
    from urdf_usd.conformance.verdict.deviations import Deviation

_UNEXPLAINED = "It departs from the specification in a way that is not known."


@dataclass(frozen=True, slots=True, eq=False)
class EngineComparison:
    """One engine on one check.

    Attributes:
        stated: What it says about the robot.
        from_spec: The specification's reading against it.
        to_usd: Its reading against the USD.
    """

    stated: Observation
    from_spec: Comparison
    to_usd: Comparison


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An engine that departs from the specification on one value.

    Attributes:
        engine: The engine.
        difference: From the specification to the engine.
        known: Deviations that account for it; empty if any part is unaccounted for.
        sides_with_usd: Whether it says what the USD says.
    """

    engine: str
    difference: Difference
    known: tuple[Deviation, ...]
    sides_with_usd: bool


@dataclass(frozen=True, slots=True)
class Attribution:
    """What the engines make of one check.

    Attributes:
        disputed: Values on which nothing can be said, with those who contradict.
        deviations: Departures of engines, never counted against the USD.
    """

    disputed: Mapping[str, tuple[Disagreement, ...]]
    deviations: tuple[DeviationRecord, ...]


def attribute(
    check: str,
    spec: Observation,
    to_usd: Comparison,
    comparisons: Iterable[EngineComparison],
) -> Attribution:
    """Hear the engines on every value of a check.

    Args:
        check: Identifier of the check.
        spec: The specification's reading.
        to_usd: That reading against the USD.
        comparisons: The engines that read the file.
    """
    supported: set[str] = set()
    dissents: dict[str, list[Disagreement]] = {}
    for comparison_ in comparisons:
        agreed, departed = _hear(check, spec, comparison_)
        supported |= agreed
        for disagreement in departed:
            dissents.setdefault(disagreement.difference.item, []).append(disagreement)
    verdicts = _by_item(to_usd)
    disputed = {}
    for item, against in dissents.items():
        heard = tuple(
            disagreement for disagreement in against if not disagreement.known
        )
        difference = verdicts.get(item)
        if not heard or item in supported or difference is None:
            continue
        fails = difference.grade is Grade.FAILS
        if not fails or all(disagreement.sides_with_usd for disagreement in heard):
            disputed[item] = heard
    every = [disagreement for against in dissents.values() for disagreement in against]
    return Attribution(disputed, _records(check, every))


def _by_item(comparison: Comparison) -> dict[str, Difference]:
    if not isinstance(comparison, Compared):
        return {}
    return {difference.item: difference for difference in comparison.differences}


def _hear(
    check: str, spec: Observation, comparison_: EngineComparison
) -> tuple[set[str], list[Disagreement]]:
    """Return the values on which an engine agrees, and those on which it does not."""
    to_usd = _by_item(comparison_.to_usd)
    agreed, departed = set(), []
    for item, difference in _by_item(comparison_.from_spec).items():
        precision = comparison_.stated.precision
        if agrees(difference, precision):
            agreed.add(item)
        elif difference.grade is Grade.FAILS:
            same = to_usd.get(item)
            departed.append(
                Disagreement(
                    engine=comparison_.stated.engine,
                    difference=difference,
                    known=known_deviations(check, difference, spec, comparison_.stated),
                    sides_with_usd=same is not None and agrees(same, precision),
                )
            )
    return agreed, departed


def agrees(difference: Difference, precision: float) -> bool:
    """Whether two values are the same, as far as the reader's arithmetic can tell."""
    if difference.grade in {Grade.EXACT, Grade.CLOSE}:
        return True
    return difference.grade is Grade.FAILS and (
        difference.amount <= roundings(precision) * difference.bound
    )


def roundings(precision: float) -> float:
    """How many times what storage in float32 does a reader's arithmetic may do."""
    return ROUNDINGS * precision / RELATIVE


def known_deviations(
    check: str, difference: Difference, spec: Observation, stated: Observation
) -> tuple[Deviation, ...]:
    """Return what accounts for a departure; nothing if any part is unaccounted for.

    Args:
        check: Identifier of the check.
        difference: From the specification to a reader, or from that reader on.
        spec: The specification's reading.
        stated: What the reader says of the same file.
    """
    item = DeviationCase(check, difference.item, spec, stated)
    if (whole := explain(item, whole=True)) is not None:
        return (whole,)
    parts = difference.traces or (difference.item,)
    found = [explain(DeviationCase(check, part, spec, stated)) for part in parts]
    known = tuple(dict.fromkeys(deviation for deviation in found if deviation))
    return known if all(found) else ()


def _records(
    check: str, dissents: Iterable[Disagreement]
) -> tuple[DeviationRecord, ...]:
    """One record per engine and cause, with all it concerns."""
    by_cause: dict[tuple[str, str, str], list[Difference]] = {}
    for disagreement in dissents:
        causes = [(known.id, known.cause) for known in disagreement.known]
        for identifier, cause in causes or [(UNEXPLAINED, _UNEXPLAINED)]:
            key = disagreement.engine, identifier, cause
            by_cause.setdefault(key, []).append(disagreement.difference)
    return tuple(
        DeviationRecord(
            engine=engine,
            id=identifier,
            cause=cause,
            check=check,
            subjects=tuple(difference.subject for difference in differences),
            largest=max(
                (
                    difference.amount
                    for difference in differences
                    if difference.amount < float("inf")
                ),
                default=None,
            ),
        )
        for (engine, identifier, cause), differences in by_cause.items()
    )
