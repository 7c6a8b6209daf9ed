"""The record of a run: everything a report shows, as plain data.

``results/<id>.json``, with several converters ``results/<converter>/<id>.json``, holds
one :class:`RobotRecord`, ``summary.json`` a :class:`RunSummary`. Both carry
``schema_version``. They hold no timestamps, absolute paths or machine names: the same
input gives the same bytes. Durations of conversions are in the folder ``timings``.
Infinite values and other numbers that JSON cannot express are written as text
(``"inf"``, ``"-inf"``, ``"nan"``).
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from urdf_usd.reports.records.suite_case import (
    CaseOutcome,
    CaseRecord,
    CaseSummary,
    ChapterScore,
)

SCHEMA_VERSION = "2.0"


class Grade(StrEnum):
    """Result of one check: ``exact`` is within what float32 storage allows.

    ``close``: within the tolerance. ``disputed``: URDF engines contradict each other.
    ``not comparable``: specified on one side only. ``not applicable``: on neither.
    """

    EXACT = "exact"
    CLOSE = "close"
    FAILS = "fails"
    DISPUTED = "disputed"
    NOT_COMPARABLE = "not comparable"
    NOT_APPLICABLE = "not applicable"

    @property
    def severity(self) -> int:
        """Rank from the least to the most severe grade."""
        return _GRADES_BY_SEVERITY.index(self)


# Begin of the reason if most names of the URDF are unknown in the USD.
ANOTHER_ROBOT = "probably another robot"


class Verdict(StrEnum):
    """Result for one robot.

    ``incomplete``: what was compared is exact or close; parts could not be, such as a
    mesh without its file. ``not comparable``: nothing was. ``unreadable``: invalid or
    unsupported URDF. ``not available``: not fetched. ``crashed``: a process crashed.
    """

    EXACT = "exact"
    CLOSE = "close"
    INCOMPLETE = "incomplete"
    FAILS = "fails"
    DISPUTED = "disputed"
    NOT_COMPARABLE = "not comparable"
    UNREADABLE = "unreadable"
    CRASHED = "crashed"
    NOT_AVAILABLE = "not available"

    @property
    def severity(self) -> int:
        """Rank from the least to the most severe verdict."""
        return _VERDICTS_BY_SEVERITY.index(self)

    @property
    def conforms(self) -> bool:
        """Whether the USD equals the URDF."""
        return self in {Verdict.EXACT, Verdict.CLOSE}

    @property
    def agrees(self) -> bool:
        """Whether the USD equals the URDF in everything that was compared."""
        return self.conforms or self is Verdict.INCOMPLETE


_GRADES_BY_SEVERITY = (
    Grade.NOT_APPLICABLE,
    Grade.EXACT,
    Grade.CLOSE,
    Grade.NOT_COMPARABLE,
    Grade.DISPUTED,
    Grade.FAILS,
)
_VERDICTS_BY_SEVERITY = (
    Verdict.EXACT,
    Verdict.CLOSE,
    Verdict.INCOMPLETE,
    Verdict.NOT_AVAILABLE,
    Verdict.UNREADABLE,
    Verdict.NOT_COMPARABLE,
    Verdict.DISPUTED,
    Verdict.FAILS,
    Verdict.CRASHED,
)


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Base of all records: immutable, built by keyword."""


class DiagnosticRecord(_Record, frozen=True, kw_only=True):
    """One diagnostic.

    Attributes:
        rule: Identifier of its rule.
        severity: ``error``, ``warning`` or ``note``.
        message: What is wrong.
        file: Path relative to the robot's file; none if it concerns no text file.
        line: Line in the file, from 1.
        column: Column in the line, from 1.
        source: Text of the line.
        remedy: What the author can do.
        count: Number of diagnostics that it stands for: the 101st of a rule in a file
            stands for all that follow, and has the place of the last.
    """

    rule: str
    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    source: str | None = None
    remedy: str | None = None
    count: int = 1


class EngineStatus(StrEnum):
    """Outcome of running an engine."""

    OBSERVED = "observed"
    ABSTAINED = "abstained"
    CRASHED = "crashed"
    UNAVAILABLE = "unavailable"


class EngineRecord(_Record, frozen=True, kw_only=True):
    """Outcome of one engine.

    Attributes:
        name: Engine name.
        side: ``urdf`` or ``usd``; ``unknown`` if the engine cannot be loaded.
        status: Outcome.
        version: Version of the engine, if it is installed.
        reason: Why it has no observation.
        output: End of the output of a crashed engine.
        notes: Changes to the file that let it read it, and its warnings.
        joint_order: Joints with degrees of freedom, as the engine numbers them.
    """

    name: str
    side: str
    status: EngineStatus
    version: str | None = None
    reason: str | None = None
    output: str | None = None
    notes: tuple[str, ...] = ()
    joint_order: tuple[str, ...] = ()


class EngineDifference(_Record, frozen=True, kw_only=True):
    """Largest difference between one engine and the other side, for one check.

    Attributes:
        engine: The engine.
        side: File that it reads. ``urdf``: it is compared with the USD as OpenUSD reads
            it; ``usd``: the reference observation of the URDF is compared with it.
        compared: Number of values compared.
        largest: Largest difference in the unit of the check; None if nothing could be
            compared, or if the check is about equality.
        subject: Link, joint or group of the largest difference.
        unequal: Number of values that differ beyond tolerance.
        reason: Why nothing was compared.
    """

    engine: str
    side: str = "urdf"
    compared: int
    largest: float | None = None
    subject: str | None = None
    unequal: int = 0
    reason: str | None = None


class Difference(_Record, frozen=True, kw_only=True):
    """One value on two sides: a check finds it, the verdict grades it, pages show it.

    Attributes:
        subject: Link, joint or group, for example ``joint elbow``.
        item: Its name, the same for all pairs of engines.
        message: One sentence that names quantity, sides and amount.
        grade: Grade of this value.
        expected: Value on the URDF side, as text.
        actual: Value on the USD side, as text.
        difference: Size in the unit of the check; ``inf`` for unequal, ``nan`` if a side
            that should state this value does not.
        bound: What float32 storage allows, in the same unit.
        tolerance: Engineering tolerance, in the same unit.
        configuration: Label of the configuration, if one matters.
        prim: Path of the prim in the USD that the subject was matched with; of a group
            that of its first link.
        traces: Links and joints that cause the difference; the item itself if empty.
        unknown: Whether the URDF side cannot be determined, so that the USD does not fail.
        estimated: Whether the URDF side is not that of the file, so that no USD is exact.
    """

    subject: str
    item: str = ""
    message: str
    assigned: Grade | None = msgspec.field(default=None, name="grade")
    expected: str | None = None
    actual: str | None = None
    amount: float = msgspec.field(default=math.inf, name="difference")
    bound: float = 0.0
    tolerance: float = 0.0
    configuration: str | None = None
    prim: str | None = None
    traces: tuple[str, ...] = ()
    unknown: bool = False
    estimated: bool = False

    @property
    def grade(self) -> Grade:
        """Grade that the verdict assigned, else that of the amount alone."""
        if self.assigned is not None:
            return self.assigned
        if self.amount <= self.bound:
            return Grade.CLOSE if self.estimated else Grade.EXACT
        if self.amount <= self.tolerance:
            return Grade.CLOSE
        return Grade.NOT_COMPARABLE if math.isnan(self.amount) else Grade.FAILS

    @property
    def measured(self) -> float | None:
        """The amount, if it is finite."""
        return self.amount if math.isfinite(self.amount) else None

    @property
    def severity(self) -> float:
        """Amount relative to the allowed difference, to order values by.

        That is the larger of bound and tolerance: float32 may be coarser than the
        tolerance, as for an angle of 1e16 rad.
        """
        if math.isnan(self.amount):
            return -1.0
        allowed = max(self.bound, self.tolerance)
        return self.amount / allowed if allowed else self.amount


class CheckRecord(_Record, frozen=True, kw_only=True):
    """One check of one robot.

    Attributes:
        id: Stable identifier, for example ``kinematics.position``.
        title: The compared quantity, in a few words.
        group: Heading under which it is shown.
        unit: Unit of all differences; empty for equality and ``1`` for ratios.
        grade: Worst grade of all values.
        compared: Number of values compared.
        worst: Largest difference between ``reference`` and the USD, as OpenUSD and
            simulators read it.
        worst_subject: Its link, joint or group.
        bound: Its bound of rounding to float32.
        tolerance: Its engineering tolerance.
        reason: Why it is not applicable, not comparable or disputed.
        differences: Each engine against the other side.
        findings: Values that are not exact, worst first.
    """

    id: str
    title: str
    group: str
    unit: str
    grade: Grade
    compared: int
    worst: float | None = None
    worst_subject: str | None = None
    bound: float | None = None
    tolerance: float | None = None
    reason: str | None = None
    differences: tuple[EngineDifference, ...] = ()
    findings: tuple[Difference, ...] = ()


class DeviationRecord(_Record, frozen=True, kw_only=True):
    """An engine that deviates from its file; never counted against the USD.

    Attributes:
        engine: The engine.
        id: Identifier of a known deviation, or ``unexplained``.
        cause: What the engine does, in one sentence.
        check: The affected check.
        subjects: Links or joints concerned.
        largest: Largest difference in the unit of the check.
        values: Of a USD engine, the values in the file, and those that it computes.
    """

    engine: str
    id: str
    cause: str
    check: str
    subjects: tuple[str, ...]
    largest: float | None = None
    values: tuple[Difference, ...] = ()


class FileRecord(_Record, frozen=True, kw_only=True):
    """One file of a robot.

    Attributes:
        path: Path relative to the URDF, or below ``package://``.
        sha256: Hash of its bytes.
        size: Number of its bytes.
    """

    path: str
    sha256: str
    size: int


class SourceRecord(_Record, frozen=True, kw_only=True):
    """The source of a robot, as far as it is known.

    Attributes:
        reference: Its name in the corpus, for example ``pybullet:r2d2.urdf``.
        sha256: Hash of the URDF's bytes, if it could be read.
        arguments: Values of the arguments of a xacro file, by name.
        license: SPDX identifier, or the text of the source.
        maker: Manufacturer of the robot.
        repository: URL of the repository of its files.
        commit: Commit of that repository.
        distribution: Python distribution of the robot, with version.
        notes: Notes in the list that names the robot.
        files: URDF or xacro, meshes, material libraries, textures; none if unreadable.
    """

    reference: str
    sha256: str | None = None
    arguments: dict[str, str] = {}
    license: str | None = None
    maker: str | None = None
    repository: str | None = None
    commit: str | None = None
    distribution: str | None = None
    notes: str | None = None
    files: tuple[FileRecord, ...] = ()


class AssetRecord(_Record, frozen=True, kw_only=True):
    """The output of a converter.

    Attributes:
        root_layer: Path of the root layer in the folder of the asset.
        files: Number of files.
        size: Number of bytes of all files.
    """

    root_layer: str
    files: int
    size: int


class DescriptionRecord(_Record, frozen=True, kw_only=True):
    """A robot description file, and what comes from it.

    Attributes:
        file: Its name, without folders.
        sha256: Hash of its bytes.
        files: Files that it names, with the hash of their bytes.
        settings: What it states of the robot, such as ``drive: elbow, wrist``.
    """

    file: str
    sha256: str
    files: dict[str, str] = {}
    settings: tuple[str, ...] = ()


class CoverageStatus(StrEnum):
    """Coverage of a part of a URDF."""

    CONVERTED = "converted"
    KEPT = "kept"
    LEFT_OUT = "left out"


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a URDF with the same coverage.

    Attributes:
        part: Kind of part, for example ``link`` or ``<transmission>``.
        count: Number of parts.
        fate: Their coverage.
        where: Their place in the USD; the reason, if they are left out.
    """

    part: str
    count: int
    fate: CoverageStatus
    where: str


def _robot_record_line(record: RobotRecord) -> str:
    """Return ``<RobotRecord 'arm': fails; reason>``, or without a reason."""
    verdict = record.verdict
    reason = "" if verdict.conforms else f"; {record.reason}"
    return f"<RobotRecord {record.id!r}: {verdict.value}{reason}>"


class OverlapRecord(_Record, frozen=True, kw_only=True):
    """Two links whose colliders touch or overlap at rest.

    Attributes:
        links: URDF names.
        distance: Of their nearest colliders, negative if these overlap [m].
    """

    links: tuple[str, str]
    distance: float


class RobotRecord(_Record, frozen=True, kw_only=True):
    """The result for one robot and one converter.

    Attributes:
        schema_version: Version of the schema.
        id: Identifier of the robot in the run.
        name: Name of the robot in the URDF.
        source: Where the robot comes from.
        converter: Name and version of the converter.
        verdict: Result for the robot.
        reason: Why, in one line.
        links: Number of links.
        joints: Number of joints.
        degrees_of_freedom: Number of degrees of freedom, without a floating base.
        total_mass: Mass of all links [kg].
        configurations: Number of configurations at which poses are compared.
        base: ``fixed``, ``floating``, or ``static`` without moving bodies.
        profile: Target simulator or standard of an asset of this project's converter.
        diagnostics: Of the converter.
        engines: Which engines read which file, and why not.
        checks: Results of the checks.
        deviations: Known deviations of engines that this robot shows.
        environment: Versions by package.
        fingerprint: Hash of all inputs of the result.
        candidate: Name of the converter in the run.
        asset: The USD.
        output: End of the output of a converter of another project.
        variants: Variants that were selected in the USD, for example
            ``{"/arm:Physics": "physx"}``.
        lint: Likely mistakes in the URDF.
        ledger: What became of each element and attribute of the URDF.
        description: Robot description file that the USD was compared with.
        touching: Links that touch or overlap at rest, by distance. Left out are links
            of one rigid group, those that a joint connects, and thin colliders. None
            if they were not determined.
        case: Comparison with the expected values of a case of the feature suite.
        part: Whether the file is no robot, but a xacro file that is part of some. Such
            records are in no report; the summary lists them.
    """

    schema_version: str = SCHEMA_VERSION
    id: str
    name: str
    source: SourceRecord
    converter: str
    verdict: Verdict
    reason: str
    links: int | None = None
    joints: int | None = None
    degrees_of_freedom: int | None = None
    total_mass: float | None = None
    configurations: int | None = None
    base: str | None = None
    profile: str | None = None
    diagnostics: tuple[DiagnosticRecord, ...] = ()
    engines: tuple[EngineRecord, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
    deviations: tuple[DeviationRecord, ...] = ()
    environment: dict[str, str] = {}
    fingerprint: str | None = None
    candidate: str = ""
    asset: AssetRecord | None = None
    output: str | None = None
    variants: dict[str, str] = {}
    lint: tuple[DiagnosticRecord, ...] = ()
    ledger: tuple[LedgerRecord, ...] = ()
    description: DescriptionRecord | None = None
    touching: tuple[OverlapRecord, ...] | None = None
    case: CaseRecord | None = None
    part: bool = False
    __repr__ = _robot_record_line

    @property
    def compared(self) -> int:
        """Number of compared values, over all checks."""
        return sum(check.compared for check in self.checks)

    @property
    def refused_as_expected(self) -> bool:
        """Whether it is a case of the feature suite that requires a refusal."""
        return self.case is not None and self.case.outcome is CaseOutcome.REFUSED


class RobotSummary(_Record, frozen=True, kw_only=True):
    """One line of ``summary.json``: a robot and a converter.

    Attributes:
        id: Identifier of the robot in the run.
        name: Name of the robot in the URDF.
        reference: Its name in the corpus.
        verdict: Result for the robot.
        reason: Why, in one line.
        grades: Grade by check.
        worst: Largest difference by check.
        engines: Outcome by engine.
        candidate: Name of the converter in the run.
        compared: Number of compared values, over all checks.
        case: Its result as a case of the feature suite, if it is one.
    """

    id: str
    name: str
    reference: str
    verdict: Verdict
    reason: str
    grades: dict[str, Grade]
    worst: dict[str, float]
    engines: dict[str, EngineStatus]
    candidate: str = ""
    compared: int = 0
    case: CaseSummary | None = None

    @property
    def refused_as_expected(self) -> bool:
        """As of :class:`RobotRecord`."""
        return self.case is not None and self.case.outcome is CaseOutcome.REFUSED


class ChangeKind(StrEnum):
    """Kinds of changes, in the order of reports."""

    NEWLY_FAILING = "newly failing"
    REMOVED = "removed"
    WORSE = "worse"
    JOINT_ORDER = "joint order"
    FIXED = "fixed"
    BETTER = "better"
    ADDED = "added"
    VALUE = "robot value"
    FILES = "other files"
    SETTING = "setting"


class ChangeRecord(msgspec.Struct, frozen=True):
    """One difference between two runs.

    Attributes:
        kind: Kind of the change.
        worse: Whether the later run has fewer or worse results.
        subject: Robot, after its converter if there are several; or the setting.
        check: The check, if it concerns one.
        before: Value in the earlier run; empty if there was none.
        after: Value in the later run.
        detail: Location or reason.
    """

    kind: ChangeKind
    worse: bool
    subject: str
    check: str | None = None
    before: str = ""
    after: str = ""
    detail: str = ""


class FormerRunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with an earlier one.

    Attributes:
        name: Name of the earlier run's folder.
        changes: The worst first.
    """

    name: str
    changes: tuple[ChangeRecord, ...] = ()


class KnownFailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A check that fails, or is expected to fail.

    Attributes:
        robot: Identifier of the robot.
        check: Identifier of the check; ``verdict`` for a robot without checks.
        grade: Grade of the check, or the verdict; empty if it passes.
        expected: Grade in the baseline; empty if it has none.
        message: What is wrong, in one sentence.
        reason: Why the baseline accepts it.
        url: Where it is tracked.
        expires: Last day on which it is accepted, as YYYY-MM-DD.
    """

    robot: str
    check: str
    grade: str
    expected: str
    message: str
    reason: str = ""
    url: str | None = None
    expires: str | None = None


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with the baseline.

    Attributes:
        new: Failures that are not in the baseline.
        worse: Failures that are worse than in the baseline.
        expired: Failures that were accepted until a day that is past.
        fixed: Failures in the baseline that do not fail any more.
        expected: Failures that are as in the baseline, or better.
        absent: Number of entries for robots that were not in the run.
    """

    new: tuple[KnownFailureRecord, ...] = ()
    worse: tuple[KnownFailureRecord, ...] = ()
    expired: tuple[KnownFailureRecord, ...] = ()
    fixed: tuple[KnownFailureRecord, ...] = ()
    expected: tuple[KnownFailureRecord, ...] = ()
    absent: int = 0


class CheckHeading(_Record, frozen=True, kw_only=True):
    """Title and unit of a check, so that a summary is self-contained.

    Attributes:
        id: Stable identifier, for example ``kinematics.position``.
        title: The compared quantity, in a few words.
        group: Heading under which it is shown.
        unit: Unit of all differences; empty for equality and ``1`` for ratios.
    """

    id: str
    title: str
    group: str
    unit: str


class ConverterRecord(_Record, frozen=True, kw_only=True):
    """One converter of a run.

    Attributes:
        name: Its name in the run.
        title: Its name and version.
        recipe: How it is called, without paths of the machine.
        gated: Whether its results decide whether the run passes.
        verdicts: Number of its robots per verdict.
        baseline: Comparison with the baseline, if there are several converters.
    """

    name: str
    title: str
    recipe: str
    gated: bool
    verdicts: dict[str, int]
    baseline: BaselineRecord | None = None


def _run_summary_line(summary: RunSummary) -> str:
    """Return ``<RunSummary: 95 robots: 90 exact, 5 close>``."""
    counts = {verdict: count for verdict, count in summary.verdicts.items() if count}
    if summary.unfinished:
        counts["unfinished"] = summary.unfinished
    robots = sum(counts.values())
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    total = f"{robots} robot" if robots == 1 else f"{robots} robots"
    return f"<RunSummary {total}{': ' if listed else ''}{listed}>"


class RunSummary(_Record, frozen=True, kw_only=True):
    """A whole run.

    Attributes:
        schema_version: Version of the schema.
        corpus: The references of the command line.
        environment: Versions by package.
        options: Options that change results, as text.
        verdicts: Number of robots per verdict; of several converters, of the gated one.
        robots: One line per robot and converter, ordered by id.
        checks: Headings of the checks that robots cite by id, in order.
        complete: Whether all robots are finished.
        unfinished: Number of robots that an interrupted run did not finish.
        converters: In the order of the command line.
        baseline: Comparison with the baseline, if there is one; as for verdicts.
        former: Changes since an earlier run, if there is one.
        suite: Scores of the feature suite per chapter and converter, if it was run.
        parts: Xacro files below a folder that are parts of robots, by reference, each
            with the reason.
    """

    schema_version: str = SCHEMA_VERSION
    corpus: tuple[str, ...]
    environment: dict[str, str]
    options: dict[str, str]
    verdicts: dict[str, int]
    robots: tuple[RobotSummary, ...]
    checks: tuple[CheckHeading, ...] = ()
    complete: bool = True
    unfinished: int = 0
    converters: tuple[ConverterRecord, ...] = ()
    baseline: BaselineRecord | None = None
    former: FormerRunRecord | None = None
    suite: tuple[ChapterScore, ...] = ()
    parts: dict[str, str] = {}
    __repr__ = _run_summary_line
