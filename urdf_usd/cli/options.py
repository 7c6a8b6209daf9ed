"""Options that several commands share, and the robots that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import click
from msgspec import Struct

from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.terminal import say
from urdf_usd.conformance.gate.decision import FailOn
from urdf_usd.conformance.options import CheckOptions, StrictFiles, Variants, require_distinct
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.options import ConvertOptions, Option, Sources
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xacro import SUFFIX, is_xacro
from urdf_usd.corpus import RobotSource, Selection, resolve_robot
from urdf_usd.robots import with_reference

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING = click.Path(path_type=Path, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})

FailOnOption: TypeAlias = Annotated[
    FailOn,
    "close: fail on every check that is not exact; incomplete: also on robots of which parts "
    "could not be compared; fails: only on checks that fail or are disputed, and on robots of "
    "which nothing could be compared.",
]
Mirror: TypeAlias = Annotated[
    Path | None,
    Option(
        "Folder with clones of the repositories of robot_descriptions; nothing is downloaded "
        "then.  [default: environment variable URDF_USD_MIRROR]",
        kind=EXISTING_FOLDER,
    ),
]
_Texts: TypeAlias = tuple[str, ...]


class UsdOptions(Struct, frozen=True, kw_only=True):
    """How a USD is read."""

    variants: Variants = ()
    strict: StrictFiles = False

    def __post_init__(self) -> None:
        require_distinct(self.variants)


class CorpusOptions(Struct, frozen=True, kw_only=True):
    """Which robots of corpora are taken."""

    tags: Annotated[
        _Texts,
        Option(
            "Only robots with this tag, such as arm or quadruped. Repeatable; one match is enough.",
            "--tag",
            "TEXT",
        ),
    ] = ()
    makers: Annotated[
        _Texts,
        Option(
            "Only robots whose maker's name contains this text. Repeatable; one match is enough.",
            "--maker",
            "TEXT",
        ),
    ] = ()
    licenses: Annotated[
        _Texts,
        Option(
            "Only robots under this licence, by SPDX identifier. Repeatable; one match is enough.",
            "--license",
            "TEXT",
        ),
    ] = ()
    forbidden: Annotated[
        _Texts,
        Option(
            "Refuse the command if a selected robot is under this licence, by SPDX identifier, or "
            "'copyleft' for GPL, LGPL, AGPL, MPL and the like; robots whose licence is unknown are "
            "counted. Nothing is downloaded then. Repeatable.",
            "--forbid-license",
            "TEXT",
        ),
    ] = ()
    mirror: Mirror = None

    @property
    def selection(self) -> Selection:
        return Selection(self.tags, self.makers, self.licenses, self.forbidden)


_Reading = TypeVar("_Reading", Sources, ConvertOptions, CheckOptions)


def of_robot(options: _Reading, robot: RobotSource) -> _Reading:
    """Add packages and xacro arguments of a reference; the user's take precedence.

    Raises:
        CommandError: Arguments are given, but the robot is not a xacro file.
    """
    if options.arguments and not is_xacro(str(robot.path)):
        raise CommandError(f"--arg requires a {SUFFIX} file, but the source is {robot.path.name}")
    return with_reference(options, robot)


def settings_file(options: ConvertOptions | CheckOptions) -> Path | None:
    return Path(options.simulation.file) if options.simulation else None


def parse_robot(robot: RobotSource, options: Sources | ConvertOptions) -> Parsed:
    """Read a URDF or xacro file, as options with the packages of its reference say."""
    return parse(
        robot.path,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
        environment=options.environment,
    )


def existing_robot(text: str, *, mirror: Path | None = None) -> RobotSource:
    """Resolve a reference to one robot, whose file exists.

    Args:
        text: The reference.
        mirror: Folder with the repositories of robot_descriptions.

    Raises:
        CorpusError: The text is not a reference, or its robot is not available.
        SourceError: The file does not exist.
    """
    robot = resolve_robot(text, say, mirror=mirror)
    try:
        robot.path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: the path contains a null character
        file = str(robot.path)
        missing = Diagnostic("file-missing", f"{file} does not exist", Location(file, 1, 1))
        raise SourceError((missing,)) from None
    except OSError:
        # The code that opens the file reports this error with its context.
        pass
    return robot
