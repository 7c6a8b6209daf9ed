"""The work on one robot as steps, of which each survives the death of the next.

A robot is worked on in one child process: files that were read and libraries that were
loaded are there for all steps. Where there is room, steps that need not wait for each
other are done in copies of that process, beside it.

Every step's ending goes to a folder before the next one begins. When the process dies,
that is the ending of the step it was at; a new process goes through the same work,
takes the endings that are known, and goes on behind them. So an engine that dies costs
its own answer, and not the robot's.

The work must plan the same steps in the same order each time: what it decides by is
what steps returned.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
from abc import ABC, abstractmethod
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple, cast

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.beside import start_beside
from urdf_usd.conformance.execution.workers.confinement import (
    FORKS,
    OUT_OF_MEMORY,
    Completed,
    attempt,
    forget_output,
    watched,
)
from urdf_usd.conformance.execution.workers.limits import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from urdf_usd.conformance.execution.workers.beside import Beside
    from urdf_usd.conformance.execution.workers.isolation import Isolation
    from urdf_usd.conformance.execution.workers.slots import Slots

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

# More than any robot takes; bounds the time of one whose every step hangs.
MOST_STEPS = 64


class Step(Generic[_Result]):
    """Something that is done once: a function is called; made by :meth:`Steps.plan`.

    Args:
        steps: Where it is done.
        number: In the order in which steps are planned.
        task: The function, with its arguments.
    """

    def __init__(self, steps: Steps, number: int, task: partial[_Result]) -> None:
        self.number = number
        self.task = task
        self._steps = steps
        self._ending: Completed[_Result] | Crashed | None = None

    def ending(self) -> Completed[_Result] | Crashed:
        """Return how it ended; it is done now unless it was done before.

        What the function raises, and its death, are a crash.
        """
        if self._ending is None:
            self._ending = self._steps.finish(self)
        return self._ending


class Steps(ABC):
    """Where the steps of some work are done.

    Attributes:
        crashed: Whether a step has crashed whose ending was asked for.
    """

    def __init__(self) -> None:
        self.crashed = False
        self._numbers = itertools.count()

    def plan(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Step[_Result]:
        """Plan to call a function."""
        return Step(self, next(self._numbers), partial(function, *arguments))

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Call a function at once."""
        return self.plan(function, *arguments).ending()

    def finish(self, step: Step[_Result]) -> Completed[_Result] | Crashed:
        """Do a step, or wait until it is done."""
        ending = self._finished(step)
        self.crashed |= isinstance(ending, Crashed)
        return ending

    @abstractmethod
    def begin(self, *steps: Step[Any]) -> None:
        """Have steps done in turn beside this process, if there is room.

        They find in memory what is there now, and what those before them leave there.
        """

    @abstractmethod
    def _finished(self, step: Step[_Result]) -> Completed[_Result] | Crashed:
        """Do a step, or wait until it is done."""


class Journal(Steps):
    """Steps in this process or beside it, recorded in a folder that outlives both.

    Args:
        folder: Where endings are kept.
        timeout: Time limit of a step [s].
        slots: Processes that may work at a time; this one alone if None.
    """

    def __init__(
        self,
        folder: Path,
        timeout: float = DEFAULT_TIMEOUT,
        slots: Slots | None = None,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._timeout = timeout
        self._slots = slots
        self._processes: dict[int, tuple[Beside, int]] = {}

    def begin(self, *steps: Step[Any]) -> None:
        """Have steps done in turn beside this process, if there is room."""
        left = [step for step in steps if not self._file(step).exists()]
        if self._slots is None or not left:
            return
        tasks = [partial(self._do_beside, step) for step in left]
        process = start_beside(tasks, self._slots, str(self._folder), self._timeout)
        if process is not None:
            for place, step in enumerate(left, 1):
                self._processes[step.number] = process, place

    def close(self) -> None:
        """Stop what nobody has waited for."""
        for process, _ in self._processes.values():
            process.stop()

    def _finished(self, step: Step[_Result]) -> Completed[_Result] | Crashed:
        if step.number in self._processes:
            process, place = self._processes[step.number]
            death = process.wait(place)
            # It died of what it was at; what comes behind that is done here.
            if death and place == process.done + 1 and not self._file(step).exists():
                _keep(self._folder, step.number, death)
        if not self._file(step).exists():
            return self._do_here(step)
        # Written by this very work, in a folder of its own.
        return cast(
            "Completed[_Result] | Crashed",
            pickle.loads(self._file(step).read_bytes()),  # noqa: S301
        )

    def _do_here(self, step: Step[_Result]) -> Completed[_Result] | Crashed:
        _begun_file(self._folder, step.number).touch()
        return self._do(step)

    def _do_beside(self, step: Step[Any]) -> None:
        self._do(step)

    def _do(self, step: Step[_Result]) -> Completed[_Result] | Crashed:
        forget_output()
        with watched(self._timeout):
            ending = attempt(step.task)
        _keep(self._folder, step.number, ending)
        if isinstance(ending, Crashed) and ending.reason == OUT_OF_MEMORY:
            # What fills the memory may still be held on to; a new process has none.
            os._exit(1)
        return ending

    def _file(self, step: Step[Any]) -> Path:
        return _ending_file(self._folder, step.number)


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
                isolation.slots,
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
    slots: Slots,
    work: Callable[..., _Result],
    arguments: tuple[object, ...],
) -> _Result:
    if not FORKS:
        return work(Journal(Path(folder), timeout), *arguments)
    with slots.taken(), closing(Journal(Path(folder), timeout, slots)) as journal:
        return work(journal, *arguments)


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
