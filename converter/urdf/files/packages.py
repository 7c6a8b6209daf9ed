"""Lookup of ROS packages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.parsers import expat

from urdf_usd.converter.file_content import MIB, read_file

_MANIFEST = "package.xml"
_VERSION = re.compile(r"\d{1,9}\.\d{1,9}\.\d{1,9}", re.ASCII)
_IGNORED = {"CATKIN_IGNORE", "COLCON_IGNORE", "AMENT_IGNORE"}


def declared_name(folder: Path) -> str | None:
    """Return the name in a folder's ``package.xml``.

    None if there is no such file, or it is not well-formed, declares entities, or has
    no name.
    """
    return _declared(folder, "name")


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
    texts: list[str] = []
    parents: list[str] = []

    def start(name: str, _: dict[str, str]) -> None:
        parents.append(name)
        if parents[1:] == [tag]:
            texts.append("")

    def add(text: str) -> None:
        if parents[1:] == [tag]:
            texts[-1] += text

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: parents.pop()
    parser.CharacterDataHandler = add
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(read_file(folder / _MANIFEST, MIB), True)
    except (OSError, LookupError, ValueError, expat.ExpatError):
        return None
    return next(filter(None, map(str.strip, texts)), None)


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"entity {name!r} is declared")


def is_package(folder: Path) -> bool:
    """Return whether a folder has a ``package.xml``."""
    return (folder / _MANIFEST).is_file()


def path_prefix(folder: Path) -> str:
    """Return the start of the paths of files in a folder, with links followed."""
    return os.path.join(os.path.realpath(folder), "")  # noqa: PTH118  ends with a slash


def is_repository(folder: Path) -> bool:
    """Return whether a folder is a git checkout; in a worktree ``.git`` is a file."""
    return (folder / ".git").exists()


def prefixes(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the ``share`` folders of ``AMENT_PREFIX_PATH``."""
    return tuple(Path(p, "share") for p in _paths(environment, "AMENT_PREFIX_PATH"))


def workspaces(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of ``ROS_PACKAGE_PATH``."""
    return tuple(map(Path, _paths(environment, "ROS_PACKAGE_PATH")))


def packages_below(workspace: Path) -> dict[str, Path]:
    """Return the folders of all packages at and below a folder, by declared name.

    As in ROS: packages, hidden folders and folders with an ignore file are not
    searched, and of two packages with the same name the first in path order is used.
    """
    found: dict[str, Path] = {}
    for root, folders, files in os.walk(workspace):
        if _MANIFEST in files:
            folder = Path(root)
            found.setdefault(declared_name(folder) or folder.name, folder)
        if _MANIFEST in files or _IGNORED.intersection(files):
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
    return found


def _paths(environment: Mapping[str, str], variable: str) -> Iterator[str]:
    return filter(None, environment.get(variable, "").split(os.pathsep))
