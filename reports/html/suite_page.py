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
    RobotRecord,
    RunSummary,
    Score,
)
from urdf_usd.reports.records.suite_case import Requirement
from urdf_usd.reports.summary import suite_scores, suite_totals

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
    chapters: dict[str, list[Row]] = {}
    for row in rows:
        (folder / f"{row.id}.urdf").write_text(row.urdf, "utf-8", newline="\n")
        (folder / f"{row.id}.json").write_text(row.expected, "utf-8", newline="\n")
        chapters.setdefault(row.case.chapter, []).append(row)
    totals = {name: one.must + one.should for name, one in suite_totals(summary.suite).items()}
    several = len(summary.converters) > 1
    return write_page(
        directory / PAGE,
        "suite.html.j2",
        summary=summary,
        version=rows[0].case.version,
        title="; ".join(
            f"{name} passes {one.passed} of {one.total} cases" for name, one in totals.items()
        ),
        chapters=chapters,
        scores=suite_scores(summary),
        count=len(rows),
        outcomes=OUTCOMES,
        requirements=tuple(Requirement),
        look=_look,
        sheet=lambda robot: page_address(robot, several=several),
        file=lambda row, suffix: quote(f"{FILES}/{row.id}{suffix}"),
        command=run_command(summary, *summary.corpus),
    )


def _rows(robots: Iterable[RobotRecord]) -> list[Row]:
    by_id: dict[str, dict[str, tuple[RobotRecord, CaseRecord]]] = {}
    for robot in robots:
        if robot.case is not None:
            by_id.setdefault(robot.id, {})[robot.candidate] = robot, robot.case
    rows = []
    for name, results in by_id.items():
        _, case = next(iter(results.values()))
        values = msgspec.json.format(msgspec.json.encode(case.case), indent=2).decode()
        rows.append(Row(name, results, case.urdf, f"{values}\n"))
    return sorted(rows, key=lambda row: (row.case.version, row.case.number))


def _look(score: Score) -> str:
    """Return the class in the style sheet."""
    if score.passed == score.total:
        return "exact"
    return "disputed" if 2 * score.passed >= score.total else "fails"
