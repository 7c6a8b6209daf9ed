"""The worker processes of a program, and those of one robot."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers import context
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_LIMITS,
    DEFAULT_TIMEOUT,
)
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.execution.workers.worker import PROCESSES, Worker
from urdf_usd.converter.scratch import temporary_folder

_Result = TypeVar("_Result")

# Purposes of the workers of single calls, and of a robot's steps.
_CALLS = "calls"
_STEPS = "steps"
_MOST_AT_ONCE = 32


class WorkerPool:
    """Starts workers, and ends them on leaving; safe to use from threads.

    Args:
        memory: Memory limit of a process, in MiB; None for none.
        loaded: Module whose import loads what functions need; the first pool of a
            program decides.

    Attributes:
        memory: As given.
    """

    def __init__(
        self,
        memory: int | None = DEFAULT_LIMITS.memory,
        loaded: str = context.FOR_ROBOTS,
    ) -> None:
        self.memory = memory
        self._opened = ExitStack()
        self._folder = self._opened.enter_context(temporary_folder())
        self._numbers = itertools.count()
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: dict[str, list[Worker]] = {}
        context.start_loading(loaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the pool."""
        self.close()

    def close(self) -> None:
        """End all workers; calls that are not done raise ``CancelledError``."""
        with PROCESSES:
            self._closed = True
            workers = tuple(self._workers)
        for worker in workers:
            worker.cancel()
        for worker in itertools.chain(*self._idle.values()):
            worker.end()
        self._opened.close()

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed[_Result] | Crashed:
        """Call a function as :meth:`Worker.call` does, in a process of its own."""
        worker = self.start_worker(_CALLS)
        try:
            return worker.call(function, *arguments, timeout=timeout)
        finally:
            self.release(worker, _CALLS)

    def start_worker(self, purpose: str) -> Worker:
        """Return a worker for some purpose, which has to be released.

        Raises:
            CancelledError: The pool was closed.
        """
        with PROCESSES:
            if self._closed:
                raise CancelledError
            if self._idle.get(purpose):
                return self._idle[purpose].pop()
            worker = Worker(self.new_folder(), self.memory)
            self._workers.add(worker)
            return worker

    def release(self, worker: Worker, purpose: str) -> None:
        """End a worker, or keep it for the same purpose.

        Processes that are forked end, so that nothing is left of a robot. The others
        take a second to start, and are kept.
        """
        with PROCESSES:
            if worker.running and not (context.FORKS or self._closed):
                self._idle.setdefault(purpose, []).append(worker)
                return
            self._workers.discard(worker)
        worker.end()

    def new_folder(self) -> Path:
        """Return the path of a folder that is removed when the pool is closed."""
        return self._folder / str(next(self._numbers))


class RobotWorkers:
    """Calls functions in the workers of one robot, which are released on leaving.

    The steps (reading, lint, conversion, reference engine, comparison, drawing) have
    one worker, and share what they have read of the robot. Functions that are likely to
    end their process, such as engines, are requested from further workers, one for each
    purpose. After a crash the next call has a new process.

    Args:
        pool: Where workers are started.
        timeout: Time limit of a call [s].
        variables: Environment variables of the workers, besides those of this process.
        parallel: Whether requests begin when they are made, at the same time as steps,
            instead of when their results are needed.

    Attributes:
        crashed: Whether a step or request has crashed.
        folder: For temporary files until all are released.
    """

    def __init__(
        self,
        pool: WorkerPool,
        timeout: float = DEFAULT_TIMEOUT,
        variables: Mapping[str, str] = MappingProxyType({}),
        *,
        parallel: bool = False,
    ) -> None:
        self.crashed = False
        self.folder = pool.new_folder()
        self._pool = pool
        self._timeout = timeout
        self._variables = variables
        self._workers: dict[str, Worker] = {}
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE) if parallel else None
        self._begun: dict[Future[Any], Worker] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        """Release all workers, also those whose results were not needed."""
        for future, worker in self._begun.items():
            if not future.done():
                worker.cancel()
        if self._threads is not None:
            self._threads.shutdown()
        for purpose, worker in self._workers.items():
            self._pool.release(worker, purpose)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Run a step, and wait for its end; see :meth:`Worker.call`."""
        return self._call(self._worker(_STEPS), function, arguments)

    def request(
        self,
        purpose: str | None,
        function: Callable[..., _Result],
        *arguments: object,
    ) -> Callable[[], Completed[_Result] | Crashed]:
        """Call a function in the worker of some purpose, or as a step if None.

        Args:
            purpose: For example the name of an engine. A worker serves one request at a
                time: the result of one has to be waited for before the next is made.
            function: The function.
            arguments: Its arguments.

        Returns:
            A function that waits for the result, called once.
        """
        if self._threads is None or purpose is None:
            return lambda: self._call(
                self._worker(purpose or _STEPS), function, arguments
            )
        worker = self._worker(purpose)
        future = self._threads.submit(self._call, worker, function, arguments)
        self._begun[future] = worker
        return future.result

    def stop(self, purpose: str) -> None:
        """End the worker of some purpose, with everything that it started."""
        self._workers[purpose].end()

    def _worker(self, purpose: str) -> Worker:
        worker = self._workers.get(purpose)
        if worker is None or not worker.running:
            if worker is not None:
                self._pool.release(worker, purpose)
            worker = self._workers[purpose] = self._pool.start_worker(purpose)
        return worker

    def _call(
        self,
        worker: Worker,
        function: Callable[..., _Result],
        arguments: tuple[object, ...],
    ) -> Completed[_Result] | Crashed:
        ending = worker.call(
            function, *arguments, timeout=self._timeout, variables=self._variables
        )
        self.crashed |= isinstance(ending, Crashed)
        return ending
