"""Hand-written TOML files that hold one list of tables, validated by msgspec.

``tomllib`` reports no positions of values. The lines of tables and keys are therefore
searched in the text, after the contents of strings and comments are blanked out.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from urdf_usd.corpus.robots import CorpusError

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text that is not blank."""

Row = TypeVar("Row", bound=msgspec.Struct)

_LARGEST = 16 << 20
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)


class TableError(CorpusError):
    """The TOML file is invalid; one line ``file:line: problem`` for each problem."""


class Table(Struct, Generic[Row], frozen=True):
    """One table of a file, with the lines of its header and of its keys, from 1."""

    file: str  # as given
    line: int
    values: Row
    lines: Mapping[str, int]

    def location(self, key: str = "") -> str:
        """Return ``file:line`` of a key, or of the table."""
        return f"{self.file}:{self.lines.get(key, self.line)}"


def read_tables(path: Path, name: str, row: type[Row]) -> tuple[Table[Row], ...]:
    """Read the tables ``[[name]]`` of a file that contains nothing else.

    Args:
        path: The file.
        name: Key of the list.
        row: Keys of a table, with their types and defaults.

    Raises:
        TableError: The file cannot be read, has unknown keys, or values of other types.
            All problems are in the message.
    """
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(_syntax_error(path, text, str(error))) from None
    # Keeps the line ends of what it blanks out.
    bare = _STRING_OR_COMMENT.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    problems = [
        f"{path}:{_line_of(bare, key)}: {_unknown(key, [name])}" for key in document if key != name
    ]
    stated: Any = document.get(name, [])
    first = _line_of(bare, name)
    if not isinstance(stated, list) or not all(isinstance(values, dict) for values in stated):
        raise TableError(f"{path}:{first}: {name!r} is not a list of [[{name}]] tables")
    positions = [*_positions(bare, name)]
    # An inline list has no headers.
    positions += [(first, {})] * (len(stated) - len(positions))
    tables = []
    for (line, lines), values in zip(positions, stated, strict=False):
        wrong = [*_problems(values, row)]
        problems += [f"{path}:{lines.get(key, line)}: {problem}" for key, problem in wrong]
        if not wrong:
            tables.append(Table(str(path), line, msgspec.convert(values, row), lines))
    if problems:
        raise TableError("\n".join(problems))
    return tuple(tables)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    if len(content) > _LARGEST:
        raise TableError(f"{path}: it is larger than {_LARGEST >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(f"{path}:{line}: it is not UTF-8") from None


def _syntax_error(path: Path, text: str, message: str) -> str:
    position = _AT_LINE.search(message)
    reason = _AT_LINE.sub("", message.replace("(at end of document)", "")).strip()
    line, column = position.groups() if position else (len(text.splitlines()) or 1, 1)
    return f"{path}:{line}:{column}: {reason[:1].lower()}{reason[1:]}"


def _problems(values: Mapping[str, object], row: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Yield the key and the description of each problem; msgspec stops at the first."""
    fields = {field.name: field for field in msgspec.structs.fields(row)}
    for key, value in values.items():
        if key not in fields:
            yield key, _unknown(key, fields)
            continue
        try:
            msgspec.convert(value, fields[key].type)
        except msgspec.ValidationError as error:
            yield key, f"{key!r} is invalid: {error}"
    for key, field in fields.items():
        if field.required and key not in values:
            yield "", f"{key!r} is missing"


def _unknown(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{key!r} is not known here; {hint}"


def _positions(bare: str, name: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the line of each table's header, and the lines of the keys below it."""
    header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
    key = re.compile(rf"\s*(?:\[\s*{re.escape(name)}\s*\.\s*([\w-]+)|([\w-]+)\s*[=.])")
    lines: dict[str, int] | None = None
    for number, line in enumerate(bare.split("\n"), start=1):
        if header.match(line):
            lines = {}
            yield number, lines
        elif lines is not None and (match := key.match(line)):
            lines.setdefault(match[1] or match[2], number)


def _line_of(bare: str, key: str) -> int:
    """Return the line of a top-level key or table; 1 if it is not found."""
    pattern = re.compile(rf"\s*\[*\s*{re.escape(key)}\b")
    lines = enumerate(bare.split("\n"), start=1)
    return next((number for number, line in lines if pattern.match(line)), 1)
