"""The failure of a robot that a reduction keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from urdf_usd.reports.records.record import EngineStatus, Grade, RobotRecord, Verdict

# Paths, quoted names and numbers, which differ between a robot and its reduction.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?\d[\w.+-]*")
_REFUSED = frozenset({Verdict.CRASHED, Verdict.NOT_COMPARABLE, Verdict.UNREADABLE})


class FailureKind(StrEnum):
    """What fails: a check, the conversion, or an engine that crashes."""

    CHECK = "check"
    CONVERSION = "conversion"
    ENGINE = "engine"


class Failure(Struct, frozen=True):
    """What a robot and its reduction have in common."""

    kind: FailureKind
    name: str  # of the check or the engine, or the verdict without a comparison
    message: str  # without what is specific to a robot; of checks, whether a number differs
    example: str  # message of the robot as it was given

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.example}"


def find_failure(record: RobotRecord, check: str | None = None) -> Failure | None:
    """Return the failure of a robot, if there is one.

    Args:
        record: Result of the robot.
        check: Id of the check that has to fail. Otherwise the first of these counts: a
            conversion that fails, the first failing check, a crashed engine.
    """
    failures = _failures(record) if check is None else _failed_checks(record)
    return next((one for one in failures if check in {None, one.name}), None)


def has_failure(record: RobotRecord, failure: Failure) -> bool:
    """Whether a robot has a certain failure, possibly among others."""
    expected = failure.kind, failure.name, failure.message
    return any((one.kind, one.name, one.message) == expected for one in _failures(record))


def without_specifics(message: str) -> str:
    """Replace paths, quoted names and numbers of a message by a placeholder.

    Example:
        >>> without_specifics("link 'tip': mass 2.5 kg instead of 4e-3 kg")
        'link *: mass * kg instead of * kg'
    """
    return _SPECIFIC.sub("*", message)


def _failures(record: RobotRecord) -> Iterator[Failure]:
    if record.verdict in _REFUSED and not record.checks:
        message = record.reason
        if record.verdict is Verdict.UNREADABLE:
            errors = (one.rule for one in record.diagnostics if one.severity == "error")
            message = next(errors, message)
        name = record.verdict.value
        yield Failure(FailureKind.CONVERSION, name, without_specifics(message), record.reason)
    else:
        yield from _failed_checks(record)
    for engine in record.engines:
        if engine.status is EngineStatus.CRASHED:
            reason = engine.reason or ""
            yield Failure(FailureKind.ENGINE, engine.name, without_specifics(reason), reason)


def _failed_checks(record: RobotRecord) -> Iterator[Failure]:
    for check in record.checks:
        if check.grade is not Grade.FAILS:
            continue
        failing = [one for one in check.findings if one.grade is Grade.FAILS]
        if not failing:
            yield Failure(FailureKind.CHECK, check.id, "", check.reason or check.title)
        for finding in failing:
            is_number = check.unit and finding.measured is not None
            message = "number" if is_number else "other"
            yield Failure(FailureKind.CHECK, check.id, message, finding.message)
