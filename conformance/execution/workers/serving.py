"""The child's side of a worker: calls are served one after another.

Nothing here relies on the functions that are called: they may print, close or redirect
the standard streams, change the environment and the working directory, raise any
exception, fork, hang, exit, or take all memory.
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
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from urdf_usd.conformance.engines.protocol import Crashed

if sys.platform == "linux":
    import resource

_Result = TypeVar("_Result")

OUT_OF_MEMORY = "the memory limit was reached"

_MEBIBYTE = 1024 * 1024
# The largest arrays of an observation, those of the joint-space inertia, have this size
# at about 5,000 degrees of freedom [MiB].
_LARGEST_ANSWER = 1024
_OUTPUT_END = 4000
_PRINTED = "printed-by-worker.txt"
_TIMED_OUT = "printed-at-time-limit.txt"
# What C++ prints when nothing catches a failed allocation.
_ALLOCATION_FAILED = "std::bad_alloc"
# In tracebacks, the frames of this module and those below, and the thread that waits
# for the end of the parent.
_OWN_FRAMES = re.compile(r'\n +File \S*workers.serving\.py", line \d+ in \w+(?:\n +File .*)*')
_OWN_THREAD = re.compile(
    r"(?:Current t|T)hread 0x\S+ \(most recent call first\):\n"
    r"(?: +File .*\n)*? +File .* in _kill_when_parent_ends\n(?: +File .*\n)*\n?"
)


class Completed(Struct, Generic[_Result], frozen=True, eq=False):
    """The function returned a value.

    Attributes:
        value: The value.
        seconds: Time that it took [s].
        memory: Peak of the memory of its process, with libraries; Linux only [MiB].
    """

    value: _Result
    seconds: float = 0.0
    memory: int = 0


def serve(connection: Connection, folder: str, memory: int | None) -> None:
    """Serve calls until the parent closes the connection; runs in the child process.

    Args:
        connection: Calls come from here, and answers go there.
        folder: For the process's output and temporary files.
        memory: Memory limit on Linux, in MiB; None for none.
    """
    # Whatever the functions start is in the group that the parent kills.
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_kill_when_parent_ends, daemon=True).start()
    largest = _LARGEST_ANSWER
    if memory is not None:
        _limit_memory(memory)
        # A comparison reads the observations of all engines within this limit.
        largest = min(memory // 8, largest)
    # The end of the connection: the parent closed it, and perhaps removed the folder.
    with contextlib.suppress(EOFError, FileNotFoundError, ConnectionError):
        # The time limit of the first call begins here.
        connection.send_bytes(b"")
        while True:
            timeout, environment, directory = connection.recv()
            call = connection.recv_bytes()
            try:
                with _limited(folder, timeout):
                    answer = _answer(call, environment, directory)
                if len(answer) > largest * _MEBIBYTE:
                    crash = Crashed(f"the answer is larger than {largest} MiB")
                    answer = pickle.dumps(crash)
            except MemoryError:
                answer = pickle.dumps(Crashed(OUT_OF_MEMORY))
            connection.send_bytes(answer)
    _kill_group()


def _limit_memory(mebibytes: int) -> None:
    """Limit the private writable memory of this process on Linux.

    The address space would be no measure: OpenUSD and the engines reserve a gigabyte.
    The size of files is limited as well: what an engine prints goes to one.
    """
    if sys.platform == "linux":
        for limit in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
            soft, most = resource.getrlimit(limit)
            given = [one for one in (soft, most) if one != resource.RLIM_INFINITY]
            resource.setrlimit(limit, (min([mebibytes * _MEBIBYTE, *given]), most))


def _kill_when_parent_ends() -> None:
    parent = parent_process()
    assert parent is not None  # noqa: S101  # this is a child process
    wait([parent.sentinel])
    _kill_group()


def _kill_group() -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(os.getpid(), signal.SIGKILL)
    signal.raise_signal(signal.SIGTERM)


@contextlib.contextmanager
def _limited(folder: str, seconds: float) -> Iterator[None]:
    """Send what is printed, also by native code, to a file; limit the time of a call.

    The thread that watches the time is native: it needs no lock of Python's, so it also
    ends a function that holds it, and a process whose parent was killed.

    Raises:
        MemoryError: There is no memory for the thread.
    """
    tempfile.tempdir = folder
    # A former function may have removed the folder, and closed the streams.
    Path(folder).mkdir(exist_ok=True)
    with (
        Path(folder, _PRINTED).open("wb") as output,
        Path(folder, _TIMED_OUT).open("wb") as timed_out,
    ):
        for name, stream in (("stdout", 1), ("stderr", 2)):
            os.dup2(output.fileno(), stream)
            text = open(stream, "w", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, text)
        # Not to stream 2, which the function may redirect.
        faulthandler.enable(output)
        try:
            faulthandler.dump_traceback_later(seconds, exit=True, file=timed_out)
        except RuntimeError as error:
            raise MemoryError(*error.args) from error
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            faulthandler.disable()
            with contextlib.suppress(ValueError, OSError):
                sys.stdout.flush()
                sys.stderr.flush()


def _answer(call: bytes, environment: Mapping[str, str], directory: str) -> bytes:
    """Return the pickled :class:`Completed` or :class:`Crashed` of a call."""
    process = os.getpid()

    def run() -> object:
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(directory)
        function, arguments = pickle.loads(call)  # noqa: S301  # of our parent
        return function(*arguments)

    ending = attempt(run)
    if os.getpid() != process:
        # The function forked and came back twice; this is the copy.
        signal.raise_signal(signal.SIGKILL)
    pickled = attempt(pickle.dumps, ending, pickle.HIGHEST_PROTOCOL)
    return pickle.dumps(pickled) if isinstance(pickled, Crashed) else pickled.value


def attempt(function: Callable[..., _Result], *arguments: object) -> Completed[_Result] | Crashed:
    """Call a function; whatever it raises is a crash."""
    begin = time.perf_counter()
    try:
        value = function(*arguments)
        return Completed(value, time.perf_counter() - begin, _peak_memory())
    # Also SystemExit, KeyboardInterrupt and the panics of Rust, which are no Exception.
    except BaseException as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        if isinstance(error, MemoryError):
            reason = OUT_OF_MEMORY
        output = traceback.format_exc()
    folder = tempfile.gettempdir()
    return Crashed(_portable(reason, folder), _portable(output, folder)[-_OUTPUT_END:])


def _peak_memory() -> int:
    peak = 0
    if sys.platform == "linux":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return peak


def crash_reason(folder: Path, exitcode: int | None, timeout: float, *, expired: bool) -> Crashed:
    """Return why there is no answer, and the end of the output; the parent calls this.

    Args:
        folder: The process's folder.
        exitcode: Negative for a signal; None if the process goes on.
        timeout: Its time limit [s].
        expired: Whether it had to be killed at the time limit.
    """
    output = ""
    # What the process started may remove files meanwhile.
    with contextlib.suppress(FileNotFoundError):
        # There are several if an engine redirected its output.
        files = sorted(folder.rglob("printed-*.txt"), key=lambda f: f.stat().st_mtime)
        texts = [_end_of(file).strip() for file in files]
        output = _portable("\n".join(filter(None, texts)), str(folder))[-_OUTPUT_END:]
    timed_out = folder / _TIMED_OUT
    if expired or (timed_out.exists() and timed_out.stat().st_size > 0):
        return Crashed(f"no answer after {timeout:g} s", output)
    if exitcode is None:
        return Crashed("the process closed its connection", output)
    why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in output else ""
    if exitcode < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-exitcode).name
            return Crashed(f"the process died: {name}{why}", output)
    return Crashed(f"the process ended with exit code {exitcode}{why}", output)


def _end_of(file: Path) -> str:
    """Return more than what is kept of a file: some of it is removed afterwards."""
    with file.open("rb") as stream:
        stream.seek(-min(16 * _OUTPUT_END, stream.seek(0, os.SEEK_END)), os.SEEK_END)
        return stream.read(16 * _OUTPUT_END).decode(errors="replace")


def _portable(text: str, folder: str) -> str:
    """Remove from text what differs between machines and runs, and our own frames."""
    for place in sorted({folder, *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(place + os.sep, "")
    text = re.sub(r"\n+Extension modules: .*", "", text)
    text = _OWN_FRAMES.sub("", _OWN_THREAD.sub("", text))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
