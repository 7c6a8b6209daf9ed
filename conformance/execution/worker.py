"""Worker processes: each takes calls one after the other, with limits of time and memory.

A step of a call may print, close or redirect the standard streams, change the environment and the
working directory, raise any exception, hang, exit, or take all memory. Whatever happens to
the process becomes a :class:`~urdf_usd.conformance.engines.protocol.Crashed` in the parent, which
knows the step that began last.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import gc
import os
import pickle
import pkgutil
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast

from msgspec import Struct

from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.options import DEFAULT_LIMITS, Limits
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, StageError
from urdf_usd.converter.scratch import temporary_folder

_Result = TypeVar("_Result")
# What a worker calls: a function, or ``package.module:function`` for a module that the parent
# does not import.
Called: TypeAlias = Callable[..., _Result] | str
_Errors: TypeAlias = type[Exception] | tuple[type[Exception], ...]

OUT_OF_MEMORY = "the memory limit was reached"

# The work is parallel over robots.
_SETTINGS = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PXR_WORK_THREAD_LIMIT": "1",
    # MuJoCo would import OpenGL, which starts a process to find its library.
    "MUJOCO_GL": "disable",
}
# A child finds the modules of its parent, and none of the working directory, often a
# folder of robots from elsewhere.
_PROGRAM = "import sys; sys.path[:] = {path}; from {module} import serve; serve({arguments})"
_MEBIBYTE = 1024 * 1024
_OUTPUT_END = 4000
_STDERR = 2
_PRINTED = "printed-by-worker.txt"
# What faulthandler prints at a time limit.
_EXPIRED = re.compile(r"^Timeout \([\d:.]+\)!$", re.MULTILINE)
# Folder for temporary files of steps, below that of the process.
_TEMPORARY = "temporary"
# For a process to start and to import what its first call needs [s].
_STARTING = 300.0
# How much later than its time limit a process is killed; it ends itself before, unless
# it was stopped [s].
_GRACE = 5.0
# Between looks whether a process has ended whose connection a child of it keeps [s].
_LOOK = 0.2
# With more memory [MiB], a worker ends after a call, with what it has cached or leaked. The engines
# and their libraries alone take 400 MiB.
_MOST_MEMORY = 1024
# Number of new objects after which the garbage collector looks for cycles.
_ALLOCATIONS = 50_000
# What C++ prints when nothing catches a failed allocation.
_ALLOCATION_FAILED = "std::bad_alloc"
# In tracebacks, the frames of this module and those below, and threads without others.
_OWN_FRAMES = re.compile(r'\n +File \S*execution.worker\.py", line \d+ in \w+(?:\n +File .*)*')
_OWN_THREAD = re.compile(r"(?:Current t|T)hread 0x\S+ \(most recent call first\):\n\n")


class ClusterError(Exception):
    """A cluster cannot be used; the message says why."""


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# The child's side.


class _Child:
    def __init__(self, connection: Connection, folder: Path, memory: int | None) -> None:
        self.connection = connection
        self.folder = folder  # for the output and temporary files of the process
        self.memory = memory  # limit that is not set yet [MiB]
        self.timeout = 0.0
        self.environment: dict[str, str] = {}  # of the program
        self.crashes: dict[str, Crashed] = {}  # how steps of the call ended former processes
        self.directory = ""
        self.output: IO[bytes] | None = None

    def answer(self, pickled: bytes) -> bytes:
        # This imports the function; the limits begin afterwards. A library for which there is no
        # memory may raise any error.
        called, arguments, self.crashes = pickle.loads(pickled)  # noqa: S301  of the own parent
        function = _resolved(called)
        if self.memory is not None and sys.platform == "linux":
            # The address space would be no measure: OpenUSD and the engines reserve a
            # gigabyte. What an engine prints goes to a file, so that its size is limited too.
            for limit in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
                soft, most = resource.getrlimit(limit)
                given = [one for one in (soft, most) if one != resource.RLIM_INFINITY]
                resource.setrlimit(limit, (min([self.memory * _MEBIBYTE, *given]), most))
            self.memory = None
        self.begin("")
        try:
            value = function(*arguments)
        except ConversionError as error:
            value = error
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        used_up = sys.platform == "linux" and peak > _MOST_MEMORY
        return pickle.dumps((value, used_up), pickle.HIGHEST_PROTOCOL)

    def begin(self, step: str) -> None:
        """Restore what a step may have changed, start the time limit, and send which begins."""
        environment = _SETTINGS | self.environment
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(self.directory)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        temporary = self.folder / _TEMPORARY
        temporary.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(temporary)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                stream.flush()
        # The next file would get the number of a standard stream that was closed.
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
            pass
        os.close(descriptor)
        former, self.output = self.output, (self.folder / _PRINTED).open("wb")
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            os.dup2(self.output.fileno(), descriptor)
            text = open(descriptor, "w", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, text)
        # Not to stream 2, which the function may redirect. The thread that watches the time is
        # native: it needs no lock of Python's, so it also ends a function that holds it.
        faulthandler.enable(self.output)
        try:
            faulthandler.dump_traceback_later(self.timeout, exit=True, file=self.output)
        except RuntimeError as error:
            raise MemoryError(*error.args) from error
        if former:
            with contextlib.suppress(OSError):
                former.close()
        self.connection.send(step)


_child: _Child | None = None


def own_folder() -> Path:
    """Return the folder of this worker, in which steps have no temporary files."""
    return _child.folder if _child else Path(tempfile.gettempdir())


def environment_of_program() -> dict[str, str]:
    """Return the environment without what is set for the libraries of a worker."""
    return _child.environment if _child else dict(os.environ)


def _attempt(
    function: Callable[..., _Result], *arguments: object, raises: _Errors = ()
) -> _Result | Crashed:
    """Call a function; whatever else it raises is a crash."""
    try:
        return function(*arguments)
    except raises:
        raise
    # Also SystemExit, KeyboardInterrupt and the panics of Rust, which are no Exception.
    except BaseException as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        if isinstance(error, MemoryError):
            reason = OUT_OF_MEMORY
        output = traceback.format_exc()
    folder = str(own_folder())
    return Crashed(_portable(reason, folder), _portable(output, folder)[-_OUTPUT_END:])


class Steps:
    """Runs the steps of one robot, one after the other, in this process.

    In a worker, each step has the time limit of a call, the parent is told that it
    begins, and what it prints is kept until the next one. Elsewhere, as in tests, steps
    are plain calls. Those in ``crashes``, by default what the parent says, are not run again.
    """

    def __init__(self, crashes: Mapping[str, Crashed] | None = None) -> None:
        self._crashes = (_child.crashes if _child else {}) if crashes is None else crashes
        self.crashed = bool(self._crashes)  # whether a step has crashed

    def call(
        self,
        step: str,
        function: Callable[..., _Result],
        *arguments: object,
        raises: _Errors = (),
    ) -> _Result | Crashed:
        """Call a function as a step, of a unique name; whatever else it raises is a crash.

        Raises:
            MemoryError: The limit was reached. What fills the memory may still be
                referred to, so that the process has to end.
        """
        if step in self._crashes:
            return self._crashes[step]
        if _child:
            _child.begin(step)
        ending = _attempt(function, *arguments, raises=raises)
        if isinstance(ending, Crashed):
            self.crashed = True
            if ending.reason == OUT_OF_MEMORY:
                raise MemoryError
        return ending


def serve(connection: int, life: int, folder: str, memory: int | None) -> None:
    """Serve calls of the parent in this process, within a limit of memory [MiB].

    Calls come from a descriptor; ``life`` is one of a pipe that closes when the parent ends.
    """
    global _child

    def _kill_when_parent_ends() -> None:
        os.read(life, 1)
        os.killpg(os.getpid(), signal.SIGKILL)

    threading.Thread(target=_kill_when_parent_ends, daemon=True).start()
    # Most objects are values without cycles: looking for cycles as often as by default takes
    # a twentieth of the time.
    gc.set_threshold(_ALLOCATIONS)
    _child = child = _Child(Connection(connection), Path(folder), memory)
    # The end of the connection: the parent closed it, and perhaps removed the folder.
    with contextlib.suppress(EOFError, FileNotFoundError, ConnectionError):
        while True:
            child.timeout, child.environment, child.directory, pickled = child.connection.recv()
            answer = _attempt(child.answer, pickled)
            if isinstance(answer, Crashed):
                answer = pickle.dumps(answer)
            child.connection.send_bytes(answer)
    os.killpg(os.getpid(), signal.SIGKILL)


# The parent's side.


class _Task(Struct, eq=False):
    number: int
    arguments: tuple[object, ...]
    crashes: dict[str, Crashed]
    fresh: bool = False


class _Worker:
    """A child process, which serves one call at a time until it ends."""

    def __init__(self, memory: int | None) -> None:
        self._ended = contextlib.ExitStack()
        self.folder = self._ended.enter_context(temporary_folder())
        self.calls = 0  # number of calls that it has served
        self.step = ""  # of the last call, that began last; empty before the first
        self.used_up = False
        self._timeout = self._deadline = 0.0  # the latter by the monotonic clock [s]
        self.connection, theirs = Pipe()
        numbers = theirs.fileno(), _life()[0]
        arguments = ", ".join(map(repr, (*numbers, str(self.folder), memory)))
        path = [*map(str, sys.path)]
        program = _PROGRAM.format(path=path, module=__name__, arguments=arguments)
        with theirs, (self.folder / _PRINTED).open("wb") as printed:
            # A session of its own: Ctrl-C goes to this program alone, and whatever the
            # functions start is in the group that is killed.
            self._process = subprocess.Popen(
                (sys.executable, "-P", "-c", program),
                env=_SETTINGS | os.environ,
                pass_fds=numbers,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )

    def begin(self, function: Called[object], task: _Task, timeout: float) -> None:
        """Begin a call; :meth:`receive` returns its end."""
        called = function, task.arguments, task.crashes
        pickled = pickle.dumps(called, pickle.HIGHEST_PROTOCOL)
        self.calls += 1
        self.step = ""
        self._timeout = timeout
        self._deadline = time.monotonic() + (_STARTING if self.calls == 1 else timeout + _GRACE)
        # If the process has ended, receiving tells.
        with contextlib.suppress(OSError):
            self.connection.send((timeout, dict(os.environ), str(Path.cwd()), pickled))

    def receive(self, ready: Iterable[object]) -> tuple[Any] | Crashed | None:
        """Return the result of the call, if it has come; ``ready`` is from :func:`wait`."""
        try:
            if self.connection in ready:
                message = self.connection.recv()
            # What the process started may keep the connection when it has ended.
            elif self._process.poll() is not None and not self.connection.poll():
                return self._crash()
            elif time.monotonic() < self._deadline:
                return None
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
                return self._crash(expired=True)
        except (EOFError, OSError):
            return self._crash()
        if isinstance(message, str):
            self.step = message
            self._deadline = time.monotonic() + self._timeout + _GRACE
            return None
        if isinstance(message, Crashed):
            return message
        value, self.used_up = message
        return (value,)

    def _crash(self, *, expired: bool = False) -> Crashed:
        """Return why the process gives no answer, and the end of its output."""
        exitcode = None
        # The connection may be closed shortly before the process ends.
        with contextlib.suppress(subprocess.TimeoutExpired):
            exitcode = self._process.wait(_GRACE)
        output = ""
        # What the process started may remove files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            with (self.folder / _PRINTED).open("rb") as stream:
                # More than what is kept: some of it is removed.
                most = 16 * _OUTPUT_END
                stream.seek(-min(most, stream.seek(0, os.SEEK_END)), os.SEEK_END)
                text = stream.read(most).decode(errors="replace").strip()
            text = _portable(text, str(self.folder))
            output = text[-_OUTPUT_END:]
            # Reading the frames of a thread that runs, for the traceback, may fault.
            ended = exitcode in {1, -signal.SIGSEGV, -signal.SIGBUS}
            expired = expired or (ended and bool(_EXPIRED.search(text)))
        if expired:
            return Crashed(f"no answer after {self._timeout:g} s", output)
        if exitcode is None:
            return Crashed("the process closed its connection", output)
        how = f"ended with exit code {exitcode}"
        with contextlib.suppress(ValueError):
            if exitcode < 0:
                how = f"died: {signal.Signals(-exitcode).name}"
        why = f"; {OUT_OF_MEMORY}" if _ALLOCATION_FAILED in output else ""
        return Crashed(f"the process {how}{why}", output)

    def end(self) -> None:
        """Kill the process, with everything that it started, and remove its folder."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self._ended.close()


# Idle processes, by the memory limit and the path of modules.
_idle: dict[tuple[int | None, tuple[str, ...]], list[_Worker]] = {}


@functools.cache
def _life() -> tuple[int, int]:
    """Return the ends of a pipe that closes when this program ends, however it ends."""
    return os.pipe()


def _taken(idle: list[_Worker]) -> _Worker | None:
    """Take an idle process, as other threads may, those of Dask; None if there is none."""
    with contextlib.suppress(IndexError):
        return idle.pop()
    return None


@atexit.register
def end_idle() -> None:
    """End the idle processes of this program."""
    while _idle:
        for worker in _idle.popitem()[1]:
            worker.end()


def _portable(text: str, folder: str) -> str:
    folders = {folder, os.path.join(folder, _TEMPORARY)}  # noqa: PTH118  text
    for place in sorted({*folders, *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(place + os.sep, "")
    text = re.sub(r"\n+Extension modules: .*", "", text)
    text = _OWN_THREAD.sub("", _OWN_FRAMES.sub("", text))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


def call(
    function: Called[_Result], *arguments: object, limits: Limits = DEFAULT_LIMITS
) -> _Result | ConversionError | Crashed:
    """Call a function in a worker; see :func:`call_all`."""
    ((_, result),) = call_all(function, [arguments], limits)
    return result


def call_all(
    function: Called[_Result],
    calls: Iterable[tuple[object, ...]],
    limits: Limits = DEFAULT_LIMITS,
    at_once: int = 1,
) -> Generator[tuple[int, _Result | ConversionError | Crashed]]:
    """Call a function in workers with several arguments, such as robots, some at the same time.

    A step that ends the process counts as crashed, and the function is called again in a
    new process, without it. If the process has served other calls, it is called again with
    that step first: answers do not depend on them. The child does not import the main
    module, and has the environment and working directory of this process.

    Yields:
        In the order in which they finish, the number of a call, and what the function
        returns, or the :class:`ConversionError` that it raises; or how the process
        ended, if not in a step.
    """
    waiting = deque(_Task(number, arguments, {}) for number, arguments in enumerate(calls))
    busy: dict[_Worker, _Task] = {}
    idle = _idle.setdefault((limits.memory, tuple(map(str, sys.path))), [])
    try:
        while waiting or busy:
            while waiting and len(busy) < at_once:
                task = waiting.popleft()
                worker = (None if task.fresh else _taken(idle)) or _Worker(limits.memory)
                busy[worker] = task
                worker.begin(function, task, limits.time)
            ready = wait([worker.connection for worker in busy], _LOOK)
            for worker in tuple(busy):
                ending = worker.receive(ready)
                if ending is None:
                    continue
                task = busy.pop(worker)
                if not isinstance(ending, Crashed):
                    if worker.used_up:
                        worker.end()
                    else:
                        idle.append(worker)
                    yield task.number, ending[0]
                    continue
                worker.end()
                if worker.calls > 1 or (worker.step and worker.step not in task.crashes):
                    if worker.calls == 1:
                        task.crashes[worker.step] = ending
                    task.fresh = True
                    waiting.appendleft(task)
                else:
                    yield task.number, ending
    finally:
        # One stays for the next calls of the program, as imports take a second.
        for worker in busy:
            worker.end()
        while len(idle) > 1 and (spare := _taken(idle)):
            spare.end()


def call_on_usd(
    function: Called[_Result],
    usd: str | os.PathLike[str],
    *arguments: object,
    limits: Limits = DEFAULT_LIMITS,
) -> _Result:
    """Call a function on a USD, its first argument, in a worker; print what OpenUSD printed.

    Raises:
        ConversionError: As raised by the function, with what OpenUSD printed about the cause;
            or a limit was exceeded.
    """
    captured_call: Called[tuple[_Result, str]] = _captured
    answer = call(captured_call, function, usd, *arguments, limits=limits)
    if isinstance(answer, ConversionError):
        raise answer
    if not isinstance(answer, Crashed):
        sys.stderr.write(answer[1])
        return answer[0]
    if limit := over_limits(usd, answer):
        raise StageError((limit,))
    bug = RuntimeError(answer.reason)
    bug.add_note(answer.output)
    raise bug


def _captured(function: Called[_Result], *arguments: object) -> tuple[_Result, str]:
    with captured() as printed:
        return _resolved(function)(*arguments), printed()


def _resolved(function: Called[_Result]) -> Callable[..., _Result]:
    if isinstance(function, str):
        return cast("Callable[..., _Result]", pkgutil.resolve_name(function))
    return function


def over_limits(usd: str | os.PathLike[str], crash: Crashed) -> Diagnostic | None:
    """Return the diagnostic of a limit or a native crash; None of exceptions, which are bugs."""
    limits = ("no answer after", "the process died", "the process ended")
    if not (OUT_OF_MEMORY in crash.reason or crash.reason.startswith(limits)):
        return None
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    return Diagnostic("stage-limits", message)
