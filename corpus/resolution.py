"""From references to robots: the one resolver behind every command."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, assert_never

from corpus.identifiers import distinct, identifier
from corpus.references import Reference, Scheme, parse_reference
from corpus.robots import (
    Announce,
    ReferenceSyntaxError,
    RobotSource,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
)
from corpus.sources import (
    description_modules,
    example_robots,
    file,
    folder,
    pybullet_assets,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Resolved: TypeAlias = RobotSource | UnavailableSource


def announce_on_stderr(line: str) -> None:
    """Write a line to stderr at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def resolve_robot(text: str, announce: Announce = announce_on_stderr) -> RobotSource:
    """Resolve a reference to one robot.

    A path is taken as it is: whether a robot lies there is found out, and said with a
    location, by whoever reads it.

    Raises:
        ReferenceSyntaxError: The text is no reference, or names many robots.
        UnavailableError: There is no robot to be had from it.
    """
    reference = parse_reference(text)
    if reference.target is None or reference.scheme is Scheme.FOLDER:
        raise ReferenceSyntaxError(f"{text!r} names a whole corpus; name one robot")
    if reference.scheme is Scheme.FILE:
        return file.describe(reference.target)
    return _locate(reference.scheme, reference.target, announce)


def resolve_corpora(
    texts: Iterable[str], announce: Announce = announce_on_stderr
) -> tuple[Resolved, ...]:
    """Resolve references to robots and corpora, ordered by id, each robot once.

    All texts are parsed before the first one is resolved.

    Returns:
        Robots; and, for those and for whole corpora that cannot be had, the reason.

    Raises:
        ReferenceSyntaxError: A text is no reference.
        UnknownRobotError: A file, folder or robot is named that does not exist.
    """
    references = tuple(parse_reference(text) for text in texts)
    found: dict[str, Resolved] = {}
    for reference in references:
        for robot in _robots(reference, announce):
            # A robot keeps the first name under which it was met.
            found.setdefault(_key(robot), robot)
    robots = tuple(found.values())
    ids = distinct([robot.id for robot in robots], list(found))
    renamed = (_renamed(robot, name) for robot, name in zip(robots, ids, strict=True))
    return tuple(sorted(renamed, key=lambda robot: robot.id))


def _key(robot: Resolved) -> str:
    """Text that tells robots apart: a xacro file makes one with every argument."""
    if not isinstance(robot, RobotSource):
        return robot.reference
    arguments = (f"{name}:={value}" for name, value in robot.arguments)
    return " ".join((str(robot.path), *arguments))


def _robots(reference: Reference, announce: Announce) -> Iterator[Resolved]:
    match reference:
        case Reference(Scheme.FOLDER, str(target)):
            yield from folder.locate_all(target)
        case Reference(scheme, str(target)):
            yield _locate_if_available(scheme, target, announce)
        case Reference(scheme, None):
            try:
                names = robot_names(scheme)
            except UnavailableError as error:
                yield UnavailableSource(str(scheme), str(scheme), str(error))
                return
            for name in names:
                yield _locate_if_available(scheme, name, announce)


def robot_names(scheme: Scheme) -> tuple[str, ...]:
    """List what can follow a scheme that is a whole corpus; nothing is downloaded.

    Raises:
        UnavailableError: The source is not installed.
    """
    match scheme:
        case Scheme.PYBULLET:
            return pybullet_assets.names()
        case Scheme.DESCRIPTIONS:
            return description_modules.names()
        case Scheme.EXAMPLES:
            return example_robots.names()
        case Scheme.FILE | Scheme.FOLDER:
            raise ReferenceSyntaxError(f"{scheme}: needs a path")
        case _:
            assert_never(scheme)


def _locate(scheme: Scheme, target: str, announce: Announce) -> RobotSource:
    match scheme:
        case Scheme.FILE:
            return file.locate(target)
        case Scheme.PYBULLET:
            return pybullet_assets.locate(target)
        case Scheme.DESCRIPTIONS:
            return description_modules.locate(target, announce)
        case Scheme.EXAMPLES:
            return example_robots.locate(target)
        case Scheme.FOLDER:
            raise ReferenceSyntaxError(f"{scheme}:{target} names many robots")
        case _:
            assert_never(scheme)


def _locate_if_available(scheme: Scheme, target: str, announce: Announce) -> Resolved:
    try:
        return _locate(scheme, target, announce)
    except UnknownRobotError:
        raise
    except UnavailableError as error:
        return UnavailableSource(
            id=identifier(scheme, target),
            reference=f"{scheme}:{target}",
            reason=str(error),
        )


def _renamed(robot: Resolved, name: str) -> Resolved:
    if robot.id == name:
        return robot
    return replace(robot, id=name)
