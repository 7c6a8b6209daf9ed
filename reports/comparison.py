"""Comparison of converters on the same robots: coverage, accuracy, time and size."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.reports import overview
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.records.record import (
    CheckHeading,
    CheckRecord,
    ConverterRecord,
    Grade,
    RobotRecord,
    RunSummary,
    Verdict,
)

Seconds: TypeAlias = "Mapping[tuple[str, str], float]"
"""Duration of conversions [s], by converter and robot."""

_URGENT = (Grade.FAILS, Grade.DISPUTED)
_EXAMPLES = 3


class ConverterResults(Struct, frozen=True):
    """Results of one converter.

    Attributes:
        converter: The converter.
        robots: Number of robots with a readable URDF.
        converted: Number of those with a USD that could be compared.
        conforming: Number of those that are exact or close.
        compared: Number of compared values.
        verdicts: Number of robots per verdict.
        median: Median duration of a conversion [s], over the robots that every
            converter converted; None if it was not timed.
        slowest: Longest of these durations [s].
        size: Size of the assets of these robots [bytes]; None if there are none.
    """

    converter: ConverterRecord
    robots: int
    converted: int
    conforming: int
    compared: int
    verdicts: Mapping[Verdict, int]
    median: float | None
    slowest: float | None
    size: int | None


class Entry(Struct, frozen=True):
    """One robot converted by one converter."""

    robot: RobotRecord
    seconds: float | None

    @property
    def position(self) -> CheckRecord | None:
        """The check of link positions."""
        return overview.position_check(self.robot)

    @property
    def mass(self) -> CheckRecord | None:
        """The check of masses with the largest difference."""
        checks = [
            check
            for check in self.robot.checks
            if check.group == "mass" and check.unit and check.worst is not None
        ]
        return max(checks, key=lambda check: check.worst or 0.0, default=None)


class FailedCheck(Struct, frozen=True):
    """One check that fails or is disputed on robots of some converter.

    Attributes:
        check: The check.
        counts: Number of these robots, by converter.
        examples: A few of these robots with a message, by converter.
    """

    check: CheckHeading
    counts: Mapping[str, int]
    examples: Mapping[str, tuple[tuple[RobotRecord, str], ...]]


class Comparison(Struct, frozen=True):
    """Content of a report on several converters.

    Attributes:
        results: In the order of the converters.
        shared: Number of robots that every converter converted.
        entries: Ordered by robot, then in the order of the converters.
        failed_checks: In the order of the checks.
    """

    results: tuple[ConverterResults, ...]
    shared: int
    entries: tuple[Entry, ...]
    failed_checks: tuple[FailedCheck, ...]


def compare(summary: RunSummary, robots: Sequence[RobotRecord], seconds: Seconds) -> Comparison:
    """Compare the converters of a run.

    Args:
        summary: The run.
        robots: Its records, one per robot and converter.
        seconds: Durations of conversions.
    """
    names = [converter.name for converter in summary.converters]
    by_name = {
        name: {robot.id: robot for robot in robots if robot.candidate == name} for name in names
    }
    converted = [{robot.id for robot in mine.values() if robot.checks} for mine in by_name.values()]
    shared = set.intersection(*converted) if converted else set()
    order = {name: place for place, name in enumerate(names)}
    return Comparison(
        results=tuple(
            _results_of(one, tuple(by_name[one.name].values()), shared, seconds)
            for one in summary.converters
        ),
        shared=len(shared),
        entries=tuple(
            Entry(robot, seconds.get((robot.candidate, robot.id)))
            for robot in sorted(robots, key=lambda robot: (robot.id, order[robot.candidate]))
        ),
        failed_checks=tuple(_failed_checks(summary, by_name)),
    )


def _results_of(
    converter: ConverterRecord,
    robots: Sequence[RobotRecord],
    shared: set[str],
    seconds: Seconds,
) -> ConverterResults:
    verdicts = Counter(robot.verdict for robot in robots)
    times = [
        seconds[key]
        for robot in robots
        if robot.id in shared and (key := (converter.name, robot.id)) in seconds
    ]
    return ConverterResults(
        converter=converter,
        robots=len(overview.readable(robots)),
        converted=sum(bool(robot.checks) for robot in robots),
        conforming=sum(robot.verdict.conforms for robot in robots),
        compared=sum(robot.compared for robot in robots),
        verdicts={verdict: verdicts[verdict] for verdict in Verdict},
        median=statistics.median(times) if times else None,
        slowest=max(times, default=None),
        size=sum(robot.asset.size for robot in robots if robot.asset and robot.id in shared)
        if shared
        else None,
    )


def _failed_checks(
    summary: RunSummary, by_name: Mapping[str, Mapping[str, RobotRecord]]
) -> Iterable[FailedCheck]:
    for heading in summary.checks:
        by_converter = {
            name: tuple(_failing(heading.id, robots.values())) for name, robots in by_name.items()
        }
        if any(by_converter.values()):
            yield FailedCheck(
                check=heading,
                counts={name: len(ids) for name, ids in by_converter.items()},
                examples={name: ids[:_EXAMPLES] for name, ids in by_converter.items()},
            )


def _failing(check_id: str, robots: Iterable[RobotRecord]) -> Iterable[tuple[RobotRecord, str]]:
    """Yield robots that do not pass a check, each with a message."""
    for robot in robots:
        if robot.verdict.conforms:
            continue
        for check in robot.checks:
            if check.id == check_id and check.grade in _URGENT:
                yield robot, _message(check)


def _message(check: CheckRecord) -> str:
    urgent = sorted(check.findings, key=lambda finding: GRADES[finding.grade].rank)
    return urgent[0].message if urgent else check.reason or check.title
