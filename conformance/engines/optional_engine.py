"""Engines that need not be installed: whether they are, and how to have them."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

from urdf_usd.conformance.engines.protocol import Availability, Available, Unavailable

_DISTRIBUTION = "urdf-usd-conformance"


def optional_engine(module: str, distribution: str, extra: str) -> Availability:
    """Say whether an engine is installed, without importing it.

    Args:
        module: What its engine imports.
        distribution: What it is called on PyPI.
        extra: The extra of this project that brings it along.
    """
    if find_spec(module) is None:
        return Unavailable(
            f"{distribution} is not installed",
            f"pip install '{_DISTRIBUTION}[{extra}]'",
        )
    try:
        return Available(f"{distribution} {metadata.version(distribution)}")
    except metadata.PackageNotFoundError:
        # Built from source or by another package manager: it can be asked all the same.
        return Available(f"{distribution} of unknown version")
