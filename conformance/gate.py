"""What fails a run, and which failures are expected.

Without a baseline every robot that could be read has to conform. A baseline, a file under review,
lists known failures; then robots that cannot be read count as well, so that a robot which becomes
unreadable is a new failure. The file is TOML: ``[[expected]]`` tables, sorted by robot, check and
converter. Rewriting it keeps reasons, owners and the comment at its beginning; comments further
down are lost.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Struct, structs

from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.corpus import CorpusError
from urdf_usd.corpus.robots import Text, read_tables
from urdf_usd.reports.records.record import (
    BaselineRecord,
    CaseOutcome,
    FailureRecord,
    Grade,
    RobotRecord,
    Verdict,
)

# Robot, check, and name of the converter in the run.
Place: TypeAlias = tuple[str, str, str]
# Address of a web page.
Url: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]

# In place of a check, for a robot without checks.
VERDICT = "verdict"
# Placeholders in a rewritten file.
REASON = "to be explained"
OWNER = "to be named"
_TABLE = "expected"
_CHECKS = {VERDICT, *(one.id for one in (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS))}
_HEADER = """\
# Known failures, each with its reason and owner.
# `urdf-usd run --baseline THIS --update-baseline` rewrites all below this comment.
"""
_PASSED = {Grade.EXACT, Grade.NOT_APPLICABLE}
_GRADES = tuple(grade.value for grade in Grade if grade not in _PASSED)
_VERDICTS = tuple(verdict.value for verdict in Verdict if not verdict.agrees)


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure that is known, as the file has it."""

    robot: Text
    check: Text  # or ``verdict``
    grade: Text  # of the check, or the verdict of a robot without checks
    reason: Text
    owner: Text  # person or team
    converter: Text = OURS
    url: Url | None = None  # where it is tracked
    expires: date | None = None  # last day on which it is accepted

    @property
    def place(self) -> Place:
        return self.robot, self.check, self.converter

    def has_expired(self, today: date | None = None) -> bool:
        """Whether its last day is past; today is by default the current day, in UTC."""
        return self.expires is not None and self.expires < (today or datetime.now(UTC).date())

    def __str__(self) -> str:
        by = "" if self.converter == OURS else f" by {self.converter}"
        return f"{self.robot} {self.check}{by}"


class Baseline(Struct, frozen=True):
    """All known failures, sorted by robot, check and converter, each once."""

    expectations: tuple[Expectation, ...] = ()
    header: str = _HEADER
    unexplained: tuple[str, ...] = ()  # warnings about those without reason or owner

    def holding(self, expectations: Iterable[Expectation]) -> Baseline:
        ordered = sorted(expectations, key=lambda one: one.place)
        return structs.replace(self, expectations=tuple(ordered))

    def about(self, converters: Iterable[str]) -> dict[Place, Expectation]:
        meant = frozenset(converters)
        return {one.place: one for one in self.expectations if one.converter in meant}

    def as_toml(self) -> str:
        text = self.header
        for one in self.expectations:
            text += f"\n[[{_TABLE}]]\n"
            for key in ("converter", "robot", "check", "grade", "reason", "owner", "url"):
                value = getattr(one, key)
                if value is not None and (key, value) != ("converter", OURS):
                    # A TOML string requires one more escape than JSON.
                    shown = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                    text += f"{key} = {shown}\n"
            text += f"expires = {one.expires}\n" if one.expires else ""
        return text


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; a CorpusError lists all problems, with the lines of their tables."""
    by_place: dict[Place, Expectation] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for location, expectation in read_tables(path, _TABLE, Expectation):
        check, grade = expectation.check, expectation.grade
        grades = _VERDICTS if check == VERDICT else _GRADES
        if check not in _CHECKS:
            problems.append(f"{location}: there is no check {check!r}")
        elif grade not in grades:
            problems.append(f"{location}: {grade!r} is none of {', '.join(grades)}")
        elif expectation.place in by_place:
            problems.append(f"{location}: {expectation} is expected twice")
        by_place[expectation.place] = expectation
        for key, placeholder in (("reason", REASON), ("owner", OWNER)):
            if getattr(expectation, key) == placeholder:
                warnings.append(f"{location}: warning: the {key} of {expectation} is missing")
    if problems:
        raise CorpusError("\n".join(problems))
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    header = "".join(takewhile(lambda line: line.startswith("#"), lines))
    baseline = Baseline(header=header or _HEADER, unexplained=tuple(warnings))
    return baseline.holding(by_place.values())


# Invalid URDFs and robots that could not be fetched count only with --strict.
_NOT_READ = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


class FailOn(StrEnum):
    """The least severe result that does not pass.

    ``close``: everything that is not exact. ``incomplete``: also robots with parts that
    could not be compared. ``fails``: failing, disputed, or not compared at all.
    """

    CLOSE = "close"
    INCOMPLETE = "incomplete"
    FAILS = "fails"


_MILDEST = dict(zip(FailOn, (Grade.CLOSE, Grade.NOT_COMPARABLE, Grade.DISPUTED), strict=True))


class Gate(StrEnum):
    PASSES = "passes"
    FAILS = "fails"
    NOTHING_READ = "nothing read"


class GateResult(Struct, frozen=True):
    """Whether a run passes, and its failures; without a baseline all are new."""

    gate: Gate
    failures: BaselineRecord


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
    """
    robots = {(record.id, _converter(record)) for record in records}
    known = baseline.about(converter for _, converter in robots) if baseline else {}
    grades, failing = _grades(records), set[Place]()
    lists = defaultdict[str, list[FailureRecord]](list)
    unreadable = baseline is not None
    for failure in failures(records, fail_on=fail_on, strict=strict, unreadable=unreadable):
        failing.add(failure.place)
        entry = known.get(failure.place)
        if entry is None:
            lists["new"].append(failure)
            continue
        name = "expired" if entry.has_expired(today) else "expected"
        lists["worse" if failure.is_worse(entry.grade) else name].append(_known(failure, entry))
    for (robot, check, converter), entry in known.items():
        if entry.place not in failing and grades.get(entry.place, entry.grade) != entry.grade:
            passing = FailureRecord(robot=robot, check=check, grade="", converter=converter)
            lists["fixed"].append(_known(passing, entry))
    gate = Gate.FAILS if lists["new"] or lists["worse"] or lists["expired"] else Gate.PASSES
    if all(record.verdict in _NOT_READ and record.case is None for record in records):
        gate = Gate.NOTHING_READ
    absent = sum((entry.robot, entry.converter) not in robots for entry in known.values())
    found = {name: tuple(rows) for name, rows in lists.items()}
    return GateResult(gate, structs.replace(BaselineRecord(absent=absent), **found))


def _known(failure: FailureRecord, entry: Expectation) -> FailureRecord:
    return structs.replace(
        failure,
        expected=entry.grade,
        reason=entry.reason,
        url=entry.url,
        expires=entry.expires.isoformat() if entry.expires else None,
    )


def failures(
    records: Iterable[RobotRecord], *, fail_on: FailOn, strict: bool, unreadable: bool
) -> tuple[FailureRecord, ...]:
    forgiven = set() if strict else set(_NOT_READ)
    if unreadable:
        forgiven.discard(Verdict.UNREADABLE)
    failing = [grade for grade in Grade if grade.severity >= _MILDEST[fail_on].severity]
    found = list[FailureRecord]()
    for record in records:
        rows = list[tuple[str, str, str]]()
        case, verdict = record.case, record.verdict
        if case is not None and not case.outcome.passes:
            grade = Verdict.CRASHED if case.outcome is CaseOutcome.CRASHED else Verdict.FAILS
            rows.append((VERDICT, grade.value, f"{case.outcome.value}: {case.reason}"))
        if verdict not in forgiven and not record.refused_as_expected:
            wrong = [check for check in record.checks if check.grade in failing]
            # Parts of the USD itself may be missing, which no check is about.
            incomplete = verdict is Verdict.INCOMPLETE and Grade.NOT_COMPARABLE in failing
            if not wrong and verdict is Verdict.NOT_COMPARABLE:
                wrong = [check for check in record.checks if check.grade is Grade.NOT_COMPARABLE]
            if not wrong and (incomplete or not verdict.agrees):
                rows.append((VERDICT, verdict.value, record.reason))
            rows += ((check.id, check.grade.value, check.message) for check in wrong)
        robot = FailureRecord(robot=record.id, check="", grade="", converter=_converter(record))
        found += (structs.replace(robot, check=c, grade=g, message=m) for c, g, m in rows)
    return tuple(found)


def updated_baseline(
    records: Sequence[RobotRecord], baseline: Baseline, current: Iterable[FailureRecord]
) -> Baseline:
    """Return the baseline with which a run passes; what else it has of entries stays."""
    grades = _grades(records)
    known = {entry.place: entry for entry in baseline.expectations}
    entries = {x: one for x, one in known.items() if grades.get(x, one.grade) == one.grade}
    for failure in current:
        robot, check, converter = failure.place
        new = Expectation(robot, check, failure.grade, REASON, OWNER, converter)
        entry = known.get(failure.place, new)
        entries[failure.place] = structs.replace(entry, grade=failure.grade)
    return baseline.holding(entries.values())


def _converter(record: RobotRecord) -> str:
    return record.candidate or OURS


def _grades(records: Iterable[RobotRecord]) -> dict[Place, str]:
    grades: dict[Place, str] = {}
    for record in records:
        own = {check.id: check.grade.value for check in record.checks}
        if record.verdict is not Verdict.NOT_AVAILABLE:
            own[VERDICT] = (Verdict.EXACT if record.checks else record.verdict).value
        grades |= {(record.id, check, _converter(record)): grade for check, grade in own.items()}
    return grades
