"""The files of a report, and what the terminal shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from urdf_usd.conformance.records.results import read_seconds, write_record
from urdf_usd.reports import (
    most_urgent_first,
    readable,
    terminal_comparison,
    terminal_summary,
    write_badge,
    write_comparison,
    write_comparison_markdown,
    write_junit,
    write_markdown,
    write_parquet,
    write_sarif,
    write_site,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from urdf_usd.conformance.records.change_record import FormerRunRecord
    from urdf_usd.conformance.records.record import RobotRecord, RunSummary

# Where each converter has its pages; the comparison links to them.
_CONVERTERS = "converters"


def write_reports(
    summary: RunSummary, records: Sequence[RobotRecord], out: Path
) -> Path:
    """Write all reports of a run into its folder, and return its first page."""
    write_record(summary, out / "summary.json")
    write_junit(records, out / "junit.xml", summary)
    write_parquet(records, out / "measurements.parquet")
    gated, mine = gated_part(summary, records)
    write_sarif(mine, out / "findings.sarif")
    write_badge(gated, out / "badge.svg")
    if len(summary.converters) <= 1:
        write_markdown(summary, out / "summary.md")
        return write_site(summary, records, out)
    seconds = _seconds(records, out)
    for converter in summary.converters:
        part, his = part_of(summary, records, converter.name)
        folder = out / _CONVERTERS / converter.name
        folder.mkdir(parents=True, exist_ok=True)
        write_site(part, his, folder, out / "scenes" / converter.name)
    write_comparison_markdown(summary, records, seconds, out / "summary.md")
    return write_comparison(summary, records, seconds, out)


def shown_summary(
    summary: RunSummary, records: Sequence[RobotRecord], out: Path
) -> RenderableType:
    """Return what the terminal shows of a run."""
    if len(summary.converters) <= 1:
        return terminal_summary(summary, records)
    return terminal_comparison(summary, records, _seconds(records, out))


def what_to_open(
    summary: RunSummary, records: Sequence[RobotRecord], out: Path, index: Path
) -> str:
    """Return where the report is, and the page of the robot that is most wrong."""
    lines = [f"Report: {index}"]
    wrong = [
        one for one in most_urgent_first(readable(records)) if not one.verdict.conforms
    ]
    if wrong and len(summary.converters) <= 1:
        page = out / "robots" / f"{wrong[0].id}.html"
        lines.append(f"Open first: {page}")
    return "\n".join(lines)


def gated_part(
    summary: RunSummary, records: Sequence[RobotRecord]
) -> tuple[RunSummary, list[RobotRecord]]:
    """Return the part of a run by which it passes."""
    gated = next(one.name for one in summary.converters if one.gated)
    return part_of(summary, records, gated)


def part_of(
    summary: RunSummary, records: Sequence[RobotRecord], converter: str
) -> tuple[RunSummary, list[RobotRecord]]:
    """Return the part of a run that concerns one converter."""
    own = tuple(one for one in summary.converters if one.name == converter)
    part = structs.replace(
        summary,
        converters=own,
        verdicts=own[0].verdicts,
        baseline=own[0].baseline or (summary.baseline if own[0].gated else None),
        robots=tuple(r for r in summary.robots if r.candidate == converter),
        former=_part_of_changes(summary, converter),
    )
    return part, [record for record in records if record.candidate == converter]


def _part_of_changes(summary: RunSummary, converter: str) -> FormerRunRecord | None:
    """Keep what changed about one of several converters, by the ids of robots."""
    former = summary.former
    if former is None or len(summary.converters) <= 1:
        return former
    prefix = f"{converter}/"
    changes = (
        structs.replace(one, subject=one.subject.removeprefix(prefix))
        for one in former.changes
        if one.subject.startswith(prefix)
    )
    return structs.replace(former, changes=tuple(changes))


def _seconds(records: Sequence[RobotRecord], out: Path) -> dict[tuple[str, str], float]:
    """Read how long conversions took, by converter and robot."""
    read = {
        (record.candidate, record.id): read_seconds(
            out, f"{record.candidate}/{record.id}"
        )
        for record in records
    }
    return {key: seconds for key, seconds in read.items() if seconds is not None}
