"""One thing that a diagnostic can say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the closed list of things a diagnostic can say.

    Attributes:
        id: Stable identifier, never reused.
        severity: Severity of every diagnostic that cites the rule.
        summary: What is wrong, in one line.
        remedy: What the author of the file can do about it.
    """

    id: str
    severity: Severity
    summary: str
    remedy: str
