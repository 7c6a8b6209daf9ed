"""From outcomes of engines to checks, deviations and a verdict on the USD.

The reference engine gives the expected values. A failing check is attributed to the
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

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import (
    Check,
    Compared,
    Comparison,
    Incomparable,
    compare,
)
from urdf_usd.conformance.checks.mass import MOMENT
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Side, Unsupported
from urdf_usd.conformance.observation.robot import Base, Departure, Observation, Quantity
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.tolerance.bounds import Tolerance, principal_moments
from urdf_usd.conformance.tolerance.model import ToleranceModel, derive_tolerance_model
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of
from urdf_usd.conformance.verdict.attribution import (
    EngineComparison,
    attribute,
    compare_simulator,
)
from urdf_usd.conformance.verdict.chosen_colliders import compare_chosen
from urdf_usd.conformance.verdict.judged import (
    REFERENCE,
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.conformance.verdict.round_trip import compare_round_trip
from urdf_usd.reports.records.record import (
    ANOTHER_ROBOT,
    CheckRecord,
    DeviationRecord,
    Difference,
    EngineDifference,
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
_SEVERITY = attrgetter("severity")


def judge(
    urdf: Mapping[str, Outcome],
    usd: Outcome,
    *,
    simulators: Sequence[Outcome] = (),
    back: RoundTripOutcomes | None = None,
    tolerance: Tolerance | None = None,
    expected_base: Base | None = None,
    requested: SimulationObservation | None = None,
    estimated: AbstractSet[str] = frozenset(),
    colliders: Mapping[str, ColliderChoice] = MappingProxyType({}),
    decides: str = REFERENCE,
    described: bool = False,
) -> Judgement:
    """Judge a USD by the observations of it and of the URDF.

    Args:
        urdf: Outcome per engine of the URDF or other source, the deciding one among them.
        usd: Outcome of the USD engine that is judged.
        simulators: Outcomes of the other USD engines. What they report counts as well,
            except for their known deviations; so does their refusal of a USD that is
            made for them.
        back: Outcomes for the URDF that was written from the USD, if requested.
        tolerance: Engineering tolerance; the default one if absent.
        expected_base: Base that the user requested; None for that of the URDF, if it
            defines one.
        requested: What a simulation settings file requests, if there is one.
        estimated: Links whose mass properties are not those of the URDF file but were
            computed from shapes: they are never exact.
        colliders: Requested colliders by link, where they are not those of the URDF:
            they are never exact.
        decides: Name of the engine that gives the expected values.
        described: Whether the second observation is of a description of the robot, not of a
            USD: what concerns a USD alone, and what one of the formats lacks, is left out.

    Raises:
        ValueError: There is no outcome of the deciding engine.
    """
    if decides not in urdf:
        raise ValueError(f"no outcome of the reference engine {decides!r}")
    match urdf[decides], usd:
        case Unsupported(reason), _:
            return _nothing(Verdict.UNREADABLE, reason)
        case Crashed(reason), _:
            return _nothing(Verdict.CRASHED, f"{decides} crashed: {reason}")
        case _, Crashed(reason):
            return _nothing(Verdict.CRASHED, f"the USD engine crashed: {reason}")
        case _, Unsupported(reason, invalid=True):
            return _nothing(Verdict.FAILS, f"the USD has unusable values: {reason}")
        case _, Unsupported(reason):
            return _nothing(Verdict.NOT_COMPARABLE, f"the USD is unreadable: {reason}")
        case Observed(reference), Observed(actual):
            pass
        case unknown:
            raise TypeError(f"not outcomes: {unknown}")
    if requested is not None:
        states = reference.states | {Quantity.SIMULATION}
        reference = structs.replace(reference, states=states, simulation=requested)
        actual = without_requested(actual, requested)
    inputs = _Inputs(
        reference=reference,
        expected=structs.replace(reference, base=expected_base or reference.base),
        actual=actual,
        engines={name: outcome for name, outcome in urdf.items() if name != decides},
        simulators=[one.observation for one in simulators if isinstance(one, Observed)],
        model=derive_tolerance_model(reference, tolerance or Tolerance()),
        estimated=estimated,
        colliders=colliders,
    )
    checks_made = (*CHECKS, *(SIMULATION_CHECKS if requested else ()))
    if described:
        shared = (reference.states & actual.states) - {Quantity.SIMULATION}
        shared -= set() if reference.base and actual.base else {Quantity.BASE}
        checks_made = tuple(one for one in CHECKS if one.quantity in shared and not one.usd_alone)
    judged = [_judge_check(check, inputs) for check in checks_made]
    round_trip = _judge_round_trip(inputs, back) if back else ()
    checks = (*(record for record, _ in judged), *round_trip)
    deviations = [deviation for _, records in judged for deviation in records]
    verdict = _overall_verdict({check.grade for check in checks})
    reason = _another_robot(inputs, checks) or _overall_reason(checks) + _unconfirmed(inputs)
    if actual.missing:
        missing = "; ".join(actual.missing[:_MOST_MISSING])
        verdict = Verdict.INCOMPLETE if verdict.conforms else verdict
        other = "" if verdict is Verdict.INCOMPLETE else f"; {reason}"
        reason = f"parts of the USD are missing: {missing}{other}"
    refusals = [one.reason for one in simulators if isinstance(one, Unsupported) and one.invalid]
    if refusals and verdict is not Verdict.FAILS:
        verdict = Verdict.FAILS
        reason = f"a simulator refuses the USD: {'; '.join(refusals)}"
    return Judgement(checks, (*deviations, *_departures(actual)), verdict, reason)


class _Inputs(Struct, frozen=True, eq=False):
    """Everything that is compared for one robot."""

    reference: Observation  # of the URDF by the reference engine
    expected: Observation  # the same with the base that the user requested
    actual: Observation  # of the USD
    engines: Mapping[str, Outcome]  # of the other engines of the URDF
    simulators: Sequence[Observation]  # of the USD by the other engines
    model: ToleranceModel
    estimated: AbstractSet[str]  # links with mass properties computed from shapes
    colliders: Mapping[str, ColliderChoice]  # requested, by link


def _nothing(verdict: Verdict, reason: str) -> Judgement:
    return Judgement((), (), verdict, reason)


def _with_losses(comparison: Comparison) -> Comparison:
    """Let values fail that only the first side states."""

    def lost(one: Difference) -> Difference:
        is_lost = math.isnan(one.amount) and not one.unknown
        return structs.replace(one, amount=math.inf) if is_lost else one

    return comparison if isinstance(comparison, Incomparable) else comparison.each(lost)


def _judge_check(check: Check, inputs: _Inputs) -> tuple[CheckRecord, tuple[DeviationRecord, ...]]:
    """Compare every engine, attribute the differences, and record them."""
    reference, expected, actual, model = (
        inputs.reference,
        inputs.expected,
        inputs.actual,
        inputs.model,
    )
    comparison = _with_losses(compare(check, expected, actual, model))
    if inputs.estimated and check.group == "mass" and not check.usd_alone:
        comparison = _with_estimates(comparison, inputs)
    if inputs.colliders:
        comparison = _with_losses(
            compare_chosen(check.id, comparison, (expected, actual), model, inputs.colliders)
        )
    engines: dict[str, EngineComparison] = {}
    by_engine: list[tuple[str, Side, Comparison]] = [(reference.engine, Side.URDF, comparison)]
    for name, outcome in inputs.engines.items():
        match outcome:
            case Observed(observation) if not check.usd_alone:
                from_reference = compare(check, reference, observation, model)
                to_usd = compare(check, observation, actual, model)
                engines[name] = EngineComparison(observation, from_reference, to_usd)
            case Observed():
                to_usd = Incomparable(f"{check.title}: concerns the USD alone")
            case Unsupported(reason):
                to_usd = Incomparable(f"unsupported: {reason}")
            case Crashed(reason):
                to_usd = Incomparable(f"crashed: {reason}")
        by_engine.append((name, Side.URDF, to_usd))
    by_engine.append((actual.engine, Side.USD, comparison))
    attribution = attribute(check.id, reference, comparison, engines.values())
    deviations = attribution.deviations
    if isinstance(comparison, Compared):
        parts = [comparison]
        for simulated in () if check.usd_alone else inputs.simulators:
            result = compare_simulator(check, expected, actual, simulated, model)
            by_engine.append((result.engine, Side.USD, result.comparison))
            parts.append(result.counted)
            deviations += result.deviations
        differences = tuple(one for part in parts for one in part.differences)
        reported = tuple(one for part in parts for one in part.shown)
        comparison = attribution.apply(Compared(differences, reported, comparison.note))
    disputing = dict.fromkeys(
        one.engine for against in attribution.disputed.values() for one in against
    )
    engines_named = f"{' and '.join(disputing)} contradict the {reference.engine} engine"
    dispute = f"{engines_named}, and no engine agrees with it"
    note = dispute if disputing else None
    return _check_record(check, comparison, by_engine, actual, note), deviations


def _judge_round_trip(inputs: _Inputs, back: RoundTripOutcomes) -> Iterator[CheckRecord]:
    """Judge the round trip by the engines that read both URDFs."""
    for check in ROUND_TRIP_CHECKS:
        trip = compare_round_trip(check, inputs.reference, inputs.engines, back, inputs.model)
        if trip is not None:
            sides = [(engine, Side.URDF, one) for engine, one in trip.by_engine.items()]
            yield _check_record(check, trip.comparison, sides, inputs.actual)


def _with_estimates(comparison: Comparison, inputs: _Inputs) -> Comparison:
    """Mark differences of links and groups whose mass properties were estimated."""
    if isinstance(comparison, Incomparable):
        return comparison
    within = {group[0]: inputs.estimated & {*group} for group in inputs.model.groups}

    def marked(difference: Difference) -> Difference:
        item = difference.item
        links = within.get(item, inputs.estimated & {item})
        if difference.subject.startswith("link "):
            links = inputs.estimated & {item}
        elif difference.subject == "robot":
            links = inputs.estimated
        if not links:
            return difference
        message = f"{difference.subject}: estimated from shapes, not stated by the URDF"
        if difference.grade is Grade.FAILS:
            message = f"{difference.message}; estimated from shapes"
        return structs.replace(difference, estimated=True, message=message)

    return comparison.each(marked)


def _check_record(
    check: Check,
    comparison: Comparison,
    sides: Iterable[tuple[str, Side, Comparison]],
    actual: Observation,
    dispute: str | None = None,
) -> CheckRecord:
    record = CheckRecord(
        id=check.id,
        title=check.title,
        group=check.group,
        unit=check.unit,
        grade=Grade.NOT_COMPARABLE,
        compared=0,
        differences=tuple(_engine_difference(check, *side) for side in sides),
    )
    if isinstance(comparison, Incomparable):
        return structs.replace(record, reason=comparison.reason)
    grades = [difference.grade for difference in comparison.differences]
    findings = _findings(comparison, dict(actual.prims))
    hidden = len(findings) > MOST_FINDINGS
    shown = f"{MOST_FINDINGS} of {len(findings)} findings shown" if hidden else None
    worst = max(comparison.differences, key=_SEVERITY, default=None)
    return structs.replace(
        record,
        grade=max(grades, key=_SEVERITY, default=Grade.NOT_APPLICABLE),
        compared=sum(grade is not Grade.NOT_COMPARABLE for grade in grades),
        worst=worst.measured if worst and check.unit else None,
        worst_subject=worst.subject if worst and worst.amount else None,
        bound=worst.bound if worst and check.unit else None,
        tolerance=worst.tolerance if worst and check.unit else None,
        reason="; ".join(filter(None, (dispute, comparison.note, shown))) or None,
        findings=tuple(findings[:MOST_FINDINGS]),
    )


def _engine_difference(
    check: Check, engine: str, side: Side, comparison: Comparison
) -> EngineDifference:
    if isinstance(comparison, Incomparable):
        reason = comparison.reason
        return EngineDifference(engine=engine, side=side.value, compared=0, reason=reason)
    values = comparison.differences
    worst = max(values, key=_SEVERITY, default=None)
    return EngineDifference(
        engine=engine,
        side=side.value,
        compared=sum(not math.isnan(value.amount) for value in values),
        largest=worst.measured if worst and check.unit else None,
        subject=worst.subject if worst and worst.amount else None,
        unequal=sum(value.grade is Grade.FAILS for value in values),
        reason=None if values else comparison.note,
    )


def _findings(comparison: Compared, prims: Mapping[str, str]) -> list[Difference]:
    """Return the values that are not exact, worst first, with their grades and prims."""

    def order(difference: Difference) -> tuple[int, float]:
        disputed = difference.grade is Grade.DISPUTED
        return -difference.grade.severity, 0.0 if disputed else -difference.severity

    inexact = [one for one in comparison.shown if one.grade is not Grade.EXACT]
    # A group is named after its first link.
    return [
        structs.replace(
            one,
            assigned=one.grade,
            prim=prims.get(f"link {one.subject.removeprefix('group ')}")
            if one.subject.startswith("group ")
            else prims.get(one.subject),
        )
        for one in sorted(inexact, key=order)
    ]


def _another_robot(inputs: _Inputs, checks: Iterable[CheckRecord]) -> str:
    """Return how many names are unknown, if the USD is probably of another robot.

    Most links of either side are unknown to the other, and most poses and masses of
    links that were matched by structure differ. Names alone differ as well if a
    converter changes them.
    """
    expected = {link.name for link in inputs.reference.links}
    actual = {link.name for link in inputs.actual.links}
    renamed = {subject.removeprefix("link ") for subject, _ in inputs.actual.renamed}
    known = (expected & actual) - renamed
    unknown = len(expected) - len(known)
    if unknown < _FEW_LINKS or 2 * len(known) >= min(len(expected), len(actual)):
        return ""
    mostly_equal = any(
        2 * difference.unequal < difference.compared
        for check in checks
        if check.id in _MATCHED
        for difference in check.differences
        if difference.engine == inputs.reference.engine
    )
    return (
        "" if mostly_equal else f"{ANOTHER_ROBOT}: {unknown} of {len(expected)} names are unknown"
    )


def _unconfirmed(inputs: _Inputs) -> str:
    """Return a remark if only the converter could read a malformed URDF."""
    malformed = inputs.reference.malformed
    if not malformed or any(isinstance(one, Observed) for one in inputs.engines.values()):
        return ""
    return (
        f"; the URDF is malformed XML ({', '.join(malformed)}), repaired by"
        " the converter's reader: no other engine confirms the result"
    )


def _overall_verdict(grades: AbstractSet[Grade]) -> Verdict:
    """Return the verdict that follows from the grades of all checks."""
    worst = max(grades, key=_SEVERITY)
    if worst is Grade.NOT_APPLICABLE:
        return Verdict.NOT_COMPARABLE
    if worst is Grade.NOT_COMPARABLE and grades & {Grade.EXACT, Grade.CLOSE}:
        return Verdict.INCOMPLETE
    return Verdict(worst.value)


def _overall_reason(checks: Sequence[CheckRecord]) -> str:
    """Name the deciding finding, in one sentence."""
    worst = max((check.grade for check in checks), key=_SEVERITY)
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


def _departures(actual: Observation) -> list[DeviationRecord]:
    """Record the inertias that the USD engine replaces, one record per cause."""
    by_cause: dict[str, list[Difference]] = {}
    for departure in actual.departures:
        by_cause.setdefault(departure.cause, []).append(_replaced_inertia(departure))
    return [
        DeviationRecord(
            engine=actual.engine,
            id=f"{actual.engine}-inertia",
            cause=cause,
            check="mass.link.inertia",
            subjects=tuple(one.subject for one in values),
            largest=max((one.amount for one in values if one.measured is not None), default=None),
            values=tuple(values),
        )
        for cause, values in by_cause.items()
    ]


def _replaced_inertia(departure: Departure) -> Difference:
    """Return the moments of both tensors; the difference is relative to the largest moment."""
    stated, computed = tensor_of(departure.stated), tensor_of(departure.computed)
    finite = bool(np.isfinite(stated).all() and np.isfinite(computed).all())
    amount = math.inf
    if finite and stated.any():
        amount = float(np.linalg.norm(computed - stated, 2) / np.linalg.norm(stated, 2))
    return Difference(
        item=departure.link,
        subject=f"link {departure.link}",
        message=f"link {departure.link}: {departure.cause}",
        expected=principal_moments(stated) if finite else "not finite",
        actual=principal_moments(computed) if finite else "not finite",
        unit=MOMENT,
        amount=amount,
    )
