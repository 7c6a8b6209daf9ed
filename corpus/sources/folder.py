"""All robots below a folder."""

from __future__ import annotations

import os
from pathlib import Path

from corpus.identifiers import identifier
from corpus.packages import ros_packages
from corpus.references import Scheme
from corpus.robots import RobotSource, UnknownRobotError


def locate_all(target: str) -> tuple[RobotSource, ...]:
    """Find every ``.urdf`` below a folder, hidden folders left out, in path order.

    Raises:
        UnknownRobotError: There is no such folder, or nothing in it.
    """
    folder = Path(target)
    if folder.is_file():
        raise UnknownRobotError(
            f"{target} is a file, not a folder; write file:{target}"
        )
    if not folder.is_dir():
        raise UnknownRobotError(f"{target}: there is no such folder")
    paths = _urdf_files(folder)
    if not paths:
        raise UnknownRobotError(f"{target}: no .urdf file lies in or below it")
    packages = ros_packages(folder)
    # Absolute paths differ between machines; records must not.
    shown = Path(folder.resolve().name) if folder.is_absolute() else folder
    return tuple(
        RobotSource(
            id=identifier(Scheme.FOLDER, path.relative_to(folder).as_posix()),
            reference=f"{Scheme.FILE}:{(shown / path.relative_to(folder)).as_posix()}",
            path=path,
            packages=packages,
        )
        for path in paths
    )


def _urdf_files(folder: Path) -> tuple[Path, ...]:
    found: list[Path] = []
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name[0] != "."]
        found += [Path(root) / name for name in files if name.lower().endswith(".urdf")]
    return tuple(sorted(found, key=lambda path: path.relative_to(folder).as_posix()))
