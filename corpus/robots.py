"""References to robots and corpora, and what they are resolved to: files, downloads, reasons.

Parsing a reference accesses no file, package or network, so that an invalid one is refused
before any work starts.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from msgspec import Struct

Announce: TypeAlias = Callable[[str], None]
"""Called with one line before slow or networked work starts."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Room for a suffix such as ".json.part" within the 255 bytes of common file systems.
_LONGEST = 160


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
    """Append a hash of a robot's key to its identifier where identifiers are equal.

    Identifiers that differ only in case count as equal, because some file systems ignore case.
    """
    counts = Counter(name.casefold() for name in ids)
    return tuple(
        name if counts[name.casefold()] == 1 else f"{name}-{_digest(key)}"
        for name, key in zip(ids, keys, strict=True)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def close_names(text: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of a message that lists names close to a text, if there are any."""
    close = difflib.get_close_matches(text, list(known), n=3, cutoff=cutoff)
    return f"; close to it: {', '.join(close)}" if close else ""


# References

GRAMMAR = """\
A robot is
  robot.urdf, path/to/robot.xacro  a file (file:<path> for any other suffix)
  -                                a URDF on standard input
  rd:<module>                      robot_descriptions, e.g. rd:panda_description
  erd:<name>                       example-robot-data, e.g. erd:panda
  pybullet:<path>                  pybullet_data, e.g. pybullet:kuka_iiwa/model.urdf
  suite:<chapter>/<case>           the feature suite, e.g. suite:joints/axis-oblique
A corpus is a robot, or
  pybullet, rd, erd                all robots of that source
  suite:, suite:<chapter>          cases of the feature suite, see docs/suite.md
  dir:<folder>                     every .urdf, .xacro and MJCF robot below a folder
  mjcf:<path>                      an MJCF file, or every MJCF robot below a folder
  list:<file.toml>                 the robots listed in a file, see docs/corpora.md"""


class Scheme(StrEnum):
    """Kind of source."""

    FILE = "file"
    FOLDER = "dir"
    MJCF = "mjcf"
    LIST = "list"
    PYBULLET = "pybullet"
    DESCRIPTIONS = "rd"
    EXAMPLES = "erd"
    SUITE = "suite"


_OF_MANY = frozenset({Scheme.FOLDER, Scheme.MJCF, Scheme.LIST})
# The target is a path, which may be absolute.
_OF_PATHS = _OF_MANY | {Scheme.FILE}
WHOLE_CORPORA = (Scheme.PYBULLET, Scheme.DESCRIPTIONS, Scheme.EXAMPLES, Scheme.SUITE)

# Versions of the feature suite.
_VERSION = re.compile(r"\d{4}\.\d{2}")
# At least two characters: one letter before a colon is a Windows drive.
_PREFIX = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]+):(?P<target>.*)", re.DOTALL)


class Reference(Struct, frozen=True):
    """A parsed reference; ``target`` is None for all robots of a source."""

    scheme: Scheme
    target: str | None

    @property
    def whole(self) -> bool:
        """Whether it is a corpus rather than one robot."""
        if self.target is None or self.scheme in _OF_MANY:
            return True
        if self.scheme is not Scheme.SUITE:
            return False
        _, chapter, case = suite_parts(self.target)
        return not (chapter and case)

    @property
    def portable(self) -> str:
        """The reference for records: only the last part of an absolute path."""
        if self.scheme not in _OF_PATHS or self.target is None:
            return str(self)
        return f"{self.scheme}:{portable_path(self.target)}"

    def __str__(self) -> str:
        return self.scheme if self.target is None else f"{self.scheme}:{self.target}"


def suite_parts(target: str) -> tuple[str | None, str, str]:
    """Split a target of the feature suite into version (or None), chapter and case (or empty)."""
    first, _, rest = target.strip().strip("/").partition("/")
    if not _VERSION.fullmatch(first):
        return None, first, rest
    chapter, _, case = rest.partition("/")
    return first, chapter, case


def portable_path(target: str) -> str:
    """Return a path for records: only the last part of an absolute path."""
    path = Path(target)
    return path.name if path.is_absolute() else path.as_posix()


def parse_reference(text: str) -> Reference:
    """Parse a reference to a robot or a corpus.

    Raises:
        ReferenceSyntaxError: It has none of the known forms; the message lists them.
    """

    def refusal(problem: str, hint: str | None = None) -> ReferenceSyntaxError:
        reason = f"{problem}; {hint}" if hint else f"{problem}."
        return ReferenceSyntaxError(f"cannot resolve {text!r}: {reason}\n{GRAMMAR}")

    def guess(word: str) -> str | None:
        close = difflib.get_close_matches(word.lower(), [str(s) for s in Scheme], n=1, cutoff=0.5)
        return f"did you mean {close[0]!r}?" if close else None

    if text in WHOLE_CORPORA:
        return Reference(Scheme(text), None)
    if match := _PREFIX.fullmatch(text):
        scheme, target = match["scheme"], match["target"]
        if scheme not in tuple(Scheme):
            raise refusal(f"{scheme!r} is not a source", guess(scheme))
        if target.strip():
            return Reference(Scheme(scheme), target)
        if scheme == Scheme.SUITE:
            return Reference(Scheme.SUITE, None)
        hint = f"write {scheme!r} for all of it" if scheme in WHOLE_CORPORA else None
        raise refusal("nothing follows the colon", hint)
    # A path has a suffix or a separator.
    name = re.split(r"[/\\]", text)[-1]
    if not text.strip():
        raise refusal("it is empty")
    if text != "-" and name == text and "." not in name.strip("."):
        raise refusal("it is neither a file nor a corpus", guess(text))
    if name.lower().endswith(".toml"):
        raise refusal("a TOML file is no robot", f"write 'list:{text}'")
    return Reference(Scheme.FILE, text)
