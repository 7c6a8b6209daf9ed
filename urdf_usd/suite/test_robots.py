"""Every robot of a corpus conforms, in each group of checks."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from msgspec import Struct

from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.conformance.gate import VERDICT, Baseline, FailOn, apply_gate, read_baseline
from urdf_usd.corpus import Resolved, resolve_corpora
from urdf_usd.pytest_plugin.fixture import Examiner, failure_message
from urdf_usd.reports.records.record import Grade, Verdict

DEFAULT_CORPUS = "pybullet"
# Group of the test that the robot is converted at all.
CONVERSION = "conversion"
_GROUP_OF = {check.id: check.group for check in (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)}
_GROUP_OF[VERDICT] = CONVERSION
_NOTHING_COMPARED = {Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}


class KnownFailure(AssertionError):  # noqa: N818  # pytest shows the name
    """All failures are expected by the baseline."""


class Case(Struct, frozen=True):
    source: Resolved
    group: str  # heading of the checks, or ``conversion``
    fail_on: FailOn  # the mildest result that fails
    baseline: Baseline | None  # known failures; with one, unreadable robots fail


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conformance_case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    texts = config.getoption("conformance_robots") or (DEFAULT_CORPUS,)
    file = config.getoption("conformance_baseline")
    try:
        baseline = read_baseline(Path(file)) if file else None
        sources = resolve_corpora(tuple(texts), print)
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        raise pytest.Collector.CollectError(str(error)) from error
    fail_on = FailOn(config.getoption("conformance_fail_on"))
    marks = {
        group: f"conformance_{group.replace('-', '_').replace(' ', '_')}"
        for group in (CONVERSION, *_GROUP_OF.values())
    }
    for group, mark in marks.items():
        config.addinivalue_line("markers", f"{mark}: checks of {group}")
    parameters = []
    for source, group in itertools.product(sources, marks):
        expected = [
            f"{one.check}: {one.reason} ({one.owner})"
            for one in (baseline.expectations if baseline else ())
            if (one.robot, one.converter, _GROUP_OF[one.check]) == (source.id, OURS, group)
            and not one.has_expired()
        ]
        case_marks = [
            pytest.mark.conformance(robot=source.id, group=group),
            getattr(pytest.mark, marks[group]),
            # One worker runs all tests of a robot.
            pytest.mark.xdist_group(source.id),
        ]
        if expected:
            reason = "; ".join(expected)
            case_marks.append(pytest.mark.xfail(strict=True, raises=KnownFailure, reason=reason))
        case = Case(source, group, fail_on, baseline)
        parameters.append(pytest.param(case, id=f"{source.id}-{group}", marks=case_marks))
    metafunc.parametrize("conformance_case", parameters)


def test_conforms(conformance_case: Case, conformance_examiner: Examiner) -> None:
    __tracebackhide__ = True
    case, record = conformance_case, conformance_examiner.remembered(conformance_case.source)
    if record.verdict is Verdict.NOT_AVAILABLE:
        pytest.skip(f"not available: {record.reason}")
    found = apply_gate((record,), fail_on=case.fail_on, baseline=case.baseline).failures
    wrong, fixed, expected = (
        [one for one in rows if _GROUP_OF[one.check] == case.group]
        for rows in ((*found.new, *found.worse, *found.expired), found.fixed, found.expected)
    )
    checks = [check for check in record.checks if check.group == case.group]
    text = failure_message(record, [*wrong, *expected])
    if wrong:
        pytest.fail(text, pytrace=False)
    if expected and fixed:
        names = ", ".join(sorted(one.check for one in fixed))
        pytest.fail(f"{names}: passes now; remove it from the baseline", pytrace=False)
    if expected:
        raise KnownFailure(text)
    if case.group == CONVERSION:
        if record.verdict is Verdict.UNREADABLE:
            pytest.skip(f"unreadable: {record.reason}")
    elif all(check.grade in _NOTHING_COMPARED for check in checks):
        reasons = dict.fromkeys(check.reason or check.title for check in checks)
        pytest.skip(f"nothing to compare: {'; '.join(reasons) or record.reason}")
