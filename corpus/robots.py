"""What a corpus hands out: robots that lie in files, and reasons where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Announce: TypeAlias = Callable[[str], None]
"""Receives one line before anything slow or networked starts."""


class CorpusError(Exception):
    """A reference leads to no robot; the message says why and what would help."""


class ReferenceSyntaxError(CorpusError):
    """The text is not a reference."""


class UnavailableError(CorpusError):
    """The reference is understood, but there is no robot to be had from it."""


class UnknownRobotError(UnavailableError):
    """The reference names what its source does not have: most likely a mistake."""


@dataclass(frozen=True, slots=True)
class RobotSource:
    """One robot that lies in a file.

    Attributes:
        id: Unique in its corpus, stable between machines, and safe as a file name.
        reference: What a user writes to get this robot; never an absolute path.
        path: The URDF, or a xacro file that expands to it.
        packages: ROS packages that its URIs may name, and their folders.
        arguments: Values of the xacro file's arguments, by name.
    """

    id: str
    reference: str
    path: Path
    packages: tuple[tuple[str, Path], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class UnavailableSource:
    """One robot of a corpus that could not be had; ``reason`` is one line."""

    id: str
    reference: str
    reason: str
