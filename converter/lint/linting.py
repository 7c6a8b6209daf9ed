"""Lint of a URDF file: diagnostics of the parser, and rules about probable mistakes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, SourceError, by_location
from urdf_usd.converter.lint.document_rules import DOCUMENT_CHECKS, UrdfDocument, document_of
from urdf_usd.converter.lint.robot_rules import ROBOT_CHECKS, measure_robot
from urdf_usd.converter.urdf.parse import Parsed, read_markup, robot_of


class LintReport(Struct, frozen=True):
    """Diagnostics of one file, in document order.

    Attributes:
        findings: Of the parser and of the rules.
        is_urdf: Whether the root element is a robot, possibly an invalid one.
    """

    findings: tuple[Diagnostic, ...]
    is_urdf: bool


def lint(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: Collection[str] = (),
) -> LintReport:
    """Check a URDF file, or the expansion of a xacro file.

    Args:
        path: The file, named in findings as given.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
    """
    file = os.fspath(path)
    findings: list[Diagnostic] = []
    try:
        # Read once, because the expansion of xacro is slow.
        markup = read_markup(file, packages, arguments, environment, findings)
    except SourceError as error:
        findings += error.diagnostics
        return LintReport(_in_order(findings), is_urdf=False)
    try:
        parsed = robot_of(markup, file, packages=packages)
    except SourceError as error:
        findings += error.diagnostics
    else:
        findings += _robot_findings(parsed)
    document = document_of(markup, file)
    if document:
        findings += _document_findings(document)
    return LintReport(_in_order(findings), document is not None)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Check a file that was already parsed.

    Args:
        parsed: The parsed file.
        path: The file, named in findings as given.
    """
    document = document_of(parsed.markup, os.fspath(path))
    of_document = _document_findings(document) if document else ()
    return _in_order([*_robot_findings(parsed), *of_document])


def _robot_findings(parsed: Parsed) -> Iterator[Diagnostic]:
    measured = measure_robot(parsed.robot)
    yield from parsed.diagnostics
    yield from measured.meshes.diagnostics
    for rule, check in ROBOT_CHECKS.items():
        for message, location in check(measured):
            yield Diagnostic(rule, message, location)


def _document_findings(document: UrdfDocument) -> Iterator[Diagnostic]:
    for rule, check in DOCUMENT_CHECKS.items():
        for message, location in check(document):
            yield Diagnostic(rule, message, location)


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=by_location))
