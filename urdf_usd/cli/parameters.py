"""Commands from structs: click's options, defaults in files, schemas, words to repeat one.

A command is a struct with a docstring, its help, and fields that are :class:`Option`,
:class:`Argument` or structs with further ones::

    class Lint(Struct, frozen=True, kw_only=True):
        fix: Annotated[bool, Option("Repair mistakes.")] = False
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource
from msgspec import NODEFAULT, Struct, structs

from urdf_usd.cli.failures import (
    EXIT_CODES,
    CommandError,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.terminal import shown_status

OWN_FILE = "urdf-usd.toml"
_PROJECT = "pyproject.toml"
_TABLE = "urdf-usd"
# Above it, files belong to something else.
_REPOSITORY = ".git"
# Placeholder of options that name a package and its folder.
PACKAGE = "NAME=PATH"
_GIVEN = "urdf-usd.given"


class Option(Struct, frozen=True):
    """Of a field that is an option; a boolean is a flag, a tuple is repeatable.

    Attributes:
        help: Its help.
        flag: Its name, if that is not ``--`` and the name of the field.
        metavar: Placeholder of its value.
        type: Of each value, if the type of the field does not say enough.
        parse: Reads each value, and raises ValueError; enumerations are read as such.
    """

    help: str
    flag: str | None = None
    metavar: str | None = None
    type: click.ParamType[Any] | None = None
    parse: Callable[[str], object] | None = None


class Argument(Struct, frozen=True):
    """Of a field that is an argument; a tuple takes any number of values."""

    metavar: str | None = None
    type: click.ParamType[Any] | None = None


class Command(Struct, frozen=True):
    """A command of the program.

    Attributes:
        options: Struct with its options; its docstring is the help.
        runs: Module of this package and function, called with the options. It is imported
            when the options are valid, and returns the exit status.
        examples: For the help.
        exit_codes: Likewise.
    """

    options: type[Struct]
    runs: str
    examples: tuple[str, ...]
    exit_codes: str = EXIT_CODES


def click_command(name: str, command: Command) -> click.Command:
    def call(**values: object) -> None:
        options = _gather(command.options, values)
        warn_of_address_limit()
        module, _, function = command.runs.partition(":")
        with shown_status("Loading ..."), held_interrupts():
            run = getattr(import_module(f"urdf_usd.cli.{module}"), function)
        click.get_current_context().exit(run(options) or 0)

    examples = "\n".join(f"  {example}" for example in command.examples)
    return click.Command(
        name,
        params=list(_parameters(command.options)),
        callback=call,
        help=inspect.cleandoc(command.options.__doc__ or ""),
        epilog=f"\b\nExamples:\n{examples}\n\n{command.exit_codes}",
    )


@cache
def _fields(kind: type[Struct]) -> Mapping[str, Any]:
    return {
        name: annotation
        for name, annotation in get_type_hints(kind, include_extras=True).items()
        if name in kind.__struct_fields__
    }


def _gather(kind: type[Struct], values: Mapping[str, object]) -> Struct:
    return kind(
        **{
            name: values[name] if get_origin(field) is Annotated else _gather(field, values)
            for name, field in _fields(kind).items()
        }
    )


def _parameters(kind: type[Struct]) -> Iterator[click.Parameter]:
    defaults = {field.name: field.default for field in structs.fields(kind)}
    for name, field in _fields(kind).items():
        if get_origin(field) is not Annotated:
            yield from _parameters(field)
            continue
        annotation, described = get_args(field)
        several = get_origin(annotation) is tuple
        value = get_args(annotation)[0] if several else annotation
        if isinstance(value, UnionType):
            value = next(one for one in get_args(value) if one is not type(None))
        default = defaults[name]
        if isinstance(described, Argument):
            yield click.Argument(
                (name,),
                metavar=described.metavar,
                type=described.type,
                nargs=-1 if several else 1,
                required=default is NODEFAULT,
            )
            continue
        choices = issubclass(value, StrEnum) if isinstance(value, type) else False
        parse = described.parse or (value if choices else None)
        shown = default not in (None, (), False, NODEFAULT)
        stated: dict[str, Any] = (
            {"required": True} if default is NODEFAULT else {"default": default}
        )
        if shown and parse:
            stated["default"] = str(default)
        yield click.Option(
            (described.flag or f"--{name.replace('_', '-')}", name),
            is_flag=value is bool,
            multiple=several,
            type=described.type
            or (click.Choice([one.value for one in value]) if choices else None)
            or (value if value in (int, float, bool) else click.STRING),
            show_default=shown,
            metavar=described.metavar,
            help=described.help,
            callback=_reader(parse, several=several),
            **stated,
        )


def _reader(
    parse: Callable[[str], object] | None, *, several: bool
) -> Callable[[click.Context, click.Parameter, Any], object]:
    def read(context: click.Context, parameter: click.Parameter, value: Any) -> object:  # noqa: ANN401  # any option's
        if value is None or parse is None:
            found = value
        else:
            try:
                found = tuple(map(parse, value)) if several else parse(value)
            except ValueError as error:
                raise click.BadParameter(str(error), param=parameter) from error
        if context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT:
            context.meta.setdefault(_GIVEN, {})[parameter.name] = value
        return found

    return read


def is_given(name: str) -> bool:
    """Whether the user stated an option of the running command, by the name of its field."""
    return name in click.get_current_context().meta.get(_GIVEN, {})


def given_options(without: Collection[str]) -> list[str]:
    """Return the options that the user stated, not quoted, to repeat the command.

    Those of a file of defaults count as well: they change results.

    Args:
        without: Names of fields to leave out.
    """
    context = click.get_current_context()
    values = context.meta.get(_GIVEN, {})
    words: list[str] = []
    for parameter in context.command.params:
        value, flag = values.get(parameter.name), parameter.opts[0]
        if parameter.name in without or value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        else:
            several = value if isinstance(value, tuple) else (value,)
            words += [word for one in several for word in (flag, str(one))]
    return words


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
    if file is None:
        file, tables = _find_tables(Path.cwd())
    else:
        tables = _read_tables(file)
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
            placed = _placed(value, options[key], file.parent) if file else value
            defaults.setdefault(name, {})[options[key].name or ""] = placed
    return defaults


def _find_tables(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    for parent in (folder, *folder.parents):
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
        flag.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for flag in option.opts
        if flag.startswith("--")
    }


def _placed(value: object, option: click.Option, folder: Path) -> object:
    """Make paths relative to the folder of the file."""
    if isinstance(value, list):
        return [_placed(one, option, folder) for one in value]
    if isinstance(value, str) and option.metavar == PACKAGE:
        package, equals, path = value.partition("=")
        return f"{package}{equals}{folder / path}"
    if isinstance(value, str) and isinstance(option.type, click.Path):
        return str(folder / value)
    return value


def _suggestion(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def defaults_schema(commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return the JSON Schema of ``urdf-usd.toml``."""
    tables = {
        name: {
            "type": "object",
            "description": command.get_short_help_str(200),
            "properties": {
                flag: _option_schema(option) for flag, option in _long_options(command).items()
            },
            "additionalProperties": False,
        }
        for name, command in commands.items()
        if not isinstance(command, click.Group)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Default values of options of urdf-usd",
        "type": "object",
        "properties": tables,
        "additionalProperties": False,
    }


def _option_schema(option: click.Option) -> dict[str, Any]:
    value: dict[str, Any]
    match option.type:
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
    if option.multiple:
        value = {"type": "array", "items": value}
    return {"description": option.help or "", **value}
