"""Summary of a run: counts, largest differences, engines and their deviations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct, structs

from urdf_usd.reports.appearance import GRADES, VERDICTS
from urdf_usd.reports.records.record import (
    CheckRecord,
    DifferenceRecord,
    EngineRecord,
    EngineStatus,
    FindingRecord,
    Grade,
    RobotRecord,
    RobotSummary,
    RunSummary,
    Verdict,
)
from urdf_usd.reports.records.suite_case import ChapterScore

POSITION_CHECK = "kinematics.position"
UNEXPLAINED = "unexplained"
_ROUND_TRIP = "round-trip"
_USD = "usd"
_FILE = "file:"
_REFERENCE = "reference"
_NOT_READABLE = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


class WorstFigure(Struct, frozen=True):
    """The largest difference of one check over all robots."""

    check: CheckRecord
    robot: RobotRecord
    value: float

    @property
    def share(self) -> float:
        """Difference divided by the allowed one; above 1 if the check fails.

        The larger of tolerance and float32 bound is allowed.
        """
        allowed = max(self.check.bound or 0.0, self.check.tolerance or 0.0)
        if not allowed:
            return math.inf if self.value else 0.0
        return self.value / allowed


class Participation(Struct, frozen=True):
    """On how many robots one engine took part.

    Attributes:
        name: Name of the engine.
        side: Format that it reads: ``urdf`` or ``usd``.
        version: Its versions, as text; empty if unknown.
        counts: Number of readable robots per status.
        readable: Number of readable robots.
        reasons: Reasons for not reading, with numbers of robots, most frequent first.
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
        """Share of the readable robots that the engine read, 0 to 1."""
        return self.observed / self.readable if self.readable else 0.0


class Outcome(StrEnum):
    """Result of one engine for one quantity of a robot."""

    EQUAL = "equal"
    DEVIATES = "known deviation"
    DIFFERS = "differs"
    NOT_REPORTED = "not reported"


class EngineMatrix(Struct, frozen=True):
    """Which engine reports which quantity, and on how many robots it is equal.

    Attributes:
        engines: Side and name of each engine; those of the URDF are compared with the
            USD, those of the USD with the URDF.
        titles: Title of each check, by its identifier.
        counts: Number of robots per outcome, by identifier and engine.
    """

    engines: tuple[tuple[str, str], ...]
    titles: Mapping[str, str]
    counts: Mapping[tuple[str, str], Mapping[Outcome, int]]


class JointOrders(Struct, frozen=True):
    """Indices of joints per engine.

    Attributes:
        engines: Names of the engines, that with the order of the URDF first.
        rows: Name of each joint, and its index per engine; None if it lacks the joint.
    """

    engines: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]

    @property
    def differ(self) -> bool:
        """Whether an engine numbers joints in another order than the others."""
        return any(len(set(indices)) > 1 for _, indices in self.rows)


class EngineDeviation(Struct, frozen=True):
    """One deviation of an engine from the URDF specification, over all robots."""

    engine: str
    id: str
    cause: str
    checks: tuple[str, ...]
    robots: tuple[RobotRecord, ...]


def readable(robots: Iterable[RobotRecord]) -> tuple[RobotRecord, ...]:
    """Return the robots with a readable URDF."""
    return tuple(robot for robot in robots if robot.verdict not in _NOT_READABLE)


def title(robot: RobotRecord) -> str:
    """Return the robot's name, or its id if the name is empty."""
    return robot.name if robot.name.strip() else robot.id


def is_file(reference: str) -> bool:
    """Return whether a reference names a file by its path."""
    return reference.startswith(_FILE)


def short_references(robots: Iterable[RobotRecord]) -> dict[str, str]:
    """Map references to shorter ones: files of one folder without the path of it.

    They often differ at the end of a long path alone.
    """
    references = {robot.source.reference for robot in robots}
    files = {
        reference: PurePosixPath(reference.removeprefix(_FILE))
        for reference in references
        if is_file(reference)
    }
    shared = [set(path.parents) for path in files.values()]
    folder = max(
        set.intersection(*shared) if len(shared) > 1 else (),
        key=lambda path: len(path.parts),
        default=PurePosixPath(),
    )
    short = {}
    # The root or the working directory alone would not shorten the text.
    if folder.name:
        short = {
            reference: f"{_FILE}…/{path.relative_to(folder)}" for reference, path in files.items()
        }
    return {reference: short.get(reference, reference) for reference in references}


def converter(robot: RobotRecord) -> str:
    """Return the converter and its version, and its name in the run if that differs."""
    if robot.converter.startswith(robot.candidate):
        return robot.converter
    return f"{robot.candidate} ({robot.converter})"


def urdf_file(robot: RobotRecord) -> str:
    """Return the path of the URDF if the reference does not name it, else nothing."""
    source = robot.source
    paths = [one.path for one in source.files if one.sha256 == source.sha256]
    return "" if not paths or source.reference.endswith(paths[0]) else paths[0]


def observing(robot: RobotRecord) -> tuple[EngineRecord, ...]:
    """Return the engines that read the robot."""
    return tuple(one for one in robot.engines if one.status is EngineStatus.OBSERVED)


def selection(robot: RobotRecord) -> str:
    """Return the selected variants, such as ``/arm:Physics=physx``; empty if none."""
    return ", ".join(f"{owner}={name}" for owner, name in robot.variants.items())


def statement(finding: FindingRecord) -> str:
    """Return the message of a finding without the prefix that names its subject."""
    return finding.message.removeprefix(f"{finding.subject}: ")


class Conformance(Struct, frozen=True):
    """How many robots conform, as every part of a report counts them.

    Attributes:
        conforming: Robots whose USD equals the URDF: exact or close.
        judged: Robots with a URDF that is available and can be read.
        incomplete: Those of them of which parts could not be compared.
        unreadable: Robots whose URDF is invalid or unsupported.
        absent: Robots that could not be fetched.
    """

    conforming: int
    judged: int
    incomplete: int
    unreadable: int
    absent: int

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Conformance:
        """Count verdicts."""
        counts = Counter(verdicts)
        return cls(
            conforming=sum(counts[one] for one in Verdict if one.conforms),
            judged=sum(counts[one] for one in Verdict if one not in _NOT_READABLE),
            incomplete=counts[Verdict.INCOMPLETE],
            unreadable=counts[Verdict.UNREADABLE],
            absent=counts[Verdict.NOT_AVAILABLE],
        )


def headline(robots: Iterable[RobotRecord] | Iterable[RobotSummary]) -> str:
    """Return how many of the readable robots conform, and how much was compared.

    Incomplete robots, of which parts could not be compared, are counted separately. So
    are robots whose URDF is unreadable, those that could not be fetched, and cases of
    the feature suite that are refused as they require.
    """
    refused = 0
    counted = []
    for robot in robots:
        if robot.refused_as_expected:
            refused += 1
        else:
            counted.append((robot.verdict, robot.compared))
    found = Conformance.of(verdict for verdict, _ in counted)
    rest = "".join(
        f", {count} more {'is' if count == 1 else 'are'} {word}"
        for count, word in (
            (found.incomplete, "incomplete"),
            (found.unreadable, "unreadable"),
            (found.absent, "not available"),
            (refused, "refused as expected"),
        )
        if count
    )
    return (
        f"{found.conforming} of {found.judged} robots conform{rest}; "
        f"{values(sum(compared for _, compared in counted))}"
    )


def conformity(verdict: Verdict) -> str:
    """Return whether a verdict counts as conforming; empty if its name says so."""
    if verdict is Verdict.INCOMPLETE:
        return "not counted as conforming"
    return "conforms" if verdict.conforms else ""


def suite_scores(
    summary: RunSummary,
) -> tuple[tuple[str, Mapping[str, ChapterScore]], ...]:
    """Return title and scores by converter of each chapter of the feature suite.

    Of several chapters, the last row has the sums, for a chapter without a name.
    """
    rows: dict[str, dict[str, ChapterScore]] = {}
    for score in summary.suite:
        rows.setdefault(score.title, {})[score.candidate] = score
    totals = ("All chapters", dict(suite_totals(summary.suite)))
    return (*rows.items(), *((totals,) if len(rows) > 1 else ()))


def suite_totals(
    scores: Iterable[ChapterScore],
) -> tuple[tuple[str, ChapterScore], ...]:
    """Return name and score over all chapters of each converter."""
    totals: dict[str, ChapterScore] = {}
    for score in scores:
        former = totals.get(score.candidate)
        totals[score.candidate] = structs.replace(
            score,
            chapter="",
            title="",
            must=score.must + former.must if former else score.must,
            should=score.should + former.should if former else score.should,
        )
    return tuple(totals.items())


def score_text(score: ChapterScore) -> str:
    """Return how many cases pass, such as ``26 of 26 must, 2 of 3 should``."""
    parts = (("must", score.must), ("should", score.should))
    return ", ".join(f"{one.passed} of {one.total} {name}" for name, one in parts if one.total)


def values(count: int) -> str:
    """Return how many values were compared."""
    return f"{count:,} value{'' if count == 1 else 's'} compared"


def most_urgent_first(robots: Iterable[RobotRecord]) -> tuple[RobotRecord, ...]:
    """Sort robots: those that do not conform by urgency, then by reference."""

    def key(robot: RobotRecord) -> tuple[int, str, str]:
        rank = VERDICTS[robot.verdict].rank if not robot.verdict.conforms else 99
        return rank, robot.source.reference.casefold(), robot.id

    return tuple(sorted(robots, key=key))


def groups(robots: Iterable[RobotRecord]) -> tuple[str, ...]:
    """Return the groups of checks, in the order of the checks."""
    return tuple(dict.fromkeys(check.group for robot in robots for check in robot.checks))


def checks_by_group(
    robot: RobotRecord,
) -> tuple[tuple[str, tuple[CheckRecord, ...]], ...]:
    """Return the checks by group, both in the order of the checks."""
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


def not_comparable_checks(robot: RobotRecord, group: str) -> int:
    """Count the checks of a group that are not comparable."""
    return sum(
        check.group == group and check.grade is Grade.NOT_COMPARABLE for check in robot.checks
    )


def position_check(robot: RobotRecord) -> CheckRecord | None:
    """Return the check of link positions, if it took place."""
    return next((check for check in robot.checks if check.id == POSITION_CHECK), None)


def worst_figures(robots: Iterable[RobotRecord]) -> tuple[WorstFigure, ...]:
    """Return the largest difference of every check that measures one."""
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
    """Keep the figure of every group with the largest share of its tolerance."""
    worst: dict[str, WorstFigure] = {}
    for figure in figures:
        known = worst.setdefault(figure.check.group, figure)
        if figure.share > known.share:
            worst[figure.check.group] = figure
    return tuple(worst.values())


def participation(robots: Iterable[RobotRecord]) -> tuple[Participation, ...]:
    """Return on how many readable robots each engine took part."""
    candidates = readable(robots)
    names = dict.fromkeys(
        (engine.side, engine.name) for robot in candidates for engine in robot.engines
    )
    return tuple(_participation(candidates, side, name) for side, name in names)


def _participation(robots: Sequence[RobotRecord], side: str, name: str) -> Participation:
    records = [
        engine
        for robot in robots
        for engine in robot.engines
        if (engine.side, engine.name) == (side, name)
    ]
    statuses = Counter(record.status for record in records)
    reasons = Counter(
        record.reason or record.status.value
        for record in records
        if record.status is not EngineStatus.OBSERVED
    )
    if unused := len(robots) - len(records):
        reasons["not used"] += unused
    versions = sorted({record.version for record in records if record.version})
    return Participation(
        name=name,
        side=side,
        version=", ".join(versions),
        counts={status: statuses[status] for status in EngineStatus},
        readable=len(robots),
        reasons=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )


def engine_matrix(robots: Sequence[RobotRecord]) -> EngineMatrix:
    """Count the robots on which each engine agrees with the other side, by quantity."""
    titles: dict[str, str] = {}
    counts: dict[tuple[str, str], Counter[Outcome]] = {}
    for robot in robots:
        known = {
            (deviation.check, deviation.engine)
            for deviation in robot.deviations
            if deviation.id != UNEXPLAINED
        }
        for check in robot.checks:
            if check.group == _ROUND_TRIP:
                continue
            titles.setdefault(check.id, check.title)
            for found in check.differences:
                outcome = _outcome(found, known=(check.id, found.engine) in known)
                of_cell = counts.setdefault((check.id, found.engine), Counter())
                of_cell[outcome] += 1
    return EngineMatrix(engines=engines(robots), titles=titles, counts=counts)


def engines(robots: Iterable[RobotRecord]) -> tuple[tuple[str, str], ...]:
    """Return side and name of the engines that took part in checks, URDF first."""
    found = dict.fromkeys(
        (difference.side, difference.engine)
        for robot in robots
        for check in robot.checks
        if check.group != _ROUND_TRIP
        for difference in check.differences
    )
    return tuple(sorted(found, key=lambda engine: engine[0] == _USD))


def _outcome(found: DifferenceRecord, *, known: bool) -> Outcome:
    if found.unequal:
        return Outcome.DEVIATES if known else Outcome.DIFFERS
    return Outcome.EQUAL if found.compared else Outcome.NOT_REPORTED


def joint_orders(robot: RobotRecord) -> JointOrders | None:
    """Return the indices of joints per engine; None if no joint moves."""
    found = [engine for engine in robot.engines if engine.joint_order]
    found.sort(key=lambda engine: engine.name != _REFERENCE)
    if not found:
        return None
    indices = [{name: index for index, name in enumerate(engine.joint_order)} for engine in found]
    names = dict.fromkeys(name for engine in found for name in engine.joint_order)
    return JointOrders(
        tuple(engine.name for engine in found),
        tuple((name, tuple(index.get(name) for index in indices)) for name in names),
    )


def engine_deviations(robots: Iterable[RobotRecord]) -> tuple[EngineDeviation, ...]:
    """Collect deviations of engines by engine and cause, most frequent first."""
    shown: dict[tuple[str, str, str], dict[str, RobotRecord]] = {}
    checks: dict[tuple[str, str, str], dict[str, None]] = {}
    for robot in robots:
        for deviation in robot.deviations:
            key = (deviation.engine, deviation.id, deviation.cause)
            shown.setdefault(key, {})[robot.id] = robot
            checks.setdefault(key, {})[deviation.check] = None
    ordered = sorted(shown, key=lambda key: (-len(shown[key]), key))
    return tuple(
        EngineDeviation(*key, tuple(checks[key]), tuple(shown[key].values())) for key in ordered
    )
