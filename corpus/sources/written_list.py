"""Corpora that somebody has written down, in TOML.

Each ``[[robots]]`` names what any reference can name, and may say more about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from urdf_usd.corpus.packages import first_of_each
from urdf_usd.corpus.references import Reference, Scheme, parse_reference
from urdf_usd.corpus.robots import (
    Candidate,
    ReferenceSyntaxError,
    RobotSource,
    UnknownRobotError,
)
from urdf_usd.corpus.toml_tables import Field, Kind, Table, TableError, read_tables

TABLE = "robots"
_BASES = ("fixed", "floating")
FIELDS = (
    Field("reference", required=True),
    Field("arguments", Kind.VALUES),
    Field("packages", Kind.VALUES),
    Field("base", choices=_BASES),
    Field("license"),
    Field("notes"),
)


@dataclass(frozen=True, slots=True)
class Additions:
    """What a list says of a robot beyond its source; it counts more.

    Attributes:
        arguments: Values of xacro's arguments, by name.
        packages: Folders of ROS packages, by name.
        base: As in :class:`RobotSource`; likewise the notes.
        license: SPDX identifier.
    """

    arguments: tuple[tuple[str, str], ...] = ()
    packages: tuple[tuple[str, Path], ...] = ()
    base: str | None = None
    license: str | None = None
    notes: str | None = None

    def to(self, robot: Candidate) -> Candidate:
        """Return a robot with what the list says of it."""
        origin = replace(robot.origin, license=self.license or robot.origin.license)
        if not isinstance(robot, RobotSource):
            return replace(robot, origin=origin)
        return replace(
            robot,
            packages=first_of_each(*self.packages, *robot.packages),
            arguments=tuple({**dict(robot.arguments), **dict(self.arguments)}.items()),
            origin=origin,
            base=self.base or robot.base,
            notes=self.notes or robot.notes,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of a list.

    Attributes:
        reference: What it names.
        additions: What it says about that.
        place: ``file:line`` of the reference.
        start: Folder that paths in it begin in.
    """

    reference: Reference
    additions: Additions
    place: str
    start: Path


def entries(target: str) -> tuple[Entry, ...]:
    """Read a list; nothing that it names is looked for.

    Args:
        target: Path of the file.

    Raises:
        UnknownRobotError: There is no such file, or no robot in it.
        TableError: It is not a list of robots; all problems are in the message.
    """
    path = Path(target)
    if not path.is_file():
        raise UnknownRobotError(f"{target}: there is no such file")
    tables = read_tables(path, TABLE, FIELDS)
    if not tables:
        raise UnknownRobotError(f"{target}: it names no [[{TABLE}]]")
    found: list[Entry] = []
    problems: list[str] = []
    for table in tables:
        try:
            found.append(_entry(table, path.parent))
        except TableError as error:
            problems.append(str(error))
    if problems:
        raise TableError("\n".join(problems))
    return tuple(found)


def _entry(table: Table, start: Path) -> Entry:
    place = table.place("reference")
    try:
        reference = parse_reference(table.texts["reference"])
    except ReferenceSyntaxError as error:
        raise TableError(f"{place}: {error}") from None
    if reference.scheme is Scheme.LIST:
        raise TableError(f"{place}: a list cannot name a list")
    arguments = table.mappings.get("arguments", ())
    if arguments and reference.whole:
        where = table.place("arguments")
        raise TableError(f"{where}: {reference} is no single xacro file")
    packages = tuple(
        (name, start / folder) for name, folder in table.mappings.get("packages", ())
    )
    missing = [name for name, folder in packages if not folder.is_dir()]
    if missing:
        where = table.place("packages")
        raise TableError(f"{where}: the folder of {missing[0]!r} does not exist")
    additions = Additions(
        arguments=arguments,
        packages=packages,
        base=table.texts.get("base"),
        license=table.texts.get("license"),
        notes=table.texts.get("notes"),
    )
    return Entry(reference, additions, place, start)
