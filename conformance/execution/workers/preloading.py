"""Imports all engines; only the fork server of a run imports this module.

OpenUSD and the engines take a second to import. The fork server does so once, and every
worker is forked from it.
"""

from __future__ import annotations

import contextlib
import os
from importlib import import_module

# Those that take more than 10 ms: a worker imports the others once for many robots.
_MODULES = (
    "scipy.spatial",
    "urdf_usd.conformance.engines.mesh_files.collada",
    "urdf_usd.conformance.engines.mujoco.engine",
    "urdf_usd.conformance.engines.openusd.engine",
    "urdf_usd.conformance.engines.pybullet.engine",
    "urdf_usd.conformance.execution.conversions.export_process",
    "urdf_usd.conformance.matching",
    "urdf_usd.conformance.verdict.judgement",
    "urdf_usd.converter.conversion",
    "urdf_usd.converter.lint.linting",
)

for _name in _MODULES:
    import_module(_name)
# Their engines report why a library cannot be imported.
for _name in ("pinocchio", "pydrake.multibody.parsing", "pydrake.multibody.plant"):
    with contextlib.suppress(Exception):
        import_module(_name)
with contextlib.suppress(Exception):
    import_module("urdf_usd.conformance.engines.newton.model").load()
# What libraries initialise when they are first used. With another limit of the user's,
# OpenUSD could start threads, which a fork does not copy.
import_module("urdf_usd.conformance.engines.pybullet.loading").world()
if os.environ.get("PXR_WORK_THREAD_LIMIT") == "1":
    _usd = import_module("pxr.Usd")
    _usd.SchemaRegistry()
    _usd.Stage.CreateInMemory()
