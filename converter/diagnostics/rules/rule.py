"""The type of a rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
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
