"""The worker processes of a program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import ExitStack
from typing import Self, TypeVar

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.worker import PROCESSES, Completed, Worker
from urdf_usd.converter.scratch import temporary_folder

_Result = TypeVar("_Result")

# After as many robots, or with more memory, a worker ends, with what it has cached or
# leaked. The engines and their libraries alone take 400 MiB.
_MOST_CALLS = 32
_MOST_MEMORY = 1024


class Workers:
    """Starts worker processes, and ends them on leaving; safe to use from threads.

    Args:
        limits: Of each process.

    Attributes:
        limits: As given.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._opened = ExitStack()
        self._folder = self._opened.enter_context(temporary_folder())
        self._numbers = itertools.count()
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the workers."""
        self.close()

    def close(self) -> None:
        """End all workers; calls that are not done raise ``CancelledError``."""
        with PROCESSES:
            self._closed = True
            workers = tuple(self._workers)
        for worker in workers:
            worker.cancel()
        for worker in self._idle:
            worker.end()
        self._opened.close()

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float | None = None,
        spawned: bool = False,
    ) -> Completed[_Result] | Crashed:
        """Call a function in a process of its own; see :meth:`Worker.call`.

        Args:
            function: The function.
            arguments: Its arguments.
            timeout: Time limit [s]; by default that of these workers.
            spawned: Whether the process is spawned: it imports what the function needs,
                which is less than a fork server imports for robots.
        """
        worker = self._take(fresh=True, spawned=spawned)
        try:
            return worker.call(function, *arguments, timeout=timeout or self.limits.time)
        finally:
            self._end(worker)

    def examine(self, function: Callable[..., _Result], *arguments: object) -> _Result | Crashed:
        """Call a function whose last argument is how steps have ended its process before.

        A step that ends the process counts as crashed, and the function is called again
        in a new process, without it. If the process has served other robots, it is
        called again with that step first: answers do not depend on them.

        Returns:
            What the function returns; how the process ended, if not in a step.
        """
        crashes: dict[str, Crashed] = {}
        fresh = False
        while True:
            worker = self._take(fresh=fresh)
            try:
                ending = worker.call(function, *arguments, crashes, timeout=self.limits.time)
            except BaseException:
                self._end(worker)
                raise
            if isinstance(ending, Completed):
                self._release(worker)
                return ending.value
            alone, step = worker.calls == 1, worker.step
            self._end(worker)
            if alone and (not step or step in crashes):
                return ending
            if alone:
                crashes[step] = ending
            fresh = True

    def _take(self, *, fresh: bool, spawned: bool = False) -> Worker:
        """Return a worker; raise ``CancelledError`` if they are closed."""
        with PROCESSES:
            if self._closed:
                raise CancelledError
            if self._idle and not fresh:
                return self._idle.pop()
            folder = self._folder / str(next(self._numbers))
            worker = Worker(folder, self.limits.memory, spawned=spawned)
            self._workers.add(worker)
            return worker

    def _release(self, worker: Worker) -> None:
        """Keep a worker, or end it if it is used up."""
        used_up = worker.calls >= _MOST_CALLS or worker.memory > _MOST_MEMORY
        with PROCESSES:
            if worker.running and not (self._closed or used_up):
                self._idle.append(worker)
                return
        self._end(worker)

    def _end(self, worker: Worker) -> None:
        with PROCESSES:
            self._workers.discard(worker)
        worker.end()
