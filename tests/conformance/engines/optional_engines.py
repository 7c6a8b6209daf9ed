"""Optional engines; their tests are skipped if they are not installed."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.protocol import Engine, Unavailable

# Second readers of MJCF.
MJCF_READERS = ("drake-mjcf", "newton-mjcf", "pinocchio-mjcf")


def installed(name: str) -> Engine:
    """Return an engine; skip the test if it is not installed."""
    engine = protocol.engine(name)
    match engine.availability():
        case Unavailable(reason, remedy):
            pytest.skip(f"{reason}; {remedy}")
    return engine
