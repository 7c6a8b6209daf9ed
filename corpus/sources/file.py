"""Robots named by the path of their file."""

from __future__ import annotations

from pathlib import Path

from corpus.identifiers import identifier
from corpus.references import Reference, Scheme
from corpus.robots import RobotSource, UnknownRobotError


def describe(target: str) -> RobotSource:
    """Name the robot that a path leads to, whatever lies there."""
    path = Path(target)
    reference = Reference(Scheme.FILE, target).portable
    shown = reference.removeprefix(f"{Scheme.FILE}:")
    return RobotSource(identifier(Scheme.FILE, shown), reference, path)


def locate(target: str) -> RobotSource:
    """Find the robot that a path leads to.

    Raises:
        UnknownRobotError: There is no file at the path.
    """
    source = describe(target)
    if source.path.is_dir():
        raise UnknownRobotError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise UnknownRobotError(f"{target} does not exist")
    return source
