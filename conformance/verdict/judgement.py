"""From outcomes of engines to checks, deviations and a verdict on the USD.

The reference engine gives the expected values. A failing check is attributed to the
USD, unless the other engines contradict the reference; a single engine that differs is
a deviation. What simulators report counts as well. The verdict is that of the worst
check; if everything else agrees and parts could not be compared, it is *incomplete*.

For the round trip USD → URDF one engine reads the URDF, and the URDF written from the USD. Its
deviations affect both files and cancel, so the remaining differences come from the two conversions.
A difference is attributed to the engine if it misreads the first file and reads the second as
specified, or if a known deviation predicts its value for the second file, unless another engine
finds the same difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance import tolerance as tolerances
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import (
    Check,
    Compared,
    Comparison,
    Incomparable,
    Sides,
    compare,
    difference,
)
from urdf_usd.conformance.checks.mass import MOMENT
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Side, Unsupported
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.verdict.attribution import (
    EngineComparison,
    agrees,
    attribute,
    by_item,
    compare_simulator,
    deviation_records,
    known_deviations,
    roundings,
)
from urdf_usd.conformance.verdict.chosen_colliders import compare_chosen
from urdf_usd.conformance.verdict.judged import (
    DECIDING,
    REFERENCE,
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.reports.records.record import (
    ANOTHER_ROBOT,
    CheckRecord,
    DeviationRecord,
    Difference,
    EngineDifference,
    Grade,
    Value,
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


class _Inputs(Struct, frozen=True, eq=False):
    reference: obs.Observation  # of the URDF by the reference engine
    expected: obs.Observation  # the same with the base that the user requested
    actual: obs.Observation  # of the USD
    engines: Mapping[str, Outcome]  # of the other engines of the URDF
    simulators: Sequence[obs.Observation]  # of the USD by the other engines
    model: tolerances.ToleranceModel
    estimated: AbstractSet[str]  # links with mass properties computed from shapes
    colliders: Mapping[str, ColliderChoice]  # requested, by link


def judge(
    urdf: Mapping[str, Outcome],
    usd: Outcome,
    *,
    simulators: Sequence[Outcome] = (),
    back: RoundTripOutcomes | None = None,
    tolerance: tolerances.Tolerance | None = None,
    expected_base: obs.Base | None = None,
    requested: obs.SimulationObservation | None = None,
    estimated: AbstractSet[str] = frozenset(),
    colliders: Mapping[str, ColliderChoice] = MappingProxyType({}),
    decides: str = REFERENCE,
    described: bool = False,
) -> Judgement:
    """Judge a USD by the observations of it and of the URDF.

    Args:
        urdf: Outcome per engine of the URDF or other source, the deciding one among them.
        usd: Outcome of the USD engine that is judged.
        simulators: Outcomes of the other USD engines, which count except for known deviations.
        back: Outcomes for the URDF that was written from the USD, if requested.
        tolerance: Engineering tolerance; the default one if absent.
        expected_base: Base that the user requested; None for that of the URDF, if any.
        requested: What a simulation settings file requests, if there is one.
        estimated: Links whose mass properties were computed from shapes: never exact.
        colliders: Requested colliders by link: never exact.
        decides: Name of the engine that gives the expected values.
        described: Whether the second observation is of a description of the robot, not of a
            USD: what concerns a USD alone, and what one of the formats lacks, is left out.
    """
    match urdf[decides], usd:
        case Unsupported(reason), _:
            return Judgement((), (), Verdict.UNREADABLE, reason)
        case Crashed(reason), _:
            return Judgement((), (), Verdict.CRASHED, f"{decides} crashed: {reason}")
        case _, Crashed(reason):
            return Judgement((), (), Verdict.CRASHED, f"the USD engine crashed: {reason}")
        case _, Unsupported(reason, invalid=True):
            return Judgement((), (), Verdict.FAILS, f"the USD has unusable values: {reason}")
        case _, Unsupported(reason):
            return Judgement((), (), Verdict.NOT_COMPARABLE, f"the USD is unreadable: {reason}")
        case Observed(reference), Observed(actual):
            pass
        case unknown:
            raise TypeError(f"not outcomes: {unknown}")
    if requested is not None:
        states = reference.states | {obs.Quantity.SIMULATION}
        reference = structs.replace(reference, states=states, simulation=requested)
        actual = without_requested(actual, requested)
    inputs = _Inputs(
        reference=reference,
        expected=structs.replace(reference, base=expected_base or reference.base),
        actual=actual,
        engines={name: outcome for name, outcome in urdf.items() if name != decides},
        simulators=[one.observation for one in simulators if isinstance(one, Observed)],
        model=tolerances.derive_tolerance_model(reference, tolerance or tolerances.Tolerance()),
        estimated=estimated,
        colliders=colliders,
    )
    checks_made = (*CHECKS, *(SIMULATION_CHECKS if requested else ()))
    if described:
        shared = (reference.states & actual.states) - {obs.Quantity.SIMULATION}
        shared -= set() if reference.base and actual.base else {obs.Quantity.BASE}
        checks_made = tuple(one for one in CHECKS if one.quantity in shared and not one.usd_alone)
    judged = [_judge_check(check, inputs) for check in checks_made]
    checks = [record for record, _ in judged]
    for check in ROUND_TRIP_CHECKS:
        trip = back and compare_round_trip(check, reference, inputs.engines, back, inputs.model)
        if trip:
            sides = [(engine, Side.URDF, one) for engine, one in trip[1].items()]
            checks.append(_check_record(check, trip[0], sides, actual))
    deviations = [deviation for _, records in judged for deviation in records]
    verdict, reason = _overall(checks)
    reason = _another_robot(inputs, checks) or reason
    read = any(isinstance(one, Observed) for one in inputs.engines.values())
    if reference.malformed and not read and not reason.startswith(ANOTHER_ROBOT):
        reason += (
            f"; the URDF is malformed XML ({', '.join(reference.malformed)}), repaired by"
            " the converter's reader: no other engine confirms the result"
        )
    if actual.missing:
        missing = "; ".join(actual.missing[:_MOST_MISSING])
        verdict = Verdict.INCOMPLETE if verdict.conforms else verdict
        other = "" if verdict is Verdict.INCOMPLETE else f"; {reason}"
        reason = f"parts of the USD are missing: {missing}{other}"
    refusals = [one.reason for one in simulators if isinstance(one, Unsupported) and one.invalid]
    if refusals and verdict is not Verdict.FAILS:
        verdict = Verdict.FAILS
        reason = f"a simulator refuses the USD: {'; '.join(refusals)}"
    return Judgement(tuple(checks), (*deviations, *_departures(actual)), verdict, reason)


def _judge_check(check: Check, inputs: _Inputs) -> tuple[CheckRecord, tuple[DeviationRecord, ...]]:
    """Compare every engine, attribute the differences, and record them."""
    reference, expected, actual = inputs.reference, inputs.expected, inputs.actual
    model = inputs.model
    comparison = _with_losses(compare(check, expected, actual, model))
    if inputs.estimated and check.group == "mass" and not check.usd_alone:
        comparison = _with_estimates(comparison, inputs)
    if inputs.colliders:
        sides = Sides(expected, actual, model)
        comparison = _with_losses(compare_chosen(check.id, comparison, sides, inputs.colliders))
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
    if reference.engine == DECIDING[Side.MJCF]:
        # MuJoCo defines MJCF: an engine that differs is no evidence against it.
        attribution = structs.replace(attribution, disputed={})
    deviations = attribution.deviations
    if isinstance(comparison, Compared):
        parts = [comparison]
        for simulated in () if check.usd_alone else inputs.simulators:
            found, counted, known = compare_simulator(check, expected, actual, simulated, model)
            by_engine.append((simulated.engine, Side.USD, found))
            parts.append(counted)
            deviations += known
        comparison = attribution.apply(Compared.of(parts, comparison.note))
    against = attribution.disputed.values()
    disputing = dict.fromkeys(one.engine for of_item in against for one in of_item)
    engines_named = f"{' and '.join(disputing)} contradict the {reference.engine} engine"
    note = f"{engines_named}, and no engine agrees with it" if disputing else None
    return _check_record(check, comparison, by_engine, actual, note), deviations


def _with_losses(comparison: Comparison) -> Comparison:
    def lost(one: Difference) -> Difference:
        is_lost = math.isnan(one.amount) and not one.unknown
        return structs.replace(one, amount=math.inf) if is_lost else one

    return comparison if isinstance(comparison, Incomparable) else comparison.each(lost)


def _with_estimates(comparison: Comparison, inputs: _Inputs) -> Comparison:
    """Mark differences of links and groups whose mass properties were estimated."""
    within = {group[0]: inputs.estimated & {*group} for group in inputs.model.groups}

    def marked(one: Difference) -> Difference:
        kind = one.subject.partition(" ")[0]
        links = {"robot": inputs.estimated, "group": within.get(one.item)}.get(kind)
        if not (inputs.estimated & {one.item} if links is None else links):
            return one
        message = f"{one.subject}: estimated from shapes, not stated by the URDF"
        if one.grade is Grade.FAILS:
            message = f"{one.message}; estimated from shapes"
        return structs.replace(one, estimated=True, message=message)

    return comparison if isinstance(comparison, Incomparable) else comparison.each(marked)


def _check_record(
    check: Check,
    comparison: Comparison,
    sides: Iterable[tuple[str, Side, Comparison]],
    actual: obs.Observation,
    dispute: str | None = None,
) -> CheckRecord:
    engines = []
    for engine, side, result in sides:
        record = EngineDifference(engine=engine, side=side.value, compared=0)
        if isinstance(result, Incomparable):
            engines.append(structs.replace(record, reason=result.reason))
            continue
        values = result.differences
        worst = max(values, key=_SEVERITY, default=None)
        record = structs.replace(
            record,
            compared=sum(not math.isnan(value.amount) for value in values),
            largest=worst.measured if worst and check.unit else None,
            subject=worst.subject if worst and worst.amount else None,
            unequal=sum(value.grade is Grade.FAILS for value in values),
            reason=None if values else result.note,
        )
        engines.append(record)
    checked = CheckRecord(
        id=check.id,
        title=check.title,
        group=check.group,
        unit=check.unit,
        grade=Grade.NOT_COMPARABLE,
        compared=0,
        differences=tuple(engines),
    )
    if isinstance(comparison, Incomparable):
        return structs.replace(checked, reason=comparison.reason)
    grades = [difference.grade for difference in comparison.differences]
    prims = dict(actual.prims)

    def order(difference: Difference) -> tuple[int, float]:
        disputed = difference.grade is Grade.DISPUTED
        return -difference.grade.severity, 0.0 if disputed else -difference.severity

    findings = []
    for one in sorted((one for one in comparison.shown if one.grade is not Grade.EXACT), key=order):
        # A group is named after its first link.
        kind, _, name = one.subject.partition(" ")
        prim = prims.get(f"link {name}" if kind == "group" else one.subject)
        findings.append(structs.replace(one, assigned=one.grade, prim=prim))
    hidden = len(findings) > MOST_FINDINGS
    shown = f"{MOST_FINDINGS} of {len(findings)} findings shown" if hidden else None
    worst = max(comparison.differences, key=_SEVERITY, default=None)
    return structs.replace(
        checked,
        grade=max(grades, key=_SEVERITY, default=Grade.NOT_APPLICABLE),
        compared=sum(grade is not Grade.NOT_COMPARABLE for grade in grades),
        worst=worst.measured if worst and check.unit else None,
        worst_subject=worst.subject if worst and worst.amount else None,
        bound=worst.bound if worst and check.unit else None,
        tolerance=worst.tolerance if worst and check.unit else None,
        reason="; ".join(filter(None, (dispute, comparison.note, shown))) or None,
        findings=tuple(findings[:MOST_FINDINGS]),
    )


def _overall(checks: Sequence[CheckRecord]) -> tuple[Verdict, str]:
    """Return the verdict that follows from the grades, and the deciding finding in one sentence."""
    grades = {check.grade for check in checks}
    worst = max(grades, key=_SEVERITY)
    if worst is Grade.NOT_APPLICABLE:
        return Verdict.NOT_COMPARABLE, "nothing was compared"
    if worst is Grade.EXACT:
        made = sum(check.grade is not Grade.NOT_APPLICABLE for check in checks)
        return Verdict.EXACT, f"all {made} checks are exact"
    incomplete = worst is Grade.NOT_COMPARABLE and grades & {Grade.EXACT, Grade.CLOSE}
    verdict = Verdict.INCOMPLETE if incomplete else Verdict(worst.value)
    first, *others = [check for check in checks if check.grade is worst]
    noun = "checks" if len(others) > 1 else "check"
    more = f" (and {len(others)} more {noun})" if others else ""
    return verdict, f"{first.title}: {first.message}{more}"


def _another_robot(inputs: _Inputs, checks: Iterable[CheckRecord]) -> str:
    """Return how many names are unknown, if the USD is probably of another robot."""
    expected = {link.name for link in inputs.reference.links}
    actual = {link.name for link in inputs.actual.links}
    renamed = {subject.removeprefix("link ") for subject, _ in inputs.actual.renamed}
    known = (expected & actual) - renamed
    unknown = len(expected) - len(known)
    few = unknown < _FEW_LINKS or 2 * len(known) >= min(len(expected), len(actual))
    if few or any(
        2 * difference.unequal < difference.compared
        for check in checks
        if check.id in _MATCHED
        for difference in check.differences
        if difference.engine == inputs.reference.engine
    ):
        return ""
    return f"{ANOTHER_ROBOT}: {unknown} of {len(expected)} names are unknown"


def _departures(actual: obs.Observation) -> tuple[DeviationRecord, ...]:
    """Record the inertias that the USD engine replaces, one record per cause."""
    rows = []
    for one in actual.departures:
        stated, computed = tolerances.tensor_of(one.stated), tolerances.tensor_of(one.computed)
        values: list[Value] = ["not finite"] * 2
        amount = math.inf  # relative to the largest moment
        if np.isfinite([stated, computed]).all():
            values = [tolerances.principal_moments(stated), tolerances.principal_moments(computed)]
            if stated.any():
                amount = float(np.linalg.norm(computed - stated, 2) / np.linalg.norm(stated, 2))
        made = difference(f"link {one.link}", one.cause, values, MOMENT, (amount, 0.0, 0.0))
        rows.append(((actual.engine, f"{actual.engine}-inertia", one.cause), made))
    return deviation_records("mass.link.inertia", rows, values=True)


class _Trip(NamedTuple):
    """One check by one engine: it and the reference on the URDF, it on the written one."""

    check: Check
    model: tolerances.ToleranceModel
    reference: obs.Observation
    before: obs.Observation
    after: obs.Observation


def compare_round_trip(
    check: Check,
    reference: obs.Observation,
    before: Mapping[str, Outcome],
    back: RoundTripOutcomes,
    model: tolerances.ToleranceModel,
) -> tuple[Comparison, Mapping[str, Comparison]] | None:
    """Compare both URDFs: differences that no engine causes, and all of each engine that can."""
    by_engine: dict[str, Comparison] = {}
    compared: dict[str, tuple[_Trip, Compared]] = {}
    refused: list[Compared] = []
    lost: list[str] = []
    for engine, outcome in before.items():
        if not isinstance(outcome, Observed) or check.quantity not in outcome.observation.states:
            continue
        first = outcome.observation
        comparison: Comparison
        match again := back.outcomes.get(engine):
            case Observed(second):
                comparison = compare(check, first, second, model)
                if isinstance(comparison, Compared):
                    compared[engine] = _Trip(check, model, reference, first, second), comparison
            case Unsupported(reason) | Crashed(reason):
                comparison = Incomparable(
                    f"{engine} reads the URDF, but not the URDF written from the USD: {reason}"
                )
            case _:
                comparison = Incomparable(f"the USD cannot be written as URDF: {back.failure}")
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
        return Incomparable("; ".join(dict.fromkeys(lost))), by_engine
    notes = [part.note for part in merged]
    if not merged:
        notes = [one.reason for one in by_engine.values() if isinstance(one, Incomparable)]
    return Compared.of(merged, "; ".join(dict.fromkeys(filter(None, notes))) or None), by_engine


def _without_engine_errors(compared: Mapping[str, tuple[_Trip, Compared]]) -> Iterator[Compared]:
    """Leave out differences that engines cause, unless predicted ones that two engines find."""
    errors = {engine: _engine_errors(*both) for engine, both in compared.items()}
    for engine, (trip, comparison) in compared.items():
        misread, predicted = errors[engine]
        others = [amounts for name, (_, amounts) in errors.items() if name != engine]
        own = misread | {
            item
            for item, amount in predicted.items()
            if not any(math.isclose(amount, x.get(item, math.nan), rel_tol=_SAME) for x in others)
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
    """Find items that differ because of the engine.

    Returns those that it reads wrong in the first file alone or within tolerance in both, and fixed
    joints with another name; and amounts that a known deviation predicts for the second file.
    """
    check, direct, model = trip.check, trip.check.direct or trip.check.id, trip.model
    failing = {
        one.item: one
        for one in comparison.differences
        if one.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    if not failing:
        return frozenset(), {}
    sides = trip.before, trip.after
    before, after = (compare(check, trip.reference, side, model) for side in sides)
    if isinstance(before, Incomparable) or isinstance(after, Incomparable):
        return frozenset(), {}
    first, second = _errors(before, trip.before.precision), _errors(after, trip.after.precision)
    # Two tolerances may add up to more than one.
    correct = (by_item(before).keys() - first.keys()) & (by_item(after).keys() - second.keys())
    misread = failing.keys() & (first.keys() - second.keys() | correct)
    if direct.startswith("mass."):
        # A USD may have the mass of a rigid group at another of its links, so that other links
        # have no <inertial> in the second file than in the first. Without the mass that the engine
        # assumes, the second observation has to equal the first one or the URDF.
        bare, bare_after = (
            structs.replace(
                side,
                links=tuple(
                    structs.replace(x, mass=None)
                    if x.name in side.defaulted and x.mass and x.mass.mass == _ASSUMED_MASS
                    else x
                    for x in side.links
                ),
            )
            for side in sides
        )
        precision = max(bare.precision, bare_after.precision)
        for side in (bare, trip.reference):
            same = compare(check, side, bare_after, model)
            if isinstance(same, Compared):
                misread |= failing.keys() - _errors(same, precision).keys()
    if direct == _JOINTS:
        # Fixed joints that connect the same two links under another name: a USD may merge fixed
        # links into one body; the joint's name is another check.
        welds, others = (
            {(j.parent, j.child): j.name for j in side.joints if j.type is obs.JointType.FIXED}
            for side in sides
        )
        for links in welds.keys() & others.keys():
            if welds[links] != others[links]:
                misread |= {welds[links], others[links]}
    refused = _refused(trip)
    # Deviations caused by the text of the first file do not apply to the second.
    written = structs.replace(trip.reference, repaired=(), quaternions=())
    predicted = {}
    for item in failing.keys() & second.keys():
        # Links that the engine misreads alike in both files do not contribute to the change.
        error = second[item]
        traced = structs.replace(error, traces=failing[item].traces or error.traces)
        known = known_deviations(direct, traced, written, trip.after)
        if (known and all(direct.startswith(one.predicts) for one in known)) or (
            # A difference in inertia that rejected tensors alone cause.
            direct in _OF_INERTIA and refused.issuperset(error.traces or (item,))
        ):
            predicted[item] = error.amount
    return misread, predicted


def _errors(comparison: Comparison, precision: float) -> dict[str, Difference]:
    """Return the values that differ beyond the engine's arithmetic."""
    return {item: one for item, one in by_item(comparison).items() if not agrees(one, precision)}


def _refused(trip: _Trip) -> set[str]:
    """Name links whose inertia an engine rejects in the written URDF alone."""
    # Rounding may leave the sum of the smaller moments of a flat body below the largest. Engines
    # then use no inertia, or zero, but keep mass and centre.
    tolerance = trip.model.tolerance
    again = {link.name: link.mass for link in trip.after.links}
    links = set()
    for link in trip.reference.links:
        expected, actual = link.mass, again.get(link.name)
        if not expected or not actual or not expected.inertia or any(actual.inertia or ()):
            continue
        small, middle, large = np.linalg.eigvalsh(tolerances.tensor_of(expected.inertia))
        if (
            small + middle - large <= _ROUNDINGS * tolerances.RELATIVE * large
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
