"""What can be wrong with an input, and how it is said.

Bad input becomes a :class:`Diagnostic`. What can be repaired is returned with the
result; what cannot is raised, all of it at once, as one of:

* :class:`ConversionError`

  * :class:`SourceError`: the URDF cannot be understood.
  * :class:`AuthoringError`: the robot is understood, but no USD can be written.
  * :class:`StageError`: the USD cannot be understood.
"""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.converter.diagnostics.rules import RULES, Severity


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file.

    Attributes:
        file: Path of the file.
        line: From 1.
        column: From 1.
        copy: Which of the elements that a macro made of this place is meant, from 0.
    """

    file: str
    line: int
    column: int
    copy: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One statement about an input.

    Attributes:
        rule: Identifier of an entry of :data:`RULES`.
        message: What is wrong here, naming the element.
        location: Where, if the input is a text file.
    """

    rule: str
    message: str
    location: Location | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}")

    @property
    def severity(self) -> Severity:
        """Severity of the rule that is cited."""
        return RULES[self.rule].severity

    @property
    def advice(self) -> str:
        """The message, and for an error what to do about it."""
        if self.severity != "error":
            return self.message
        return f"{self.message}. {RULES[self.rule].remedy}"

    def __str__(self) -> str:
        """One line; an error says what to do about it."""
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity}: {self.advice} [{self.rule}]"


class ConversionError(Exception):
    """The input has no meaning that could be kept.

    Attributes:
        diagnostics: Everything that was found, at least one of it an error.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[ConversionError], tuple[object, ...]]:
        return type(self), (self.diagnostics,)


class SourceError(ConversionError):
    """The URDF cannot be understood."""


class AuthoringError(ConversionError):
    """The robot is understood, but no USD can be written from it."""


class StageError(ConversionError):
    """The USD cannot be understood."""
