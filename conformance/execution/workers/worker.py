"""One worker process, which serves calls with a limit of time.

Whatever a function does to its process becomes a
:class:`~urdf_usd.conformance.engines.protocol.Crashed`: an exception, an exit of any
code, a signal, a stop, a hang, running out of memory, an answer that cannot be pickled
or read.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from functools import partial
from importlib import import_module
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.context import start_process
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_TIMEOUT,
    library_settings,
)
from urdf_usd.conformance.execution.workers.serving import (
    OUT_OF_MEMORY,
    Completed,
    crash_reason,
    serve,
)

_Result = TypeVar("_Result")

# For a process to start, which waits until the fork server has imported everything [s].
_STARTING = 300.0
# How much later than its time limit a process is killed; it ends itself before, unless
# it was stopped [s].
_GRACE = 5.0
# multiprocessing polls all children of a process whenever it starts one; the exit code
# of a child is lost if two threads do so at the same time.
PROCESSES = threading.Lock()


class Worker:
    """A child process, which serves one call at a time until it ends.

    Made with :data:`PROCESSES` locked.

    Args:
        folder: Will be made; for output and temporary files of the process.
        memory: Memory limit of the process, in MiB; None for none.
        spawned: Whether it is spawned also where others are forked.

    Attributes:
        running: Whether the process waits for a further call.
        robots: Number of robots that it has served, counted by the pool.
        memory: Peak of its memory at its last answer [MiB].
    """

    def __init__(self, folder: Path, memory: int | None, *, spawned: bool = False) -> None:
        self.running = True
        self.robots = 0
        self.memory = 0
        self._folder = folder
        self._cancelled = False
        self._expired = False
        self._starting = _STARTING
        # The fork server has loaded the libraries of others with these settings, which
        # are not for the programs that they run.
        self._settings = library_settings() if spawned else {}
        self._connection, theirs = Pipe()
        arguments = theirs, str(folder), memory
        self._process = start_process(serve, *arguments, spawned=spawned)
        theirs.close()

    def call(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> Completed[_Result] | Crashed:
        """Call a function in the process, and wait for its end; see :meth:`begin`.

        Raises:
            CancelledError: :meth:`cancel` was called.
        """
        return self.begin(function, *arguments, timeout=timeout, variables=variables)()

    def begin(
        self,
        function: Callable[..., _Result],
        *arguments: object,
        timeout: float = DEFAULT_TIMEOUT,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> Callable[[], Completed[_Result] | Crashed]:
        """Begin to call a function in the process.

        Args:
            function: Can be imported by a child process, which does not import the main
                module. It has the environment and working directory of this process.
            arguments: Its arguments; they and the result can be pickled.
            timeout: Time limit [s]; the start of the process does not count.
            variables: Further environment variables.

        Returns:
            A function that waits for the end, called once, from any thread. It raises
            ``CancelledError`` if :meth:`cancel` was called.
        """
        # A process that is started at the same time has a variable of its own.
        with PROCESSES:
            environment = {**os.environ, **self._settings, **variables}
        header = timeout, environment, str(Path.cwd())
        call = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        starting, self._starting = self._starting, 0.0
        try:
            self._connection.send(header)
            self._connection.send_bytes(call)
        except OSError:
            return partial(self._crash, timeout)
        return partial(self._answer, timeout, starting)

    def _answer(self, timeout: float, starting: float) -> Completed[_Result] | Crashed:
        """Wait for an answer; the process is killed after the time limit.

        The first answer follows a message that the process has started.
        """
        try:
            if starting:
                self._receive(starting)
            answer = self._receive(timeout + _GRACE)
        except (EOFError, OSError):
            return self._crash(timeout)
        ending: Completed[_Result] | Crashed
        try:
            ending = _AnswerUnpickler(io.BytesIO(answer)).load()
        # What is raised is up to the classes of the values.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            reason = "".join(traceback.format_exception_only(error)).strip()
            ending = Crashed(f"the answer cannot be read: {reason}")
        if isinstance(ending, Completed):
            self.memory = ending.memory
        elif ending.reason == OUT_OF_MEMORY:
            # What fills the memory may still be referred to.
            self.end()
        return ending

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

    def _receive(self, seconds: float) -> bytes:
        """Wait for a message; raise EOFError or OSError if none will come."""
        # What the process started may keep the connection when it has ended.
        ready = wait([self._connection, self._process.sentinel], seconds)
        if not ready:
            self._expired = True
            self._kill()
        if self._connection not in ready:
            raise EOFError
        return self._connection.recv_bytes()

    def _crash(self, timeout: float) -> Crashed:
        """Return why there is no answer; the process is killed if it goes on."""
        # The connection may be closed shortly before the process ends.
        ended = wait([self._process.sentinel], _GRACE)
        with PROCESSES:
            self._process.join(0)
            exitcode = self._process.exitcode if ended else None
        crash = crash_reason(self._folder, exitcode, timeout, expired=self._expired)
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


class _AnswerUnpickler(pickle.Unpickler):
    """Imports our modules and numpy, of which observations have arrays.

    An answer may refer to a library that only its engine loads.
    """

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  # as in pickle
        package = module.partition(".")[0]
        if module not in sys.modules:
            if package not in {"numpy", "urdf_usd"}:
                raise pickle.UnpicklingError(f"{module}.{name} is not known here")
            # Threads that begin with different modules of one package wait for each
            # other; Python then gives one of them a module that is half imported.
            import_module(package)
        return super().find_class(module, name)
