"""The result of a run as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from pathlib import Path

from urdf_usd.reports.html.rendering import template_environment
from urdf_usd.reports.records.record import (
    Verdict,
)
from urdf_usd.reports.summary import Comparison, Figures


def write_markdown(figures: Figures, path: Path) -> None:
    """Write counts, robots that do not conform, and the largest differences."""
    summary = figures.summary
    _write(
        path,
        "summary.md.j2",
        figures,
        headline=figures.headline,
        verdicts=[
            (verdict, count)
            for verdict in Verdict
            if (count := summary.verdicts.get(verdict.value, 0))
        ],
        baseline=summary.baseline,
        failures=[
            (change, known)
            for change, rows in (summary.baseline.changes if summary.baseline else ())
            for known in rows
        ],
        nonconforming=[
            robot
            for robot in figures.ordered
            if not robot.verdict.conforms and not robot.refused_as_expected
        ],
        largest=figures.worst,
    )


def write_comparison_markdown(comparison: Comparison, path: Path) -> None:
    differing = _differing(comparison)
    _write(path, "comparison.md.j2", comparison, comparison=comparison, differing=differing)


def _write(path: Path, template: str, run: Figures | Comparison, **content: object) -> None:
    cases = [one for one in run.summary.robots if one.case and not one.case.outcome.passes]
    text = (
        template_environment("md")
        .get_template(template)
        .render(
            summary=run.summary,
            changes=run.changes,
            scores=run.scores,
            failing_cases=cases,
            **content,
        )
    )
    path.write_text(text, encoding="utf-8", newline="\n")


def _differing(comparison: Comparison) -> list[tuple[str, dict[str, Verdict]]]:
    verdicts: dict[str, dict[str, Verdict]] = {}
    for entry in comparison.entries:
        robot = entry.robot
        verdicts.setdefault(robot.source.reference, {})[robot.candidate] = robot.verdict
    return [(name, row) for name, row in verdicts.items() if len(set(row.values())) > 1]
