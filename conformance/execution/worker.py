"""A worker process: it serves calls, each in steps, with limits of time and memory.

The child relies on nothing that a step does: it may print, close or redirect the standard
streams, change the environment and the working directory, raise any exception, fork,
hang, exit, or take all memory. Whatever happens to the process becomes a
:class:`~urdf_usd.conformance.engines.protocol.Crashed` in the parent, which knows the
step that began last.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from multiprocessing import parent_process
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from msgspec import Struct

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.limits import DEFAULT_TIMEOUT, library_settings
from urdf_usd.conformance.execution.process import start_process

if sys.platform == "linux":
    import resource

_Result = TypeVar("_Result")

OUT_OF_MEMORY = "the memory limit was reached"

_MEBIBYTE = 1024 * 1024
_OUTPUT_END = 4000
_STDERR = 2
_PRINTED = "printed-by-worker.txt"
_TIMED_OUT = "printed-at-time-limit.txt"
# Folder for temporary files of steps, below that of the process.
_TEMPORARY = "temporary"
# For a process to start, which waits until the fork server has imported everything [s].
_STARTING = 300.0
# How much later than its time limit a process is killed; it ends itself before, unless
# it was stopped [s].
_GRACE = 5.0
# What C++ prints when nothing catches a failed allocation.
_ALLOCATION_FAILED = "std::bad_alloc"
# In tracebacks, the frames of this module and those below, and the thread that waits
# for the end of the parent.
_OWN_FRAMES = re.compile(r'\n +File \S*execution.worker\.py", line \d+ in \w+(?:\n +File .*)*')
_OWN_THREAD = re.compile(
    r"(?:Current t|T)hread 0x\S+ \(most recent call first\):\n"
    r"(?: +File .*\n)*? +File .* in _kill_when_parent_ends\n(?: +File .*\n)*\n?"
)
# multiprocessing polls all children of a process whenever it starts one; the exit code
# of a child is lost if two threads do so at the same time.
PROCESSES = threading.Lock()


class Completed(Struct, Generic[_Result], frozen=True, eq=False):
    """A function returned a value.

    Attributes:
        value: The value.
        seconds: Time that it took [s].
    """

    value: _Result
    seconds: float = 0.0


def attempt(function: Callable[..., _Result], *arguments: object) -> Completed[_Result] | Crashed:
    """Call a function; whatever it raises is a crash."""
    begin = time.perf_counter()
    try:
        value = function(*arguments)
        return Completed(value, time.perf_counter() - begin)
    # Also SystemExit, KeyboardInterrupt and the panics of Rust, which are no Exception.
    except BaseException as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        if isinstance(error, MemoryError):
            reason = OUT_OF_MEMORY
        output = traceback.format_exc()
    folder = str(own_folder())
    return Crashed(_portable(reason, folder), _portable(output, folder)[-_OUTPUT_END:])


def own_folder() -> Path:
    """Return the folder of this process, in which steps have no temporary files."""
    return _service.folder if _service else Path(tempfile.gettempdir())


class Steps:
    """Runs the steps of one robot, one after the other, in this process.

    In a worker, each step has the time limit of a call, the parent is told that it
    begins, and what it prints is kept until the next one. Elsewhere, as in tests, steps
    are plain calls.

    Args:
        crashes: How steps ended that have ended the process of a worker before; they
            are not run again.

    Attributes:
        crashed: Whether a step has crashed.
    """

    def __init__(self, crashes: Mapping[str, Crashed]) -> None:
        self.crashed = bool(crashes)
        self._crashes = crashes

    def call(
        self,
        step: str,
        function: Callable[..., _Result],
        *arguments: object,
        more_time: float = 0.0,
    ) -> Completed[_Result] | Crashed:
        """Call a function as a step; whatever it raises is a crash.

        Args:
            step: Its name, which is unique for a robot.
            function: The function.
            arguments: Its arguments.
            more_time: How much more time it has than others [s].

        Raises:
            MemoryError: The limit was reached. What fills the memory may still be
                referred to, so that the process has to end.
        """
        if step in self._crashes:
            return self._crashes[step]
        process = os.getpid()
        if _service:
            _service.begin(step, more_time)
        ending = attempt(function, *arguments)
        if os.getpid() != process:
            # The function forked and came back twice; this is the copy.
            signal.raise_signal(signal.SIGKILL)
        if isinstance(ending, Crashed):
            self.crashed = True
            if ending.reason == OUT_OF_MEMORY:
                raise MemoryError
        return ending


class _Call(Struct, frozen=True):
    """What a worker is asked for, as pickled."""

    timeout: float
    environment: dict[str, str]
    directory: str
    function: bytes


class _Begun(Struct, frozen=True):
    """A step has begun, which has some time [s]."""

    step: str
    seconds: float


class _Answer(Struct, frozen=True):
    """How a call ended, and the peak of the memory of the process [MiB]."""

    ending: Completed[Any] | Crashed
    memory: int


class _Service:
    """The child's side: calls of the parent are served one after another."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self.folder = Path(folder)
        self._files: list[IO[bytes]] = []
        self._call = _Call(0.0, {}, "", b"")

    def serve(self) -> None:
        """Serve calls until the parent closes the connection."""
        # The time limit of the first call begins here.
        self._connection.send(_Begun("", 0.0))
        while True:
            self._call = self._connection.recv()
            try:
                answer = self._answer()
            except MemoryError:
                answer = pickle.dumps(_Answer(Crashed(OUT_OF_MEMORY), 0))
            self._connection.send_bytes(answer)

    def begin(self, step: str, more_time: float) -> None:
        """Tell the parent which step begins, which finds the process as the last one did."""
        seconds = self._call.timeout + more_time
        self._restore(seconds)
        self._connection.send(_Begun(step, seconds))

    def _answer(self) -> bytes:
        process = os.getpid()

        def run() -> object:
            self._restore(self._call.timeout)
            function, arguments = pickle.loads(self._call.function)  # noqa: S301  of our parent
            return function(*arguments)

        ending = attempt(run)
        if os.getpid() != process:
            signal.raise_signal(signal.SIGKILL)
        faulthandler.cancel_dump_traceback_later()
        faulthandler.disable()
        pickled = attempt(pickle.dumps, _Answer(ending, _peak_memory()), pickle.HIGHEST_PROTOCOL)
        return pickle.dumps(_Answer(pickled, 0)) if isinstance(pickled, Crashed) else pickled.value

    def _restore(self, seconds: float) -> None:
        """Restore environment, signals, folders and streams; restart the time limit.

        The thread that watches the time is native: it needs no lock of Python's, so it
        also ends a function that holds it, and a process whose parent was killed.

        Raises:
            MemoryError: There is no memory for the thread.
        """
        if os.environ != self._call.environment:
            os.environ.clear()
            os.environ.update(self._call.environment)
        os.chdir(self._call.directory)
        _restore_signals()
        # A former step may have removed the folder, and closed the streams.
        temporary = self.folder / _TEMPORARY
        temporary.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(temporary)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                stream.flush()
        # The next file would get the number of a closed stream.
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
            pass
        os.close(descriptor)
        former = self._files
        output, timed_out = self._files = [
            (self.folder / name).open("wb") for name in (_PRINTED, _TIMED_OUT)
        ]
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            os.dup2(output.fileno(), descriptor)
            text = open(descriptor, "w", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, text)
        # Not to stream 2, which the function may redirect.
        faulthandler.enable(output)
        try:
            faulthandler.dump_traceback_later(seconds, exit=True, file=timed_out)
        except RuntimeError as error:
            raise MemoryError(*error.args) from error
        for file in former:
            with contextlib.suppress(OSError):
                file.close()


# That of this process, if it is a worker.
_service: _Service | None = None


def serve(connection: Connection, folder: str, memory: int | None) -> None:
    """Serve calls until the parent closes the connection; runs in the child process.

    Args:
        connection: Calls come from here, and answers go there.
        folder: For the process's output and temporary files.
        memory: Memory limit on Linux, in MiB; None for none.
    """
    global _service
    # Whatever the functions start is in the group that the parent kills.
    if hasattr(os, "setsid"):
        os.setsid()
    _restore_signals()
    threading.Thread(target=_kill_when_parent_ends, daemon=True).start()
    if memory is not None and sys.platform == "linux":
        # The address space would be no measure: OpenUSD and the engines reserve a
        # gigabyte. What an engine prints goes to a file, so that its size is limited too.
        for limit in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
            soft, most = resource.getrlimit(limit)
            given = [one for one in (soft, most) if one != resource.RLIM_INFINITY]
            resource.setrlimit(limit, (min([memory * _MEBIBYTE, *given]), most))
    _service = _Service(connection, folder)
    # The end of the connection: the parent closed it, and perhaps removed the folder.
    with contextlib.suppress(EOFError, FileNotFoundError, ConnectionError):
        _service.serve()
    _kill_group()


def _restore_signals() -> None:
    # Ctrl-C goes to the parent too, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in signal.Signals:
        if number.name in {"SIGTERM", "SIGHUP", "SIGCHLD"}:
            signal.signal(number, signal.SIG_DFL)


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


def _peak_memory() -> int:
    peak = 0
    if sys.platform == "linux":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return peak


class Worker:
    """A child process, which serves one call at a time until it ends.

    Made with :data:`PROCESSES` locked.

    Args:
        folder: Will be made; for output and temporary files of the process.
        memory: Memory limit of the process, in MiB; None for none.
        spawned: Whether it is spawned also where others are forked.

    Attributes:
        running: Whether the process waits for a further call.
        calls: Number of calls that it has served.
        memory: Peak of its memory at its last answer [MiB].
        step: The step of the last call that began last; empty before the first.
    """

    def __init__(self, folder: Path, memory: int | None, *, spawned: bool = False) -> None:
        self.running = True
        self.calls = 0
        self.memory = 0
        self.step = ""
        self._folder = folder
        self._cancelled = False
        self._expired = False
        # The fork server has loaded the libraries of others with these settings, which
        # are not for the programs that they run.
        self._settings = library_settings() if spawned else {}
        self._connection, theirs = Pipe()
        self._process = start_process(serve, theirs, str(folder), memory, spawned=spawned)
        theirs.close()

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed[_Result] | Crashed:
        """Call a function in the process, and wait for its end.

        Args:
            function: Can be imported by a child process, which does not import the main
                module. It has the environment and working directory of this process.
            arguments: Its arguments; they and the result can be pickled.
            timeout: Time limit of each step, or of the call if it has none [s]; the
                start of the process does not count.

        Raises:
            CancelledError: :meth:`cancel` was called.
        """
        # A process that is started at the same time has a variable of its own.
        with PROCESSES:
            environment = {**os.environ, **self._settings}
        pickled = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        self.calls += 1
        self.step = ""
        try:
            self._connection.send(_Call(timeout, environment, str(Path.cwd()), pickled))
            if self.calls == 1:
                self._receive(_STARTING)
            answer = self._receive(timeout + _GRACE)
            while isinstance(answer, _Begun):
                self.step = answer.step
                answer = self._receive(answer.seconds + _GRACE)
        except (EOFError, OSError):
            return self._crash(timeout)
        # What is raised is up to the classes of the values.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            reason = "".join(traceback.format_exception_only(error)).strip()
            return Crashed(f"the answer cannot be read: {reason}")
        self.memory = answer.memory
        if isinstance(answer.ending, Crashed) and answer.ending.reason == OUT_OF_MEMORY:
            self.end()
        return answer.ending

    def cancel(self) -> None:
        """Kill the process; a call that waits for it raises ``CancelledError``.

        Any thread may call this; the one that uses the worker calls :meth:`end`.
        """
        self._cancelled = True
        self._kill()

    def end(self) -> None:
        """Kill the process, with everything that it started, and remove its folder."""
        if self.running:
            self.running = False
            self._kill()
            self._connection.close()
            wait([self._process.sentinel], _GRACE)
            with PROCESSES, contextlib.suppress(ValueError):
                self._process.join(0)
                self._process.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _receive(self, seconds: float) -> _Answer | _Begun:
        """Wait for a message; raise EOFError or OSError if none will come."""
        # What the process started may keep the connection when it has ended.
        ready = wait([self._connection, self._process.sentinel], seconds)
        if not ready:
            self._expired = True
            self._kill()
        if self._connection not in ready:
            raise EOFError
        message: _Answer | _Begun = self._connection.recv()
        return message

    def _crash(self, timeout: float) -> Crashed:
        """Return why there is no answer; the process is killed if it goes on."""
        # The connection may be closed shortly before the process ends.
        ended = wait([self._process.sentinel], _GRACE)
        with PROCESSES:
            self._process.join(0)
            exitcode = self._process.exitcode if ended else None
        crash = _crash_of(self._folder, exitcode, timeout, expired=self._expired)
        self.end()
        if self._cancelled:
            raise CancelledError
        return crash

    def _kill(self) -> None:
        # It may be closed by the thread that uses it.
        with contextlib.suppress(OSError, ValueError):
            self._process.kill()
            if self._process.pid and hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)


def _crash_of(folder: Path, exitcode: int | None, timeout: float, *, expired: bool) -> Crashed:
    """Return why a process gives no answer, and the end of its output.

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
    if expired or any(file.stat().st_size for file in folder.rglob(_TIMED_OUT)):
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
    folders = {folder, os.path.join(folder, _TEMPORARY)}  # noqa: PTH118  text
    for place in sorted({*folders, *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(place + os.sep, "")
    text = re.sub(r"\n+Extension modules: .*", "", text)
    text = _OWN_FRAMES.sub("", _OWN_THREAD.sub("", text))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
