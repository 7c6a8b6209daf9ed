"""What decided over a robot, for somebody who sees a report for the first time.

Where, what, by how much, whose fault it is, and what to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import Grade, Verdict
from urdf_usd.reports.overview import statement
from urdf_usd.reports.remedies import place_to_look

if TYPE_CHECKING:
    from urdf_usd.conformance.records.record import (
        CheckRecord,
        FindingRecord,
        RobotRecord,
    )

_WORST_GRADE = {
    Verdict.FAILS: Grade.FAILS,
    Verdict.DISPUTED: Grade.DISPUTED,
    Verdict.INCOMPLETE: Grade.NOT_COMPARABLE,
    Verdict.NOT_COMPARABLE: Grade.NOT_COMPARABLE,
}
# What ends a process that is not done: its time, or its memory.
_TOO_MUCH = ("no answer after", "memory limit")
_ERROR = "error"
_TOLD_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What decided over a robot that does not conform.

    Attributes:
        subject: Link, joint or other part that it is about; empty if it is the whole.
        statement: What is wrong with it.
        fault: Whose fault that is, and who says so.
        remedy: What to do about it.
        check: The check that found it, if one did.
        finding: Its gravest finding, if it has any.
        likewise: Further subjects of which the check finds the same kind of fault.
        more_likewise: Number of those beyond what ``likewise`` names.
        further: Number of further checks that end the same way.
    """

    subject: str
    statement: str
    fault: str
    remedy: str
    check: CheckRecord | None = None
    finding: FindingRecord | None = None
    likewise: tuple[str, ...] = ()
    more_likewise: int = 0
    further: int = 0


def diagnose(robot: RobotRecord) -> Diagnosis | None:
    """Say what decided over a robot; None if it conforms."""
    if robot.verdict.conforms:
        return None
    grade = _WORST_GRADE.get(robot.verdict)
    deciding = [check for check in robot.checks if check.grade is grade]
    if not deciding:
        return _unjudged(robot)
    first = deciding[0]
    findings = [one for one in first.findings if one.grade is grade]
    finding = findings[0] if findings else None
    others = list(dict.fromkeys(one.subject for one in findings[1:]))
    return Diagnosis(
        subject=finding.subject if finding else "",
        statement=_statement(first, finding),
        fault=_fault(first),
        remedy=_remedy(first),
        check=first,
        finding=finding,
        likewise=tuple(others[:_TOLD_AT_MOST]),
        more_likewise=len(others[_TOLD_AT_MOST:]),
        further=len(deciding) - 1,
    )


def _statement(check: CheckRecord, finding: FindingRecord | None) -> str:
    if finding is None:
        return check.reason or check.title
    return statement(finding).removeprefix(f"{finding.subject} ")


def _fault(check: CheckRecord) -> str:
    if check.grade is Grade.DISPUTED:
        return (
            "nobody can say: the readers of the URDF contradict each other, so that "
            "the USD cannot be judged"
        )
    if check.grade is Grade.NOT_COMPARABLE:
        return "nobody can say: what one side does not state is not compared"
    seeing = [one.engine for one in check.differences if one.unequal]
    if len(seeing) > 1:
        return (
            f"the USD's: {_enumerated(seeing)} agree about the URDF, and the USD says "
            "something else"
        )
    return "the USD's: the URDF is clear, and no other reader of it objects"


def _remedy(check: CheckRecord) -> str:
    match check.grade:
        case Grade.FAILS:
            place = place_to_look(check.id)
            look = f"in the USD, look at {place}; " if place else ""
            return f"{look}correct it there, or in the converter that wrote it"
        case Grade.DISPUTED:
            return (
                "make the URDF unambiguous; if one reader is wrong, its deviation has "
                "to be known to the harness"
            )
        case _:
            return (
                "supply what is missing, such as files of meshes; all that could be "
                "compared is below"
            )


def _unjudged(robot: RobotRecord) -> Diagnosis:
    """Say what to do where no check took place."""
    match robot.verdict:
        case Verdict.UNREADABLE:
            fault, remedy = "the URDF's", _correction(robot)
        case Verdict.NOT_AVAILABLE:
            fault = "nobody's: the files are not here"
            remedy = "see to it that the robot can be fetched, and run again"
        case Verdict.CRASHED if any(word in robot.reason for word in _TOO_MUCH):
            fault = "nobody's: it takes more time or memory than it was allowed"
            remedy = "urdf-usd run takes --timeout and --memory, and allows it more"
        case Verdict.CRASHED:
            fault = "that of the converter, or of the reader that died"
            remedy = "run it alone to see what it says; the engines below say more"
        case _:
            fault = "that of the converter: what it wrote cannot be read as a robot"
            remedy = "see below what the converter and the reader of the USD say"
    return Diagnosis("", robot.reason, fault, remedy)


def _correction(robot: RobotRecord) -> str:
    error = next((one for one in robot.diagnostics if one.severity == _ERROR), None)
    where = f" at {error.file}:{error.line}" if error and error.file else ""
    return f"correct the URDF{where}; urdf-usd lint says all that it finds"


def _enumerated(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
