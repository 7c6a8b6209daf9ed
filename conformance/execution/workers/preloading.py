"""Imports all engines; only the fork server imports this module.

OpenUSD and the engines take a second to import. The fork server does so once, and every
worker is forked from it.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from importlib.util import find_spec

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.execution.workers import preloading_usd

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
    "urdf_usd.conformance.execution.coverage",
    "urdf_usd.conformance.execution.tasks",
    "urdf_usd.conformance.expectations.judgement",
    "urdf_usd.conformance.matching.labelling",
    "urdf_usd.conformance.promises.description",
    "urdf_usd.conformance.records.scene",
    "urdf_usd.conformance.tolerance.rollout",
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
    "urdf_usd.converter.usd.loading.variants",
    "urdf_usd.converter.usd.reader.read",
    "urdf_usd.converter.usd.profiles.newton",
    "urdf_usd.converter.usd.writer.meshes.surfaces",
)
_OPTIONAL = (
    "pinocchio",
    "pydrake.multibody.parsing",
    "pydrake.multibody.plant",
)

__all__ = ["preloading_usd"]

# Some engines print when they are imported.
with captured():
    for _name in _MODULES:
        import_module(_name)
    for _name in _OPTIONAL:
        if find_spec(_name.partition(".")[0]) is not None:
            # Its engine reports why a library cannot be imported.
            with contextlib.suppress(Exception):
                import_module(_name)
    # What libraries initialise when they are first used.
    import_module("urdf_usd.conformance.engines.registry").names()
    import_module("urdf_usd.conformance.engines.pybullet.loading").world()
    with contextlib.suppress(Exception):
        import_module("urdf_usd.conformance.engines.newton.model").load()
