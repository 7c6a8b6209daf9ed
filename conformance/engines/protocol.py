"""The protocol of an engine, the outcomes of running one, and all engines by name.

An engine reads one file and states an
:class:`~urdf_usd.conformance.observation.robot.Observation`, without access to the
other file. It gives a reason for a file that it cannot read. Any other
exception, or the end of its process, is recorded as a crash.

Another package registers an engine under the entry point group :data:`GROUP`; the value of
an entry point is a class or function that makes an engine without arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Protocol, TypeAlias, cast

from msgspec import Struct, field

from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.installation import install_command

GROUP = "urdf_usd.engines"

# Module and class or function of each engine of this project, below this package, and the library
# that an extra installs for it.
_OWN: dict[str, tuple[str, str | None]] = {
    "drake": ("drake:read_urdf", "pydrake"),
    "drake-mjcf": ("drake:read_mjcf", "pydrake"),
    "mujoco": ("mujoco:MujocoEngine", None),
    "mujoco-mjcf": ("mjcf:MjcfEngine", None),
    "newton": ("newton:read_urdf", "newton"),
    "newton-mjcf": ("newton:read_mjcf", "newton"),
    "newton-usd": ("newton:NewtonUsdEngine", "newton"),
    "openusd": ("openusd.engine:OpenusdEngine", None),
    "physx": ("physx:PhysxEngine", "ovphysx"),
    "pinocchio": ("pinocchio:read_urdf", "pinocchio"),
    "pinocchio-mjcf": ("pinocchio:read_mjcf", "pinocchio"),
    "pybullet": ("pybullet:PybulletEngine", None),
    "reference": ("reference:ReferenceEngine", None),
    "urdfdom": ("urdfdom:UrdfdomEngine", None),
}


class Side(StrEnum):
    URDF = "urdf"
    MJCF = "mjcf"
    USD = "usd"


class Available(Struct, frozen=True):
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
    path: str  # file to read: a URDF or MJCF, or the root layer of a USD
    configurations: Configurations  # at which to state frames and motion
    # folders of ROS packages, by name
    packages: Mapping[str, str] = field(default_factory=dict)
    hulls: bool = True  # whether to measure the convex hulls of colliders


class UnsupportedError(Exception):
    """The engine cannot read the file; the message says why, in one line."""


class InvalidFileError(UnsupportedError):
    """No consumer could use the file, or the engine it is made for refuses it."""


class Observed(Struct, frozen=True, eq=False):
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


class UnknownEngineError(LookupError):
    """No engine of that name is installed; the message lists those that are."""


class MissingEngineError(Exception):
    """Engines that a verdict requires are not installed."""


def names() -> tuple[str, ...]:
    """Names of all engines, sorted; none is loaded."""
    return tuple(sorted(_targets(tuple(sys.path))))


def present() -> tuple[str, ...]:
    """Names of the engines whose library may be installed, sorted; none is loaded."""
    libraries = {name: library for name, (_, library) in _OWN.items() if library}
    return tuple(
        name for name in names() if name not in libraries or find_spec(libraries[name]) is not None
    )


def engines() -> tuple[Engine, ...]:
    return tuple(engine(name) for name in names())


def engine(name: str) -> Engine:
    module, _, attribute = target(name).partition(":")
    return cast("Callable[[], Engine]", getattr(import_module(module), attribute))()


def target(name: str) -> str:
    """Return ``package.module:attribute`` of an engine; UnknownEngineError if there is none."""
    targets = _targets(tuple(sys.path))
    if name not in targets:
        raise UnknownEngineError(f"no engine is called {name!r}; there are {', '.join(names())}")
    return targets[name]


# Finding entry points takes as long as reading a small robot.
@lru_cache(maxsize=1)
def _targets(_: tuple[str, ...]) -> dict[str, str]:
    others = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
    own = {name: f"{__package__}.{place}" for name, (place, _) in _OWN.items()}
    return others | own
