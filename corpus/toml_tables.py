"""Hand-written TOML files that hold one list of tables, validated by msgspec."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Struct

from urdf_usd.corpus.robots import CorpusError

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text that is not blank."""

Row = TypeVar("Row", bound=msgspec.Struct)


class TableError(CorpusError):
    """The TOML file is invalid; one line ``file:line: problem`` for each problem."""


class Table(Struct, Generic[Row], frozen=True):
    """One table of a file, with the lines of its text; ``tomllib`` reports no positions."""

    file: str  # as given
    start: int  # index of the line of the header
    values: Row
    lines: tuple[str, ...]

    def location(self, key: str = "") -> str:
        """Return ``file:line`` of a key, or of the table."""
        return f"{self.file}:{self.start + _line_of(self.lines, key)}"


def read_tables(path: Path, name: str, row: type[Row]) -> tuple[Table[Row], ...]:
    """Read the tables ``[[name]]`` of a file that contains nothing else.

    Raises:
        TableError: The file cannot be read, has unknown keys, or values of other types.
            All problems are in the message.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TableError(f"{path}: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path}: {error}") from None
    lines = text.split("\n")
    stated = document.pop(name, [])
    if not isinstance(stated, list) or not all(isinstance(values, dict) for values in stated):
        raise TableError(
            f"{path}:{_line_of(lines, name)}: {name!r} is not a list of [[{name}]] tables"
        )
    problems = [f"{path}:{_line_of(lines, key)}: {_unknown(key, [name])}" for key in document]
    header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
    starts = [number for number, line in enumerate(lines) if header.match(line)]
    # An inline list has no headers.
    starts += [0] * (len(stated) - len(starts))
    tables = []
    for values, start, end in zip(stated, starts, [*starts[1:], None], strict=False):
        own = tuple(lines[start:end])
        wrong = _problems(values, row)
        problems += [f"{path}:{start + _line_of(own, key)}: {text}" for key, text in wrong]
        if not wrong:
            tables.append(Table(str(path), start, msgspec.convert(values, row), own))
    if problems:
        raise TableError("\n".join(problems))
    return tuple(tables)


def _problems(values: Mapping[str, object], row: type[msgspec.Struct]) -> list[tuple[str, str]]:
    """Return the key and the description of each problem; msgspec stops at the first."""
    problems = []
    fields = {field.name: field for field in msgspec.structs.fields(row)}
    for key, value in values.items():
        if key not in fields:
            problems.append((key, _unknown(key, fields)))
            continue
        try:
            msgspec.convert(value, fields[key].type)
        except msgspec.ValidationError as error:
            problems.append((key, f"{key!r} is invalid: {error}"))
    missing = [key for key, field in fields.items() if field.required and key not in values]
    return problems + [("", f"{key!r} is missing") for key in missing]


def _unknown(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{key!r} is not known here; {hint}"


def _line_of(lines: Iterable[str], key: str) -> int:
    """Return the number of the line of a key or table; 1 without one."""
    pattern = re.compile(rf"\s*\[*\s*(?:\w+\s*\.\s*)?{re.escape(key)}\s*[\]=.]")
    return next((n for n, line in enumerate(lines, 1) if key and pattern.match(line)), 1)
