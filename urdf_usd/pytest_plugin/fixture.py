"""The fixture ``conformance``: convert and check a robot in a test."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, get_args, get_type_hints

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN
from urdf_usd.conformance.execution import run
from urdf_usd.conformance.execution.engines import InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.record import unavailable_record
from urdf_usd.conformance.execution.worker import Workers
from urdf_usd.conformance.gate.decision import FailOn, failures
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource, resolve_robot
from urdf_usd.reports.diagnosis import advice, explanation
from urdf_usd.reports.records.record import (
    CheckRecord,
    Difference,
    FailureRecord,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.text import one_line

# Length of the failure message; the record has everything.
_CHECKS = 6
_FINDINGS = 3
_LONGEST = 200
_ORDER = (Grade.FAILS, Grade.DISPUTED, Grade.NOT_COMPARABLE, Grade.CLOSE)
_DEFAULTS = ConvertOptions()


class Examiner:
    """Converts and checks robots, which share processes and engines.

    Args:
        workers: The processes.
        out: Folder of all assets.
        engines: Engines besides the reference and OpenUSD; all if empty.
    """

    def __init__(self, workers: Workers, out: Path, engines: Sequence[str] = ()) -> None:
        self._workers = workers
        self._out = out
        self._requested = tuple(engines)
        self._numbers = itertools.count()
        self._known: dict[str, RobotRecord] = {}

    @cached_property
    def _engines(self) -> tuple[InstalledEngine, ...]:
        return select_engines(self._workers, self._requested)

    def examine(self, source: Resolved, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
        """Convert and check a robot.

        Raises:
            UnknownEngineError: An engine is named that is not installed.
        """
        if isinstance(source, UnavailableSource):
            return unavailable_record(source, OWN)
        job = Job(
            source=source,
            engines=self._engines,
            limits=self._workers.limits,
            folder=self._out / str(next(self._numbers)),
            options=options,
        )
        return examine_in_worker(self._workers, job)

    def remembered(self, source: Resolved) -> RobotRecord:
        """Return what :meth:`examine` found of a robot, by its id, the first time."""
        if source.id not in self._known:
            self._known[source.id] = self.examine(source)
        return self._known[source.id]


class IncompleteWarning(UserWarning):
    """Parts of a robot that passed a test could not be compared."""


class Examined(Struct, frozen=True):
    """A robot whose USD was checked."""

    record: RobotRecord

    @property
    def verdict(self) -> Verdict:
        return self.record.verdict

    def assert_conforms(self, fail_on: str = FailOn.FAILS.value) -> None:
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
        found = failures((self.record,), fail_on=FailOn(fail_on), strict=True, unreadable=True)
        if found:
            raise AssertionError(failure_message(self.record, found))
        if self.verdict is Verdict.INCOMPLETE:
            message = (
                f"{self.record.id} is incomplete: "
                f"{one_line(self.record.reason, _LONGEST)}; "
                'assert_conforms("incomplete") fails'
            )
            warnings.warn(message, IncompleteWarning, stacklevel=2)


def failure_message(record: RobotRecord, found: Sequence[FailureRecord]) -> str:
    """Return the worst findings of the worst checks as text."""
    requested = {failure.check for failure in found}
    checks = sorted(
        (check for check in record.checks if check.id in requested),
        key=lambda check: _ORDER.index(check.grade),
    )
    maker = f" ({record.converter})" if record.candidate else ""
    head = f"{record.id}{maker} {record.verdict}"
    if not checks:
        return "\n".join((f"{head}: {record.reason}", *_diagnostics(record)))
    parts = [f"{head}: {one_line(record.reason, _LONGEST)}"]
    for check in checks[:_CHECKS]:
        findings = _worst(check)
        parts += ["", f"[{check.id}]", *explanation(check, findings, _FINDINGS)]
    if len(checks) > _CHECKS:
        others = ", ".join(check.id for check in checks[_CHECKS:])
        parts += ["", f"and {len(checks) - _CHECKS} more checks: {others}"]
    for remedy in dict.fromkeys(advice(check.grade) for check in checks):
        parts += ["", remedy]
    return "\n".join(parts)


def _worst(check: CheckRecord) -> list[Difference]:
    worst = [found for found in check.findings if found.grade is check.grade]
    return sorted(worst, key=lambda found: -(found.measured or 0.0))


def _diagnostics(record: RobotRecord) -> Iterable[str]:
    for one in record.diagnostics[:_FINDINGS]:
        place = ":".join(str(part) for part in (one.file, one.line) if part is not None)
        text = f"{one.severity}: {one.message} [{one.rule}]"
        yield one_line(f"{place}: {text}" if place else text, _LONGEST)


class Conformance(Struct, frozen=True):
    """Converts and checks robots; the fixture ``conformance``.

    Attributes:
        examiner: Runs conversions and checks.
        folder: Base of relative paths.
    """

    examiner: Examiner
    folder: Path

    def __call__(
        self,
        urdf: str | os.PathLike[str],
        *,
        usd: str | os.PathLike[str] | None = None,
        base: str = "auto",
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        arguments: Mapping[str, str] | None = None,
        environment: tuple[str, ...] = (),
        engines: tuple[str, ...] = (),
        **choices: object,
    ) -> Examined:
        """Convert a robot and check the USD, or check an existing USD.

        Args:
            urdf: URDF or xacro file, or a reference such as ``rd:panda_description``.
            usd: Root layer of an existing USD, from any converter.
            base: ``fixed`` or ``floating``; by default as for ``convert``.
            packages: Folder of each ROS package, by name.
            arguments: Value of each argument of a xacro file, by name.
            environment: Names of environment variables that xacro may read, besides
                those of ROS.
            engines: Engines to use for an existing USD; all if empty.
            choices: Further fields of :class:`converter.ConvertOptions`; enumerations
                also by value.

        Raises:
            CorpusError: The robot is not available.
            TypeError: A choice is unknown, or given with an existing USD.
        """
        __tracebackhide__ = True
        source = self._source(urdf)
        folders = tuple((name, str(path)) for name, path in (packages or {}).items())
        values = tuple((arguments or {}).items())
        if usd is None:
            options = structs.replace(
                ConvertOptions(),
                base=BaseOption(base),
                packages=folders,
                arguments=values,
                environment=environment,
                **_choices(choices),
            )
            return Examined(self.examiner.examine(source, options))
        if choices:
            raise TypeError(f"{', '.join(choices)}: not allowed with usd")
        known = tuple((name, str(path)) for name, path in source.packages)
        record = run.check(
            source.path,
            self._place(usd),
            CheckOptions(
                base=BaseOption(base),
                packages=(*known, *folders),
                arguments=tuple({**dict(source.arguments), **dict(values)}.items()),
                environment=environment,
                engines=engines,
            ),
            name=source.id,
            reference=source.reference,
        )
        return Examined(record)

    def _source(self, urdf: str | os.PathLike[str]) -> RobotSource:
        place = self._place(urdf)
        return resolve_robot(str(place if place.exists() else urdf))

    def _place(self, path: str | os.PathLike[str]) -> Path:
        place = self.folder / path
        return place if place.exists() else Path(path)


def _choices(given: Mapping[str, object]) -> dict[str, Any]:
    """Convert values of enumerations to their members.

    Raises:
        TypeError: A choice is unknown.
    """
    kinds = get_type_hints(ConvertOptions, localns={"Description": Description})
    choices: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            known = ", ".join(sorted(kinds))
            raise TypeError(f"unknown choice {name!r}; choose from {known}")
        enumerations = (
            kind
            for kind in (kinds[name], *get_args(kinds[name]))
            if isinstance(kind, type) and issubclass(kind, Enum)
        )
        kind = next(enumerations, None)
        choices[name] = kind(value) if kind and value is not None else value
    return choices
