"""Imports all engines; only the fork server of a run imports this module.

OpenUSD and the engines take a second to import. The fork server does so once, and every
worker is forked from it.
"""

from __future__ import annotations

import contextlib
import os
from importlib import import_module

# Also what is imported where it is used, which would be in every worker again.
_MODULES = (
    "fast_simplification",
    "pxr.UsdValidation",
    "scipy.spatial",
    "urdf_usd.conformance.drawing.scenery",
    "urdf_usd.conformance.engines.mesh_files.collada",
    "urdf_usd.conformance.engines.mujoco.engine",
    "urdf_usd.conformance.engines.openusd.engine",
    "urdf_usd.conformance.engines.pybullet.engine",
    "urdf_usd.conformance.engines.reference.engine",
    "urdf_usd.conformance.execution.conversions.export_process",
    "urdf_usd.conformance.execution.coverage",
    "urdf_usd.conformance.execution.tasks",
    "urdf_usd.conformance.expectations.judgement",
    "urdf_usd.conformance.matching.labelling",
    "urdf_usd.conformance.promises.description",
    "urdf_usd.conformance.tolerance.sampling",
    "urdf_usd.conformance.verdict.judgement",
    "urdf_usd.converter.conversion",
    "urdf_usd.converter.inputs",
    "urdf_usd.converter.lint.linting",
    "urdf_usd.converter.meshes.collada.mesh",
    "urdf_usd.converter.meshes.gltf.mesh",
    "urdf_usd.converter.meshes.obj.mesh",
    "urdf_usd.converter.meshes.ply",
    "urdf_usd.converter.urdf.writer.write",
    "urdf_usd.converter.urdf.xacro.standalone",
    "urdf_usd.converter.usd.profiles.newton",
    "urdf_usd.converter.usd.writer.meshes.surfaces",
)
_OPTIONAL = ("pinocchio", "pydrake.multibody.parsing", "pydrake.multibody.plant")

for _name in _MODULES:
    import_module(_name)
# Their engines report why a library cannot be imported.
for _name in _OPTIONAL:
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
