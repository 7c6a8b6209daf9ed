"""The protocol of an engine, and the outcomes of running one.

An engine reads one file and states an
:class:`~urdf_usd.conformance.observation.robot.Observation`, without access to the
other file. It gives a reason for a file that it cannot read. Any other
exception, or the end of its process, is recorded as a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from importlib import metadata
from importlib.util import find_spec
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.installation import install_command


class Side(StrEnum):
    """The kind of file that an engine reads."""

    URDF = "urdf"
    MJCF = "mjcf"
    USD = "usd"


class Available(Struct, frozen=True):
    """The engine is installed."""

    version: str


class Unavailable(Struct, frozen=True):
    """The engine is not installed; ``remedy`` tells how to install it."""

    reason: str
    remedy: str


Availability: TypeAlias = Available | Unavailable


def optional_engine(module: str, distribution: str, extra: str) -> Availability:
    """Return whether the distribution of an extra is installed, without importing its module."""
    if find_spec(module) is None:
        return Unavailable(f"{distribution} is not installed", install_command(extra))
    try:
        return Available(f"{distribution} {metadata.version(distribution)}")
    except metadata.PackageNotFoundError:
        # Built from source or installed by another package manager.
        return Available(f"{distribution} of unknown version")


class Request(Struct, frozen=True):
    """The input of an engine."""

    path: str  # file to read: a URDF or MJCF, or the root layer of a USD
    configurations: Configurations  # at which to state frames and motion
    # folders of ROS packages, by name
    packages: Mapping[str, str] = field(default_factory=dict)


class UnsupportedError(Exception):
    """The engine cannot read the file; the message says why, in one line."""


class InvalidFileError(UnsupportedError):
    """No consumer could use the file, or the engine it is made for refuses it."""


class Observed(Struct, frozen=True, eq=False):
    """The engine read the file."""

    observation: Observation


class Unsupported(Struct, frozen=True):
    """The engine cannot read the file."""

    reason: str
    # whether no consumer could use the file, or the engine it is made for refuses it
    invalid: bool = False


class Crashed(Struct, frozen=True):
    """The engine crashed, hung or raised; ``output`` is the end of its output."""

    reason: str
    output: str = ""


Outcome: TypeAlias = Observed | Unsupported | Crashed


class Engine(Protocol):
    """One engine's reading of one kind of file."""

    @property
    def name(self) -> str:
        """Stable lower-case name."""

    @property
    def side(self) -> Side:
        """The kind of file that is read."""

    def availability(self) -> Availability:
        """Return whether the engine is installed, without loading a robot."""

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: The engine refuses the file or cannot express it.
            InvalidFileError: The file has values that no consumer could use.
        """
