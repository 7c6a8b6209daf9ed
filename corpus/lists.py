"""Lists of robots in TOML files (``list:<file.toml>``).

Each ``[[robots]]`` table names a robot or a corpus by its reference, and may add
xacro arguments, packages, the kind of base, a licence and notes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from urdf_usd.corpus.files import first_of_each
from urdf_usd.corpus.references import Reference, Scheme, parse_reference
from urdf_usd.corpus.robots import (
    Candidate,
    ReferenceSyntaxError,
    RobotSource,
    UnknownRobotError,
)
from urdf_usd.corpus.toml_tables import Table, TableError, Text, read_tables

_TABLE = "robots"


class _Row(msgspec.Struct, frozen=True):
    reference: Text
    arguments: dict[str, bool | int | float | str] = {}
    packages: dict[str, Text] = {}
    base: Literal["fixed", "floating"] | None = None
    license: Text | None = None
    notes: Text | None = None


class Additions(Struct, frozen=True):
    """Properties that a list states for a robot; they override those of its source."""

    arguments: tuple[tuple[str, str], ...] = ()  # of xacro
    packages: tuple[tuple[str, Path], ...] = ()
    base: str | None = None
    license: str | None = None
    notes: str | None = None

    def to(self, robot: Candidate) -> Candidate:
        """Return the robot with these properties."""
        origin = structs.replace(robot.origin, license=self.license or robot.origin.license)
        if not isinstance(robot, RobotSource):
            return structs.replace(robot, origin=origin)
        return structs.replace(
            robot,
            packages=first_of_each(*self.packages, *robot.packages),
            arguments=tuple({**dict(robot.arguments), **dict(self.arguments)}.items()),
            origin=origin,
            base=self.base or robot.base,
            notes=self.notes or robot.notes,
        )


class Entry(Struct, frozen=True):
    """One table of a list."""

    reference: Reference
    additions: Additions
    location: str  # ``file:line`` of the reference
    start: Path  # folder that relative paths start from


def list_entries(target: str) -> tuple[Entry, ...]:
    """Read a list; the robots that it names are not looked up.

    Raises:
        UnknownRobotError: The file does not exist, or lists no robot.
        TableError: It is not a list of robots; all problems are in the message.
    """
    path = Path(target)
    if not path.is_file():
        raise UnknownRobotError(f"{target}: there is no such file")
    tables = read_tables(path, _TABLE, _Row)
    if not tables:
        raise UnknownRobotError(f"{target}: it has no [[{_TABLE}]]")
    entries: list[Entry] = []
    problems: list[str] = []
    for table in tables:
        try:
            entries.append(_entry(table, path.parent))
        except TableError as error:
            problems.append(str(error))
    if problems:
        raise TableError("\n".join(problems))
    return tuple(entries)


def _entry(table: Table[_Row], start: Path) -> Entry:
    row, location = table.values, table.location("reference")
    try:
        reference = parse_reference(row.reference)
    except ReferenceSyntaxError as error:
        raise TableError(f"{location}: {error}") from None
    if reference.scheme is Scheme.LIST:
        raise TableError(f"{location}: a list cannot name a list")
    if row.arguments and reference.whole:
        raise TableError(f"{table.location('arguments')}: {reference} is no single xacro file")
    packages = tuple((name, start / path) for name, path in row.packages.items())
    missing = [name for name, folder in packages if not folder.is_dir()]
    if missing:
        raise TableError(
            f"{table.location('packages')}: the folder of {missing[0]!r} does not exist"
        )
    arguments = tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in row.arguments.items()
    )
    additions = Additions(arguments, packages, row.base, row.license, row.notes)
    return Entry(reference, additions, location, start)
