"""The engines, by name: those of this project, and those of other packages.

Another package registers an engine under the entry point group :data:`GROUP`; the value of
an entry point is a class or function that makes an engine without arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

# Slow to import; the command line needs the errors alone.
if TYPE_CHECKING:
    from urdf_usd.conformance.engines.protocol import Engine

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
    """Make every engine, sorted by name."""
    return tuple(engine(name) for name in names())


def engine(name: str) -> Engine:
    """Make one engine."""
    module, _, attribute = target(name).partition(":")
    return cast("Callable[[], Engine]", getattr(import_module(module), attribute))()


def target(name: str) -> str:
    """Return module and attribute of an engine, as ``package.module:attribute``.

    Raises:
        UnknownEngineError: There is none of that name.
    """
    targets = _targets(tuple(sys.path))
    if name not in targets:
        raise UnknownEngineError(f"no engine is called {name!r}; there are {', '.join(names())}")
    return targets[name]


# Finding entry points takes as long as reading a small robot.
@lru_cache(maxsize=1)
def _targets(_: tuple[str, ...]) -> dict[str, str]:
    others = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    own = {name: f"{__package__}.{place}" for name, (place, _) in _OWN.items()}
    return others | own
