"""Worker processes: each takes calls one after the other, with limits of time and memory.

On Linux, workers are forked from the fork server of :mod:`multiprocessing`, which has
imported the engines. On macOS and Windows they are spawned, because system libraries
there do not allow a fork after their import.

A child relies on nothing that a step of a call does: it may print, close or redirect the
standard streams, change the environment and the working directory, raise any exception,
fork, hang, exit, or take all memory. Whatever happens to the process becomes a
:class:`~urdf_usd.conformance.engines.protocol.Crashed` in the parent, which knows the
step that began last.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
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
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from multiprocessing import forkserver, get_context, parent_process, resource_tracker, spawn
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Annotated, Any, Generic, Self, TypeVar

from msgspec import Meta, Struct

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.converter.options import Option
from urdf_usd.converter.scratch import temporary_folder

if sys.platform == "linux":
    import resource

_Result = TypeVar("_Result")

DEFAULT_TIMEOUT = 120.0
# A robot with meshes at the largest accepted file size was measured to take 4.6 GiB.
DEFAULT_MEMORY = 6144
OUT_OF_MEMORY = "the memory limit was reached"
# Whether workers are forked from a server.
FORKS = sys.platform == "linux"
# A path of a socket has at most 107 bytes, of which multiprocessing appends 33.
_LONGEST_FOLDER = 70

# The work is parallel over robots, and a fork copies no threads.
_SETTINGS = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PXR_WORK_THREAD_LIMIT": "1",
    # MuJoCo would import OpenGL, which starts a process to find its library.
    "MUJOCO_GL": "disable",
}
# multiprocessing starts its helpers by `python -c`, which would import a `numpy.py` of
# the working directory, often a folder of robots from elsewhere.
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}
_PRELOAD = "urdf_usd.conformance.execution.preload"
_NAME = "urdf-usd worker"
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
# After as many calls, or with more memory [MiB], a worker ends, with what it has cached
# or leaked. The engines and their libraries alone take 400 MiB.
_MOST_CALLS = 32
_MOST_MEMORY = 1024
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
_PROCESSES = threading.Lock()
_get_preparation_data = spawn.get_preparation_data


def _get_data_without_main_module(name: str) -> dict[str, Any]:
    data = _get_preparation_data(name)
    if name == _NAME:
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


# A child process imports the main module again: a script without a guard would run
# once more in each worker, and a program on standard input has no file to import.
# multiprocessing has no option for this. Other processes of the user keep theirs.
spawn.get_preparation_data = _get_data_without_main_module


class ClusterError(Exception):
    """A cluster cannot be used; the message says why."""


class Limits(Struct, frozen=True):
    """Limits of the processes that work on one robot."""

    time: Annotated[
        float,
        Meta(gt=0),
        Option(
            "Time limit for each step on a robot: reading, converting, one engine.",
            "--timeout",
            "SECONDS",
            repeated=False,
        ),
    ] = DEFAULT_TIMEOUT
    memory: Annotated[
        int | None,
        Meta(ge=0),
        Option(
            "Memory limit of a process that works on a robot, and of each file that it writes; "
            "0: unlimited. Linux only.",
            metavar="MIB",
            parse=lambda mebibytes: mebibytes or None,
            repeated=False,
        ),
    ] = DEFAULT_MEMORY


DEFAULT_LIMITS = Limits()


def processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Completed(Struct, Generic[_Result], frozen=True, eq=False):
    """A function returned a value."""

    value: _Result
    memory: int = 0  # peak of the memory of its process [MiB]


def attempt(function: Callable[..., _Result], *arguments: object) -> _Result | Crashed:
    """Call a function; whatever it raises is a crash."""
    try:
        return function(*arguments)
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
    return _child.folder if _child else Path(tempfile.gettempdir())


class Steps:
    """Runs the steps of one robot, one after the other, in this process.

    In a worker, each step has the time limit of a call, the parent is told that it
    begins, and what it prints is kept until the next one. Elsewhere, as in tests, steps
    are plain calls.

    Args:
        crashes: How steps ended that have ended the process of a worker before; they
            are not run again.
    """

    def __init__(self, crashes: Mapping[str, Crashed]) -> None:
        self.crashed = bool(crashes)  # whether a step has crashed
        self.seconds = 0.0  # that the last step took [s]
        self._crashes = crashes

    def call(
        self,
        step: str,
        function: Callable[..., _Result],
        *arguments: object,
        more_time: float = 0.0,
    ) -> _Result | Crashed:
        """Call a function as a step, of a unique name; whatever it raises is a crash.

        ``more_time`` is how much more time it has than others [s].

        Raises:
            MemoryError: The limit was reached. What fills the memory may still be
                referred to, so that the process has to end.
        """
        if step in self._crashes:
            return self._crashes[step]
        process = os.getpid()
        if _child:
            _child.begin(step, more_time)
        begin = time.perf_counter()
        ending = attempt(function, *arguments)
        self.seconds = time.perf_counter() - begin
        if os.getpid() != process:
            # The function forked and came back twice; this is the copy.
            signal.raise_signal(signal.SIGKILL)
        if isinstance(ending, Crashed):
            self.crashed = True
            if ending.reason == OUT_OF_MEMORY:
                raise MemoryError
        return ending


class _Call(Struct, frozen=True):
    """A request to a worker."""

    timeout: float
    environment: dict[str, str]
    directory: str
    function: bytes  # function and arguments, pickled


# The child's side.


class _Child:
    """This process, if it is a worker."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self.folder = Path(folder)
        self._files: list[IO[bytes]] = []
        self._call = _Call(0.0, {}, "", b"")

    def serve(self) -> None:
        """Serve calls until the parent closes the connection."""
        # The time limit of the first call begins when it is received.
        while True:
            self._call = self._connection.recv()
            self._connection.send(("", self._call.timeout))
            try:
                answer = self._answer()
            except MemoryError:
                answer = pickle.dumps(Crashed(OUT_OF_MEMORY))
            self._connection.send_bytes(answer)

    def begin(self, step: str, more_time: float) -> None:
        """Send which step begins, and its time; it finds the process as the last one did."""
        seconds = self._call.timeout + more_time
        self._restore(seconds)
        self._connection.send((step, seconds))

    def _answer(self) -> bytes:
        """Return the pickled end of a call."""
        self._restore(self._call.timeout)

        def called() -> bytes:
            function, arguments = pickle.loads(self._call.function)  # noqa: S301  own parent
            value = function(*arguments)
            return pickle.dumps(Completed(value, _peak_memory()), pickle.HIGHEST_PROTOCOL)

        ending = attempt(called)
        return pickle.dumps(ending) if isinstance(ending, Crashed) else ending

    def _restore(self, seconds: float) -> None:
        """Restore what a step may have changed, and start the time limit of the next one.

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


_child: _Child | None = None


def serve(connection: Connection, folder: str, memory: int | None) -> None:
    """Serve calls until the parent closes the connection; runs in the child process.

    Args:
        connection: Calls come from here, and answers go there.
        folder: For the process's output and temporary files.
        memory: Memory limit on Linux, in MiB; None for none.
    """
    global _child
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
    _child = _Child(connection, folder)
    # The end of the connection: the parent closed it, and perhaps removed the folder.
    with contextlib.suppress(EOFError, FileNotFoundError, ConnectionError):
        _child.serve()
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


# The parent's side.


class _Worker:
    """A child process, which serves one call at a time until it ends.

    Args:
        folder: Will be made; for output and temporary files of the process.
        memory: Memory limit of the process, in MiB; None for none.
        forked: Whether it is forked from the fork server.
    """

    def __init__(self, folder: Path, memory: int | None, *, forked: bool) -> None:
        self.running = True  # whether the process waits for a further call
        self.calls = 0  # number of calls that it has served
        self.memory = 0  # peak of its memory at its last answer [MiB]
        self.step = ""  # of the last call, that began last; empty before the first
        self.deadline = 0.0  # when it is killed, by the monotonic clock [s]
        self._folder = folder
        self._timeout = 0.0
        # The fork server has loaded the libraries of others with these settings, which
        # are not for the programs that they run.
        self._settings = {} if forked else _SETTINGS
        self._connection, theirs = Pipe()
        if forked:
            forkserver.set_forkserver_preload([_PRELOAD])
        start = get_context("forkserver").Process if forked else get_context("spawn").Process
        with _PROCESSES, _starting_python():
            arguments = theirs, str(folder), memory
            self._process = start(target=serve, args=arguments, name=_NAME, daemon=True)
            self._process.start()
        theirs.close()

    @property
    def signals(self) -> tuple[Any, ...]:
        """What :func:`wait` returns when there is something to receive."""
        return self._connection, self._process.sentinel

    def begin(self, function: Callable[..., object], *arguments: object, timeout: float) -> None:
        """Begin a call; :meth:`receive` returns its end."""
        pickled = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        environment = self._settings | os.environ
        self.calls += 1
        self.step = ""
        self._timeout = timeout
        self.deadline = time.monotonic() + (_STARTING if self.calls == 1 else timeout + _GRACE)
        # If the process has ended, receiving tells.
        with contextlib.suppress(OSError):
            self._connection.send(_Call(timeout, environment, str(Path.cwd()), pickled))

    def receive(self, ready: Iterable[object]) -> Completed[Any] | Crashed | None:
        """Return the end of the call, if it has come; ``ready`` is from :func:`wait`."""
        try:
            # What the process started may keep the connection when it has ended.
            if self._connection in ready:
                message = self._connection.recv()
            elif self._process.sentinel in ready:
                return self._crash()
            elif time.monotonic() < self.deadline:
                return None
            else:
                self.kill()
                return self._crash(expired=True)
        except (EOFError, OSError):
            return self._crash()
        # What is raised is up to the classes of the values.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            reason = "".join(traceback.format_exception_only(error)).strip()
            return Crashed(f"the answer cannot be read: {reason}")
        if isinstance(message, tuple):
            self.step, seconds = message
            self.deadline = time.monotonic() + seconds + _GRACE
            return None
        ending: Completed[Any] | Crashed = message
        if isinstance(ending, Completed):
            self.memory = ending.memory
        elif ending.reason == OUT_OF_MEMORY:
            self.end()
        return ending

    def end(self) -> None:
        """Kill the process, with everything that it started, and remove its folder."""
        if self.running:
            self.running = False
            self.kill()
            self._connection.close()
            wait([self._process.sentinel], _GRACE)
            with _PROCESSES, contextlib.suppress(ValueError):
                self._process.join(0)
                self._process.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _crash(self, *, expired: bool = False) -> Crashed:
        """Return why there is no answer; the process is killed if it goes on."""
        # The connection may be closed shortly before the process ends.
        ended = wait([self._process.sentinel], _GRACE)
        with _PROCESSES:
            self._process.join(0)
            exitcode = self._process.exitcode if ended else None
        crash = _crash_of(self._folder, exitcode, self._timeout, expired=expired)
        self.end()
        return crash

    def kill(self) -> None:
        """Kill the process; the thread that uses it calls :meth:`end`."""
        with contextlib.suppress(OSError, ValueError):
            self._process.kill()
            if self._process.pid and hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _starting_python() -> Iterator[None]:
    """Prepare the start of a Python process by multiprocessing."""
    former = os.environ.copy()
    os.environ.update(_SETTINGS | former | _SAFE_PATH)
    masked = None
    if hasattr(signal, "pthread_sigmask"):
        # It unblocks signals as it starts: it must run before they are blocked.
        resource_tracker.ensure_running()
        # Ctrl-C goes to the whole process group. The fork server and workers ignore it
        # once they are ready, but would raise KeyboardInterrupt while they import.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if masked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        os.environ.clear()
        os.environ.update(former)


def _crash_of(folder: Path, exitcode: int | None, timeout: float, *, expired: bool) -> Crashed:
    """Return why a process gives no answer, and the end of its output.

    The exit code is negative for a signal, and None if the process goes on.
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
    how = f"ended with exit code {exitcode}"
    with contextlib.suppress(ValueError):
        if exitcode < 0:
            how = f"died: {signal.Signals(-exitcode).name}"
    why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in output else ""
    return Crashed(f"the process {how}{why}", output)


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


class _Task(Struct, eq=False):
    """A robot that is examined; see :meth:`Workers.examine_all`."""

    number: int
    arguments: tuple[object, ...]
    crashes: dict[str, Crashed]
    fresh: bool = False


def _called(
    function: Callable[..., _Result], arguments: tuple[object, ...], _: Mapping[str, Crashed]
) -> _Result:
    return function(*arguments)


class Workers:
    """The worker processes of a program, which end on leaving the block.

    Several threads may use it.

    Args:
        limits: Of each process.
        forked: Whether processes are forked on Linux. Otherwise they are spawned and
            import what a function needs, which is less than what the fork server imports.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, forked: bool = True) -> None:
        self.limits = limits
        # The fork server listens on a socket in the folder for temporary files.
        self._forked = forked and FORKS and len(tempfile.gettempdir()) <= _LONGEST_FOLDER
        self._opened = contextlib.ExitStack()
        self._folder = self._opened.enter_context(temporary_folder())
        self._numbers = itertools.count()
        self._closed = False
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the workers."""
        self.close()

    def close(self) -> None:
        """End all workers; calls of other threads raise ``CancelledError``."""
        self._closed = True
        for worker in tuple(self._workers):
            worker.kill()
        for worker in self._idle:
            worker.end()
        self._opened.close()

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float | None = None,
    ) -> _Result | Crashed:
        """Call a function in a worker, and return its result or how it crashed.

        Args:
            function: Can be imported by a child process, which does not import the main
                module. It has the environment and working directory of this process.
            arguments: Its arguments; they and the result can be pickled.
            timeout: Time limit [s]; by default that of these workers.
        """
        robot = function, arguments
        ((_, result),) = self.examine_all(_called, [robot], timeout=timeout)
        return result

    def examine(self, function: Callable[..., _Result], *arguments: object) -> _Result | Crashed:
        """Examine one robot; see :meth:`examine_all`."""
        ((_, result),) = self.examine_all(function, [arguments])
        return result

    def examine_all(
        self,
        function: Callable[..., _Result],
        robots: Iterable[tuple[object, ...]],
        jobs: int = 1,
        timeout: float | None = None,
    ) -> Generator[tuple[int, _Result | Crashed]]:
        """Call a function for each robot, several at the same time.

        Its last argument is how steps have ended its process before: a step that ends
        the process counts as crashed, and the function is called again in a new process,
        without it. If the process has served other robots, it is called again with that
        step first: answers do not depend on them.

        Args:
            function: As in :meth:`call`.
            robots: Its other arguments, for each robot.
            jobs: Robots at work at the same time.
            timeout: As in :meth:`call`; that of each step, if there are steps.

        Yields:
            The number of a robot, and what the function returns; or how the process
            ended, if not in a step. In the order in which they finish.
        """
        limit = timeout or self.limits.time
        waiting = deque(_Task(number, robot, {}) for number, robot in enumerate(robots))
        busy: dict[_Worker, _Task] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    task = waiting.popleft()
                    worker = self._take(fresh=task.fresh)
                    busy[worker] = task
                    worker.begin(function, *task.arguments, task.crashes, timeout=limit)
                for worker, ending in self._receive(busy):
                    task = busy.pop(worker)
                    if isinstance(ending, Completed):
                        self._release(worker)
                        yield task.number, ending.value
                        continue
                    self._end(worker)
                    alone = worker.calls == 1
                    if alone and (not worker.step or worker.step in task.crashes):
                        yield task.number, ending
                        continue
                    if alone:
                        task.crashes[worker.step] = ending
                    task.fresh = True
                    waiting.appendleft(task)
        finally:
            for worker in busy:
                self._end(worker)

    def _receive(
        self, workers: Collection[_Worker]
    ) -> list[tuple[_Worker, Completed[Any] | Crashed]]:
        """Wait for a message of any worker, or a time limit, and return calls that ended.

        Raises:
            CancelledError: The workers were closed.
        """
        seconds = min(worker.deadline for worker in workers) - time.monotonic()
        signals = [one for worker in workers for one in worker.signals]
        ready = wait(signals, max(seconds, 0.0))
        endings = [(worker, worker.receive(ready)) for worker in workers]
        if self._closed:
            raise CancelledError
        return [(worker, ending) for worker, ending in endings if ending is not None]

    def _take(self, *, fresh: bool) -> _Worker:
        """Return a worker; raise ``CancelledError`` if they are closed."""
        if self._closed:
            raise CancelledError
        if not fresh:
            with contextlib.suppress(IndexError):
                return self._idle.pop()
        folder = self._folder / str(next(self._numbers))
        worker = _Worker(folder, self.limits.memory, forked=self._forked)
        self._workers.add(worker)
        return worker

    def _release(self, worker: _Worker) -> None:
        """Keep a worker, or end it if it is used up."""
        if worker.calls >= _MOST_CALLS or worker.memory > _MOST_MEMORY:
            self._end(worker)
        else:
            self._idle.append(worker)

    def _end(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        worker.end()
