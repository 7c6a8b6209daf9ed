"""Resolves references to robots, for all commands.

All are parsed first, then names are looked up, robots selected, and only then downloads start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from urdf_usd.corpus import files, installed
from urdf_usd.corpus import robots as r

MIRROR_VARIABLE = "URDF_USD_MIRROR"
_ALL = r.Selection()
# Names of all robots of a source, and functions that find those of one name.
_NAMES: Mapping[r.Scheme, Callable[[], tuple[str, ...]]] = {
    r.Scheme.PYBULLET: installed.pybullet_names,
    r.Scheme.DESCRIPTIONS: installed.description_names,
    r.Scheme.EXAMPLES: installed.example_names,
    r.Scheme.SUITE: installed.case_names,
}
_FIND: Mapping[r.Scheme, Callable[..., Any]] = {
    r.Scheme.PYBULLET: installed.locate_pybullet,
    r.Scheme.EXAMPLES: installed.locate_example,
    r.Scheme.SUITE: installed.locate_cases,
    r.Scheme.FILE: files.locate_file,
    r.Scheme.FOLDER: files.locate_below,
    r.Scheme.MJCF: files.locate_mjcf,
}


def announce_on_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a list; what it states overrides what the source of the robot states."""

    reference: r.Text
    arguments: dict[str, bool | int | float | str] = {}
    packages: dict[str, r.Text] = {}
    base: Literal["fixed", "floating"] | None = None
    license: r.Text | None = None
    notes: r.Text | None = None


def _listed(file: Path, mirror: Path | None) -> Iterator[tuple[r.Candidate, _Row]]:
    tables = r.read_tables(file, "robots", _Row)
    if not tables:
        raise r.UnknownRobotError(f"{file}: it has no [[robots]]")
    references = []
    # All references are parsed before robots are looked up.
    for location, row in tables:
        try:
            reference = r.parse_reference(row.reference)
        except r.CorpusError as error:
            raise r.CorpusError(f"{location}: {error}") from None
        problem = ""
        if reference.scheme is r.Scheme.LIST:
            problem = "a list cannot name a list"
        elif row.arguments and reference.whole:
            problem = f"{reference} is no single xacro file, which arguments need"
        elif not all((file.parent / folder).is_dir() for folder in row.packages.values()):
            problem = "the folder of a package does not exist"
        if problem:
            raise r.CorpusError(f"{location}: {problem}")
        references.append(reference)
    for (location, row), reference in zip(tables, references, strict=True):
        try:
            yield from ((robot, row) for robot in _robots(reference, mirror, file.parent))
        except r.UnknownRobotError as error:
            raise r.UnknownRobotError(f"{location}: {error}") from None


def _completed(robot: r.Candidate, row: _Row | None, start: Path) -> r.Candidate:
    """Return a robot with the properties that its table states; paths start from a folder."""
    if row is None:
        return robot
    origin = structs.replace(robot.origin, license=row.license or robot.origin.license)
    if not isinstance(robot, r.RobotSource):
        return structs.replace(robot, origin=origin)
    arguments = dict(robot.arguments)
    for name, value in row.arguments.items():
        arguments[name] = str(value).lower() if isinstance(value, bool) else str(value)
    packages = ((name, start / path) for name, path in row.packages.items())
    return structs.replace(
        robot,
        packages=files.first_of_each(*packages, *robot.packages),
        arguments=tuple(arguments.items()),
        origin=origin,
        base=row.base or robot.base,
        notes=row.notes or robot.notes,
    )


def resolve_robot(
    text: str, announce: r.Announce = announce_on_stderr, *, mirror: Path | None = None
) -> r.RobotSource:
    """Resolve a reference to one robot; reading it reports a file that does not exist.

    Raises:
        ReferenceSyntaxError: The text is no reference, or names many robots.
        UnavailableError: The robot is not available.
    """
    robot = candidate(text, mirror=mirror)
    if isinstance(robot, r.UnavailableSource):
        raise r.UnavailableError(robot.reason)
    if isinstance(robot, r.Download):
        return installed.fetch(robot, announce, _mirror(mirror))
    return robot


def candidate(text: str, *, mirror: Path | None = None) -> r.Candidate:
    """Resolve a reference to one robot without a download; errors as in :func:`resolve_robot`."""
    reference = r.parse_reference(text)
    if reference.target is None or reference.whole:
        raise r.ReferenceSyntaxError(f"{text!r} names a whole corpus; name one robot")
    if reference.scheme is r.Scheme.FILE:
        return files.describe_file(reference.target)
    mirror = _mirror(mirror)
    (robot,) = _robots(reference, mirror, None)
    if isinstance(robot, r.Download) and robot.cached:
        return installed.fetch(robot, announce_on_stderr, mirror)
    return robot


def resolve_corpora(
    texts: Iterable[str],
    announce: r.Announce = announce_on_stderr,
    *,
    selection: r.Selection = _ALL,
    mirror: Path | None = None,
    mjcf: bool = False,
) -> tuple[r.Resolved, ...]:
    """Resolve references to robots and corpora, ordered by id, each robot once.

    The mirror, a folder with the repositories of robot_descriptions, replaces downloads; it is
    ``URDF_USD_MIRROR`` by default. With ``mjcf``, robots of it that have no URDF are fetched too.

    Raises:
        CorpusError: A text is no reference, the file of a list is invalid, a file, folder or
            robot does not exist, or no robot matches the selection.
    """
    robots = _found(texts, announce, selection, _mirror(mirror), mjcf=mjcf)
    return tuple(robot for robot in robots if not isinstance(robot, r.Download))


def list_corpora(
    texts: Iterable[str],
    announce: r.Announce = announce_on_stderr,
    *,
    selection: r.Selection = _ALL,
    mirror: Path | None = None,
) -> tuple[r.Candidate, ...]:
    """List the robots of references without downloads; those on this machine are resolved."""
    return _found(texts, announce, selection, _mirror(mirror), only_cached=True, mjcf=True)


def robot_names(scheme: r.Scheme) -> tuple[str, ...]:
    """List the targets of a whole corpus; UnavailableError if its source is not installed."""
    return _NAMES[scheme]()


def _mirror(named: Path | None) -> Path | None:
    stated = os.environ.get(MIRROR_VARIABLE)
    mirror = named or (Path(stated) if stated else None)
    if mirror and not mirror.is_dir():
        raise r.CorpusError(f"{mirror}: there is no such mirror folder")
    return mirror


def _robots(
    reference: r.Reference, mirror: Path | None, start: Path | None, *, mjcf: bool = True
) -> Iterator[r.Candidate]:
    """Yield the robots of a reference; with ``mjcf``, also those of all of rd without a URDF."""
    scheme, target = reference.scheme, reference.target
    try:
        names = robot_names(scheme) if target is None else (target,)
    except r.UnavailableError as error:
        yield r.UnavailableSource(str(scheme), str(scheme), str(error))
        return
    for name in names:
        try:
            if scheme is r.Scheme.DESCRIPTIONS:
                found = installed.offer(name, mirror, mjcf=mjcf or target is not None)
            else:
                found = _FIND[scheme](name, *(() if scheme in _NAMES else (start,)))
            yield from found if isinstance(found, tuple) else (found,)
        except r.UnknownRobotError:
            raise
        except r.UnavailableError as error:
            yield r.UnavailableSource(r.identifier(scheme, name), f"{scheme}:{name}", str(error))


def _found(
    texts: Iterable[str],
    announce: r.Announce,
    selection: r.Selection,
    mirror: Path | None,
    *,
    only_cached: bool = False,
    mjcf: bool = False,
) -> tuple[r.Candidate, ...]:
    """Find the robots of references, select from them, and fetch what is to be downloaded.

    They are sorted by id, without repeats and with unique ids.
    """
    entries: list[tuple[r.Candidate, _Row | None, Path]] = []
    for reference in [r.parse_reference(text) for text in texts]:
        if reference.scheme is r.Scheme.LIST and reference.target is not None:
            file = Path(reference.target)
            entries += ((*listed, file.parent) for listed in _listed(file, mirror))
        else:
            found = _robots(reference, mirror, None, mjcf=mjcf)
            entries += ((robot, None, Path()) for robot in found)
    robots = [_completed(*entry) for entry in entries]
    chosen = {id(robot) for robot in selection.apply(robots, announce)}
    entries = [entry for entry, robot in zip(entries, robots, strict=True) if id(robot) in chosen]
    downloads = [
        robot
        for robot, _, _ in entries
        if isinstance(robot, r.Download) and (robot.cached or not only_cached)
    ]
    fetched = installed.fetch_all(downloads, announce, mirror)
    arrived = dict(zip(map(id, downloads), fetched, strict=True))
    first: dict[str, r.Candidate] = {}
    for one, row, start in entries:
        robot = _completed(arrived.get(id(one), one), row, start)
        # A robot that is found twice keeps its first reference.
        path = str(robot.path) if isinstance(robot, r.RobotSource) else robot.reference
        first.setdefault(_key(robot, path), robot)
    portable = [_key(robot, robot.reference) for robot in first.values()]
    # Paths differ between machines; they are used only if all else is equal.
    keys = [
        key if portable.count(text) > 1 else text for key, text in zip(first, portable, strict=True)
    ]
    ids = r.distinct([robot.id for robot in first.values()], keys)
    named = zip(first.values(), ids, strict=True)
    renamed = [structs.replace(robot, id=name) for robot, name in named]
    return tuple(sorted(renamed, key=lambda robot: robot.id))


def _key(robot: r.Candidate, start: str) -> str:
    """Return a text that is unique per robot: a file and its xacro arguments."""
    if not isinstance(robot, r.RobotSource):
        return start
    arguments = (f"{name}:={value}" for name, value in robot.arguments)
    return " ".join((start, *arguments, *filter(None, [robot.base])))
