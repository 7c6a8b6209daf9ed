"""All findings of one file: the reader's, and those of the rules here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.diagnostics.findings import drain
from urdf_usd.converter.diagnostics.rules import RULES
from urdf_usd.converter.lint.checks import DOCUMENT_CHECKS, SPECIMEN_CHECKS
from urdf_usd.converter.lint.finding import Finding
from urdf_usd.converter.lint.rules import LINT_RULES
from urdf_usd.converter.lint.subject import document_of, examine
from urdf_usd.converter.urdf.markup import read_markup
from urdf_usd.converter.urdf.parse import parse_markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from urdf_usd.converter.diagnostics import Diagnostic
    from urdf_usd.converter.lint.finding import Remark
    from urdf_usd.converter.lint.subject import Document, Specimen
    from urdf_usd.converter.urdf.parse import Parsed


@dataclass(frozen=True, slots=True)
class LintReport:
    """What lint says of one file.

    Attributes:
        findings: In the order of the file.
        is_urdf: Whether the file is the markup of a robot at all, if perhaps of one
            that cannot be built.
    """

    findings: tuple[Finding, ...]
    is_urdf: bool


def lint(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
) -> LintReport:
    """Examine a URDF file, or the expansion of a xacro file.

    Args:
        path: The file; findings name it as it is given here.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
    """
    file = os.fspath(path)
    found: list[Finding] = []
    try:
        # Once for all: the expansion of xacro takes longer than anything else.
        markup, said = drain(read_markup(file, packages, arguments))
    except SourceError as error:
        return LintReport(_in_order(_reported(error.diagnostics)), is_urdf=False)
    found += _reported(said)
    try:
        parsed = parse_markup(markup, file, packages=packages)
    except SourceError as error:
        found += _reported(error.diagnostics)
    else:
        found += _robot_findings(parsed)
    document = document_of(markup, file)
    if document:
        found += _document_findings(document)
    return LintReport(_in_order(found), document is not None)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Finding, ...]:
    """Examine a file that has been read already.

    Args:
        parsed: What the file says.
        path: The file; findings name it as it is given here.
    """
    found = _robot_findings(parsed)
    document = document_of(parsed.markup, os.fspath(path))
    if document:
        found += _document_findings(document)
    return _in_order(found)


def _robot_findings(parsed: Parsed) -> list[Finding]:
    specimen = examine(parsed.robot)
    said = (*parsed.diagnostics, *specimen.meshes.diagnostics)
    return [*_reported(said), *_specimen_findings(specimen)]


def _reported(diagnostics: Iterable[Diagnostic]) -> Iterator[Finding]:
    for diagnostic in diagnostics:
        rule = RULES[diagnostic.rule]
        yield Finding(rule, diagnostic.message, diagnostic.location)


def _document_findings(document: Document) -> Iterator[Finding]:
    for rule, check in DOCUMENT_CHECKS.items():
        yield from _cited(rule, check(document))


def _specimen_findings(specimen: Specimen) -> Iterator[Finding]:
    for rule, check in SPECIMEN_CHECKS.items():
        yield from _cited(rule, check(specimen))


def _cited(rule: str, remarks: Iterable[Remark]) -> Iterator[Finding]:
    for remark in remarks:
        yield Finding(LINT_RULES[rule], remark.message, remark.location)


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=_place))


def _place(finding: Finding) -> tuple[str, int, int]:
    location = finding.location
    return (location.file, location.line, location.column) if location else ("", 0, 0)
