"""Pages and tables that are as a run would write them again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec

from urdf_usd import reports
from urdf_usd.reports import records
from urdf_usd.reports.records.record import RobotRecord

_LIBRARIES = ("jinja2", "markupsafe", "msgspec")


class _Page(msgspec.Struct, frozen=True):
    """Hashes of what a page was made from, and of its text."""

    origin: str
    text: str


class KeptPages:
    """Writes files, unless a former run wrote the same one and nobody changed it.

    What a file is made from is hashed, with the code and templates that make it.

    Args:
        file: Hashes of the pages of the former run; those of this one replace them.
        folder: Folder of the run.
    """

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._former = _read(file)
        self._pages: dict[str, _Page] = {}

    def write(self, path: Path, parts: tuple[bytes, ...], render: Callable[[], str]) -> None:
        """Write a page, unless it is the same already.

        Args:
            path: The page.
            parts: All that it is made from, besides code.
            render: Makes it.
        """
        self.make(path, parts, lambda page: page.write_bytes(render().encode()))

    def make(self, path: Path, parts: tuple[bytes, ...], write: Callable[[Path], object]) -> None:
        """Make a file, unless it is the same already.

        Args:
            path: The file.
            parts: All that it is made from, besides code.
            write: Writes it.
        """
        name = path.relative_to(self._folder).as_posix()
        origin = hashlib.sha256(_code().encode())
        for part in parts:
            origin.update(hashlib.sha256(part).digest())
        former = self._former.get(name)
        if former is None or former != _Page(origin.hexdigest(), _hash_file(path)):
            write(path)
            former = _Page(origin.hexdigest(), _hash_file(path))
        self._pages[name] = former

    def store(self) -> None:
        """Store the hashes of the pages, for the next run."""
        self._file.write_bytes(msgspec.json.encode(self._pages, order="sorted"))


def record_hash(record: RobotRecord) -> bytes:
    """Return the SHA-256 of a record, as one of the parts of a file."""
    # JSON has no infinity.
    return hashlib.sha256(msgspec.msgpack.encode(record)).digest()


def _read(file: Path) -> dict[str, _Page]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, _Page])
    except (OSError, msgspec.DecodeError):
        return {}


def _hash_file(path: Path) -> str:
    """Return the SHA-256 of a page; empty if there is none."""
    if path.is_symlink() or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _code() -> str:
    """Return the hash of the code, templates and libraries that make pages."""
    total = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        total.update(f"{library} {metadata.version(library)}\n".encode())
    for package in (reports, records):
        (folder,) = map(Path, package.__path__)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                total.update(f"{file.relative_to(folder)} {content}\n".encode())
    return total.hexdigest()
