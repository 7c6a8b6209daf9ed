"""The folder of a run: its lock, what runs wrote in it, and whether that is intact.

A run keeps a folder there, ``.urdf-usd-run``:

- ``lock``, locked while the run lasts, with process and host of the run. The operating
  system releases the lock when the process ends, however it ends. On NFS it holds
  between machines if server and clients support locks, and on file systems without
  locks there is none;
- ``robots/<place>.json``, one of each robot whose files may be in the folder. It is
  empty until the robot is finished, and then has the SHA-256 of each of its files, and
  the paths of its input files.

A resumed run keeps a result if a hash of everything that determines it is that of the
record. It covers the contents of the files that the robot was read from, the options, the
engines, the converter, the versions of all libraries, the code of this project and of
plugins, and the environment variables that matter. It covers no path, time or machine.

A place is the path of a robot within each folder of the run, without a suffix:
``<id>``, or with several converters ``<converter>/<id>``.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from urdf_usd import conformance, converter, corpus
from urdf_usd.conformance.converters.candidates import (
    Candidate,
    CommandConverter,
    ReadyUsds,
    RegisteredConverter,
)
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.execution.job import Job
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import allowed_environment, is_xacro
from urdf_usd.reports.records.environment import DISTRIBUTION, environment
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.records.results import read_record, record_path, timing_path, write_atomically
from urdf_usd.reports.records.scene import scene_path

STATE = ".urdf-usd-run"
CONVERTERS = "converters"
# Names of unfinished files and folders begin like this.
_SCRATCH = ".urdf-usd-"
_SCRIPTS = ("scripts/pages.js", "scripts/viewer.js")
_REPORTS = (
    *("summary.json", "summary.md", "junit.xml", "index.html", "findings.sarif"),
    *("badge.svg", "badge.json", "history.html", "history.json", "suite.html"),
    *_SCRIPTS,
)
_FOLDERS = (
    *("results", "assets", "expanded", "scenes", "timings"),
    *("robots", "scripts", CONVERTERS, "suite"),
)
_SHOWN = 3
# Errors of a lock that is taken, and of file systems without locks.
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
# Diagnostics of robots with files that were not found, and may be there now.
MISSING = frozenset({"file-missing", "texture-missing", "xacro-file-missing"})
# Where files are looked for.
_SEARCHED = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


class RunFolderError(Exception):
    """A folder cannot be used for a run; the message says why."""


class _Owner(Struct):
    """The run that has locked a folder."""

    process: int
    host: str


class Finished(Struct):
    """The files of a robot that is finished."""

    files: dict[str, str | None]  # SHA-256 by path; None of what is not a regular file
    inputs: tuple[str, ...] = ()  # paths of the files that it was read from
    references: tuple[tuple[str, str | None], ...] = ()  # of its URDF, and paths of these files
    crashed: bool = False  # whether something crashed


class RunFolder(Struct, frozen=True):
    """A folder that this process has locked for a run; see :func:`claim_run_folder`."""

    path: Path

    def finished(self, place: str) -> Finished | None:
        """Return what is stored of a robot; None if it is not finished."""
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(self._state(place).read_bytes(), type=Finished)
        return None

    def finish(self, place: str, **known: Any) -> None:  # noqa: ANN401  fields of Finished
        """Store the hashes of a robot's files, to which nothing is written any more."""
        files = {name: _hash(self.path / name) for name in sorted(self._files(place))}
        content = msgspec.json.encode(Finished(files, **known))
        write_atomically(self._state(place), content)

    def remove(self, place: str) -> None:
        """Remove all files of a robot."""
        # First, so that no file is taken for intact that will be gone.
        write_atomically(self._state(place), b"")
        asset = self.path / "assets" / place
        if asset.is_dir() and not asset.is_symlink():
            shutil.rmtree(asset)
        _remove_files(self.path, _single_files(place))

    def _change(self, place: str) -> str | None:
        """Return how the files of a robot differ from those that were written, if they do."""
        former = self.finished(place)
        if former is None:
            return "it is not finished"
        known, present = former.files, set(self._files(place))
        changes = [
            *(f"{name} is missing" for name in sorted(known.keys() - present)),
            *(f"{name} was added" for name in sorted(present - known.keys())),
            *(
                f"{name} was changed"
                for name in sorted(present & known.keys())
                # A symbolic link leads out of the folder.
                if known[name] is None or _hash(self.path / name) != known[name]
            ),
        ]
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        return f"{changes[0]}{more}" if changes else None

    def _files(self, place: str) -> Iterator[str]:
        """Yield the files of a robot on disk, relative to the folder."""
        yield from (name for name in _single_files(place) if (self.path / name).exists())
        asset = f"assets/{place}"
        yield from (f"{asset}/{name}" for name in _files_below(self.path / asset))

    def _state(self, place: str) -> Path:
        return self.path / STATE / "robots" / f"{place}.json"

    def _places(self) -> set[str]:
        """Return the robots of former runs."""
        states = self.path / STATE / "robots"
        return {
            file.relative_to(states).with_suffix("").as_posix() for file in states.rglob("*.json")
        }

    def _foreign_files(self, kept: Collection[str]) -> list[str]:
        """List the files that no run wrote.

        Args:
            kept: Robots of a run that is resumed. A file that was added to an asset of
                these is a change of the asset, which is redone.
        """
        places = self._places()
        ours = {*_report_files(places), *(name for one in places for name in _single_files(one))}
        for place in places:
            former = None if place in kept else self.finished(place)
            # Without hashes the robot was not finished, and its files are not known.
            ours.update(former.files if former else self._files(place))
        return [name for name in _files_below(self.path) if not _is_ours(name, ours)]


@contextmanager
def claim_run_folder(
    out: Path,
    places: Collection[str],
    *,
    resume: bool = False,
    announce: Callable[[str], None] = lambda _: None,
) -> Iterator[RunFolder]:
    """Lock the folder of a run for as long as the block runs, and empty it.

    Only files that a former run wrote are removed.

    Args:
        out: The folder; made if it does not exist.
        places: Robots of the run.
        resume: Whether the files of these robots stay. Those of a robot that is not
            finished, or of which a file was changed, added or lost, are removed.
        announce: Called with a line of text for each such change.

    Raises:
        RunFolderError: Another process has locked it, it has files that no run wrote,
            or its name is not UTF-8. Nothing was changed then.
    """
    try:
        str(out).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(out).decode("utf-8", "backslashreplace")
        raise RunFolderError(
            f"{shown}: the name of the folder is not UTF-8; choose another"
        ) from None
    folder = RunFolder(out)
    if not (out / STATE).is_dir() and out.exists():
        _refuse([entry.name for entry in out.iterdir()], out)
    (out / STATE).mkdir(parents=True, exist_ok=True)
    with _locked(out / STATE / "lock", out):
        former = folder._places()
        kept = {*places} if resume else set()
        _refuse(folder._foreign_files(kept), out)
        _remove_files(out, _report_files(former))
        for place in sorted(former):
            change = folder._change(place) if place in kept else "it is of another run"
            if change is None:
                continue
            if place in kept and folder.finished(place):
                announce(f"{place} is examined again: {change}")
            folder.remove(place)
            if place not in places:
                folder._state(place).unlink()
        for place in {*places} - former:
            write_atomically(folder._state(place), b"")
        _remove_scratch(out)
        try:
            yield folder
        finally:
            _remove_scratch(out)


@contextmanager
def _locked(path: Path, out: Path) -> Iterator[None]:
    """Lock a file for as long as the block runs; child processes do not inherit it.

    Args:
        path: The file; made if it does not exist, and never removed. While the lock is
            held, it names this process.
        out: The folder, for messages.

    Raises:
        RunFolderError: Another process has the lock, or this one in another place.
    """
    owner = msgspec.json.encode(_Owner(os.getpid(), socket.gethostname()))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in _TAKEN:
                raise RunFolderError(_in_use(out, path)) from error
            if error.errno not in _UNSUPPORTED:
                raise
        os.ftruncate(descriptor, 0)
        os.write(descriptor, owner)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        # This releases the lock.
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A locked range cannot be read, so it is one beyond the content.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _in_use(out: Path, lock: Path) -> str:
    who = "another run"
    with contextlib.suppress(OSError, msgspec.DecodeError):
        owner = msgspec.json.decode(lock.read_bytes(), type=_Owner)
        who = f"the run of process {owner.process} on {owner.host}"
    return f"{out} is in use by {who}; wait until it has finished, or name another folder"


def _refuse(foreign: Iterable[str], out: Path) -> None:
    names = sorted(foreign)
    if names:
        more = ", …" if len(names) > _SHOWN else ""
        raise RunFolderError(
            f"{out} holds files that no run wrote "
            f"({', '.join(names[:_SHOWN])}{more}); name a new folder, or empty this one"
        )


def _is_ours(name: str, ours: Collection[str]) -> bool:
    if name in ours or any(part.startswith(_SCRATCH) for part in name.split("/")):
        return True
    # Files are written under another name first.
    path = Path(name)
    final = path.name.removeprefix(".").removesuffix(".part")
    return path.name == f".{final}.part" and path.with_name(final).as_posix() in ours


def _single_files(place: str) -> tuple[str, ...]:
    """Return the files of a robot outside its asset, relative to the folder."""
    here = Path()
    paths = (record_path, scene_path, expansion_path, timing_path)
    return tuple(path(here, place).as_posix() for path in paths)


def expansion_path(out: Path, place: str) -> Path:
    """Return the path of the URDF that a xacro file expands to."""
    return out / "expanded" / f"{place}.urdf"


def _report_files(places: Iterable[str]) -> Iterator[str]:
    """Yield the files of the report on robots, whether they exist or not."""
    yield from _REPORTS
    for place in places:
        converter, _, robot = place.rpartition("/")
        folder = f"{CONVERTERS}/{converter}/" if converter else ""
        yield from (f"suite/{robot}.urdf", f"suite/{robot}.json", f"{folder}robots/{robot}.html")
        if converter:
            yield from (f"{folder}{name}" for name in ("index.html", *_SCRIPTS))


def _files_below(folder: Path) -> list[str]:
    """List files, and symbolic links of any kind, relative to a folder."""
    found = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        inner = Path(place).relative_to(folder)
        found += [(inner / name).as_posix() for name in (*files, *links)]
    return found


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it is not a regular file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    return hash_file(path)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_files(out: Path, names: Iterable[str]) -> None:
    for name in names:
        path = out / name
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}.part").unlink(missing_ok=True)


def _remove_scratch(out: Path) -> None:
    """Remove unfinished assets of conversions that were ended, and empty folders."""
    for folder in ("", "assets", "assets/*", "results", "scenes", "expanded"):
        for scratch in out.glob(f"{folder}/{_SCRATCH}*".lstrip("/")):
            if scratch.name != STATE:
                shutil.rmtree(scratch, ignore_errors=True)
    # None within an asset.
    for pattern in (f"{CONVERTERS}/*/*", *(f"{name}/*" for name in _FOLDERS), *_FOLDERS):
        for path in out.glob(pattern):
            with contextlib.suppress(OSError):
                path.rmdir()


def kept_record(
    folder: RunFolder, job: Job, engines: Iterable[str], *, retry: bool
) -> RobotRecord | None:
    """Return the record of a former run, if it is still valid.

    Args:
        folder: Folder of the run.
        job: The robot, without engines.
        engines: Names of the engines that were requested; all if there are none.
        retry: Whether robots are examined again of which something crashed.
    """
    former = folder.finished(job.place)
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
    """Return the hash of everything that determines a result.

    Args:
        job: The robot.
        engines: As for :func:`kept_record`.
        hashes: SHA-256 of each file that it was read from.
        crashed: Whether something crashed: only then do limits matter.
    """
    source = job.source
    # Names decide which layer of another converter is the root layer.
    names = () if job.own else (*job.names, *map(str, job.reading.variants))
    variables = allowed_environment(job.options.environment) if is_xacro(str(source.path)) else {}
    chosen = tuple(engines) or registry.names()
    parts = (
        structs.replace(source, path=Path(source.path.name), packages=()),
        names,
        tuple(hashes),
        _without_paths(job.conversion),
        tuple(job.packages),
        job.arguments,
        variables | {name: os.environ.get(name) for name in _SEARCHED},
        chosen,
        job.limits if crashed else None,
        _converter_code(job.candidate),
        [_plugin_code(registry.target(name)) for name in chosen],
        registry.present(),
        present_versions(),
    )
    content = msgspec.json.encode(parts, order="sorted", enc_hook=str)
    return hashlib.sha256(content).hexdigest()


def _without_paths(options: ConvertOptions) -> ConvertOptions:
    simulation = options.simulation
    if simulation is not None:
        # Its text and the files that it names decide.
        simulation = structs.replace(simulation, file="")
    return structs.replace(options, packages=(), simulation=simulation)


def _converter_code(candidate: Candidate) -> tuple[str, ...]:
    """Return name, version and command of a converter, and hashes of its code.

    These are the files that a command names, such as the program or a script, or the
    modules of a plugin.
    """
    named = (candidate.name, candidate.title, candidate.recipe)
    match candidate:
        case CommandConverter(words=words):
            files = (Path(word) for word in words if _is_file(word))
            return (*named, *(f"{file.name} {hash_file(file)}" for file in files))
        case RegisteredConverter():
            return (*named, _plugin_code(candidate.recipe))
        case _:
            return named


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        # A word that is too long for a path, or has a null character.
        return False


@functools.cache
def _plugin_code(target: str) -> str:
    """Return the hash of the package of an entry point; of ours nothing.

    Args:
        target: Module and attribute, as ``package.module:attribute``.
    """
    package = target.partition(":")[0].partition(".")[0]
    # Only finds it: nothing of it is imported.
    spec = PathFinder.find_spec(package)
    if package == "urdf_usd" or spec is None:
        return ""
    folders = [*map(Path, spec.submodule_search_locations or ())]
    alone = [Path(spec.origin)] if spec.origin and _is_file(spec.origin) else []
    return _code_of(folders, alone)


def _code_of(folders: Iterable[Path], files: Iterable[Path] = ()) -> str:
    """Return the hash of the modules in folders, and of further files."""
    total = hashlib.sha256()
    modules = {(file, file.relative_to(one)) for one in folders for file in one.rglob("*.py")}
    for file, name in sorted({*modules, *((file, Path(file.name)) for file in files)}):
        total.update(f"{name.as_posix()} {hash_file(file)}\n".encode())
    return total.hexdigest()


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
