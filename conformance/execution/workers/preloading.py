"""Imports all engines; only the fork server imports this module.

OpenUSD and the engines take a second to import. The fork server does so once, and every
worker is forked from it. A fork copies no threads, so libraries are limited to one
thread each: the work is parallel over robots.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.execution.fingerprint import code_hash
from urdf_usd.conformance.records.environment import environment

_THREADS_OF_OPENUSD = "PXR_WORK_THREAD_LIMIT"
_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    _THREADS_OF_OPENUSD,
)
_OURS = (
    "urdf_usd.conformance.cli.main",
    "urdf_usd.conformance.execution.examination",
    "urdf_usd.conformance.tolerance.sampling",
    "urdf_usd.conformance.drawing.scenery",
    "urdf_usd.conformance.engines.mujoco.engine",
    "urdf_usd.conformance.engines.pybullet.engine",
    "urdf_usd.conformance.engines.reference.engine",
    "urdf_usd.conformance.engines.openusd.engine",
)
# Imported where they are used, which would be in every worker again.
_LOADED_LATE = (
    "collada",
    "urdf_usd.conformance.engines.mesh_files.collada",
    "urdf_usd.converter.meshes.collada.mesh",
    "urdf_usd.converter.meshes.gltf.mesh",
    "urdf_usd.converter.meshes.obj.mesh",
    "urdf_usd.converter.meshes.ply",
    "urdf_usd.converter.usd.writer.meshes.surfaces",
    "fast_simplification",
    "lxml.etree",
    "pybullet",
    "pxr.UsdShade",
    "pxr.UsdUtils",
    "pxr.UsdValidation",
    "scipy.stats",
    "tinyobjloader",
    "trimesh",
)
_OPTIONAL = (
    "newton",
    "pinocchio",
    "pydrake.multibody.parsing",
    "pydrake.multibody.plant",
)


def _load() -> None:
    for name in (*_OURS, *_LOADED_LATE):
        import_module(name)
    for name in _OPTIONAL:
        if find_spec(name.partition(".")[0]) is not None:
            # Its engine reports why a library cannot be imported.
            with contextlib.suppress(Exception):
                import_module(name)


def _use() -> None:
    """Trigger what libraries initialise when they are first used."""
    import_module("scipy.stats").qmc.Sobol(1)
    import_module("urdf_usd.conformance.engines.registry").names()
    import_module("urdf_usd.conformance.engines.pybullet.loading").world()
    # With another limit of the user's, OpenUSD could start threads.
    if os.environ[_THREADS_OF_OPENUSD] == "1":
        usd = import_module("pxr.Usd")
        usd.SchemaRegistry()
        usd.Stage.CreateInMemory()


def _print_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback, except of a worker whose parent ended while it started."""
    if not issubclass(kind, FileNotFoundError | EOFError):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _print_error
for _name in _ONE_THREAD:
    os.environ.setdefault(_name, "1")
# Versions are those of what was imported, also if the files change meanwhile.
environment()
code_hash()
# Some engines print when they are imported.
with captured():
    _load()
    _use()
