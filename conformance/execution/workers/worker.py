"""Worker processes that serve calls, with limits of time and memory.

Whatever a function does to its process becomes a
:class:`~urdf_usd.conformance.engines.protocol.Crashed`: an exception, an exit of any
code, a signal, a stop, a hang, running out of memory, an answer that cannot be pickled
or read. The process is then killed with everything that it started, and the next call
starts a new one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers import context
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_LIMITS,
    DEFAULT_TIMEOUT,
)
from urdf_usd.conformance.execution.workers.serving import (
    BEGUN,
    COMPLETED,
    CRASHED,
    OUT_OF_MEMORY,
    Completed,
    crash_reason,
    output_tail,
    serve,
)
from urdf_usd.converter.scratch import temporary_folder

_Result = TypeVar("_Result")

# For a process to start, which waits until the fork server has imported everything [s].
_STARTING = 300.0
# How much later than its time limit a process is killed; it ends itself before [s].
_GRACE = 5.0
# For the next part of a message to pass [s].
_PASSING = 60
# multiprocessing polls all children of a process whenever it starts one; the exit code
# of a child is lost if two threads do so at the same time.
_PROCESSES = threading.Lock()


def pack_call(function: Callable[..., object], arguments: tuple[object, ...]) -> bytes:
    """Pickle a call, with the environment and working directory of this process.

    Raises:
        ValueError: A function or class of the main module is part of it.
    """
    return context.pickle_call(dict(os.environ), str(Path.cwd()), function, arguments)


class Worker:
    """One child process at a time, which serves one call at a time.

    Made by :meth:`WorkerPool.worker`; used by one thread at a time.

    Args:
        folder: Will be made; for output and temporary files of the process.
        memory: Memory limit of the process, in MiB; None for none.
        closed: Set when the pool is closed.
    """

    def __init__(
        self, folder: Path, memory: int | None, closed: threading.Event
    ) -> None:
        self._folder = folder
        self._memory = memory
        self._closed = closed
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed[_Result] | Crashed:
        """Call a function in the process, and wait for its end.

        Args:
            function: Can be imported by a child process.
            arguments: Its arguments; they and the result can be pickled.
            timeout: Time limit [s]; the start of the process does not count.

        Raises:
            CancelledError: The pool was closed meanwhile.
            ValueError: The function or an argument is defined in the main module.
        """
        return self.start(function, *arguments, timeout=timeout).result()

    def start(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Pending[_Result]:
        """Begin a call as :meth:`call` does, and do not wait."""
        return self.send(pack_call(function, arguments), timeout)

    def send(
        self,
        call: bytes,
        timeout: float,
        *,
        in_steps: bool = False,
        largest: int | None = None,
    ) -> Pending[_Result]:
        """Begin a call made by :func:`pack_call`.

        Args:
            call: The call.
            timeout: Time limit [s].
            in_steps: Whether the function takes its
                :class:`~urdf_usd.conformance.execution.workers.serving.Link` as its
                first argument.
            largest: Largest size of the answer [bytes]; a larger one is a crash.
        """
        if self._process is None:
            self._start_process()
        # The process may have ended after its last answer; `receive` finds that out.
        with contextlib.suppress(OSError):
            self._open_connection().send((timeout, in_steps, largest))
            self._open_connection().send_bytes(call)
        return Pending(self, timeout)

    def reply(self, message: bytes) -> None:
        """Send a message to a function that works in steps."""
        with contextlib.suppress(OSError):
            self._open_connection().send_bytes(message)

    def receive(self, timeout: float, shown: float) -> bytes | Crashed:
        """Wait for a message; the process is killed if there is none.

        Args:
            timeout: How long to wait [s].
            shown: Time limit of the call, for the reason of a crash [s].
        """
        process, connection = self._process, self._open_connection()
        assert process is not None  # noqa: S101  # started with the connection
        ready = wait([connection, process.sentinel], timeout)
        if connection in ready:
            with contextlib.suppress(EOFError, OSError):
                return connection.recv_bytes()
            # It has ended; or it closed the connection, or stopped, and is there.
            if not wait([process.sentinel], _GRACE):
                self.stop()
                return Crashed("the process closed its connection", self.output_tail())
        if self._closed.is_set():
            self.stop()
            raise CancelledError
        exitcode = None
        if wait([process.sentinel], 0):
            with _PROCESSES:
                process.join(0)
                exitcode = process.exitcode
        self.stop()
        return crash_reason(exitcode, str(self._folder), shown)

    def stop(self) -> None:
        """Kill the process, with everything that it started, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        self._open_connection().close()
        wait([process.sentinel], _PASSING)
        with _PROCESSES, contextlib.suppress(ValueError):
            process.join(0)
            process.close()

    def kill(self) -> None:
        """Kill the process for the pool; the thread that uses it cleans up."""
        process = self._process
        if process is not None:
            _kill(process)

    def remove(self) -> None:
        """Stop the process, and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def output_tail(self) -> str:
        """Return the end of what the process printed."""
        return output_tail(str(self._folder))

    def _start_process(self) -> None:
        here, there = Pipe()
        _limit_passing(here)
        made = context.new_process(serve, (there, str(self._folder), self._memory))
        with _PROCESSES:
            if self._closed.is_set():
                raise CancelledError
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
            made.start()
            self._process, self._connection = made, here
        there.close()

    def _open_connection(self) -> Connection:
        assert self._connection is not None  # noqa: S101  # there is a process
        return self._connection


class Pending(Generic[_Result]):
    """A call that has begun; made by :meth:`Worker.start`."""

    def __init__(self, worker: Worker, timeout: float) -> None:
        self.timeout = timeout
        self._worker = worker
        self._limit = _STARTING

    def result(self) -> Completed[_Result] | Crashed:
        """Wait for the end of the call.

        Raises:
            CancelledError: The pool was closed meanwhile.
        """
        return cast("Completed[_Result] | Crashed", self.decode(self.answer()))

    def decode(self, answer: bytes) -> object:
        """Read an answer; one that cannot be read is a crash."""
        try:
            return pickle.loads(memoryview(answer)[1:])  # noqa: S301  # of our child
        # What is raised is up to the classes of the values.
        except Exception as error:  # noqa: BLE001
            self._worker.stop()
            return Crashed(f"the answer cannot be read: {error!r}")

    def answer(self) -> bytes:
        """Wait for the end of the call; return :data:`COMPLETED` or :data:`CRASHED`."""
        while (message := self.next_message())[:1] not in {COMPLETED, CRASHED}:
            continue
        return message

    def next_message(self) -> bytes:
        """Wait for the next message; the end of the process is one of a crash."""
        while True:
            received = self._worker.receive(self._limit, self.timeout)
            if isinstance(received, Crashed):
                return CRASHED + pickle.dumps(received)
            if received[:1] == BEGUN:
                self.restart_clock(self.timeout)
                continue
            if received[:1] == CRASHED and _reason(received) == OUT_OF_MEMORY:
                # What fills the memory may still be referred to.
                self._worker.stop()
            return received

    def restart_clock(self, timeout: float) -> None:
        """Give the function this time from now on [s]."""
        self.timeout = timeout
        self._limit = timeout + _GRACE


class WorkerPool:
    """Starts workers and stops them on leaving; safe to use from threads.

    Args:
        memory: Memory limit of a process, in MiB; None for none.
        loaded: Module whose import loads what functions need; the first pool of a
            program decides.
    """

    def __init__(
        self,
        memory: int | None = DEFAULT_LIMITS.memory,
        loaded: str = context.FOR_ROBOTS,
    ) -> None:
        self.memory = memory
        self._opened = contextlib.ExitStack()
        self._folder = self._opened.enter_context(temporary_folder())
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._count = 0
        self._used: set[Worker] = set()
        # Where processes are not forked they take a second to start, and are kept.
        self._idle: dict[str, list[Worker]] = {}
        context.start_loading(loaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop all workers; calls that are not done raise ``CancelledError``."""
        self.close()

    def close(self) -> None:
        """Stop all workers; calls that are not done raise ``CancelledError``."""
        # No process is started once the lock was free.
        with _PROCESSES:
            self._closed.set()
        with self._lock:
            used = tuple(self._used)
            idle = [worker for kept in self._idle.values() for worker in kept]
        for worker in (*used, *idle):
            worker.kill()
        for worker in idle:
            worker.stop()
        self._opened.close()

    @contextlib.contextmanager
    def worker(self, purpose: str = "any") -> Iterator[Worker]:
        """Have a worker for the block.

        Args:
            purpose: Workers of one purpose may be used again for it.
        """
        with self._lock:
            kept = self._idle.get(purpose)
            worker = kept.pop() if kept else self._new_worker()
            self._used.add(worker)
        try:
            yield worker
        finally:
            if context.FORKS or not worker.running or self._closed.is_set():
                worker.remove()
            else:
                with self._lock:
                    self._idle.setdefault(purpose, []).append(worker)
            with self._lock:
                self._used.discard(worker)

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed[_Result] | Crashed:
        """Call a function as :meth:`Worker.call` does, in a process of its own."""
        with self.worker() as worker:
            return worker.call(function, *arguments, timeout=timeout)

    def _new_worker(self) -> Worker:
        self._count += 1
        folder = self._folder / str(self._count)
        return Worker(folder, self.memory, self._closed)


def _limit_passing(connection: Connection) -> None:
    """Let reading and writing fail where the other process stops within a message."""
    # Pipes of Windows have no such limit.
    if os.name == "posix":
        with socket.socket(fileno=os.dup(connection.fileno())) as shared:
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                limit = struct.pack("ll", _PASSING, 0)
                shared.setsockopt(socket.SOL_SOCKET, option, limit)


def _kill(process: BaseProcess) -> None:
    # It may be closed by the thread that uses it, or not started yet.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        process.kill()
        if process.pid and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)


def _reason(message: bytes) -> str:
    crash = pickle.loads(message[1:])  # noqa: S301  # of our child process
    return crash.reason if isinstance(crash, Crashed) else ""
