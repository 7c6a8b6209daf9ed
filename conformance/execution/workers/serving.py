"""The child's side of a worker: calls are served one after another.

Messages to the parent are one byte that tells their kind, and content:

- :data:`BEGUN`: the call was received; its time counts from now on.
- :data:`COMPLETED` and :data:`CRASHED`: a pickled :class:`Completed` or
  :class:`~urdf_usd.conformance.engines.protocol.Crashed`, the answer to the call.
- those of a function that works in steps, see
  :mod:`urdf_usd.conformance.execution.workers.steps`.

Nothing here relies on the function: it may print, close or redirect the standard
streams, change the environment and the working directory, raise any exception, fork,
hang, exit, or take all memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Generic, TypeVar

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.limits import MEBIBYTE, limit_memory

_Result = TypeVar("_Result")

BEGUN = b"b"
COMPLETED = b"c"
CRASHED = b"x"

OUT_OF_MEMORY = "the memory limit was reached"
_OUTPUT_END = 4000
_READ_END = 64 * 1024
_PRINTED = "printed-by-worker.txt"
_TIMED_OUT = "printed-at-time-limit.txt"
# What C++ prints when nothing catches a failed allocation.
_ALLOCATION_FAILED = "std::bad_alloc"
# In tracebacks, the frames of this module and those below, and the thread that waits
# for the end of the parent.
_OWN_FRAMES = re.compile(
    r'\n +File \S*workers.serving\.py", line \d+ in (?:attempt|_call)(?:\n +File .*)*'
)
_OWN_THREAD = re.compile(
    r"(?:Current t|T)hread 0x\S+ \(most recent call first\):\n"
    r"(?: +File .*\n)*? +File .* in _kill_when_parent_ends\n(?: +File .*\n)*\n?"
)


@dataclass(frozen=True, slots=True, eq=False)
class Completed(Generic[_Result]):
    """The function returned ``value`` after some seconds."""

    value: _Result
    seconds: float = 0.0


def attempt(
    function: Callable[..., _Result], *arguments: object
) -> Completed[_Result] | Crashed:
    """Call a function in this process; whatever it raises is a crash."""
    begin = time.perf_counter()
    try:
        value = function(*arguments)
        return Completed(value, time.perf_counter() - begin)
    except MemoryError:
        reason = OUT_OF_MEMORY
        output = traceback.format_exc()
    # Also SystemExit, KeyboardInterrupt and the panics of Rust, which are no Exception.
    except BaseException as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        output = traceback.format_exc()
    folder = tempfile.gettempdir()
    return Crashed(_portable(reason, folder), _portable(output, folder)[-_OUTPUT_END:])


_NO_MEMORY = CRASHED + pickle.dumps(Crashed(OUT_OF_MEMORY))


def serve(connection: Connection, folder: str, memory: int | None) -> None:
    """Serve calls until the parent closes the connection; runs in the child process.

    Args:
        connection: Calls come from here, and answers go there.
        folder: For the process's output and temporary files.
        memory: Memory limit, in MiB; None for none.
    """
    # Whatever the functions start is in the group that the parent kills.
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_kill_when_parent_ends, daemon=True).start()
    try:
        link = Link(connection, folder)
    except OSError:
        # The pool was closed before this process came to run, and removed its folder.
        return
    if memory is not None:
        limit_memory(memory)
    process = os.getpid()
    while True:
        try:
            timeout, in_steps, largest = connection.recv()
            call = connection.recv_bytes()
        except EOFError:
            return
        try:
            answer = _answer(link, call, timeout, in_steps=in_steps)
        except MemoryError:
            answer = _NO_MEMORY
        if largest is not None and len(answer) > largest:
            reason = f"the answer is larger than {largest // MEBIBYTE} MiB"
            answer = CRASHED + pickle.dumps(Crashed(reason))
        if os.getpid() != process:
            # The function forked and came back twice; this is the copy.
            signal.raise_signal(signal.SIGKILL)
        connection.send_bytes(answer)


class Link:
    """The connection of a worker to its parent, its output and its time limit.

    Args:
        connection: To the parent.
        folder: For output and temporary files.
    """

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self._folder = folder
        self._output = _open_empty(Path(folder, _PRINTED))
        self._timed_out = _open_empty(Path(folder, _TIMED_OUT))

    def send(self, kind: bytes, content: bytes = b"") -> None:
        """Send a message to the parent."""
        self._connection.send_bytes(kind + content)

    def receive(self) -> bytes:
        """Wait for an answer of the parent."""
        return self._connection.recv_bytes()

    def capture_output(self) -> None:
        """Send what is printed, also by native code, to a file, which is emptied."""
        tempfile.tempdir = self._folder
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # A former function may have removed the folder, and closed the streams.
        Path(self._folder).mkdir(exist_ok=True)
        for file, name in ((self._output, _PRINTED), (self._timed_out, _TIMED_OUT)):
            opened = _open_empty(Path(self._folder, name))
            os.dup2(opened, file, inheritable=False)
            os.close(opened)
        for stream in (1, 2):
            os.dup2(self._output, stream)
        for name, stream in (("stdout", 1), ("stderr", 2)):
            text = open(stream, "w", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, text)
        # Not to stream 2, which the function may redirect.
        faulthandler.enable(self._output)

    def limit_time(self, seconds: float) -> None:
        """End this process after some time, with a traceback; replaces former limits.

        The watching thread is native: it needs no lock of Python's, so it also ends a
        function that holds it, and a process whose parent was killed.

        Raises:
            MemoryError: There is no memory for the thread.
        """
        try:
            faulthandler.dump_traceback_later(seconds, exit=True, file=self._timed_out)
        except RuntimeError as error:
            raise MemoryError(*error.args) from error

    def unlimit_time(self) -> None:
        """Take the limit back."""
        faulthandler.cancel_dump_traceback_later()


def _open_empty(file: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC
    return os.open(file, flags, 0o600)


def printed() -> str:
    """Return what the current call of this worker has printed so far."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = Path(tempfile.gettempdir(), _PRINTED)
    return file.read_text(encoding="utf-8", errors="replace")


def _answer(link: Link, call: bytes, timeout: float, *, in_steps: bool) -> bytes:
    """Serve one call; return the message to the parent."""
    link.capture_output()
    link.send(BEGUN)
    link.limit_time(timeout)
    try:
        ending = attempt(_call, link, call, in_steps)
        kind = CRASHED if isinstance(ending, Crashed) else COMPLETED
        pickled = attempt(pickle.dumps, ending, pickle.HIGHEST_PROTOCOL)
        if isinstance(pickled, Crashed):
            kind, pickled = CRASHED, Completed(pickle.dumps(pickled))
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        return kind + pickled.value
    finally:
        link.unlimit_time()


def _call(link: Link, call: bytes, in_steps: bool) -> object:  # noqa: FBT001
    environment, working, function, arguments = pickle.loads(call)  # noqa: S301  # of our parent
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
    os.chdir(working)
    return function(link, *arguments) if in_steps else function(*arguments)


def _kill_when_parent_ends() -> None:
    """Wait for the end of the parent; then kill this process and what it started."""
    parent = parent_process()
    assert parent is not None  # noqa: S101  # this is a child process
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(os.getpid(), signal.SIGKILL)
    signal.raise_signal(signal.SIGTERM)


def crash_reason(exitcode: int | None, folder: str, timeout: float) -> Crashed:
    """Say why a process ended, or was killed by us; the parent calls this.

    Args:
        exitcode: Negative for a signal; None if it had to be killed at its time limit.
        folder: The process's folder.
        timeout: Its time limit [s].
    """
    output = output_tail(folder)
    timed_out = Path(folder, _TIMED_OUT)
    if exitcode is None or (timed_out.exists() and timed_out.stat().st_size > 0):
        return Crashed(f"no answer after {timeout:g} s", output)
    why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in output else ""
    if exitcode < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-exitcode).name
            return Crashed(f"the process died: {name}{why}", output)
    return Crashed(f"the process ended with exit code {exitcode}{why}", output)


def output_tail(folder: str) -> str:
    """Return the end of what was printed into a folder, oldest file first.

    There are several files if an engine redirected its output
    (:func:`urdf_usd.conformance.engines.native_output.captured`).
    """
    with contextlib.suppress(FileNotFoundError):
        files = sorted(
            Path(folder).rglob("printed-*.txt"), key=lambda file: file.stat().st_mtime
        )
        texts = (_end_of(file).strip() for file in files)
        return _portable("\n".join(filter(None, texts)), folder)[-_OUTPUT_END:]
    return ""


def _end_of(file: Path) -> str:
    """Return more than what is kept of a file: some of it is removed afterwards."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _READ_END))
        return stream.read(_READ_END).decode(errors="replace")


def _portable(text: str, folder: str) -> str:
    """Remove from text what differs between machines and runs, and our own frames."""
    for place in sorted({folder, *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(place + os.sep, "")
    text = re.sub(r"\n+Extension modules: .*", "", text)
    text = _OWN_FRAMES.sub("", _OWN_THREAD.sub("", text))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
