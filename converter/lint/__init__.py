"""What is likely wrong with a URDF file, beyond what keeps it from being read."""

from converter.lint.finding import Finding
from converter.lint.linting import LintReport, lint, lint_parsed
from converter.lint.repairs import REPAIRS, Repair, repairs
from converter.lint.rules import ALL_RULES, LINT_RULES
from converter.lint.spans import SpanError, apply_edits
from converter.lint.subject import read_document

__all__ = [
    "ALL_RULES",
    "LINT_RULES",
    "REPAIRS",
    "Finding",
    "LintReport",
    "Repair",
    "SpanError",
    "apply_edits",
    "lint",
    "lint_parsed",
    "read_document",
    "repairs",
]
