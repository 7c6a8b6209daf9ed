"""Robots and checks as data for the matrix on the page of a run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote

from urdf_usd.reports import summary
from urdf_usd.reports.appearance import GRADES, VERDICTS
from urdf_usd.reports.html.rendering import page_name
from urdf_usd.reports.records.record import (
    CheckRecord,
    EngineStatus,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, object]

# The page of the robot has the full text.
_NAME_LIMIT = 200
_REASON_LIMIT = 300
_DIGITS = 3
_ABSENT = "."
_GRADE_LETTERS = dict(zip(GRADES, "ecfdn-", strict=True))
_STATUS_LETTERS = {
    EngineStatus.OBSERVED: "o",
    EngineStatus.ABSTAINED: "a",
    EngineStatus.CRASHED: "c",
    EngineStatus.UNAVAILABLE: "u",
}


def matrix(robots: Sequence[RobotRecord]) -> Json:
    """Return the data with which a page shows, filters, sorts and plots robots.

    Args:
        robots: In the initial order.
    """
    checks = headings(robots)
    records: defaultdict[str, list[CheckRecord]] = defaultdict(list)
    for robot in robots:
        for check in robot.checks:
            records[check.id].append(check)
    engines = tuple(dict.fromkeys(one.name for robot in robots for one in robot.engines))
    rules = _numbered(one.rule for robot in robots for one in robot.diagnostics)
    makers = _numbered(robot.source.maker or "" for robot in robots)
    references = summary.short_references(robots)
    return {
        "checks": [_heading(check, records[check.id]) for check in checks],
        "grades": [
            {
                "letter": _GRADE_LETTERS[grade],
                "name": grade.value,
                "look": appearance.name,
                "sign": appearance.sign,
                "rank": appearance.rank,
            }
            for grade, appearance in GRADES.items()
        ],
        "verdicts": [
            {
                "name": verdict.value,
                "look": appearance.name,
                "sign": appearance.sign,
                "rank": appearance.rank,
                "conforms": verdict.conforms,
            }
            for verdict, appearance in VERDICTS.items()
        ],
        "engines": list(engines),
        "rules": list(rules),
        "makers": [one_line(maker, _NAME_LIMIT) for maker in makers],
        "robots": [
            {
                **_robot(robot, references),
                **_measured(robot, [check.id for check in checks]),
                "maker": makers[robot.source.maker or ""],
                "engines": _statuses(robot, engines),
                "rules": sorted({rules[one.rule] for one in robot.diagnostics}),
            }
            for robot in robots
        ],
    }


def headings(robots: Iterable[RobotRecord]) -> tuple[CheckRecord, ...]:
    """Return one record of every check, sorted by group."""
    check_of: dict[str, CheckRecord] = {}
    for robot in robots:
        for check in robot.checks:
            check_of.setdefault(check.id, check)
    groups = list(dict.fromkeys(check.group for check in check_of.values()))
    return tuple(sorted(check_of.values(), key=lambda check: groups.index(check.group)))


def _heading(check: CheckRecord, same: Sequence[CheckRecord]) -> Json:
    return {
        "id": check.id,
        "title": check.title,
        "group": check.group,
        "unit": check.unit,
        "bound": _range(one.bound for one in same),
        "tolerance": _range(one.tolerance for one in same),
    }


def _range(values: Iterable[float | None]) -> list[float] | None:
    """Return the smallest and largest positive finite value."""
    known = [value for value in values if value and math.isfinite(value)]
    return [_short(min(known)), _short(max(known))] if known else None


def _robot(robot: RobotRecord, references: Mapping[str, str]) -> Json:
    return {
        "title": one_line(summary.title(robot), _NAME_LIMIT),
        "reference": one_line(references[robot.source.reference], _NAME_LIMIT),
        "page": f"robots/{quote(page_name(robot))}",
        "verdict": list(Verdict).index(robot.verdict),
        "reason": one_line(robot.reason, _REASON_LIMIT),
    }


def _measured(robot: RobotRecord, checks: Sequence[str]) -> Json:
    known = {check.id: check for check in robot.checks}
    row = [known.get(check) for check in checks]
    return {
        "grades": "".join(_letter(check.grade if check else None) for check in row),
        "worst": [_number(check.worst) if check and check.unit else None for check in row],
    }


def _letter(grade: Grade | None) -> str:
    return _GRADE_LETTERS[grade] if grade else _ABSENT


def _statuses(robot: RobotRecord, engines: Sequence[str]) -> str:
    known = {engine.name: engine.status for engine in robot.engines}
    return "".join(_STATUS_LETTERS[known[name]] if name in known else _ABSENT for name in engines)


def _number(value: float | None) -> float | str | None:
    """Encode infinity, which JSON lacks, as text that JavaScript parses."""
    if value is None or math.isnan(value):
        return None
    return _short(value) if math.isfinite(value) else "Infinity"


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _numbered(values: Iterable[str]) -> Mapping[str, int]:
    return {value: number for number, value in enumerate(sorted(set(values)))}
