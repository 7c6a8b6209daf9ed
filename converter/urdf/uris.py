"""File references of a URDF, and ROS packages.

The robot's own folders are the URDF's folder, the package and the repository around it
(otherwise the parent folder), the packages given by the user, those of the ROS
environment, and neighbouring packages that are referred to by name. A file elsewhere,
also through a symbolic link, is used but reported, because the URDF may be untrusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from lxml import etree
from msgspec import Struct

from urdf_usd.converter.file_content import MIB, is_file, read_file

# Only "file" may lack its slashes: "part:2.stl" is a file name.
_SCHEME = re.compile(r"(?is)(?P<scheme>[a-z][a-z0-9+.-]+(?=://)|file):(?://)?(?P<rest>.*)")
_OF_PACKAGES = {"package", "model"}


class Found(Struct, frozen=True):
    """The file that a reference resolves to."""

    path: Path  # absolute path
    outside: bool = False  # whether it is outside the robot's own folders, after following links
    other_case: bool = False  # whether the reference differs in letter case
    read_as: str | None = None  # the corrected reference, if it is malformed


class FileResolver:
    """Resolves the file references of one URDF."""

    def __init__(
        self, urdf: Path, packages: Mapping[str, str], environment: Mapping[str, str]
    ) -> None:
        self.urdf = urdf
        self._packages = packages
        self._workspaces = list(map(Path, _paths(environment, "ROS_PACKAGE_PATH")))
        self._prefixes = [Path(p, "share") for p in _paths(environment, "AMENT_PREFIX_PATH")]
        folder = _normalised(urdf).parent
        self._ancestors = (folder, *folder.parents)

    def find(self, uri: str) -> Found | None:
        """Find the file that a URDF refers to.

        ``package://NAME/REST`` and ``model://NAME/REST`` are looked up in ``packages``;
        then in ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``; then among the parents
        of the URDF: a folder named NAME, with a subfolder NAME, or with NAME in its
        ``package.xml``, and last any without another ``package.xml``. Plain paths are
        relative to the URDF's folder, or to one of its parents.

        If no candidate is a file, one that differs only in letter case is used: robots
        are authored on file systems that ignore it.
        """
        for other_case in (False, True):
            for spelling in _spellings(uri):
                for candidate in self._candidates(spelling):
                    path = _in_other_case(candidate) if other_case else candidate
                    if path is None or not is_file(path):
                        continue
                    path, named = _tidy(path), filter(None, package_and_rest(spelling)[:1])
                    outside = not self.owns(path, named)
                    proper = spelling in {uri.strip(), unquote(uri).strip()}
                    return Found(path, outside, other_case, None if proper else spelling)
        return None

    def package(self, name: str) -> Path | None:
        """Find the folder of a package, in the order of :meth:`find`."""
        found = (folder for folder in self._folders(name) if name and folder.is_dir())
        return next(map(_normalised, found), None)

    def owns(self, path: Path, named: Iterable[str] = ()) -> bool:
        """Return whether a file, after following links, is in the robot's own folders.

        Those of packages that its reference names may be among them.
        """
        folder = self._ancestors[0]
        marked = [next(filter(m, self._ancestors), None) for m in (is_package, is_repository)]
        near = [folder, *(filter(None, marked) if any(marked) else [folder.parent])]
        given = chain(map(Path, self._packages.values()), self._workspaces, self._prefixes)
        others = filter(is_package, chain.from_iterable(map(self._around, named)))
        # Resolved lazily: most files are in the folders around the URDF.
        prefixes = map(path_prefix, chain(near, given, others))
        return any(map(os.path.realpath(path).startswith, prefixes))

    @cached_property
    def _declared(self) -> tuple[tuple[Path, str | None], ...]:
        """The URDF's folder and its parents, with declared package names."""
        return tuple((folder, _declared(folder, "name")) for folder in self._ancestors)

    @cached_property
    def _crawled(self) -> Mapping[str, Path]:
        """The folders of all packages in the ROS workspaces, by declared name.

        As in ROS: packages, hidden folders and folders with an ignore file are not searched,
        and of two packages with the same name the first in path order is used.
        """
        found: dict[str, Path] = {}
        for root, folders, files in chain.from_iterable(map(os.walk, self._workspaces)):
            if _MANIFEST in files:
                folder = Path(root)
                found.setdefault(_declared(folder, "name") or folder.name, folder)
            if _MANIFEST in files or _IGNORED.intersection(files):
                folders.clear()
            folders[:] = sorted(name for name in folders if not name.startswith("."))
        return found

    def _candidates(self, uri: str) -> Iterator[Path]:
        scheme, rest = _scheme_and_rest(uri)
        folder, *parents = self._ancestors
        if scheme in _OF_PACKAGES:
            name, inner = package_and_rest(uri)
            if name in self._packages or (name and inner):
                yield from (package / inner for package in self._folders(name))
                # A checkout often has another name than its package, unless its
                # manifest declares another name.
                undeclared = (ancestor for ancestor, declared in self._declared if not declared)
                yield from (one / inner for one in undeclared if name not in self._packages)
        elif scheme == "file":
            rest = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
            yield folder / rest
            if re.match(r"/[A-Za-z]:", rest):
                yield Path(rest[1:])
        elif not scheme:
            yield folder / rest
            if rest and not Path(rest).is_absolute():
                yield from (parent / rest for parent in parents)

    def _folders(self, name: str) -> Iterator[Path]:
        """Yield the folders that may be a package."""
        if name in self._packages:
            yield Path(self._packages[name])
            return
        for workspace in self._workspaces:
            yield workspace / name
            if workspace.name == name:
                yield workspace
        if name in self._crawled:
            yield self._crawled[name]
        for prefix in self._prefixes:
            yield prefix / name
        yield from self._around(name)

    def _around(self, name: str) -> Iterator[Path]:
        for folder, declared in self._declared:
            if name in {folder.name, declared}:
                yield folder
            yield folder / name


def _spellings(uri: str) -> tuple[str, ...]:
    """Return the reference as written, percent-decoded, and with mistakes corrected."""
    slashes = uri.replace("\\", "/")
    one_too_many = re.sub(r"(?i)^(package|model):///+", r"\1://", slashes)
    # As in PyBullet: package://part.obj, without a package.
    file_alone = re.sub(r"(?i)^(package|model)://(?=[^/]+$)", "", slashes)
    ways = (uri, unquote(uri), slashes, one_too_many, file_alone)
    return tuple(dict.fromkeys(way.strip() for way in ways))


def _scheme_and_rest(uri: str) -> tuple[str, str]:
    match = _SCHEME.fullmatch(uri)
    return (match["scheme"].lower(), match["rest"]) if match else ("", uri)


def package_and_rest(uri: str) -> tuple[str, str]:
    """Return the package of a reference and the path in it."""
    scheme, rest = _scheme_and_rest(uri)
    name, _, inner = rest.partition("/") if scheme in _OF_PACKAGES else ("", "", rest)
    return name, inner.lstrip("/")


def _in_other_case(path: Path) -> Path | None:
    """Return the only file whose path differs only in letter case."""
    place = Path(os.path.normpath(path))
    missing: list[str] = []
    try:
        while not place.is_dir():
            missing.append(place.name)
            place = place.parent
        for name in reversed(missing):
            alike = [e for e in os.listdir(place) if e.casefold() == name.casefold()]  # noqa: PTH208  names, not paths
            if len(alike) != 1:
                return None
            place /= alike[0]
    except (OSError, ValueError):
        # Unreadable, too long, or with a null character.
        return None
    return place


def _normalised(path: str | Path) -> Path:
    """Return an absolute path without ``..``, with its symbolic links."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() follows links


def _tidy(path: Path) -> Path:
    """Return an absolute path without ``..``, unless a symbolic link requires it."""
    if path.is_absolute() and ".." not in path.parts:
        return path
    plain = _normalised(path)
    return plain if is_file(plain) and plain.samefile(path) else path.absolute()


def path_prefix(folder: Path) -> str:
    """Return the start of the paths of files in a folder, with links followed."""
    return os.path.join(os.path.realpath(folder), "")  # noqa: PTH118  ends with a slash


_MANIFEST = "package.xml"
_VERSION = re.compile(r"\d{1,9}\.\d{1,9}\.\d{1,9}", re.ASCII)
_IGNORED = {"CATKIN_IGNORE", "COLCON_IGNORE", "AMENT_IGNORE"}


def is_package(folder: Path) -> bool:
    """Return whether a folder has a ``package.xml``."""
    return (folder / _MANIFEST).is_file()


def is_repository(folder: Path) -> bool:
    """Return whether a folder is a git checkout; in a worktree ``.git`` is a file."""
    return (folder / ".git").exists()


def declared_version(urdf: Path) -> str | None:
    """Return the version of the package that contains a file (REP 149).

    None if the file is in no package, or its ``package.xml`` has no version of three
    numbers.
    """
    for folder in urdf.absolute().parents:
        if is_package(folder):
            version = _declared(folder, "version")
            return version if version and _VERSION.fullmatch(version) else None
        if is_repository(folder):
            break
    return None


def _declared(folder: Path, tag: str) -> str | None:
    """Return the first text of an element of a folder's ``package.xml``, if any."""
    try:
        data = read_file(folder / _MANIFEST, MIB)
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False))
    except (OSError, ValueError, etree.XMLSyntaxError):
        return None
    texts = ((element.text or "").strip() for element in root.iterfind(tag))
    return next(filter(None, texts), None)


def _paths(environment: Mapping[str, str], variable: str) -> list[str]:
    return list(filter(None, environment.get(variable, "").split(os.pathsep)))
