"""What a corpus hands out: robots that lie in files, and reasons where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Announce: TypeAlias = Callable[[str], None]
"""Receives one line before anything slow or networked starts."""


class CorpusError(Exception):
    """A reference leads to no robot; the message says why and what would help."""


class ReferenceSyntaxError(CorpusError):
    """The text is not a reference."""


class UnavailableError(CorpusError):
    """The reference is understood, but there is no robot to be had from it."""


class UnknownRobotError(UnavailableError):
    """The reference names what its source does not have: most likely a mistake."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a robot's files come from, as far as its source says; None is unknown.

    Attributes:
        license: SPDX identifier, or what the source says in place of one.
        maker: Who makes the robot.
        robot: What its maker calls it.
        tags: What kind of robot it is, sorted; empty if its source has no tags.
        repository: Address of the repository.
        commit: Commit of the files, or of those that would be downloaded.
        distribution: Python distribution that holds or names the robot, with version.
    """

    license: str | None = None
    maker: str | None = None
    robot: str | None = None
    tags: tuple[str, ...] = ()
    repository: str | None = None
    commit: str | None = None
    distribution: str | None = None


NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class RobotSource:
    """One robot that lies in a file.

    Attributes:
        id: Unique in its corpus, stable between machines, and safe as a file name.
        reference: What a user writes to get this robot; never an absolute path.
        path: The URDF, or a xacro file that expands to it.
        packages: ROS packages that its URIs may name, and their folders.
        arguments: Values of the xacro file's arguments, by name.
        origin: Where its files come from.
        base: ``fixed`` or ``floating`` if whoever lists it says how it is held.
        notes: What whoever lists it says about it.
        searched: Whether a search found it, rather than somebody naming it: a xacro
            file may then be part of a robot.
        mirrored: Whether its files are a copy that may lack some.
    """

    id: str
    reference: str
    path: Path
    packages: tuple[tuple[str, Path], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    origin: Origin = field(default=NOWHERE)
    base: str | None = None
    notes: str | None = None
    searched: bool = False
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class UnavailableSource:
    """One robot of a corpus that could not be had; ``reason`` is one line."""

    id: str
    reference: str
    reason: str
    origin: Origin = field(default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Download:
    """One robot whose files may have to be downloaded, or taken from a mirror.

    Attributes:
        id: As in :class:`RobotSource`; likewise the reference and the origin.
        module: Its name in robot_descriptions.
        source: Name there of the repository that holds its files; None if it names
            none.
        cached: Whether the files are here already.
    """

    id: str
    reference: str
    module: str
    source: str | None
    cached: bool
    origin: Origin = field(default=NOWHERE)


Resolved: TypeAlias = RobotSource | UnavailableSource
Candidate: TypeAlias = RobotSource | UnavailableSource | Download
"""What is known of a robot before anything is downloaded."""
