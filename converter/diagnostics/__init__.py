"""Diagnostics and errors about inputs.

A problem of an input is a :class:`Diagnostic`. Diagnostics of repaired problems are
returned with the result; all others are raised together, as one of:

* :class:`ConversionError`

  * :class:`SourceError`: invalid or unsupported URDF.
  * :class:`AuthoringError`: the robot is valid, but no USD can be written.
  * :class:`StageError`: invalid or unsupported USD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from urdf_usd.converter.diagnostics.rules import RULES, Severity


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
