"""Work in child processes: engines may die, hang or raise without taking us along.

PyBullet, for one, ends with a segmentation fault on a robot with two roots. Every task
has a process of its own, whose death, hanging or hunger become
:class:`~conformance.witness.Crashed` with the end of what it printed. The processes
ignore Ctrl-C and are stopped by their parent, so an interrupted run leaves none behind.

On Linux they are copies of a fork server that has everything loaded
(:mod:`conformance.preloading`). Elsewhere libraries do not survive that, so workers are
started from nothing, and serve one task after another.
"""

from __future__ import annotations

import contextlib
import ctypes
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
from conformance.limits import DEFAULT_LIMITS, DEFAULT_TIMEOUT, limit_memory
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
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

_Result = TypeVar("_Result")

OUT_OF_MEMORY = "the memory limit was reached"
_OUTPUT_END = 4000
# How much later than the time limit a pool must have answered: it looks at its workers
# ten times a second, and stopping one takes up to three seconds.
_GRACE = 30.0
_FORKS = sys.platform == "linux"
_PRINTED = "printed-by-task.txt"
_TIME_RAN_OUT = "printed-when-time-ran-out.txt"
_PR_SET_PDEATHSIG = 1
# What C++ says, and the frames below a task, which are ours.
_ALLOCATION_FAILED = "std::bad_alloc"
_OUR_FRAMES = re.compile(
    r'\n +File \S*conformance.isolation\.py", line \d+ in (?:attempt|_run)'
    r"(?:\n +File .*)*"
)


@dataclass(frozen=True, slots=True, eq=False)
class Completed(Generic[_Result]):
    """The task returned ``value``."""

    value: _Result


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What a worker is told to do.

    Attributes:
        folder: For what the task prints, and its temporary files.
        function: What to call.
        arguments: What to call it with.
        timeout: Time limit [s]; None if the function sets limits of its own.
        memory: Memory limit, in MiB; None for none.
        environment: Of the parent; that of a fork server may be older.
    """

    folder: str
    function: Callable[..., object]
    arguments: tuple[object, ...]
    timeout: float | None
    memory: int | None
    environment: Mapping[str, str]


_Future: TypeAlias = "ProcessFuture[Completed[object] | Crashed]"


class Isolation:
    """A pool of child processes, as a context manager; safe to use from threads.

    Attributes:
        workers: Number of tasks that run at a time; further ones wait.
        memory: Most memory that one may take, in MiB; no limit if None.
    """

    def __init__(
        self, workers: int = 1, memory: int | None = DEFAULT_LIMITS.memory
    ) -> None:
        self.workers = workers
        self.memory = memory
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
        ending = self.call(ask_here, witness, portable, timeout=timeout)
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
                are several, it watches over each with :func:`watched`.

        Raises:
            CancelledError: The isolation was left meanwhile.
        """
        with (
            self._slots,
            tempfile.TemporaryDirectory(
                prefix="urdf-usd-", ignore_cleanup_errors=True
            ) as folder,
        ):
            task = _Task(
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
        self, task: _Task, timeout: float, steps: int
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
        late = Path(task.folder, _TIME_RAN_OUT)
        try:
            return answers.get(timeout=patience + _GRACE).result()
        except ProcessExpired as death:
            words = _last_words(task.folder)
            if late.exists() and late.stat().st_size:
                return Crashed(f"no answer after {timeout:g} s", words)
            return Crashed(_cause_of_death(death.exitcode, words), words)
        except (TimeoutError, Empty):
            return Crashed(f"no answer after {timeout:g} s", _last_words(task.folder))
        finally:
            with self._lock:
                future = self._running.pop(task.folder, None)
            _cancel(future)

    def _schedule(
        self, task: _Task, patience: float, answers: SimpleQueue[_Future]
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
                future = self._pool.schedule(_run, args=(task,), timeout=patience)
                self._running[task.folder] = future
        future.add_done_callback(lambda _: answers.put(future))

    def _new_pool(self) -> ProcessPool:
        if not _FORKS:
            return ProcessPool(max_workers=self.workers, context=get_context("spawn"))
        context = get_context("forkserver")
        context.set_forkserver_preload(["conformance.preloading"])
        # A new process is ready by the time that an old one ends.
        return ProcessPool(max_workers=2 * self.workers, max_tasks=1, context=context)


def _cancel(future: _Future | None) -> None:
    """Cancel a future; one that is done stays as it is."""
    if future is not None:
        future.cancel()  # type: ignore[no-untyped-call]  # pebble annotates most


def _stop(pool: ProcessPool) -> None:
    pool.stop()  # type: ignore[no-untyped-call]  # likewise
    pool.join()


def _cause_of_death(exitcode: int, words: str) -> str:
    why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in words else ""
    if exitcode < 0:
        with contextlib.suppress(ValueError):
            return f"the process died: {signal.Signals(-exitcode).name}{why}"
    return f"the process ended with exit code {exitcode}{why}"


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
    text = _OUR_FRAMES.sub("", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


# In the child.


def ask_here(witness: str | Callable[[], Witness], request: Request) -> Outcome:
    """Ask a witness in this process."""
    made = registry.witness(witness) if isinstance(witness, str) else witness()
    try:
        return Observed(made.observe(request))
    except AbstentionError as abstention:
        return Abstained(" ".join(str(abstention).split()))


def attempt(
    function: Callable[..., _Result], *arguments: object
) -> Completed[_Result] | Crashed:
    """Call a function in this process; what it raises is a crash."""
    try:
        return Completed(function(*arguments))
    except MemoryError:
        reason = OUT_OF_MEMORY
        output = traceback.format_exc()
    # Whatever a reader or converter raises is a statement about it, and must not end a
    # run over many robots.
    except Exception as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        output = traceback.format_exc()
    folder = tempfile.gettempdir()
    return Crashed(_portable(reason, folder), _portable(output, folder)[-_OUTPUT_END:])


@contextlib.contextmanager
def watched(timeout: float) -> Iterator[None]:
    """End this process, with a word on where it was, if the block takes longer.

    That works whatever native code holds on to.
    """
    with Path(tempfile.gettempdir(), _TIME_RAN_OUT).open("wb") as last_words:
        faulthandler.dump_traceback_later(timeout, exit=True, file=last_words)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def forget_output() -> None:
    """Drop what this task has printed so far."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(FileNotFoundError):
        os.truncate(Path(tempfile.gettempdir(), _PRINTED), 0)


def _run(task: _Task) -> Completed[object] | Crashed:
    """Run one task in the worker."""
    os.environ.clear()
    os.environ.update(task.environment)
    if _FORKS:
        # Pebble's workers stop tidily, which native code that hangs never gets to.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if task.memory is not None:
        limit_memory(task.memory)
    with _printing_into(task.folder):
        if task.timeout is None:
            return attempt(task.function, *task.arguments)
        with watched(task.timeout):
            return attempt(task.function, *task.arguments)


@contextlib.contextmanager
def _printing_into(folder: str) -> Iterator[None]:
    """Send everything printed, and temporary files, to a folder that outlives us."""
    saved = [os.dup(stream) for stream in (1, 2)]
    previous = tempfile.tempdir
    try:
        with Path(folder, _PRINTED).open("ab") as sink:
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
