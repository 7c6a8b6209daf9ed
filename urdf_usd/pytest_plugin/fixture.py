"""The fixture ``conformance``: convert and check a robot in a test."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from msgspec import Struct

from urdf_usd.conformance.converters.candidates import OWN
from urdf_usd.conformance.execution.job import Job, select_engines
from urdf_usd.conformance.execution.record import unavailable_record
from urdf_usd.conformance.execution.run import examine_in_worker
from urdf_usd.conformance.gate import FailOn, failures
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import option_fields
from urdf_usd.corpus import Resolved, UnavailableSource, resolve_robot
from urdf_usd.reports.diagnosis import explanation
from urdf_usd.reports.records.record import FailureRecord, RobotRecord, Verdict
from urdf_usd.reports.text import one_line
from urdf_usd.robots import check_source, with_reference

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
        self._known: dict[str, RobotRecord] = {}

    def examine(self, source: Resolved, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
        if isinstance(source, UnavailableSource):
            return unavailable_record(source, OWN)
        job = Job(
            source=source,
            engines=self._engines(),
            folder=self._out / str(next(self._numbers)),
            options=options,
        )
        return examine_in_worker(job)

    def remembered(self, source: Resolved) -> RobotRecord:
        """Return what :meth:`examine` found of a robot, by its id, the first time."""
        if source.id not in self._known:
            self._known[source.id] = self.examine(source)
        return self._known[source.id]


class IncompleteWarning(UserWarning):
    """Parts of a robot that passed a test could not be compared."""


class Examined(Struct, frozen=True):
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
        return Examined(check_source(source, self._place(usd), options))

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
