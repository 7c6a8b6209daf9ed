"""The fixture ``conformance``, and tests of the robots of a corpus, in each group of checks.

``pytest --pyargs urdf_usd.suite --robots erd`` runs one test per robot and group of checks. A
robot is converted and checked once, by the first of its tests; with ``-n``, one worker runs all
tests of a robot.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
from msgspec import Struct

from urdf_usd.conformance import gate
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.converters.candidates import OURS, OWN
from urdf_usd.conformance.execution import run as execution
from urdf_usd.conformance.execution.job import Job, select_engines
from urdf_usd.conformance.execution.record import unavailable_record
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.options import ConvertOptions, option_fields
from urdf_usd.corpus import Resolved, UnavailableSource, resolve_corpora, resolve_robot
from urdf_usd.reports.diagnosis import explanation
from urdf_usd.reports.records.record import FailureRecord, Grade, RobotRecord, Verdict
from urdf_usd.reports.text import one_line
from urdf_usd.robots import with_reference

DEFAULT_CORPUS = "pybullet"
# Group of the test that the robot is converted at all.
CONVERSION = "conversion"
_GROUP_OF = {check.id: check.group for check in (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)}
_GROUP_OF[gate.VERDICT] = CONVERSION
_NOTHING_COMPARED = {Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}
# Length of the failure message; the record has everything.
_CHECKS = 6
_FINDINGS = 3
_LONGEST = 200
_DEFAULTS = ConvertOptions()
_Options = TypeVar("_Options", bound=Struct)


class Examiner:
    def __init__(self, out: Path, engines: Sequence[str] = ()) -> None:
        self._out = out
        # Engines are imported with the first robot.
        self._engines = cache(lambda: select_engines(tuple(engines)))
        self._numbers = itertools.count()
        # Of a robot of a corpus, what its first test found.
        self.remembered = cache(self.examine)

    def examine(self, source: Resolved, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
        if isinstance(source, UnavailableSource):
            return unavailable_record(source, OWN)
        job = Job(
            source=source,
            engines=self._engines(),
            folder=self._out / str(next(self._numbers)),
            options=options,
        )
        return execution.examine_in_worker(job)


class IncompleteWarning(UserWarning):
    """Parts of a robot that passed a test could not be compared."""


class Examined(Struct, frozen=True):
    record: RobotRecord

    @property
    def verdict(self) -> Verdict:
        return self.record.verdict

    def assert_conforms(self, fail_on: str = gate.FailOn.FAILS.value) -> None:
        """Assert that the USD conforms to the URDF.

        Args:
            fail_on: ``incomplete`` to fail also if parts could not be compared,
                ``close`` also on differences within the tolerance.

        Warns:
            IncompleteWarning: It does as far as it could be compared.

        Raises:
            AssertionError: It does not; the message has the worst findings.
        """
        __tracebackhide__ = True
        found = gate.failures(
            (self.record,), fail_on=gate.FailOn(fail_on), strict=True, unreadable=True
        )
        if found:
            raise AssertionError(failure_message(self.record, found))
        if self.verdict is Verdict.INCOMPLETE:
            reason = one_line(self.record.reason, _LONGEST)
            message = f'{self.record.id}: {reason}; assert_conforms("incomplete") fails'
            warnings.warn(message, IncompleteWarning, stacklevel=2)


def failure_message(record: RobotRecord, found: Sequence[FailureRecord]) -> str:
    requested = {failure.check for failure in found}
    checks = [check for check in record.checks if check.id in requested]
    checks.sort(key=lambda check: -check.grade.severity)
    parts = [f"{record.id} {record.verdict}: {one_line(record.reason, _LONGEST)}"]
    if not checks:
        parts += (one_line(one.line_of_text, _LONGEST) for one in record.diagnostics[:_FINDINGS])
    for check in checks[:_CHECKS]:
        parts += ["", f"[{check.id}]", *explanation(check, record, _FINDINGS)]
    if others := [check.id for check in checks[_CHECKS:]]:
        parts += ["", f"and {len(others)} more checks: {', '.join(others)}"]
    return "\n".join(parts)


class Conformance(Struct, frozen=True):
    examiner: Examiner
    folder: Path  # base of relative paths

    def __call__(
        self,
        urdf: str | os.PathLike[str],
        *,
        usd: str | os.PathLike[str] | None = None,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        arguments: Mapping[str, str] | None = None,
        **choices: object,
    ) -> Examined:
        """Convert a robot and check the USD, or check an existing USD.

        Args:
            urdf: URDF or xacro file, or a reference such as ``rd:panda_description``.
            usd: Root layer of an existing USD, from any converter.
            packages: Folder of each ROS package, by name.
            arguments: Value of each argument of a xacro file, by name.
            choices: Further fields of :class:`converter.ConvertOptions` or, for an existing USD, of
                ``CheckOptions``; enumerations also by value.

        Raises:
            CorpusError: The robot is not available.
            TypeError: A choice is unknown.
        """
        __tracebackhide__ = True
        source = resolve_robot(str(self._place(urdf)))
        choices["packages"] = tuple((name, str(path)) for name, path in (packages or {}).items())
        choices["arguments"] = tuple((arguments or {}).items())
        if usd is None:
            return Examined(self.examiner.examine(source, _options(ConvertOptions, choices)))
        options = with_reference(_options(CheckOptions, choices), source)
        return Examined(execution.check(source, self._place(usd), options))

    def _place(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        place = self.folder / path
        return place if place.exists() else path


def _options(kind: type[_Options], choices: Mapping[str, Any]) -> _Options:
    """Return options with values of enumerations as their members."""
    types: dict[str, Any] = {field.name: field.type for field in option_fields(kind)}
    values = dict(choices)
    for name, value in choices.items():
        if name not in types:
            raise TypeError(f"unknown choice {name!r}; choose from {', '.join(sorted(types))}")
        for member in (types[name], *get_args(types[name])):
            if isinstance(member, type) and issubclass(member, Enum) and value is not None:
                values[name] = member(value)
    return kind(**values)


class KnownFailure(AssertionError):  # noqa: N818  # pytest shows the name
    """All failures are expected by the baseline."""


class Case(Struct, frozen=True):
    source: Resolved
    group: str  # heading of the checks, or ``conversion``
    fail_on: gate.FailOn  # the mildest result that fails
    baseline: gate.Baseline | None  # known failures; with one, unreadable robots fail


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conformance_case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    texts = config.getoption("conformance_robots") or (DEFAULT_CORPUS,)
    file = config.getoption("conformance_baseline")
    try:
        baseline = gate.read_baseline(Path(file)) if file else None
        sources = resolve_corpora(tuple(texts), print)
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        raise pytest.Collector.CollectError(str(error)) from error
    fail_on = gate.FailOn(config.getoption("conformance_fail_on"))
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
    found = gate.apply_gate((record,), fail_on=case.fail_on, baseline=case.baseline).failures
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
