"""Resolution of the file references of a URDF.

Candidates follow from the reference, the path of the URDF and the packages; file names
are not searched for.

The robot's own folders are the URDF's folder, the package and the repository around it
(otherwise the parent folder), the packages given by the user, those of the ROS
environment, and neighbouring packages that are referred to by name. A file elsewhere,
also through a symbolic link, is used but reported, because the URDF may be untrusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from urdf_usd.converter.urdf.files.packages import (
    declared_name,
    is_package,
    is_repository,
    packages_below,
    path_prefix,
    prefixes,
    workspaces,
)

# Only "file" may lack its slashes: "part:2.stl" is a file name.
_SCHEME = re.compile(r"(?is)(?P<scheme>[a-z][a-z0-9+.-]+(?=://)|file):(?://)?(?P<rest>.*)")
_OF_PACKAGES = {"package", "model"}


class Found(Struct, frozen=True):
    """The file that a reference resolves to.

    Attributes:
        path: Absolute path.
        outside: Whether it is outside the robot's own folders, after following links.
        other_case: Whether the reference differs in letter case.
        read_as: The corrected reference, if it is malformed.
    """

    path: Path
    outside: bool = False
    other_case: bool = False
    read_as: str | None = None


class FileResolver(Struct, frozen=True, dict=True):
    """Resolves the file references of one URDF.

    Attributes:
        urdf: Path of the URDF.
        packages: Folders of packages by name; no other folders are tried for these.
        environment: Environment variables.
    """

    urdf: Path
    packages: Mapping[str, str]
    environment: Mapping[str, str]

    def find(self, uri: str) -> Found | None:
        """Find the file that a URDF refers to.

        ``package://NAME/REST`` and ``model://NAME/REST`` are looked up in ``packages``;
        then in ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``; then among the parents
        of the URDF: a folder named NAME, with a subfolder NAME, or with NAME in its
        ``package.xml``, and last any without another ``package.xml``. Plain paths are
        relative to the URDF's folder, or to one of its parents.

        If no candidate is a file, one that differs only in letter case is used.
        """
        candidates: dict[Path, str] = {}
        for spelling in _spellings(uri):
            for candidate in self._candidates(spelling):
                if candidate in candidates:
                    continue
                if _is_file(candidate):
                    tidy = _tidy(candidate)
                    return self._found(tidy, uri, spelling, other_case=False)
                candidates[candidate] = spelling
        for candidate, spelling in candidates.items():
            spelled = _in_other_case(candidate)
            if spelled:
                return self._found(spelled, uri, spelling, other_case=True)
        return None

    def package(self, name: str) -> Path | None:
        """Find the folder of a package, in the order of :meth:`find`."""
        if name in self.packages:
            folders = iter((Path(self.packages[name]),))
        else:
            folders = chain(self._in_environment(name), self._around(name))
        found = (folder for folder in folders if name and folder.is_dir())
        return next(map(_normalised, found), None)

    def owns(self, path: Path, named: Iterable[str] = ()) -> bool:
        """Return whether a file, after following links, is in the robot's own folders.

        Args:
            path: The file.
            named: Packages in its reference.
        """
        real = self._real(path)
        folders = chain.from_iterable(map(self._around, named))
        packages = (path_prefix(folder) for folder in filter(is_package, folders))
        return any(map(real.startswith, chain(self._own(), packages)))

    def _real(self, path: Path) -> str:
        """Follow symbolic links; those of folders are followed once for all files."""
        if path.is_symlink():
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)  # noqa: PTH118  text

    @cached_property
    def _real_folders(self) -> dict[str, str]:
        return {}

    @cached_property
    def _folder(self) -> Path:
        return _normalised(self.urdf).parent

    @cached_property
    def _declared(self) -> tuple[tuple[Path, str | None], ...]:
        """The URDF's folder and its parents, with declared package names."""
        ancestors = (self._folder, *self._folder.parents)
        return tuple((folder, declared_name(folder)) for folder in ancestors)

    @cached_property
    def _crawled(self) -> Mapping[str, Path]:
        """Packages of the ROS workspaces by name; of equal names the first."""
        tables = map(packages_below, reversed(workspaces(self.environment)))
        return dict(chain.from_iterable(table.items() for table in tables))

    def _own(self) -> Iterator[str]:
        """Yield prefixes of files in the robot's own folders, whatever refers to them.

        Symbolic links are followed.
        """
        yield from self._near
        # Resolved lazily: most files are in the folders above.
        yield from self._named

    @cached_property
    def _near(self) -> tuple[str, ...]:
        resolver = [
            folder
            for marks in (is_package, is_repository)
            for folder in _first(marks, (self._folder, *self._folder.parents))
        ]
        near = (self._folder, *(resolver or (self._folder.parent,)))
        return tuple(map(path_prefix, near))

    @cached_property
    def _named(self) -> tuple[str, ...]:
        named = (
            *map(Path, self.packages.values()),
            *workspaces(self.environment),
            *prefixes(self.environment),
        )
        return tuple(map(path_prefix, named))

    def _candidates(self, uri: str) -> Iterator[Path]:
        scheme, rest = _scheme_and_rest(uri)
        if scheme in _OF_PACKAGES:
            name, inner = package_and_rest(uri)
            if name in self.packages:
                yield Path(self.packages[name], inner)
            elif name and inner:
                for package in chain(self._in_environment(name), self._around(name)):
                    yield package / inner
                # A checkout often has another name than its package, unless its
                # manifest declares another name.
                for folder, declared in self._declared:
                    if declared is None:
                        yield folder / inner
        elif scheme == "file":
            yield from _local(rest, self._folder)
        elif not scheme:
            yield self._folder / rest
            if rest and not Path(rest).is_absolute():
                yield from (parent / rest for parent in self._folder.parents)

    def _in_environment(self, name: str) -> Iterator[Path]:
        for workspace in workspaces(self.environment):
            yield workspace / name
            if workspace.name == name:
                yield workspace
        if name in self._crawled:
            yield self._crawled[name]
        for prefix in prefixes(self.environment):
            yield prefix / name

    def _around(self, name: str) -> tuple[Path, ...]:
        if name not in self._neighbours:
            self._neighbours[name] = tuple(self._places_around(name))
        return self._neighbours[name]

    def _places_around(self, name: str) -> Iterator[Path]:
        for folder, declared in self._declared:
            if name in {folder.name, declared}:
                yield folder
            yield folder / name

    @cached_property
    def _neighbours(self) -> dict[str, tuple[Path, ...]]:
        return {}

    def _found(self, path: Path, uri: str, read: str, *, other_case: bool) -> Found:
        name = package_and_rest(read)[0]
        outside = not self.owns(path, [name] if name else [])
        proper = read in {uri.strip(), unquote(uri).strip()}
        return Found(path, outside, other_case, None if proper else read)


def _spellings(uri: str) -> tuple[str, ...]:
    """Return the reference as written, percent-decoded, and with mistakes corrected."""
    slashes = uri.replace("\\", "/")
    one_too_many = re.sub(r"(?i)^(package|model):///+", r"\1://", slashes)
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


def _first(holds: Callable[[Path], bool], folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the first folder that satisfies a predicate, if any."""
    return tuple(filter(holds, folders))[:1]


def _local(rest: str, folder: Path) -> Iterator[Path]:
    """Yield the paths of a ``file:`` URI, without the scheme."""
    rest = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
    yield folder / rest
    if re.match(r"/[A-Za-z]:", rest):
        yield Path(rest[1:])


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
    return place if missing and _is_file(place) else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # A name that is too long.
        return False


def _normalised(path: str | Path) -> Path:
    """Return an absolute path without ``..``, with its symbolic links."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() follows links


def _tidy(path: Path) -> Path:
    """Return an absolute path without ``..``, unless a symbolic link requires it."""
    if path.is_absolute() and ".." not in path.parts:
        return path
    plain = _normalised(path)
    return plain if _is_file(plain) and plain.samefile(path) else path.absolute()
