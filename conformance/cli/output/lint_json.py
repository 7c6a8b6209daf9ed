"""Findings as JSON: one object, whose form ``schema_version`` names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from urdf_usd.conformance.cli.output.lint_files import counts, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.cli.output.lint_files import LintedFile
    from urdf_usd.converter.lint import Finding

SCHEMA_VERSION = "1.0"


def findings_json(files: Sequence[LintedFile]) -> str:
    """Encode what was found in files."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "counts": {str(severity): count for severity, count in counts(files).items()},
        "files": [
            {
                "reference": file.reference,
                "file": shown_path(str(file.path)),
                "is_urdf": file.is_urdf,
                "findings": [_finding(file, finding) for finding in file.findings],
            }
            for file in files
        ],
    }
    return json.dumps(document, indent=1)


def _finding(file: LintedFile, finding: Finding) -> dict[str, object]:
    location = finding.location
    return {
        "rule": finding.rule.id,
        "severity": str(finding.rule.severity),
        "message": finding.message,
        "remedy": finding.rule.remedy,
        "file": shown_path(location.file if location else str(file.path)),
        "line": location.line if location else None,
        "column": location.column if location else None,
    }
