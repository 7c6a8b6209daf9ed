"""Results of resolving references: robots in files, downloads, unavailable robots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

Announce: TypeAlias = Callable[[str], None]
"""Called with one line before slow or networked work starts."""


class CorpusError(Exception):
    """A reference cannot be resolved; the message has the reason and a remedy."""


class ReferenceSyntaxError(CorpusError):
    """The text is not a reference."""


class UnavailableError(CorpusError):
    """The reference is valid, but its robot is not available."""


class UnknownRobotError(UnavailableError):
    """The source has no robot of this name; probably a mistake in the reference."""


class Origin(Struct, frozen=True):
    """Origin of a robot's files, as stated by its source; None is unknown.

    Attributes:
        license: SPDX identifier, or the text that the source has instead.
        maker: Manufacturer.
        robot: Manufacturer's name of the robot.
        tags: Kinds of robot, sorted; empty if its source has no tags.
        repository: URL of the repository.
        commit: Commit of the files, or of those to be downloaded.
        distribution: Python distribution that contains or names the robot, with
            version.
    """

    license: str | None = None
    maker: str | None = None
    robot: str | None = None
    tags: tuple[str, ...] = ()
    repository: str | None = None
    commit: str | None = None
    distribution: str | None = None


NOWHERE = Origin()


class SuiteCase(Struct, frozen=True):
    """A case of the feature suite.

    Attributes:
        version: Version of the suite.
        chapter: Chapter, by name.
        title: Title of the chapter.
        name: Name in its chapter.
        number: Place in the suite, from 1.
        text: What is expected, as JSON.
    """

    version: str
    chapter: str
    title: str
    name: str
    number: int
    text: str


class RobotSource(Struct, frozen=True):
    """One robot in a file.

    Attributes:
        id: Unique in its corpus, stable between machines, and valid as a file name.
        reference: Reference that resolves to this robot; never an absolute path.
        path: The URDF or xacro file.
        packages: Names and folders of the ROS packages that its URIs may use.
        arguments: Names and values of xacro arguments.
        origin: Origin of its files.
        base: ``fixed`` or ``floating`` if the list that names it says so.
        notes: Notes of the list that names it.
        searched: Whether it was found in a folder rather than named; a xacro file may
            then be only part of a robot.
        included: Whether another xacro file of that folder includes it.
        mirrored: Whether its files are in a mirror, which may be incomplete.
        case: The case of the feature suite that it is.
    """

    id: str
    reference: str
    path: Path
    packages: tuple[tuple[str, Path], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    origin: Origin = NOWHERE
    base: str | None = None
    notes: str | None = None
    searched: bool = False
    included: bool = False
    mirrored: bool = False
    case: SuiteCase | None = None


class UnavailableSource(Struct, frozen=True):
    """One robot of a corpus that is not available; ``reason`` is one line."""

    id: str
    reference: str
    reason: str
    origin: Origin = NOWHERE


class Download(Struct, frozen=True):
    """One robot of robot_descriptions, to be downloaded or taken from a mirror.

    Attributes:
        id: As in :class:`RobotSource`; likewise the reference and the origin.
        module: Name of its module in robot_descriptions.
        source: Name of its repository in robot_descriptions; None if there is none.
        cached: Whether the files are already on this machine.
    """

    id: str
    reference: str
    module: str
    source: str | None
    cached: bool
    origin: Origin = NOWHERE


Resolved: TypeAlias = RobotSource | UnavailableSource
Candidate: TypeAlias = RobotSource | UnavailableSource | Download
"""A robot before anything is downloaded."""
