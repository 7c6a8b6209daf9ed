"""Attribution of differences to the USD or to an engine, value by value.

The reference engine shares its URDF reader with the converter, so each of its values
is compared with the other engines. An engine with a known deviation on a value is
ignored for that value. If no remaining engine agrees with the reference, the value is
disputed where the engines contradict the USD, or agree with the USD against the
reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.tolerance.bounds import RELATIVE, ROUNDINGS
from urdf_usd.conformance.tolerance.comparison import Compared, Comparison
from urdf_usd.conformance.verdict.conditions import DeviationCase
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED, Deviation, explain
from urdf_usd.reports.records.record import DeviationRecord, Difference, Grade

_UNEXPLAINED = "The engine differs from the specification for an unknown reason."


class EngineComparison(Struct, frozen=True, eq=False):
    """Comparisons of one engine for one check.

    Attributes:
        stated: The engine's observation of the URDF.
        from_spec: The reference compared with it.
        to_usd: It compared with the USD.
    """

    stated: Observation
    from_spec: Comparison
    to_usd: Comparison


class Disagreement(Struct, frozen=True):
    """A value on which an engine differs from the reference.

    Attributes:
        engine: The engine.
        difference: From the reference to the engine.
        known: Known deviations that explain it; empty if any part is unexplained.
        matches_usd: Whether the engine agrees with the USD.
    """

    engine: str
    difference: Difference
    known: tuple[Deviation, ...]
    matches_usd: bool


class Attribution(Struct, frozen=True):
    """Result of comparing the engines for one check.

    Attributes:
        disputed: Disagreeing engines, by the item that cannot be judged.
        deviations: Deviations of engines, never counted against the USD.
    """

    disputed: Mapping[str, tuple[Disagreement, ...]]
    deviations: tuple[DeviationRecord, ...]


def attribute(
    check: str,
    spec: Observation,
    to_usd: Comparison,
    comparisons: Iterable[EngineComparison],
) -> Attribution:
    """Attribute the differences of a check.

    Args:
        check: Identifier of the check.
        spec: Observation of the reference engine.
        to_usd: The reference compared with the USD.
        comparisons: The other engines that read the file.
    """
    supported: set[str] = set()
    disagreements: dict[str, list[Disagreement]] = {}
    for comparison in comparisons:
        agreed, differing = _split(check, spec, comparison)
        supported |= agreed
        for disagreement in differing:
            disagreements.setdefault(disagreement.difference.item, []).append(disagreement)
    verdicts = _by_item(to_usd)
    disputed = {}
    for item, against in disagreements.items():
        unexplained = tuple(disagreement for disagreement in against if not disagreement.known)
        difference = verdicts.get(item)
        if not unexplained or item in supported or difference is None:
            continue
        fails = difference.grade is Grade.FAILS
        if not fails or all(disagreement.matches_usd for disagreement in unexplained):
            disputed[item] = unexplained
    every = [disagreement for against in disagreements.values() for disagreement in against]
    return Attribution(disputed, deviation_records(check, every))


def _by_item(comparison: Comparison) -> dict[str, Difference]:
    if not isinstance(comparison, Compared):
        return {}
    return {difference.item: difference for difference in comparison.differences}


def _split(
    check: str, spec: Observation, comparison: EngineComparison
) -> tuple[set[str], list[Disagreement]]:
    """Return the items on which an engine agrees, and its disagreements."""
    to_usd = _by_item(comparison.to_usd)
    agreed, differing = set(), []
    for item, difference in _by_item(comparison.from_spec).items():
        precision = comparison.stated.precision
        if agrees(difference, precision):
            agreed.add(item)
        elif difference.grade is Grade.FAILS:
            same = to_usd.get(item)
            differing.append(
                Disagreement(
                    engine=comparison.stated.engine,
                    difference=difference,
                    known=known_deviations(check, difference, spec, comparison.stated),
                    matches_usd=same is not None and agrees(same, precision),
                )
            )
    return agreed, differing


def agrees(difference: Difference, precision: float) -> bool:
    """Whether two values are equal within tolerance and the engine's arithmetic."""
    if difference.grade in {Grade.EXACT, Grade.CLOSE}:
        return True
    return difference.grade is Grade.FAILS and (
        difference.amount <= roundings(precision) * difference.bound
    )


def roundings(precision: float) -> float:
    """Ratio of the rounding of an engine's arithmetic to that of float32 storage."""
    return ROUNDINGS * precision / RELATIVE


def known_deviations(
    check: str, difference: Difference, spec: Observation, stated: Observation
) -> tuple[Deviation, ...]:
    """Return the known deviations that explain a difference; empty unless all parts.

    Args:
        check: Identifier of the check.
        difference: The difference, of which ``stated`` is one side.
        spec: Observation of the reference engine.
        stated: Observation of the engine that differs.
    """
    item = DeviationCase(check, difference.item, spec, stated)
    if (whole := explain(item, whole=True)) is not None:
        return (whole,)
    parts = difference.traces or (difference.item,)
    explanations = [explain(DeviationCase(check, part, spec, stated)) for part in parts]
    known = tuple(dict.fromkeys(deviation for deviation in explanations if deviation))
    return known if all(explanations) else ()


def deviation_records(
    check: str, disagreements: Iterable[Disagreement]
) -> tuple[DeviationRecord, ...]:
    """Return one record per engine and cause.

    Args:
        check: Identifier of the check.
        disagreements: Values on which engines differ.
    """
    by_cause: dict[tuple[str, str, str], list[Difference]] = {}
    for disagreement in disagreements:
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
