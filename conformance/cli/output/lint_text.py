"""Findings as lines of text, one each, with the remedy of a rule where it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from urdf_usd.conformance.cli.output.console import SEVERITY_STYLES
from urdf_usd.conformance.cli.output.lint_files import counts, shown_path
from urdf_usd.converter.lint import ALL_RULES, REPAIRS
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from urdf_usd.conformance.cli.output.lint_files import LintedFile
    from urdf_usd.converter.lint import Finding

_LONGEST = 1000


def finding_lines(files: Sequence[LintedFile]) -> Iterator[Text]:
    """Write every finding, and the sum of them."""
    explained: set[str] = set()
    for file in files:
        for finding in file.findings:
            yield _line(file, finding)
            if finding.rule.id not in explained:
                yield Text(f"    {finding.rule.remedy}", style="dim")
            explained.add(finding.rule.id)
    yield _summary(files)


def rule_lines(rules: Collection[str]) -> Iterator[Text]:
    """Write what each rule says, and whether --fix repairs it."""
    width = max(map(len, rules))
    for name in sorted(rules):
        rule = ALL_RULES[name]
        yield Text.assemble(
            (f"{name:{width}}", "bold"),
            f"  {'fix' if name in REPAIRS else '   '}  ",
            (f"{rule.severity:7}", SEVERITY_STYLES[rule.severity]),
            f"  {rule.summary}",
        )


def _line(file: LintedFile, finding: Finding) -> Text:
    rule, location = finding.rule, finding.location
    place = shown_path(location.file if location else str(file.path))
    if location:
        place += f":{location.line}:{location.column}"
    return Text.assemble(
        (f"{one_line(place, _LONGEST)}: ", "bold"),
        (f"{rule.severity}:", SEVERITY_STYLES[rule.severity]),
        f" {one_line(finding.message, _LONGEST)} ",
        (f"[{rule.id}]", "dim"),
    )


def _summary(files: Sequence[LintedFile]) -> Text:
    found = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity, count in counts(files).items()
        if count
    ]
    files_word = "file" if len(files) == 1 else "files"
    return Text(f"{', '.join(found) or 'no findings'} in {len(files)} {files_word}")
