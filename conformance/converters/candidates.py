"""Converters under test: ours, commands, entry points, folders of existing USDs.

Any package can register a converter under the entry point group :data:`GROUP`; the
value is a callable that takes the path of a URDF, a folder to write to and the folders
of ROS packages by name, and returns the path of the root layer.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.corpus.files import Format
from urdf_usd.installation import DISTRIBUTION, environment

GROUP = "urdf_usd.converters"
OURS = "urdf-usd"
_FOLDER = "folder:"
# It is a folder name of the report, also on case-insensitive file systems.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")
_QUOTED = re.compile(r"[\s'\"\\]")
# The file, by the formats that a converter reads.
_INPUTS = {"urdf": {Format.URDF}, "mjcf": {Format.MJCF}, "source": {Format.URDF, Format.MJCF}}
_PLACEHOLDERS = frozenset({*_INPUTS, "out", "packages"})
_OF_A_PACKAGE = frozenset({"name", "path"})


class CandidateError(ValueError):
    """A text names no converter; the message says why."""


class _Converter(Struct, frozen=True):
    """What all converters have; ``title`` and ``recipe`` are for records.

    The first is name and version, the second how it is called, without paths of this machine.
    """

    name: str  # in the run

    def reads(self, source: Format) -> bool:
        """Whether it converts robots of a format."""
        return source is Format.URDF


class OwnConverter(_Converter, frozen=True):
    """The converter of this project, with the options of the run."""

    name: str = OURS

    @property
    def title(self) -> str:
        return f"{DISTRIBUTION} {environment()[DISTRIBUTION]}"

    @property
    def recipe(self) -> str:
        return OURS


class CommandConverter(_Converter, frozen=True):
    """A program that writes a USD into a folder."""

    words: tuple[str, ...]  # its command line, with placeholders; see :func:`command_line`
    version: str | None = None  # name and version of the program, if known
    program: str | None = None  # as the user named it, if not by its path

    def reads(self, source: Format) -> bool:
        """Whether it converts robots of a format: by its placeholder."""
        used = {name for word in self.words for name in _PLACEHOLDER.findall(word)}
        return any(source in formats for name, formats in _INPUTS.items() if name in used)

    @property
    def title(self) -> str:
        return self.version or self.name

    @property
    def recipe(self) -> str:
        return " ".join(map(_portable, (self.program or self.words[0], *self.words[1:])))


class RegisteredConverter(_Converter, frozen=True):
    """A callable that a package registers under :data:`GROUP`."""

    @property
    def title(self) -> str:
        package = _entries()[self.name].dist
        return f"{package.name} {package.version}" if package else self.name

    @property
    def recipe(self) -> str:
        return _entries()[self.name].value


class ReadyUsds(_Converter, frozen=True):
    """A folder of existing USDs, of an unknown converter."""

    folder: Path

    def reads(self, source: Format) -> bool:
        """Whether there may be USDs of robots of a format."""
        return source in Format

    @property
    def title(self) -> str:
        return "made elsewhere"

    @property
    def recipe(self) -> str:
        return f"{_FOLDER}{self.folder.name}"


Candidate: TypeAlias = OwnConverter | CommandConverter | RegisteredConverter | ReadyUsds
OWN = OwnConverter()


def parse_candidates(
    texts: Sequence[str], versions: Mapping[str, str] | None = None
) -> tuple[Candidate, ...]:
    """Parse the converters of a command line; ours if there are none.

    Args:
        texts: ``NAME`` of ours or of a registered one, ``NAME=COMMAND`` with
            placeholders, or ``NAME=folder:PATH``.
        versions: Name and version of commands, by name, where they cannot be detected.

    Raises:
        CandidateError: One is malformed or not installed, or two share a name.
    """
    known = dict(versions or {})
    found = tuple(_candidate(text, known) for text in texts) or (OWN,)
    names = [candidate.name.casefold() for candidate in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CandidateError(f"two converters are called {twice!r}")
    commands = {one.name for one in found if isinstance(one, CommandConverter)}
    for name in known:
        if name not in commands:
            raise CandidateError(f"a version is given of {name!r}, which is no command")
    return found


def portable_text(candidate: Candidate) -> str:
    """Return what :func:`parse_candidates` reads, without paths of this machine."""
    if isinstance(candidate, OwnConverter | RegisteredConverter):
        return candidate.name
    return f"{candidate.name}={candidate.recipe}"


def load_registered(name: str) -> object:
    """Load what is registered under a name."""
    _require_registered(name)
    loaded: object = _entries()[name].load()
    return loaded


def command_line(
    words: Iterable[str], urdf: Path, out: Path, packages: Mapping[str, str]
) -> list[str]:
    """Fill in the command line of a converter.

    ``{urdf}``, ``{mjcf}`` or ``{source}`` is the file, ``{out}`` an empty folder,
    ``{packages}`` a search path of folders, as ``ROS_PACKAGE_PATH`` is one. Words in
    brackets are repeated for every package, with its ``{name}`` and ``{path}``. Paths are
    absolute: the program does not work where this one does.
    """
    packages = {name: str(Path(path).absolute()) for name, path in packages.items()}
    folders = (
        Path(path).parent if Path(path).name == name else Path(path)
        for name, path in packages.items()
    )
    values = {
        **dict.fromkeys(_INPUTS, str(urdf.absolute())),
        "out": str(out.absolute()),
        "packages": os.pathsep.join(dict.fromkeys(map(str, folders))),
    }
    line: list[str] = []
    for repeated, part in _parts(words):
        for name, path in packages.items() if repeated else [("", "")]:
            inner = {**values, "name": name, "path": path}
            line += [_filled(word, inner) for word in part]
    return line


def _filled(word: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], word)


def _candidate(text: str, versions: Mapping[str, str]) -> Candidate:
    name, equals, rest = text.partition("=")
    name, rest = name.strip(), rest.strip()
    if not _NAME.fullmatch(name):
        raise CandidateError(f"{text!r} is not NAME, NAME=COMMAND or NAME=folder:PATH")
    if not equals:
        if name != OURS:
            _require_registered(name)
        return OWN if name == OURS else RegisteredConverter(name)
    if name.casefold() == OURS:
        raise CandidateError(f"{OURS!r} is our own converter; choose another name")
    if rest.startswith(_FOLDER):
        folder = Path(rest.removeprefix(_FOLDER))
        if not folder.is_dir():
            raise CandidateError(f"{name}: {str(folder)!r} is not a folder")
        return ReadyUsds(name, folder.absolute())
    return _command(name, rest, versions.get(name))


def _command(name: str, text: str, version: str | None) -> CommandConverter:
    try:
        words = tuple(shlex.split(text))
        used = _placeholders(words)
    except ValueError as error:
        raise CandidateError(f"{name}: {error}") from error
    for needed in ("urdf", "out"):
        if not used & (_INPUTS.keys() if needed == "urdf" else {needed}):
            raise CandidateError(f"{name}: the command has no {{{needed}}}")
    program = shutil.which(words[0])
    if program is None:
        raise CandidateError(f"{name}: there is no program {words[0]!r}")
    absolute = str(Path(program).absolute())
    if version is None:
        version = _installed_by(Path(absolute)) or _installed_by(Path(absolute).resolve())
    return CommandConverter(name, (absolute, *words[1:]), version, words[0])


def _portable(word: str) -> str:
    """Return a word without the folders of an absolute path, also as ``--key=PATH``."""
    key, equals, path = word.rpartition("=")
    if Path(path).is_absolute():
        word = f"{key}{equals}{Path(path).name}"
    # Braces of placeholders need no quotes here.
    return shlex.quote(word) if _QUOTED.search(word) else word


def _parts(words: Iterable[str]) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Yield runs of words, and whether they are repeated for every package."""
    group: list[str] = []
    for word in words:
        if not (group or word.startswith("[")):
            yield False, (word,)
            continue
        group.append(word)
        if word.endswith("]"):
            group[0] = group[0].removeprefix("[")
            group[-1] = group[-1].removesuffix("]")
            yield True, tuple(filter(None, group))
            group = []
    if group:
        raise ValueError("a bracket is not closed")


def _placeholders(words: Iterable[str]) -> set[str]:
    """Return the names of placeholders, or raise a ValueError for others."""
    found = set()
    for repeated, part in _parts(words):
        known = _PLACEHOLDERS | _OF_A_PACKAGE if repeated else _PLACEHOLDERS
        for name in itertools.chain(*map(_PLACEHOLDER.findall, part)):
            if name not in known:
                listed = ", ".join(f"{{{one}}}" for one in sorted(known))
                raise ValueError(f"{{{name}}} is none of {listed}")
            found.add(name)
    return found


def _require_registered(name: str) -> None:
    if name not in _entries():
        raise CandidateError(
            f"no converter is called {name!r}; there are "
            f"{', '.join(sorted({OURS, *_entries()}))}. A command is NAME=COMMAND"
        )


def _entries() -> dict[str, metadata.EntryPoint]:
    # A distribution that is installed twice is listed twice; names are unique here.
    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


def _installed_by(program: Path) -> str | None:
    """Return name and version of the distribution with this script in its environment."""
    prefix = program.parent.parent
    sites = (*prefix.glob("lib/python*/site-packages"), prefix / "Lib/site-packages")
    for distribution in metadata.distributions(path=[str(site) for site in sites]):
        for entry in distribution.entry_points:
            if (entry.group, entry.name) == ("console_scripts", program.stem):
                return f"{distribution.name} {distribution.version}"
    return None
