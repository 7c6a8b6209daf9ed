"""Lint: probable mistakes in URDF files that are valid."""

from urdf_usd.converter.lint.finding import Finding
from urdf_usd.converter.lint.linting import LintReport, lint, lint_parsed
from urdf_usd.converter.lint.repairs import REPAIRS, Repair, repairs
from urdf_usd.converter.lint.rules import ALL_RULES, LINT_RULES
from urdf_usd.converter.lint.spans import SpanError, apply_edits
from urdf_usd.converter.lint.subject import read_document

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
