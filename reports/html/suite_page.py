"""Results of the feature suite: features by converters, with a score per chapter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from urdf_usd.reports.html.rendering import (
    page_address,
    run_command,
    write_page,
)
from urdf_usd.reports.records.record import (
    CaseOutcome,
    CaseRecord,
    ConverterRecord,
    RobotRecord,
    RunSummary,
    Score,
)
from urdf_usd.reports.records.suite_case import Requirement
from urdf_usd.reports.summary import suite_scores

PAGE = "suite.html"
# Folder of the URDFs and the expected values.
FILES = "suite"

# Sign, class in the style sheet, and meaning of each outcome.
OUTCOMES = {
    CaseOutcome.PASS: ("✓", "exact", "the USD has the expected values"),
    CaseOutcome.REFUSED: ("⊘", "exact", "no USD was written, as required"),
    CaseOutcome.FAIL: (
        "✗",
        "fails",
        "a value differs, or an invalid file was converted",
    ),
    CaseOutcome.REFUSED_WRONGLY: ("⊘", "disputed", "no USD was written"),
    CaseOutcome.CRASHED: (
        "!",
        "crashed",
        "the converter or the reader of the USD crashed",
    ),
}


class Row(Struct, frozen=True):
    """One case."""

    id: str  # of the robot
    results: dict[str, tuple[RobotRecord, CaseRecord]]  # by converter
    urdf: str
    expected: str  # values, as JSON

    @property
    def case(self) -> CaseRecord:
        """The case, with the result of the first converter."""
        return next(iter(self.results.values()))[1]


class Chapter(Struct, frozen=True):
    """The cases of one chapter."""

    name: str
    title: str
    rows: tuple[Row, ...]


def write_suite(summary: RunSummary, robots: Sequence[RobotRecord], directory: Path) -> Path | None:
    """Write ``suite.html``, and the file of each case; return the path of the page.

    Returns:
        None if no robot is a case of the suite.
    """
    rows = _rows(robots)
    if not rows:
        return None
    folder = directory / FILES
    folder.mkdir(exist_ok=True)
    for row in rows:
        (folder / f"{row.id}.urdf").write_text(row.urdf, "utf-8", newline="\n")
        (folder / f"{row.id}.json").write_text(row.expected, "utf-8", newline="\n")
    several = len(summary.converters) > 1
    return write_page(
        directory / PAGE,
        "suite.html.j2",
        summary=summary,
        version=rows[0].case.version,
        title=_headline(rows, summary.converters),
        chapters=_chapters(rows),
        scores=suite_scores(summary),
        count=len(rows),
        outcomes=OUTCOMES,
        requirements=tuple(Requirement),
        look=_look,
        sheet=lambda robot: page_address(robot, several=several),
        file=lambda row, suffix: quote(f"{FILES}/{row.id}{suffix}"),
        command=run_command(summary, *summary.corpus),
    )


def _rows(robots: Iterable[RobotRecord]) -> tuple[Row, ...]:
    by_id: dict[str, dict[str, tuple[RobotRecord, CaseRecord]]] = {}
    for robot in robots:
        if robot.case is not None:
            by_id.setdefault(robot.id, {})[robot.candidate] = robot, robot.case
    rows = []
    for name, results in by_id.items():
        _, case = next(iter(results.values()))
        values = msgspec.json.format(msgspec.json.encode(case.case), indent=2).decode()
        rows.append(Row(name, results, case.urdf, f"{values}\n"))
    return tuple(sorted(rows, key=lambda row: (row.case.version, row.case.number)))


def _chapters(rows: Sequence[Row]) -> tuple[Chapter, ...]:
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.case.chapter, []).append(row)
    return tuple(Chapter(name, own[0].case.title, tuple(own)) for name, own in by_name.items())


def _look(score: Score) -> str:
    if score.passed == score.total:
        return "exact"
    return "disputed" if 2 * score.passed >= score.total else "fails"


def _headline(rows: Sequence[Row], converters: Iterable[ConverterRecord]) -> str:
    parts = []
    for converter in converters:
        found = [row.results[converter.name][1] for row in rows if converter.name in row.results]
        passed = sum(one.outcome.passes for one in found)
        parts.append(f"{converter.name} passes {passed} of {len(found)} cases")
    return "; ".join(parts)
