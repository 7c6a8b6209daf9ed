"""The protocol of an engine, and the outcomes of asking one.

An engine reads one file and states an
:class:`~urdf_usd.conformance.observation.robot.Observation`; it never sees the other
side. It abstains when the file is beyond it, and says why. What it raises otherwise, or
a death of its process, is recorded as a crash: absent is not equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.conformance.observation.robot import Configurations, Observation


class Side(StrEnum):
    """The kind of file that an engine reads."""

    URDF = "urdf"
    USD = "usd"


@dataclass(frozen=True, slots=True)
class Available:
    """The engine can be asked here."""

    version: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The engine cannot be asked here; ``remedy`` says what would change that."""

    reason: str
    remedy: str


Availability: TypeAlias = Available | Unavailable


@dataclass(frozen=True, slots=True)
class Request:
    """What an engine is asked to read.

    Attributes:
        path: File to read: a URDF, or the root layer of a USD.
        configurations: Where to state link frames.
        packages: Folders of ROS packages, by name.
    """

    path: str
    configurations: Configurations
    packages: Mapping[str, str] = field(default_factory=dict)


class AbstentionError(Exception):
    """The engine cannot read the file; the message says why, in one line."""


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The engine read the file."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class Abstained:
    """The engine cannot read the file."""

    reason: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The engine died, hung or raised; ``output`` is the end of what it printed."""

    reason: str
    output: str = ""


Outcome: TypeAlias = Observed | Abstained | Crashed


class Engine(Protocol):
    """One engine's reading of one kind of file."""

    @property
    def name(self) -> str:
        """Stable lower-case name."""

    @property
    def side(self) -> Side:
        """The kind of file that is read."""

    def availability(self) -> Availability:
        """Say whether the engine is installed, without loading a robot."""

    def observe(self, request: Request) -> Observation:
        """Read the file and state what it says.

        Raises:
            AbstentionError: The engine refuses the file or cannot express it.
        """
