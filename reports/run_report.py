"""All files of the report of a run: pages, JUnit XML, SARIF 2.1.0, Markdown, badges.

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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote
from xml.etree import ElementTree as ET

from msgspec import UNSET, Struct, structs

from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports import summary as counted
from urdf_usd.reports.diagnosis import explanation
from urdf_usd.reports.html.rendering import CONVERTERS, template_environment
from urdf_usd.reports.html.site import write_comparison, write_history, write_site, write_suite
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import HistoryEntry, read_seconds, write_record
from urdf_usd.reports.text import one_line, plain

# Backgrounds for white text, with a contrast of at least 4.5.
_GOOD, _MIXED, _BAD, _NONE = "#1a7f37", "#9a6700", "#b3201a", "#57606a"
# Mean width of a letter of Verdana at eleven pixels.
_LETTER, _MARGIN = 6.6, 6.0
_MOST = 0.9
# Lengths of texts in JUnit and SARIF.
_LINE = 300
_SARIF_LINE = 1000
_WHOLE = "conversion"
# Comparison of a case of the feature suite with its expected values.
_CASE = "case"
_FINDINGS_IN_TEXT = 20
# With these there is a USD.
_WRITTEN = (r.CaseOutcome.PASS, r.CaseOutcome.FAIL)
_SKIPPED = (r.Verdict.UNREADABLE, r.Verdict.NOT_AVAILABLE, r.Verdict.INCOMPLETE)
# Elements of a test case with an outcome, and attributes of a suite that count them.
_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0"
# Rules of failing checks begin like this; `verdict` stands for all checks.
_RULE_OF_CHECK = "conformance/"
# Unreadable robots have diagnostics, and those that were not fetched have no file.
_WITHOUT_RULE_OF_CHECK = (r.Verdict.CRASHED, r.Verdict.NOT_COMPARABLE)

Json: TypeAlias = dict[str, object]


def write_report(
    summary: r.RunSummary,
    records: Sequence[r.RobotRecord],
    out: Path,
    history: Sequence[HistoryEntry] = (),
) -> tuple[counted.Figures | counted.Comparison, Path]:
    """Write all reports of a run into its folder; return what they show, and the first page."""
    if history:
        write_history(history, out)
    write_record(summary, out / "summary.json")
    write_junit(records, out / "junit.xml", summary)
    figures = _part(summary, records, next(one.name for one in summary.converters if one.gated))
    write_sarif(figures.robots, out / "findings.sarif", figures.summary.baseline)
    write_badges(figures, out)
    cases = write_suite(summary, records, out) is not None
    if len(summary.converters) <= 1:
        write_markdown(figures, out / "summary.md")
        return figures, write_site(figures, out, history=history, cases=cases)
    for converter in summary.converters:
        folder = out / CONVERTERS / converter.name
        folder.mkdir(parents=True, exist_ok=True)
        write_site(_part(summary, records, converter.name), folder, out / "scenes" / converter.name)
    compared = counted.compare(summary, records, conversion_times(records, out))
    write_markdown(compared, out / "summary.md")
    return compared, write_comparison(compared, out, has_history=bool(history))


def records_of(converter: str, records: Iterable[r.RobotRecord]) -> list[r.RobotRecord]:
    return [record for record in records if record.candidate == converter]


def conversion_times(records: Sequence[r.RobotRecord], out: Path) -> dict[tuple[str, str], float]:
    """Read the times of conversions [s], by converter and robot."""
    keys = [(record.candidate, record.id) for record in records]
    times = ((key, read_seconds(out, "/".join(key))) for key in keys)
    return {key: seconds for key, seconds in times if seconds is not None}


def _part(
    summary: r.RunSummary, records: Sequence[r.RobotRecord], converter: str
) -> counted.Figures:
    """Return the part of a run that concerns one converter."""
    own = next(one for one in summary.converters if one.name == converter)
    former, prefix = summary.former, f"{converter}/"
    if former and len(summary.converters) > 1:
        changes = tuple(
            structs.replace(one, subject=one.subject.removeprefix(prefix))
            for one in former.changes
            if one.subject.startswith(prefix)
        )
        former = structs.replace(former, changes=changes)
    part = structs.replace(
        summary,
        converters=(own,),
        verdicts=own.verdicts,
        baseline=own.baseline or (summary.baseline if own.gated else None),
        robots=tuple(robot for robot in summary.robots if robot.candidate == converter),
        former=former,
        suite=tuple(one for one in summary.suite if one.candidate == converter),
    )
    return counted.Figures.of(part, records_of(converter, records))


def write_markdown(run: counted.Figures | counted.Comparison, path: Path) -> None:
    """Write the counts of a run, what does not conform, and the largest differences."""
    content: dict[str, object] = {"headline": run.headline}
    name = "comparison.md.j2"
    if isinstance(run, counted.Figures):
        name, baseline = "summary.md.j2", run.summary.baseline
        changes = baseline.changes if baseline else ()
        content["failures"] = [(change, known) for change, rows in changes for known in rows]
    template = template_environment("md").get_template(name)
    text = template.render(**(structs.asdict(run) | content))
    path.write_text(text, encoding="utf-8", newline="\n")


def write_badges(figures: counted.Figures, folder: Path) -> None:
    """Write the badge of a run; unreadable and unavailable robots do not count.

    The title of ``badge.svg`` also has the number of compared values. ``badge.json`` is for
    the endpoint of shields.io: https://shields.io/badges/endpoint-badge
    """
    found = figures.conformance
    judged = found.judged
    text = f"{found.conforming} of {judged} conform" if judged else "no robots"
    if found.incomplete:
        text += f", {found.incomplete} incomplete"
    part = found.conforming / judged if judged else 0.0
    tone = _NONE if not judged else _GOOD if part == 1 else _MIXED if part >= _MOST else _BAD
    color = tone.removeprefix("#")
    label = _label(figures.robots)
    endpoint = {"schemaVersion": 1, "label": label, "message": text, "color": color}
    documents = {
        "badge.svg": _svg(label, text, f"{text}; {counted.values(figures.compared)}", tone),
        "badge.json": json.dumps(endpoint, ensure_ascii=False) + "\n",
    }
    for name, document in documents.items():
        (folder / name).write_text(document, encoding="utf-8", newline="\n")


def robot_badge(robot: r.RobotRecord) -> str:
    title = f"{robot.verdict}; {counted.values(robot.compared)}"
    return _svg(_label([robot]), robot.verdict.value, title, _GOOD)


def _label(robots: Iterable[r.RobotRecord]) -> str:
    """Name the formats that are compared with USD."""
    found = {"URDF" if one.formats is UNSET else one.formats[0].upper() for one in robots}
    return f"{' and '.join(sorted(found)) or 'URDF'} \u2192 USD"


def _svg(label: str, text: str, title: str, tone: str) -> str:
    left, right = (round(_LETTER * len(word) + 2 * _MARGIN, 1) for word in (label, text))
    template = template_environment().get_template("badge.svg.j2")
    content = {"label": label, "text": text, "title": title, "tone": tone}
    return f"{template.render(**content, left=left, right=right)}\n"


# JUnit


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
    root = ET.Element("testsuites", name=f"urdf-usd conformance: {counted.headline(robots)}")
    baselines = dict.fromkeys(candidates, summary.baseline if summary else None)
    if summary and several:
        baselines |= {one.name: one.baseline for one in summary.converters}
    expected = {name: counted.expected_failures(one) for name, one in baselines.items()}
    for robot in robots:
        identity = one_line(f"{robot.candidate}/{robot.id}" if several else robot.id, _LINE)
        suite = ET.SubElement(root, "testsuite", name=identity)
        for case in _cases(robot):
            name = one_line(case.name, _LINE)
            element = ET.SubElement(suite, "testcase", classname=identity, name=name)
            if case.assertions is not None:
                element.set("assertions", str(case.assertions))
            check = "verdict" if case.name in {_WHOLE, _CASE} else case.name
            reason = expected[robot.candidate].get((robot.id, check))
            if reason is not None and case.tag in {"failure", "error"}:
                case.message = f"expected: {reason} ({one_line(case.message, _LINE)})"
                case.tag, case.type = "skipped", ""
            if case.tag:
                outcome = ET.SubElement(element, case.tag, message=one_line(case.message, _LINE))
                outcome.text = case.text or None
                if case.type:
                    outcome.set("type", case.type)
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


def _cases(robot: r.RobotRecord) -> Iterator[_Case]:
    result, verdict = robot.case, robot.verdict
    checks = []
    for check in robot.checks:
        case = _Case(check.id, assertions=check.compared)
        case.message = check.reason or f"{check.title}: {check.grade}"
        if check.grade in counted.URGENT:
            if (message := counted.failure(check)) != check.title:
                case.message = message
            case.tag, case.type = "failure", check.grade
            case.text = "\n".join(explanation(check, robot, _FINDINGS_IN_TEXT))
        elif check.grade in {r.Grade.NOT_COMPARABLE, r.Grade.NOT_APPLICABLE}:
            case.tag = "skipped"
        checks.append(case)
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


# SARIF


def write_sarif(
    robots: Iterable[r.RobotRecord], path: Path, baseline: r.BaselineRecord | None = None
) -> None:
    """Write failing checks, diagnostics and lint findings of all robots.

    File names are relative to the robot's folder, not known here: a base id with its reference.
    """
    reported = [(robot, (*_failures(robot), *robot.diagnostics, *robot.lint)) for robot in robots]
    reported = [(robot, found) for robot, found in reported if found]
    remedies = {one.rule: one.remedy for _, found in reported for one in found}
    rules: list[Json] = [
        {"id": rule, **({"help": {"text": text}} if text else {})}
        for rule, text in sorted(remedies.items())
    ]
    expected = counted.expected_failures(baseline)
    found: list[tuple[r.DiagnosticRecord, Json | None, Json]] = []
    for robot, findings in reported:
        for one in findings:
            uri = quote(one.file or "", errors="replace")
            file: Json | None = {"uri": uri, "uriBaseId": robot.id} if one.file else None
            reason = expected.get((robot.id, one.rule.removeprefix(_RULE_OF_CHECK)))
            accepted = [{"kind": "external", "justification": reason}]
            found.append((one, file, {"suppressions": accepted} if reason else {}))
    known = (robot.environment.get(DISTRIBUTION) for robot, _ in reported)
    named = ((one.id, one_line(one.source.reference, _LINE)) for one, _ in reported)
    origins = {name: {"description": {"text": text}} for name, text in named}
    version = next(filter(None, known), None)
    text = sarif_document("run", version, rules, found, originalUriBaseIds=origins)
    # A name may contain lone surrogates, which UTF-8 cannot encode.
    path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))


def sarif_document(
    command: str,
    version: str | None,
    rules: Sequence[Json],
    findings: Iterable[tuple[r.DiagnosticRecord, Json | None, Json]],
    **further: object,
) -> str:
    """Encode rules, and findings of these, each with its file and further properties."""
    stated = {"version": version} if version else {}
    driver: Json = {"name": f"urdf-usd {command}", **stated, "rules": [*rules]}
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    results = []
    for one, file, more in findings:
        result: Json = {
            "ruleId": one.rule,
            "ruleIndex": index[one.rule],
            "level": one.severity if one.severity in {"error", "warning"} else "note",
            "message": {"text": one_line(one.message, _SARIF_LINE)},
            "occurrenceCount": one.count,
        }
        if file is not None:
            physical: Json = {"artifactLocation": file}
            if one.line:
                physical["region"] = {"startLine": one.line, "startColumn": one.column or 1}
            result["locations"] = [{"physicalLocation": physical}]
        results.append(result | more)
    tool = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
    document = {
        "$schema": f"{_SARIF}/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{**tool, **further, "results": results}],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _failures(robot: r.RobotRecord) -> Iterator[r.DiagnosticRecord]:
    messages = {
        check.id: f"{check.title} {check.grade.value}: {counted.failure(check)}"
        for check in robot.checks
        if check.grade in counted.URGENT
    }
    if not robot.checks and robot.verdict in _WITHOUT_RULE_OF_CHECK:
        messages = {"verdict": f"{robot.verdict.value}: {robot.reason}"}
    file = robot.source.files[0].path if robot.source.files else None
    for name, message in messages.items():
        yield r.DiagnosticRecord(
            rule=f"{_RULE_OF_CHECK}{name}", severity="error", message=message, file=file
        )
