"""Result of a check in a test, with an assertion that shows the worst findings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from msgspec import Struct

from urdf_usd.conformance.gate.decision import FailOn, failures
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
