"""Imports OpenUSD for an export; only the fork server imports this module.

OpenUSD is limited to one thread, as in
:mod:`urdf_usd.conformance.execution.workers.preloading`.
"""

from __future__ import annotations

import os
from importlib import import_module

from urdf_usd.conformance.engines.native_output import captured

_THREADS_OF_OPENUSD = "PXR_WORK_THREAD_LIMIT"


def _load() -> None:
    import_module("urdf_usd.conformance.execution.export_process")
    # With another limit of the user's, OpenUSD could start threads.
    if os.environ[_THREADS_OF_OPENUSD] == "1":
        usd = import_module("pxr.Usd")
        usd.SchemaRegistry()
        usd.Stage.CreateInMemory()


for _name in (_THREADS_OF_OPENUSD, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# OpenUSD prints that it is limited to one thread.
with captured():
    _load()
