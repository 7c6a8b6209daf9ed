"""All files of the report of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import structs

from urdf_usd.reports.badge import write_badges
from urdf_usd.reports.html.history_page import write_history
from urdf_usd.reports.html.rendering import CONVERTERS
from urdf_usd.reports.html.site import write_comparison, write_site
from urdf_usd.reports.html.suite_page import write_suite
from urdf_usd.reports.junit import write_junit
from urdf_usd.reports.markdown import write_comparison_markdown, write_markdown
from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.results import read_seconds, write_record
from urdf_usd.reports.sarif import write_sarif
from urdf_usd.reports.summary import Comparison, Figures, compare


def write_report(
    summary: RunSummary,
    records: Sequence[RobotRecord],
    out: Path,
    history: Sequence[HistoryEntry] = (),
) -> tuple[Figures | Comparison, Path]:
    """Write all reports of a run into its folder; return what they show, and the first page."""
    if history:
        write_history(history, out)
    write_record(summary, out / "summary.json")
    write_junit(records, out / "junit.xml", summary)
    figures = _part(summary, records, next(one.name for one in summary.converters if one.gated))
    write_sarif(figures.robots, out / "findings.sarif", figures.summary.baseline)
    write_badges(figures, out)
    cases = write_suite(summary, records, out) is not None
    if len(summary.converters) <= 1:
        write_markdown(figures, out / "summary.md")
        return figures, write_site(figures, out, history=history, cases=cases)
    for converter in summary.converters:
        folder = out / CONVERTERS / converter.name
        folder.mkdir(parents=True, exist_ok=True)
        write_site(_part(summary, records, converter.name), folder, out / "scenes" / converter.name)
    compared = compare(summary, records, conversion_times(records, out))
    write_comparison_markdown(compared, out / "summary.md")
    return compared, write_comparison(compared, out, has_history=bool(history))


def records_of(converter: str, records: Iterable[RobotRecord]) -> list[RobotRecord]:
    return [record for record in records if record.candidate == converter]


def conversion_times(records: Sequence[RobotRecord], out: Path) -> dict[tuple[str, str], float]:
    """Read the times of conversions [s], by converter and robot."""
    keys = [(record.candidate, record.id) for record in records]
    times = {key: read_seconds(out, "/".join(key)) for key in keys}
    return {key: seconds for key, seconds in times.items() if seconds is not None}


def _part(summary: RunSummary, records: Sequence[RobotRecord], converter: str) -> Figures:
    """Return the part of a run that concerns one converter."""
    own = next(one for one in summary.converters if one.name == converter)
    former, prefix = summary.former, f"{converter}/"
    if former and len(summary.converters) > 1:
        changes = tuple(
            structs.replace(one, subject=one.subject.removeprefix(prefix))
            for one in former.changes
            if one.subject.startswith(prefix)
        )
        former = structs.replace(former, changes=changes)
    part = structs.replace(
        summary,
        converters=(own,),
        verdicts=own.verdicts,
        baseline=own.baseline or (summary.baseline if own.gated else None),
        robots=tuple(robot for robot in summary.robots if robot.candidate == converter),
        former=former,
        suite=tuple(one for one in summary.suite if one.candidate == converter),
    )
    return Figures.of(part, records_of(converter, records))
