"""One line about a record, for interactive sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.conformance.record import RobotRecord, RunSummary


def robot_record_line(record: RobotRecord) -> str:
    """Return ``<RobotRecord 'arm': fails; reason>``, or without a reason."""
    verdict = record.verdict
    reason = "" if verdict.conforms else f"; {record.reason}"
    return f"<RobotRecord {record.id!r}: {verdict.value}{reason}>"


def run_summary_line(summary: RunSummary) -> str:
    """Return ``<RunSummary: 95 robots: 90 exact, 5 close>``."""
    counts = {verdict: count for verdict, count in summary.verdicts.items() if count}
    if summary.unfinished:
        counts["unfinished"] = summary.unfinished
    robots = sum(counts.values())
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    total = f"{robots} robot" if robots == 1 else f"{robots} robots"
    return f"<RunSummary {total}{': ' if listed else ''}{listed}>"
