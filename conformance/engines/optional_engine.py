"""Availability of optional engines, and how to install them."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

from urdf_usd.conformance.engines.protocol import Availability, Available, Unavailable
from urdf_usd.installation import install_command


def optional_engine(module: str, distribution: str, extra: str) -> Availability:
    """Return whether an engine is installed, without importing it.

    Args:
        module: Module that the engine imports.
        distribution: Its distribution on PyPI.
        extra: The extra of this project that installs it.
    """
    if find_spec(module) is None:
        return Unavailable(f"{distribution} is not installed", install_command(extra))
    try:
        return Available(f"{distribution} {metadata.version(distribution)}")
    except metadata.PackageNotFoundError:
        # Built from source or installed by another package manager.
        return Available(f"{distribution} of unknown version")
