"""Versions of all packages that affect a result."""

from __future__ import annotations

import functools
import platform
from contextlib import suppress
from importlib import metadata

from urdf_usd.installation import distribution_of

DISTRIBUTION = "urdf-usd-conformance"

_DISTRIBUTIONS = (
    DISTRIBUTION,
    "usd-core",
    "mujoco",
    "pybullet",
    "numpy",
    "scipy",
    "lxml",
    "trimesh",
    "pycollada",
    "xacro",
    "cmeel-urdfdom",
    "newton-usd-schemas",
    "pin",
    "drake",
    "newton",
    "warp-lang",
    "robot-descriptions",
    "example-robot-data",
)


@functools.cache
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        if name == "pybullet" and (found := distribution_of(name)):
            versions.update([found])
        else:
            with suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name)
    return versions


def environment() -> dict[str, str]:
    return dict(_versions())
