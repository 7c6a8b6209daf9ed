"""From references to robots: the one resolver behind every command.

All texts are parsed first, then all names are looked up, then what is not selected is
left out, and only then is anything downloaded.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, assert_never

from urdf_usd.corpus import sources
from urdf_usd.corpus.identifiers import distinct, identifier
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
)
from urdf_usd.corpus.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from urdf_usd.corpus.sources.written_list import Additions

_Robot = TypeVar("_Robot", RobotSource | UnavailableSource, Candidate)

MIRROR_VARIABLE = "URDF_USD_MIRROR"
_ALL = Selection()


def announce_on_stderr(line: str) -> None:
    """Write a line to stderr at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class _Named:
    """A robot as it was found, and what a list says of it beyond that."""

    robot: Candidate
    additions: Additions | None = None

    def complete(self, robot: Candidate) -> Candidate:
        """Return the robot, or what it has become, with what the list says."""
        return self.additions.to(robot) if self.additions else robot


def resolve_robot(
    text: str, announce: Announce = announce_on_stderr, *, mirror: Path | None = None
) -> RobotSource:
    """Resolve a reference to one robot.

    A path is taken as it is: whether a robot lies there is found out, and said with a
    location, by whoever reads it.

    Args:
        text: The reference.
        announce: Told before anything is downloaded.
        mirror: As in :func:`resolve_corpora`.

    Raises:
        ReferenceSyntaxError: The text is no reference, or names many robots.
        UnavailableError: There is no robot to be had from it.
    """
    reference = parse_reference(text)
    if reference.target is None or reference.whole:
        raise ReferenceSyntaxError(f"{text!r} names a whole corpus; name one robot")
    if reference.scheme is Scheme.FILE:
        return sources.file.describe(reference.target)
    mirror = _mirror(mirror)
    match _candidate(reference.scheme, reference.target, mirror, None):
        case RobotSource() as robot:
            return robot
        case UnavailableSource(reason=reason):
            raise UnavailableError(reason)
        case Download() as download:
            return sources.description_modules.fetch(download, announce, mirror)


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
        announce: Told before anything is downloaded, and what is left out.
        selection: Which of the robots are meant.
        mirror: Folder with the repositories of robot_descriptions, under the names that
            it gives to its clones; nothing is downloaded then. The one that the
            variable ``URDF_USD_MIRROR`` names, if there is one, is the default.

    Returns:
        Robots; and, for those and for whole corpora that cannot be had, the reason.

    Raises:
        ReferenceSyntaxError: A text is no reference.
        TableError: A file that lists robots is no such list.
        UnknownRobotError: A file, folder or robot is named that does not exist.
        NothingSelectedError: No robot is meant.
    """
    mirror = _mirror(mirror)
    found = _selected(texts, announce, selection, mirror)
    robots = _fetched(found, announce, mirror)
    return _ordered([one for one in robots if not isinstance(one, Download)])


def list_corpora(
    texts: Iterable[str],
    announce: Announce = announce_on_stderr,
    *,
    selection: Selection = _ALL,
    mirror: Path | None = None,
) -> tuple[Candidate, ...]:
    """Say which robots references lead to; nothing is downloaded.

    What is here already is resolved; arguments, order and errors are those of
    :func:`resolve_corpora`.
    """
    mirror = _mirror(mirror)
    found = _selected(texts, announce, selection, mirror)
    return _ordered(_fetched(found, announce, mirror, here_alone=True))


def robot_names(scheme: Scheme) -> tuple[str, ...]:
    """List what can follow a scheme that is a whole corpus; nothing is downloaded.

    Raises:
        UnavailableError: The source is not installed.
    """
    match scheme:
        case Scheme.PYBULLET:
            return sources.pybullet_assets.names()
        case Scheme.DESCRIPTIONS:
            return sources.description_catalogue.names()
        case Scheme.EXAMPLES:
            return sources.example_robots.names()
        case Scheme.FILE | Scheme.FOLDER | Scheme.LIST:
            raise ReferenceSyntaxError(f"{scheme}: needs a path")
        case _:
            assert_never(scheme)


def _mirror(named: Path | None) -> Path | None:
    """Return the mirror that is named here, or by the environment."""
    stated = os.environ.get(MIRROR_VARIABLE)
    mirror = named or (Path(stated) if stated else None)
    if mirror and not mirror.is_dir():
        raise CorpusError(f"{mirror}: there is no such mirror folder")
    return mirror


def _fetched(
    found: Sequence[_Named],
    announce: Announce,
    mirror: Path | None,
    *,
    here_alone: bool = False,
) -> list[Candidate]:
    """Fetch what is to be downloaded, or of that what is here already."""
    wanted = {
        place: one.robot
        for place, one in enumerate(found)
        if isinstance(one.robot, Download) and (one.robot.cached or not here_alone)
    }
    fetched = sources.description_modules.fetch_all(wanted.values(), announce, mirror)
    arrived = dict(zip(wanted, fetched, strict=True))
    return [
        one.complete(arrived.get(place, one.robot)) for place, one in enumerate(found)
    ]


def _selected(
    texts: Iterable[str], announce: Announce, selection: Selection, mirror: Path | None
) -> tuple[_Named, ...]:
    """Find all that is meant, once each as far as that shows before downloads."""
    references = [parse_reference(text) for text in texts]
    named = [one for ref in references for one in _named(ref, mirror)]
    seen = [one.complete(one.robot) for one in named]
    chosen = {id(robot) for robot in selection.apply(seen, announce)}
    return tuple(
        one for one, robot in zip(named, seen, strict=True) if id(robot) in chosen
    )


def _named(reference: Reference, mirror: Path | None) -> Iterator[_Named]:
    if reference.scheme is not Scheme.LIST or reference.target is None:
        for robot in _robots(reference, mirror, None):
            yield _Named(robot)
        return
    for entry in sources.written_list.entries(reference.target):
        try:
            robots = tuple(_robots(entry.reference, mirror, entry.start))
        except UnknownRobotError as error:
            raise UnknownRobotError(f"{entry.place}: {error}") from None
        for robot in robots:
            yield _Named(robot, entry.additions)


def _robots(
    reference: Reference, mirror: Path | None, start: Path | None
) -> Iterator[Candidate]:
    scheme, target = reference.scheme, reference.target
    if target is not None and scheme is Scheme.FOLDER:
        yield from sources.folder.locate_all(target, start)
        return
    try:
        targets = robot_names(scheme) if target is None else (target,)
    except UnavailableError as error:
        yield UnavailableSource(str(scheme), str(scheme), str(error))
        return
    for one in targets:
        try:
            yield _candidate(scheme, one, mirror, start)
        except UnknownRobotError:
            raise
        except UnavailableError as error:
            name = identifier(scheme, one)
            yield UnavailableSource(name, f"{scheme}:{one}", str(error))


def _candidate(
    scheme: Scheme, target: str, mirror: Path | None, start: Path | None
) -> Candidate:
    match scheme:
        case Scheme.FILE:
            return sources.file.locate(target, start)
        case Scheme.PYBULLET:
            return sources.pybullet_assets.locate(target)
        case Scheme.DESCRIPTIONS:
            return sources.description_catalogue.offer(target, mirror)
        case Scheme.EXAMPLES:
            return sources.example_robots.locate(target)
        case Scheme.FOLDER | Scheme.LIST:
            raise ReferenceSyntaxError(f"{scheme}:{target} names many robots")
        case _:
            assert_never(scheme)


def _ordered(robots: Iterable[_Robot]) -> tuple[_Robot, ...]:
    """Order robots by id, each once and with an id of its own."""
    first: dict[str, _Robot] = {}
    for robot in robots:
        # A robot keeps the first name under which it was met.
        first.setdefault(_key(robot), robot)
    found = tuple(first.values())
    said = [_said(robot) for robot in found]
    # Paths differ between machines: they are the last means to tell robots apart.
    keys = [
        key if said.count(text) > 1 else text
        for key, text in zip(first, said, strict=True)
    ]
    ids = distinct([robot.id for robot in found], keys)
    renamed = [replace(robot, id=name) for robot, name in zip(found, ids, strict=True)]
    return tuple(sorted(renamed, key=lambda robot: robot.id))


def _key(robot: Candidate) -> str:
    """Text that tells robots apart: a xacro file makes one with every argument."""
    if not isinstance(robot, RobotSource):
        return robot.reference
    return " ".join((str(robot.path), *_choices(robot)))


def _said(robot: Candidate) -> str:
    """Text that tells robots apart unless their folders have the same name."""
    choices = _choices(robot) if isinstance(robot, RobotSource) else ()
    return " ".join((robot.reference, *choices))


def _choices(robot: RobotSource) -> tuple[str, ...]:
    arguments = (f"{name}:={value}" for name, value in robot.arguments)
    return (*arguments, *([robot.base] if robot.base else []))
