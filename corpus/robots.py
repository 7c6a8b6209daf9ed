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
    """Origin of a robot's files, as stated by its source; None is unknown."""

    license: str | None = None  # SPDX identifier, or the text that the source has instead
    maker: str | None = None
    robot: str | None = None  # the maker's name of it
    tags: tuple[str, ...] = ()  # kinds of robot, sorted
    repository: str | None = None  # URL
    commit: str | None = None  # of the files, or of those to be downloaded
    distribution: str | None = None  # Python distribution that contains or names it, with version


NOWHERE = Origin()


class SuiteCase(Struct, frozen=True):
    """A case of the feature suite."""

    version: str  # of the suite
    chapter: str
    title: str  # of the chapter
    name: str  # in its chapter
    number: int  # in the suite, from 1
    text: str  # what is expected, as JSON


class RobotSource(Struct, frozen=True):
    """One robot in a file."""

    id: str  # unique in its corpus, stable between machines, and valid as a file name
    reference: str  # resolves to this robot; never an absolute path
    path: Path  # the URDF or xacro file
    packages: tuple[tuple[str, Path], ...] = ()  # folders of ROS packages that its URIs may use
    arguments: tuple[tuple[str, str], ...] = ()  # of xacro
    origin: Origin = NOWHERE
    base: str | None = None  # "fixed" or "floating" if the list that names it says so
    notes: str | None = None  # of the list that names it
    searched: bool = False  # found in a folder; a xacro file may be only part of a robot
    included: bool = False  # whether another xacro file of that folder includes it
    mirrored: bool = False  # whether its files are in a mirror, which may be incomplete
    case: SuiteCase | None = None  # of the feature suite


class UnavailableSource(Struct, frozen=True):
    """One robot of a corpus that is not available; ``reason`` is one line."""

    id: str
    reference: str
    reason: str
    origin: Origin = NOWHERE


class Download(Struct, frozen=True):
    """One robot of robot_descriptions, to be downloaded or taken from a mirror."""

    id: str
    reference: str
    module: str  # its name in robot_descriptions
    source: str | None  # name of its repository in robot_descriptions
    cached: bool  # whether the files are already on this machine
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
