"""Diagnostics and lint findings of a run as SARIF 2.1.0, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from urdf_usd.conformance.records.record import DiagnosticRecord, RobotRecord
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, object]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"
_TOOL = "urdf-usd run"
_DISTRIBUTION = "urdf-usd-conformance"
_LEVELS = {"error": "error", "warning": "warning"}
_MESSAGE_LIMIT = 1000


def write_sarif(robots: Iterable[RobotRecord], path: Path) -> None:
    """Write the diagnostics and lint findings of all robots.

    File names are relative to the robot's folder, which is not known here: each robot
    has its own base id, described by its reference.
    """
    reported = [robot for robot in robots if _findings(robot)]
    remedies = {one.rule: one.remedy for robot in reported for one in _findings(robot)}
    index = {rule: number for number, rule in enumerate(sorted(remedies))}
    rules = [_rule(rule, remedies[rule]) for rule in index]
    run: Json = {
        "tool": {"driver": {"name": _TOOL, **_version(reported), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            robot.id: {
                "description": {"text": one_line(robot.source.reference, 300)},
            }
            for robot in reported
        },
        "results": [
            _result(robot, finding, index[finding.rule])
            for robot in reported
            for finding in _findings(robot)
        ],
    }
    text = json.dumps(
        {"$schema": _SCHEMA, "version": _VERSION, "runs": [run]},
        indent=1,
        ensure_ascii=False,
    )
    # A name may contain lone surrogates, which UTF-8 cannot encode.
    path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))


def _findings(robot: RobotRecord) -> tuple[DiagnosticRecord, ...]:
    return robot.diagnostics + robot.lint


def _version(robots: Iterable[RobotRecord]) -> Json:
    known = (robot.environment.get(_DISTRIBUTION) for robot in robots)
    version = next(filter(None, known), None)
    return {"version": version} if version else {}


def _rule(identifier: str, remedy: str | None) -> Json:
    return {"id": identifier} | ({"help": {"text": remedy}} if remedy else {})


def _result(robot: RobotRecord, finding: DiagnosticRecord, rule: int) -> Json:
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS.get(finding.severity, "note"),
        "message": {"text": one_line(finding.message, _MESSAGE_LIMIT)},
        "occurrenceCount": finding.count,
    }
    if finding.file:
        physical: Json = {
            "artifactLocation": {
                "uri": quote(finding.file, errors="replace"),
                "uriBaseId": robot.id,
            }
        }
        if finding.line:
            physical["region"] = {
                "startLine": finding.line,
                "startColumn": finding.column or 1,
            }
        result["locations"] = [{"physicalLocation": physical}]
    return result
