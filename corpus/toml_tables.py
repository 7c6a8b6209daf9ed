"""Hand-written TOML files that hold one list of tables, validated by msgspec."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from urdf_usd.corpus.robots import CorpusError, close_names

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text that is not blank."""

Row = TypeVar("Row", bound=msgspec.Struct)


def read_tables(path: Path, name: str, row: type[Row]) -> list[tuple[str, Row]]:
    """Read the tables ``[[name]]`` of a file that contains nothing else, each with ``file:line``.

    Raises:
        CorpusError: The file cannot be read, has unknown keys, or values of other types; a line
            ``file:line: problem`` for each table with a problem, where the table begins.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: it is not UTF-8") from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    stated = document.pop(name, [])
    if document or not isinstance(stated, list):
        other = ", ".join(document) or name
        raise CorpusError(f"{path}: it has {other!r}, and may have [[{name}]] tables alone")
    header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
    starts = [line for line, one in enumerate(text.split("\n"), 1) if header.match(one)]
    # An inline list has no headers.
    starts += [1] * (len(stated) - len(starts))
    tables: list[tuple[str, Row]] = []
    problems: list[str] = []
    for values, start in zip(stated, starts, strict=False):
        location = f"{path}:{start}"
        for key in values if isinstance(values, dict) else ():
            if key not in row.__struct_fields__:
                hint = close_names(key, row.__struct_fields__)
                problems.append(f"{location}: {key!r} is not known here{hint}")
        try:
            tables.append((location, msgspec.convert(values, row)))
        except msgspec.ValidationError as error:
            problems.append(f"{location}: {error}")
    if problems:
        raise CorpusError("\n".join(problems))
    return tables
