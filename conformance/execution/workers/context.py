"""How worker processes are started: by a fork server, or by spawning.

On Linux, workers are forked from the fork server of :mod:`multiprocessing`, which has
imported everything that they need. On macOS and Windows they are spawned, because
system libraries there do not allow a fork after their import.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import get_context, resource_tracker, spawn, util
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from urdf_usd.converter.scratch import scratch_folder

if sys.platform != "win32":
    from multiprocessing import forkserver

# Whether workers are forked from a server that has everything imported.
FORKS = sys.platform == "linux"

# Modules whose import loads what workers need: for many robots all that any of them may
# need; what the check of one robot needs; OpenUSD for an export.
FOR_ROBOTS = "urdf_usd.conformance.execution.workers.preloading"
FOR_CHECK = "urdf_usd.conformance.execution.workers.preloading_check"
FOR_USDS = "urdf_usd.conformance.execution.workers.preloading_usd"

_WORKER = "urdf-usd worker"
# Of 107 bytes, 51 follow: ``/.urdf-usd-``, ``/pymp-`` and ``/listener-`` with eight
# characters each.
_LONGEST_SOCKET_FOLDER = 56
# multiprocessing removes its folder with priority -100.
_AFTER_SOCKETS = -200
_SHORT_FOLDER = "/tmp"  # noqa: S108  # the folder below it is made by mkdtemp
_SAFE_PATH = "PYTHONSAFEPATH"

_get_preparation_data = spawn.get_preparation_data


def _get_data_without_main_module(name: str) -> dict[str, Any]:
    data = _get_preparation_data(name)
    if name == _WORKER:
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


# A child process imports the main module again: a script without a guard would run
# once more in each worker, and a program on standard input has no file to import.
# multiprocessing has no option for this. The names of processes tell ours from those
# of the user, who may start some in other threads.
spawn.get_preparation_data = _get_data_without_main_module


def new_process(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> BaseProcess:
    """Return a process, not yet started, that will call a function.

    It is a daemon: Python stops it at exit if the pool has not. It does not import the
    main module.
    """
    made = get_context("forkserver").Process if FORKS else get_context("spawn").Process
    return made(target=function, args=arguments, name=_WORKER, daemon=True)


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
    safe = os.environ.get(_SAFE_PATH)
    # multiprocessing starts its helpers by `python -c`, which would import a
    # `numpy.py` of the working directory, often a folder of robots from elsewhere.
    # Workers get the module path of this process afterwards.
    os.environ[_SAFE_PATH] = "1"
    try:
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
    finally:
        os.environ.pop(_SAFE_PATH)
        if safe is not None:
            os.environ[_SAFE_PATH] = safe


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
