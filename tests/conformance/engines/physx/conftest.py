"""The engine that all tests of PhysX use."""

from __future__ import annotations

import pytest

from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.physx import PhysxEngine


@pytest.fixture(scope="module")
def engine() -> PhysxEngine:
    """Return the engine; tests are skipped where it is not installed."""
    return PhysxEngine(installed(PhysxEngine()).name)
