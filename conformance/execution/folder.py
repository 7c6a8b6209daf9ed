"""The folder of a run: its lock, and the results in it that are still valid.

A run keeps ``.urdf-usd-run`` there, with ``lock``, which the operating system releases when the
process ends, and ``robots/<place>.json`` of each of its robots, which is empty until the robot is
finished. The next run removes the files of these robots, but for those that it resumes, and
the report on them; no others.

A resumed run keeps a result if the hash of everything that determines it is that of the record: the
contents of the files that the robot was read from, the options, the engines, the converter, the
versions of all libraries, the code of this project and of plugins, and the environment variables
that matter; no path, time or machine.

A place is the path of a robot within each folder of the run, without a suffix: ``<id>``, or with
several converters ``<converter>/<id>``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import re
import shutil
import socket
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct, field, structs

from urdf_usd import conformance, converter, corpus
from urdf_usd.conformance.converters.candidates import (
    CommandConverter,
    ReadyUsds,
    RegisteredConverter,
)
from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.execution.job import Job
from urdf_usd.converter.scratch import PREFIX
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import allowed_environment, is_xacro
from urdf_usd.installation import DISTRIBUTION, environment
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.records.results import read_record, record_path, timing_path, write_atomically
from urdf_usd.reports.records.scene import scene_path

STATE = ".urdf-usd-run"
_PAGES = ("index.html", "scripts/pages.js", "scripts/viewer.js")
_REPORTS = (
    *("summary.json", "summary.md", "junit.xml", "findings.sarif", "badge.svg", "badge.json"),
    *("history.html", "history.json", "suite.html", *_PAGES),
)
_FOLDERS = (
    *("results", "assets", "expanded", "scenes", "timings"),
    *("robots", "scripts", "converters", "suite"),
)
_SHOWN = 3
# Errors of file systems without locks.
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
# Diagnostics of robots with files that were not found, and may be there now.
MISSING = frozenset({"file-missing", "texture-missing", "xacro-file-missing"})
# Where files are looked for.
_SEARCHED = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


class RunFolderError(Exception):
    """A folder cannot be used for a run; the message says why."""


class Finished(Struct):
    """The files of a robot that is finished."""

    files: dict[str, str]  # SHA-256 by path
    inputs: tuple[str, ...] = ()  # paths of the files that it was read from
    references: tuple[tuple[str, str | None], ...] = ()  # of its URDF, and paths of these files
    crashed: bool = False  # whether something crashed


class RunFolder(Struct, frozen=True):
    """A folder that this process has locked for a run; see :func:`claim_run_folder`."""

    path: Path
    # of a run that is resumed, by place: robots whose files are as they were written
    kept: dict[str, Finished] = field(default_factory=dict)

    def finished(self, place: str) -> Finished | None:
        """Return what is stored of a robot; None if it is not finished, or its files differ."""
        with contextlib.suppress(OSError, msgspec.DecodeError):
            finished = msgspec.json.decode(self._state(place).read_bytes(), type=Finished)
            return finished if finished.files == self._hashes(place) else None
        return None

    def finish(self, place: str, **known: Any) -> None:  # noqa: ANN401  fields of Finished
        """Store the hashes of a robot's files, to which nothing is written any more."""
        finished = Finished(self._hashes(place), **known)
        write_atomically(self._state(place), msgspec.json.encode(finished))

    def remove(self, place: str) -> None:
        # First, so that no file is taken for intact that will be gone.
        write_atomically(self._state(place), b"")
        _remove_files(self._files(place))
        shutil.rmtree(self.path / "assets" / place, ignore_errors=True)

    def _hashes(self, place: str) -> dict[str, str]:
        """Return the SHA-256 of each file of a robot on disk, by path relative to the folder."""
        files = *self._files(place), *(self.path / "assets" / place).rglob("*")
        present = (file for file in files if file.is_file())
        return {file.relative_to(self.path).as_posix(): hash_file(file) for file in sorted(present)}

    def _files(self, place: str) -> list[Path]:
        """Return the paths of the files of a robot outside its asset."""
        paths = (record_path, scene_path, expansion_path, timing_path)
        return [path(self.path, place) for path in paths]

    def _state(self, place: str) -> Path:
        return self.path / STATE / "robots" / f"{place}.json"


@contextmanager
def claim_run_folder(
    out: Path, places: Collection[str], *, resume: bool = False
) -> Iterator[RunFolder]:
    """Lock the folder of a run for as long as the block runs, and remove what a former one wrote.

    If the run resumes it, the files of its finished robots stay.

    Raises:
        RunFolderError: Another process has locked it, it is no folder of a run and not
            empty, or its name is not UTF-8. Nothing was changed then.
    """
    try:
        str(out).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(out).decode("utf-8", "backslashreplace")
        raise RunFolderError(
            f"{shown}: the name of the folder is not UTF-8; choose another"
        ) from None
    folder, states = RunFolder(out), out / STATE / "robots"
    names = sorted(entry.name for entry in out.iterdir()) if out.exists() else []
    if names and STATE not in names:
        more = ", …" if len(names) > _SHOWN else ""
        raise RunFolderError(
            f"{out} holds files that no run wrote "
            f"({', '.join(names[:_SHOWN])}{more}); name a new folder, or empty this one"
        )
    (out / STATE).mkdir(parents=True, exist_ok=True)
    with (out / STATE / "lock").open("a+b") as file:
        _lock(file, out)
        found = {place: folder.finished(place) for place in places if resume}
        folder.kept.update((place, one) for place, one in found.items() if one)
        former = {p.relative_to(states).with_suffix("").as_posix() for p in states.rglob("*.json")}
        _remove_files(out / name for name in _report_files(former))
        for place in {*former, *places} - {*folder.kept}:
            folder.remove(place)
        _remove_files(states / f"{place}.json" for place in former - {*places})
        _remove_scraps(out)
        try:
            yield folder
        finally:
            _remove_scraps(out)
            file.truncate(0)


def _lock(file: IO[bytes], out: Path) -> None:
    """Lock a file until it is closed, on NFS between machines, and write this process into it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        file.seek(0)
        raise RunFolderError(
            f"{out} is in use by the run of {file.read().decode() or 'another process'}; "
            "wait until it has finished, or name another folder"
        ) from error
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    file.flush()


def expansion_path(out: Path, place: str) -> Path:
    """Return the path of the URDF that a xacro file expands to."""
    return out / "expanded" / f"{place}.urdf"


def _report_files(places: Iterable[str]) -> Iterator[str]:
    """Yield the files of the report on robots, whether they exist or not."""
    yield from _REPORTS
    for place in places:
        name, _, robot = place.rpartition("/")
        folder = f"converters/{name}/" if name else ""
        yield from (f"suite/{robot}.urdf", f"suite/{robot}.json", f"{folder}robots/{robot}.html")
        yield from (f"{folder}{page}" for page in _PAGES)


def _remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}.part").unlink(missing_ok=True)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_scraps(out: Path) -> None:
    """Remove unfinished assets of conversions that were ended, and empty folders."""
    for scratch in (*out.glob(f"{PREFIX}*"), *out.glob(f"assets/**/{PREFIX}*")):
        if scratch.name != STATE:
            shutil.rmtree(scratch, ignore_errors=True)
    for name in _FOLDERS:
        for folder, _, files in os.walk(out / name, topdown=False):
            if not files:
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()


def kept_record(
    folder: RunFolder, job: Job, engines: Iterable[str], *, retry: bool
) -> RobotRecord | None:
    """Return the record of a former run, if it is still valid; of a crash none with ``retry``."""
    former = folder.kept.get(job.place)
    # Ready USDs may have changed since.
    if former is None or (former.crashed and retry) or isinstance(job.candidate, ReadyUsds):
        return None
    try:
        hashes = [hash_file(Path(path)) for path in former.inputs]
        record = read_record(record_path(folder.path, job.place))
    except (OSError, msgspec.DecodeError):
        return None
    # Without input files it is not known what the robot was read from.
    if not hashes or any(one.rule in MISSING for one in record.diagnostics):
        return None
    resolver = FileResolver(job.source.path, job.packages, os.environ)
    for uri, path in former.references:
        found = resolver.find(uri)
        if path != (found and str(found.path)):
            return None
    same = record.fingerprint == fingerprint(job, engines, hashes, crashed=former.crashed)
    return record if same else None


def fingerprint(job: Job, engines: Iterable[str], hashes: Iterable[str], *, crashed: bool) -> str:
    """Return the hash of everything that determines a result, hashes of files among it."""
    source, options, candidate = job.source, job.conversion, job.candidate
    if options.simulation is not None:
        # Its text and the files that it names decide.
        simulation = structs.replace(options.simulation, file="")
        options = structs.replace(options, simulation=simulation)
    variables = allowed_environment(job.options.environment) if is_xacro(str(source.path)) else {}
    chosen = tuple(engines) or protocol.names()
    code: list[str] = []
    if isinstance(candidate, CommandConverter):
        files = [Path(word) for word in candidate.words if os.path.isfile(word)]  # noqa: PTH113
        code = [f"{file.name} {hash_file(file)}" for file in files]
    elif isinstance(candidate, RegisteredConverter):
        code = [_plugin_code(candidate.recipe)]
    parts = (
        structs.replace(source, path=Path(source.path.name), packages=()),
        # Names decide which layer of another converter is the root layer.
        () if job.own else (*job.names, *map(str, job.variants)),
        tuple(hashes),
        structs.replace(options, packages=()),
        tuple(job.packages),
        job.arguments,
        variables | {name: os.environ.get(name) for name in _SEARCHED},
        chosen,
        job.limits if crashed else None,
        (candidate.name, candidate.title, candidate.recipe, *code),
        [_plugin_code(protocol.target(name)) for name in chosen],
        protocol.present(),
        present_versions(),
    )
    content = msgspec.json.encode(parts, order="sorted", enc_hook=str)
    return hashlib.sha256(content).hexdigest()


@functools.cache
def _plugin_code(target: str) -> str:
    """Return the hash of the package of ``package.module:attribute``; of ours nothing."""
    package = re.split("[.:]", target)[0]
    # Only finds it: nothing of it is imported.
    spec = PathFinder.find_spec(package)
    if package == "urdf_usd" or spec is None:
        return ""
    return _code_of(map(Path, spec.submodule_search_locations or filter(None, [spec.origin])))


def _code_of(places: Iterable[Path]) -> str:
    lines = [
        f"{file.relative_to(place.parent).as_posix()} {hash_file(file)}\n"
        for place in places
        for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@functools.cache
def present_versions() -> dict[str, str]:
    """Return the version of each library, and the hash of our own code."""
    packages = (path for one in (converter, conformance, corpus) for path in one.__path__)
    versions = {**environment(), "code": _code_of(map(Path, packages))}
    for requirement in metadata.requires(DISTRIBUTION) or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and name[0] not in versions:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[name[0]] = metadata.version(name[0])
    return versions
