"""Comparison of converters as a page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from urdf_usd.reports import overview
from urdf_usd.reports.appearance import VERDICTS
from urdf_usd.reports.changes import sorted_changes
from urdf_usd.reports.comparison import Comparison, Seconds, compare
from urdf_usd.reports.html.history_page import PAGE
from urdf_usd.reports.html.rendering import (
    page_environment,
    page_name,
    script_digest,
    template_asset,
    trusted_markup,
)
from urdf_usd.reports.markdown import (
    feature_suite,
    parts_of_robots,
    previous_run,
    table,
)
from urdf_usd.reports.quantities import duration, size
from urdf_usd.reports.records.record import RobotRecord, RunSummary, Verdict
from urdf_usd.reports.text import markdown

# Folder of the pages of each converter, as a run of that converter alone has them.
CONVERTERS = "converters"
_CELL = 200


def write_comparison(
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    seconds: Seconds,
    directory: Path,
    *,
    has_history: bool = False,
) -> Path:
    """Write ``index.html`` of a run of several converters, and return its path.

    Args:
        summary: The run.
        robots: Its records, one per robot and converter.
        seconds: Durations of conversions.
        directory: Folder of the run, in which each converter has its pages.
        has_history: Whether ``history.html`` is beside it.

    Raises:
        OSError: The file cannot be written.
    """
    script = template_asset("filter.js")
    environment = page_environment()
    environment.filters.update(site=_site, sheet=_sheet, duration=duration, bytes=size)
    compared = compare(summary, robots, seconds)
    text = environment.get_template("comparison.html.j2").render(
        summary=summary,
        cases=any(robot.case for robot in robots),
        comparison=compared,
        robots=len({robot.id for robot in robots}),
        groups=overview.groups(robots),
        verdicts=_verdict_columns(compared),
        title=headline(compared),
        changes=sorted_changes(summary.former) if summary.former else None,
        changed={f"{one.candidate}/{one.id}": _sheet(one) for one in robots},
        history=PAGE if has_history else "",
        script=trusted_markup(script),
        script_digest=script_digest(script),
    )
    index = directory / "index.html"
    index.write_text(text, encoding="utf-8", newline="\n")
    return index


def write_comparison_markdown(
    summary: RunSummary, robots: Sequence[RobotRecord], seconds: Seconds, path: Path
) -> None:
    """Write the comparison as a summary for a pull-request comment."""
    compared = compare(summary, robots, seconds)
    lines = (
        *_results(compared),
        *previous_run(summary),
        *feature_suite(summary),
        *_failed_checks(compared),
        *_robots(compared),
        *parts_of_robots(summary),
    )
    path.write_text("\n".join((*lines, "")), encoding="utf-8", newline="\n")


def headline(comparison: Comparison) -> str:
    """Return how many robots conform and values were compared, for each converter."""
    return "; ".join(
        f"{one.converter.name}: {one.conforming} of {one.robots} robots conform, "
        f"{overview.values(one.compared)}"
        for one in comparison.results
    )


def _verdict_columns(comparison: Comparison) -> tuple[Verdict, ...]:
    """Return the verdicts with a column: the usual ones, and others that occur."""
    usual = (Verdict.EXACT, Verdict.CLOSE, Verdict.FAILS)
    return tuple(
        verdict
        for verdict in VERDICTS
        if verdict in usual or any(one.verdicts[verdict] for one in comparison.results)
    )


def _site(converter: str) -> str:
    """Return the address of the index page of a converter."""
    return f"{CONVERTERS}/{quote(converter)}/index.html"


def _sheet(robot: RobotRecord) -> str:
    """Return the address of the page of a robot of one converter."""
    place = (CONVERTERS, robot.candidate, "robots", page_name(robot))
    return "/".join(map(quote, place))


def _results(comparison: Comparison) -> Iterator[str]:
    plain = (Verdict.EXACT, Verdict.CLOSE, Verdict.FAILS)
    rows = [
        (
            markdown(one.converter.name, _CELL),
            markdown(one.converter.title, _CELL),
            f"{one.converted} of {one.robots}",
            *(str(one.verdicts[verdict]) for verdict in plain),
            str(sum(n for verdict, n in one.verdicts.items() if verdict not in plain)),
            duration(one.median),
            size(one.size),
        )
        for one in comparison.results
    ]
    yield f"## {markdown(headline(comparison), _CELL)}"
    yield ""
    yield from table(
        (
            *("Converter", "Version", "Converted:", "Exact:", "Close:", "Fails:"),
            *("Other:", "Median time:", "Size:"),
        ),
        rows,
        most=len(rows),
    )
    yield ""
    yield (
        f"Times and sizes are over the {comparison.shared} robots that all converted; "
        "the time of a command includes starting its process."
    )


def _failed_checks(comparison: Comparison) -> Iterator[str]:
    names = [one.converter.name for one in comparison.results]
    rows = [
        (
            markdown(one.check.title, _CELL),
            *(str(one.counts[name]) for name in names),
        )
        for one in comparison.failed_checks
    ]
    if rows:
        yield from ("", "### Failed checks, by number of robots", "")
        headings = (f"{markdown(name, _CELL)}:" for name in names)
        yield from table(("Check", *headings), rows, most=len(rows))


def _robots(comparison: Comparison) -> Iterator[str]:
    names = [one.converter.name for one in comparison.results]
    verdicts: dict[str, dict[str, Verdict]] = {}
    for entry in comparison.entries:
        robot = entry.robot
        verdicts.setdefault(robot.source.reference, {})[robot.candidate] = robot.verdict
    rows = [
        (
            f"<code>{markdown(reference, _CELL)}</code>",
            *(f"{VERDICTS[row[name]].sign} {row[name]}" if name in row else "" for name in names),
        )
        for reference, row in verdicts.items()
        if len(set(row.values())) > 1
    ]
    if rows:
        yield from ("", "### Robots with different verdicts", "")
        headings = (markdown(name, _CELL) for name in names)
        yield from table(("Robot", *headings), rows)
