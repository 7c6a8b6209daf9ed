"""The worker processes of a program, and those of one robot."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from urdf_usd.conformance.engines.protocol import Crashed
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
# After as many robots, or with more memory, a worker ends, with what it has cached or
# leaked. Newton and its libraries alone take 433 MiB.
_MOST_ROBOTS = 32
_MOST_MEMORY = 768


class WorkerPool:
    """Starts workers, and ends them on leaving; safe to use from threads.

    Args:
        memory: Memory limit of a process, in MiB; None for none.

    Attributes:
        memory: As given.
    """

    def __init__(self, memory: int | None = DEFAULT_LIMITS.memory) -> None:
        self.memory = memory
        self._opened = ExitStack()
        self._folder = self._opened.enter_context(temporary_folder())
        self._numbers = itertools.count()
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: defaultdict[str, list[Worker]] = defaultdict(list)

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
        spawned: bool = False,
    ) -> Completed[_Result] | Crashed:
        """Call a function as :meth:`Worker.call` does, in a process of its own.

        Args:
            function: The function.
            arguments: Its arguments.
            timeout: Time limit [s].
            spawned: Whether the process is spawned: it imports what the function needs,
                which is less than a fork server imports for many robots.
        """
        return self.begin(function, *arguments, timeout=timeout, spawned=spawned)()

    def begin(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
        spawned: bool = False,
    ) -> Callable[[], Completed[_Result] | Crashed]:
        """Begin a call as :meth:`call` does; return a function that waits for its end.

        The process runs until that is called, or the pool is closed.
        """
        worker = self.start_worker(_CALLS, spawned=spawned)
        wait = worker.begin(function, *arguments, timeout=timeout)

        def finish() -> Completed[_Result] | Crashed:
            try:
                return wait()
            finally:
                worker.end()
                self.release(worker, _CALLS)

        return finish

    def start_worker(self, purpose: str, *, fresh: bool = False, spawned: bool = False) -> Worker:
        """Return a worker for some purpose, which has to be released.

        Args:
            purpose: For example the name of an engine.
            fresh: Whether it must not have served a robot before.
            spawned: Whether it is spawned also where others are forked.

        Raises:
            CancelledError: The pool was closed.
        """
        with PROCESSES:
            if self._closed:
                raise CancelledError
            if self._idle[purpose] and not fresh:
                worker = self._idle[purpose].pop()
            else:
                worker = Worker(self.new_folder(), self.memory, spawned=spawned)
                self._workers.add(worker)
            worker.robots += 1
            return worker

    def release(self, worker: Worker, purpose: str) -> None:
        """Keep a worker for the same purpose, or end it if it is used up."""
        used_up = worker.robots >= _MOST_ROBOTS or worker.memory > _MOST_MEMORY
        with PROCESSES:
            if worker.running and not (self._closed or used_up):
                self._idle[purpose].append(worker)
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
    purpose. After a crash the next call has a new process. If the process has served
    other robots, the call is repeated in a new one: answers do not depend on them.

    Args:
        pool: Where workers are started.
        timeout: Time limit of a call [s].
        variables: Environment variables of the workers, besides those of this process.
        parallel: Whether requests begin when they are made, at the same time as steps,
            instead of when their results are needed.

    Attributes:
        crashed: Whether a step or request has crashed.
        folder: For temporary files until all are released.
        memory: Memory limit of a process, in MiB; None for none.
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
        self.memory = pool.memory
        self._pool = pool
        self._timeout = timeout
        self._variables = variables
        self._parallel = parallel
        self._workers: dict[str, Worker] = {}
        # One for each purpose: its worker serves one request after the other.
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._begun: list[Future[Any]] = []
        self._lock = threading.Lock()
        self._left = False

    def __enter__(self) -> Self:
        self.folder.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        """Release all workers, also those whose results were not needed."""
        with self._lock:
            self._left = True
            running = tuple(self._workers.values())
        unfinished = not all(future.done() for future in self._begun)
        if unfinished:
            for worker in running:
                worker.cancel()
        for threads in self._threads.values():
            threads.shutdown(cancel_futures=True)
        for purpose, worker in self._workers.items():
            if unfinished:
                worker.end()
            self._pool.release(worker, purpose)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Run a step, and wait for its end; see :meth:`Worker.call`."""
        return self.request(None, function, *arguments)()

    def request(
        self,
        purpose: str | None,
        function: Callable[..., _Result],
        *arguments: object,
        least_timeout: float = 0.0,
        at_once: bool = True,
    ) -> Callable[[], Completed[_Result] | Crashed]:
        """Call a function in the worker of some purpose, or as a step if None.

        Args:
            purpose: For example the name of an engine. Its worker serves requests in
                the order in which they are made.
            function: The function.
            arguments: Its arguments.
            least_timeout: Time limit of the call, if it is above that of others [s].
            at_once: Whether it begins before its result is needed, if requests do.

        Returns:
            A function that waits for the result, called once.
        """
        timeout = max(self._timeout, least_timeout)
        name = purpose or _STEPS
        call = partial(self._call, name, function, arguments, timeout)
        if not self._parallel:
            return call
        if not at_once:
            return lambda: self._begin(name, call).result()
        return self._begin(name, call).result

    def stop(self, purpose: str) -> None:
        """End the worker of some purpose, with everything that it started."""
        self._workers[purpose].end()

    def _begin(self, purpose: str, call: Callable[[], _Result]) -> Future[_Result]:
        if purpose not in self._threads:
            self._threads[purpose] = ThreadPoolExecutor(1)
        future = self._threads[purpose].submit(call)
        self._begun.append(future)
        return future

    def _call(
        self,
        purpose: str,
        function: Callable[..., _Result],
        arguments: tuple[object, ...],
        timeout: float,
    ) -> Completed[_Result] | Crashed:
        worker = self._worker(purpose)
        ending = worker.call(function, *arguments, timeout=timeout, variables=self._variables)
        if isinstance(ending, Crashed) and worker.robots > 1:
            worker.end()
            return self._call(purpose, function, arguments, timeout)
        self.crashed |= isinstance(ending, Crashed)
        return ending

    def _worker(self, purpose: str) -> Worker:
        """Return the worker of a purpose, after a crash a new one.

        Raises:
            CancelledError: Workers are being released.
        """
        with self._lock:
            if self._left:
                raise CancelledError
            worker = self._workers.get(purpose)
            if worker is None:
                worker = self._pool.start_worker(purpose)
            elif not worker.running:
                self._pool.release(worker, purpose)
                worker = self._pool.start_worker(purpose, fresh=True)
            self._workers[purpose] = worker
            return worker
