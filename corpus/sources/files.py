"""Robots in files on this machine: named by path, or found below a folder."""

from __future__ import annotations

import os
from pathlib import Path

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.packages import declared_license
from urdf_usd.corpus.references import Scheme, portable_path
from urdf_usd.corpus.robots import Origin, RobotSource, UnknownRobotError

_SUFFIXES = (".urdf", ".xacro")


def describe(target: str, start: Path | None = None) -> RobotSource:
    """Return the robot at a path; whether the file exists is not checked.

    Args:
        target: The path.
        start: Folder that relative paths start from; the working folder by default.
    """
    path = start / target if start else Path(target)
    shown = portable_path(target)
    return RobotSource(
        id=identifier(Scheme.FILE, shown),
        reference=f"{Scheme.FILE}:{shown}",
        path=path,
        origin=Origin(license=declared_license(path)),
    )


def locate(target: str, start: Path | None = None) -> RobotSource:
    """Find the robot at a path; arguments as for :func:`describe`.

    Raises:
        UnknownRobotError: There is no file at the path.
    """
    source = describe(target, start)
    if source.path.is_dir():
        raise UnknownRobotError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise UnknownRobotError(f"{target} does not exist")
    return source


def locate_all(target: str, start: Path | None = None) -> tuple[RobotSource, ...]:
    """Find every ``.urdf`` and ``.xacro`` below a folder, in path order.

    Hidden folders are skipped. Which xacro files are robots, and which are parts of
    robots, is only known after reading them. Robots get no packages, so that their
    files are looked up as if each had been named alone.

    Args:
        target: The folder.
        start: As for :func:`describe`.

    Raises:
        UnknownRobotError: The folder does not exist, or has no such file.
    """
    folder = start / target if start else Path(target)
    if folder.is_file():
        raise UnknownRobotError(
            f"{target} is a file, not a folder; write file:{target}"
        )
    if not folder.is_dir():
        raise UnknownRobotError(f"{target}: there is no such folder")
    paths: list[Path] = []
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name[0] != "."]
        paths += [
            Path(root, name) for name in files if name.lower().endswith(_SUFFIXES)
        ]
    if not paths:
        raise UnknownRobotError(
            f"{target}: no .urdf or .xacro file lies in or below it"
        )
    # Absolute paths differ between machines; records must not.
    shown = Path(folder.resolve().name) if Path(target).is_absolute() else Path(target)
    return tuple(
        RobotSource(
            id=identifier(Scheme.FOLDER, path.relative_to(folder).as_posix()),
            reference=f"{Scheme.FILE}:{(shown / path.relative_to(folder)).as_posix()}",
            path=path,
            origin=Origin(license=declared_license(path)),
            searched=True,
        )
        for path in sorted(paths, key=lambda path: path.relative_to(folder).as_posix())
    )
