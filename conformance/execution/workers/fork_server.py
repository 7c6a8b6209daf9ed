"""Settings of the fork server and of workers, made before libraries are loaded.

A fork copies no threads, so libraries are limited to one thread each: the work is
parallel over robots, or over engines.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

THREADS_OF_OPENUSD = "PXR_WORK_THREAD_LIMIT"
_SETTINGS = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    THREADS_OF_OPENUSD: "1",
    # MuJoCo would import OpenGL, which starts a process to find its library.
    "MUJOCO_GL": "disable",
}


def library_settings() -> dict[str, str]:
    """Return the environment variables of libraries that the user has not set."""
    return {name: to for name, to in _SETTINGS.items() if name not in os.environ}


def prepare() -> None:
    """Prepare this process, the fork server, for the import of libraries."""
    sys.excepthook = _print_error
    os.environ.update(library_settings())


def _print_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback, except of a worker whose parent ended while it started."""
    if not issubclass(kind, FileNotFoundError | EOFError):
        sys.__excepthook__(kind, error, trace)
