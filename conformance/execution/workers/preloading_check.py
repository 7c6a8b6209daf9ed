"""Imports what several workers of one check need; the fork server imports it alone.

Each engine is loaded by its own worker, at the same time as the others, and while the
URDF is read. What a robot may not need, such as mesh libraries and scipy.spatial, is
loaded by the worker that needs it.
"""

from __future__ import annotations

from importlib import import_module

from urdf_usd.conformance.execution.workers.fork_server import prepare

_MODULES = (
    # MuJoCo computes the motion of what other engines read.
    "urdf_usd.conformance.engines.mujoco.model",
    "urdf_usd.conformance.execution.tasks",
    "urdf_usd.converter.robot.model",
)

prepare()
for _name in _MODULES:
    import_module(_name)
# Reads the metadata of packages.
import_module("urdf_usd.conformance.engines.registry").names()
