"""Findings as SARIF 2.1.0, which code forges and editors show beside the lines.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, TypeAlias

from urdf_usd.conformance.cli.output.lint_files import uri
from urdf_usd.conformance.records.environment import DISTRIBUTION
from urdf_usd.converter.lint import ALL_RULES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from urdf_usd.conformance.cli.output.lint_files import LintedFile
    from urdf_usd.converter.diagnostics.rules import Rule
    from urdf_usd.converter.lint import Finding

Json: TypeAlias = dict[str, object]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"


def findings_sarif(files: Sequence[LintedFile], rules: Collection[str]) -> str:
    """Encode one run of lint.

    Args:
        files: What was found.
        rules: Identifiers of the rules that were asked for, found broken or not.
    """
    order = sorted(rules)
    index = {rule: number for number, rule in enumerate(order)}
    run = {
        "tool": {
            "driver": {
                "name": "urdf-usd lint",
                "version": metadata.version(DISTRIBUTION),
                "rules": [_rule(ALL_RULES[rule]) for rule in order],
            }
        },
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": uri(str(file.path))}} for file in files],
        "results": [
            _result(file, finding, index[finding.rule.id])
            for file in files
            for finding in file.findings
        ],
    }
    return json.dumps(
        {"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}, indent=1
    )


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(file: LintedFile, finding: Finding, rule_index: int) -> Json:
    location = finding.location
    physical: Json = {
        "artifactLocation": {"uri": uri(location.file if location else str(file.path))}
    }
    if location:
        start: Json = {"startLine": location.line, "startColumn": location.column}
        physical["region"] = start
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": rule_index,
        "level": str(finding.rule.severity),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": physical}],
    }
