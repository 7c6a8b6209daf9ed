"""Prints the page of all rules: ``python -m urdf_usd.converter.diagnostics.rules``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics.rules import SUBJECTS
from urdf_usd.converter.diagnostics.rules.rule import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.converter.diagnostics.rules.rule import Rule


_INTRODUCTION = """\
# Rules

What `urdf-usd` says of a file that it reads or writes. An *error* refuses the file; all errors of a file are said at once.
A *warning* says what was repaired or left out, and how; with `--strict` it is an error. A *note* says what was decided.
Identifiers are stable: they are never given another meaning. `urdf-usd lint` says these things too, and [more](lint.md).

<!-- Generated: python -m urdf_usd.converter.diagnostics.rules > docs/rules.md -->"""  # noqa: E501  a paragraph of a page
_HEAD = """\
| rule | severity | with `--strict` | what it says | what to do |
|---|---|---|---|---|"""


def rules_page() -> str:
    """Return the page in Markdown, ending in a line end."""
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
