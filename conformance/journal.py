"""The work on one robot as steps, of which each survives the death of the next.

A robot is worked on in one child process: files that were read and libraries that were
loaded are there for all steps. Every step's ending goes to a folder before the next one
begins. When the process dies, that is the ending of the step it was at; a new process
goes through the same work, takes the endings that are known, and goes on behind them.
So an engine that dies costs its own answer, and not the robot's.

The work must ask for the same steps in the same order each time: what it decides by is
what steps returned.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple, cast

from conformance import registry
from conformance.confinement import (
    OUT_OF_MEMORY,
    Completed,
    ask_here,
    attempt,
    forget_output,
    watched,
)
from conformance.limits import DEFAULT_TIMEOUT
from conformance.witness import Crashed

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.isolation import Isolation
    from conformance.witness import Outcome, Request

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

# More than any robot takes; bounds the time of one whose every step hangs.
MOST_STEPS = 64


class Steps(Protocol):
    """Where the steps of some work are done: here, or in processes of their own."""

    @property
    def crashed(self) -> bool:
        """Whether a step has crashed so far."""

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Call a function; what it raises, and its death, are a crash."""

    def ask(self, witness: str, request: Request) -> Outcome:
        """Ask a registered witness."""


class Journal:
    """Steps in this process, recorded in a folder that outlives it.

    Args:
        folder: Where endings are kept.
        timeout: Time limit of a step [s].
    """

    def __init__(self, folder: Path, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._folder = folder
        self._timeout = timeout
        self._numbers = itertools.count()
        self._crashed = False

    @property
    def crashed(self) -> bool:
        """Whether a step has crashed so far."""
        return self._crashed

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Call a function, unless it is known how that ends."""
        ending = self._ending(next(self._numbers), function, arguments)
        self._crashed |= isinstance(ending, Crashed)
        return ending

    def _ending(
        self,
        number: int,
        function: Callable[..., _Result],
        arguments: tuple[object, ...],
    ) -> Completed[_Result] | Crashed:
        known = _ending_file(self._folder, number)
        if known.exists():
            # Written by this very work, in a folder of its own.
            return cast(
                "Completed[_Result] | Crashed",
                pickle.loads(known.read_bytes()),  # noqa: S301
            )
        _begun_file(self._folder, number).touch()
        forget_output()
        with watched(self._timeout):
            ending = attempt(function, *arguments)
        _keep(self._folder, number, ending)
        if isinstance(ending, Crashed) and ending.reason == OUT_OF_MEMORY:
            # What fills the memory may still be held on to; a new process has none.
            os._exit(1)
        return ending

    def ask(self, witness: str, request: Request) -> Outcome:
        """Ask a registered witness.

        Raises:
            UnknownWitnessError: No witness of that name is registered.
        """
        registry.require(witness)
        ending = self.call(ask_here, witness, request)
        return ending if isinstance(ending, Crashed) else ending.value


def outlive(
    isolation: Isolation,
    work: Callable[[Steps, *_Arguments], _Result],
    *arguments: *_Arguments,
    timeout: float = DEFAULT_TIMEOUT,
) -> Completed[_Result] | Crashed:
    """Do work that consists of steps, in as many processes as it takes.

    Args:
        isolation: Where they are started.
        work: What is done; something that a child process can import. It does anything
            risky in the steps that it is given.
        arguments: Its further arguments; they and its result must be picklable.
        timeout: Time limit of a step [s].

    Returns:
        What the work returns; a crash if that happens outside of its steps.

    Raises:
        CancelledError: The isolation was left meanwhile.
    """
    with tempfile.TemporaryDirectory(
        prefix="urdf-usd-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        known = 0
        while True:
            ending = isolation.call(
                _go_on,
                name,
                timeout,
                work,
                arguments,
                timeout=timeout,
                steps=MOST_STEPS,
            )
            if isinstance(ending, Completed):
                return ending
            for number in _unended(folder):
                _keep(folder, number, ending)
            ended = len(tuple(folder.glob("*.ended")))
            if ended == known:
                return ending
            known = ended


def _go_on(
    folder: str,
    timeout: float,
    work: Callable[..., _Result],
    arguments: tuple[object, ...],
) -> _Result:
    return work(Journal(Path(folder), timeout), *arguments)


def _ending_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.ended"


def _begun_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.begun"


def _unended(folder: Path) -> tuple[int, ...]:
    begun = (int(file.stem) for file in folder.glob("*.begun"))
    return tuple(n for n in begun if not _ending_file(folder, n).exists())


def _keep(folder: Path, number: int, ending: Completed[_Result] | Crashed) -> None:
    """Write down how a step ended, at once or not at all."""
    part = folder / f"{number}.part"
    part.write_bytes(pickle.dumps(ending, protocol=pickle.HIGHEST_PROTOCOL))
    part.replace(_ending_file(folder, number))
