"""The witnesses that are installed, by name.

Any package can bring one along under the entry point group :data:`GROUP`; the value of
an entry point is a class or function that makes a witness without arguments.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from urdf_usd.conformance.witness import Witness

GROUP = "urdf_usd.witnesses"


class UnknownWitnessError(LookupError):
    """No witness of that name is installed; the message lists those that are."""


class MissingWitnessError(Exception):
    """Witnesses without whom there is no verdict cannot be asked here."""


def names() -> tuple[str, ...]:
    """Names of all witnesses, sorted; none is loaded."""
    return tuple(sorted(_entries()))


def witnesses() -> tuple[Witness, ...]:
    """Make every witness, sorted by name."""
    return tuple(witness(name) for name in names())


def witness(name: str) -> Witness:
    """Make one witness.

    Raises:
        UnknownWitnessError: There is none of that name.
    """
    require(name)
    make = cast("Callable[[], Witness]", _entries()[name].load())
    return make()


def require(name: str) -> None:
    """Check that a witness is installed, without loading it.

    Raises:
        UnknownWitnessError: There is none of that name.
    """
    if name not in _entries():
        raise UnknownWitnessError(
            f"no witness is called {name!r}; there are {', '.join(names())}"
        )


def _entries() -> dict[str, EntryPoint]:
    return _entries_in(tuple(sys.path))


@lru_cache(maxsize=1)
def _entries_in(_: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Find what is installed: reading that takes as long as reading a small robot."""
    from importlib.metadata import entry_points  # noqa: PLC0415  slow to import

    # A distribution that is installed twice is listed twice; names are unique here.
    return {entry.name: entry for entry in entry_points(group=GROUP)}
