"""Whether a run passes, and the failures that prevent it.

Without a baseline every robot that could be read has to conform. A baseline lists known
failures; then robots that cannot be read count as well, so that a robot which becomes
unreadable is a new failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import StrEnum

from msgspec import Struct

from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.conformance.gate.baseline import VERDICT, Baseline, Expectation, Place
from urdf_usd.reports.records.record import (
    BaselineRecord,
    Grade,
    KnownFailureRecord,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.suite_case import CaseOutcome
from urdf_usd.reports.summary import worst_message

# Invalid URDFs and robots that could not be fetched are listed, but count only with
# --strict.
_NOT_READ = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


class FailOn(StrEnum):
    """The least severe result that does not pass.

    ``close``: everything that is not exact. ``incomplete``: also robots with parts that
    could not be compared. ``fails``: failing, disputed, or not compared at all.
    """

    CLOSE = "close"
    INCOMPLETE = "incomplete"
    FAILS = "fails"


_MILDEST = {
    FailOn.CLOSE: Grade.CLOSE,
    FailOn.INCOMPLETE: Grade.NOT_COMPARABLE,
    FailOn.FAILS: Grade.DISPUTED,
}


class Gate(StrEnum):
    """Result of a gate."""

    PASSES = "passes"
    FAILS = "fails"
    NOTHING_READ = "nothing read"


class Failure(Struct, frozen=True):
    """A check that one robot does not pass.

    Attributes:
        robot: Identifier of the robot.
        check: Identifier of the check; ``verdict`` for a robot of which none was made.
        grade: Grade of the check, or the verdict.
        message: What is wrong, in one sentence.
        converter: What the run calls the converter.
    """

    robot: str
    check: str
    grade: str
    message: str
    converter: str = OURS

    @property
    def place(self) -> Place:
        """Its key in a baseline."""
        return self.robot, self.check, self.converter


class GateResult(Struct, frozen=True):
    """Result of the gate.

    Attributes:
        gate: Whether the run passes.
        new: Failures that are not in the baseline.
        worse: Failures that are worse than in the baseline, with the grade there.
        expired: Failures that the baseline has accepted until a day that is past.
        expected: Failures that are as in the baseline, or better.
        passing: Entries of the baseline that do not fail any more.
        absent: Number of entries for the converters of the run whose robots are not in
            the run.
    """

    gate: Gate
    new: tuple[Failure, ...] = ()
    worse: tuple[tuple[Failure, str], ...] = ()
    expired: tuple[Failure, ...] = ()
    expected: tuple[Failure, ...] = ()
    passing: tuple[Expectation, ...] = ()
    absent: int = 0


def apply_gate(
    records: Sequence[RobotRecord],
    *,
    fail_on: FailOn = FailOn.FAILS,
    strict: bool = False,
    baseline: Baseline | None = None,
    today: date | None = None,
) -> GateResult:
    """Apply the gate to the records of a run.

    Disputed robots, and robots without any comparison, do not pass. Neither does a run
    that read no robot.

    Args:
        records: One per robot.
        fail_on: The least severe result that does not pass.
        strict: Whether robots that could not be read or fetched count.
        baseline: Known failures.
        today: Day that decides which entries have expired; by default the current one,
            in UTC.
    """
    current = failures(records, fail_on=fail_on, strict=strict, unreadable=baseline is not None)
    robots = {(record.id, _converter(record)) for record in records}
    converters = {converter for _, converter in robots}
    known = {} if baseline is None else baseline.about(converters)
    new = tuple(failure for failure in current if failure.place not in known)
    worse = tuple(
        (failure, known[failure.place].grade)
        for failure in current
        if failure.place in known and is_worse(failure, known[failure.place].grade)
    )
    expired = tuple(
        failure
        for failure in current
        if failure.place in known
        and not is_worse(failure, known[failure.place].grade)
        and known[failure.place].has_expired(today)
    )
    failing = {failure.place for failure in current}
    graded = _grades(records)
    read = any(record.verdict not in _NOT_READ or record.case is not None for record in records)
    passes = Gate.FAILS if new or worse or expired else Gate.PASSES
    return GateResult(
        gate=passes if read else Gate.NOTHING_READ,
        new=new,
        worse=worse,
        expired=expired,
        expected=tuple(
            failure
            for failure in current
            if failure.place in known
            and failure not in expired
            and not is_worse(failure, known[failure.place].grade)
        ),
        passing=tuple(
            expectation
            for expectation in known.values()
            if expectation.place not in failing
            and graded.get(expectation.place, expectation.grade) != expectation.grade
        ),
        absent=sum((one.robot, one.converter) not in robots for one in known.values()),
    )


def baseline_record(result: GateResult, baseline: Baseline) -> BaselineRecord:
    """Make the record of a gate result, with the reasons in the baseline."""
    known = {expectation.place: expectation for expectation in baseline.expectations}

    def stated(failure: Failure) -> KnownFailureRecord:
        expected = known.get(failure.place)
        return KnownFailureRecord(
            robot=failure.robot,
            check=failure.check,
            grade=failure.grade,
            expected=expected.grade if expected else "",
            message=failure.message,
            reason=expected.reason if expected else "",
            url=expected.url if expected else None,
            expires=_iso(expected),
        )

    return BaselineRecord(
        new=tuple(map(stated, result.new)),
        worse=tuple(stated(failure) for failure, _ in result.worse),
        expired=tuple(map(stated, result.expired)),
        fixed=tuple(
            KnownFailureRecord(
                robot=one.robot,
                check=one.check,
                grade="",
                expected=one.grade,
                message="",
                reason=one.reason,
                url=one.url,
                expires=_iso(one),
            )
            for one in result.passing
        ),
        expected=tuple(map(stated, result.expected)),
        absent=result.absent,
    )


def _iso(expectation: Expectation | None) -> str | None:
    expires = expectation and expectation.expires
    return expires.isoformat() if expires else None


def failures(
    records: Iterable[RobotRecord],
    *,
    fail_on: FailOn,
    strict: bool,
    unreadable: bool,
) -> tuple[Failure, ...]:
    """List the failures, in the order of the records.

    Args:
        records: One per robot.
        fail_on: The least severe result that does not pass.
        strict: Whether robots that could not be read or fetched count.
        unreadable: Whether robots that could not be read count.
    """
    forgiven = set() if strict else set(_NOT_READ)
    if unreadable:
        forgiven.discard(Verdict.UNREADABLE)
    failing = [g for g in Grade if g.severity >= _MILDEST[fail_on].severity]
    return tuple(
        failure
        for record in records
        for failure in (
            *_failures_of_case(record),
            *(
                ()
                if record.verdict in forgiven or record.refused_as_expected
                else _failures(record, failing)
            ),
        )
    )


def updated_baseline(
    records: Sequence[RobotRecord], baseline: Baseline, current: Iterable[Failure]
) -> Baseline:
    """Return the baseline with which a run passes.

    Entries for robots and checks that were not in the run are kept, as are reasons and
    owners of remaining failures.
    """
    graded = _grades(records)
    known = {expectation.place: expectation for expectation in baseline.expectations}
    kept = {
        place: expectation
        for place, expectation in known.items()
        if graded.get(place, expectation.grade) == expectation.grade
    }
    failing = {
        failure.place: Expectation.of(failure.place, failure.grade, known) for failure in current
    }
    return baseline.holding((kept | failing).values())


def _converter(record: RobotRecord) -> str:
    return record.candidate or OURS


def _grades(records: Iterable[RobotRecord]) -> dict[Place, str]:
    """Map each robot and check of the records to the grade, or the verdict."""
    grades: dict[Place, str] = {}
    for record in records:
        converter = _converter(record)
        if record.verdict is not Verdict.NOT_AVAILABLE:
            verdict = Verdict.EXACT if record.checks else record.verdict
            grades[record.id, VERDICT, converter] = verdict.value
        for check in record.checks:
            grades[record.id, check.id, converter] = check.grade.value
    return grades


def _failures_of_case(record: RobotRecord) -> Iterator[Failure]:
    """Yield the failure of a case of the feature suite that does not pass."""
    if record.case is None or record.case.outcome.passes:
        return
    crashed = record.case.outcome is CaseOutcome.CRASHED
    grade = Verdict.CRASHED if crashed else Verdict.FAILS
    message = f"{record.case.outcome.value}: {record.case.reason}"
    yield Failure(record.id, VERDICT, grade.value, message, _converter(record))


def _failures(record: RobotRecord, failing: Sequence[Grade]) -> Iterator[Failure]:
    converter = _converter(record)
    wrong = [check for check in record.checks if check.grade in failing]
    # Parts of the USD itself are missing, which no check is about.
    lacks_parts = record.verdict is Verdict.INCOMPLETE
    if (
        not wrong
        and record.verdict.agrees
        and not (lacks_parts and Grade.NOT_COMPARABLE in failing)
    ):
        return
    if not wrong and record.verdict is Verdict.NOT_COMPARABLE:
        wrong = [c for c in record.checks if c.grade is Grade.NOT_COMPARABLE]
    if not wrong:
        yield Failure(record.id, VERDICT, record.verdict.value, record.reason, converter)
    for check in wrong:
        yield Failure(record.id, check.id, check.grade.value, worst_message(check), converter)


def is_worse(failure: Failure, expected: str) -> bool:
    """Whether a failure is worse than the expected grade, or verdict."""
    scale = Verdict if failure.check == VERDICT else Grade
    return scale(failure.grade).severity > scale(expected).severity
