"""How worker processes are started: by a fork server, or by spawning.

On Linux, workers are forked from the fork server of :mod:`multiprocessing`, which has
imported what they need. On macOS and Windows they are spawned, because system libraries
there do not allow a fork after their import. On Linux some are spawned as well: where
little is to be done, they import less than the fork server.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context, resource_tracker, spawn, util
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from urdf_usd.conformance.execution.limits import library_settings
from urdf_usd.converter.scratch import scratch_folder

if sys.platform != "win32":
    from multiprocessing import forkserver

# Whether workers are forked from a server.
FORKS = sys.platform == "linux"
_PRELOAD = "urdf_usd.conformance.execution.preload"
_WORKER = "urdf-usd worker"
# A socket's path has 107 bytes on Linux, of which 51 follow: ``/.urdf-usd-``,
# ``/pymp-`` and ``/listener-`` with eight characters each.
_LONGEST_SOCKET_FOLDER = 56
_SHORT_FOLDER = "/tmp"  # noqa: S108  # the folder below it is made by mkdtemp

_get_preparation_data = spawn.get_preparation_data


def _get_data_without_main_module(name: str) -> dict[str, Any]:
    data = _get_preparation_data(name)
    if name == _WORKER:
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


# A child process imports the main module again: a script without a guard would run
# once more in each worker, and a program on standard input has no file to import.
# multiprocessing has no option for this. Other processes of the user keep theirs.
spawn.get_preparation_data = _get_data_without_main_module


def start_process(
    function: Callable[..., object], *arguments: object, spawned: bool = False
) -> BaseProcess:
    """Start a process that calls a function.

    Python stops it at exit. It does not import the main module.

    Args:
        function: The function.
        arguments: Its arguments.
        spawned: Whether it is spawned also where others are forked.
    """
    forked = FORKS and not spawned
    if forked:
        start_loading()
    made = get_context("forkserver").Process if forked else get_context("spawn").Process
    process = made(target=function, args=arguments, name=_WORKER, daemon=True)
    with _starting_python() if FORKS and spawned else contextlib.nullcontext():
        process.start()
    return process


def start_loading() -> None:
    """Start the fork server, which imports modules while this process goes on.

    A server that runs already stays as it is. On systems without one, does nothing.
    """
    if not FORKS:
        return
    forkserver.set_forkserver_preload([_PRELOAD])
    _choose_socket_folder()
    with _starting_python():
        forkserver.ensure_running()


@contextlib.contextmanager
def _starting_python() -> Iterator[None]:
    """Prepare the start of a Python process by multiprocessing; not on Windows."""
    # multiprocessing starts its helpers by `python -c`, which would import a
    # `numpy.py` of the working directory, often a folder of robots from elsewhere.
    with _environment({**library_settings(), "PYTHONSAFEPATH": "1"}):
        # It unblocks signals as it starts: it must run before they are blocked.
        resource_tracker.ensure_running()
        # Ctrl-C goes to the whole process group. The fork server and workers ignore it
        # once they are ready, but would raise KeyboardInterrupt while they import.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    former = os.environ.copy()
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name)
        os.environ.update(former)


@functools.cache
def _choose_socket_folder() -> None:
    """Let multiprocessing make its sockets in a folder that is removed after a kill.

    It keeps the folder that it makes first: here within a temporary folder with a lock,
    or one of /tmp if TMPDIR is too long.
    """
    folder = tempfile.gettempdir()
    too_long = len(os.fsencode(folder)) > _LONGEST_SOCKET_FOLDER
    opened = contextlib.ExitStack()
    scratch = scratch_folder(Path(_SHORT_FOLDER if too_long else folder))
    tempfile.tempdir = str(opened.enter_context(scratch))
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = folder
    # multiprocessing removes its folder with priority -100.
    util.Finalize(None, opened.close, exitpriority=-200)
