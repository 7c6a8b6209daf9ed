"""What is wrong with a check, in lines for a log, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import Grade
from urdf_usd.reports.overview import statement
from urdf_usd.reports.quantities import quantity
from urdf_usd.reports.remedies import place_to_look
from urdf_usd.reports.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.records.record import CheckRecord, FindingRecord

_ADVICE = {
    Grade.FAILS: (
        "If the values on the URDF side are what the file says, the USD is wrong: "
        "correct the converter, or the asset, at the places above."
    ),
    Grade.CLOSE: (
        "This is more than float32 explains, and within the tolerance: look for "
        "rounding, such as of angles written with few digits."
    ),
    Grade.DISPUTED: (
        "The readers of the URDF contradict each other, so that the USD cannot be "
        "judged: make the URDF unambiguous, or name the deviation of the reader."
    ),
    Grade.NOT_COMPARABLE: (
        "What one side does not state cannot be compared, so that nothing is proven of "
        "it: see above what is missing."
    ),
}


def explanation(
    check: CheckRecord, findings: Sequence[FindingRecord], most: int
) -> list[str]:
    """Return lines that say what was found by a check.

    Args:
        check: The check.
        findings: What is said of it.
        most: Number of findings to tell; of the others, the number is told.
    """
    lines = [f"{check.title} ({check.group}): {check.grade}"]
    if check.reason:
        lines.append(check.reason)
    for finding in findings[:most]:
        lines += ["", f"{finding.subject}: {statement(finding)}"]
        if finding.expected is not None:
            lines.append(f"  expected (URDF): {finding.expected}")
        if finding.actual is not None:
            lines.append(f"  actual (USD):    {finding.actual}")
        if finding.difference is not None:
            amount = quantity(finding.difference, check.unit)
            if finding.tolerance is not None:
                amount += f" (tolerance {quantity(finding.tolerance, check.unit)})"
            lines.append(f"  difference:      {amount}")
        if finding.configuration is not None:
            lines.append(f"  configuration:   {finding.configuration}")
    if check.grade is Grade.FAILS and (place := place_to_look(check.id)):
        lines += ["", f"Look at {place}."]
    if (more := len(findings) - most) > 0:
        lines += ["", f"{more} more are in the JSON record."]
    return [plain(line) for line in lines]


def advice(grade: Grade) -> str:
    """Say what to do about a check of that grade; empty if there is nothing to do."""
    return _ADVICE.get(grade, "")
