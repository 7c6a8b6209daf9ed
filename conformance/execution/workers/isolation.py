"""Work in child processes: engines may die, hang or raise without taking us along.

PyBullet, for one, ends with a segmentation fault on a robot with two roots. Every task
has a process of its own, whose death, hanging or hunger become
:class:`~urdf_usd.conformance.engines.protocol.Crashed` with the end of what it printed.
They ignore Ctrl-C and are stopped by their parent, so an interrupted run leaves none
behind.

On Linux they are copies of a fork server that has everything loaded
(:mod:`urdf_usd.conformance.execution.workers.preloading`). Elsewhere libraries do not
survive that, so workers are started from nothing, and serve one task after another.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Crashed, Engine, Outcome, Request
from urdf_usd.conformance.execution.workers.confinement import (
    FORKS,
    OUT_OF_MEMORY,
    Completed,
    Task,
    ask_here,
    crash_reason,
    output_tail,
    run_task,
)
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_LIMITS,
    DEFAULT_TIMEOUT,
)
from urdf_usd.conformance.execution.workers.slots import Slots
from urdf_usd.conformance.execution.workers.worker_context import (
    fork_server_context,
    require_importable,
    spawn_context,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

_Result = TypeVar("_Result")

# How much later than the time limit a pool must have answered: it looks at its workers
# ten times a second, and stopping one takes up to three seconds.
_GRACE = 30.0

# What the fork server loads: all that examining a robot takes, or reading a USD.
FOR_ROBOTS = "urdf_usd.conformance.execution.workers.preloading"
FOR_USDS = "urdf_usd.conformance.execution.workers.preloading_usd"

_Future: TypeAlias = "ProcessFuture[Completed[object] | Crashed]"


class Isolation:
    """A pool of child processes, as a context manager; safe to use from threads.

    Args:
        workers: Number of tasks that run at a time; further ones wait.
        memory: Most memory that a process may take, in MiB; no limit if None.
        processes: While fewer than these work, tasks may have others beside them; as
            many as workers if None.
        loaded: Module whose import loads what tasks take; the first isolation of a
            process decides for all.

    Attributes:
        workers: As given; so is ``memory``.
        slots: What tasks take further processes by.
    """

    def __init__(
        self,
        workers: int = 1,
        memory: int | None = DEFAULT_LIMITS.memory,
        processes: int | None = None,
        loaded: str = FOR_ROBOTS,
    ) -> None:
        self._loaded = loaded
        self.workers = workers
        self.memory = memory
        self._files = tempfile.TemporaryDirectory(
            prefix="urdf-usd-", ignore_cleanup_errors=True
        )
        self.slots = Slots(self._files.name, processes or workers)
        self._turns = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._pool: ProcessPool | None = self._new_pool()
        self._running: dict[str, _Future] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop all workers; a task that still runs raises ``CancelledError``."""
        with self._lock:
            pool, self._pool = self._pool, None
            running = tuple(self._running.values())
        if pool is not None:
            _stop(pool)
        for future in running:
            _cancel(future)
        self._files.cleanup()

    def ask(
        self,
        engine: str | Callable[[], Engine],
        request: Request,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Outcome:
        """Ask an engine in a child process.

        Args:
            engine: A registered name, or something that makes an engine and that a
                child process can import.
            request: What to read, and where to state frames.
            timeout: Time limit [s]; waiting for a free worker does not count.

        Raises:
            UnknownEngineError: No engine of that name is registered.
            CancelledError: The isolation was left meanwhile.
        """
        if isinstance(engine, str):
            registry.require(engine)
        portable = Request(request.path, request.configurations, dict(request.packages))
        ending = self.call(ask_here, engine, portable, timeout=timeout)
        return ending if isinstance(ending, Crashed) else ending.value

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
        steps: int = 1,
    ) -> Completed[_Result] | Crashed:
        """Call a function in a child process; what it raises is a crash too.

        Args:
            function: Something that a child process can import.
            arguments: Passed on; they and the result must be picklable.
            timeout: Time limit [s]; waiting for a free worker does not count.
            steps: Most steps that the function takes, each with that limit; if there
                are several, it watches over each by itself.

        Raises:
            CancelledError: The isolation was left meanwhile.
            ValueError: The function or an argument is defined in the main module.
        """
        require_importable(function, arguments)
        with (
            self._turns,
            tempfile.TemporaryDirectory(
                prefix="urdf-usd-", ignore_cleanup_errors=True
            ) as folder,
        ):
            task = Task(
                folder,
                function,
                arguments,
                timeout if steps == 1 else None,
                self.memory,
                dict(os.environ),
            )
            try:
                ending = self._outcome(task, timeout, steps)
            except BrokenProcessPool:
                # The pool gives up all its tasks at once, also those that did nothing
                # wrong; in a new pool each of them answers for itself.
                ending = self._outcome(task, timeout, steps)
            if isinstance(ending, Crashed):
                return ending
            return Completed(cast("_Result", ending.value))

    def _outcome(
        self, task: Task, timeout: float, steps: int
    ) -> Completed[object] | Crashed:
        """Wait for a task.

        It ends itself when its time is over. The pool watches as well, for what has
        been stopped; and so do we, since a pool can lose track of a worker that dies
        as it accepts its task.
        """
        patience = steps * timeout + _GRACE
        answers: SimpleQueue[_Future] = SimpleQueue()
        # Ctrl-C is raised in the main thread. Inside the pool's queue it could leave a
        # lock closed for ever, so another thread goes there.
        threading.Thread(
            target=self._schedule, args=(task, patience, answers), daemon=True
        ).start()
        try:
            return answers.get(timeout=patience + _GRACE).result()
        except ProcessExpired as death:
            return crash_reason(death.exitcode, task.folder, timeout)
        except MemoryError:
            # The worker could not even begin its task, or send the answer.
            return Crashed(OUT_OF_MEMORY, output_tail(task.folder))
        except (TimeoutError, Empty):
            return Crashed(f"no answer after {timeout:g} s", output_tail(task.folder))
        finally:
            with self._lock:
                future = self._running.pop(task.folder, None)
            _cancel(future)

    def _schedule(
        self, task: Task, patience: float, answers: SimpleQueue[_Future]
    ) -> None:
        """Hand a task to the pool; its future goes to ``answers`` once it is done."""
        try:
            with self._lock:
                future = self._scheduled(task, patience)
        # Whatever it is, whoever waits for the task has to hear of it.
        except Exception as error:  # noqa: BLE001
            future = ProcessFuture()
            future.set_exception(error)
        future.add_done_callback(lambda _: answers.put(future))

    def _scheduled(self, task: Task, patience: float) -> _Future:
        if self._pool is None:
            future: _Future = ProcessFuture()
            _cancel(future)
            return future
        if not self._pool.active:
            _stop(self._pool)
            self._pool = self._new_pool()
        future = self._pool.schedule(run_task, args=(task,), timeout=patience)
        self._running[task.folder] = future
        return future

    def _new_pool(self) -> ProcessPool:
        if not FORKS:
            return ProcessPool(max_workers=self.workers, context=spawn_context())
        start_loading(self._loaded)
        context = fork_server_context()
        # A new process is ready by the time that an old one ends.
        return ProcessPool(max_workers=2 * self.workers, max_tasks=1, context=context)


def start_loading(module: str = FOR_ROBOTS) -> None:
    """Have loaded what tasks take, while this process does something else."""
    if FORKS:
        fork_server_context().set_forkserver_preload([module])
        _start_fork_server()


def _start_fork_server() -> None:
    """Start the fork server unless it runs, such that Ctrl-C does not reach it.

    It would be told of Ctrl-C while it loads libraries, and its copies before they have
    begun. What they inherit holds from their first instruction on.
    """
    # This one lets signals through as it starts, so it has to be there before.
    resource_tracker.ensure_running()
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _cancel(future: _Future | None) -> None:
    """Cancel a future; one that is done stays as it is."""
    if future is not None:
        future.cancel()  # type: ignore[no-untyped-call]  # pebble annotates most


def _stop(pool: ProcessPool) -> None:
    pool.stop()  # type: ignore[no-untyped-call]  # likewise
    pool.join()
