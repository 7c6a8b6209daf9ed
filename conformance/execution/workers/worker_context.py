"""Contexts of :mod:`multiprocessing` whose processes never import the main module.

A process that is spawned, or forked by a fork server, imports the main module of its
parent, so that it finds the functions that are defined there. For a script without
``if __name__ == "__main__"`` that means to run it again, and for a program on standard
input to look for a file ``<stdin>``. Our tasks are functions of this package: workers
need nothing of the main module.
"""

from __future__ import annotations

import io
import sys
import threading
from multiprocessing import spawn
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

# What the preparation data call the main module, started by name or as a file.
_MAIN_MODULE = ("init_main_from_name", "init_main_from_path")
_MAIN = "__main__"
_this_thread = threading.local()


_prepare = spawn.get_preparation_data


def _prepare_without_main_module(name: str) -> dict[str, Any]:
    """Return what a new process is told; ours are not told of the main module."""
    preparation = _prepare(name)
    if getattr(_this_thread, "starts_worker", False):
        for key in _MAIN_MODULE:
            preparation.pop(key, None)
    return preparation


# multiprocessing has no option for this, and takes the main module from `sys.modules`.
# To put another one there, or to hide its `__file__` and `__spec__`, while a process
# starts would be seen by all threads of the user's program: processes that they start,
# and objects of the main module that they pickle, would fail now and then. This
# function is called in the thread that starts a process; so what is left out is left
# out of our own processes alone, nothing has to be restored, and no lock is needed.
spawn.get_preparation_data = _prepare_without_main_module


class _Worker(BaseProcess):
    """A process that does not import the main module."""

    def start(self) -> None:
        """Start it."""
        _this_thread.starts_worker = True
        try:
            super().start()
        finally:
            _this_thread.starts_worker = False


class _SpawnedWorker(_Worker, SpawnProcess):
    pass


class _SpawnContext(SpawnContext):
    Process = _SpawnedWorker


if sys.platform != "win32":
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class _ForkedWorker(_Worker, ForkServerProcess):
        pass

    class _ForkServerContext(ForkServerContext):
        Process = _ForkedWorker


def spawn_context() -> BaseContext:
    """Return a context whose processes are started from nothing."""
    return _SpawnContext()


def fork_server_context() -> BaseContext:
    """Return a context whose processes are copies of a fork server; not on Windows."""
    return _ForkServerContext()


class _ReferencePickler(ForkingPickler):
    """Looks at everything that is pickled by the name of its module."""

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  # as in pickle
        """Refuse what a worker will not find; leave all else to the usual ways."""
        if isinstance(value, FunctionType | type) and value.__module__ == _MAIN:
            raise ValueError(
                f"{value.__qualname__} is defined in {_MAIN}, which child "
                "processes do not import; define it in a module that they can import"
            )
        return NotImplemented


def require_importable(*values: object) -> None:
    """Find out whether our processes can be given some values.

    Raises:
        ValueError: A function or class of the main module is, or is part of, a value.
    """
    _ReferencePickler(io.BytesIO()).dump(values)
