"""All robots below a folder."""

from __future__ import annotations

import os
from pathlib import Path

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.packages import declared_license
from urdf_usd.corpus.references import Scheme
from urdf_usd.corpus.robots import Origin, RobotSource, UnknownRobotError

_SUFFIXES = (".urdf", ".xacro")


def locate_all(target: str, start: Path | None = None) -> tuple[RobotSource, ...]:
    """Find every ``.urdf`` and ``.xacro`` below a folder, in path order.

    Hidden folders are left out. Which xacro files are robots, and which are parts of
    some, shows when they are read. A robot gets no packages: its files are looked up as
    if it had been named alone, and other packages in the folder do not hide them.

    Args:
        target: The folder.
        start: Folder that relative paths begin in; the working folder if absent.

    Raises:
        UnknownRobotError: There is no such folder, or nothing in it.
    """
    folder = start / target if start else Path(target)
    if folder.is_file():
        raise UnknownRobotError(
            f"{target} is a file, not a folder; write file:{target}"
        )
    if not folder.is_dir():
        raise UnknownRobotError(f"{target}: there is no such folder")
    paths = _robot_files(folder)
    if not paths:
        raise UnknownRobotError(
            f"{target}: no .urdf or .xacro file lies in or below it"
        )
    # Absolute paths differ between machines; records must not.
    named = Path(target)
    shown = Path(folder.resolve().name) if named.is_absolute() else named
    return tuple(
        RobotSource(
            id=identifier(Scheme.FOLDER, path.relative_to(folder).as_posix()),
            reference=f"{Scheme.FILE}:{(shown / path.relative_to(folder)).as_posix()}",
            path=path,
            origin=Origin(license=declared_license(path)),
            searched=True,
        )
        for path in paths
    )


def _robot_files(folder: Path) -> tuple[Path, ...]:
    found: list[Path] = []
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name[0] != "."]
        found += [
            Path(root, name) for name in files if name.lower().endswith(_SUFFIXES)
        ]
    return tuple(sorted(found, key=lambda path: path.relative_to(folder).as_posix()))
