"""What commands are given: click's options from structs, defaults in files, robots.

A command is a frozen struct. Its docstring is the help; what follows ``Examples:`` is shown below
the options. Fields are annotated with an ``Option`` or :class:`Argument`, or are structs of such.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource
from msgspec import NODEFAULT, Meta, Struct

from urdf_usd.cli.terminal import EXIT_CODES, CommandError, say, shown_status
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter import options as o
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.simulation.settings import with_settings
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xacro import SUFFIX, is_part, is_xacro
from urdf_usd.corpus import RobotSource, resolve_robot
from urdf_usd.corpus.robots import close_names
from urdf_usd.robots import with_reference

OWN_FILE = "urdf-usd.toml"
_PROJECT = "pyproject.toml"


class Argument(Struct, frozen=True):
    """An argument; one whose field is a tuple takes any number of values."""

    metavar: str | None = None
    kind: Any = None  # click's type


def refuse(*contradictions: tuple[object, str]) -> None:
    for contradicts, message in contradictions:
        if contradicts:
            raise click.UsageError(message)


def is_given(flag: str) -> bool:
    """Whether the command line or a file states an option of the running command."""
    source = click.get_current_context().get_parameter_source(_parameter_name(flag))
    return source is not ParameterSource.DEFAULT


def click_command(
    name: str, kind: type[Struct], runs: str, exit_codes: str = EXIT_CODES
) -> click.Command:
    """Return the command of a struct; ``module:function`` is imported when options are valid."""

    def call(**values: object) -> None:
        options = _gather(kind, values)
        module, _, function = runs.partition(":")
        with shown_status("Loading ..."):
            run = getattr(import_module(f"urdf_usd.cli.{module}"), function)
        click.get_current_context().exit(run(options) or 0)

    text, _, examples = inspect.cleandoc(kind.__doc__ or "").partition("\n\nExamples:\n")
    lines = "\n".join(f"  {example.strip()}" for example in examples.splitlines())
    return click.Command(
        name,
        params=list(_parameters(kind)),
        callback=call,
        help=text,
        epilog=f"\b\nExamples:\n{lines}\n\n{exit_codes}",
    )


def _gather(kind: type[Struct], values: Mapping[str, object]) -> Struct:
    """Make a struct of options, and those within it, from the values of parameters."""
    fields: dict[str, object] = {}
    for field in o.option_fields(kind):
        if _is_struct(field):
            fields[field.name] = _gather(field.type, values)
        elif field.metadata:
            fields[field.name] = values[_parameter_name(field.flag) if field.option else field.name]
    try:
        return kind(**fields)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _is_struct(field: o.OptionField) -> bool:
    return not field.metadata and isinstance(field.type, type) and issubclass(field.type, Struct)


def _parameter_name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _parameters(kind: type[Struct]) -> Iterator[click.Parameter]:
    for field in o.option_fields(kind):
        argument = next((one for one in field.metadata if isinstance(one, Argument)), None)
        if _is_struct(field):
            yield from _parameters(field.type)
        elif field.option:
            yield _click_option(field, field.option)
        elif argument:
            yield click.Argument(
                (field.name,),
                nargs=-1 if get_origin(field.type) is tuple else 1,
                required=field.default is NODEFAULT,
                metavar=argument.metavar,
                type=argument.kind,
            )


def path_type(metavar: str | None) -> click.Path:
    if metavar in {"DIR", "FOLDER", "RUN"}:
        return click.Path(path_type=Path, file_okay=False, exists=metavar == "RUN")
    return click.Path(path_type=Path, dir_okay=False)


def _click_option(field: o.OptionField, option: o.Option) -> click.Option:
    default, several = field.default, get_origin(field.type) is tuple
    value: Any = get_args(field.type)[0] if several else field.type
    if type(None) in get_args(value):
        value = next(one for one in get_args(value) if one is not type(None))
    parse, kind = option.parse, option.kind
    if isinstance(value, type) and issubclass(value, StrEnum):
        parse, kind = parse or value, click.Choice([*map(str, value)])
    elif get_origin(value) is Literal:
        kind = click.Choice(get_args(value), case_sensitive=False)
    elif value is Path or option.metavar == "FILE":
        kind = kind or path_type(option.metavar)
    elif value in (int, float) and kind is None:
        limits = next((one for one in field.metadata if isinstance(one, Meta)), Meta())
        number: Any = click.IntRange if value is int else click.FloatRange
        lowest = limits.ge if limits.gt is None else limits.gt
        kind = number(lowest, limits.le, min_open=limits.gt is not None)

    def read(_: click.Context, parameter: click.Parameter, given: Any) -> object:  # noqa: ANN401  # any option's
        if given is None or parse is None:
            return given
        try:
            return tuple(map(parse, given)) if several else parse(given)
        except ValueError as error:
            raise click.BadParameter(str(error), param=parameter) from error

    shown = default not in (None, (), False, NODEFAULT)
    if shown and parse and not isinstance(default, int):
        default = str(default)
    return click.Option(
        (field.flag, _parameter_name(field.flag)),
        is_flag=value is bool,
        multiple=several,
        type=kind or (click.BOOL if value is bool else click.STRING),
        required=default is NODEFAULT,
        show_default=shown,
        metavar=option.metavar,
        help=option.help,
        callback=read,
        **({} if default is NODEFAULT else {"default": default}),
    )


def read_defaults(file: Path | None, commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return default values of options from a file, by command and parameter, for click.

    Tables are named after commands, keys after their long options; in ``pyproject.toml`` they are
    below ``tool.urdf-usd``. Paths are relative to the file: by default that in the working folder
    or the nearest of its parents that has one, up to the root of a repository.
    """
    file, tables = (file, _read_tables(file)) if file else _find_tables()
    defaults: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if name not in commands or not isinstance(table, dict):
            hint = close_names(name, commands)
            raise CommandError(f"{file}: there is no command {name!r}{hint}")
        options, values = _long_options(commands[name]), defaults.setdefault(name, {})
        for key, value in table.items():
            if key not in options:
                hint = close_names(key, options)
                raise CommandError(f"{file}: urdf-usd {name} has no option --{key}{hint}")
            values[options[key].name or ""] = _from_folder(value, options[key], file.parent)
    return defaults


def _find_tables() -> tuple[Path, dict[str, Any]]:
    for parent in (Path.cwd(), *Path.cwd().parents):
        for file in (parent / OWN_FILE, parent / _PROJECT):
            if file.is_file():
                tables = _read_tables(file)
                if tables or file.name == OWN_FILE:
                    return file, tables
        # Above a repository, files belong to something else.
        if (parent / ".git").exists():
            break
    return Path(), {}


def _read_tables(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise CommandError(f"{file}: {error}") from error
    if file.name == _PROJECT:
        content = content.get("tool", {}).get("urdf-usd", {})
    return content


def _long_options(command: click.Command) -> dict[str, click.Option]:
    options = (one for one in command.params if isinstance(one, click.Option))
    return {one.opts[0].removeprefix("--"): one for one in options}


def _from_folder(value: object, option: click.Option, folder: Path) -> object:
    if isinstance(value, list):
        return [_from_folder(one, option, folder) for one in value]
    if isinstance(value, str) and option.metavar == o.PACKAGE:
        package, equals, path = value.partition("=")
        return f"{package}{equals}{folder / path}"
    if isinstance(value, str) and isinstance(option.type, click.Path):
        return str(folder / value)
    return value


def defaults_schema(commands: Mapping[str, click.Command]) -> dict[str, Any]:

    def table(properties: Mapping[str, object], **described: str) -> dict[str, Any]:
        closed = {"properties": properties, "additionalProperties": False}
        return {"type": "object", **described, **closed}

    tables = {}
    for name, command in commands.items():
        if isinstance(command, click.Group):
            continue
        properties = {}
        for flag, option in _long_options(command).items():
            kind = option.type
            value: dict[str, Any] = {"type": _TYPES.get(kind.name.removesuffix(" range"), "string")}
            if isinstance(kind, click.Choice):
                value = {"enum": list(kind.choices)}
            if option.multiple:
                value = {"type": "array", "items": value}
            properties[flag] = {"description": option.help or "", **value}
        tables[name] = table(properties, description=command.get_short_help_str(200))
    dialect = "https://json-schema.org/draft/2020-12/schema"
    title = "Default values of options of urdf-usd"
    return {"$schema": dialect, "title": title, **table(tables)}


_TYPES = {"integer": "integer", "float": "number", "boolean": "boolean"}


# Robots

_Reading = TypeVar("_Reading", o.Sources, o.ConvertOptions, CheckOptions)


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


def parse_robot(robot: RobotSource, options: o.Sources | o.ConvertOptions) -> Parsed:
    """Read a URDF or xacro file, as options with the packages of its reference say."""
    return parse(robot.path, **keywords(options))


def keywords(options: o.Sources | o.ConvertOptions) -> dict[str, Any]:
    """Return how a file is read, as functions of the converter take it."""
    tables = {name: dict(getattr(options, name)) for name in ("packages", "arguments")}
    return {**tables, "environment": options.environment}


def settings_file(options: o.ConvertOptions | CheckOptions) -> Path | None:
    return Path(options.simulation.file) if options.simulation else None


def with_stated_settings(options: o.ConvertOptions) -> o.ConvertOptions:
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
