"""Robots named by the path of their file."""

from __future__ import annotations

from pathlib import Path

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.packages import declared_license
from urdf_usd.corpus.references import Scheme, portable_path
from urdf_usd.corpus.robots import Origin, RobotSource, UnknownRobotError


def describe(target: str, start: Path | None = None) -> RobotSource:
    """Name the robot that a path leads to, whatever lies there.

    Args:
        target: The path.
        start: Folder that relative paths begin in; the working folder if absent.
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
    """Find the robot that a path leads to; the arguments are those of ``describe``.

    Raises:
        UnknownRobotError: There is no file at the path.
    """
    source = describe(target, start)
    if source.path.is_dir():
        raise UnknownRobotError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise UnknownRobotError(f"{target} does not exist")
    return source
