"""What reports say of a whole run, computed once: counts, largest differences, engines.

Also the comparison of several converters on the same robots.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TypeAlias

from msgspec import Struct, structs

from urdf_usd.reports.changes import Changes, sorted_changes
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.suite_case import Requirement
from urdf_usd.reports.text import GRADES, VERDICTS

POSITION_CHECK = "kinematics.position"
UNEXPLAINED = "unexplained"
URGENT = (r.Grade.FAILS, r.Grade.DISPUTED)
# Verdicts that comparisons of converters name, whether or not there are any.
USUAL = (r.Verdict.EXACT, r.Verdict.CLOSE, r.Verdict.FAILS)
_ROUND_TRIP = "round-trip"
_FILE = "file:"
_REFERENCE = "reference"
_NOT_READABLE = frozenset({r.Verdict.UNREADABLE, r.Verdict.NOT_AVAILABLE})
_EXAMPLES = 3

Seconds: TypeAlias = "Mapping[tuple[str, str], float]"
"""Duration of conversions [s], by converter and robot."""
SuiteScores: TypeAlias = "tuple[tuple[str, Mapping[str, r.ChapterScore]], ...]"
"""Title and scores by converter of each chapter of the feature suite."""


# Robots


def readable(robots: Iterable[r.RobotRecord]) -> tuple[r.RobotRecord, ...]:
    return tuple(robot for robot in robots if robot.verdict not in _NOT_READABLE)


def title(robot: r.RobotRecord) -> str:
    """Return the robot's name, or its id if the name is empty."""
    return robot.name if robot.name.strip() else robot.id


def short_references(robots: Iterable[r.RobotRecord]) -> dict[str, str]:
    """Map references to shorter ones: files of one folder without the path of it."""
    references = {robot.source.reference: robot.source.reference for robot in robots}
    files = {
        one: PurePosixPath(one.removeprefix(_FILE)) for one in references if one.startswith(_FILE)
    }
    shared = [set(path.parents) for path in files.values()]
    common = set.intersection(*shared) if len(shared) > 1 else set()
    folder = max(common, key=lambda path: len(path.parts), default=PurePosixPath())
    # The root or the working directory alone would not shorten the text.
    shortened = files if folder.name else {}
    return references | {one: f"{_FILE}…/{p.relative_to(folder)}" for one, p in shortened.items()}


def converter(robot: r.RobotRecord) -> str:
    """Return the converter and its version, and its name in the run if that differs."""
    if robot.converter.startswith(robot.candidate):
        return robot.converter
    return f"{robot.candidate} ({robot.converter})"


def selection(robot: r.RobotRecord) -> str:
    """Return the selected variants, such as ``/arm:Physics=physx``; empty if none."""
    return ", ".join(f"{owner}={name}" for owner, name in robot.variants.items())


def statement(finding: r.Difference) -> str:
    """Return the message of a finding without the prefix that names its subject."""
    return finding.message.removeprefix(f"{finding.subject}: ")


def most_urgent_first(robots: Iterable[r.RobotRecord]) -> tuple[r.RobotRecord, ...]:
    """Sort robots: those that do not conform by urgency, then by reference."""

    def key(robot: r.RobotRecord) -> tuple[int, str, str]:
        rank = VERDICTS[robot.verdict].rank if not robot.verdict.conforms else 99
        return rank, robot.source.reference.casefold(), robot.id

    return tuple(sorted(robots, key=key))


# Counts


class Conformance(Struct, frozen=True):
    conforming: int
    judged: int  # with a URDF that is available and can be read
    incomplete: int  # of those judged
    unreadable: int
    absent: int

    @classmethod
    def of(cls, verdicts: Iterable[r.Verdict]) -> Conformance:
        counts = Counter(verdicts)
        return cls(
            conforming=sum(counts[one] for one in r.Verdict if one.conforms),
            judged=sum(counts[one] for one in r.Verdict if one not in _NOT_READABLE),
            incomplete=counts[r.Verdict.INCOMPLETE],
            unreadable=counts[r.Verdict.UNREADABLE],
            absent=counts[r.Verdict.NOT_AVAILABLE],
        )


def headline(robots: Iterable[r.RobotRecord]) -> str:
    """Return how many of the readable robots conform, and how much was compared."""
    every = [*robots]
    counted = [robot for robot in every if not robot.refused_as_expected]
    found = Conformance.of(robot.verdict for robot in counted)
    rest = "".join(
        f", {count} more {'is' if count == 1 else 'are'} {word}"
        for count, word in (
            (found.incomplete, "incomplete"),
            (found.unreadable, "unreadable"),
            (found.absent, "not available"),
            (len(every) - len(counted), "refused as expected"),
        )
        if count
    )
    compared = values(sum(robot.compared for robot in counted))
    return f"{found.conforming} of {found.judged} robots conform{rest}; {compared}"


def conformity(verdict: r.Verdict) -> str:
    """Return whether a verdict counts as conforming; empty if its name says so."""
    if verdict is r.Verdict.INCOMPLETE:
        return "not counted as conforming"
    return "conforms" if verdict.conforms else ""


def values(count: int) -> str:
    return f"{count:,} value{'' if count == 1 else 's'} compared"


def chapter_scores(
    cases: Iterable[tuple[str, r.CaseSummary]], candidates: Iterable[str]
) -> tuple[r.ChapterScore, ...]:
    """Return the scores, by chapter in the order of the suite, then by converter."""
    ordered = sorted(cases, key=lambda one: (one[1].version, one[1].number))
    titles = {case.chapter: case.title for _, case in ordered}
    scores = defaultdict[tuple[str, str, Requirement], r.Score](r.Score)
    for candidate, case in ordered:
        passed = r.Score(passed=int(case.outcome.passes), total=1)
        scores[candidate, case.chapter, case.requirement] += passed
    return tuple(
        r.ChapterScore(
            candidate=candidate,
            chapter=chapter,
            title=title,
            **{one.value: scores[candidate, chapter, one] for one in Requirement},
        )
        for chapter, title in titles.items()
        for candidate in candidates
    )


def failing_cases(robots: Iterable[r.RobotRecord]) -> tuple[r.RobotRecord, ...]:
    return tuple(one for one in robots if one.case and not one.case.outcome.passes)


def suite_scores(summary: r.RunSummary) -> SuiteScores:
    rows: dict[str, dict[str, r.ChapterScore]] = {}
    for score in summary.suite:
        rows.setdefault(score.title, {})[score.candidate] = score
    totals = ("All chapters", suite_totals(summary.suite))
    return (*rows.items(), *((totals,) if len(rows) > 1 else ()))


def suite_totals(scores: Iterable[r.ChapterScore]) -> dict[str, r.ChapterScore]:
    totals: dict[str, r.ChapterScore] = {}
    for score in scores:
        if former := totals.get(score.candidate):
            must, should = former.must + score.must, former.should + score.should
            score = structs.replace(score, must=must, should=should)
        totals[score.candidate] = structs.replace(score, chapter="", title="")
    return totals


def score_text(score: r.ChapterScore) -> str:
    """Return how many cases pass, such as ``26 of 26 must, 2 of 3 should``."""
    parts = (("must", score.must), ("should", score.should))
    return ", ".join(f"{one.passed} of {one.total} {name}" for name, one in parts if one.total)


# Checks


def groups(robots: Iterable[r.RobotRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check.group for robot in robots for check in robot.checks))


def failure(check: r.CheckRecord) -> str:
    """Return the message of a failing check, with the number of further findings of its grade."""
    more = sum(one.grade is check.grade for one in check.findings) - 1
    return f"{check.message} (and {more} more)" if more > 0 else check.message


def expected_failures(baseline: r.BaselineRecord | None) -> dict[tuple[str, str], str]:
    """Return why a baseline expects failures, by robot and check."""
    known = baseline.expected if baseline else ()
    return {(one.robot, one.check): one.reason for one in known}


def group_grades(robot: r.RobotRecord) -> dict[str, r.Grade]:
    worst: dict[str, r.Grade] = {}
    for check in robot.checks:
        known = worst.get(check.group, check.grade)
        worst[check.group] = min(known, check.grade, key=lambda grade: GRADES[grade].rank)
    return worst


def position_check(robot: r.RobotRecord) -> r.CheckRecord | None:
    return next((check for check in robot.checks if check.id == POSITION_CHECK), None)


class WorstFigure(Struct, frozen=True):
    check: r.CheckRecord
    robot: r.RobotRecord
    value: float

    @property
    def share(self) -> float:
        allowed = max(self.check.bound or 0.0, self.check.tolerance or 0.0)
        if not allowed:
            return math.inf if self.value else 0.0
        return self.value / allowed


def worst_figures(robots: Iterable[r.RobotRecord]) -> tuple[WorstFigure, ...]:
    """Return the largest difference of every check that measures one."""
    figures = (
        WorstFigure(check, robot, check.worst)
        for robot in robots
        for check in robot.checks
        if check.unit and check.worst is not None and not math.isnan(check.worst)
    )
    return largest("id", figures)


def largest(attribute: str, figures: Iterable[WorstFigure]) -> tuple[WorstFigure, ...]:
    """Keep the figure with the largest share for each value of an attribute of its check."""
    worst: dict[str, WorstFigure] = {}
    for figure in figures:
        key = getattr(figure.check, attribute)
        # Of equal ones the first.
        worst[key] = max(worst.get(key, figure), figure, key=attrgetter("share"))
    return tuple(worst.values())


# Engines


class Participation(Struct, frozen=True):
    name: str
    side: str  # urdf or usd
    version: str  # all versions, as text; empty if unknown
    counts: Counter[r.EngineStatus]
    readable: int
    reasons: tuple[tuple[str, int], ...]  # for not reading; most frequent first

    @property
    def observed(self) -> int:
        return self.counts[r.EngineStatus.OBSERVED]

    @property
    def share(self) -> float:
        return self.observed / self.readable if self.readable else 0.0


def participation(robots: Iterable[r.RobotRecord]) -> tuple[Participation, ...]:
    candidates = readable(robots)
    by_engine = defaultdict[tuple[str, str], list[r.EngineRecord]](list)
    for robot in candidates:
        for engine in robot.engines:
            by_engine[engine.side, engine.name].append(engine)
    found = []
    for (side, name), records in by_engine.items():
        counts = Counter(one.status for one in records)
        absent = [one for one in records if one.status is not r.EngineStatus.OBSERVED]
        reasons = Counter(one.reason or one.status.value for one in absent)
        reasons += Counter({"not used": len(candidates) - len(records)})
        ordered = tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
        version = ", ".join(sorted({one.version for one in records if one.version}))
        found.append(Participation(name, side, version, counts, len(candidates), ordered))
    return tuple(found)


class Outcome(StrEnum):
    """Result of one engine for one quantity of a robot."""

    EQUAL = "equal"
    DEVIATES = "known deviation"
    DIFFERS = "differs"
    NOT_REPORTED = "not reported"


class EngineMatrix(Struct, frozen=True):
    engines: tuple[tuple[str, str], ...]  # side and name
    titles: Mapping[str, str]  # by id of the check
    counts: Mapping[tuple[str, str], Mapping[Outcome, int]]  # by id and engine


def engine_matrix(robots: Sequence[r.RobotRecord]) -> EngineMatrix:
    titles: dict[str, str] = {}
    counts = defaultdict[tuple[str, str], Counter[Outcome]](Counter)
    for robot in robots:
        known = {(one.check, one.engine) for one in robot.deviations if one.id != UNEXPLAINED}
        for check in robot.checks:
            if check.group == _ROUND_TRIP:
                continue
            titles.setdefault(check.id, check.title)
            for found in check.differences:
                key = check.id, found.engine
                if found.unequal:
                    outcome = Outcome.DEVIATES if key in known else Outcome.DIFFERS
                else:
                    outcome = Outcome.EQUAL if found.compared else Outcome.NOT_REPORTED
                counts[key][outcome] += 1
    return EngineMatrix(engines=engines(robots), titles=titles, counts=counts)


def engines(robots: Iterable[r.RobotRecord]) -> tuple[tuple[str, str], ...]:
    found = dict.fromkeys(
        (difference.side, difference.engine)
        for robot in robots
        for check in robot.checks
        if check.group != _ROUND_TRIP
        for difference in check.differences
    )
    return tuple(sorted(found, key=lambda engine: engine[0] == "usd"))


class EngineDeviation(Struct, frozen=True):
    engine: str
    id: str
    cause: str
    checks: tuple[str, ...]
    robots: tuple[r.RobotRecord, ...]


def engine_deviations(robots: Iterable[r.RobotRecord]) -> tuple[EngineDeviation, ...]:
    """Collect deviations of engines by engine and cause, most frequent first."""
    found: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, r.RobotRecord]]] = {}
    for robot in robots:
        for one in robot.deviations:
            checks, shown = found.setdefault((one.engine, one.id, one.cause), ({}, {}))
            checks[one.check], shown[robot.id] = None, robot
    every = [
        EngineDeviation(*key, (*one,), (*shown.values(),)) for key, (one, shown) in found.items()
    ]
    return tuple(sorted(every, key=lambda one: (-len(one.robots), one.engine, one.id, one.cause)))


class JointOrders(Struct, frozen=True):
    engines: tuple[str, ...]  # that with the order of the URDF first
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]  # joint and index per engine

    @property
    def differ(self) -> bool:
        """Whether an engine numbers joints in another order than the others."""
        return any(len(set(indices)) > 1 for _, indices in self.rows)


def joint_orders(robot: r.RobotRecord) -> JointOrders | None:
    found = {engine.name: engine.joint_order for engine in robot.engines if engine.joint_order}
    names = sorted(found, key=lambda name: name != _REFERENCE)
    indices = [{joint: index for index, joint in enumerate(found[name])} for name in names]
    joints = dict.fromkeys(joint for name in names for joint in found[name])
    rows = tuple((joint, tuple(one.get(joint) for one in indices)) for joint in joints)
    return JointOrders(tuple(names), rows) if found else None


# A run


class Figures(Struct, frozen=True):
    """Everything that several reports show of a run of one converter, or of its part."""

    summary: r.RunSummary
    robots: tuple[r.RobotRecord, ...]  # ordered by id
    ordered: tuple[r.RobotRecord, ...]  # those that do not conform first
    nonconforming: tuple[r.RobotRecord, ...]  # in that order, without refusals as expected
    failing_cases: tuple[r.RobotRecord, ...]  # of the feature suite
    verdicts: tuple[tuple[r.Verdict, int], ...]  # and their numbers, those that there are
    conformance: Conformance
    headline: str
    converted: int
    compared: int  # number of compared values
    converters: tuple[str, ...]  # with versions
    groups: tuple[str, ...]  # of checks
    worst: tuple[WorstFigure, ...]  # of each check
    worst_per_group: tuple[WorstFigure, ...]
    engines: tuple[Participation, ...]
    deviations: tuple[EngineDeviation, ...]
    per_engine: EngineMatrix
    changes: Changes | None  # since an earlier run
    scores: SuiteScores  # of the feature suite

    @classmethod
    def of(cls, summary: r.RunSummary, robots: Iterable[r.RobotRecord]) -> Figures:
        records = tuple(robots)
        ordered, worst = most_urgent_first(records), worst_figures(records)
        counts = summary.verdicts
        return cls(
            summary=summary,
            robots=records,
            ordered=ordered,
            nonconforming=tuple(
                one for one in ordered if not one.verdict.conforms and not one.refused_as_expected
            ),
            failing_cases=failing_cases(records),
            verdicts=tuple((one, counts[one]) for one in r.Verdict if counts.get(one)),
            conformance=Conformance.of(robot.verdict for robot in records),
            headline=headline(records),
            converted=sum(bool(robot.checks) for robot in records),
            compared=sum(robot.compared for robot in records),
            converters=tuple(sorted({converter(robot) for robot in records})),
            groups=groups(records),
            worst=worst,
            worst_per_group=largest("group", worst),
            engines=participation(records),
            deviations=engine_deviations(records),
            per_engine=engine_matrix(records),
            changes=sorted_changes(summary.former),
            scores=suite_scores(summary),
        )


# Several converters


class ConverterResults(Struct, frozen=True):
    """Results of one converter; times and size are over the robots that all converted."""

    converter: r.ConverterRecord
    robots: int  # with a readable URDF
    converted: int
    conforming: int
    compared: int
    verdicts: Counter[r.Verdict]
    median: float | None  # [s]
    slowest: float | None  # [s]
    size: int | None  # [bytes]

    @property
    def other(self) -> int:
        return sum(count for verdict, count in self.verdicts.items() if verdict not in USUAL)


class Entry(Struct, frozen=True):
    robot: r.RobotRecord
    seconds: float | None

    @property
    def mass(self) -> r.CheckRecord | None:
        """The check of masses with the largest difference."""
        masses = [one for one in self.robot.checks if one.group == "mass" and one.unit]
        measured = (check for check in masses if check.worst is not None)
        return max(measured, key=lambda check: check.worst or 0.0, default=None)


class FailedCheck(Struct, frozen=True):
    check: r.CheckHeading
    counts: Mapping[str, int]  # number of these robots, by converter
    examples: Mapping[str, tuple[tuple[r.RobotRecord, str], ...]]  # with a message


class Comparison(Struct, frozen=True):
    summary: r.RunSummary
    changes: Changes | None  # since an earlier run
    scores: SuiteScores  # of the feature suite
    results: tuple[ConverterResults, ...]
    shared: int  # number of robots that every converter converted
    entries: tuple[Entry, ...]  # by robot, then in the order of the converters
    groups: tuple[str, ...]  # of checks
    failed_checks: tuple[FailedCheck, ...]
    failing_cases: tuple[r.RobotRecord, ...]  # of the feature suite
    # Robots on which converters differ: verdicts by reference and converter.
    differing: Mapping[str, Mapping[str, r.Verdict]]

    @property
    def headline(self) -> str:
        return "; ".join(
            f"{o.converter.name}: {o.conforming} of {o.robots} robots conform, {values(o.compared)}"
            for o in self.results
        )


def compare(summary: r.RunSummary, robots: Sequence[r.RobotRecord], seconds: Seconds) -> Comparison:
    names = [one.name for one in summary.converters]
    by_name = {name: [robot for robot in robots if robot.candidate == name] for name in names}
    converted = [{robot.id for robot in own if robot.checks} for own in by_name.values()]
    shared = set.intersection(*converted) if converted else set()

    def results(made_by: r.ConverterRecord) -> ConverterResults:
        own = by_name[made_by.name]
        common = [robot for robot in own if robot.id in shared]
        keys = [(made_by.name, robot.id) for robot in common]
        times = [seconds[key] for key in keys if key in seconds]
        return ConverterResults(
            converter=made_by,
            robots=len(readable(own)),
            converted=sum(bool(robot.checks) for robot in own),
            conforming=sum(robot.verdict.conforms for robot in own),
            compared=sum(robot.compared for robot in own),
            verdicts=Counter(robot.verdict for robot in own),
            median=statistics.median(times) if times else None,
            slowest=max(times, default=None),
            size=sum(one.asset.size for one in common if one.asset) if shared else None,
        )

    ordered = sorted(robots, key=lambda robot: (robot.id, names.index(robot.candidate)))
    verdicts: dict[str, dict[str, r.Verdict]] = {}
    for robot in ordered:
        verdicts.setdefault(robot.source.reference, {})[robot.candidate] = robot.verdict
    return Comparison(
        summary=summary,
        changes=sorted_changes(summary.former),
        scores=suite_scores(summary),
        results=tuple(map(results, summary.converters)),
        shared=len(shared),
        entries=tuple(Entry(robot, seconds.get((robot.candidate, robot.id))) for robot in ordered),
        groups=groups(ordered),
        failed_checks=tuple(_failed_checks(summary, by_name)),
        failing_cases=failing_cases(ordered),
        differing={name: row for name, row in verdicts.items() if len({*row.values()}) > 1},
    )


def _failed_checks(
    summary: r.RunSummary, by_name: Mapping[str, Sequence[r.RobotRecord]]
) -> Iterator[FailedCheck]:
    failing = defaultdict[tuple[str, str], list[tuple[r.RobotRecord, str]]](list)
    for name, robots in by_name.items():
        for robot in robots:
            for check in () if robot.verdict.conforms else robot.checks:
                if check.grade in URGENT:
                    failing[check.id, name].append((robot, check.message))
    for heading in summary.checks:
        found = {name: failing[heading.id, name] for name in by_name}
        if any(found.values()):
            yield FailedCheck(
                check=heading,
                counts={name: len(rows) for name, rows in found.items()},
                examples={name: tuple(rows[:_EXAMPLES]) for name, rows in found.items()},
            )
