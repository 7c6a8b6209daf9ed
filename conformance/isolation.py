"""Tasks in child processes: engines may die, hang or raise without taking us along.

PyBullet, for one, ends with a segmentation fault on a robot with two roots. A worker
process runs one task at a time; its death, and a task that takes too long, become
:class:`~conformance.witness.Crashed` with the end of what it printed. Workers ignore
Ctrl-C and are stopped by their parent, so an interrupted run leaves none behind.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from conformance import registry
from conformance.witness import (
    Abstained,
    AbstentionError,
    Crashed,
    Observed,
    Outcome,
    Request,
    Witness,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

_Result = TypeVar("_Result")

DEFAULT_TIMEOUT = 120.0
_OUTPUT_END = 4000
# How much later than the time limit a pool must have answered: it looks at its workers
# five times a second, and stopping one takes up to three seconds.
_GRACE = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Completed(Generic[_Result]):
    """The task returned ``value``."""

    value: _Result


# Folder for what the task prints, function, arguments.
_Task: TypeAlias = "tuple[str, Callable[..., object], tuple[object, ...]]"
_Future: TypeAlias = "ProcessFuture[Completed[object] | Crashed]"


class Isolation:
    """A pool of child processes, as a context manager; safe to use from threads.

    Attributes:
        workers: Number of tasks that run at a time; further ones wait.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._slots = threading.BoundedSemaphore(workers)
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

    def ask(
        self,
        witness: str | Callable[[], Witness],
        request: Request,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Outcome:
        """Ask a witness in a child process.

        Args:
            witness: A registered name, or something that makes a witness and that a
                child process can import.
            request: What to read, and where to state frames.
            timeout: Time limit [s]; waiting for a free worker does not count.

        Raises:
            UnknownWitnessError: No witness of that name is registered.
            CancelledError: The isolation was left meanwhile.
        """
        if isinstance(witness, str):
            registry.require(witness)
        portable = Request(request.path, request.configurations, dict(request.packages))
        ending = self.call(_ask, witness, portable, timeout=timeout)
        return ending if isinstance(ending, Crashed) else ending.value

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed[_Result] | Crashed:
        """Call a function in a child process; what it raises is a crash too.

        Args:
            function: Something that a child process can import.
            arguments: Passed on; they and the result must be picklable.
            timeout: Time limit [s]; waiting for a free worker does not count.

        Raises:
            CancelledError: The isolation was left meanwhile.
        """
        with (
            self._slots,
            tempfile.TemporaryDirectory(
                prefix="urdf-usd-", ignore_cleanup_errors=True
            ) as folder,
        ):
            task = (folder, function, arguments)
            try:
                ending = self._outcome(task, timeout)
            except BrokenProcessPool:
                # The pool gives up all its tasks at once, also those that did nothing
                # wrong; in a new pool each of them answers for itself.
                ending = self._outcome(task, timeout)
            if isinstance(ending, Crashed):
                return ending
            return Completed(cast("_Result", ending.value))

    def _outcome(self, task: _Task, timeout: float) -> Completed[object] | Crashed:
        folder = task[0]
        answers: SimpleQueue[_Future] = SimpleQueue()
        # Ctrl-C is raised in the main thread. Inside the pool's queue it could leave a
        # lock closed for ever, so another thread goes there.
        threading.Thread(
            target=self._schedule, args=(task, timeout, answers), daemon=True
        ).start()
        try:
            # A worker is free, so the limit can be watched from here as well: a pool
            # can lose track of a worker that dies as it accepts its task.
            return answers.get(timeout=timeout + _GRACE).result()
        except ProcessExpired as death:
            return Crashed(_cause_of_death(death.exitcode), _last_words(folder))
        except (TimeoutError, Empty):
            return Crashed(f"no answer after {timeout:g} s", _last_words(folder))
        finally:
            with self._lock:
                future = self._running.pop(folder, None)
            _cancel(future)

    def _schedule(
        self, task: _Task, timeout: float, answers: SimpleQueue[_Future]
    ) -> None:
        """Hand a task to the pool; its future goes to ``answers`` once it is done."""
        with self._lock:
            if self._pool is None:
                future: _Future = ProcessFuture()
                _cancel(future)
            else:
                if not self._pool.active:
                    _stop(self._pool)
                    self._pool = self._new_pool()
                future = self._pool.schedule(_run, args=task, timeout=timeout)
                self._running[task[0]] = future
        future.add_done_callback(lambda _: answers.put(future))

    def _new_pool(self) -> ProcessPool:
        # Spawned, not forked: engines keep threads and locks of their own.
        return ProcessPool(max_workers=self.workers, context=get_context("spawn"))


def _cancel(future: _Future | None) -> None:
    """Cancel a future; one that is done stays as it is."""
    if future is not None:
        future.cancel()  # type: ignore[no-untyped-call]  # pebble annotates most


def _stop(pool: ProcessPool) -> None:
    pool.stop()  # type: ignore[no-untyped-call]  # likewise
    pool.join()


def _cause_of_death(exitcode: int) -> str:
    if exitcode < 0:
        with contextlib.suppress(ValueError):
            return f"the process died: {signal.Signals(-exitcode).name}"
    return f"the process ended with exit code {exitcode}"


def _last_words(folder: str) -> str:
    """End of everything that was printed into the folder, oldest first."""
    files = sorted(
        Path(folder).rglob("printed-*.txt"), key=lambda file: file.stat().st_mtime
    )
    texts = (file.read_text(errors="replace").strip() for file in files)
    return _portable("\n".join(filter(None, texts)), folder)[-_OUTPUT_END:]


def _portable(text: str, folder: str) -> str:
    """Text without what differs between machines and runs, or helps nobody."""
    for place in sorted({folder, *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(place + os.sep, "")
    text = re.sub(r"\n+Extension modules: .*", "", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


def _ask(witness: str | Callable[[], Witness], request: Request) -> Outcome:
    made = registry.witness(witness) if isinstance(witness, str) else witness()
    try:
        return Observed(made.observe(request))
    except AbstentionError as abstention:
        return Abstained(" ".join(str(abstention).split()))


def _run(
    folder: str, function: Callable[..., object], arguments: tuple[object, ...]
) -> Completed[object] | Crashed:
    """Run one task in the worker."""
    with _printing_into(folder):
        try:
            return Completed(function(*arguments))
        # Whatever a reader or converter raises is a statement about it, and must
        # not end a run over many robots.
        except Exception as error:  # noqa: BLE001
            reason = "".join(traceback.format_exception_only(error)).strip()
            output = _portable(traceback.format_exc(), folder)
            return Crashed(_portable(reason, folder), output[-_OUTPUT_END:])


@contextlib.contextmanager
def _printing_into(folder: str) -> Iterator[None]:
    """Send everything printed, and temporary files, to a folder that outlives us."""
    saved = [os.dup(stream) for stream in (1, 2)]
    previous = tempfile.tempdir
    try:
        with Path(folder, "printed-by-task.txt").open("wb") as sink:
            for stream in (1, 2):
                os.dup2(sink.fileno(), stream)
            # The file itself, since the task may redirect the standard streams.
            faulthandler.enable(sink.fileno())
            tempfile.tempdir = folder
            try:
                yield
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                faulthandler.disable()
    finally:
        tempfile.tempdir = previous
        for stream, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
