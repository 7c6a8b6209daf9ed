"""The outcome of a case: what engines report of the USD, or that there is none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from urdf_usd.reports.records.suite_case import (
    CaseOutcome,
    CaseReadingRecord,
    Expected,
)

# The engine that decides; simulators may have deviations of their own.
_DECISIVE = "openusd"
_SHOWN = 3


def judge_case(
    expected: Expected,
    readings: Sequence[CaseReadingRecord],
    *,
    refusal: str | None,
    written: bool,
    crash: str,
    rules: Collection[str] | None,
) -> tuple[CaseOutcome, str]:
    """Return the outcome of a case, and why it does not pass.

    Args:
        expected: The values.
        readings: Comparisons with the USD, if there is one.
        refusal: Why the converter wrote no USD, if it refused the URDF.
        written: Whether there is a USD.
        crash: Why there is neither a USD nor a refusal.
        rules: Rules that the converter reported; None if it has others.
    """
    if not written and refusal is None:
        return CaseOutcome.CRASHED, crash
    missing = [] if rules is None else sorted({*expected.diagnostics} - {*rules})
    differences = [f"not reported: {', '.join(missing)}"] if missing else []
    if expected.refused:
        if written:
            differences = ["a USD was written of a file that must be refused"]
        return _outcome(CaseOutcome.REFUSED, differences)
    if not written:
        return CaseOutcome.REFUSED_WRONGLY, refusal or ""
    reading = next((one for one in readings if one.engine == _DECISIVE), None)
    if reading is None or reading.reason is not None:
        why = reading.reason if reading and reading.reason else "nothing was compared"
        return CaseOutcome.CRASHED, f"the USD cannot be read: {why}"
    differences = [
        *(
            f"{one.subject}: {one.quantity} {one.actual}, expected {one.expected}"
            for one in reading.failures
        ),
        *differences,
    ]
    return _outcome(CaseOutcome.PASS, differences)


def _outcome(passed: CaseOutcome, differences: Sequence[str]) -> tuple[CaseOutcome, str]:
    """Return the outcome of a case by what is not as expected."""
    if not differences:
        return passed, ""
    more = len(differences) - _SHOWN
    text = "; ".join(differences[:_SHOWN])
    return CaseOutcome.FAIL, f"{text}; and {more} more" if more > 0 else text
