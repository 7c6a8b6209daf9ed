"""The type of a rule."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """Severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(Struct, frozen=True):
    """A kind of problem.

    Attributes:
        id: Stable identifier, never reused.
        severity: Severity of all diagnostics that cite the rule.
        summary: The problem and what is done about it, in one line.
        remedy: Action for the author of the file.
    """

    id: str
    severity: Severity
    summary: str
    remedy: str
