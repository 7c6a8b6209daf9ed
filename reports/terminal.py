"""Summary of a run for the terminal, in about forty lines at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from urdf_usd.reports.appearance import VERDICTS, appearance
from urdf_usd.reports.diagnosis import diagnose
from urdf_usd.reports.quantities import duration, quantity, size
from urdf_usd.reports.records.record import (
    ANOTHER_ROBOT,
    EngineStatus,
    Grade,
    RobotRecord,
    RunSummary,
    Verdict,
)
from urdf_usd.reports.summary import (
    URGENT,
    Comparison,
    Figures,
    Participation,
    WorstFigure,
    conformity,
    is_file,
    score_text,
    selection,
    short_references,
    statement,
    title,
    values,
)
from urdf_usd.reports.text import of_formats, one_line, path_line

_NAME_LIMIT = 40
_TEXT_LIMIT = 140
_ROBOTS = 6
_FINDINGS = 3
_REASONS = 2
_Row: TypeAlias = Sequence[RenderableType]
# Engines of the URDF that every installation has.
_INDEPENDENT = ("mujoco", "pybullet")


class _Unpadded(Struct, frozen=True):
    """Content without trailing blanks."""

    content: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in console.render_lines(self.content, options, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.strip():
                kept.pop()
            if kept:
                text, style, _ = kept.pop()
                kept.append(Segment(text.rstrip(), style))
            yield from kept
            yield Segment.line()


def terminal_summary(figures: Figures) -> RenderableType:
    """Summarise verdicts, largest differences and engines.

    For a single robot, its findings replace the list of robots.
    """
    sections: tuple[RenderableType, ...]
    summary, robots = figures.summary, figures.robots
    if len(robots) == 1 and robots[0].reason.startswith(ANOTHER_ROBOT):
        # Differences between two robots say nothing.
        return _another_robot(robots[0])
    if len(robots) == 1:
        sections = (
            *_one_robot(robots[0]),
            *_parts(summary),
            *_since(figures),
            *_worst(figures),
            *_engines(figures),
        )
    else:
        sections = (
            *_counts(figures),
            *_since(figures),
            *_suite(figures, robots),
            *_listed(figures),
            *_parts(summary),
            *_worst(figures),
            *_engines(figures),
        )
    return _Unpadded(Group(*sections))


def _another_robot(robot: RobotRecord) -> Text:
    mark = VERDICTS[robot.verdict]
    line = Text(f"{mark.sign} {robot.verdict}", style=f"bold {mark.style}")
    line.append(f"  {one_line(title(robot), _NAME_LIMIT)}", style="bold")
    return line.append(f"  {robot.reason}", style="not bold")


def terminal_selections(
    robots: Sequence[RobotRecord], skipped: Iterable[tuple[str, str]] = ()
) -> RenderableType:
    """List the verdicts of one robot by selection of variants.

    Args:
        robots: Records, one for each selection that was checked.
        skipped: Variants whose selections were not checked, each with the reason.
    """
    table = _table()
    for robot in robots:
        mark = VERDICTS[robot.verdict]
        table.add_row(
            Text(f"{mark.sign} {robot.verdict}", style=mark.style),
            Text(selection(robot) or "no variants", style="bold"),
            Text(one_line(robot.reason, _TEXT_LIMIT)),
        )
    for variant, reason in skipped:
        table.add_row(Text("· skipped", style="dim"), Text(variant), Text(reason))
    return _Unpadded(table)


def terminal_comparison(compared: Comparison) -> RenderableType:
    """Compare converters on the same robots, and list failed checks."""
    table = _table("left", *("right",) * 8)
    table.add_row(
        *("", "converted", "exact", "close", "fails", "other", "median", "size", ""),
        style="dim",
    )
    plain = (Verdict.EXACT, Verdict.CLOSE, Verdict.FAILS)
    for one in compared.results:
        table.add_row(
            Text(one.converter.name, style="bold"),
            f"{one.converted} of {one.robots}",
            *(str(one.verdicts[verdict]) for verdict in plain),
            str(one.other),
            duration(one.median),
            size(one.size),
            Text(one_line(one.converter.title, _NAME_LIMIT), style="dim"),
        )
    suite = _suite(compared, ())
    parts = _parts(compared.summary)
    changes = _since(compared)
    return _Unpadded(Group(table, *changes, *suite, *parts, *_failed_checks(compared)))


def _suite(run: Figures | Comparison, robots: Sequence[RobotRecord]) -> Iterator[RenderableType]:
    """Show the scores of the feature suite, and which of the cases do not pass."""
    if not run.scores:
        return
    names = [converter.name for converter in run.summary.converters]
    rows: list[_Row] = [
        (chapter, *(score_text(row[name]) for name in names)) for chapter, row in run.scores
    ]
    if len(names) > 1:
        rows.insert(0, ("", *(Text(name, style="dim") for name in names)))
    yield from _section("Feature suite", rows, "left", *("right",) * len(names))
    failing = [
        (one, Verdict.FAILS, f"{one.case.outcome}: {one.case.reason}")
        for one in robots
        if one.case and not one.case.outcome.passes
    ]
    yield from _reasons("Cases that do not pass", failing, _references(robots))


def _failed_checks(compared: Comparison) -> Iterator[RenderableType]:
    names = [one.converter.name for one in compared.results]
    rows: list[_Row] = [
        (one.check.title, *(str(one.counts[name] or "") for name in names))
        for one in compared.failed_checks
    ]
    if rows:
        rows.insert(0, ("", *(Text(name, style="dim") for name in names)))
    heading = "Failed checks, by number of robots"
    yield from _section(heading, rows, "left", *("right",) * len(names))


def _counts(figures: Figures) -> Iterator[RenderableType]:
    yield Text(figures.headline, style="bold")
    table = _table("left", "right")
    for verdict in Verdict:
        if count := figures.summary.verdicts.get(verdict.value, 0):
            mark = VERDICTS[verdict]
            table.add_row(
                Text(mark.sign, style=mark.style),
                Text(str(count)),
                Text(verdict.value, style=mark.style),
                Text(mark.meaning, style="dim"),
            )
    yield _indented(table)


def _since(run: Figures | Comparison) -> Iterator[RenderableType]:
    if changes := run.changes:
        line = f"Since {one_line(changes.name, _NAME_LIMIT)}: {changes.sentence}"
        yield Text(f"\n{line}")


def _listed(figures: Figures) -> Iterator[RenderableType]:
    """List robots that do not conform, incomplete and close ones, with the reason."""
    ordered = figures.ordered
    references = _references(figures.robots)
    for heading, chosen in (
        (
            "Robots that do not conform",
            [r for r in ordered if not (r.verdict.agrees or r.refused_as_expected)],
        ),
        ("Incomplete robots", [r for r in ordered if r.verdict is Verdict.INCOMPLETE]),
        ("Close robots", [r for r in ordered if r.verdict is Verdict.CLOSE]),
    ):
        rows = [(r, r.verdict, f"{r.verdict}: {r.reason}") for r in chosen]
        yield from _reasons(heading, rows, references)


def _parts(summary: RunSummary) -> Iterator[RenderableType]:
    """List xacro files that are parts of robots, with the reason."""
    rows = [
        (Text(reference), Text(one_line(reason, _TEXT_LIMIT), style="dim"))
        for reference, reason in summary.parts.items()
    ]
    yield from _section("Parts of robots, not checked", rows, most=_ROBOTS)


def _reasons(
    heading: str,
    robots: Sequence[tuple[RobotRecord, Verdict, str]],
    references: Mapping[str, str],
) -> Iterator[RenderableType]:
    """List robots, each with a verdict for its sign, and a reason."""
    rows = [
        (
            _sign(verdict),
            Text(references[robot.source.reference]),
            Text(one_line(reason, _TEXT_LIMIT)),
        )
        for robot, verdict, reason in robots
    ]
    yield from _section(heading, rows, most=_ROBOTS)


def _one_robot(robot: RobotRecord) -> Iterator[RenderableType]:
    mark = VERDICTS[robot.verdict]
    line = Text(f"{mark.sign} {robot.verdict}", style=f"bold {mark.style}")
    if words := conformity(robot.verdict):
        line.append(f" ({words})", style="not bold dim")
    line.append(f"  {one_line(title(robot), _NAME_LIMIT)}", style="bold")
    if robot.checks:
        line.append(f"  {values(robot.compared)}", style="not bold dim")
    yield line
    if robot.variants:
        yield Text(f"variants: {selection(robot)}")
    yield from _reason(robot)
    if robot.uncompared:
        parts = ", ".join(f"{what} ({count})" for what, count in robot.uncompared.items())
        yield Text("Not compared: ", style="dim").append(parts, style="not dim")
    if robot.case:
        case = robot.case
        reason = f": {case.reason}" if case.reason else ""
        text = f"case {case.chapter}/{case.name}: {case.outcome}{reason}"
        yield Text(one_line(text, 2 * _TEXT_LIMIT))
    rows = [
        (
            _sign(finding.grade),
            Text(one_line(finding.subject, _NAME_LIMIT)),
            Text(one_line(f"{check.title}: {statement(finding)}", _TEXT_LIMIT)),
        )
        for check in robot.checks
        for finding in check.findings
        if finding.grade in URGENT
    ]
    yield from _section("Findings", rows, most=_FINDINGS)


def _reason(robot: RobotRecord) -> Iterator[RenderableType]:
    """Show the reason and, for a robot that does not conform, fault and remedy."""
    diagnosis = diagnose(robot)
    yield Text(one_line(robot.reason, 2 * _TEXT_LIMIT))
    if diagnosis is None:
        return
    for word, text in (("Fault", diagnosis.fault), ("Remedy", diagnosis.remedy)):
        line = Text(f"{word}: ", style="dim")
        named = of_formats(text, robot.formats)
        yield line.append(one_line(named, 2 * _TEXT_LIMIT), style="not dim")


def _references(robots: Sequence[RobotRecord]) -> dict[str, str]:
    """Map references to their texts: unique, so that they can be passed to a command.

    Long ones are shortened.
    """
    shown = {one.source.reference: one.source.reference for one in robots}
    if any(len(reference) > _NAME_LIMIT for reference in shown):
        shown = short_references(robots)
    return {
        reference: (path_line if is_file(reference) else one_line)(text, _NAME_LIMIT)
        for reference, text in shown.items()
    }


def _worst(figures: Figures) -> Iterator[RenderableType]:
    references = _references(figures.robots) if len(figures.robots) > 1 else {}
    rows = []
    for figure in figures.worst_per_group:
        limit, unit = figure.check.tolerance, figure.check.unit
        rows.append(
            (
                _sign(figure.check.grade),
                Text(quantity(figure.value, unit), style="bold"),
                Text(f"of {quantity(limit, unit)}" if limit else "", style="dim"),
                Text(_place(figure, references)),
            )
        )
    yield from _section("Largest differences", rows, "left", "right", "right")


def _place(figure: WorstFigure, references: Mapping[str, str]) -> str:
    parts = [figure.check.title]
    if figure.value and references:
        parts.append(references[figure.robot.source.reference])
    if figure.value and figure.check.worst_subject:
        parts.append(one_line(figure.check.worst_subject, _NAME_LIMIT))
    return ", ".join(parts)


def _engines(figures: Figures) -> Iterator[RenderableType]:
    engines = figures.engines
    if not engines:
        return
    yield _heading("Engines")
    table = _table("left", "right")
    everywhere = [one.name for one in engines if one.observed == one.readable]
    if everywhere:
        names = f"{', '.join(everywhere)} read all {engines[0].readable}"
        yield _indented(Text(names))
    for engine in engines:
        if engine.name in everywhere:
            continue
        table.add_row(
            Text(engine.name),
            Text(f"{engine.observed} of {engine.readable}"),
            Text(one_line(_absences(engine), _TEXT_LIMIT), style="dim"),
        )
    if table.row_count:
        yield _indented(table)
    # An MJCF is read by other engines.
    is_urdf = any(one.formats is UNSET for one in figures.robots)
    missing = [name for name in _INDEPENDENT if name not in {e.name for e in engines} and is_urdf]
    if missing:
        names = " and ".join(missing)
        text = f"Not compared with {names}: not installed or not selected, see doctor"
        yield _indented(Text(text, style="yellow"))


def _absences(engine: Participation) -> str:
    parts = [
        f"{engine.counts[status]} {status}"
        for status in EngineStatus
        if status is not EngineStatus.OBSERVED and engine.counts[status]
    ]
    reasons = [reason for reason, _ in engine.reasons[:_REASONS]]
    if len(engine.reasons) > _REASONS:
        reasons.append("…")
    return ": ".join(filter(None, (", ".join(parts), "; ".join(reasons))))


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _sign(value: Grade | Verdict) -> Text:
    return Text(appearance(value).sign, style=appearance(value).style)


def _section(
    heading: str,
    rows: Sequence[_Row],
    *justify: str,
    most: int | None = None,
) -> Iterator[RenderableType]:
    """Show rows below a heading, at most some of them; nothing if there are none."""
    if not rows:
        return
    yield _heading(heading)
    table = _table(*justify)
    for row in rows[:most]:
        table.add_row(*row)
    yield _indented(table)
    if most is not None and len(rows) > most:
        yield _indented(Text(f"and {len(rows) - most} more", style="dim"))


def _table(*justify: str) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for side in justify:
        table.add_column(justify="right" if side == "right" else "left", no_wrap=True)
    return table


def _indented(content: RenderableType) -> Padding:
    if isinstance(content, Table) and content.columns:
        # One line per entry; the report has the full text.
        for column in content.columns:
            column.no_wrap = True
        content.columns[-1].overflow = "ellipsis"
        if content.columns[-1].justify == "left":
            content.columns[-1].ratio = 1
            content.expand = True
    return Padding(content, (0, 0, 0, 2))
