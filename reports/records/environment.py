"""Versions of all packages that affect a result."""

from __future__ import annotations

import functools
import platform
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


def environment() -> dict[str, str]:
    """Return the versions of Python and of the installed packages, by name."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        if name == "pybullet" and (found := distribution_of(name)):
            versions.update([found])
            continue
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
