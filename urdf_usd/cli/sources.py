"""The robots that a command names, and how their files are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from urdf_usd.cli.parameters import is_given
from urdf_usd.cli.terminal import CommandError, say
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.options import ConvertOptions, Sources
from urdf_usd.converter.simulation.settings import with_settings
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xacro import SUFFIX, is_part, is_xacro
from urdf_usd.corpus import RobotSource, resolve_robot
from urdf_usd.robots import with_reference

_Reading = TypeVar("_Reading", Sources, ConvertOptions, CheckOptions)


def existing_robot(text: str, *, mirror: Path | None = None) -> RobotSource:
    robot = resolve_robot(text, say, mirror=mirror)
    if not robot.path.exists():
        file = str(robot.path)
        place = Location(file, 1, 1)
        raise SourceError((Diagnostic("file-missing", f"{file} does not exist", place),))
    return robot


def is_only_part(robot: RobotSource, rules: Sequence[str]) -> bool:
    """Whether a xacro file of a folder is only part of a robot, by its errors; says so."""
    found = robot.searched and is_xacro(str(robot.path)) and is_part(rules, included=robot.included)
    if found:
        say(f"{robot.reference}: skipped, only part of a robot")
    return found


def of_robot(options: _Reading, robot: RobotSource) -> _Reading:
    """Add packages and xacro arguments of a reference; the user's take precedence."""
    if options.arguments and not is_xacro(str(robot.path)):
        raise CommandError(f"--arg requires a {SUFFIX} file, but the source is {robot.path.name}")
    return with_reference(options, robot)


def parse_robot(robot: RobotSource, options: Sources | ConvertOptions) -> Parsed:
    """Read a URDF or xacro file, as options with the packages of its reference say."""
    return parse(robot.path, **keywords(options))


def keywords(options: Sources | ConvertOptions) -> dict[str, Any]:
    """Return how a file is read, as functions of the converter take it."""
    tables = {name: dict(getattr(options, name)) for name in ("packages", "arguments")}
    return {**tables, "environment": options.environment}


def settings_file(options: ConvertOptions | CheckOptions) -> Path | None:
    return Path(options.simulation.file) if options.simulation else None


def with_stated_settings(options: ConvertOptions) -> ConvertOptions:
    """Add base, profile and colliders of the simulation settings file, if there is one."""
    settings = options.simulation
    if settings is None:
        return options
    stated = settings.tables.profile
    if is_given("--profile") and stated not in {None, options.profile}:
        raise click.UsageError(
            f"--profile {options.profile} contradicts {settings.file}, whose profile is '{stated}'"
        )
    return with_settings(options, settings)
