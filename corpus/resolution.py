"""Resolves references to robots, for all commands.

All references are parsed first, then names are looked up, then robots are selected, and
only then downloads start.

The tables of a list (``list:<file.toml>``) are references to robots or corpora, and may
add xacro arguments, packages, the kind of base, a licence and notes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar, assert_never

from msgspec import Struct, structs

from urdf_usd.corpus import descriptions, files, installed
from urdf_usd.corpus.robots import (
    Announce,
    Candidate,
    CorpusError,
    Download,
    Reference,
    ReferenceSyntaxError,
    Resolved,
    RobotSource,
    Scheme,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    distinct,
    identifier,
    parse_reference,
)
from urdf_usd.corpus.selection import Selection
from urdf_usd.corpus.toml_tables import Table, TableError, Text, read_tables

_Robot = TypeVar("_Robot", RobotSource | UnavailableSource, Candidate)

MIRROR_VARIABLE = "URDF_USD_MIRROR"
_TABLE = "robots"


def announce_on_stderr(line: str) -> None:
    """Write a line to stderr, unbuffered."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


# ---- Lists


class _Row(Struct, frozen=True):
    """One table of a list; what it states overrides what the source of the robot states."""

    reference: Text
    arguments: dict[str, bool | int | float | str] = {}
    packages: dict[str, Text] = {}
    base: Literal["fixed", "floating"] | None = None
    license: Text | None = None
    notes: Text | None = None


class _Entry(Struct, frozen=True):
    """A robot, and the table that names it."""

    robot: Candidate
    row: _Row | None = None
    start: Path = Path()  # folder that the paths of the table start from

    def completed(self, robot: Candidate) -> Candidate:
        """Return a robot with the properties that the table states."""
        row = self.row
        if row is None:
            return robot
        origin = structs.replace(robot.origin, license=row.license or robot.origin.license)
        if not isinstance(robot, RobotSource):
            return structs.replace(robot, origin=origin)
        stated = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in row.arguments.items()
        }
        packages = ((name, self.start / path) for name, path in row.packages.items())
        return structs.replace(
            robot,
            packages=files.first_of_each(*packages, *robot.packages),
            arguments=tuple({**dict(robot.arguments), **stated}.items()),
            origin=origin,
            base=row.base or robot.base,
            notes=row.notes or robot.notes,
        )


def _listed(target: str, mirror: Path | None) -> Iterator[_Entry]:
    path = Path(target)
    if not path.is_file():
        raise UnknownRobotError(f"{target}: there is no such file")
    tables = read_tables(path, _TABLE, _Row)
    if not tables:
        raise UnknownRobotError(f"{target}: it has no [[{_TABLE}]]")
    problems: list[str] = []
    references: list[Reference] = []
    for table in tables:
        try:
            references.append(_reference(table, path.parent))
        except TableError as error:
            problems.append(str(error))
    if problems:
        raise TableError("\n".join(problems))
    for table, reference in zip(tables, references, strict=True):
        try:
            robots = tuple(_robots(reference, mirror, path.parent))
        except UnknownRobotError as error:
            raise UnknownRobotError(f"{table.location('reference')}: {error}") from None
        for robot in robots:
            yield _Entry(robot, table.values, path.parent)


def _reference(table: Table[_Row], start: Path) -> Reference:
    row, location = table.values, table.location("reference")
    try:
        reference = parse_reference(row.reference)
    except ReferenceSyntaxError as error:
        raise TableError(f"{location}: {error}") from None
    if reference.scheme is Scheme.LIST:
        raise TableError(f"{location}: a list cannot name a list")
    if row.arguments and reference.whole:
        raise TableError(f"{table.location('arguments')}: {reference} is no single xacro file")
    for name, folder in row.packages.items():
        if not (start / folder).is_dir():
            place = table.location("packages")
            raise TableError(f"{place}: the folder of {name!r} does not exist")
    return reference


# ---- Resolution

_ALL = Selection()


def resolve_robot(
    text: str, announce: Announce = announce_on_stderr, *, mirror: Path | None = None
) -> RobotSource:
    """Resolve a reference to one robot.

    Whether the file at a path exists is not checked: reading it reports that with a
    location.

    Raises:
        ReferenceSyntaxError: The text is no reference, or names many robots.
        UnavailableError: The robot is not available.
    """
    match candidate(text, mirror=mirror):
        case RobotSource() as robot:
            return robot
        case UnavailableSource(reason=reason):
            raise UnavailableError(reason)
        case Download() as download:
            return descriptions.fetch(download, announce, _mirror(mirror))


def candidate(text: str, *, mirror: Path | None = None) -> Candidate:
    """Resolve a reference to one robot without a download.

    Arguments and errors as in :func:`resolve_robot`.
    """
    reference = parse_reference(text)
    if reference.target is None or reference.whole:
        raise ReferenceSyntaxError(f"{text!r} names a whole corpus; name one robot")
    if reference.scheme is Scheme.FILE:
        return files.describe_file(reference.target)
    mirror = _mirror(mirror)
    robot = _candidate(reference.scheme, reference.target, mirror, None)
    if isinstance(robot, Download) and robot.cached:
        return descriptions.fetch(robot, announce_on_stderr, mirror)
    return robot


def resolve_corpora(
    texts: Iterable[str],
    announce: Announce = announce_on_stderr,
    *,
    selection: Selection = _ALL,
    mirror: Path | None = None,
) -> tuple[Resolved, ...]:
    """Resolve references to robots and corpora, ordered by id, each robot once.

    Args:
        texts: The references.
        announce: Called before downloads, and with the number of robots left out.
        selection: Criteria for the robots.
        mirror: Folder with the repositories of robot_descriptions, under the names of
            its clones, used instead of downloads. Default: the environment variable
            ``URDF_USD_MIRROR``.

    Returns:
        Robots; for robots and whole corpora that are not available, the reason.

    Raises:
        ReferenceSyntaxError: A text is no reference.
        TableError: The file of a list is invalid.
        UnknownRobotError: A file, folder or robot does not exist.
        NothingSelectedError: No robot matches the selection.
    """
    robots = _fetched(texts, announce, selection, _mirror(mirror))
    return _ordered([robot for robot in robots if not isinstance(robot, Download)])


def list_corpora(
    texts: Iterable[str],
    announce: Announce = announce_on_stderr,
    *,
    selection: Selection = _ALL,
    mirror: Path | None = None,
) -> tuple[Candidate, ...]:
    """List the robots of references without downloads.

    Robots that are already on this machine are resolved. Arguments, order and errors as
    in :func:`resolve_corpora`.
    """
    return _ordered(_fetched(texts, announce, selection, _mirror(mirror), only_cached=True))


def robot_names(scheme: Scheme) -> tuple[str, ...]:
    """List the targets of a scheme that is a whole corpus, without downloads.

    Raises:
        UnavailableError: The source is not installed.
    """
    match scheme:
        case Scheme.PYBULLET:
            return installed.pybullet_names()
        case Scheme.DESCRIPTIONS:
            return descriptions.description_names()
        case Scheme.EXAMPLES:
            return installed.example_names()
        case Scheme.SUITE:
            return installed.case_names()
        case Scheme.FILE | Scheme.FOLDER | Scheme.LIST:
            raise ReferenceSyntaxError(f"{scheme}: needs a path")
        case _:
            assert_never(scheme)


def _candidate(scheme: Scheme, target: str, mirror: Path | None, start: Path | None) -> Candidate:
    match scheme:
        case Scheme.FILE:
            return files.locate_file(target, start)
        case Scheme.PYBULLET:
            return installed.locate_pybullet(target)
        case Scheme.DESCRIPTIONS:
            return descriptions.offer(target, mirror)
        case Scheme.EXAMPLES:
            return installed.locate_example(target)
        case Scheme.SUITE:
            return installed.locate_cases(target)[0]
        case Scheme.FOLDER | Scheme.LIST:
            raise ReferenceSyntaxError(f"{scheme}:{target} names many robots")
        case _:
            assert_never(scheme)


def _mirror(named: Path | None) -> Path | None:
    """Return the given mirror, or that of the environment."""
    stated = os.environ.get(MIRROR_VARIABLE)
    mirror = named or (Path(stated) if stated else None)
    if mirror and not mirror.is_dir():
        raise CorpusError(f"{mirror}: there is no such mirror folder")
    return mirror


def _robots(reference: Reference, mirror: Path | None, start: Path | None) -> Iterator[Candidate]:
    scheme, target = reference.scheme, reference.target
    if target is not None and scheme is Scheme.FOLDER:
        yield from files.locate_below(target, start)
        return
    if scheme is Scheme.SUITE:
        yield from installed.locate_cases(target or "")
        return
    try:
        targets = robot_names(scheme) if target is None else (target,)
    except UnavailableError as error:
        yield UnavailableSource(str(scheme), str(scheme), str(error))
        return
    for name in targets:
        try:
            yield _candidate(scheme, name, mirror, start)
        except UnknownRobotError:
            raise
        except UnavailableError as error:
            yield UnavailableSource(identifier(scheme, name), f"{scheme}:{name}", str(error))
    if scheme is Scheme.DESCRIPTIONS and target is None:
        # Counted in the report, and not converted.
        yield from descriptions.without_urdf(mirror)


def _fetched(
    texts: Iterable[str],
    announce: Announce,
    selection: Selection,
    mirror: Path | None,
    *,
    only_cached: bool = False,
) -> list[Candidate]:
    """Find the robots of references, select from them, and fetch what is to be downloaded."""
    entries: list[_Entry] = []
    for reference in [parse_reference(text) for text in texts]:
        if reference.scheme is Scheme.LIST and reference.target is not None:
            entries += _listed(reference.target, mirror)
        else:
            entries += map(_Entry, _robots(reference, mirror, None))
    robots = [entry.completed(entry.robot) for entry in entries]
    chosen = {id(robot) for robot in selection.apply(robots, announce)}
    entries = [entry for entry, robot in zip(entries, robots, strict=True) if id(robot) in chosen]
    downloads = {
        index: entry.robot
        for index, entry in enumerate(entries)
        if isinstance(entry.robot, Download) and (entry.robot.cached or not only_cached)
    }
    fetched = descriptions.fetch_all(downloads.values(), announce, mirror)
    arrived = dict(zip(downloads, fetched, strict=True))
    return [entry.completed(arrived.get(n, entry.robot)) for n, entry in enumerate(entries)]


def _ordered(robots: Iterable[_Robot]) -> tuple[_Robot, ...]:
    """Sort robots by id, without repeats and with unique ids."""
    first: dict[str, _Robot] = {}
    for robot in robots:
        # A robot that is found twice keeps its first reference.
        path = str(robot.path) if isinstance(robot, RobotSource) else robot.reference
        first.setdefault(_key(robot, path), robot)
    portable = [_key(robot, robot.reference) for robot in first.values()]
    # Paths differ between machines; they are used only if all else is equal.
    keys = [
        key if portable.count(text) > 1 else text for key, text in zip(first, portable, strict=True)
    ]
    ids = distinct([robot.id for robot in first.values()], keys)
    named = zip(first.values(), ids, strict=True)
    renamed = [structs.replace(robot, id=name) for robot, name in named]
    return tuple(sorted(renamed, key=lambda robot: robot.id))


def _key(robot: Candidate, start: str) -> str:
    """Return a text that is unique per robot: a file and its xacro arguments."""
    if not isinstance(robot, RobotSource):
        return start
    arguments = (f"{name}:={value}" for name, value in robot.arguments)
    return " ".join((start, *arguments, *filter(None, [robot.base])))
