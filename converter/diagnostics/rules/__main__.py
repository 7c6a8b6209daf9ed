"""Prints docs/rules.md: ``python -m urdf_usd.converter.diagnostics.rules``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from urdf_usd.converter.diagnostics.rules import SUBJECTS
from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_INTRODUCTION = """\
# Rules

Diagnostics of `urdf-usd` for files that it reads or writes. An *error* refuses the file; all errors of a file are reported together.
A *warning* reports a repair or an omission; with `--strict` it is an error. A *note* reports a decision.
Identifiers are stable and never get another meaning. `urdf-usd lint` reports these diagnostics too, and [more](lint.md).

<!-- Generated: python -m urdf_usd.converter.diagnostics.rules > docs/rules.md -->"""  # noqa: E501  a paragraph of a page
_HEAD = """\
| rule | severity | with `--strict` | meaning | remedy |
|---|---|---|---|---|"""


def rules_page() -> str:
    """Return the page in Markdown."""
    return "\n\n".join((_INTRODUCTION, *_sections())) + "\n"


def _sections() -> Iterator[str]:
    for subject, rules in SUBJECTS.items():
        yield f"## {subject}"
        yield "\n".join((_HEAD, *map(_row, rules)))


def _row(rule: Rule) -> str:
    strict = Severity.ERROR if rule.severity is Severity.WARNING else rule.severity
    cells = (
        f"`{rule.id}`",
        rule.severity.value,
        strict.value,
        _escaped(rule.summary),
        _escaped(rule.remedy),
    )
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "\\<").replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(rules_page())
