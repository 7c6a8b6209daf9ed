"""The record of a run: everything a report shows, as plain data.

``results/<id>.json``, with several converters ``results/<converter>/<id>.json``, holds one
:class:`RobotRecord`, ``summary.json`` a :class:`RunSummary`. Both carry ``schema_version``. They
hold no timestamps, absolute paths or machine names: the same input gives the same bytes. Durations
of conversions are in the folder ``timings``. Infinite values and other numbers that JSON cannot
express are written as text (``"inf"``, ``"-inf"``, ``"nan"``).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TypeAlias

import msgspec

from urdf_usd.reports.records.suite_case import Case, Requirement

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
        return _VERDICTS_BY_SEVERITY.index(self)

    @property
    def conforms(self) -> bool:
        return self in {Verdict.EXACT, Verdict.CLOSE}

    @property
    def agrees(self) -> bool:
        """Whether the USD equals the URDF in everything that was compared."""
        return self.conforms or self is Verdict.INCOMPLETE


_GRADES = "not applicable, exact, close, not comparable, disputed, fails"
_GRADES_BY_SEVERITY = tuple(map(Grade, _GRADES.split(", ")))
_VERDICTS = (
    "exact, close, incomplete, not available, unreadable, not comparable, disputed, fails, crashed"
)
_VERDICTS_BY_SEVERITY = tuple(map(Verdict, _VERDICTS.split(", ")))


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Base of all records: immutable, built by keyword."""


class DiagnosticRecord(_Record, frozen=True, kw_only=True):
    """One diagnostic."""

    rule: str  # identifier of its rule
    severity: str  # ``error``, ``warning`` or ``note``
    message: str  # what is wrong
    file: str | None = None  # path relative to the robot's file; none if it concerns no text file
    line: int | None = None  # line in the file, from 1
    column: int | None = None  # column in the line, from 1
    source: str | None = None  # text of the line
    remedy: str | None = None  # what the author can do
    # number of diagnostics that it stands for: the 101st of a rule in a file stands for all that
    # follow, and has the place of the last
    count: int = 1

    @property
    def line_of_text(self) -> str:
        """File, position, severity, message and rule, as compilers write them."""
        known = (self.file, self.line, self.column)
        place = ":".join(str(part) for part in known if part is not None)
        return f"{place}{': ' if place else ''}{self.severity}: {self.message} [{self.rule}]"


class EngineStatus(StrEnum):
    """Outcome of running an engine."""

    OBSERVED = "observed"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    UNAVAILABLE = "unavailable"


class EngineRecord(_Record, frozen=True, kw_only=True):
    """Outcome of one engine."""

    name: str  # engine name
    side: str  # ``urdf`` or ``usd``; ``unknown`` if the engine cannot be loaded
    status: EngineStatus  # outcome
    version: str | None = None  # version of the engine, if it is installed
    reason: str | None = None  # why it has no observation
    output: str | None = None  # end of the output of a crashed engine
    notes: tuple[str, ...] = ()  # changes to the file that let it read it, and its warnings
    joint_order: tuple[str, ...] = ()  # joints with degrees of freedom, as the engine numbers them


class EngineDifference(_Record, frozen=True, kw_only=True):
    """Largest difference between one engine and the other side, for one check."""

    engine: str  # the engine
    # file that it reads. ``urdf``: it is compared with the USD as OpenUSD reads it; ``usd``: the
    # reference observation of the URDF is compared with it.
    side: str = "urdf"
    compared: int  # number of values compared
    # largest difference in the unit of the check; None if nothing could be compared, or if the
    # check is about equality
    largest: float | None = None
    subject: str | None = None  # link, joint or group of the largest difference
    unequal: int = 0  # number of values that differ beyond tolerance
    reason: str | None = None  # why nothing was compared


class Range(_Record, frozen=True, kw_only=True):
    """All values from one to another."""

    low: float | tuple[float, ...]  # the least value; of vectors, the least components
    high: float | tuple[float, ...]  # the greatest, likewise


# A number or vector in a unit; text for names, types, files and absence.
Value: TypeAlias = int | float | tuple[float, ...] | Range | str


class Difference(_Record, frozen=True, kw_only=True):
    """One value on two sides: a check finds it, the verdict grades it, pages show it."""

    subject: str  # link, joint or group, for example ``joint elbow``
    item: str = ""  # its name, the same for all pairs of engines
    message: str  # one sentence that names quantity, sides and amount
    assigned: Grade | None = msgspec.field(default=None, name="grade")  # grade of this value
    expected: Value | None = None  # value on the URDF side; None if the check states none
    actual: Value | None = None  # value on the USD side; likewise
    unit: str = ""  # unit of the numbers in both values; empty for plain numbers
    # size in the unit of the check; ``inf`` for unequal, ``nan`` if a side that should state this
    # value does not
    amount: float = msgspec.field(default=math.inf, name="difference")
    bound: float = 0.0  # what float32 storage allows, in the same unit
    tolerance: float = 0.0  # engineering tolerance, in the same unit
    configuration: str | None = None  # label of the configuration, if one matters
    # path of the prim in the USD that the subject was matched with; of a group that of its first
    # link
    prim: str | None = None
    # links and joints that cause the difference; the item itself if empty
    traces: tuple[str, ...] = ()
    # whether the URDF side cannot be determined, so that the USD does not fail
    unknown: bool = False
    # whether the URDF side is not that of the file, so that no USD is exact
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
        return self.amount if math.isfinite(self.amount) else None

    @property
    def severity(self) -> float:
        """Amount relative to the allowed difference, to order values by."""
        if math.isnan(self.amount):
            return -1.0
        # float32 may be coarser than the tolerance, as for an angle of 1e16 rad.
        allowed = max(self.bound, self.tolerance)
        return self.amount / allowed if allowed else self.amount


class CheckHeading(_Record, frozen=True, kw_only=True):
    """Title and unit of a check, so that a summary is self-contained."""

    id: str  # stable identifier, for example ``kinematics.position``
    title: str  # the compared quantity, in a few words
    group: str  # heading under which it is shown
    unit: str  # unit of all differences; empty for equality and ``1`` for ratios


class CheckRecord(CheckHeading, frozen=True, kw_only=True):
    """One check of one robot."""

    grade: Grade  # worst grade of all values
    compared: int  # number of values compared
    # largest difference between ``reference`` and the USD, as OpenUSD and simulators read it
    worst: float | None = None
    worst_subject: str | None = None  # its link, joint or group
    bound: float | None = None  # its bound of rounding to float32
    tolerance: float | None = None  # its engineering tolerance
    reason: str | None = None  # why it is not applicable, not comparable or disputed
    differences: tuple[EngineDifference, ...] = ()  # each engine against the other side
    findings: tuple[Difference, ...] = ()  # values that are not exact, worst first

    @property
    def message(self) -> str:
        """The message of the first finding with the grade of the check, or its reason."""
        first = next((one for one in self.findings if one.grade is self.grade), None)
        return first.message if first else self.reason or self.title


class DeviationRecord(_Record, frozen=True, kw_only=True):
    """An engine that deviates from its file; never counted against the USD."""

    engine: str  # the engine
    id: str  # identifier of a known deviation, or ``unexplained``
    cause: str  # what the engine does, in one sentence
    check: str  # the affected check
    subjects: tuple[str, ...]  # links or joints concerned
    largest: float | None = None  # largest difference in the unit of the check
    # of a USD engine, the values in the file, and those that it computes
    values: tuple[Difference, ...] = ()


class CaseOutcome(StrEnum):
    """Result of one case and one converter.

    ``pass``: the USD has the expected values. ``refused as expected``: no USD was
    written, as the case requires. ``fail``: a value differs, or a file that must be
    refused was converted. ``refused wrongly``: no USD was written. ``crashed``: the
    converter or the reader of the USD crashed.
    """

    PASS = "pass"  # noqa: S105  no password
    REFUSED = "refused as expected"
    FAIL = "fail"
    REFUSED_WRONGLY = "refused wrongly"
    CRASHED = "crashed"

    @property
    def passes(self) -> bool:
        """Whether the converter does what the case requires."""
        return self in {CaseOutcome.PASS, CaseOutcome.REFUSED}

    @property
    def severity(self) -> int:
        if self.passes:
            return 0
        return 2 if self is CaseOutcome.CRASHED else 1


class CaseReadingRecord(_Record, frozen=True, kw_only=True):
    """Comparison of the expected values with one engine's observation of the USD."""

    engine: str  # the engine
    compared: int = 0  # number of values that it states
    failures: tuple[Difference, ...] = ()  # those that are not as expected
    reason: str | None = None  # why it has no observation


class CaseSummary(_Record, frozen=True, kw_only=True):
    """One case and converter in ``summary.json``."""

    version: str  # version of the suite
    chapter: str  # chapter, by name
    title: str  # title of the chapter
    name: str  # name in its chapter
    number: int  # place in the suite, from 1
    requirement: Requirement  # whether the values must or should be as expected
    outcome: CaseOutcome  # result, by the engine of OpenUSD
    reason: str  # why it does not pass; empty if it does


class CaseRecord(CaseSummary, frozen=True, kw_only=True):
    """Result of one case for one converter."""

    case: Case  # the case
    readings: tuple[CaseReadingRecord, ...] = ()  # of each engine of the USD
    urdf: str = ""  # text of the URDF

    @property
    def summary(self) -> CaseSummary:
        names = CaseSummary.__struct_fields__
        return CaseSummary(**{name: getattr(self, name) for name in names})


class Score(_Record, frozen=True, kw_only=True):
    """Number of cases that pass, of all."""

    passed: int = 0  # number of those that pass
    total: int = 0  # number of all

    def __add__(self, other: Score) -> Score:
        return Score(passed=self.passed + other.passed, total=self.total + other.total)


class ChapterScore(_Record, frozen=True, kw_only=True):
    """Score of one converter for one chapter."""

    candidate: str  # name of the converter in the run
    chapter: str  # chapter, by name
    title: str  # title of the chapter
    must: Score  # of the cases that a converter must pass
    should: Score  # of those that it should pass


class FileRecord(_Record, frozen=True, kw_only=True):
    """One file of a robot."""

    path: str  # path relative to the URDF, or below ``package://``
    sha256: str  # hash of its bytes
    size: int  # number of its bytes


class SourceRecord(_Record, frozen=True, kw_only=True):
    """The source of a robot, as far as it is known."""

    reference: str  # its name in the corpus, for example ``pybullet:r2d2.urdf``
    sha256: str | None = None  # hash of the URDF's bytes, if it could be read
    arguments: dict[str, str] = {}  # values of the arguments of a xacro file, by name
    license: str | None = None  # SPDX identifier, or the text of the source
    maker: str | None = None  # manufacturer of the robot
    repository: str | None = None  # URL of the repository of its files
    commit: str | None = None  # commit of that repository
    distribution: str | None = None  # python distribution of the robot, with version
    notes: str | None = None  # notes in the list that names the robot
    # URDF or xacro, meshes, material libraries, textures; none if unreadable
    files: tuple[FileRecord, ...] = ()


class AssetRecord(_Record, frozen=True, kw_only=True):
    """The output of a converter."""

    root_layer: str  # path of the root layer in the folder of the asset
    files: int  # number of files
    size: int  # number of bytes of all files


class DescriptionRecord(_Record, frozen=True, kw_only=True):
    """A simulation settings file, and what comes from it."""

    file: str  # its name, without folders
    sha256: str  # hash of its bytes
    files: dict[str, str] = {}  # files that it names, with the hash of their bytes
    settings: tuple[str, ...] = ()  # what it states of the robot, such as ``drive: elbow, wrist``


class CoverageStatus(StrEnum):
    """Coverage of a part of a URDF."""

    CONVERTED = "converted"
    KEPT = "kept"
    LEFT_OUT = "left out"


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a URDF with the same coverage."""

    part: str  # kind of part, for example ``link`` or ``<transmission>``
    count: int  # number of parts
    fate: CoverageStatus  # their coverage
    where: str  # their place in the USD; the reason, if they are left out


class OverlapRecord(_Record, frozen=True, kw_only=True):
    """Two links whose colliders touch or overlap at rest."""

    links: tuple[str, str]  # URDF names
    distance: float  # of their nearest colliders, negative if these overlap [m]


class RobotRecord(_Record, frozen=True, kw_only=True):
    """The result for one robot and one converter."""

    schema_version: str = SCHEMA_VERSION  # version of the schema
    id: str  # identifier of the robot in the run
    name: str  # name of the robot in the URDF
    source: SourceRecord  # where the robot comes from
    converter: str  # name and version of the converter
    verdict: Verdict  # result for the robot
    reason: str  # why, in one line
    links: int | None = None  # number of links
    joints: int | None = None  # number of joints
    degrees_of_freedom: int | None = None  # number of degrees of freedom, without a floating base
    total_mass: float | None = None  # mass of all links [kg]
    configurations: int | None = None  # number of configurations at which poses are compared
    base: str | None = None  # ``fixed``, ``floating``, or ``static`` without moving bodies
    # target simulator or standard of an asset of this project's converter
    profile: str | None = None
    diagnostics: tuple[DiagnosticRecord, ...] = ()  # of the converter
    engines: tuple[EngineRecord, ...] = ()  # which engines read which file, and why not
    checks: tuple[CheckRecord, ...] = ()  # results of the checks
    # known deviations of engines that this robot shows
    deviations: tuple[DeviationRecord, ...] = ()
    environment: dict[str, str] = {}  # versions by package
    fingerprint: str | None = None  # hash of all inputs of the result
    candidate: str = ""  # name of the converter in the run
    asset: AssetRecord | None = None  # the USD
    output: str | None = None  # end of the output of a converter of another project
    # variants that were selected in the USD, for example ``{"/arm:Physics": "physx"}``
    variants: dict[str, str] = {}
    lint: tuple[DiagnosticRecord, ...] = ()  # likely mistakes in the URDF
    ledger: tuple[LedgerRecord, ...] = ()  # what became of each element and attribute of the URDF
    # simulation settings file that the USD was compared with
    description: DescriptionRecord | None = None
    # links that touch or overlap at rest, by distance. Left out are links of one rigid group, those
    # that a joint connects, and thin colliders. None if they were not determined.
    touching: tuple[OverlapRecord, ...] | None = None
    # comparison with the expected values of a case of the feature suite
    case: CaseRecord | None = None
    # whether the file is no robot, but a xacro file that is part of some. Such records are in no
    # report; the summary lists them.
    part: bool = False
    # format of the source, and of what is compared with it, unless these are URDF and USD
    formats: tuple[str, str] | msgspec.UnsetType = msgspec.UNSET
    # what the source has and nothing compares, such as ``actuators``, with numbers
    uncompared: dict[str, int] | msgspec.UnsetType = msgspec.UNSET

    def __repr__(self) -> str:
        reason = "" if self.verdict.conforms else f"; {self.reason}"
        return f"<RobotRecord {self.id!r}: {self.verdict.value}{reason}>"

    @property
    def compared(self) -> int:
        return sum(check.compared for check in self.checks)

    @property
    def refused_as_expected(self) -> bool:
        return self.case is not None and self.case.outcome is CaseOutcome.REFUSED


class RobotSummary(_Record, frozen=True, kw_only=True):
    """One line of ``summary.json``: a robot and a converter."""

    id: str  # identifier of the robot in the run
    name: str  # name of the robot in the URDF
    reference: str  # its name in the corpus
    verdict: Verdict  # result for the robot
    reason: str  # why, in one line
    grades: dict[str, Grade]  # grade by check
    worst: dict[str, float]  # largest difference by check
    engines: dict[str, EngineStatus]  # outcome by engine
    candidate: str = ""  # name of the converter in the run
    compared: int = 0  # number of compared values, over all checks
    case: CaseSummary | None = None  # its result as a case of the feature suite, if it is one

    @property
    def refused_as_expected(self) -> bool:
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
    """One difference between two runs."""

    kind: ChangeKind  # kind of the change
    worse: bool  # whether the later run has fewer or worse results
    subject: str  # robot, after its converter if there are several; or the setting
    check: str | None = None  # the check, if it concerns one
    before: str = ""  # value in the earlier run; empty if there was none
    after: str = ""  # value in the later run
    detail: str = ""  # location or reason


class FormerRunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with an earlier one."""

    name: str  # name of the earlier run's folder
    changes: tuple[ChangeRecord, ...] = ()  # the worst first


class FailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A check that fails, or is expected to fail."""

    robot: str  # identifier of the robot
    check: str  # identifier of the check; ``verdict`` for a robot without checks
    grade: str  # grade of the check, or the verdict; empty if it passes
    expected: str = ""  # grade in the baseline; empty if it has none
    message: str = ""  # what is wrong, in one sentence
    reason: str = ""  # why the baseline accepts it
    url: str | None = None  # where it is tracked
    expires: str | None = None  # last day on which it is accepted, as YYYY-MM-DD
    converter: str = ""  # name of the converter in the run

    @property
    def place(self) -> tuple[str, str, str]:
        return self.robot, self.check, self.converter

    def is_worse(self, expected: str) -> bool:
        """Whether it is worse than the expected grade, or verdict."""
        scale = Verdict if self.check == "verdict" else Grade
        return scale(self.grade).severity > scale(expected).severity


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with the baseline."""

    new: tuple[FailureRecord, ...] = ()  # failures that are not in the baseline
    worse: tuple[FailureRecord, ...] = ()  # failures that are worse than in the baseline
    # failures that were accepted until a day that is past
    expired: tuple[FailureRecord, ...] = ()
    fixed: tuple[FailureRecord, ...] = ()  # failures in the baseline that do not fail any more
    expected: tuple[FailureRecord, ...] = ()  # failures that are as in the baseline, or better
    absent: int = 0  # number of entries for robots that were not in the run

    @property
    def changes(self) -> tuple[tuple[str, tuple[FailureRecord, ...]], ...]:
        """What differs from the baseline, each with a sign and a word; worse ones first."""
        return (
            ("✗ new", self.new),
            ("✗ worse", self.worse),
            ("✗ expired", self.expired),
            ("✓ fixed", self.fixed),
        )


class ConverterRecord(_Record, frozen=True, kw_only=True):
    """One converter of a run."""

    name: str  # its name in the run
    title: str  # its name and version
    recipe: str  # how it is called, without paths of the machine
    gated: bool  # whether its results decide whether the run passes
    verdicts: dict[str, int]  # number of its robots per verdict
    # comparison with the baseline, if there are several converters
    baseline: BaselineRecord | None = None


class RunSummary(_Record, frozen=True, kw_only=True):
    """A whole run."""

    schema_version: str = SCHEMA_VERSION  # version of the schema
    corpus: tuple[str, ...]  # the references of the command line
    environment: dict[str, str]  # versions by package
    options: dict[str, str]  # options that change results, as text
    # number of robots per verdict; of several converters, of the gated one
    verdicts: dict[str, int]
    robots: tuple[RobotSummary, ...]  # one line per robot and converter, ordered by id
    checks: tuple[CheckHeading, ...] = ()  # headings of the checks that robots cite by id, in order
    complete: bool = True  # whether all robots are finished
    unfinished: int = 0  # number of robots that an interrupted run did not finish
    converters: tuple[ConverterRecord, ...] = ()  # in the order of the command line
    # comparison with the baseline, if there is one; as for verdicts
    baseline: BaselineRecord | None = None
    former: FormerRunRecord | None = None  # changes since an earlier run, if there is one
    # scores of the feature suite per chapter and converter, if it was run
    suite: tuple[ChapterScore, ...] = ()
    # xacro files below a folder that are parts of robots, by reference, each with the reason
    parts: dict[str, str] = {}

    def __repr__(self) -> str:
        counts = {**self.verdicts, "unfinished": self.unfinished}
        robots = sum(counts.values())
        listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        return f"<RunSummary {robots} robot{'' if robots == 1 else 's'}: {listed or 'none'}>"
