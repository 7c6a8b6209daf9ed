"""Failing checks, diagnostics and lint findings of a run as SARIF 2.1.0.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from urdf_usd.reports.records.record import (
    BaselineRecord,
    DiagnosticRecord,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.summary import URGENT, expected_failures, failure
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, object]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_VERSION = "2.1.0"
_TOOL = "urdf-usd run"
_DISTRIBUTION = "urdf-usd-conformance"
_LEVELS = {"error": "error", "warning": "warning"}
_MESSAGE_LIMIT = 1000


# Rules of failing checks begin like this; `verdict` stands for all checks.
_CHECKS = "conformance/"
_VERDICT = "verdict"
# Unreadable robots have diagnostics, and those that were not fetched have no file.
_WITHOUT_CHECKS = (Verdict.CRASHED, Verdict.NOT_COMPARABLE)


def write_sarif(
    robots: Iterable[RobotRecord], path: Path, baseline: BaselineRecord | None = None
) -> None:
    """Write failing checks, diagnostics and lint findings of all robots.

    File names are relative to the robot's folder, which is not known here: each robot
    has its own base id, described by its reference. Failing checks concern the whole
    URDF file; those that a baseline expects are suppressed, with its reason.
    """
    reported = [(robot, (*_failures(robot), *robot.diagnostics, *robot.lint)) for robot in robots]
    reported = [(robot, found) for robot, found in reported if found]
    remedies = {one.rule: one.remedy for _, found in reported for one in found}
    index = {rule: number for number, rule in enumerate(sorted(remedies))}
    rules = [
        {"id": rule} | ({"help": {"text": remedies[rule]}} if remedies[rule] else {})
        for rule in index
    ]
    expected = expected_failures(baseline)
    results = []
    for robot, found in reported:
        for one in found:
            uri = quote(one.file or "", errors="replace")
            file: Json | None = {"uri": uri, "uriBaseId": robot.id} if one.file else None
            result = sarif_result(one, index[one.rule], file)
            if reason := expected.get((robot.id, one.rule.removeprefix(_CHECKS))):
                result["suppressions"] = [{"kind": "external", "justification": reason}]
            results.append(result)
    known = (robot.environment.get(_DISTRIBUTION) for robot, _ in reported)
    version = next(filter(None, known), None)
    driver: Json = {"name": _TOOL, **({"version": version} if version else {}), "rules": rules}
    origins = {
        robot.id: {"description": {"text": one_line(robot.source.reference, 300)}}
        for robot, _ in reported
    }
    text = sarif_document(driver, results, originalUriBaseIds=origins)
    # A name may contain lone surrogates, which UTF-8 cannot encode.
    path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))


def sarif_document(driver: Json, results: list[Json], **further: object) -> str:
    """Encode results as one run of a tool."""
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        **further,
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=False)


def sarif_result(finding: DiagnosticRecord, rule_index: int, file: Json | None) -> Json:
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS.get(finding.severity, "note"),
        "message": {"text": one_line(finding.message, _MESSAGE_LIMIT)},
        "occurrenceCount": finding.count,
    }
    if file is not None:
        physical: Json = {"artifactLocation": file}
        if finding.line:
            physical["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _failures(robot: RobotRecord) -> Iterator[DiagnosticRecord]:
    """Yield failing checks, as diagnostics of the URDF file."""
    messages = {
        check.id: f"{check.title} {check.grade.value}: {failure(check)}"
        for check in robot.checks
        if check.grade in URGENT
    }
    if not robot.checks and robot.verdict in _WITHOUT_CHECKS:
        messages = {_VERDICT: f"{robot.verdict.value}: {robot.reason}"}
    file = robot.source.files[0].path if robot.source.files else None
    for name, message in messages.items():
        yield DiagnosticRecord(
            rule=f"{_CHECKS}{name}", severity="error", message=message, file=file
        )
