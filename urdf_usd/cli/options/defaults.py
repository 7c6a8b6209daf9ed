"""Default values of options, from ``urdf-usd.toml`` or ``pyproject.toml``.

Tables are named after commands, keys after their long options::

    [run]
    out = "report"
    fail-on = "close"
    package = ["my_robot=robots/my_robot"]

In ``pyproject.toml`` they are below ``tool.urdf-usd``. Relative paths are relative to
the folder of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from urdf_usd.cli.output.failures import CommandError

OWN_FILE = "urdf-usd.toml"
_PROJECT = "pyproject.toml"
_TABLE = "urdf-usd"
# Above it, files belong to something else.
_REPOSITORY = ".git"
_PACKAGES = "packages"


class Defaults(Struct, frozen=True):
    """The tables of a file.

    Attributes:
        file: The file.
        tables: Values by option, by command.
    """

    file: Path
    tables: Mapping[str, Mapping[str, object]]


def find_defaults(folder: Path) -> Defaults | None:
    """Read the file of a folder, or of the nearest of its parents that has one.

    ``urdf-usd.toml`` comes before ``pyproject.toml`` in the same folder. The search
    ends at the root of a repository.

    Raises:
        CommandError: A file is not TOML, or its tables are not tables.
    """
    for parent in (folder, *folder.parents):
        for name in (OWN_FILE, _PROJECT):
            if (file := parent / name).is_file():
                found = read_defaults(file)
                if found.tables or name == OWN_FILE:
                    return found
        if (parent / _REPOSITORY).exists():
            return None
    return None


def read_defaults(file: Path) -> Defaults:
    """Read a file; without a table for this program it has no defaults.

    Raises:
        CommandError: As in :func:`find_defaults`.
    """
    import tomllib

    try:
        content: Any = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}") from error
    if file.name == _PROJECT:
        content = content.get("tool", {}).get(_TABLE, {})
    for name, table in content.items():
        if not isinstance(table, dict):
            raise CommandError(
                f"{file}: {name!r} is not a table; write options below the name of "
                "their command, such as [run]"
            )
    return Defaults(file, content)


def values_of(defaults: Defaults, name: str, command: click.Command) -> dict[str, Any]:
    """Return the default values of a command, by parameter, for click.

    Args:
        defaults: The tables.
        name: Name of the command.
        command: The command.

    Raises:
        CommandError: The command has no such option.
    """
    options = {
        opt.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for opt in option.opts
        if opt.startswith("--")
    }
    values: dict[str, Any] = {}
    for key, value in defaults.tables.get(name, {}).items():
        option = options.get(key)
        if option is None or option.name is None:
            raise CommandError(
                f"{defaults.file}: urdf-usd {name} has no option --{key}"
                f"{_suggestion(key, list(options))}"
            )
        values[option.name] = _placed(value, option, defaults.file.parent)
    return values


def require_commands(defaults: Defaults, names: list[str]) -> None:
    """Check that all tables are named after commands.

    Raises:
        CommandError: One is not.
    """
    for name in defaults.tables:
        if name not in names:
            raise CommandError(
                f"{defaults.file}: there is no command {name!r}{_suggestion(name, names)}"
            )


def _placed(value: object, option: click.Option, folder: Path) -> object:
    """Make paths relative to the folder of the file."""
    if isinstance(value, list):
        return [_placed(one, option, folder) for one in value]
    if not isinstance(value, str):
        return value
    if option.name == _PACKAGES:
        package, equals, path = value.partition("=")
        return f"{package}{equals}{folder / path}"
    return str(folder / value) if isinstance(option.type, click.Path) else value


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
