"""Commands from dataclasses: click's options, defaults in files, their schema, the command line.

A command is a frozen dataclass. Its docstring is the help; what follows ``Examples:`` is shown
below the options. Its fields are made by :func:`option` and :func:`argument`, or are dataclasses
with further ones::

    @dataclass(frozen=True, kw_only=True)
    class Lint:
        fix: bool = option(False, "Repair mistakes.")
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from urdf_usd.cli.failures import EXIT_CODES, CommandError
from urdf_usd.cli.terminal import shown_status

OWN_FILE = "urdf-usd.toml"
_PROJECT = "pyproject.toml"
_TABLE = "urdf-usd"
# Above it, files belong to something else.
_REPOSITORY = ".git"
# Placeholder of options that name a package and its folder.
PACKAGE = "NAME=PATH"
REQUIRED: Any = MISSING
_GIVEN = "urdf-usd.given"


def option(
    default: object,
    text: str,
    flag: str | None = None,
    metavar: str | None = None,
    kind: click.ParamType[Any] | None = None,
    *,
    parse: Callable[[str], object] | None = None,
) -> Any:  # noqa: ANN401  # as dataclasses.field
    """Declare an option; a boolean is a flag, a tuple is repeatable.

    Args:
        default: Its default, or REQUIRED.
        text: Its help.
        flag: Its name, if that is not ``--`` and the name of the field.
        metavar: Placeholder of its value.
        kind: Type of each value, if the type of the field does not say enough.
        parse: Reads each value, and raises ValueError; enumerations are read as such.
    """
    stated = {"help": text, "flag": flag, "metavar": metavar, "type": kind, "parse": parse}
    return field(default=default, metadata=stated)


def argument(
    metavar: str | None = None,
    kind: click.ParamType[Any] | None = None,
    default: object = REQUIRED,
) -> Any:  # noqa: ANN401  # as dataclasses.field
    """Declare an argument; a tuple takes any number of values."""
    return field(default=default, metadata={"metavar": metavar, "type": kind})


def refuse(*contradictions: tuple[object, str]) -> None:
    """Refuse a command line for the first message whose condition holds."""
    for contradicts, message in contradictions:
        if contradicts:
            raise click.UsageError(message)


@dataclass(frozen=True)
class Command:
    """A command of the program."""

    options: type[Any]
    runs: str  # module of this package and function, imported when the options are valid
    exit_codes: str = EXIT_CODES


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


def _gather(kind: type[Any], values: Mapping[str, object]) -> object:
    types = get_type_hints(kind)
    return kind(
        **{
            one.name: values[one.name] if one.metadata else _gather(types[one.name], values)
            for one in fields(kind)
        }
    )


def _parameters(kind: type[Any]) -> Iterator[click.Parameter]:
    types = get_type_hints(kind)
    for one in fields(kind):
        annotation = types[one.name]
        if not one.metadata:
            yield from _parameters(annotation)
        elif "help" in one.metadata:
            yield _click_option(one, annotation)
        else:
            yield click.Argument(
                (one.name,),
                nargs=-1 if get_origin(annotation) is tuple else 1,
                required=one.default is MISSING,
                **one.metadata,
            )


def _click_option(declared: Field[Any], annotation: object) -> click.Option:
    stated, default = declared.metadata, declared.default
    several = get_origin(annotation) is tuple
    value: Any = get_args(annotation)[0] if several else annotation
    if type(None) in get_args(value):
        value = next(one for one in get_args(value) if one is not type(None))
    is_enum = isinstance(value, type) and issubclass(value, StrEnum)
    parse = stated["parse"] or (value if is_enum else None)
    kind = stated["type"] or (value if value in (int, float, bool) else click.STRING)
    if is_enum or get_origin(value) is Literal:
        kind = click.Choice([str(one) for one in (value if is_enum else get_args(value))])
    shown = default not in (None, (), False, MISSING)
    required = default is MISSING
    written: dict[str, Any] = (
        {} if required else {"default": str(default) if shown and parse else default}
    )
    return click.Option(
        (stated["flag"] or f"--{declared.name.replace('_', '-')}", declared.name),
        is_flag=value is bool,
        multiple=several,
        type=kind,
        required=required,
        show_default=shown,
        metavar=stated["metavar"],
        help=stated["help"],
        callback=_reader(parse, several=several),
        **written,
    )


def _reader(
    parse: Callable[[str], object] | None, *, several: bool
) -> Callable[[click.Context, click.Parameter, Any], object]:
    def read(context: click.Context, parameter: click.Parameter, value: Any) -> object:  # noqa: ANN401  # any option's
        if context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT:
            context.meta.setdefault(_GIVEN, {})[parameter.name] = value
        if value is None or parse is None:
            return value
        try:
            return tuple(map(parse, value)) if several else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), param=parameter) from error

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
