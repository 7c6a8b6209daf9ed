"""Results for CI systems: JUnit XML and SARIF 2.1.0.

JUnit has a test suite per robot, a test case per check. What fails or is disputed is a *failure*, a
crash of the converter or an engine an *error*. *Skipped*, with a reason, are checks that compared
nothing, robots that are invalid, incomplete or not available, and failures that the baseline
expects. A robot that was read and does not conform has a failing case: if no check fails,
``conversion`` does, or ``case`` for a case of the feature suite without a USD.

SARIF has failing checks, diagnostics and lint findings:
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote
from xml.etree import ElementTree as ET

from msgspec import Struct

from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.diagnosis import explanation
from urdf_usd.reports.records import record as r
from urdf_usd.reports.summary import URGENT, expected_failures, failure, headline
from urdf_usd.reports.text import one_line, plain

_LINE = 300
_WHOLE = "conversion"
# Comparison of a case of the feature suite with its expected values.
_CASE = "case"
_FINDINGS_IN_TEXT = 20
# With these there is a USD.
_WRITTEN = (r.CaseOutcome.PASS, r.CaseOutcome.FAIL)
_SKIPPED = (r.Verdict.UNREADABLE, r.Verdict.NOT_AVAILABLE, r.Verdict.INCOMPLETE)
# Elements of a test case with an outcome, and attributes of a suite that count them.
_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class _Case(Struct):
    """A test case; ``tag`` is empty if it passes."""

    name: str
    tag: str = ""
    message: str = ""
    text: str = ""
    type: str = ""
    assertions: int | None = None


def write_junit(
    robots: Iterable[r.RobotRecord], path: Path, summary: r.RunSummary | None = None
) -> None:
    robots = tuple(robots)
    candidates = {robot.candidate for robot in robots}
    several = len(candidates) > 1
    root = ET.Element("testsuites", name=f"urdf-usd conformance: {headline(robots)}")
    baselines = dict.fromkeys(candidates, summary.baseline if summary else None)
    if summary and several:
        baselines |= {one.name: one.baseline for one in summary.converters}
    expected = {name: expected_failures(one) for name, one in baselines.items()}
    for robot in robots:
        identity = one_line(f"{robot.candidate}/{robot.id}" if several else robot.id, _LINE)
        suite = ET.SubElement(root, "testsuite", name=identity)
        for case in _cases(robot):
            check = "verdict" if case.name in {_WHOLE, _CASE} else case.name
            _add_case(suite, identity, case, expected[robot.candidate].get((robot.id, check)))
        suite.set("tests", str(len(suite)))
        suite.set("assertions", str(robot.compared))
        for tag, count in _COUNTS.items():
            suite.set(count, str(len(suite.findall(f"*/{tag}"))))
    for count in ("tests", "assertions", *_COUNTS.values()):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    path.write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n', encoding="utf-8", newline="\n"
    )


def _add_case(suite: ET.Element, identity: str, case: _Case, expected: str | None) -> None:
    message, tag, kind = one_line(case.message, _LINE), case.tag, case.type
    if expected is not None and tag in {"failure", "error"}:
        tag, kind, message = "skipped", "", f"expected: {expected} ({message})"
    name = one_line(case.name, _LINE)
    element = ET.SubElement(suite, "testcase", classname=identity, name=name)
    if case.assertions is not None:
        element.set("assertions", str(case.assertions))
    if tag:
        outcome = ET.SubElement(element, tag, message=one_line(message, _LINE))
        outcome.text = case.text or None
        if kind:
            outcome.set("type", kind)


def _cases(robot: r.RobotRecord) -> Iterator[_Case]:
    result, verdict = robot.case, robot.verdict
    checks = [_check_case(check, robot) for check in robot.checks]
    if result is not None:
        case = _Case(_CASE)
        if not result.outcome.passes:
            case.tag = "error" if result.outcome is r.CaseOutcome.CRASHED else "failure"
            case.type, case.message = result.outcome, f"{result.outcome}: {result.reason}"
            lines = (result.case.shows, result.case.clause, result.reason)
            case.text = "\n".join(map(plain, lines))
        yield case
    failing = any(case.tag == "failure" for case in checks)
    shown = verdict.agrees or (failing and verdict is not r.Verdict.CRASHED)
    written = result is None or result.outcome in _WRITTEN
    if written and (not checks or not shown or verdict is r.Verdict.INCOMPLETE):
        whole = _Case(_WHOLE)
        if not verdict.conforms:
            whole.tag = "error" if verdict is r.Verdict.CRASHED else "failure"
            whole.type, whole.message = verdict, f"{verdict}: {robot.reason}"
            if verdict in _SKIPPED:
                whole.tag, whole.type = "skipped", ""
            diagnostics = (one.line_of_text for one in robot.diagnostics)
            whole.text = "\n".join(map(plain, (robot.reason, *diagnostics)))
        yield whole
    yield from checks


def _check_case(check: r.CheckRecord, robot: r.RobotRecord) -> _Case:
    case = _Case(check.id, assertions=check.compared)
    case.message = check.reason or f"{check.title}: {check.grade}"
    if check.grade in URGENT:
        if (message := failure(check)) != check.title:
            case.message = message
        case.tag, case.type = "failure", check.grade
        case.text = "\n".join(explanation(check, robot, _FINDINGS_IN_TEXT))
    elif check.grade in {r.Grade.NOT_COMPARABLE, r.Grade.NOT_APPLICABLE}:
        case.tag = "skipped"
    return case


# SARIF

Json: TypeAlias = dict[str, object]

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0"
_SARIF_LINE = 1000
# Rules of failing checks begin like this; `verdict` stands for all checks.
_RULE_OF_CHECK = "conformance/"
# Unreadable robots have diagnostics, and those that were not fetched have no file.
_WITHOUT_RULE_OF_CHECK = (r.Verdict.CRASHED, r.Verdict.NOT_COMPARABLE)


def write_sarif(
    robots: Iterable[r.RobotRecord], path: Path, baseline: r.BaselineRecord | None = None
) -> None:
    """Write failing checks, diagnostics and lint findings of all robots.

    File names are relative to the robot's folder, not known here: a base id with its reference.
    """
    reported = [(robot, (*_failures(robot), *robot.diagnostics, *robot.lint)) for robot in robots]
    reported = [(robot, found) for robot, found in reported if found]
    remedies = {one.rule: one.remedy for _, found in reported for one in found}
    index = {rule: number for number, rule in enumerate(sorted(remedies))}
    helps = {rule: {"help": {"text": text}} for rule, text in remedies.items() if text}
    expected = expected_failures(baseline)
    results = []
    for robot, found in reported:
        for one in found:
            uri = quote(one.file or "", errors="replace")
            file: Json | None = {"uri": uri, "uriBaseId": robot.id} if one.file else None
            result = sarif_result(one, index[one.rule], file)
            if reason := expected.get((robot.id, one.rule.removeprefix(_RULE_OF_CHECK))):
                result["suppressions"] = [{"kind": "external", "justification": reason}]
            results.append(result)
    known = (robot.environment.get(DISTRIBUTION) for robot, _ in reported)
    versions = [{"version": version} for version in known if version]
    rules = [{"id": rule, **helps.get(rule, {})} for rule in index]
    driver: Json = {"name": "urdf-usd run", **(versions or [{}])[0], "rules": rules}
    named = ((one.id, one_line(one.source.reference, 300)) for one, _ in reported)
    origins = {name: {"description": {"text": text}} for name, text in named}
    text = sarif_document(driver, results, originalUriBaseIds=origins)
    # A name may contain lone surrogates, which UTF-8 cannot encode.
    path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))


def sarif_document(driver: Json, results: list[Json], **further: object) -> str:
    tool = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
    run = {**tool, **further, "results": results}
    document = {
        "$schema": f"{_SARIF}/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def sarif_result(finding: r.DiagnosticRecord, rule_index: int, file: Json | None) -> Json:
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": finding.severity if finding.severity in {"error", "warning"} else "note",
        "message": {"text": one_line(finding.message, _SARIF_LINE)},
        "occurrenceCount": finding.count,
    }
    if file is not None:
        physical: Json = {"artifactLocation": file}
        if finding.line:
            physical["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _failures(robot: r.RobotRecord) -> Iterator[r.DiagnosticRecord]:
    messages = {
        check.id: f"{check.title} {check.grade.value}: {failure(check)}"
        for check in robot.checks
        if check.grade in URGENT
    }
    if not robot.checks and robot.verdict in _WITHOUT_RULE_OF_CHECK:
        messages = {"verdict": f"{robot.verdict.value}: {robot.reason}"}
    file = robot.source.files[0].path if robot.source.files else None
    for name, message in messages.items():
        yield r.DiagnosticRecord(
            rule=f"{_RULE_OF_CHECK}{name}", severity="error", message=message, file=file
        )
