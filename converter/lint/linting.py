"""Findings of a file: diagnostics of the parser, and breaches of the rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.diagnostics.rules import LINT_RULES, RULES
from urdf_usd.converter.lint import (
    appearance,
    frames,
    joints,
    limits,
    masses,
    meshes,
    names,
)
from urdf_usd.converter.lint.finding import Breach, Breaches, Finding
from urdf_usd.converter.lint.subject import (
    MeasuredRobot,
    UrdfDocument,
    document_of,
    measure_robot,
)
from urdf_usd.converter.urdf.markup import read_markup
from urdf_usd.converter.urdf.parse import Parsed, parse_markup

DocumentCheck: TypeAlias = Callable[[UrdfDocument], Breaches]
RobotCheck: TypeAlias = Callable[[MeasuredRobot], Breaches]

# Checks of the elements, also if the robot is invalid.
DOCUMENT_CHECKS: Mapping[str, DocumentCheck] = {
    "inertia-zero": masses.zero_inertia,
    "joint-axis-unnormalised": joints.axis_not_normalised,
    "joint-axis-implicit": joints.axis_implicit,
    "joint-limit-unrated": limits.without_rating,
    "joint-effort-zero": limits.zero_effort,
    "joint-velocity-zero": limits.zero_velocity,
    "joint-range-empty": limits.empty_range,
    "joint-zero-outside": limits.zero_outside,
    "joint-limit-degrees": limits.limits_in_degrees,
    "joint-limit-turns": limits.several_turns,
    "safety-incomplete": limits.incomplete_safety,
    "safety-outside": limits.soft_limit_outside,
    "mimic-multiplier-zero": joints.zero_multiplier,
    "origin-far": frames.far_origin,
    "rotation-turns": frames.more_than_a_turn,
    "rotation-rounded": frames.rounded_right_angle,
    "quaternion-unnormalised": frames.quaternion_not_normalised,
    "path-absolute": appearance.absolute_path,
    "path-backslash": appearance.backslash,
    "material-unused": appearance.unused_material,
    "color-invisible": appearance.invisible_color,
    "name-not-portable": names.not_portable,
    "name-of-link-and-joint": names.link_and_joint,
    "name-repeated-shape": names.repeated_shape,
    "name-world": names.part_named_world,
    "reference-undefined": names.undefined_reference,
}
# Checks of the robot, which need its tree or its extents.
ROBOT_CHECKS: Mapping[str, RobotCheck] = {
    "mass-none-moving": masses.moving_without_mass,
    "mass-none-collider": masses.colliders_without_mass,
    "mass-negligible": masses.negligible_mass,
    # An inertia that is written as zero is checked above.
    "inertia-zero": masses.inertia_of_rounding,
    "inertia-not-positive": masses.inertia_not_positive,
    "inertia-triangle": masses.inertia_breaks_triangle,
    "inertia-too-large": masses.inertia_too_large,
    "inertia-too-small": masses.inertia_too_small,
    "density-high": masses.density_too_high,
    "density-low": masses.density_too_low,
    "com-outside": masses.center_outside,
    "joint-travel-long": limits.long_travel,
    "mimic-range": joints.mimic_beyond_range,
    "mesh-millimetres": meshes.in_millimetres,
    "mesh-shrunk": meshes.shrunk,
    "mesh-mirrored": meshes.mirrored,
    "mesh-too-many-faces": meshes.too_many_faces,
    "collision-mesh-heavy": meshes.heavy_collision,
}


class LintReport(Struct, frozen=True):
    """Findings of one file.

    Attributes:
        findings: In document order.
        is_urdf: Whether the root element is a robot, possibly an invalid one.
    """

    findings: tuple[Finding, ...]
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
    findings: list[Finding] = []
    notes: list[Diagnostic] = []
    try:
        # Read once, because the expansion of xacro is slow.
        markup = read_markup(file, packages, arguments, environment, notes)
    except SourceError as error:
        return LintReport(_in_order(_reported((*notes, *error.diagnostics))), is_urdf=False)
    findings += _reported(notes)
    try:
        parsed = parse_markup(markup, file, packages=packages)
    except SourceError as error:
        findings += _reported(error.diagnostics)
    else:
        findings += _robot_findings(parsed)
    document = document_of(markup, file)
    if document:
        findings += _document_findings(document)
    return LintReport(_in_order(findings), document is not None)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Finding, ...]:
    """Check a file that was already parsed.

    Args:
        parsed: The parsed file.
        path: The file, named in findings as given.
    """
    findings = _robot_findings(parsed)
    document = document_of(parsed.markup, os.fspath(path))
    if document:
        findings += _document_findings(document)
    return _in_order(findings)


def _robot_findings(parsed: Parsed) -> list[Finding]:
    measured = measure_robot(parsed.robot)
    diagnostics = (*parsed.diagnostics, *measured.meshes.diagnostics)
    return [*_reported(diagnostics), *_robot_rule_findings(measured)]


def _reported(diagnostics: Iterable[Diagnostic]) -> Iterator[Finding]:
    for diagnostic in diagnostics:
        rule = RULES[diagnostic.rule]
        yield Finding(rule, diagnostic.message, diagnostic.location)


def _document_findings(document: UrdfDocument) -> Iterator[Finding]:
    for rule, check in DOCUMENT_CHECKS.items():
        yield from _cited(rule, check(document))


def _robot_rule_findings(measured: MeasuredRobot) -> Iterator[Finding]:
    for rule, check in ROBOT_CHECKS.items():
        yield from _cited(rule, check(measured))


def _cited(rule: str, breaches: Iterable[Breach]) -> Iterator[Finding]:
    for breach in breaches:
        yield Finding(LINT_RULES[rule], breach.message, breach.location)


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=_place))


def _place(finding: Finding) -> tuple[str, int, int]:
    location = finding.location
    return (location.file, location.line, location.column) if location else ("", 0, 0)
