"""Summary of why a robot does not conform: where, by how much, whose fault, remedy."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.reports.explanation import place_to_look
from urdf_usd.reports.overview import statement
from urdf_usd.reports.records.record import (
    ANOTHER_ROBOT,
    CheckRecord,
    FindingRecord,
    Grade,
    RobotRecord,
    Verdict,
)

_WORST_GRADE = {
    Verdict.FAILS: Grade.FAILS,
    Verdict.DISPUTED: Grade.DISPUTED,
    Verdict.INCOMPLETE: Grade.NOT_COMPARABLE,
    Verdict.NOT_COMPARABLE: Grade.NOT_COMPARABLE,
}
# Reasons of crashes by a limit.
_LIMITS = ("no answer after", "memory limit")
_ERROR = "error"
# Rules for which a USD is not compared.
_UNSELECTED = "variant-required"
_OUTSIDE = "asset-outside-refused"
_MOST_NAMED = 3


class Diagnosis(Struct, frozen=True):
    """Why a robot does not conform.

    Attributes:
        subject: Link, joint or other part concerned; empty for the whole robot.
        statement: What is wrong.
        fault: What is at fault (URDF, USD, converter), and by which evidence.
        remedy: What to do about it.
        check: The check that found it, if any.
        finding: Its worst finding, if any.
        likewise: Further subjects with findings of the same check.
        more_likewise: Number of these that ``likewise`` does not name.
        further: Number of further checks with the same grade.
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
    """Return why a robot does not conform; None if it does."""
    if robot.verdict.conforms:
        return None
    grade = _WORST_GRADE.get(robot.verdict)
    deciding = [check for check in robot.checks if check.grade is grade]
    if not deciding:
        return _unjudged(robot)
    first = deciding[0]
    if robot.reason.startswith(ANOTHER_ROBOT):
        return Diagnosis(
            subject="",
            statement=robot.reason,
            fault="none: most names of the URDF are unknown in the USD",
            remedy="compare the USD with the URDF that it was made from",
            further=len(deciding) - 1,
        )
    findings = [one for one in first.findings if one.grade is grade]
    finding = findings[0] if findings else None
    others = list(dict.fromkeys(one.subject for one in findings[1:]))
    return Diagnosis(
        subject=finding.subject if finding else "",
        statement=_statement(first, finding),
        fault=_fault(first, finding),
        remedy=_remedy(first),
        check=first,
        finding=finding,
        likewise=tuple(others[:_MOST_NAMED]),
        more_likewise=len(others[_MOST_NAMED:]),
        further=len(deciding) - 1,
    )


def _statement(check: CheckRecord, finding: FindingRecord | None) -> str:
    if finding is None:
        return check.reason or check.title
    return statement(finding).removeprefix(f"{finding.subject} ")


def _fault(check: CheckRecord, finding: FindingRecord | None) -> str:
    if check.grade is Grade.DISPUTED:
        return "undecided: the URDF engines disagree, so there is no value to compare the USD with"
    if check.grade is Grade.NOT_COMPARABLE:
        if finding is None:
            return f"undecided: {check.reason or 'there is no value to compare'}"
        # It names the file that cannot be used, and the reason.
        missing = statement(finding).removeprefix(f"{finding.subject}: ")
        return f"none in the USD: {missing.removesuffix('; not compared')}"
    differing = [one for one in check.differences if one.unequal]
    seeing = [one.engine for one in differing if one.side == "urdf"]
    if differing and not seeing:
        simulators = _enumerated([one.engine for one in differing])
        return (
            f"USD: OpenUSD reads the value of the URDF, and {simulators} computes another from it"
        )
    if len(seeing) > 1:
        return f"USD: {_enumerated(seeing)} agree on the URDF, and the USD differs"
    return "USD: it differs from the URDF, on which no other engine disagrees"


def _remedy(check: CheckRecord) -> str:
    match check.grade:
        case Grade.FAILS:
            place = place_to_look(check.id)
            hint = f"in the USD, check {place}; " if place else ""
            return f"{hint}correct the USD, or the converter that wrote it"
        case Grade.DISPUTED:
            return (
                "make the URDF unambiguous; if one engine is wrong, add its deviation "
                "to the known ones"
            )
        case _:
            return "supply the file, and convert again; everything that could be compared is below"


def _unjudged(robot: RobotRecord) -> Diagnosis:
    """Return the diagnosis of a robot whose verdict no check decides."""
    match robot.verdict:
        case Verdict.UNREADABLE:
            fault, remedy = "URDF", _correction(robot)
        case Verdict.NOT_AVAILABLE:
            fault = "none: the files are not available"
            remedy = "make the robot available, and run again"
        case Verdict.CRASHED if any(word in robot.reason for word in _LIMITS):
            fault = "none: a time or memory limit was exceeded"
            remedy = "raise --timeout or --memory"
        case Verdict.CRASHED:
            fault = "converter or engine that crashed"
            remedy = "run it alone to see its output; see also the engines below"
        case Verdict.FAILS if robot.checks:
            fault = "USD: a simulator that it is made for refuses it"
            remedy = "correct what the simulator names, or the converter that wrote it"
        case Verdict.FAILS:
            fault = "USD: it has values that no simulator can use"
            remedy = "correct these values, or the converter that wrote them"
        case Verdict.NOT_COMPARABLE if any(one.rule == _UNSELECTED for one in robot.diagnostics):
            fault = "none: no variant of the USD with the robot is selected"
            remedy = "select a variant with --variant, or author a selection"
        case Verdict.NOT_COMPARABLE if any(one.rule == _OUTSIDE for one in robot.diagnostics):
            fault = "USD: it refers to files outside its folder"
            remedy = "copy the files into the folder, or omit --strict"
        case _:
            fault = "converter: its output cannot be read as a robot"
            remedy = "see the messages of the converter and the USD engine below"
    return Diagnosis("", robot.reason, fault, remedy)


def _correction(robot: RobotRecord) -> str:
    error = next((one for one in robot.diagnostics if one.severity == _ERROR), None)
    where = f" at {error.file}:{error.line}" if error and error.file else ""
    return f"correct the URDF{where}; urdf-usd lint lists all findings"


def _enumerated(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
