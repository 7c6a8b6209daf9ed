"""Diagnostics and errors about inputs, and the table of rules that they cite.

A problem of an input is a :class:`Diagnostic`. Diagnostics of repaired problems are
returned with the result; all others are raised together, as one of:

* :class:`ConversionError`

  * :class:`SourceError`: invalid or unsupported URDF.
  * :class:`AuthoringError`: the robot is valid, but no USD can be written.
  * :class:`StageError`: invalid or unsupported USD.

``python -m`` this module prints docs/rules.md.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

LONG_TEXT = 300
_MOST_FAULTS = 20
# Diagnostics of one rule that are reported each; further ones are counted.
MOST_ALIKE = 100


# Rules


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
    fate: str = ""  # ``left out`` if something of the robot is, by this message


_TABLE = {
    subject: tuple(
        Rule(name, Severity(severity), *texts) for name, (severity, *texts) in rows.items()
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


# Diagnostics and errors


class Location(Struct, frozen=True):
    """A position in a source file."""

    file: str  # path of the file
    line: int  # from 1
    column: int  # from 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Diagnostic(Struct, frozen=True):
    """A problem of an input."""

    rule: str  # identifier of an entry of :data:`RULES`
    message: str  # description that names the element
    location: Location | None = None  # position, if the input is a text file

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}")

    @property
    def severity(self) -> Severity:
        """Severity of the rule."""
        return RULES[self.rule].severity

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return RULES[self.rule].remedy

    @property
    def advice(self) -> str:
        """The message, for an error with the remedy."""
        if self.severity != "error":
            return self.message
        return f"{self.message}. {self.remedy}"

    def __str__(self) -> str:
        """Return one line, for an error with the remedy."""
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity}: {self.advice} [{self.rule}]"


class Notes(list[Diagnostic]):
    """Diagnostics that are collected."""

    def add(self, rule: str, where: Any, message: str) -> None:  # noqa: ANN401  has a location
        self.append(Diagnostic(rule, message, where.location))


def by_location(diagnostic: Diagnostic) -> tuple[str, int, int]:
    """Return a key that sorts diagnostics in document order."""
    location = diagnostic.location
    return (location.file, location.line, location.column) if location else ("", 0, 0)


class ConversionError(Exception):
    """Invalid or unsupported input.

    Attributes:
        diagnostics: All diagnostics of the input; at least one is an error.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[ConversionError], tuple[object, ...]]:
        return type(self), (self.diagnostics,)


class SourceError(ConversionError):
    """Invalid or unsupported URDF."""


@contextmanager
def with_notes(notes: Sequence[Diagnostic]) -> Iterator[None]:
    """Add the diagnostics of earlier steps to an error that is raised inside."""
    try:
        yield
    except ConversionError as error:
        raise type(error)((*notes, *error.diagnostics)) from error


class AuthoringError(ConversionError):
    """The robot is valid, but no USD can be written from it."""


class StageError(ConversionError):
    """Invalid or unsupported USD."""


# Texts


class Alike(Struct, frozen=True):
    """One diagnostic, or the last of several with the same rule, and their number."""

    one: Diagnostic
    count: int

    def described(self, message: str) -> str:
        """Return a message about it, with the number of those that it stands for."""
        if self.count == 1:
            return message
        return f"{self.count:,} more, the last of them: {message}"


def group_alike(found: Sequence[Diagnostic]) -> tuple[Alike, ...]:
    """Keep the first 100 of each rule, and the last for all others, in order.

    A generated file may have an unknown attribute in each of a million elements.
    """
    totals = Counter(one.rule for one in found)
    seen: Counter[str] = Counter()
    kept = []
    for one in found:
        seen[one.rule] += 1
        if seen[one.rule] <= MOST_ALIKE:
            kept.append(Alike(one, 1))
        elif seen[one.rule] == totals[one.rule]:
            kept.append(Alike(one, totals[one.rule] - MOST_ALIKE))
    return tuple(kept)


def escaped(path: str | os.PathLike[str]) -> str:
    """Return a path as UTF-8 text; other bytes are escaped.

    Python decodes them as lone surrogates, which OpenUSD and JSON refuse.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def truncate(text: str, longest: int = 80) -> str:
    """Shorten a text to a number of characters; ``...`` replaces the rest."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def truncate_list(faults: Iterable[str]) -> tuple[str, ...]:
    """Return distinct texts, truncated; of many the first 20 and the number of others."""
    distinct = [truncate(fault, LONG_TEXT) for fault in dict.fromkeys(faults)]
    if others := len(distinct[_MOST_FAULTS:]):
        distinct[_MOST_FAULTS:] = [f"there are {others} more faults"]
    return tuple(distinct)


def times(count: int) -> str:
    """Return ``once``, or ``N times``."""
    return "once" if count == 1 else f"{count} times"


# The page of all rules

_INTRODUCTION = """\
# Rules

Diagnostics of `urdf-usd` for files that it reads or writes. An *error* refuses the file; all errors of a file are reported together.
A *warning* reports a repair or an omission; with `--strict` it is an error. A *note* reports a decision.
Identifiers are stable and never get another meaning. `urdf-usd lint` reports these diagnostics too, and [more](lint.md).

<!-- Generated: python -m urdf_usd.converter.diagnostics > docs/rules.md -->"""  # noqa: E501  a paragraph of a page
_HEAD = """\
| rule | severity | with `--strict` | meaning | remedy |
|---|---|---|---|---|"""


def rules_page() -> str:
    """Return the page in Markdown."""
    page = [_INTRODUCTION]
    for subject, rules in SUBJECTS.items():
        rows = [_HEAD]
        for rule in rules:
            strict = Severity.ERROR if rule.severity is Severity.WARNING else rule.severity
            cells = (f"`{rule.id}`", rule.severity, strict, rule.summary, rule.remedy)
            row = " | ".join(cell.replace("|", "\\|") for cell in cells)
            escaped_row = row.replace("&", "&amp;").replace("<", "\\<")
            rows.append(f"| {escaped_row} |")
        page += [f"## {subject}", "\n".join(rows)]
    return "\n\n".join(page) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rules_page())
