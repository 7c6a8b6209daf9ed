"""Robots named by the path of their file."""

from __future__ import annotations

from pathlib import Path

from corpus.identifiers import identifier
from corpus.references import Reference, Scheme
from corpus.robots import RobotSource, UnavailableError


def describe(target: str) -> RobotSource:
    """Name the robot that a path leads to, whatever lies there.

    Raises:
        UnavailableError: The path is a xacro file, which must be expanded first.
    """
    path = Path(target)
    if path.suffix.lower() == ".xacro":
        raise UnavailableError(
            f"{target}: xacro is not expanded here; "
            f"run 'xacro {path.name} > {path.name.split('.')[0]}.urdf' first"
        )
    reference = Reference(Scheme.FILE, target).portable
    shown = reference.removeprefix(f"{Scheme.FILE}:")
    return RobotSource(identifier(Scheme.FILE, shown), reference, path)


def locate(target: str) -> RobotSource:
    """Find the robot that a path leads to.

    Raises:
        UnavailableError: There is no file at the path, or it is xacro.
    """
    source = describe(target)
    if source.path.is_dir():
        raise UnavailableError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise UnavailableError(f"{target} does not exist")
    return source
