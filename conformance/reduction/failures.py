"""The failure of a robot that a reduction keeps."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from urdf_usd.reports.records.record import (
    CheckRecord,
    EngineStatus,
    Grade,
    RobotRecord,
    Verdict,
)

# Paths, quoted names and numbers, which differ between a robot and its reduction.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?\d[\w.+-]*")
_REFUSED = frozenset({Verdict.CRASHED, Verdict.NOT_COMPARABLE, Verdict.UNREADABLE})


class FailureKind(StrEnum):
    """What fails: a check, the conversion, or an engine that crashes."""

    CHECK = "check"
    CONVERSION = "conversion"
    ENGINE = "engine"


class Failure(Struct, frozen=True):
    """What a robot and its reduction have in common.

    Attributes:
        kind: What fails.
        name: Id of the check, name of the engine, or the verdict without a comparison.
        message: Message without what is specific to one robot; of checks, whether the
            values differ by a number.
        example: Message of the robot as it was given.
    """

    kind: FailureKind
    name: str
    message: str
    example: str

    def __str__(self) -> str:
        """Return kind, name and message in one line."""
        return f"{self.kind} {self.name}: {self.example}"


def find_failure(record: RobotRecord, check: str | None = None) -> Failure | None:
    """Return the failure of a robot, if there is one.

    Args:
        record: Result of the robot.
        check: Id of the check that has to fail. Otherwise the first of these counts: a
            conversion that fails, the first failing check, a crashed engine.
    """
    if check is not None:
        return next((e for e in _failed_checks(record) if e.name == check), None)
    return next(iter(_failures(record)), None)


def has_failure(record: RobotRecord, failure: Failure) -> bool:
    """Whether a robot has a certain failure, possibly among others."""
    return any(
        (other.kind, other.name, other.message) == (failure.kind, failure.name, failure.message)
        for other in _failures(record)
    )


def without_specifics(message: str) -> str:
    """Replace paths, quoted names and numbers of a message by a placeholder.

    Example:
        >>> without_specifics("link 'tip': mass 2.5 kg instead of 4e-3 kg")
        'link *: mass * kg instead of * kg'
    """
    return _SPECIFIC.sub("*", message)


def _failures(record: RobotRecord) -> tuple[Failure, ...]:
    if record.verdict in _REFUSED and not record.checks:
        return (_refusal(record), *_crashes(record))
    return (*_failed_checks(record), *_crashes(record))


def _refusal(record: RobotRecord) -> Failure:
    message = record.reason
    if record.verdict is Verdict.UNREADABLE:
        rules = (each.rule for each in record.diagnostics if each.severity == "error")
        message = next(rules, message)
    return Failure(
        FailureKind.CONVERSION,
        record.verdict.value,
        without_specifics(message),
        record.reason,
    )


def _failed_checks(record: RobotRecord) -> tuple[Failure, ...]:
    return tuple(
        failure
        for check in record.checks
        if check.grade is Grade.FAILS
        for failure in _failed_values(check)
    )


def _failed_values(check: CheckRecord) -> tuple[Failure, ...]:
    failing = [one for one in check.findings if one.grade is Grade.FAILS]
    if not failing:
        reason = check.reason or check.title
        return (Failure(FailureKind.CHECK, check.id, "", reason),)
    return tuple(
        Failure(
            FailureKind.CHECK,
            check.id,
            "number" if check.unit and one.measured is not None else "other",
            one.message,
        )
        for one in failing
    )


def _crashes(record: RobotRecord) -> tuple[Failure, ...]:
    return tuple(
        Failure(
            FailureKind.ENGINE,
            engine.name,
            without_specifics(engine.reason or ""),
            engine.reason or "",
        )
        for engine in record.engines
        if engine.status is EngineStatus.CRASHED
    )
