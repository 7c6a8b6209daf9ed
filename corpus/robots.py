"""Results of resolving references: robots in files, downloads, unavailable robots."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from msgspec import Struct

Announce: TypeAlias = Callable[[str], None]
"""Called with one line before slow or networked work starts."""


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Room for a suffix such as ".json.part" within the 255 bytes of common file systems.
_LONGEST = 160
_DIGITS = 8


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


def identifier(scheme: str, target: str) -> str:
    """Return the identifier of a robot: ``pybullet--kuka_iiwa--model``.

    If characters are replaced, a hash of the target is appended to keep it unique.

    Args:
        scheme: First part of the name.
        target: Path with ``/``; leading ``..`` and the suffixes ``.urdf``, ``.xacro``
            and ``.urdf.xacro`` are dropped.
    """
    path = PurePosixPath(target)
    for suffix in (".xacro", ".urdf"):
        if path.suffix.lower() == suffix:
            path = path.with_suffix("")
    parts = [part for part in path.parts if part not in {"/", ".", ".."}]
    plain = "--".join([scheme, *parts])
    safe = _UNSAFE.sub("_", plain)
    if safe == plain and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}-{_digest(target)}"


def distinct(ids: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Append a hash to identifiers that are equal.

    Identifiers that differ only in case count as equal, because some file systems
    ignore case.

    Args:
        ids: Identifiers.
        keys: A unique text for each of them, which is hashed.
    """
    counts = Counter(name.casefold() for name in ids)
    return tuple(
        name if counts[name.casefold()] == 1 else f"{name}-{_digest(key)}"
        for name, key in zip(ids, keys, strict=True)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def close_names(text: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of a message that lists names close to a text, if there are any."""
    close = difflib.get_close_matches(text, list(known), n=3, cutoff=cutoff)
    return f"; close to it: {', '.join(close)}" if close else ""
