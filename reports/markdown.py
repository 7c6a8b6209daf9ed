"""The result of a run as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from urdf_usd.reports.appearance import GRADES, VERDICTS
from urdf_usd.reports.changes import sign, sorted_changes
from urdf_usd.reports.quantities import duration, exact, quantity, size
from urdf_usd.reports.records.record import (
    CheckHeading,
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
_REASON_LIMIT = 300
_CELL_LIMIT = 200
# GitHub takes 65,536 characters in a comment.
_ROWS = 50


def write_markdown(summary: RunSummary, path: Path) -> None:
    """Write counts, robots that do not conform, and the largest differences."""
    text = "\n".join(
        (
            *_counts(summary),
            *_baseline(summary),
            *_previous_run(summary),
            *_feature_suite(summary),
            *_nonconforming(summary),
            *_parts_of_robots(summary),
            *_largest(summary),
        )
    )
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def write_comparison_markdown(
    summary: RunSummary, robots: Sequence[RobotRecord], seconds: Seconds, path: Path
) -> None:
    """Write the comparison as a summary for a pull-request comment."""
    compared = compare(summary, robots, seconds)
    lines = (
        *_converters(compared),
        *_previous_run(summary),
        *_feature_suite(summary),
        *_failed_checks(compared),
        *_differing(compared),
        *_parts_of_robots(summary),
    )
    path.write_text("\n".join((*lines, "")), encoding="utf-8", newline="\n")


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int = _ROWS,
    hidden: int = 0,
) -> Iterator[str]:
    """Yield the lines of a table.

    Args:
        headings: One per column; a colon at the end aligns numbers.
        rows: Cells, escaped.
        most: Maximum number of rows; further ones are counted.
        hidden: Number of further rows that are not given.
    """
    shown = (f" {one.rstrip(':')} |" if one else " |" for one in headings)
    yield f"|{''.join(shown)}"
    yield f"|{'|'.join('---:' if one.endswith(':') else '---' for one in headings)}|"
    for row in rows[:most]:
        yield f"| {' | '.join(row)} |"
    if (more := len(rows) + hidden - most) > 0:
        yield ""
        yield f"and {more} more."


def _counts(summary: RunSummary) -> Iterator[str]:
    yield f"## {headline(summary.robots)}"
    yield ""
    if not summary.complete:
        yield (
            f"**Incomplete:** the run was interrupted, and {summary.unfinished} "
            "further robots are missing."
        )
        yield ""
    yield from _table(
        ("", "Verdict", "Robots:"),
        [
            (VERDICTS[verdict].sign, verdict.value, str(count))
            for verdict in Verdict
            if (count := summary.verdicts.get(verdict.value, 0))
        ],
    )


def _baseline(summary: RunSummary) -> Iterator[str]:
    """List differences from the baseline; expected results are only counted."""
    baseline = summary.baseline
    if baseline is None:
        return
    yield from ("", "### Comparison with the baseline", "")
    expired = f"{len(baseline.expired)} expired, " if baseline.expired else ""
    yield (
        f"{len(baseline.new)} new, {len(baseline.worse)} worse, {expired}"
        f"{len(baseline.fixed)} fixed, {len(baseline.expected)} as expected."
    )
    rows = [
        (
            change,
            _code(known.robot),
            known.check,
            known.expected or "nothing",
            known.grade or "passes",
            markdown(known.message or known.reason, _REASON_LIMIT),
        )
        for change, group in (
            ("✗ new", baseline.new),
            ("✗ worse", baseline.worse),
            ("✗ expired", baseline.expired),
            ("✓ fixed", baseline.fixed),
        )
        for known in group
    ]
    if rows:
        yield ""
        yield from _table(("Change", "Robot", "Check", "Expected", "Now", "Details"), rows)


def _previous_run(summary: RunSummary) -> Iterator[str]:
    """List changes since a previous run, if the summary has them."""
    changes = sorted_changes(summary.former)
    if changes is None:
        return
    yield from ("", "### Changes since the previous run", "")
    yield f"{changes.sentence[0].upper()}{changes.sentence[1:]}."
    rows = [
        (
            f"{sign(one)} {one.kind}",
            _code(one.subject),
            one.check or "",
            markdown(one.before or "nothing", _NAME_LIMIT),
            markdown(one.after or "nothing", _NAME_LIMIT),
            markdown(one.detail, _REASON_LIMIT),
        )
        for one in changes.rows
    ]
    if rows:
        yield ""
        yield from _table(
            ("Change", "Robot", "Check", "Before", "Now", "Details"),
            rows,
            hidden=changes.hidden,
        )


def _feature_suite(summary: RunSummary) -> Iterator[str]:
    """Show the scores of the feature suite, if it was run, and cases that fail."""
    if not summary.suite:
        return
    names = [converter.name for converter in summary.converters]
    rows = [
        (markdown(title, _NAME_LIMIT), *(score_text(row[name]) for name in names))
        for title, row in suite_scores(summary)
    ]
    yield from ("", "### Feature suite", "")
    headings = (f"{markdown(name, _NAME_LIMIT)}:" for name in names)
    yield from _table(("Chapter", *headings), rows, most=len(rows))
    failing = [
        (
            _code(robot.reference),
            markdown(robot.candidate, _NAME_LIMIT),
            robot.case.outcome.value,
            markdown(robot.case.reason, _REASON_LIMIT),
        )
        for robot in summary.robots
        if robot.case and not robot.case.outcome.passes
    ]
    if failing:
        yield ""
        yield from _table(("Case", "Converter", "Outcome", "Reason"), failing)


def _nonconforming(summary: RunSummary) -> Iterator[str]:
    robots = sorted(
        (
            robot
            for robot in summary.robots
            if not robot.verdict.conforms and not robot.refused_as_expected
        ),
        key=lambda robot: (VERDICTS[robot.verdict].rank, robot.reference),
    )
    if robots:
        yield from ("", "### Robots that do not conform", "")
        yield from _table(
            ("Robot", "Verdict", "Reason"),
            [
                (
                    _code(robot.reference),
                    f"{VERDICTS[robot.verdict].sign} {robot.verdict}",
                    markdown(robot.reason, _REASON_LIMIT),
                )
                for robot in robots
            ],
        )


def _parts_of_robots(summary: RunSummary) -> Iterator[str]:
    """Yield a table of the xacro files that are parts of robots, if there are any."""
    if summary.parts:
        yield from ("", "### Parts of robots, not checked", "")
        rows = [
            (_code(reference), markdown(reason, _REASON_LIMIT))
            for reference, reason in summary.parts.items()
        ]
        yield from _table(("File", "Reason"), rows)


def _largest(summary: RunSummary) -> Iterator[str]:
    rows = []
    for heading in summary.checks:
        robot = _largest_robot(summary, heading)
        if not heading.unit or robot is None:
            continue
        value, grade = robot.worst[heading.id], robot.grades[heading.id]
        amount = quantity(value, heading.unit)
        rows.append(
            (
                markdown(heading.title, _NAME_LIMIT),
                f'<span title="{exact(value, heading.unit)}">{amount}</span>',
                _code(robot.reference),
                f"{GRADES[grade].sign} {grade}",
            )
        )
    if rows:
        yield from ("", "### Largest differences", "")
        yield from _table(("Quantity", "Largest:", "Robot", "Grade"), rows, most=len(rows))


def _largest_robot(summary: RunSummary, heading: CheckHeading) -> RobotSummary | None:
    measured = [robot for robot in summary.robots if heading.id in robot.worst]
    return max(measured, key=lambda robot: robot.worst[heading.id], default=None)


def _code(name: str) -> str:
    return f"<code>{markdown(name, _NAME_LIMIT)}</code>"


def _converters(comparison: Comparison) -> Iterator[str]:
    plain = (Verdict.EXACT, Verdict.CLOSE, Verdict.FAILS)
    rows = [
        (
            markdown(one.converter.name, _CELL_LIMIT),
            markdown(one.converter.title, _CELL_LIMIT),
            f"{one.converted} of {one.robots}",
            *(str(one.verdicts[verdict]) for verdict in plain),
            str(one.other),
            duration(one.median),
            size(one.size),
        )
        for one in comparison.results
    ]
    yield f"## {markdown(comparison.headline, _CELL_LIMIT)}"
    yield ""
    yield from _table(
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
            markdown(one.check.title, _CELL_LIMIT),
            *(str(one.counts[name]) for name in names),
        )
        for one in comparison.failed_checks
    ]
    if rows:
        yield from ("", "### Failed checks, by number of robots", "")
        headings = (f"{markdown(name, _CELL_LIMIT)}:" for name in names)
        yield from _table(("Check", *headings), rows, most=len(rows))


def _differing(comparison: Comparison) -> Iterator[str]:
    names = [one.converter.name for one in comparison.results]
    verdicts: dict[str, dict[str, Verdict]] = {}
    for entry in comparison.entries:
        robot = entry.robot
        verdicts.setdefault(robot.source.reference, {})[robot.candidate] = robot.verdict
    rows = [
        (
            f"<code>{markdown(reference, _CELL_LIMIT)}</code>",
            *(f"{VERDICTS[row[name]].sign} {row[name]}" if name in row else "" for name in names),
        )
        for reference, row in verdicts.items()
        if len(set(row.values())) > 1
    ]
    if rows:
        yield from ("", "### Robots with different verdicts", "")
        headings = (markdown(name, _CELL_LIMIT) for name in names)
        yield from _table(("Robot", *headings), rows)
