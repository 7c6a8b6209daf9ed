"""Loads what reading a USD takes; imported by nothing but the fork server.

As :mod:`urdf_usd.conformance.execution.workers.preloading` does for all engines: no
thread may run in what is copied, so OpenUSD is kept to one.
"""

from __future__ import annotations

import os
from importlib import import_module

from urdf_usd.conformance.engines.native_output import captured

_THREADS_OF_OPENUSD = "PXR_WORK_THREAD_LIMIT"


def _load() -> None:
    import_module("urdf_usd.conformance.execution.export_process")
    # With a limit of the user's own, OpenUSD might start threads.
    if os.environ[_THREADS_OF_OPENUSD] == "1":
        usd = import_module("pxr.Usd")
        usd.SchemaRegistry()
        usd.Stage.CreateInMemory()


for _name in (_THREADS_OF_OPENUSD, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# OpenUSD says on the terminal that it is kept to one thread.
with captured():
    _load()
