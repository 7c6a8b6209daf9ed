"""What happens in the process of a task: output is kept, limits are watched over.

Nothing in here trusts the task: it may print, hang, take all memory or die.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    AbstentionError,
    Crashed,
    Engine,
    Observed,
    Outcome,
    Request,
)
from urdf_usd.conformance.execution.workers.limits import limit_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Result = TypeVar("_Result")

OUT_OF_MEMORY = "the memory limit was reached"
# Whether processes are copies of one that has everything loaded.
FORKS = sys.platform == "linux"
# From <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
_OUTPUT_END = 4000
# Between two looks whether a thread has ended [s].
_THREAD_ENDS = 1e-4
_PRINTED = "printed-by-task.txt"
# What C++ says when an allocation fails.
_ALLOCATION_FAILED = "std::bad_alloc"
_TIME_RAN_OUT = "printed-when-time-ran-out.txt"
# The frames below a task are ours, and say nothing.
_OUR_FRAMES = re.compile(
    r'\n +File \S*workers.confinement\.py", line \d+ in (?:attempt|run_task)'
    r"(?:\n +File .*)*"
)


@dataclass(frozen=True, slots=True, eq=False)
class Completed(Generic[_Result]):
    """The task returned ``value``, after some seconds if anybody measured them."""

    value: _Result
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
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


def ask_here(engine: str | Callable[[], Engine], request: Request) -> Outcome:
    """Ask an engine in this process."""
    made = registry.engine(engine) if isinstance(engine, str) else engine()
    try:
        return Observed(made.observe(request))
    except AbstentionError as abstention:
        return Abstained(" ".join(str(abstention).split()))


def attempt(
    function: Callable[..., _Result], *arguments: object
) -> Completed[_Result] | Crashed:
    """Call a function in this process; what it raises is a crash."""
    begin = time.perf_counter()
    try:
        value = function(*arguments)
        return Completed(value, time.perf_counter() - begin)
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

    Raises:
        MemoryError: There is not even room for somebody who watches.
    """
    before = thread_ids()
    with Path(tempfile.gettempdir(), _TIME_RAN_OUT).open("wb") as output_tail:
        try:
            faulthandler.dump_traceback_later(timeout, exit=True, file=output_tail)
        except RuntimeError as error:
            raise MemoryError(*error.args) from error
        # With one thread before, nothing else could start a thread meanwhile.
        watching = thread_ids() - before if len(before) == 1 else frozenset()
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            # The thread is told to end, and may wait for a processor to do it on. Until
            # it has ended, this process cannot be copied.
            with contextlib.suppress(MemoryError, OSError):
                while watching & thread_ids():
                    time.sleep(_THREAD_ENDS)


def thread_ids() -> frozenset[str]:
    """Return the system's ids of the threads of this process; none but on Linux.

    Raises:
        MemoryError: The memory limit leaves no room for a list of a folder.
    """
    if not FORKS:
        return frozenset()
    try:
        return frozenset(os.listdir("/proc/self/task"))  # noqa: PTH208  names alone
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(*error.args) from error
        raise


def forget_output() -> None:
    """Drop what this task has printed so far."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(FileNotFoundError):
        os.truncate(Path(tempfile.gettempdir(), _PRINTED), 0)


def printed() -> str:
    """Return what this task has printed so far."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = Path(tempfile.gettempdir(), _PRINTED)
    return file.read_text(encoding="utf-8", errors="replace")


def run_task(task: Task) -> Completed[object] | Crashed:
    """Run one task in the worker."""
    os.environ.clear()
    os.environ.update(task.environment)
    if FORKS:
        # Pebble's workers stop tidily, which native code that hangs never gets to.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _end_with_parent()
    if task.memory is not None:
        limit_memory(task.memory)
    with printing_into(task.folder):
        if task.timeout is None:
            return attempt(task.function, *task.arguments)
        try:
            with watched(task.timeout):
                return attempt(task.function, *task.arguments)
        except MemoryError:
            return Crashed(OUT_OF_MEMORY)


def _end_with_parent() -> None:
    """Have the system end this process if its parent is killed, whatever it is at.

    The fork server is no help: it stays for as long as one of its children.
    """
    import fcntl  # noqa: PLC0415  # there is none on Windows

    parent = parent_process()
    if parent is None:
        return
    # A pipe of which the parent holds the other end. Its closing is an event that can
    # be a signal, which ends a process that does not expect it.
    pipe = parent.sentinel
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if wait([pipe], timeout=0):
        os._exit(1)


def die_with_parent() -> None:
    """Have the system end this process when the one that made it ends; Linux alone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def printing_into(folder: str) -> Iterator[None]:
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


# What is left of it.


def crash_reason(exitcode: int, folder: str, timeout: float) -> Crashed:
    """Say what a process died of that printed into a folder.

    Args:
        exitcode: Negative for a signal.
        folder: Where it printed.
        timeout: Its time limit [s].
    """
    words = output_tail(folder)
    if ran_out_of_time(folder):
        return Crashed(f"no answer after {timeout:g} s", words)
    why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in words else ""
    if exitcode < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-exitcode).name
            return Crashed(f"the process died: {name}{why}", words)
    return Crashed(f"the process ended with exit code {exitcode}{why}", words)


def ran_out_of_time(folder: str) -> bool:
    """Whether a task that printed into a folder ended itself for lack of time."""
    file = Path(folder, _TIME_RAN_OUT)
    return file.exists() and file.stat().st_size > 0


def output_tail(folder: str) -> str:
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
