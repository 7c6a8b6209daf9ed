"""References to robots and corpora, what they are resolved to, and selection of robots."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeAlias, TypeVar

import msgspec
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
    version: str  # of the suite
    chapter: str
    title: str  # of the chapter
    name: str  # in its chapter
    number: int  # in the suite, from 1
    text: str  # what is expected, as JSON


class RobotSource(Struct, frozen=True):
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
    """Return the identifier of a robot: ``pybullet--kuka_iiwa--model``; unique by a hash if cut."""
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
    """Append a hash of a robot's key to its identifier where others are equal, in any case."""
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
        if self.target is None or self.scheme in _OF_MANY:
            return True
        if self.scheme is not Scheme.SUITE:
            return False
        _, chapter, case = suite_parts(self.target)
        return not (chapter and case)

    @property
    def portable(self) -> str:
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

    def refusal(problem: str, hint: str = "") -> ReferenceSyntaxError:
        return ReferenceSyntaxError(f"cannot resolve {text!r}: {problem}{hint or '.'}\n{GRAMMAR}")

    if text in WHOLE_CORPORA:
        return Reference(Scheme(text), None)
    if match := _PREFIX.fullmatch(text):
        scheme, target = match["scheme"], match["target"]
        if scheme not in tuple(Scheme):
            raise refusal(f"{scheme!r} is not a source", close_names(scheme.lower(), Scheme, 0.5))
        if not target.strip() and scheme != Scheme.SUITE:
            raise refusal("nothing follows the colon")
        return Reference(Scheme(scheme), target if target.strip() else None)
    # A path has a suffix or a separator.
    name = re.split(r"[/\\]", text)[-1]
    if text != "-" and ((name == text and "." not in name.strip(".")) or not text.strip()):
        raise refusal("it is neither a file nor a corpus", close_names(text.lower(), Scheme, 0.5))
    if name.lower().endswith(".toml"):
        raise refusal("a TOML file is no robot", f"; write 'list:{text}'")
    return Reference(Scheme.FILE, text)


# Lists of robots, and baselines

Text: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text that is not blank."""
_Row = TypeVar("_Row", bound=Struct)


def read_tables(path: Path, name: str, row: type[_Row]) -> list[tuple[str, _Row]]:
    """Read the tables ``[[name]]`` of a TOML file with nothing else, each with ``file:line``."""
    location = str(path)
    try:
        document = tomllib.loads(text := path.read_text("utf-8-sig"))
        tables = msgspec.convert(document.pop(name, []), list[object])
        if document:
            raise CorpusError(f"{path}: it may have [[{name}]] tables alone, not {[*document]}")
        header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
        starts = [line for line, one in enumerate(text.split("\n"), 1) if header.match(one)]
        # An inline list has no headers.
        starts = starts if len(starts) == len(tables) else [1] * len(tables)
        rows = []
        for start, values in zip(starts, tables, strict=True):
            location = f"{path}:{start}"
            rows.append((location, msgspec.convert(values, row)))
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise CorpusError(f"{location}: {error}") from None
    return rows


# Selection

COPYLEFT = "copyleft"
# Identifiers of SPDX, and the words of package.xml and of licence files.
_COPYLEFT = re.compile(
    r"(?i)\b(?:[AL]?GPL|MPL|EUPL|EPL|CDDL|OSL|ODbL|CC-BY-(?:NC-)?SA|CERN-OHL-[SW])"
    r"|GNU (?:Affero |Lesser |Library )?General Public"
)


class Selection(Struct, frozen=True):
    """Criteria for robots; case is ignored."""

    # With their options of the command line.
    tags: Annotated[
        tuple[str, ...], "--tag TEXT: Only robots with this tag, such as arm. Repeatable."
    ] = ()
    makers: Annotated[
        tuple[str, ...],
        "--maker TEXT: Only robots whose maker's name contains this text. Repeatable.",
    ] = ()
    licenses: Annotated[
        tuple[str, ...],
        "--license TEXT: Only robots under this licence, by SPDX identifier. Repeatable.",
    ] = ()
    forbidden: Annotated[
        tuple[str, ...],
        "--forbid-license TEXT: Refuse the command if a selected robot is under this licence, by "
        "SPDX identifier, or 'copyleft' for GPL, LGPL, AGPL, MPL and the like; robots whose "
        "licence is unknown are counted. Nothing is downloaded then. Repeatable.",
    ] = ()

    @property
    def _criteria(self) -> dict[str, tuple[str, ...]]:
        every = {"tag": self.tags, "maker": self.makers, "license": self.licenses}
        return {noun: texts for noun, texts in every.items() if texts}

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(f"{noun} {' or '.join(texts)}" for noun, texts in self._criteria.items())

    def apply(self, robots: Sequence[Candidate], announce: Announce) -> tuple[Candidate, ...]:
        chosen = tuple(robots)
        for noun, texts in self._criteria.items() if robots else ():
            stated = {id(robot): _stated(robot.origin, noun) for robot in robots}
            known = sorted({value for values in stated.values() for value in values})
            for text in texts:
                if not any(_matches(noun, text, value) for value in known):
                    hint = close_names(text, known)
                    raise CorpusError(f"no robot has the {noun} {text!r}{hint}")
            if unknown := sum(not stated[id(robot)] for robot in chosen):
                announce(f"robots left out, because their {noun} is unknown: {unknown}")
            chosen = tuple(
                robot
                for robot in chosen
                if any(_matches(noun, text, own) for text in texts for own in stated[id(robot)])
            )
        if robots and not chosen:
            raise CorpusError("no robot matches all criteria")
        if self.forbidden:
            licensed = [(one.reference, one.origin.license) for one in chosen if one.origin.license]
            found = [f"{one} ({own})" for one, own in licensed if is_forbidden(own, self.forbidden)]
            if found:
                raise CorpusError(f"forbidden licence: {', '.join(found)}; remove these robots")
            if count := len(chosen) - len(licensed):
                announce(f"--forbid-license: the licence of {count} of {len(chosen)} is unknown")
        return chosen


def _stated(origin: Origin, noun: str) -> tuple[str, ...]:
    values = {"tag": origin.tags, "maker": (origin.maker,), "license": (origin.license,)}[noun]
    return tuple(filter(None, values))


def _matches(noun: str, text: str, value: str) -> bool:
    wanted, own = text.casefold(), value.casefold()
    return wanted in own if noun == "maker" else wanted == own


def is_forbidden(license_text: str, forbidden: Sequence[str]) -> bool:
    """Return whether a part of every alternative of an SPDX expression is forbidden.

    Identifiers may be without what follows a hyphen: ``GPL``, ``GPL-3.0``.
    """

    def matches(part: str) -> bool:
        identifier = part.strip(" ()").casefold()
        plain = re.sub(r"-(?:only|or-later)$|\+$", "", identifier)
        return any(
            bool(_COPYLEFT.search(part))
            if name.casefold() == COPYLEFT
            else name.casefold() in {identifier, plain} or plain.startswith(f"{name.casefold()}-")
            for name in forbidden
        )

    alternatives = re.split(r"(?i)\s+OR\s+", license_text)
    return all(any(map(matches, re.split(r"(?i)\s+(?:AND|WITH)\s+", one))) for one in alternatives)
