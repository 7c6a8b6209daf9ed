"""Loads OpenUSD, for exports and robots; only the fork server imports this module."""

from __future__ import annotations

import os
from importlib import import_module

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.execution.workers.fork_server import (
    THREADS_OF_OPENUSD,
    prepare,
)

prepare()
# OpenUSD prints that it is limited to one thread.
with captured():
    import_module("urdf_usd.conformance.execution.conversions.export_process")
    # With another limit of the user's, OpenUSD could start threads.
    if os.environ[THREADS_OF_OPENUSD] == "1":
        _usd = import_module("pxr.Usd")
        _usd.SchemaRegistry()
        _usd.Stage.CreateInMemory()
