"""Findings of lint as text, JSON and SARIF."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct, structs
from rich.text import Text

from urdf_usd.cli.output.console import SEVERITY_STYLES
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.messages import Alike, group_alike
from urdf_usd.converter.diagnostics.rules import ALL_RULES, Severity
from urdf_usd.converter.lint.fixes import FIXES
from urdf_usd.reports.records.environment import DISTRIBUTION
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, object]

JSON_VERSION = "1.0"
_SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SARIF_VERSION = "2.1.0"
_LONGEST = 1000


class LintedFile(Struct, frozen=True):
    """The findings in one file.

    Attributes:
        reference: The reference by which a user gets the file.
        path: The file.
        is_urdf: Whether it could be read as a robot at all.
        findings: In the order of the file.
    """

    reference: str
    path: Path
    is_urdf: bool
    findings: tuple[Diagnostic, ...]

    def narrowed(self, rules: Collection[str]) -> LintedFile:
        """Keep the findings of some rules, by identifier."""
        kept = tuple(finding for finding in self.findings if finding.rule in rules)
        return structs.replace(self, findings=kept)


def counts(files: Iterable[LintedFile]) -> dict[Severity, int]:
    """Count the findings of each severity, shown or not."""
    found = Counter(f.severity for file in files for f in file.findings)
    return {severity: found[severity] for severity in Severity}


def shown_path(file: str) -> str:
    """Return a path, relative to the working folder if the file is inside."""
    path = Path(file).absolute()
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def finding_lines(files: Sequence[LintedFile]) -> Iterator[Text]:
    """Yield a line per finding, the remedy of each rule once, and the counts."""
    explained: set[str] = set()
    for file in files:
        for alike in _grouped(file):
            finding = alike.one
            yield _line(file, alike)
            if finding.rule not in explained:
                yield Text(f"    {finding.remedy}", style="dim")
            explained.add(finding.rule)
    found = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity, count in counts(files).items()
        if count
    ]
    noun = "file" if len(files) == 1 else "files"
    yield Text(f"{', '.join(found) or 'no findings'} in {len(files)} {noun}")


def _grouped(file: LintedFile) -> tuple[Alike, ...]:
    return group_alike(file.findings)


def _line(file: LintedFile, alike: Alike) -> Text:
    finding = alike.one
    location = finding.location
    place = shown_path(location.file if location else str(file.path))
    if location:
        place += f":{location.line}:{location.column}"
    return Text.assemble(
        (f"{one_line(place, _LONGEST)}: ", "bold"),
        (f"{finding.severity}:", SEVERITY_STYLES[finding.severity]),
        f" {one_line(alike.described(finding.message), _LONGEST)} ",
        (f"[{finding.rule}]", "dim"),
    )


def rule_lines(rules: Collection[str]) -> Iterator[Text]:
    """Yield the id, severity and summary of each rule, and whether --fix repairs it."""
    width = max(map(len, rules))
    for name in sorted(rules):
        rule = ALL_RULES[name]
        yield Text.assemble(
            (f"{name:{width}}", "bold"),
            f"  {'fix' if name in FIXES else '   '}  ",
            (f"{rule.severity:7}", SEVERITY_STYLES[rule.severity]),
            f"  {rule.summary}",
        )


def findings_json(files: Sequence[LintedFile]) -> str:
    """Encode findings as one JSON object."""
    document = {
        "schema_version": JSON_VERSION,
        "counts": {str(severity): count for severity, count in counts(files).items()},
        "files": [
            {
                "reference": file.reference,
                "file": shown_path(str(file.path)),
                "is_urdf": file.is_urdf,
                "findings": [_json_finding(file, alike) for alike in _grouped(file)],
            }
            for file in files
        ],
    }
    return json.dumps(document, indent=1)


def _json_finding(file: LintedFile, alike: Alike) -> Json:
    finding = alike.one
    location = finding.location
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "message": alike.described(finding.message),
        "count": alike.count,
        "remedy": finding.remedy,
        "file": shown_path(location.file if location else str(file.path)),
        "line": location.line if location else None,
        "column": location.column if location else None,
    }


def findings_sarif(files: Sequence[LintedFile], rules: Collection[str]) -> str:
    """Encode findings as SARIF 2.1.0, which code hosts and editors display.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

    Args:
        files: What was found.
        rules: Identifiers of the rules that were checked, with or without findings.
    """
    order = sorted(rules)
    index = {rule: number for number, rule in enumerate(order)}
    run = {
        "tool": {
            "driver": {
                "name": "urdf-usd lint",
                "version": metadata.version(DISTRIBUTION),
                "rules": [
                    {
                        "id": rule.id,
                        "shortDescription": {"text": rule.summary},
                        "help": {"text": rule.remedy},
                        "defaultConfiguration": {"level": str(rule.severity)},
                    }
                    for rule in map(ALL_RULES.__getitem__, order)
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": _uri(str(file.path))}} for file in files],
        "results": [
            _sarif_result(file, alike, index[alike.one.rule])
            for file in files
            for alike in _grouped(file)
        ],
    }
    document = {"$schema": _SARIF_SCHEMA, "version": _SARIF_VERSION, "runs": [run]}
    return json.dumps(document, indent=1)


def _sarif_result(file: LintedFile, alike: Alike, rule_index: int) -> Json:
    finding = alike.one
    location = finding.location
    physical: Json = {
        "artifactLocation": {"uri": _uri(location.file if location else str(file.path))}
    }
    if location:
        start: Json = {"startLine": location.line, "startColumn": location.column}
        physical["region"] = start
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": str(finding.severity),
        "message": {"text": alike.described(finding.message)},
        "occurrenceCount": alike.count,
        "locations": [{"physicalLocation": physical}],
    }


def _uri(file: str) -> str:
    """Return a URI, relative to the working folder if the file is inside."""
    shown = Path(shown_path(file))
    return shown.absolute().as_uri() if shown.is_absolute() else quote(shown.as_posix())
