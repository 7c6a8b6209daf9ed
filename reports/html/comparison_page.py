"""Comparison of converters as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from urdf_usd.reports.appearance import VERDICTS
from urdf_usd.reports.changes import sorted_changes
from urdf_usd.reports.html.history_page import PAGE
from urdf_usd.reports.html.rendering import (
    CONVERTERS,
    page_address,
    page_environment,
    script_digest,
    static_file,
    trusted_markup,
    write_page,
)
from urdf_usd.reports.records.record import RobotRecord, RunSummary, Verdict
from urdf_usd.reports.summary import Seconds, compare, groups

_USUAL = (Verdict.EXACT, Verdict.CLOSE, Verdict.FAILS)


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
    script = static_file("filter.js")
    page_environment().filters.update(site=_site, sheet=page_address)
    compared = compare(summary, robots, seconds)
    return write_page(
        directory / "index.html",
        "comparison.html.j2",
        summary=summary,
        cases=any(robot.case for robot in robots),
        comparison=compared,
        robots=len({robot.id for robot in robots}),
        groups=groups(robots),
        verdicts=[
            verdict
            for verdict in VERDICTS
            if verdict in _USUAL or any(one.verdicts[verdict] for one in compared.results)
        ],
        title=compared.headline,
        changes=sorted_changes(summary.former),
        changed={f"{one.candidate}/{one.id}": page_address(one) for one in robots},
        history=PAGE if has_history else "",
        script=trusted_markup(script),
        script_digest=script_digest(script),
    )


def _site(converter: str) -> str:
    """Return the address of the index page of a converter."""
    return f"{CONVERTERS}/{quote(converter)}/index.html"
