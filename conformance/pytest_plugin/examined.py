"""What became of a robot, as a test sees it: an assertion that says what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.gate.decision import FailOn, failures
from urdf_usd.conformance.records.record import Grade, Verdict
from urdf_usd.reports.explanation import advice, explanation
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from urdf_usd.conformance.gate.decision import Failure
    from urdf_usd.conformance.records.record import (
        CheckRecord,
        FindingRecord,
        RobotRecord,
    )

# What a person reads before looking into the record.
_CHECKS = 6
_FINDINGS = 3
_LONGEST = 200
_ORDER = (Grade.FAILS, Grade.DISPUTED, Grade.NOT_COMPARABLE, Grade.CLOSE)


@dataclass(frozen=True, slots=True)
class Examined:
    """A robot whose USD was compared with it.

    Attributes:
        record: Everything that was found.
    """

    record: RobotRecord

    @property
    def verdict(self) -> Verdict:
        """Result for the robot."""
        return self.record.verdict

    def assert_conforms(self, fail_on: str = FailOn.FAILS.value) -> None:
        """Assert that the USD says what the URDF says.

        Args:
            fail_on: ``incomplete`` if parts that could not be compared count as well,
                ``close`` if differences within the tolerance do.

        Raises:
            AssertionError: It does not; the message has the worst findings.
        """
        __tracebackhide__ = True
        found = failures(
            (self.record,), fail_on=FailOn(fail_on), strict=True, unreadable=True
        )
        if found:
            raise AssertionError(told(self.record, found))


def told(record: RobotRecord, found: Sequence[Failure]) -> str:
    """Say what is wrong with a robot: the worst findings of the gravest checks.

    Args:
        record: The robot.
        found: What it does not pass.
    """
    wanted = {failure.check for failure in found}
    checks = sorted(
        (check for check in record.checks if check.id in wanted),
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
    for said in dict.fromkeys(advice(check.grade) for check in checks):
        parts += ["", said]
    return "\n".join(parts)


def _worst(check: CheckRecord) -> list[FindingRecord]:
    graver = [found for found in check.findings if found.grade is check.grade]
    return sorted(graver, key=lambda found: -(found.difference or 0.0))


def _diagnostics(record: RobotRecord) -> Iterable[str]:
    for one in record.diagnostics[:_FINDINGS]:
        place = ":".join(str(part) for part in (one.file, one.line) if part is not None)
        said = f"{one.severity}: {one.message} [{one.rule}]"
        yield one_line(f"{place}: {said}" if place else said, _LONGEST)
