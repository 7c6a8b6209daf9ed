"""Imports the engines of this project; only the fork server of workers imports this module.

They take a second to import. The fork server does so once, and every worker is forked
from it.
"""

import contextlib
import os
from importlib import import_module

# Engines print when they are imported, and a worker prints a traceback if the program
# ends while it starts: what workers print goes to files.
with open(os.devnull, "wb") as _nothing:  # noqa: PTH123  needs a descriptor
    os.dup2(_nothing.fileno(), 1)
    os.dup2(_nothing.fileno(), 2)
for _name in (
    "scipy.spatial",
    "urdf_usd.conformance.engines.mesh_scenes",
    "urdf_usd.conformance.execution.examine",
    "urdf_usd.conformance.engines.mujoco",
    "urdf_usd.conformance.engines.pybullet",
):
    import_module(_name)
# Their engines report why a library cannot be imported.
for _name in ("pinocchio", "pydrake.multibody.parsing", "pydrake.multibody.plant"):
    with contextlib.suppress(Exception):
        import_module(_name)
with contextlib.suppress(Exception):
    import_module("urdf_usd.conformance.engines.newton").load()
# What libraries initialise when they are first used. With another limit of the user's,
# OpenUSD could start threads, which a fork does not copy.
import_module("urdf_usd.conformance.engines.pybullet").world()
import_module("urdf_usd.conformance.engines.registry").names()
if os.environ.get("PXR_WORK_THREAD_LIMIT") == "1":
    _usd = import_module("pxr.Usd")
    _usd.SchemaRegistry()
    _usd.Stage.CreateInMemory()
