"""The result of a run as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import Verdict
from urdf_usd.reports.appearance import GRADES, VERDICTS
from urdf_usd.reports.changes import sign, sorted_changes
from urdf_usd.reports.overview import headline
from urdf_usd.reports.quantities import exact, quantity
from urdf_usd.reports.text import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from urdf_usd.conformance.records.record import (
        CheckHeading,
        RobotSummary,
        RunSummary,
    )

_NAME_LIMIT = 80
_REASON_LIMIT = 300
# GitHub takes 65,536 characters in a comment.
_ROWS = 50


def write_markdown(summary: RunSummary, path: Path) -> None:
    """Write counts, robots that do not conform, and the largest differences."""
    text = "\n".join(
        (
            *_counts(summary),
            *_baseline(summary),
            *previous_run(summary),
            *_nonconforming(summary),
            *_worst(summary),
        )
    )
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _counts(summary: RunSummary) -> Iterator[str]:
    yield f"## {headline(summary.robots)}"
    yield ""
    if not summary.complete:
        yield (
            f"**Incomplete:** the run was interrupted, and {summary.unfinished} "
            "further robots are missing."
        )
        yield ""
    yield "| | Verdict | Robots |"
    yield "|---|---|---:|"
    for verdict in Verdict:
        if count := summary.verdicts.get(verdict.value, 0):
            yield f"| {VERDICTS[verdict].sign} | {verdict} | {count} |"


def _baseline(summary: RunSummary) -> Iterator[str]:
    """List differences from the baseline; expected results are only counted."""
    baseline = summary.baseline
    if baseline is None:
        return
    yield ""
    yield "### Comparison with the baseline"
    yield ""
    yield (
        f"{len(baseline.new)} new, {len(baseline.worse)} worse, "
        f"{len(baseline.fixed)} fixed, {len(baseline.expected)} as expected."
    )
    rows = [
        (word, known)
        for word, group in (
            ("✗ new", baseline.new),
            ("✗ worse", baseline.worse),
            ("✓ fixed", baseline.fixed),
        )
        for known in group
    ]
    if not rows:
        return
    yield ""
    yield "| Change | Robot | Check | Expected | Now | Details |"
    yield "|---|---|---|---|---|---|"
    for word, known in rows[:_ROWS]:
        robot = f"<code>{markdown(known.robot, _NAME_LIMIT)}</code>"
        message = markdown(known.message or known.reason, _REASON_LIMIT)
        grades = f"{known.expected or 'nothing'} | {known.grade or 'passes'}"
        yield f"| {word} | {robot} | {known.check} | {grades} | {message} |"
    if len(rows) > _ROWS:
        yield ""
        yield f"and {len(rows) - _ROWS} more."


def previous_run(summary: RunSummary) -> Iterator[str]:
    """List changes since a previous run, if the summary has them."""
    if summary.former is None:
        return
    changes = sorted_changes(summary.former)
    yield ""
    yield "### Changes since the previous run"
    yield ""
    yield f"{changes.sentence[0].upper()}{changes.sentence[1:]}."
    if not changes.rows:
        return
    yield ""
    yield "| Change | Robot | Check | Before | Now | Details |"
    yield "|---|---|---|---|---|---|"
    for one in changes.rows[:_ROWS]:
        robot = f"<code>{markdown(one.subject, _NAME_LIMIT)}</code>"
        step = " | ".join(
            markdown(value or "nothing", _NAME_LIMIT)
            for value in (one.before, one.after)
        )
        detail = markdown(one.detail, _REASON_LIMIT)
        kind = f"{sign(one)} {one.kind}"
        yield f"| {kind} | {robot} | {one.check or ''} | {step} | {detail} |"
    if (more := len(changes.rows) + changes.hidden - _ROWS) > 0:
        yield ""
        yield f"and {more} more."


def _nonconforming(summary: RunSummary) -> Iterator[str]:
    robots = sorted(
        (robot for robot in summary.robots if not robot.verdict.conforms),
        key=lambda robot: (VERDICTS[robot.verdict].rank, robot.reference),
    )
    if not robots:
        return
    yield ""
    yield "### Robots that do not conform"
    yield ""
    yield "| Robot | Verdict | Reason |"
    yield "|---|---|---|"
    for robot in robots[:_ROWS]:
        look = VERDICTS[robot.verdict]
        reason = markdown(robot.reason, _REASON_LIMIT)
        yield f"| {_name(robot)} | {look.sign} {robot.verdict} | {reason} |"
    if len(robots) > _ROWS:
        yield ""
        yield f"and {len(robots) - _ROWS} more."


def _worst(summary: RunSummary) -> Iterator[str]:
    figures = [
        (heading, *worst)
        for heading in summary.checks
        if heading.unit and (worst := _worst_robot(summary, heading)) is not None
    ]
    if not figures:
        return
    yield ""
    yield "### Largest differences"
    yield ""
    yield "| Quantity | Largest | Robot | Grade |"
    yield "|---|---:|---|---|"
    for heading, robot, value in figures:
        amount = quantity(value, heading.unit)
        hint = exact(value, heading.unit)
        grade = robot.grades[heading.id]
        yield (
            f"| {markdown(heading.title, _NAME_LIMIT)} "
            f'| <span title="{hint}">{amount}</span> '
            f"| {_name(robot)} | {GRADES[grade].sign} {grade} |"
        )


def _worst_robot(
    summary: RunSummary, heading: CheckHeading
) -> tuple[RobotSummary, float] | None:
    measured = [
        (robot, robot.worst[heading.id])
        for robot in summary.robots
        if heading.id in robot.worst
    ]
    return max(measured, key=lambda pair: pair[1], default=None)


def _name(robot: RobotSummary) -> str:
    return f"<code>{markdown(robot.reference, _NAME_LIMIT)}</code>"
