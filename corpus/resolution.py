"""Resolves references to robots, for all commands.

All references are parsed first, then names are looked up, then robots are selected, and
only then downloads start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, assert_never

from msgspec import Struct, structs

from urdf_usd.corpus import descriptions, files, installed
from urdf_usd.corpus.lists import Additions, list_entries
from urdf_usd.corpus.references import Reference, Scheme, parse_reference
from urdf_usd.corpus.robots import (
    Announce,
    Candidate,
    CorpusError,
    Download,
    ReferenceSyntaxError,
    Resolved,
    RobotSource,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    distinct,
    identifier,
)
from urdf_usd.corpus.selection import Selection

_Robot = TypeVar("_Robot", RobotSource | UnavailableSource, Candidate)

MIRROR_VARIABLE = "URDF_USD_MIRROR"
_ALL = Selection()
_NOTHING = Additions()


def announce_on_stderr(line: str) -> None:
    """Write a line to stderr, unbuffered."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class _Entry(Struct, frozen=True):
    robot: Candidate
    additions: Additions = _NOTHING  # of the list that names it


def resolve_robot(
    text: str, announce: Announce = announce_on_stderr, *, mirror: Path | None = None
) -> RobotSource:
    """Resolve a reference to one robot.

    Whether the file at a path exists is not checked: reading it reports that with a
    location.

    Args:
        text: The reference.
        announce: Called before a download.
        mirror: As in :func:`resolve_corpora`.

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
    mirror = _mirror(mirror)
    entries = _selected(texts, announce, selection, mirror)
    robots = _fetched(entries, announce, mirror)
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
    mirror = _mirror(mirror)
    entries = _selected(texts, announce, selection, mirror)
    return _ordered(_fetched(entries, announce, mirror, only_cached=True))


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


def _selected(
    texts: Iterable[str], announce: Announce, selection: Selection, mirror: Path | None
) -> list[_Entry]:
    """Find the robots of references and select from them; nothing is downloaded."""
    references = [parse_reference(text) for text in texts]
    entries = [entry for ref in references for entry in _entries(ref, mirror)]
    robots = [entry.additions.to(entry.robot) for entry in entries]
    chosen = {id(robot) for robot in selection.apply(robots, announce)}
    return [entry for entry, robot in zip(entries, robots, strict=True) if id(robot) in chosen]


def _entries(reference: Reference, mirror: Path | None) -> Iterator[_Entry]:
    if reference.scheme is not Scheme.LIST or reference.target is None:
        for robot in _robots(reference, mirror, None):
            yield _Entry(robot)
        return
    for entry in list_entries(reference.target):
        try:
            robots = tuple(_robots(entry.reference, mirror, entry.start))
        except UnknownRobotError as error:
            raise UnknownRobotError(f"{entry.location}: {error}") from None
        for robot in robots:
            yield _Entry(robot, entry.additions)


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
    entries: Sequence[_Entry],
    announce: Announce,
    mirror: Path | None,
    *,
    only_cached: bool = False,
) -> list[Candidate]:
    """Fetch all downloads, or only those whose files are on this machine."""
    downloads = {
        index: entry.robot
        for index, entry in enumerate(entries)
        if isinstance(entry.robot, Download) and (entry.robot.cached or not only_cached)
    }
    fetched = descriptions.fetch_all(downloads.values(), announce, mirror)
    arrived = dict(zip(downloads, fetched, strict=True))
    return [
        entry.additions.to(arrived.get(index, entry.robot)) for index, entry in enumerate(entries)
    ]


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
