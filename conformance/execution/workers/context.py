"""Contexts of :mod:`multiprocessing` for workers, and the fork server.

On Linux, workers are forked from a fork server that has imported everything they need
(:mod:`urdf_usd.conformance.execution.workers.preloading`). On macOS and Windows they
are spawned, because system libraries there do not allow a fork after their import.

Workers do not import the main module of the program. Python's own contexts do: a
script without ``if __name__ == "__main__"`` would run again in each worker, and a
program on standard input would fail for want of a file.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker, spawn, util
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FunctionType
from typing import Any

from urdf_usd.converter.scratch import scratch_folder

# Whether workers are forked from a server that has everything imported.
FORKS = sys.platform == "linux"

# Modules whose import loads what workers need: all engines, or OpenUSD for an export.
FOR_ROBOTS = "urdf_usd.conformance.execution.workers.preloading"
FOR_USDS = "urdf_usd.conformance.execution.workers.preloading_usd"

# Keys of the preparation data that name the main module.
_MAIN_MODULE = ("init_main_from_name", "init_main_from_path")
_MAIN = "__main__"
# Of 107 bytes, 51 follow: ``/.urdf-usd-``, ``/pymp-`` and ``/listener-`` with eight
# characters each.
_LONGEST_SOCKET_FOLDER = 56
# multiprocessing removes its folder with priority -100.
_AFTER_SOCKETS = -200
_SHORT_FOLDER = "/tmp"  # noqa: S108  # the folder below it is made by mkdtemp
_SAFE_PATH = "PYTHONSAFEPATH"

_this_thread = threading.local()
_get_preparation_data = spawn.get_preparation_data


def _get_data_without_main_module(name: str) -> dict[str, Any]:
    data = _get_preparation_data(name)
    if getattr(_this_thread, "starts_worker", False):
        for key in _MAIN_MODULE:
            data.pop(key, None)
    return data


# multiprocessing has no option for this. Replacing `sys.modules["__main__"]` while a
# process starts would be visible to all threads of the user's program. This function
# runs in the thread that starts a process, so the flag affects our processes alone.
spawn.get_preparation_data = _get_data_without_main_module


class _WithoutMainModule(BaseProcess):
    """A process that does not import the main module."""

    def start(self) -> None:
        """Start it."""
        _this_thread.starts_worker = True
        try:
            super().start()
        finally:
            _this_thread.starts_worker = False


class _SpawnedProcess(_WithoutMainModule, SpawnProcess):
    pass


if sys.platform != "win32":
    from multiprocessing import forkserver
    from multiprocessing.context import ForkServerProcess

    class _ForkedProcess(_WithoutMainModule, ForkServerProcess):
        pass


def new_process(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> BaseProcess:
    """Return a process, not yet started, that will call a function.

    It is a daemon: Python stops it at exit if the pool has not.
    """
    made = _ForkedProcess if FORKS else _SpawnedProcess
    return made(target=function, args=arguments, daemon=True)


def start_loading(module: str = FOR_ROBOTS) -> None:
    """Start the fork server, which imports a module while this process goes on.

    A server that runs already stays as it is. On systems without one, does nothing.

    Args:
        module: Name of the module.
    """
    if not FORKS:
        return
    forkserver.set_forkserver_preload([module])
    _choose_socket_folder()
    with _safe_path():
        # The tracker unblocks signals as it starts: it must run before they are
        # blocked.
        resource_tracker.ensure_running()
        # Ctrl-C goes to the whole process group. The server ignores it once it is
        # ready, but would raise KeyboardInterrupt while it imports.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)


@functools.cache
def _choose_socket_folder() -> None:
    """Let multiprocessing make its sockets in a folder that is removed after a kill.

    multiprocessing keeps the folder that it makes first, and removes it at exit. Here
    it makes it in a temporary folder with a lock, or in one of /tmp if TMPDIR is too
    long: the path of a socket has at most 107 bytes on Linux.
    """
    opened = contextlib.ExitStack()
    folder = tempfile.gettempdir()
    parent = folder
    if len(os.fsencode(folder)) > _LONGEST_SOCKET_FOLDER:
        parent = _SHORT_FOLDER
    scratch = opened.enter_context(scratch_folder(Path(parent)))
    tempfile.tempdir = str(scratch)
    try:
        sockets = Path(util.get_temp_dir())
    finally:
        tempfile.tempdir = folder
    if sockets.parent == scratch:
        util.Finalize(None, opened.close, exitpriority=_AFTER_SOCKETS)
    else:
        # The program has used multiprocessing before.
        opened.close()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Let Python processes that start meanwhile import nothing from their folder.

    multiprocessing starts its helpers by ``python -c``, which would import a
    ``numpy.py`` of the working directory, often a folder of robots from elsewhere.
    Workers get the module path of this process afterwards.
    """
    former = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if former is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = former


class _CallPickler(ForkingPickler):
    """Refuses functions and classes of the main module, which workers do not have."""

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  # as in pickle
        """Refuse what a worker could not import."""
        if isinstance(value, FunctionType | type) and value.__module__ == _MAIN:
            raise ValueError(
                f"{value.__qualname__} is defined in {_MAIN}, which child "
                "processes do not import; define it in a module that they can import"
            )
        return NotImplemented


def pickle_call(*values: object) -> bytes:
    """Pickle what a worker is sent.

    Raises:
        ValueError: A function or class of the main module is among the values.
    """
    stream = io.BytesIO()
    _CallPickler(stream, -1).dump(values)
    return stream.getvalue()
