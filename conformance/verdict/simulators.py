"""Differences of simulators that read the USD from the URDF, and which of them count.

A parser reports what a USD states; a simulator computes what moves. Every engine of the
USD side besides the one that is judged is a simulator. Its values are compared with the
reference observation of the URDF, and count against the USD, unless

- a known deviation of the simulator explains them: the USD states the right value, and
  the simulator computes another;
- the judged engine reads the same value, which then fails already;
- the simulator does not report the value, for example because the USD has none of the
  schemas that it reads.
"""

from __future__ import annotations

from msgspec import Struct, structs

from urdf_usd.conformance.checks.check import Check, compare
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
)
from urdf_usd.conformance.verdict.attribution import (
    Disagreement,
    agrees,
    deviation_records,
    known_deviations,
    roundings,
)
from urdf_usd.reports.records.record import DeviationRecord, Difference, Grade


class SimulatorResult(Struct, frozen=True, eq=False):
    """One simulator for one check.

    Attributes:
        engine: The simulator.
        comparison: The URDF compared with it, as far as it reports the quantity;
            bounds allow for the rounding of its arithmetic.
        counted: The part of the comparison that counts against the USD.
        deviations: Its known deviations, which do not count.
    """

    engine: str
    comparison: Comparison
    counted: Compared
    deviations: tuple[DeviationRecord, ...]


def compare_simulator(
    check: Check,
    spec: Observation,
    actual: Observation,
    simulated: Observation,
    model: ToleranceModel,
) -> SimulatorResult:
    """Compare the URDF with a simulator's reading of the USD.

    Args:
        check: A check that does not concern the USD alone.
        spec: The reference observation of the URDF, with the requested base.
        actual: The observation of the USD that is judged.
        simulated: The simulator's observation of the USD.
        model: Bounds and tolerances.
    """
    found = compare(check, spec, simulated, model)
    if isinstance(found, Incomparable):
        return SimulatorResult(simulated.engine, found, Compared(()), ())
    found = _reported_by(found, simulated)
    from_usd = compare(check, actual, simulated, model)
    same = {one.item: one for one in from_usd.differences} if isinstance(from_usd, Compared) else {}
    disagreements = []
    excused = set()
    for difference in found.differences:
        if difference.grade is not Grade.FAILS:
            continue
        departure = same.get(difference.item)
        if departure is None:
            continue
        if agrees(departure, simulated.precision):
            excused.add(difference.item)
        elif known := known_deviations(check.id, departure, actual, simulated):
            excused.add(difference.item)
            disagreements.append(
                Disagreement(simulated.engine, departure, known, matches_usd=False)
            )
    return SimulatorResult(
        simulated.engine,
        found,
        _without(found, excused),
        deviation_records(check.id, disagreements),
    )


def merge(comparison: Compared, results: tuple[SimulatorResult, ...]) -> Compared:
    """Add what counts of simulators to the comparison of the judged engine."""
    if not results:
        return comparison
    parts = [comparison, *(result.counted for result in results)]
    return structs.replace(
        comparison,
        differences=tuple(one for part in parts for one in part.differences),
        reported=tuple(
            one
            for part in parts
            for one in (part.differences if part.reported is None else part.reported)
        ),
    )


def _reported_by(comparison: Compared, simulated: Observation) -> Compared:
    """Keep reported values; name the engine, and allow for its precision."""
    scale = max(1.0, roundings(simulated.precision))

    def named(differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
        return tuple(
            structs.replace(
                _allowing_rounding(one, scale),
                message=f"{simulated.engine}: {one.message}",
            )
            for one in differences
            if one.grade is not Grade.NOT_COMPARABLE
        )

    return structs.replace(
        comparison,
        differences=named(comparison.differences),
        reported=None if comparison.reported is None else named(comparison.reported),
    )


def _allowing_rounding(difference: Difference, scale: float) -> Difference:
    """Widen the bound, but not beyond the tolerance: what exceeds it is *close*."""
    rounding = difference.bound * scale
    if rounding <= difference.tolerance or not difference.tolerance:
        return structs.replace(difference, bound=rounding)
    bound = max(difference.bound, difference.tolerance)
    return structs.replace(difference, bound=bound, tolerance=rounding)


def _without(comparison: Compared, items: set[str]) -> Compared:
    def rest(differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
        return tuple(one for one in differences if one.item not in items)

    return structs.replace(
        comparison,
        differences=rest(comparison.differences),
        reported=None if comparison.reported is None else rest(comparison.reported),
    )
