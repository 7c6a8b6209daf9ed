"""Parameters that several commands share, and the form of their help texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from msgspec import Struct

from urdf_usd.cli.output.console import say
from urdf_usd.cli.output.failures import EXIT_CODES, CommandError

if TYPE_CHECKING:
    from urdf_usd.converter.options import (
        ColliderRule,
        ColliderTolerance,
        VariantChoice,
    )
    from urdf_usd.corpus import RobotSource

Packages: TypeAlias = tuple[tuple[str, Path], ...]
Arguments: TypeAlias = tuple[tuple[str, str], ...]
Metadata: TypeAlias = tuple[tuple[str, str], ...]
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
_Command = TypeVar("_Command", bound=Callable[..., Any])

# Values of enumerations whose modules import OpenUSD or msgspec, too slow for a help
# text. A test compares them.
BASES = ("auto", "fixed", "floating")
INERTIAS = ("keep", "geometry")
METADATA = (
    "author",
    "asset_license",
    "asset_name",
    "asset_type",
    "category",
    "qcode",
    "source_file",
    "usd_date_generated",
)
ISAAC_METADATA = ("robot_type", "asset_license")
ROBOT_TYPES = (
    "End Effector",
    "Manipulator",
    "Humanoid",
    "Wheeled",
    "Holonomic",
    "Quadruped",
    "Mobile Manipulators",
    "Aerial",
)
FAIL_ON = ("close", "incomplete", "fails")


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
    """A group that suggests similar names for an unknown command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by the first argument.

        Raises:
            UsageError: The command is unknown; the message lists similar names.
        """
        name = args[0]
        known = self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        close = get_close_matches(name, known)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


def add_options(*options: Decorator) -> Callable[[_Command], _Command]:
    """Return a decorator that adds several options, in the order of the help text."""

    def decorate(command: _Command) -> _Command:
        decorated: Any = command
        for option in reversed(options):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]  # click returns the command

    return decorate


def options_as(
    kind: type[Struct], parameter: str, options: Sequence[Decorator]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options and passes their values as one object.

    Args:
        kind: Struct with one field per option.
        parameter: Parameter of the command that receives the object.
        options: In the order of the help text.
    """
    names = kind.__struct_fields__

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def gathered(**values: object) -> object:
            own = {name: values.pop(name) for name in names}
            return command(**{parameter: kind(**own)}, **values)

        return add_options(*options)(gathered)

    return decorate


def _split_packages(
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


def _split_metadata(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Metadata:
    """Split ``NAME=VALUE``; the names are those of SimReady."""
    metadata = []
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name not in {*METADATA, *ISAAC_METADATA}:
            names = ", ".join(dict.fromkeys((*METADATA, *ISAAC_METADATA)))
            message = f"{value!r} is not NAME=VALUE with one of the names {names}"
            raise click.BadParameter(message, param=parameter)
        metadata.append((name, text))
    return tuple(metadata)


def _split_arguments(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Arguments:
    """Split ``NAME:=VALUE``, the form of xacro; the value may be empty."""
    arguments = []
    for value in values:
        name, sign, text = value.partition(":=")
        if not (name and sign):
            raise click.BadParameter(f"{value!r} is not NAME:=VALUE", param=parameter)
        arguments.append((name, text))
    return tuple(arguments)


def _parse_variants(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[VariantChoice, ...]:
    """Parse ``[PRIM:]SET=NAME``; a set is named once."""
    if not values:
        return ()
    from urdf_usd.converter.options import VariantChoice

    try:
        choices = tuple(map(VariantChoice.parse, values))
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from error
    sets = [(choice.prim, choice.variant_set) for choice in choices]
    for choice, named in zip(choices, sets, strict=True):
        if sets.count(named) > 1:
            raise click.BadParameter(
                f"variant set {choice.variant_set!r} is named twice", param=parameter
            )
    return choices


def _parse_colliders(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[ColliderRule, ...]:
    """Parse ``[LINK_PATTERN=]KIND``."""
    if not values:
        return ()
    from urdf_usd.converter.options import ColliderRule

    try:
        return tuple(map(ColliderRule.parse, values))
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from error


def _parse_tolerance(_: click.Context, parameter: click.Parameter, value: str) -> ColliderTolerance:
    """Parse metres or a percentage."""
    from urdf_usd.converter.options import ColliderTolerance

    try:
        return ColliderTolerance.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from error


def variant_option(text: str) -> Decorator:
    """Return the option ``--variant`` with the end of its help."""
    return click.option(
        "--variant",
        "variants",
        metavar="[PRIM:]SET=NAME",
        callback=_parse_variants,
        multiple=True,
        help=f"Select variant NAME of variant set SET {text} Repeatable.",
    )


usd_variant_option = variant_option(
    "of the prim with path PRIM: by default the default prim or, if it has no such "
    "set, the only prim that has one."
)
usd_strict_option = click.option(
    "--strict",
    is_flag=True,
    help="Refuse a USD that refers to files outside the folder of its root layer: by "
    "an absolute path, '..', a symbolic link or a URI. Otherwise these are warnings.",
)
base_option = click.option(
    "--base",
    type=click.Choice(BASES),
    default="auto",
    show_default=True,
    help="Fixed or floating base; auto: fixed if the root is an empty link 'world'.",
)
description_option = click.option(
    "--with",
    "description",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Robot description file (TOML) with drives, initial pose, collision filters, "
    "base and profile; see `urdf-usd schema description`.",
)
inertia_option = click.option(
    "--inertia",
    type=click.Choice(INERTIAS),
    default="keep",
    show_default=True,
    help="Missing and impossible mass properties. keep: those of the URDF, and a "
    "negligible mass where a body needs one; geometry: those of the shapes of the "
    "link, which are marked as estimated.",
)
density_option = click.option(
    "--mass-density",
    metavar="KG_PER_M3",
    type=click.FloatRange(min=0.0, min_open=True, max=1e6),
    default=1000.0,
    show_default=True,
    help="Density of links without mass, for --inertia geometry.",
)
colliders_option = click.option(
    "--colliders",
    "colliders",
    metavar="[LINK_PATTERN=]KIND",
    callback=_parse_colliders,
    multiple=True,
    help="Replace colliders by their convex hull (hull), convex pieces by CoACD "
    "(decomposition), fitted boxes, spheres, cylinders and capsules (primitives), "
    "their triangles (mesh) or nothing (none); of all links, or of those that match a "
    "pattern such as 'left_*=none'. Repeatable.  "
    "[default: a convex hull of each mesh, or of each group of an OBJ file]",
)
collider_tolerance_option = click.option(
    "--collider-tolerance",
    metavar="METRES|PERCENT",
    callback=_parse_tolerance,
    default="5%",
    show_default=True,
    help="Largest distance of a fitted primitive from the convex hull: metres, or a "
    "percentage of the size of the mesh.",
)
package_option = click.option(
    "--package",
    "packages",
    metavar="NAME=PATH",
    callback=_split_packages,
    multiple=True,
    help="Folder of the ROS package NAME, for package:// URIs. Repeatable.",
)
argument_option = click.option(
    "--arg",
    "arguments",
    metavar="NAME:=VALUE",
    callback=_split_arguments,
    multiple=True,
    help="Value of the xacro argument NAME. Repeatable.",
)
env_option = click.option(
    "--env",
    "environment",
    metavar="NAME",
    multiple=True,
    help="Environment variable that xacro may read by $(env NAME), besides those of "
    "ROS. Repeatable.",
)
metadata_option = click.option(
    "--metadata",
    metavar="NAME=VALUE",
    callback=_split_metadata,
    multiple=True,
    help="Metadata for --profile simready: author, asset_license, usd_date_generated "
    "and others that its standard requires; for isaac: asset_license; for both: "
    "robot_type (Manipulator, Humanoid, ...). Repeatable.",
)
engine_option = click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="Use only this engine; 'urdf-usd doctor' lists them. Repeatable.  "
    "[default: all that are installed]",
)
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="fails",
    show_default=True,
    help="close: fail on every check that is not exact; incomplete: also on robots of "
    "which parts could not be compared; fails: only on checks that fail or are "
    "disputed, and on robots of which nothing could be compared.",
)
mirror_option = click.option(
    "--mirror",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with clones of the repositories of robot_descriptions; nothing is "
    "downloaded then.  [default: environment variable URDF_USD_MIRROR]",
)
selection_options = add_options(
    *(
        click.option(
            name,
            plural,
            multiple=True,
            metavar="TEXT",
            help=f"Only robots {text}. Repeatable; one match is enough.",
        )
        for name, plural, text in (
            ("--tag", "tags", "with this tag, such as arm or quadruped"),
            ("--maker", "makers", "whose maker's name contains this text"),
            ("--license", "licenses", "under this licence, by SPDX identifier"),
        )
    )
)


def existing_robot(text: str, *, mirror: Path | None = None) -> RobotSource:
    """Resolve a reference to one robot, whose file exists.

    Commands call it before they import engines or OpenUSD.

    Args:
        text: The reference.
        mirror: Folder with the repositories of robot_descriptions.

    Raises:
        CorpusError: The text is not a reference, or its robot is not available.
        SourceError: The file does not exist.
    """
    from urdf_usd.corpus import resolve_robot

    robot = resolve_robot(text, say, mirror=mirror)
    try:
        robot.path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: the path contains a null character
        from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError

        file = str(robot.path)
        missing = Diagnostic("file-missing", f"{file} does not exist", Location(file, 1, 1))
        raise SourceError((missing,)) from None
    except OSError:
        # The code that opens the file reports this error with its context.
        pass
    return robot


def xacro_arguments(source: RobotSource, given: Arguments) -> Arguments:
    """Return the robot's xacro arguments, overridden by those of the user.

    Raises:
        CommandError: Arguments are given, but the robot is not a xacro file.
    """
    if given:
        from urdf_usd.converter.urdf.xacro.expansion import SUFFIX, is_xacro

        if not is_xacro(str(source.path)):
            raise CommandError(
                f"--arg requires a {SUFFIX} file, but the source is {source.path.name}"
            )
    return tuple({**dict(source.arguments), **dict(given)}.items())


def require_engines(names: tuple[str, ...]) -> None:
    """Check that engines are installed.

    Raises:
        UnknownEngineError: One is not.
    """
    if names:
        from urdf_usd.conformance.engines.registry import require

        for name in names:
            require(name)
