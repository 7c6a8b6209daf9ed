"""JUnit XML for CI systems: a test suite per robot, a test case per check.

A check that fails or is disputed is a *failure*. A robot whose converter or engine
crashed is an *error*. *Skipped*, with a reason, are checks that compared nothing,
robots that could not be fetched, invalid URDFs (for which a diagnostic is the right
result), and failures that the baseline expects. A robot that was read and does not
conform always has a failing case: if no check fails, the case ``conversion`` does. It
is skipped for an incomplete robot. A case of the feature suite has the case ``case``,
which also stands for the conversion if no USD was written. The attribute
``assertions`` is the number of compared values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from msgspec import structs

from urdf_usd.reports.diagnosis import advice, explanation
from urdf_usd.reports.records.record import (
    BaselineRecord,
    CaseOutcome,
    CaseRecord,
    CheckRecord,
    Grade,
    RobotRecord,
    RunSummary,
    Verdict,
)
from urdf_usd.reports.summary import headline
from urdf_usd.reports.text import one_line, plain

_MESSAGE_LIMIT = 300
_WHOLE = "conversion"
# Comparison of a case of the feature suite with its expected values.
_CASE = "case"
_FINDINGS_IN_TEXT = 20
# With these there is a USD.
_WRITTEN = (CaseOutcome.PASS, CaseOutcome.FAIL)
_SKIPPED = (Verdict.UNREADABLE, Verdict.NOT_AVAILABLE, Verdict.INCOMPLETE)
_OUTCOMES = {
    Grade.FAILS: "failure",
    Grade.DISPUTED: "failure",
    Grade.NOT_COMPARABLE: "skipped",
    Grade.NOT_APPLICABLE: "skipped",
}


def write_junit(
    robots: Iterable[RobotRecord], path: Path, summary: RunSummary | None = None
) -> None:
    """Write the results of all robots as one JUnit XML file.

    With several converters, suites are named ``<converter>/<robot>``.

    Failures that the baseline of the run expects are skipped.
    """
    robots = tuple(robots)
    name = f"urdf-usd conformance: {headline(robots)}"
    expected = _expected(summary.baseline) if summary else {}
    if len({robot.candidate for robot in robots}) > 1:
        expected = {
            (f"{one.name}/{robot}", check): reason
            for one in (summary.converters if summary else ())
            for (robot, check), reason in _expected(one.baseline).items()
        }
        robots = tuple(
            structs.replace(robot, id=f"{robot.candidate}/{robot.id}") for robot in robots
        )
    root = ET.Element("testsuites", name=name)
    root.extend(_suite(robot, expected) for robot in robots)
    for count in ("tests", "assertions", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    path.write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n', encoding="utf-8", newline="\n"
    )


def _expected(baseline: BaselineRecord | None) -> dict[tuple[str, str], str]:
    """Map (robot, check) of expected failures to the reason."""
    return {
        (known.robot, known.check): known.reason
        for known in (baseline.expected if baseline else ())
    }


def _accepted(
    robot: RobotRecord, case: ET.Element, expected: Mapping[tuple[str, str], str]
) -> ET.Element:
    """Turn a failure that a baseline expects into a skipped case."""
    check = "verdict" if case.get("name") in {_WHOLE, _CASE} else case.get("name", "")
    reason = expected.get((robot.id, check))
    if reason is None:
        return case
    for outcome in case:
        if outcome.tag in {"failure", "error"}:
            message = f"expected: {reason} ({outcome.get('message')})"
            outcome.tag = "skipped"
            outcome.attrib.pop("type", None)
            outcome.set("message", one_line(message, _MESSAGE_LIMIT))
    return case


def _suite(robot: RobotRecord, expected: Mapping[tuple[str, str], str]) -> ET.Element:
    suite = ET.Element("testsuite", name=one_line(robot.id, _MESSAGE_LIMIT))
    cases = [_check_case(robot, check) for check in robot.checks]
    failing = any(case.find("failure") is not None for case in cases)
    shown = robot.verdict.agrees or (failing and robot.verdict is not Verdict.CRASHED)
    written = robot.case is None or robot.case.outcome in _WRITTEN
    if written and (not cases or not shown or robot.verdict is Verdict.INCOMPLETE):
        cases.insert(0, _robot_case(robot))
    if robot.case is not None:
        cases.insert(0, _suite_case(robot, robot.case))
    suite.extend(_accepted(robot, case, expected) for case in cases)
    suite.set("tests", str(len(cases)))
    suite.set("assertions", str(robot.compared))
    for count, tag in (
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _robot_case(robot: RobotRecord) -> ET.Element:
    case = _case(robot, _WHOLE)
    if robot.verdict.conforms:
        return case
    tag = "skipped" if robot.verdict in _SKIPPED else "failure"
    if robot.verdict is Verdict.CRASHED:
        tag = "error"
    outcome = _outcome(case, tag, f"{robot.verdict}: {robot.reason}")
    if tag != "skipped":
        outcome.set("type", robot.verdict.value)
    lines = [plain(robot.reason)]
    for diagnostic in robot.diagnostics:
        place = ":".join(
            str(part)
            for part in (diagnostic.file, diagnostic.line, diagnostic.column)
            if part is not None
        )
        statement = f"{diagnostic.severity}: {diagnostic.message} [{diagnostic.rule}]"
        lines.append(plain(f"{place}: {statement}" if place else statement))
    outcome.text = "\n".join(lines)
    return case


def _suite_case(robot: RobotRecord, result: CaseRecord) -> ET.Element:
    case = _case(robot, _CASE)
    if result.outcome.passes:
        return case
    tag = "error" if result.outcome is CaseOutcome.CRASHED else "failure"
    outcome = _outcome(case, tag, f"{result.outcome}: {result.reason}")
    outcome.set("type", result.outcome.value)
    lines = (result.case.shows, result.case.clause, result.reason)
    outcome.text = "\n".join(map(plain, lines))
    return case


def _check_case(robot: RobotRecord, check: CheckRecord) -> ET.Element:
    case = _case(robot, check.id)
    case.set("assertions", str(check.compared))
    tag = _OUTCOMES.get(check.grade)
    if tag is None:
        return case
    findings = [f for f in check.findings if f.grade in (Grade.FAILS, Grade.DISPUTED)]
    message = check.reason or f"{check.title}: {check.grade}"
    if findings:
        message = findings[0].message
        if len(findings) > 1:
            message += f" (and {len(findings) - 1} more)"
    outcome = _outcome(case, tag, message)
    if tag != "skipped":
        outcome.set("type", check.grade.value)
        outcome.text = "\n".join(
            (
                *explanation(check, findings, _FINDINGS_IN_TEXT),
                "",
                advice(check.grade),
            )
        )
    return case


def _case(robot: RobotRecord, name: str) -> ET.Element:
    identity = one_line(robot.id, _MESSAGE_LIMIT)
    return ET.Element("testcase", classname=identity, name=one_line(name, _MESSAGE_LIMIT))


def _outcome(case: ET.Element, tag: str, message: str) -> ET.Element:
    return ET.SubElement(case, tag, message=one_line(message, _MESSAGE_LIMIT))
