"""Commands from structs: click's options, defaults in files, their schema.

A command is a frozen struct. Its docstring is the help; what follows ``Examples:`` is shown
below the options. Fields are annotated with an ``Option`` or an :class:`Argument`, or are structs
with further ones::

    class Lint(Struct, frozen=True, kw_only=True):
        fix: Annotated[bool, Option("Repair mistakes.")] = False
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource
from msgspec import NODEFAULT, Meta, Struct

from urdf_usd.cli.failures import EXIT_CODES, CommandError
from urdf_usd.cli.terminal import shown_status
from urdf_usd.converter.options import PACKAGE, Option, OptionField, option_fields

OWN_FILE = "urdf-usd.toml"
_PROJECT = "pyproject.toml"
_TABLE = "urdf-usd"
# Above it, files belong to something else.
_REPOSITORY = ".git"


class Argument(Struct, frozen=True):
    """An argument; one whose field is a tuple takes any number of values."""

    metavar: str | None = None
    kind: Any = None  # click's type


class Command(Struct, frozen=True):
    """A command of the program."""

    options: type[Struct]
    runs: str  # module of this package and function, imported when the options are valid
    exit_codes: str = EXIT_CODES


def refuse(*contradictions: tuple[object, str]) -> None:
    """Refuse a command line for the first message whose condition holds."""
    for contradicts, message in contradictions:
        if contradicts:
            raise click.UsageError(message)


def is_given(flag: str) -> bool:
    """Whether the command line or a file states an option of the running command."""
    source = click.get_current_context().get_parameter_source(_parameter_name(flag))
    return source is not ParameterSource.DEFAULT


def click_command(name: str, command: Command) -> click.Command:
    def call(**values: object) -> None:
        options = _gather(command.options, values)
        module, _, function = command.runs.partition(":")
        with shown_status("Loading ..."):
            run = getattr(import_module(f"urdf_usd.cli.{module}"), function)
        click.get_current_context().exit(run(options) or 0)

    text, _, examples = inspect.cleandoc(command.options.__doc__ or "").partition("\n\nExamples:\n")
    lines = "\n".join(f"  {example.strip()}" for example in examples.splitlines())
    return click.Command(
        name,
        params=list(_parameters(command.options)),
        callback=call,
        help=text,
        epilog=f"\b\nExamples:\n{lines}\n\n{command.exit_codes}",
    )


def _gather(kind: type[Struct], values: Mapping[str, object]) -> Struct:
    """Make a struct of options, and those within it, from the values of parameters."""
    fields: dict[str, object] = {}
    for field in option_fields(kind):
        if _is_struct(field):
            fields[field.name] = _gather(field.type, values)
        elif field.metadata:
            name = _parameter_name(field.flag) if field.option else field.name
            fields[field.name] = values[name]
    try:
        return kind(**fields)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _is_struct(field: OptionField) -> bool:
    return not field.metadata and isinstance(field.type, type) and issubclass(field.type, Struct)


def _parameter_name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _parameters(kind: type[Struct]) -> Iterator[click.Parameter]:
    for field in option_fields(kind):
        if _is_struct(field):
            yield from _parameters(field.type)
        elif field.option:
            yield _click_option(field, field.option)
        for argument in field.metadata:
            if isinstance(argument, Argument):
                yield click.Argument(
                    (field.name,),
                    nargs=-1 if get_origin(field.type) is tuple else 1,
                    required=field.default is NODEFAULT,
                    metavar=argument.metavar,
                    type=argument.kind,
                )


def _click_option(field: OptionField, option: Option) -> click.Option:
    default, several = field.default, get_origin(field.type) is tuple
    value: Any = get_args(field.type)[0] if several else field.type
    if type(None) in get_args(value):
        value = next(one for one in get_args(value) if one is not type(None))
    parse, kind = option.parse, option.kind
    if isinstance(value, type) and issubclass(value, StrEnum):
        parse = parse or value
        kind = click.Choice([*map(str, value)])
    elif get_origin(value) is Literal:
        kind = click.Choice(get_args(value))
    elif value is Path or option.metavar == "FILE":
        kind = kind or click.Path(path_type=Path, dir_okay=False)
    elif value in (int, float) and kind is None:
        limits = next((one for one in field.metadata if isinstance(one, Meta)), Meta())
        number: Any = click.IntRange if value is int else click.FloatRange
        lowest = limits.ge if limits.gt is None else limits.gt
        kind = number(lowest, limits.le, min_open=limits.gt is not None)
    shown = default not in (None, (), False, NODEFAULT)
    if default is not NODEFAULT:
        default = str(default) if shown and parse and not isinstance(default, int) else default
    return click.Option(
        (field.flag, _parameter_name(field.flag)),
        is_flag=value is bool,
        multiple=several,
        type=kind or (click.BOOL if value is bool else click.STRING),
        required=default is NODEFAULT,
        show_default=shown,
        metavar=option.metavar,
        help=option.help,
        callback=_reader(parse, several=several),
        **({} if default is NODEFAULT else {"default": default}),
    )


def _reader(
    parse: Callable[[Any], object] | None, *, several: bool
) -> Callable[[click.Context, click.Parameter, Any], object]:
    def read(_: click.Context, parameter: click.Parameter, value: Any) -> object:  # noqa: ANN401  # any option's
        if value is None or parse is None:
            return value
        try:
            return tuple(map(parse, value)) if several else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), param=parameter) from error

    return read


def read_defaults(file: Path | None, commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return default values of options from a file, by command and parameter, for click.

    Tables are named after commands, keys after their long options; in ``pyproject.toml``
    they are below ``tool.urdf-usd``. Relative paths are relative to the folder of the file.

    Args:
        file: The file. If it is None, ``urdf-usd.toml`` or ``pyproject.toml`` in the working
            folder or the nearest of its parents that has one, up to the root of a repository.
        commands: The commands.

    Raises:
        CommandError: The file is not TOML, or has an unknown command or option.
    """
    file, tables = _find_tables() if file is None else (file, _read_tables(file))
    defaults: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if name not in commands:
            raise CommandError(f"{file}: there is no command {name!r}{_suggestion(name, commands)}")
        options = _long_options(commands[name])
        for key, value in table.items():
            if key not in options:
                raise CommandError(
                    f"{file}: urdf-usd {name} has no option --{key}{_suggestion(key, options)}"
                )
            placed = _from_folder(value, options[key], file.parent) if file else value
            defaults.setdefault(name, {})[options[key].name or ""] = placed
    return defaults


def _find_tables() -> tuple[Path | None, dict[str, Any]]:
    for parent in (Path.cwd(), *Path.cwd().parents):
        for name in (OWN_FILE, _PROJECT):
            if (file := parent / name).is_file():
                tables = _read_tables(file)
                if tables or name == OWN_FILE:
                    return file, tables
        if (parent / _REPOSITORY).exists():
            break
    return None, {}


def _read_tables(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}") from error
    if file.name == _PROJECT:
        content = content.get("tool", {}).get(_TABLE, {})
    for name, table in content.items():
        if not isinstance(table, dict):
            raise CommandError(
                f"{file}: {name!r} is not a table; write options below the name of their "
                "command, such as [run]"
            )
    return content


def _long_options(command: click.Command) -> dict[str, click.Option]:
    return {
        flag.removeprefix("--"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for flag in parameter.opts
        if flag.startswith("--")
    }


def _from_folder(value: object, stated: click.Option, folder: Path) -> object:
    """Make paths relative to the folder of the file."""
    if isinstance(value, list):
        return [_from_folder(one, stated, folder) for one in value]
    if isinstance(value, str) and stated.metavar == PACKAGE:
        package, equals, path = value.partition("=")
        return f"{package}{equals}{folder / path}"
    if isinstance(value, str) and isinstance(stated.type, click.Path):
        return str(folder / value)
    return value


def _suggestion(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def defaults_schema(commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return the JSON Schema of ``urdf-usd.toml``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Default values of options of urdf-usd",
        "type": "object",
        "properties": {
            name: {
                "type": "object",
                "description": command.get_short_help_str(200),
                "properties": {
                    flag: _option_schema(one) for flag, one in _long_options(command).items()
                },
                "additionalProperties": False,
            }
            for name, command in commands.items()
            if not isinstance(command, click.Group)
        },
        "additionalProperties": False,
    }


def _option_schema(stated: click.Option) -> dict[str, Any]:
    value: dict[str, Any]
    match stated.type:
        case click.Choice(choices=choices):
            value = {"enum": list(choices)}
        case click.types.IntParamType():
            value = {"type": "integer"}
        case click.types.FloatParamType():
            value = {"type": "number"}
        case click.types.BoolParamType():
            value = {"type": "boolean"}
        case _:
            value = {"type": "string"}
    if stated.multiple:
        value = {"type": "array", "items": value}
    return {"description": stated.help or "", **value}
