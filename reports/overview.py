"""What a run says as a whole: counts, worst figures, who took part, who deviates."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import EngineStatus, Grade, Verdict
from urdf_usd.reports.appearance import GRADES, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from urdf_usd.conformance.records.record import (
        CheckRecord,
        FindingRecord,
        RobotRecord,
    )

POSITION_CHECK = "kinematics.position"
_NOT_READABLE = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


@dataclass(frozen=True, slots=True)
class WorstFigure:
    """The largest difference of one check over all robots."""

    check: CheckRecord
    robot: RobotRecord
    value: float

    @property
    def share(self) -> float:
        """Part of what is allowed that it uses up; more than 1 where it fails.

        Where float32 is coarser than the tolerance, its bound is what is allowed.
        """
        allowed = max(self.check.bound or 0.0, self.check.tolerance or 0.0)
        if not allowed:
            return math.inf if self.value else 0.0
        return self.value / allowed


@dataclass(frozen=True, slots=True)
class Participation:
    """How one engine took part.

    Attributes:
        name: Engine.
        side: Kind of file that it reads.
        version: Versions seen, as text; empty if unknown.
        counts: Number of readable robots per status.
        readable: Number of readable robots.
        reasons: Why it was absent, with the number of robots, most frequent first.
    """

    name: str
    side: str
    version: str
    counts: dict[EngineStatus, int]
    readable: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def observed(self) -> int:
        """Number of robots that the engine read."""
        return self.counts[EngineStatus.OBSERVED]

    @property
    def share(self) -> float:
        """Part of the readable robots that the engine read, 0 to 1."""
        return self.observed / self.readable if self.readable else 0.0


@dataclass(frozen=True, slots=True)
class ReaderDeviation:
    """One known departure of a reader, over all robots that show it."""

    engine: str
    id: str
    cause: str
    checks: tuple[str, ...]
    robots: tuple[RobotRecord, ...]


def readable(robots: Iterable[RobotRecord]) -> tuple[RobotRecord, ...]:
    """Return the robots whose URDF has a meaning, so that engines can be asked."""
    return tuple(robot for robot in robots if robot.verdict not in _NOT_READABLE)


def title(robot: RobotRecord) -> str:
    """Return the robot's name, or its id where a URDF leaves the name empty."""
    return robot.name if robot.name.strip() else robot.id


def statement(finding: FindingRecord) -> str:
    """Return what is said about a finding's subject, without naming it again."""
    return finding.message.removeprefix(f"{finding.subject}: ")


def most_urgent_first(robots: Iterable[RobotRecord]) -> tuple[RobotRecord, ...]:
    """Order robots: what does not conform by urgency, then what does; then by name."""

    def key(robot: RobotRecord) -> tuple[int, str, str]:
        rank = VERDICTS[robot.verdict].rank if not robot.verdict.conforms else 99
        return rank, title(robot).casefold(), robot.id

    return tuple(sorted(robots, key=key))


def groups(robots: Iterable[RobotRecord]) -> tuple[str, ...]:
    """Return the groups of checks, in the order of the checks."""
    return tuple(
        dict.fromkeys(check.group for robot in robots for check in robot.checks)
    )


def checks_by_group(
    robot: RobotRecord,
) -> tuple[tuple[str, tuple[CheckRecord, ...]], ...]:
    """Return the checks under their headings, both in the order of the checks."""
    return tuple(
        (group, tuple(check for check in robot.checks if check.group == group))
        for group in groups((robot,))
    )


def group_grades(robot: RobotRecord) -> dict[str, Grade]:
    """Return the most urgent grade of every group of checks."""
    worst: dict[str, Grade] = {}
    for check in robot.checks:
        known = worst.get(check.group, check.grade)
        worst[check.group] = min(known, check.grade, key=lambda g: GRADES[g].rank)
    return worst


def silent_checks(robot: RobotRecord, group: str) -> int:
    """Count the checks of a group in which a side is silent."""
    return sum(
        check.group == group and check.grade is Grade.NOT_COMPARABLE
        for check in robot.checks
    )


def position_check(robot: RobotRecord) -> CheckRecord | None:
    """Return the check that compares where links are, if it took place."""
    return next((check for check in robot.checks if check.id == POSITION_CHECK), None)


def worst_figures(robots: Iterable[RobotRecord]) -> tuple[WorstFigure, ...]:
    """Return the gravest difference of every check that measures one."""
    worst: dict[str, WorstFigure] = {}
    for robot in robots:
        for check in robot.checks:
            if check.worst is None or math.isnan(check.worst) or not check.unit:
                continue
            figure = WorstFigure(check, robot, check.worst)
            known = worst.setdefault(check.id, figure)
            if figure.share > known.share:
                worst[check.id] = figure
    return tuple(worst.values())


def worst_per_group(figures: Iterable[WorstFigure]) -> tuple[WorstFigure, ...]:
    """Keep the figure of every group that uses most of its tolerance."""
    worst: dict[str, WorstFigure] = {}
    for figure in figures:
        known = worst.setdefault(figure.check.group, figure)
        if figure.share > known.share:
            worst[figure.check.group] = figure
    return tuple(worst.values())


def participation(robots: Iterable[RobotRecord]) -> tuple[Participation, ...]:
    """Return how each engine took part in the readable robots."""
    asked = readable(robots)
    names = dict.fromkeys(
        (engine.side, engine.name) for robot in asked for engine in robot.engines
    )
    return tuple(_participation(asked, side, name) for side, name in names)


def _participation(asked: Sequence[RobotRecord], side: str, name: str) -> Participation:
    records = [
        engine
        for robot in asked
        for engine in robot.engines
        if (engine.side, engine.name) == (side, name)
    ]
    statuses = Counter(record.status for record in records)
    reasons = Counter(
        record.reason or record.status.value
        for record in records
        if record.status is not EngineStatus.OBSERVED
    )
    if unasked := len(asked) - len(records):
        reasons["not asked"] += unasked
    versions = sorted({record.version for record in records if record.version})
    return Participation(
        name=name,
        side=side,
        version=", ".join(versions),
        counts={status: statuses[status] for status in EngineStatus},
        readable=len(asked),
        reasons=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )


def reader_deviations(robots: Iterable[RobotRecord]) -> tuple[ReaderDeviation, ...]:
    """Collect deviations of readers by engine and cause, most frequent first."""
    shown: dict[tuple[str, str, str], dict[str, RobotRecord]] = {}
    checks: dict[tuple[str, str, str], dict[str, None]] = {}
    for robot in robots:
        for deviation in robot.deviations:
            key = (deviation.engine, deviation.id, deviation.cause)
            shown.setdefault(key, {})[robot.id] = robot
            checks.setdefault(key, {})[deviation.check] = None
    ordered = sorted(shown, key=lambda key: (-len(shown[key]), key))
    return tuple(
        ReaderDeviation(*key, tuple(checks[key]), tuple(shown[key].values()))
        for key in ordered
    )
