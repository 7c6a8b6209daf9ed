"""Options and help texts that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from urdf_usd.conformance.cli.output.failures import EXIT_CODES, CommandError

if TYPE_CHECKING:
    from urdf_usd.corpus import RobotSource

Packages: TypeAlias = tuple[tuple[str, Path], ...]
Arguments: TypeAlias = tuple[tuple[str, str], ...]
_Command = TypeVar("_Command", bound=Callable[..., Any])

# Values of an enumeration of the converter, which is large.
BASES = ("auto", "fixed", "floating")


class HelpfulCommand(click.Command):
    """A command whose help ends with examples and the exit codes."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  # click's own signature
        examples: tuple[str, ...],
        exit_codes: str = EXIT_CODES,
        **kwargs: Any,  # noqa: ANN401  # click's own signature
    ) -> None:
        super().__init__(*args, **kwargs)
        lines = "\n".join(f"  {example}" for example in examples)
        self.epilog = f"\b\nExamples:\n{lines}\n\n{exit_codes}"


class HelpfulGroup(click.Group):
    """A group that suggests commands for one that it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by the first argument.

        Raises:
            UsageError: There is none; the message names those of similar names.
        """
        name = args[0]
        known = self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        close = get_close_matches(name, known)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


def _named_folders(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Packages:
    """Split ``NAME=PATH``; the folder has to exist."""
    packages = []
    for value in values:
        name, equals, path = value.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{value!r} is not NAME=PATH", param=parameter)
        if not Path(path).is_dir():
            raise click.BadParameter(f"{path!r} is not a folder", param=parameter)
        packages.append((name, Path(path)))
    return tuple(packages)


def base_option(command: _Command) -> _Command:
    """Add ``--base``."""
    return click.option(
        "--base",
        type=click.Choice(BASES),
        default="auto",
        show_default=True,
        help="Fix the root to the world or not; auto: a root link 'world' is fixed.",
    )(command)


def package_option(command: _Command) -> _Command:
    """Add ``--package``."""
    return click.option(
        "--package",
        "packages",
        metavar="NAME=PATH",
        callback=_named_folders,
        multiple=True,
        help="Where the ROS package NAME of package:// URIs lies. Repeatable.",
    )(command)


def _named_values(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Arguments:
    """Split ``NAME:=VALUE``, as xacro writes it; the value may be empty."""
    arguments = []
    for value in values:
        name, sign, text = value.partition(":=")
        if not (name and sign):
            raise click.BadParameter(f"{value!r} is not NAME:=VALUE", param=parameter)
        arguments.append((name, text))
    return tuple(arguments)


def xacro_arguments(source: RobotSource, given: Arguments) -> Arguments:
    """Return what is known of a robot's arguments; what the user says counts.

    Raises:
        CommandError: Arguments are given, but the robot is not xacro.
    """
    if given:
        from urdf_usd.converter.urdf.xacro.expansion import SUFFIX, is_xacro

        if not is_xacro(str(source.path)):
            raise CommandError(
                f"--arg is for {SUFFIX} files; {source.path.name} is none"
            )
    return tuple({**dict(source.arguments), **dict(given)}.items())


def argument_option(command: _Command) -> _Command:
    """Add ``--arg``."""
    return click.option(
        "--arg",
        "arguments",
        metavar="NAME:=VALUE",
        callback=_named_values,
        multiple=True,
        help="Value of the argument NAME of a xacro file. Repeatable.",
    )(command)


def require_engines(names: tuple[str, ...]) -> None:
    """Refuse names that are not those of installed engines.

    Raises:
        UnknownEngineError: An engine of that name is not installed.
    """
    if names:
        from urdf_usd.conformance.engines.registry import require

        for name in names:
            require(name)


def engine_option(command: _Command) -> _Command:
    """Add ``--engine``."""
    return click.option(
        "--engine",
        "engines",
        multiple=True,
        metavar="NAME",
        help="Ask only this engine, see doctor. Repeatable. [default: all available]",
    )(command)
