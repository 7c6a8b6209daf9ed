"""The result of a run as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from urdf_usd.reports.appearance import GRADES, VERDICTS
from urdf_usd.reports.changes import sign, sorted_changes
from urdf_usd.reports.quantities import duration, exact, quantity, size
from urdf_usd.reports.records.record import (
    CheckHeading,
    FailureRecord,
    RobotRecord,
    RobotSummary,
    RunSummary,
    Verdict,
)
from urdf_usd.reports.summary import (
    Comparison,
    Seconds,
    compare,
    headline,
    score_text,
    suite_scores,
)
from urdf_usd.reports.text import markdown

_NAME_LIMIT = 80
# GitHub takes 65,536 characters in a comment; further rows are counted.
_ROWS = 50


def write_markdown(summary: RunSummary, path: Path) -> None:
    """Write counts, robots that do not conform, and the largest differences."""
    nonconforming = [
        robot
        for robot in summary.robots
        if not robot.verdict.conforms and not robot.refused_as_expected
    ]
    _write(
        path,
        "summary.md.j2",
        summary,
        headline=headline(summary.robots),
        verdicts=[
            (verdict, count)
            for verdict in Verdict
            if (count := summary.verdicts.get(verdict.value, 0))
        ],
        baseline=summary.baseline,
        failures=_failures(summary),
        nonconforming=sorted(
            nonconforming, key=lambda one: (VERDICTS[one.verdict].rank, one.reference)
        ),
        largest=_largest(summary),
    )


def write_comparison_markdown(
    summary: RunSummary, robots: Sequence[RobotRecord], seconds: Seconds, path: Path
) -> None:
    """Write the comparison of several converters."""
    compared = compare(summary, robots, seconds)
    differing = _differing(compared)
    _write(path, "comparison.md.j2", summary, comparison=compared, differing=differing)


def _write(path: Path, template: str, summary: RunSummary, **content: object) -> None:
    text = (
        _environment()
        .get_template(template)
        .render(
            summary=summary,
            changes=sorted_changes(summary.former),
            scores=suite_scores(summary),
            failing_cases=[
                one for one in summary.robots if one.case and not one.case.outcome.passes
            ],
            **content,
        )
    )
    path.write_text(text, encoding="utf-8", newline="\n")


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701  Markdown, escaped by a filter
        loader=PackageLoader("urdf_usd.reports.html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "markdown": markdown,
        "code": lambda name: f"<code>{markdown(name, _NAME_LIMIT)}</code>",
        "change_sign": sign,
        "score": score_text,
        "quantity": quantity,
        "exact": exact,
        "duration": duration,
        "bytes": size,
    }
    environment.globals |= {"GRADES": GRADES, "VERDICTS": VERDICTS, "ROWS": _ROWS}
    return environment


def _failures(summary: RunSummary) -> list[tuple[str, FailureRecord]]:
    """Return differences from the baseline; expected results are only counted."""
    baseline = summary.baseline
    if baseline is None:
        return []
    lists = (
        ("✗ new", baseline.new),
        ("✗ worse", baseline.worse),
        ("✗ expired", baseline.expired),
        ("✓ fixed", baseline.fixed),
    )
    return [(change, known) for change, group in lists for known in group]


def _largest(summary: RunSummary) -> list[tuple[CheckHeading, RobotSummary]]:
    """Return the robot with the largest difference in each check that measures one."""
    found = []
    for heading in summary.checks:
        measured = [robot for robot in summary.robots if heading.id in robot.worst]
        if heading.unit and measured:
            found.append((heading, max(measured, key=lambda one: one.worst[heading.id])))
    return found


def _differing(comparison: Comparison) -> list[tuple[str, dict[str, Verdict]]]:
    """Return robots for which the verdicts of converters differ."""
    verdicts: dict[str, dict[str, Verdict]] = {}
    for entry in comparison.entries:
        robot = entry.robot
        verdicts.setdefault(robot.source.reference, {})[robot.candidate] = robot.verdict
    return [(name, row) for name, row in verdicts.items() if len(set(row.values())) > 1]
