"""The rules that diagnostics and lint cite, each with a stable id and a severity.

``python -m`` this module prints docs/rules.md.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct


class Severity(StrEnum):
    """Severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(Struct, frozen=True):
    """A kind of problem; the table is rules.toml."""

    id: str
    severity: Severity
    summary: str
    remedy: str


_TABLE = {
    subject: tuple(
        Rule(name, Severity(severity), summary, remedy)
        for name, (severity, summary, remedy) in rows.items()
    )
    for subject, rows in tomllib.loads(
        Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    ).items()
}
_LINT = "Lint"
SUBJECTS: Mapping[str, tuple[Rule, ...]] = {
    subject: rules for subject, rules in _TABLE.items() if subject != _LINT
}
"""Rules of diagnostics of files that are read or written, by subject."""
RULES: Mapping[str, Rule] = {rule.id: rule for rules in _TABLE.values() for rule in rules}
LINT_RULES: Mapping[str, Rule] = {rule.id: rule for rule in _TABLE[_LINT]}
# Diagnostics about a URDF that lint reports; of those about mass the ones of the text.
_NOT_READ = ("Simulation settings files", "USD that is written", "USD that is read")
_MASS = "Mass and inertia"
_READ_MASS = ("mass-negative", "mass-missing", "inertia-missing")
READER_RULES: Mapping[str, Rule] = {
    rule.id: rule
    for subject, rules in SUBJECTS.items()
    for rule in rules
    if subject not in _NOT_READ and (subject != _MASS or rule.id in _READ_MASS)
}
ALL_RULES: Mapping[str, Rule] = {**READER_RULES, **LINT_RULES}

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
