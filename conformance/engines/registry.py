"""The engines that are installed, by name.

Any package can register one under the entry point group :data:`GROUP`; the value of an
entry point is a class or function that makes an engine without arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

# Slow to import; the command line needs the errors alone.
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from urdf_usd.conformance.engines.protocol import Engine

GROUP = "urdf_usd.engines"

# What engines of this project import that is installed with one of its extras.
_LIBRARIES = {
    "drake": "pydrake",
    "newton": "newton",
    "newton-usd": "newton",
    "physx": "ovphysx",
    "pinocchio": "pinocchio",
}


class UnknownEngineError(LookupError):
    """No engine of that name is installed; the message lists those that are."""


class MissingEngineError(Exception):
    """Engines that a verdict requires are not installed."""


def names() -> tuple[str, ...]:
    """Names of all engines, sorted; none is loaded."""
    return tuple(sorted(_entries()))


def present() -> tuple[str, ...]:
    """Names of the engines whose library may be installed, sorted; none is loaded."""
    return tuple(
        name
        for name in names()
        if name not in _LIBRARIES or find_spec(_LIBRARIES[name]) is not None
    )


def engines() -> tuple[Engine, ...]:
    """Make every engine, sorted by name."""
    return tuple(engine(name) for name in names())


def engine(name: str) -> Engine:
    """Make one engine.

    Raises:
        UnknownEngineError: There is none of that name.
    """
    require(name)
    make = cast("Callable[[], Engine]", _entries()[name].load())
    return make()


def require(name: str) -> None:
    """Check that an engine is installed, without loading it.

    Raises:
        UnknownEngineError: There is none of that name.
    """
    if name not in _entries():
        raise UnknownEngineError(f"no engine is called {name!r}; there are {', '.join(names())}")


def target(name: str) -> str:
    """Return module and attribute of an engine, as ``package.module:attribute``.

    Raises:
        UnknownEngineError: There is none of that name.
    """
    require(name)
    return _entries()[name].value


def _entries() -> dict[str, EntryPoint]:
    return _entries_in(tuple(sys.path))


@lru_cache(maxsize=1)
def _entries_in(_: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Find registered engines; cached, as it takes as long as reading a small robot."""
    # A distribution that is installed twice is listed twice; names are unique here.
    return {entry.name: entry for entry in entry_points(group=GROUP)}
