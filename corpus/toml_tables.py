"""TOML files that people write: one list of tables, of which all else is refused.

``tomllib`` does not tell where a value stands, so lines are found beside it: with what
strings and comments hold blanked out, a table begins where its header is.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from urdf_usd.corpus.robots import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LARGEST = 16 << 20
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_WORDS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)


class TableError(CorpusError):
    """A TOML file is not what it has to be; one line ``file:line: what`` each."""


class Kind(Enum):
    """What a value may be; the value says so in words."""

    TEXT = "text that is not empty"
    VALUES = "a table of texts, numbers, true or false"


@dataclass(frozen=True, slots=True)
class Field:
    """A key that a table may have.

    Attributes:
        name: The key.
        kind: What its value is.
        required: Whether it has to be there.
        choices: What a text may be; anything if empty.
    """

    name: str
    kind: Kind = Kind.TEXT
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a file.

    Attributes:
        file: The file, as it was named.
        line: Where it begins, from one.
        texts: Texts by key.
        mappings: Tables by key; scalars are written as TOML does.
        lines: Where keys stand, of those that are found.
    """

    file: str
    line: int
    texts: Mapping[str, str]
    mappings: Mapping[str, tuple[tuple[str, str], ...]]
    lines: Mapping[str, int]

    def place(self, key: str = "") -> str:
        """Return ``file:line`` of a key, or of the table."""
        return f"{self.file}:{self.lines.get(key, self.line)}"


def read_tables(path: Path, name: str, fields: Sequence[Field]) -> tuple[Table, ...]:
    """Read the tables ``[[name]]`` of a file, which holds nothing else.

    Args:
        path: The file.
        name: Key of the list.
        fields: What each table may hold.

    Raises:
        TableError: The file cannot be read, or holds anything else. All problems are in
            the message.
    """
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(_syntax_error(path, text, str(error))) from None
    starts = tuple(_starts(text, name))
    problems = [
        f"{path}:{_line_of(text, key)}: {_unknown(key, [name])}"
        for key in document
        if key != name
    ]
    found: Any = document.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        place = f"{path}:{_line_of(text, name)}"
        raise TableError(f"{place}: {name!r} is not a list of [[{name}]] tables")
    tables = []
    for index, values in enumerate(found):
        start = starts[index] if index < len(starts) else (_line_of(text, name), {})
        table = _table(path, start, values)
        problems += _problems(table, values, fields)
        tables.append(table)
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
    place = _AT_LINE.search(message)
    said = _AT_LINE.sub("", message.replace("(at end of document)", "")).strip()
    line, column = place.groups() if place else (len(text.splitlines()) or 1, 1)
    return f"{path}:{line}:{column}: {said[:1].lower()}{said[1:]}"


def _table(
    path: Path, start: tuple[int, Mapping[str, int]], values: Mapping[str, Any]
) -> Table:
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    mappings = {
        key: tuple((name, _written(item)) for name, item in value.items())
        for key, value in values.items()
        if isinstance(value, Mapping)
    }
    return Table(
        file=str(path),
        line=start[0],
        texts=MappingProxyType(texts),
        mappings=MappingProxyType(mappings),
        lines=start[1],
    )


def _problems(
    table: Table, values: Mapping[str, Any], fields: Sequence[Field]
) -> Iterator[str]:
    known = {field.name: field for field in fields}
    for key, value in values.items():
        if key not in known:
            yield f"{table.place(key)}: {_unknown(key, list(known))}"
        elif not _fits(value, known[key].kind):
            wanted = known[key].kind.value
            yield f"{table.place(key)}: {key!r} is not {wanted}"
        elif known[key].choices and value not in known[key].choices:
            choices = " or ".join(map(repr, known[key].choices))
            yield f"{table.place(key)}: {key!r} is {value!r}, not {choices}"
    for field in fields:
        if field.required and field.name not in values:
            yield f"{table.place()}: {field.name!r} is missing"


def _fits(value: object, kind: Kind) -> bool:
    match kind:
        case Kind.TEXT:
            return isinstance(value, str) and bool(value.strip())
        case Kind.VALUES:
            return isinstance(value, Mapping) and all(
                isinstance(item, str | int | float) for item in value.values()
            )


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unknown(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{key!r} is not known here; {hint}"


def _starts(text: str, name: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the line of each table's header, and of the keys that follow it."""
    header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
    below = re.compile(rf"\s*\[\s*{re.escape(name)}\s*\.\s*([\w-]+)")
    key = re.compile(r"\s*([\w-]+)\s*[=.]")
    start: tuple[int, dict[str, int]] | None = None
    for number, line in enumerate(_blanked(text).split("\n"), start=1):
        if header.match(line):
            if start:
                yield start
            start = (number, {})
        elif start and (match := key.match(line) or below.match(line)):
            start[1].setdefault(match[1], number)
    if start:
        yield start


def _blanked(text: str) -> str:
    """Text without what strings and comments hold, with all its lines."""
    return _WORDS.sub(lambda word: '""' + "\n" * word[0].count("\n"), text)


def _line_of(text: str, key: str) -> int:
    """Line where a key stands outside all tables, or a table has that name."""
    pattern = re.compile(rf"\s*\[*\s*{re.escape(key)}\b")
    lines = _blanked(text).split("\n")
    return next((n for n, line in enumerate(lines, start=1) if pattern.match(line)), 1)
