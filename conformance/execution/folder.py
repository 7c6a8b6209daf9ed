"""The folder of a run: its lock, what runs wrote in it, and whether that is intact.

A run keeps a folder there, ``.urdf-usd-run``:

- ``lock``, locked while the run lasts, with process and host of the run. The operating
  system releases the lock when the process ends, however it ends. On NFS it holds
  between machines if server and clients support locks, and on file systems without
  locks there is none;
- ``places.json``, the robots whose files may be in the folder. It is written before the
  first of these files, so that it is complete after a crash too;
- ``robots/<place>.json``, the SHA-256 of each file of a finished robot.

A place is the path of a robot within each folder of the run, without a suffix:
``<id>``, or with several converters ``<converter>/<id>``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from urdf_usd.conformance.execution.errors import RunFolderError
from urdf_usd.reports.records.results import (
    record_path,
    timing_path,
    write_atomically,
)
from urdf_usd.reports.records.scene import scene_path

STATE = ".urdf-usd-run"
CONVERTERS = "converters"
# Names of unfinished files and folders begin like this.
_SCRATCH = ".urdf-usd-"
_REPORTS = (
    *("summary.json", "summary.md", "junit.xml", "index.html"),
    *("findings.sarif", "badge.svg", "badge.json"),
    *("history.html", "history.json"),
    *("suite.html",),
)
_FOLDERS = (
    *("results", "assets", "expanded", "scenes", "timings"),
    *("robots", "scripts", CONVERTERS, "suite"),
)
# What is made from the records of all robots, and takes time.
_OVERVIEW = ("index.html", "junit.xml", "findings.sarif")
_SCRIPTS = ("scripts/pages.js", "scripts/viewer.js")
_SHOWN = 3
# Errors of a lock that is taken, and of file systems without locks.
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


class _Owner(msgspec.Struct):
    """The run that has locked a folder."""

    process: int
    host: str


class RunFolder(Struct, frozen=True):
    """A folder that this process has locked for a run; see :func:`claim_run_folder`.

    Attributes:
        path: The folder.
    """

    path: Path

    def is_finished(self, place: str) -> bool:
        """Return whether all files of a robot are in the folder."""
        return _hashes_path(self.path, place).is_file()

    def changes(self, place: str) -> list[str]:
        """List how the files of a robot differ from those that were written."""
        known = _read_hashes(self.path, place) or {}
        present = set(_files_of(self.path, place))
        return [
            *(f"{name} is missing" for name in sorted(known.keys() - present)),
            *(f"{name} was added" for name in sorted(present - known.keys())),
            *(
                f"{name} was changed"
                for name in sorted(present & known.keys())
                if _hash(self.path / name) != known[name]
            ),
        ]

    def finish(self, place: str) -> None:
        """Store the hashes of a robot's files, to which nothing is written any more."""
        hashes = {name: _hash(self.path / name) for name in sorted(_files_of(self.path, place))}
        # A symbolic link leads out of the folder: the robot will not count as intact.
        if None not in hashes.values():
            content = msgspec.json.encode(hashes)
            write_atomically(_hashes_path(self.path, place), content)

    def remove(self, place: str) -> None:
        """Remove all files of a robot."""
        _remove_robot(self.path, place)

    def remove_overview(self) -> None:
        """Remove what is made from all records, before a robot is examined again.

        If the run is killed, that would not be of its robots.
        """
        _remove_files(self.path, _OVERVIEW)


@contextmanager
def claim_run_folder(
    out: Path,
    places: Collection[str],
    *,
    resume: bool = False,
    announce: Callable[[str], None] | None = None,
) -> Iterator[RunFolder]:
    """Lock the folder of a run for as long as the block runs, and empty it.

    Only files that a former run wrote are removed.

    Args:
        out: The folder; made if it does not exist.
        places: Robots of the run.
        resume: Whether the files of these robots stay, and their pages. Those of a
            robot that is not finished, or of which a file was changed, added or lost,
            are removed.
        announce: Called with a line of text for each such change.

    Raises:
        RunFolderError: Another process has locked it, it has files that no run wrote,
            or its name is not UTF-8. Nothing was changed then.
    """
    _require_utf8(out)
    state = out / STATE
    if not state.is_dir() and out.exists():
        _refuse([entry.name for entry in out.iterdir()], out)
    state.mkdir(parents=True, exist_ok=True)
    lock = state / "lock"
    owner = _Owner(os.getpid(), socket.gethostname())
    try:
        with _locked(lock, msgspec.json.encode(owner)):
            former = _read_places(out)
            kept = {*places} if resume else set()
            _refuse(_foreign_files(out, former, kept), out)
            # All of them may be in the folder, until those of `former` are removed.
            _write_places(out, {*former, *places})
            for place in sorted(former - kept):
                _remove_robot(out, place)
            stay = {*_OVERVIEW, *(_page(place) for place in former & kept)}
            _remove_files(out, (f for f in _report_files(former) if f not in stay))
            _remove_scratch(out)
            _remove_empty_folders(out)
            _write_places(out, places)
            folder = RunFolder(out)
            intact = [
                _is_intact(folder, place, announce or (lambda _: None))
                for place in sorted(former & kept)
            ]
            if former != kept or not all(intact):
                folder.remove_overview()
            try:
                yield folder
            finally:
                _remove_scratch(out)
                _remove_empty_folders(out)
    except _LockedError as error:
        raise RunFolderError(_in_use(out, lock)) from error


def _require_utf8(out: Path) -> None:
    try:
        str(out).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(out).decode("utf-8", "backslashreplace")
        raise RunFolderError(
            f"{shown}: the name of the folder is not UTF-8; choose another"
        ) from None


def _is_intact(folder: RunFolder, place: str, announce: Callable[[str], None]) -> bool:
    """Return whether a robot is finished and intact; otherwise remove its files."""
    if folder.is_finished(place):
        changes = folder.changes(place)
        if not changes:
            return True
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        announce(f"{place} is examined again: {changes[0]}{more}")
    folder.remove(place)
    return False


class _LockedError(Exception):
    """Another process has the lock."""


@contextmanager
def _locked(path: Path, owner: bytes) -> Iterator[None]:
    """Lock a file for as long as the block runs; child processes do not inherit it.

    Args:
        path: The file; made if it does not exist, and never removed.
        owner: Its content while the lock is held; it is empty afterwards.

    Raises:
        _LockedError: Another process has the lock, or this one in another place.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in _TAKEN:
                raise _LockedError from error
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


def discard_former(out: Path, place: str) -> None:
    """Remove the files of a robot that is examined again, if that was not done yet.

    If the run is killed, what is made from all records would not be of its robots.
    """
    if _hashes_path(out, place).is_file():
        _remove_files(out, _OVERVIEW)
        _remove_robot(out, place)


def _in_use(out: Path, lock: Path) -> str:
    try:
        owner = msgspec.json.decode(lock.read_bytes(), type=_Owner)
    except (OSError, msgspec.DecodeError):
        who = "another run"
    else:
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


def _foreign_files(out: Path, places: Collection[str], kept: Collection[str]) -> list[str]:
    """List the files that no run wrote.

    Args:
        out: Folder of the run.
        places: Robots of former runs.
        kept: Robots of a run that is resumed. A file that was added to an asset of
            these is a change of the asset, which is redone.
    """
    ours = set(_report_files(places))
    for place in places:
        ours.update(path.as_posix() for path in _single_files(place))
        known = None if place in kept else _read_hashes(out, place)
        asset = f"assets/{place}"
        inner = {f"{asset}/{name}" for name in _files_below(out / asset)}
        # Without hashes the robot was not finished, and its files are not known.
        ours |= inner if known is None else inner & known.keys()
    return [name for name in _files_below(out) if not _is_ours(name, ours)]


def _is_ours(name: str, ours: Collection[str]) -> bool:
    if name in ours:
        return True
    path = Path(name)
    if any(part.startswith(_SCRATCH) for part in path.parts):
        return True
    # Files are written under another name first.
    final = path.name.removeprefix(".").removesuffix(".part")
    return path.name == f".{final}.part" and path.with_name(final).as_posix() in ours


def _single_files(place: str) -> tuple[Path, ...]:
    """Return the files of a robot outside its asset, relative to the folder."""
    here = Path()
    return (
        record_path(here, place),
        scene_path(here, place),
        expansion_path(here, place),
        timing_path(here, place),
    )


def expansion_path(out: Path, place: str) -> Path:
    """Return the path of the URDF that a xacro file expands to."""
    return out / "expanded" / f"{place}.urdf"


def _files_of(out: Path, place: str) -> Iterator[str]:
    """Yield the files of a robot on disk, relative to the folder."""
    for path in _single_files(place):
        if (out / path).exists():
            yield path.as_posix()
    asset = f"assets/{place}"
    for name in _files_below(out / asset):
        yield f"{asset}/{name}"


def _report_files(places: Iterable[str]) -> Iterator[str]:
    """Yield the files of the report on robots, whether they exist or not."""
    yield from _REPORTS
    yield from _SCRIPTS
    for place in places:
        converter, _, robot = place.rpartition("/")
        yield from (f"suite/{robot}{suffix}" for suffix in (".urdf", ".json"))
        if converter:
            folder = f"{CONVERTERS}/{converter}"
            yield from (f"{folder}/{name}" for name in ("index.html", *_SCRIPTS))
        yield _page(place)


def _page(place: str) -> str:
    """Return the page of a robot in the report, relative to the folder."""
    converter, _, robot = place.rpartition("/")
    page = f"robots/{robot}.html"
    return f"{CONVERTERS}/{converter}/{page}" if converter else page


def _files_below(folder: Path) -> list[str]:
    """List files, and symbolic links of any kind, relative to a folder."""
    found = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        inner = Path(place).relative_to(folder).as_posix()
        above = "" if inner == "." else f"{inner}/"
        found += [f"{above}{name}" for name in (*files, *links)]
    return found


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it is not a regular file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_robot(out: Path, place: str) -> None:
    """Remove all files of a robot; other processes may write those of others."""
    # First, so that no file is taken for intact that will be gone.
    _hashes_path(out, place).unlink(missing_ok=True)
    asset = out / "assets" / place
    if asset.is_dir() and not asset.is_symlink():
        shutil.rmtree(asset)
    _remove_files(out, (path.as_posix() for path in _single_files(place)))
    # Its report would not be that of the files any more.
    _remove_files(out, (_page(place),))


def _remove_files(out: Path, names: Iterable[str]) -> None:
    for name in names:
        path = out / name
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}.part").unlink(missing_ok=True)


def _remove_empty_folders(out: Path) -> None:
    """Remove the folders of a run that are empty, but none within an asset."""
    patterns = (f"{CONVERTERS}/*/*", *(f"{name}/*" for name in _FOLDERS), *_FOLDERS)
    for pattern in patterns:
        for folder in out.glob(pattern):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove_scratch(out: Path) -> None:
    """Remove unfinished assets of conversions that were ended."""
    for folder in ("", "assets", "assets/*", "results", "scenes", "expanded"):
        for scratch in out.glob(f"{folder}/{_SCRATCH}*".lstrip("/")):
            if scratch.name != STATE:
                shutil.rmtree(scratch, ignore_errors=True)


def _hashes_path(out: Path, place: str) -> Path:
    return out / STATE / "robots" / f"{place}.json"


def _read_hashes(out: Path, place: str) -> dict[str, str] | None:
    try:
        content = _hashes_path(out, place).read_bytes()
        return msgspec.json.decode(content, type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return None


def _places_path(out: Path) -> Path:
    return out / STATE / "places.json"


def _read_places(out: Path) -> set[str]:
    try:
        return msgspec.json.decode(_places_path(out).read_bytes(), type=set[str])
    except (OSError, msgspec.DecodeError):
        return set()


def _write_places(out: Path, places: Collection[str]) -> None:
    write_atomically(_places_path(out), msgspec.json.encode(sorted(places)) + b"\n")
