"""Loads OpenUSD, for exports and robots; only the fork server imports this module.

A fork copies no threads, so libraries are limited to one thread each: the work is
parallel over robots.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import TracebackType

from urdf_usd.conformance.engines.native_output import captured

_THREADS_OF_OPENUSD = "PXR_WORK_THREAD_LIMIT"
_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    _THREADS_OF_OPENUSD,
)


def _print_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback, except of a worker whose parent ended while it started."""
    if not issubclass(kind, FileNotFoundError | EOFError):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _print_error
for _name in _ONE_THREAD:
    os.environ.setdefault(_name, "1")
# MuJoCo would import OpenGL, which starts a process to find its library.
os.environ.setdefault("MUJOCO_GL", "disable")
# OpenUSD prints that it is limited to one thread.
with captured():
    import_module("urdf_usd.conformance.execution.conversions.export_process")
    # With another limit of the user's, OpenUSD could start threads.
    if os.environ[_THREADS_OF_OPENUSD] == "1":
        _usd = import_module("pxr.Usd")
        _usd.SchemaRegistry()
        _usd.Stage.CreateInMemory()
