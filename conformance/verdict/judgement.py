"""From outcomes of engines to checks, deviations and a verdict on the USD.

The reference engine states the expected values. A failing check is attributed to the
USD, unless the other engines contradict the reference; a single engine that differs is
a deviation. What simulators report counts as well. The verdict is that of the worst
check; if everything else agrees and parts could not be compared, it is *incomplete*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from types import MappingProxyType
from typing import assert_never

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.checks.catalogue import (
    CHECKS,
    ROUND_TRIP_CHECKS,
    SIMULATION_CHECKS,
)
from urdf_usd.conformance.checks.check import Check, compare
from urdf_usd.conformance.checks.mass_values import moments_text
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    Crashed,
    Observed,
    Outcome,
    Side,
)
from urdf_usd.conformance.observation.robot import (
    Base,
    Departure,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
    derive_tolerance_model,
    with_losses,
)
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of
from urdf_usd.conformance.verdict.attribution import (
    Attribution,
    Disagreement,
    EngineComparison,
    attribute,
)
from urdf_usd.conformance.verdict.chosen_colliders import compare_chosen
from urdf_usd.conformance.verdict.judged import (
    REFERENCE,
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.conformance.verdict.round_trip import compare_round_trip
from urdf_usd.conformance.verdict.simulators import (
    SimulatorResult,
    compare_simulator,
    merge,
)
from urdf_usd.reports.records.record import (
    ANOTHER_ROBOT,
    CheckRecord,
    DeviationRecord,
    Difference,
    DifferenceRecord,
    Grade,
    Verdict,
)

# Findings shown per check; the check says how many there are.
MOST_FINDINGS = 20
# Missing layers in the reason.
_MOST_MISSING = 3
# Of fewer links, names are no evidence.
_FEW_LINKS = 3
# Checks that differ if links of different robots are matched.
_MATCHED = ("kinematics.position", "mass.link.mass")


def judge(
    urdf: Mapping[str, Outcome],
    usd: Outcome,
    *,
    simulators: Sequence[Outcome] = (),
    back: RoundTripOutcomes | None = None,
    tolerance: Tolerance | None = None,
    expected_base: Base | None = None,
    promise: SimulationObservation | None = None,
    estimated: AbstractSet[str] = frozenset(),
    colliders: Mapping[str, ColliderChoice] = MappingProxyType({}),
) -> Judgement:
    """Judge a USD by the observations of it and of the URDF.

    Args:
        urdf: Outcome per URDF engine, ``reference`` among them.
        usd: Outcome of the USD engine that is judged.
        simulators: Outcomes of the other USD engines. What they report counts as well,
            except for their known deviations; so does their refusal of a USD that is
            made for them.
        back: Outcomes for the URDF that was written from the USD, if requested.
        tolerance: Engineering tolerance; the default one if absent.
        expected_base: Base that the user requested; None for that of the URDF, if it
            defines one.
        promise: What a robot description file states, if there is one.
        estimated: Links whose mass properties are not those of the URDF file but were
            computed from shapes: they are never exact.
        colliders: Requested colliders by link, where they are not those of the URDF:
            they are never exact.

    Raises:
        ValueError: There is no outcome of ``reference``.
    """
    if REFERENCE not in urdf:
        raise ValueError(f"no outcome of the reference engine {REFERENCE!r}")
    match urdf[REFERENCE], usd:
        case Abstained(reason), _:
            return _nothing(Verdict.UNREADABLE, reason)
        case Crashed(reason), _:
            return _nothing(Verdict.CRASHED, f"{REFERENCE} crashed: {reason}")
        case _, Crashed(reason):
            return _nothing(Verdict.CRASHED, f"the USD engine crashed: {reason}")
        case _, Abstained(reason, invalid=True):
            return _nothing(Verdict.FAILS, f"the USD has unusable values: {reason}")
        case _, Abstained(reason):
            return _nothing(Verdict.NOT_COMPARABLE, f"the USD is unreadable: {reason}")
        case Observed(spec), Observed(actual):
            if promise is not None:
                states = spec.states | {Quantity.SIMULATION}
                spec = structs.replace(spec, states=states, simulation=promise)
                actual = without_requested(actual, promise)
            inputs = _Inputs(
                spec=spec,
                requested=structs.replace(spec, base=expected_base or spec.base),
                actual=actual,
                engines={name: outcome for name, outcome in urdf.items() if name != REFERENCE},
                simulators=tuple(
                    outcome.observation for outcome in simulators if isinstance(outcome, Observed)
                ),
                refusals=tuple(
                    outcome.reason
                    for outcome in simulators
                    if isinstance(outcome, Abstained) and outcome.invalid
                ),
                back=back,
                model=derive_tolerance_model(spec, tolerance or Tolerance()),
                estimated=frozenset(estimated),
                colliders=colliders,
            )
            return _judge(inputs)
        case unknown:
            raise TypeError(f"not outcomes: {unknown}")


class _Inputs(Struct, frozen=True, eq=False):
    """Everything that is compared for one robot.

    Attributes:
        spec: The reference observation of the URDF.
        requested: The same with the base that the user requested.
        actual: The observation of the USD.
        engines: Outcomes of the other URDF engines.
        simulators: Observations of the other USD engines.
        refusals: Why the other USD engines refuse a USD that is made for them.
        back: Outcomes for the URDF written from the USD, if requested.
        model: Bounds and tolerances of all comparisons.
        estimated: Links whose mass properties were computed from shapes.
        colliders: Requested colliders by link, where they are not those of the URDF.
    """

    spec: Observation
    requested: Observation
    actual: Observation
    engines: Mapping[str, Outcome]
    simulators: tuple[Observation, ...]
    refusals: tuple[str, ...]
    back: RoundTripOutcomes | None
    model: ToleranceModel
    estimated: frozenset[str]
    colliders: Mapping[str, ColliderChoice]


def _nothing(verdict: Verdict, reason: str) -> Judgement:
    return Judgement((), (), verdict, reason)


def _judge(inputs: _Inputs) -> Judgement:
    made = CHECKS if inputs.spec.simulation is None else (*CHECKS, *SIMULATION_CHECKS)
    judged = [_judge_check(check, inputs) for check in made]
    checks = _with_prims(
        (*(record for record, _ in judged), *_round_trip(inputs)), inputs.actual.prims
    )
    deviations = [deviation for _, records in judged for deviation in records]
    deviations += departures(inputs.actual)
    reason = overall_reason(checks) + _unconfirmed(inputs) + _unconfirmed_promise(inputs)
    verdict = overall_verdict({check.grade for check in checks})
    reason = _another_robot(inputs, checks) or reason
    if missing := inputs.actual.missing:
        lacking = "; ".join(missing[:_MOST_MISSING])
        verdict = Verdict.INCOMPLETE if verdict.conforms else verdict
        other = "" if verdict is Verdict.INCOMPLETE else f"; {reason}"
        reason = f"parts of the USD are missing: {lacking}{other}"
    if inputs.refusals and verdict is not Verdict.FAILS:
        reason = f"a simulator refuses the USD: {'; '.join(inputs.refusals)}"
        verdict = Verdict.FAILS
    return Judgement(checks, tuple(deviations), verdict, reason)


def _another_robot(inputs: _Inputs, checks: Iterable[CheckRecord]) -> str:
    """Return how many names are unknown, if the USD is probably of another robot.

    Most links of either side are unknown to the other, and most poses and masses of
    links that were matched by structure differ. Names alone differ as well if a
    converter changes them.
    """
    ours = {link.name for link in inputs.spec.links}
    renamed = {subject.removeprefix("link ") for subject, _ in inputs.actual.renamed}
    theirs = {link.name for link in inputs.actual.links}
    known = (ours & theirs) - renamed
    unknown = len(ours) - len(known)
    if unknown < _FEW_LINKS or 2 * len(known) >= min(len(ours), len(theirs)):
        return ""
    compared = [
        difference
        for check in checks
        if check.id in _MATCHED
        for difference in check.differences
        if difference.engine == REFERENCE
    ]
    if any(2 * one.unequal < one.compared for one in compared):
        return ""
    return f"{ANOTHER_ROBOT}: {unknown} of {len(ours)} names are unknown"


def _with_prims(
    checks: Iterable[CheckRecord], prims: Iterable[tuple[str, str]]
) -> tuple[CheckRecord, ...]:
    """Add the prims that findings concern."""
    paths = dict(prims)

    def located(finding: Difference) -> Difference:
        # A group is named after its first link.
        kind, _, name = finding.subject.partition(" ")
        subject = f"link {name}" if kind == "group" else finding.subject
        return structs.replace(finding, prim=paths.get(subject))

    return tuple(
        structs.replace(check, findings=tuple(map(located, check.findings))) for check in checks
    )


def _round_trip(inputs: _Inputs) -> Iterator[CheckRecord]:
    """Judge the round trip by the engines that read both URDFs."""
    if inputs.back is None:
        return
    for check in ROUND_TRIP_CHECKS:
        trip = compare_round_trip(check, inputs.spec, inputs.engines, inputs.back, inputs.model)
        if trip is not None:
            differences = tuple(
                _difference_record(check, engine, comparison)
                for engine, comparison in trip.by_engine.items()
            )
            no_attribution = Attribution({}, ())
            yield _check_record(check, trip.comparison, no_attribution, differences)


def _judge_check(check: Check, inputs: _Inputs) -> tuple[CheckRecord, tuple[DeviationRecord, ...]]:
    comparison = with_losses(compare(check, inputs.requested, inputs.actual, inputs.model))
    if inputs.estimated and check.group == "mass" and not check.usd_alone:
        comparison = _with_estimates(comparison, inputs)
    if inputs.colliders:
        sides = inputs.requested, inputs.actual
        comparison = with_losses(
            compare_chosen(check.id, comparison, sides, inputs.model, inputs.colliders)
        )
    comparisons = {
        name: EngineComparison(
            stated=outcome.observation,
            from_spec=compare(check, inputs.spec, outcome.observation, inputs.model),
            to_usd=compare(check, outcome.observation, inputs.actual, inputs.model),
        )
        for name, outcome in inputs.engines.items()
        if isinstance(outcome, Observed) and not check.usd_alone
    }
    attribution = attribute(check.id, inputs.spec, comparison, comparisons.values())
    results: tuple[SimulatorResult, ...] = ()
    if not check.usd_alone and isinstance(comparison, Compared):
        results = tuple(
            compare_simulator(check, inputs.requested, inputs.actual, simulated, inputs.model)
            for simulated in inputs.simulators
        )
    differences = [_difference_record(check, REFERENCE, comparison)]
    for name, outcome in inputs.engines.items():
        to_usd = comparisons[name].to_usd if name in comparisons else _absent(check, outcome)
        differences.append(_difference_record(check, name, to_usd))
    readings = [(inputs.actual.engine, comparison)]
    readings += [(result.engine, result.comparison) for result in results]
    differences += [
        structs.replace(_difference_record(check, name, found), side=Side.USD.value)
        for name, found in readings
    ]
    if isinstance(comparison, Compared):
        comparison = merge(comparison, results)
    record = _check_record(check, comparison, attribution, tuple(differences))
    explained = (known for result in results for known in result.deviations)
    return record, (*attribution.deviations, *explained)


def _with_estimates(comparison: Comparison, inputs: _Inputs) -> Comparison:
    """Mark differences of links and groups whose mass properties were estimated."""
    if isinstance(comparison, Incomparable):
        return comparison
    within = {group[0]: inputs.estimated.intersection(group) for group in inputs.model.groups}

    def marked(difference: Difference) -> Difference:
        item = difference.item
        links = sorted(within.get(item, inputs.estimated & {item}))
        if difference.subject.startswith("link "):
            links = sorted(inputs.estimated & {item})
        elif difference.subject == "robot":
            links = sorted(inputs.estimated)
        if not links:
            return difference
        message = f"{difference.subject}: estimated from shapes, not stated by the URDF"
        if difference.grade is Grade.FAILS:
            message = f"{difference.message}; estimated from shapes"
        return structs.replace(difference, estimated=True, message=message)

    return structs.replace(
        comparison,
        differences=tuple(map(marked, comparison.differences)),
        reported=comparison.reported and tuple(map(marked, comparison.reported)),
    )


def _absent(check: Check, outcome: Outcome) -> Incomparable:
    """Return why an engine takes no part in a check."""
    match outcome:
        case Abstained(reason):
            return Incomparable(f"abstained: {reason}")
        case Crashed(reason):
            return Incomparable(f"crashed: {reason}")
        case Observed():
            return Incomparable(f"{check.title}: concerns the USD alone")
        case _:
            assert_never(outcome)


def _check_record(
    check: Check,
    comparison: Comparison,
    attribution: Attribution,
    differences: tuple[DifferenceRecord, ...],
) -> CheckRecord:
    if isinstance(comparison, Incomparable):
        return CheckRecord(
            id=check.id,
            title=check.title,
            group=check.group,
            unit=check.unit,
            grade=Grade.NOT_COMPARABLE,
            compared=0,
            reason=comparison.reason,
            differences=differences,
        )
    grades = [_grade(difference, attribution) for difference in comparison.differences]
    findings = _findings(comparison, attribution)
    reasons = [
        _dispute(attribution.disputed),
        comparison.note,
        f"{MOST_FINDINGS} of {len(findings)} findings shown"
        if len(findings) > MOST_FINDINGS
        else None,
    ]
    worst = _worst(comparison.differences)
    return CheckRecord(
        id=check.id,
        title=check.title,
        group=check.group,
        unit=check.unit,
        grade=max(grades, key=attrgetter("severity"), default=Grade.NOT_APPLICABLE),
        compared=sum(grade is not Grade.NOT_COMPARABLE for grade in grades),
        worst=_amount(check, worst),
        worst_subject=worst.subject if worst and worst.amount else None,
        bound=worst.bound if worst and check.unit else None,
        tolerance=worst.tolerance if worst and check.unit else None,
        reason="; ".join(reason for reason in reasons if reason) or None,
        differences=differences,
        findings=tuple(findings[:MOST_FINDINGS]),
    )


def _grade(difference: Difference, attribution: Attribution) -> Grade:
    if difference.item in attribution.disputed:
        return Grade.DISPUTED
    return difference.grade


def _worst(differences: Sequence[Difference]) -> Difference | None:
    """Return the worst difference; values that one side does not state come last."""
    return max(differences, key=attrgetter("severity"), default=None)


def _amount(check: Check, difference: Difference | None) -> float | None:
    """Return a difference that is a number in the unit of the check, else None."""
    if difference is None or not check.unit or not math.isfinite(difference.amount):
        return None
    return difference.amount


def _difference_record(check: Check, engine: str, comparison: Comparison) -> DifferenceRecord:
    if isinstance(comparison, Incomparable):
        return DifferenceRecord(engine=engine, compared=0, reason=comparison.reason)
    values = comparison.differences
    worst = _worst(values)
    return DifferenceRecord(
        engine=engine,
        compared=sum(not math.isnan(value.amount) for value in values),
        largest=_amount(check, worst),
        subject=worst.subject if worst and worst.amount else None,
        unequal=sum(value.grade is Grade.FAILS for value in values),
        reason=None if values else comparison.note,
    )


def _findings(comparison: Compared, attribution: Attribution) -> list[Difference]:
    """Return findings, worst first; disputed ones with the engines' messages."""
    reported = comparison.differences if comparison.reported is None else comparison.reported
    own = [
        difference
        for difference in reported
        if difference.item not in attribution.disputed and difference.grade is not Grade.EXACT
    ]
    own.sort(key=lambda value: (-value.grade.severity, -value.severity))
    graded = [structs.replace(value, assigned=value.grade) for value in own]
    disputed = [
        structs.replace(
            difference,
            assigned=Grade.DISPUTED,
            message="; ".join(f"{one.engine}: {one.difference.message}" for one in disagreements),
        )
        for difference in comparison.differences
        if (disagreements := attribution.disputed.get(difference.item))
    ]
    failing = sum(finding.grade is Grade.FAILS for finding in graded)
    return graded[:failing] + disputed + graded[failing:]


def _dispute(disputed: Mapping[str, tuple[Disagreement, ...]]) -> str | None:
    if not disputed:
        return None
    engines = dict.fromkeys(
        disagreement.engine for disagreements in disputed.values() for disagreement in disagreements
    )
    return (
        f"{' and '.join(engines)} contradict the {REFERENCE} engine, and no engine agrees with it"
    )


def _unconfirmed(inputs: _Inputs) -> str:
    """Return a remark if only the converter's reader could read a malformed URDF."""
    if not inputs.spec.malformed:
        return ""
    engines = [name for name, outcome in inputs.engines.items() if isinstance(outcome, Observed)]
    if engines:
        return ""
    return (
        f"; the URDF is malformed XML ({', '.join(inputs.spec.malformed)}), repaired by"
        " the converter's reader: no other engine confirms the result"
    )


def _unconfirmed_promise(inputs: _Inputs) -> str:
    """Return a remark if promises come from files that only the converter can read."""
    promise = inputs.spec.simulation
    if promise is None or not promise.repaired:
        return ""
    return (
        f"; malformed XML ({', '.join(promise.repaired)}), repaired by the converter's"
        " reader: no other reading confirms the settings of the description file"
    )


def overall_verdict(grades: AbstractSet[Grade]) -> Verdict:
    """Return the verdict that follows from the grades of all checks."""
    worst = max(grades, key=attrgetter("severity"))
    if worst is Grade.NOT_APPLICABLE:
        return Verdict.NOT_COMPARABLE
    if worst is Grade.NOT_COMPARABLE and grades & {Grade.EXACT, Grade.CLOSE}:
        return Verdict.INCOMPLETE
    return Verdict(worst.value)


def overall_reason(checks: Sequence[CheckRecord]) -> str:
    """Name the deciding finding, in one sentence."""
    worst = max((check.grade for check in checks), key=attrgetter("severity"))
    if worst is Grade.NOT_APPLICABLE:
        return "nothing was compared"
    if worst is Grade.EXACT:
        made = sum(check.grade is not Grade.NOT_APPLICABLE for check in checks)
        return f"all {made} checks are exact"
    deciding = [check for check in checks if check.grade is worst]
    first = deciding[0]
    finding = next((f for f in first.findings if f.grade is worst), None)
    message = finding.message if finding else first.reason or first.title
    more = len(deciding) - 1
    others = f" (and {more} more {'checks' if more > 1 else 'check'})" if more else ""
    return f"{first.title}: {message}{others}"


def departures(actual: Observation) -> list[DeviationRecord]:
    """Record the inertias that the USD engine replaces, one record per cause."""
    by_cause: dict[str, list[Departure]] = {}
    for departure in actual.departures:
        by_cause.setdefault(departure.cause, []).append(departure)
    return [_deviation(actual.engine, cause, same_cause) for cause, same_cause in by_cause.items()]


def _deviation(engine: str, cause: str, same_cause: Sequence[Departure]) -> DeviationRecord:
    values = tuple(map(_value, same_cause))
    amounts = [value.amount for value in values if math.isfinite(value.amount)]
    return DeviationRecord(
        engine=engine,
        id=f"{engine}-inertia",
        cause=cause,
        check="mass.link.inertia",
        subjects=tuple(value.subject for value in values),
        largest=max(amounts, default=None),
        values=values,
    )


def _value(departure: Departure) -> Difference:
    """Return both tensors as text; the difference is relative to the largest moment."""
    stated, computed = tensor_of(departure.stated), tensor_of(departure.computed)
    finite = bool(np.isfinite(stated).all() and np.isfinite(computed).all())
    amount = math.inf
    if finite and stated.any():
        amount = float(np.linalg.norm(computed - stated, 2) / np.linalg.norm(stated, 2))
    return Difference(
        item=departure.link,
        subject=f"link {departure.link}",
        message=f"link {departure.link}: {departure.cause}",
        expected=moments_text(stated) if finite else "not finite",
        actual=moments_text(computed) if finite else "not finite",
        amount=amount,
    )
