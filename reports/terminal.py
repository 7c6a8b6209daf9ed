"""Summary of a run for the terminal, in about forty lines at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from urdf_usd.reports import summary as counted
from urdf_usd.reports import text as t
from urdf_usd.reports.diagnosis import diagnose
from urdf_usd.reports.records import record as r

_NAME_LIMIT = 40
_TEXT_LIMIT = 140
_ROBOTS = 6
_FINDINGS = 3
_REASONS = 2
_Row: TypeAlias = Sequence[RenderableType]
# Of the lists of robots, with the verdicts of each.
_HEADINGS = {
    "Robots that do not conform": "fails, disputed, not comparable, crashed",
    "Robots that cannot be read or fetched": "unreadable, not available",
    "Incomplete robots": "incomplete",
    "Close robots": "close",
}
# Engines of the URDF that every installation has.
_INDEPENDENT = ("mujoco", "pybullet")


def terminal_summary(figures: counted.Figures) -> RenderableType:
    if len(figures.robots) != 1:
        head = (*_robots(figures),)
    elif (robot := figures.robots[0]).reason.startswith(r.ANOTHER_ROBOT):
        # Differences between two robots say nothing.
        return _title(robot).append(f"  {robot.reason}", style="not bold")
    else:
        head = (*_one_robot(robot), *_parts(figures), *_since(figures))
    return Group(*head, *_worst(figures), *_engines(figures))


def terminal_selections(
    robots: Sequence[r.RobotRecord], skipped: Iterable[tuple[str, str]] = ()
) -> RenderableType:
    rows: list[_Row] = []
    for robot in robots:
        selection = Text(counted.selection(robot) or "no variants", style="bold")
        rows.append((_sign(robot.verdict, f" {robot.verdict}"), selection, _line(robot.reason)))
    rows += ((Text("· skipped", style="dim"), Text(name), Text(reason)) for name, reason in skipped)
    return _grid(rows)


def terminal_comparison(compared: counted.Comparison) -> RenderableType:
    heads = ("", "converted", "exact", "close", "fails", "other", "median", "size", "")
    rows: list[_Row] = [[Text(text, style="dim") for text in heads]]
    rows += (
        (
            Text(one.converter.name, style="bold"),
            f"{one.converted} of {one.robots}",
            *(str(one.verdicts[verdict]) for verdict in counted.USUAL),
            str(one.other),
            t.duration(one.median),
            t.size(one.size),
            Text(t.one_line(one.converter.title, _NAME_LIMIT), style="dim"),
        )
        for one in compared.results
    )
    failed = [
        (one.check.title, *(str(count or "") for count in one.counts.values()))
        for one in compared.failed_checks
    ]
    return Group(
        _grid(rows, "left", *("right",) * 8),
        *_since(compared),
        *_suite(compared, ()),
        *_parts(compared),
        *_by_converter("Failed checks, by number of robots", failed, compared),
    )


def _by_converter(
    heading: str, rows: Sequence[_Row], run: counted.Figures | counted.Comparison
) -> Iterator[RenderableType]:
    """Show rows with a column per converter, below their names if there are several."""
    names = [converter.name for converter in run.summary.converters]
    if rows and len(names) > 1:
        rows = [("", *(Text(name, style="dim") for name in names)), *rows]
    yield from _section(heading, rows, "left", *("right",) * len(names))


def _suite(
    run: counted.Figures | counted.Comparison, failing: Sequence[r.RobotRecord]
) -> Iterator[RenderableType]:
    names = [converter.name for converter in run.summary.converters]
    rows = [
        (chapter, *(counted.score_text(row[name]) for name in names)) for chapter, row in run.scores
    ]
    yield from _by_converter("Feature suite", rows, run)
    reasons = [
        (one, r.Verdict.FAILS, f"{one.case.outcome}: {one.case.reason}")
        for one in failing
        if one.case
    ]
    yield from _reasons("Cases that do not pass", reasons, _references(failing))


def _robots(figures: counted.Figures) -> Iterator[RenderableType]:
    yield Text(figures.headline, style="bold")
    rows = [
        (_sign(one), Text(str(count)), Text(one.value, look.style), Text(look.meaning, "dim"))
        for one, count in figures.verdicts
        for look in [t.VERDICTS[one]]
    ]
    yield _indented(_grid(rows, "left", "right"))
    yield from _since(figures)
    yield from _suite(figures, figures.failing_cases)
    references = _references(figures.robots)
    robots = [one for one in figures.ordered if not one.refused_as_expected]
    for heading, verdicts in _HEADINGS.items():
        listed = [one for one in robots if one.verdict in verdicts.split(", ")]
        reasons = [(one, one.verdict, f"{one.verdict}: {one.reason}") for one in listed]
        yield from _reasons(heading, reasons, references)
    yield from _parts(figures)


def _since(run: counted.Figures | counted.Comparison) -> Iterator[RenderableType]:
    if changes := run.changes:
        yield Text(f"\nSince {t.one_line(changes.name, _NAME_LIMIT)}: {changes.sentence}")


def _parts(run: counted.Figures | counted.Comparison) -> Iterator[RenderableType]:
    rows = [
        (Text(reference), _line(reason, style="dim"))
        for reference, reason in run.summary.parts.items()
    ]
    yield from _section("Parts of robots, not checked", rows, most=_ROBOTS)


def _reasons(
    heading: str,
    robots: Sequence[tuple[r.RobotRecord, r.Verdict, str]],
    references: Mapping[str, str],
) -> Iterator[RenderableType]:
    rows = [
        (_sign(verdict), Text(references[robot.source.reference]), _line(reason))
        for robot, verdict, reason in robots
    ]
    yield from _section(heading, rows, most=_ROBOTS)


def _title(robot: r.RobotRecord, words: str = "") -> Text:
    mark = t.VERDICTS[robot.verdict]
    line = Text(f"{mark.sign} {robot.verdict}", style=f"bold {mark.style}")
    line.append(words, style="not bold dim")
    return line.append(f"  {t.one_line(counted.title(robot), _NAME_LIMIT)}", style="bold")


def _one_robot(robot: r.RobotRecord) -> Iterator[RenderableType]:
    words = counted.conformity(robot.verdict)
    line = _title(robot, f" ({words})" if words else "")
    if robot.checks:
        line.append(f"  {counted.values(robot.compared)}", style="not bold dim")
    yield line
    if robot.variants:
        yield Text(f"variants: {counted.selection(robot)}")
    yield _line(robot.reason, lines=2)
    if diagnosis := diagnose(robot):
        for word, text in (("Fault", diagnosis.fault), ("Remedy", diagnosis.remedy)):
            shown = _line(t.of_formats(text, robot.formats), lines=2)
            yield Text.assemble((f"{word}: ", "dim"), shown)
    if robot.uncompared:
        parts = ", ".join(f"{what} ({count})" for what, count in robot.uncompared.items())
        yield Text.assemble(("Not compared: ", "dim"), parts)
    if case := robot.case:
        reason = f": {case.reason}" if case.reason else ""
        yield _line(f"case {case.chapter}/{case.name}: {case.outcome}{reason}", lines=2)
    rows = [
        (
            _sign(finding.grade),
            Text(t.one_line(finding.subject, _NAME_LIMIT)),
            _line(f"{check.title}: {counted.statement(finding)}"),
        )
        for check in robot.checks
        for finding in check.findings
        if finding.grade in counted.URGENT
    ]
    yield from _section("Findings", rows, most=_FINDINGS)


def _references(robots: Sequence[r.RobotRecord]) -> dict[str, str]:
    """Map references to their texts: unique, so that they can be passed to a command."""
    shown = {one.source.reference: one.source.reference for one in robots}
    if any(len(reference) > _NAME_LIMIT for reference in shown):
        shown = counted.short_references(robots)
    return {reference: t.one_line(text, _NAME_LIMIT) for reference, text in shown.items()}


def _worst(figures: counted.Figures) -> Iterator[RenderableType]:
    references = _references(figures.robots) if len(figures.robots) > 1 else {}
    rows = []
    for figure in figures.worst_per_group:
        check, limit = figure.check, figure.check.tolerance
        places = [check.title]
        if figure.value and references:
            places.append(references[figure.robot.source.reference])
        if figure.value and check.worst_subject:
            places.append(t.one_line(check.worst_subject, _NAME_LIMIT))
        amount = Text(t.quantity(figure.value, check.unit), style="bold")
        allowed = Text(f"of {t.quantity(limit, check.unit)}" if limit else "", style="dim")
        rows.append((_sign(check.grade), amount, allowed, Text(", ".join(places))))
    yield from _section("Largest differences", rows, "left", "right", "right")


def _engines(figures: counted.Figures) -> Iterator[RenderableType]:
    engines = figures.engines
    if not engines:
        return
    yield Text("\nEngines", style="bold")
    everywhere = [one.name for one in engines if one.observed == one.readable]
    if everywhere:
        yield _indented(Text(f"{', '.join(everywhere)} read all {engines[0].readable}"))
    rows, absent = [], [one for one in r.EngineStatus if one is not r.EngineStatus.OBSERVED]
    for engine in engines:
        if engine.name not in everywhere:
            counts = ", ".join(f"{n} {one}" for one in absent if (n := engine.counts[one]))
            reasons = [reason for reason, _ in engine.reasons]
            reasons[_REASONS:] = ["…"] * (len(reasons) > _REASONS)
            text = ": ".join(filter(None, (counts, "; ".join(reasons))))
            read = f"{engine.observed} of {engine.readable}"
            rows.append((Text(engine.name), Text(read), _line(text, style="dim")))
    if rows:
        yield _indented(_grid(rows, "left", "right"))
    # An MJCF is read by other engines.
    is_urdf = any(one.formats is UNSET for one in figures.robots)
    missing = [name for name in _INDEPENDENT if name not in {e.name for e in engines} and is_urdf]
    if missing:
        text = (
            f"Not compared with {' and '.join(missing)}: not installed or not selected, see doctor"
        )
        yield _indented(Text(text, style="yellow"))


def _line(text: str, *, lines: int = 1, style: str = "") -> Text:
    return Text(t.one_line(text, lines * _TEXT_LIMIT), style=style)


def _sign(value: r.Grade | r.Verdict, words: str = "") -> Text:
    return Text(f"{t.appearance(value).sign}{words}", style=t.appearance(value).style)


def _section(
    heading: str, rows: Sequence[_Row], *justify: str, most: int | None = None
) -> Iterator[RenderableType]:
    if rows:
        yield Text(f"\n{heading}", style="bold")
        yield _indented(_grid(rows[:most], *justify))
    if most is not None and len(rows) > most:
        yield _indented(Text(f"and {len(rows) - most} more", style="dim"))


def _grid(rows: Iterable[_Row], *justify: str) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for side in justify:
        table.add_column(justify="right" if side == "right" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
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
