"""History of runs as a page, and its last runs as a figure for other pages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from urdf_usd.reports.changes import changed_results, changed_settings
from urdf_usd.reports.html.rendering import write_page
from urdf_usd.reports.records.history import (
    KEPT_CHECKS,
    HistoryEntry,
    HistoryRobot,
)
from urdf_usd.reports.records.record import ChangeRecord, Verdict
from urdf_usd.reports.summary import score_text, suite_totals
from urdf_usd.reports.text import duration

PAGE = "history.html"
FILE = "history.json"
# Older runs are in the folder of the history.
_SHOWN_RUNS = 30
_POSITION = KEPT_CHECKS[0]
# Ends of the logarithmic scale of position errors [m].
_SMALLEST, _LARGEST = 1e-9, 1.0
# Width per run and height of the curve of position errors [px].
_STEP, _HEIGHT = 8, 20


class Run(Struct, frozen=True):
    """One run, and what changed since the run before."""

    entry: HistoryEntry
    verdicts: dict[str, dict[Verdict, int]]  # number of robots, by converter
    versions: tuple[ChangeRecord, ...] = ()  # and options
    results: tuple[ChangeRecord, ...] = ()  # of robots, the worse first
    scores: Mapping[str, str] = field(default_factory=dict)  # of the feature suite

    def worse(self, candidate: str) -> int:
        """Count robots of a converter of which a result got worse."""
        return sum(one.worse and one.subject.startswith(f"{candidate}/") for one in self.results)


class Course(Struct, frozen=True):
    """One robot and converter over all runs."""

    id: str
    candidate: str
    results: tuple[HistoryRobot | None, ...]  # None where it was not in the run
    points: str  # of the curve of position errors, for SVG
    seconds: str  # of the last conversion; empty if not measured
    changed: bool  # its verdict is not the same in all runs


def recent_runs(history: Sequence[HistoryEntry]) -> tuple[Run, ...]:
    runs = []
    for at in range(max(len(history) - _SHOWN_RUNS, 0), len(history)):
        entry, former = history[at], history[max(at - 1, 0)]
        counts = Counter((robot.candidate, robot.verdict) for robot in entry.robots)
        runs.append(
            Run(
                entry=entry,
                verdicts={
                    name: {one: counts[name, one] for one in Verdict if counts[name, one]}
                    for name in entry.converters
                },
                versions=(
                    *changed_settings(former.converters, entry.converters),
                    *changed_settings(former.environment, entry.environment),
                    *changed_settings(former.options, entry.options),
                ),
                results=changed_results(former, entry),
                scores={name: score_text(one) for name, one in suite_totals(entry.suite).items()},
            )
        )
    return tuple(runs)


def write_history(history: Sequence[HistoryEntry], directory: Path) -> Path:
    """Write ``history.html`` and ``history.json``; return the path of the page."""
    content = msgspec.json.format(msgspec.json.encode(history), indent=1)
    (directory / FILE).write_bytes(content + b"\n")
    runs = recent_runs(history)
    courses = _courses([run.entry for run in runs])
    page = directory / PAGE
    return write_page(page, "history.html.j2", runs=runs, courses=courses, total=len(history))


def _courses(entries: Sequence[HistoryEntry]) -> list[Course]:
    """Return the robots of the last run; those that changed come first."""
    tables = [{(one.candidate, one.id): one for one in e.robots} for e in entries]
    courses = []
    for last in entries[-1].robots if entries else ():
        results = tuple(table.get((last.candidate, last.id)) for table in tables)
        points = " ".join(
            f"{at * _STEP + _STEP / 2:g},{_level(one.worst[_POSITION]):.1f}"
            for at, one in enumerate(results)
            if one is not None and _POSITION in one.worst
        )
        seconds = duration(last.seconds) if last.seconds is not None else ""
        changed = len({one.verdict if one else None for one in results}) > 1
        courses.append(Course(last.id, last.candidate, results, points, seconds, changed))
    return sorted(courses, key=lambda one: (not one.changed, one.id, one.candidate))


def _level(error: float) -> float:
    """Return the vertical place of a position error, on a logarithmic scale."""
    if not math.isfinite(error):
        return 0.0
    inside = min(max(error, _SMALLEST), _LARGEST)
    share = math.log(inside / _SMALLEST) / math.log(_LARGEST / _SMALLEST)
    return _HEIGHT * (1 - share)
