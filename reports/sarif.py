"""Findings in URDF files as SARIF 2.1.0, which code forges show beside the lines.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from conformance.record import DiagnosticRecord, RobotRecord

Json: TypeAlias = dict[str, object]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"
_TOOL = "urdf-usd run"
_LEVELS = {"error": "error", "warning": "warning"}
_MESSAGE_LIMIT = 1000


def write_sarif(robots: Iterable[RobotRecord], path: Path) -> None:
    """Write what the reader of URDF noticed, of all robots.

    Files are named relative to the robot's own folder, which only the reader of the
    report knows: each robot is a base of its own, described by its reference.
    """
    told = [robot for robot in robots if robot.diagnostics]
    rules = sorted({found.rule for robot in told for found in robot.diagnostics})
    index = {rule: number for number, rule in enumerate(rules)}
    run: Json = {
        "tool": {"driver": {"name": _TOOL, "rules": [{"id": rule} for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            robot.id: {
                "description": {"text": one_line(robot.source.reference, 300)},
            }
            for robot in told
        },
        "results": [
            _result(robot, found, index[found.rule])
            for robot in told
            for found in robot.diagnostics
        ],
    }
    text = json.dumps(
        {"$schema": _SCHEMA, "version": _VERSION, "runs": [run]},
        indent=1,
        ensure_ascii=False,
    )
    # A name may hold halves of characters, which UTF-8 has no bytes for.
    path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))


def _result(robot: RobotRecord, found: DiagnosticRecord, rule: int) -> Json:
    result: Json = {
        "ruleId": found.rule,
        "ruleIndex": rule,
        "level": _LEVELS.get(found.severity, "note"),
        "message": {"text": one_line(found.message, _MESSAGE_LIMIT)},
    }
    if found.file:
        physical: Json = {
            "artifactLocation": {
                "uri": quote(found.file, errors="replace"),
                "uriBaseId": robot.id,
            }
        }
        if found.line:
            physical["region"] = {
                "startLine": found.line,
                "startColumn": found.column or 1,
            }
        result["locations"] = [{"physicalLocation": physical}]
    return result
