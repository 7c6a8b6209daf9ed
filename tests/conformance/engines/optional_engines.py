"""Optional engines; their tests are skipped if they are not installed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from urdf_usd.conformance.engines.drake import DrakeEngine
from urdf_usd.conformance.engines.mjcf_readers import with_drake, with_newton, with_pinocchio
from urdf_usd.conformance.engines.newton import NewtonEngine, NewtonUsdEngine
from urdf_usd.conformance.engines.physx import PhysxEngine
from urdf_usd.conformance.engines.pinocchio import PinocchioEngine
from urdf_usd.conformance.engines.protocol import Engine, Unavailable

ENGINES: dict[str, Callable[[], Engine]] = {
    "drake": DrakeEngine,
    "newton": NewtonEngine,
    "newton-usd": NewtonUsdEngine,
    "physx": PhysxEngine,
    "pinocchio": PinocchioEngine,
}
# Second readers of MJCF.
MJCF_READERS: dict[str, Callable[[], Engine]] = {
    "drake-mjcf": with_drake,
    "newton-mjcf": with_newton,
    "pinocchio-mjcf": with_pinocchio,
}


def installed(engine: Engine) -> Engine:
    """Return an engine; skip the test if it is not installed."""
    match engine.availability():
        case Unavailable(reason, remedy):
            pytest.skip(f"{reason}; {remedy}")
    return engine
