"""Robots in files on this machine, named by path or found below a folder.

Also ROS packages below a folder, by the names that ``package://`` URIs use.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

from urdf_usd.corpus.references import Scheme, portable_path
from urdf_usd.corpus.robots import (
    Origin,
    RobotSource,
    UnavailableSource,
    UnknownRobotError,
    identifier,
)

STDIN = ("-", "/dev/stdin")
# Of `ros2 param get` without --hide-type.
_PARAMETER = b"String value is: "
_MANIFEST = "package.xml"
_SUFFIXES = (".urdf", ".xacro")
# Folders that programs write, by their names in lower case.
_GENERATED = frozenset({"__pycache__", "build", "node_modules"})
# What folders to be skipped contain: virtual environments, what ROS does not build, and
# reports of ``urdf-usd run``, which have expanded xacro files.
_MARKS = (
    *("pyvenv.cfg", "COLCON_IGNORE", "CATKIN_IGNORE", "AMENT_IGNORE"),
    ".urdf-usd-run",
)
# Python decodes other bytes of file names as lone surrogates. OpenUSD, XML libraries
# and JSON accept UTF-8 alone.
_NOT_UTF8 = "the name of the file or folder is not UTF-8; rename it"


def _stored_stdin() -> Path:
    """Store standard input, which several processes read, for the time of this process.

    Below the working folder, so that meshes and packages are found as for a file there.
    """
    text = sys.stdin.buffer.read()
    try:
        folder = tempfile.TemporaryDirectory(prefix=".urdf-usd-", dir=Path.cwd())
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="urdf-usd-")
    atexit.register(folder.cleanup)
    file = Path(folder.name, "stdin.urdf")
    file.write_bytes(text.removeprefix(_PARAMETER).lstrip())
    return file


def describe_file(target: str, start: Path | None = None) -> RobotSource:
    """Return the robot at a path; whether the file exists is not checked.

    ``-`` and ``/dev/stdin`` are the URDF on standard input.

    Args:
        target: The path.
        start: Folder that relative paths start from; the working folder by default.

    Raises:
        UnknownRobotError: The path is not UTF-8.
    """
    path = _stored_stdin() if target in STDIN else _path(target, start)
    shown = portable_path(path.name if target in STDIN else target)
    return RobotSource(
        id=identifier(Scheme.FILE, shown),
        reference=f"{Scheme.FILE}:{shown}",
        path=path,
        origin=Origin(license=declared_license(path)),
    )


def locate_file(target: str, start: Path | None = None) -> RobotSource:
    """Find the robot at a path; arguments as for :func:`describe_file`.

    Raises:
        UnknownRobotError: There is no file at the path.
    """
    source = describe_file(target, start)
    if source.path.is_dir():
        raise UnknownRobotError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise UnknownRobotError(f"{target} does not exist")
    return source


def locate_below(
    target: str, start: Path | None = None
) -> tuple[RobotSource | UnavailableSource, ...]:
    """Find every ``.urdf`` and ``.xacro`` below a folder, in path order.

    Folders that are hidden, generated (``build``, ``node_modules``), virtual environments,
    reports or marked to be skipped (``COLCON_IGNORE``) are left out. Files whose name is not
    UTF-8 are not available. Which xacro files are robots, and which are parts of robots, is
    only known after reading them. Robots get no packages, so that their files are looked up
    as if each had been named alone.

    Raises:
        UnknownRobotError: The folder does not exist, or has no such file.
    """
    folder = _path(target, start)
    if folder.is_file():
        raise UnknownRobotError(f"{target} is a file, not a folder; write file:{target}")
    if not folder.is_dir():
        raise UnknownRobotError(f"{target}: there is no such folder")
    paths: list[Path] = []
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = [name for name in subfolders if _is_searched(root, name)]
        paths += [Path(root, name) for name in files if name.lower().endswith(_SUFFIXES)]
    if not paths:
        raise UnknownRobotError(f"{target}: no .urdf or .xacro file lies in or below it")
    # Absolute paths differ between machines; records must not.
    shown = Path(folder.resolve().name) if Path(target).is_absolute() else Path(target)
    included = frozenset(name for path in paths for name in _included(path))
    robots: list[RobotSource | UnavailableSource] = []
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        escaped = _escaped(name)
        robot_id = identifier(Scheme.FOLDER, escaped)
        reference = f"{Scheme.FILE}:{(shown / escaped).as_posix()}"
        if _is_utf8(name):
            robot = RobotSource(
                robot_id,
                reference,
                path,
                origin=Origin(license=declared_license(path)),
                searched=True,
                included=path.name in included,
            )
            robots.append(robot)
        else:
            robots.append(UnavailableSource(robot_id, reference, f"{escaped}: {_NOT_UTF8}"))
    return tuple(robots)


def _path(target: str, start: Path | None) -> Path:
    if not _is_utf8(target):
        raise UnknownRobotError(f"{_escaped(target)}: {_NOT_UTF8}")
    return start / target if start else Path(target)


def _is_searched(parent: str, name: str) -> bool:
    if name.startswith(".") or name.lower() in _GENERATED:
        return False
    return not any(Path(parent, name, mark).exists() for mark in _MARKS)


def _included(path: Path) -> frozenset[str]:
    """Return the names, without folders, of the files that a xacro file includes.

    Folders are usually substitutions, such as ``$(find arm)/urdf/arm.xacro``.
    """
    names: set[str] = set()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "include":
            names.add(attributes.get("filename", "").rpartition("/")[2])

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    # A file that cannot be parsed is reported when it is read.
    with suppress(OSError, ValueError, expat.ExpatError):
        parser.Parse(path.read_bytes(), True)
    return frozenset(names)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def ros_packages(folder: Path) -> tuple[tuple[str, Path], ...]:
    """List the packages at and below a folder, by the name in their manifest.

    If a manifest cannot be read, the folder's name is used. Of two packages with the
    same name, the first in path order is kept, as in a ROS workspace.
    """
    found: dict[str, Path] = {}
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name[0] != ".")
        if _MANIFEST in files:
            path = Path(root)
            names = (*_declared(path / _MANIFEST, "name"), path.name)
            found.setdefault(names[0], path)
    return tuple(found.items())


def first_of_each(*packages: tuple[str, Path]) -> tuple[tuple[str, Path], ...]:
    """Keep the first folder of every name."""
    folders: dict[str, Path] = {}
    for name, path in packages:
        folders.setdefault(name, path)
    return tuple(folders.items())


def declared_license(file: Path) -> str | None:
    """Return the licence that the package around a file declares."""
    above = file.absolute().parents
    folder = next((folder for folder in above if (folder / _MANIFEST).is_file()), None)
    stated = _declared(folder / _MANIFEST, "license") if folder else ()
    return " AND ".join(dict.fromkeys(stated)) or None


def _declared(manifest: Path, tag: str) -> tuple[str, ...]:
    """Return the texts of the elements of a manifest with a given tag."""
    texts: list[str] = []
    around: list[str] = []

    def start(name: str, _: object) -> None:
        around.append(name)
        if around[1:] == [tag]:
            texts.append("")

    def add(text: str) -> None:
        if around[1:] == [tag]:
            texts[-1] += text

    def refuse_entity(name: str, *_: object) -> None:
        raise ValueError(f"entity {name!r} is declared")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: around.pop()
    parser.CharacterDataHandler = add
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(manifest.read_bytes(), True)
    except (OSError, LookupError, ValueError, expat.ExpatError):
        return ()
    return tuple(" ".join(text.split()) for text in texts if text.strip())
