"""Installed distributions, their versions, and how to install optional parts of this package."""

from __future__ import annotations

import functools
import platform
import re
from contextlib import suppress
from importlib import metadata

DISTRIBUTION = "urdf-usd-conformance"
# Those that affect a result.
_AFFECTING = (
    "usd-core mujoco pybullet numpy scipy lxml trimesh pycollada xacro cmeel-urdfdom "
    "newton-usd-schemas pin drake newton warp-lang robot-descriptions example-robot-data"
)
# As build tools write it: `ovphysx>=0.7; extra == "physx"`.
_OF_EXTRA = re.compile(r"""([^;]+);.*\bextra\s*==\s*['"]([^'"]+)['"]""")


@functools.cache
def distribution_of(module: str) -> tuple[str, str] | None:
    """Return name and version of the distribution that contains a top-level module."""
    try:
        return module, metadata.version(module)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(module)
    return (names[0], metadata.version(names[0])) if names else None


def install_command(extra: str) -> str:
    """Return the command that installs what an extra of this package requires.

    It names the requirements, not the package, which pip would look for on PyPI: it
    also works for a package from a checkout, a wheel file or a repository.
    """
    try:
        stated = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        stated = []
    found = [
        match[1].strip()
        for requirement in stated
        if (match := _OF_EXTRA.fullmatch(requirement)) and match[2] == extra
    ]
    requirements = found or [f"{DISTRIBUTION}[{extra}]"]
    return " ".join(("pip install", *(f"'{one}'" for one in requirements)))


@functools.cache
def environment() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect a result, by name."""
    versions = {"python": platform.python_version()}
    for name in (DISTRIBUTION, *_AFFECTING.split()):
        if name == "pybullet" and (found := distribution_of(name)):
            versions.update([found])
        else:
            with suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name)
    return versions
