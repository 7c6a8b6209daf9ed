"""The engine that all tests of PhysX use."""

from __future__ import annotations

import pytest

from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.protocol import Engine


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return the engine; tests are skipped where it is not installed."""
    return installed("physx")
