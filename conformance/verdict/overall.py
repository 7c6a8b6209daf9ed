"""What the checks of a robot amount to: one verdict, and the reason for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import Grade, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from urdf_usd.conformance.records.record import CheckRecord

ORDER = (
    Grade.NOT_APPLICABLE,
    Grade.EXACT,
    Grade.CLOSE,
    Grade.NOT_COMPARABLE,
    Grade.DISPUTED,
    Grade.FAILS,
)
"""From what counts least to what decides."""


def overall_verdict(grades: AbstractSet[Grade]) -> Verdict:
    """Return what the grades of all checks amount to."""
    worst = max(grades, key=ORDER.index)
    if worst is Grade.NOT_APPLICABLE:
        return Verdict.NOT_COMPARABLE
    if worst is Grade.NOT_COMPARABLE and grades & {Grade.EXACT, Grade.CLOSE}:
        return Verdict.INCOMPLETE
    return Verdict(worst.value)


def overall_reason(checks: Sequence[CheckRecord]) -> str:
    """Name what decided, in one sentence."""
    worst = max((check.grade for check in checks), key=ORDER.index)
    if worst is Grade.NOT_APPLICABLE:
        return "nothing was compared"
    if worst is Grade.EXACT:
        made = sum(check.grade is not Grade.NOT_APPLICABLE for check in checks)
        return f"all {made} checks are exact"
    deciding = [check for check in checks if check.grade is worst]
    first = deciding[0]
    finding = next((f for f in first.findings if f.grade is worst), None)
    said = finding.message if finding else first.reason or first.title
    more = len(deciding) - 1
    others = f" (and {more} more {'checks' if more > 1 else 'check'})" if more else ""
    return f"{first.title}: {said}{others}"
