"""Engines, skipped where they are not installed, and requests to read small URDFs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.protocol import Engine, Request, Unavailable
from urdf_usd.conformance.observation.robot import Configurations

DEVIATIONS = Path(__file__).parents[2] / "data/deviations"
STORED = Path(__file__).with_name("urdfs.json")
CASES: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
# Oblique axes and origins; a slide along y that carries a pendulum.
ARM, PENDULUM = ("\n".join(CASES[name]["urdf"]) for name in ("oblique arm", "pendulum on a cart"))
AT_REST = Configurations((), (), ("zero",))


def installed(name: str) -> Engine:
    """Return an engine; skip the test if it is not installed."""
    engine = protocol.engine(name)
    match engine.availability():
        case Unavailable(reason, remedy):
            pytest.skip(f"{reason}; {remedy}")
    return engine


def deviation(name: str) -> str:
    return (DEVIATIONS / f"{name}.urdf").read_text()


def request(folder: Path, text: str, **positions: object) -> Request:
    """Request to read ``text``, written into ``folder``, at (K, d) or (K,) positions by joint."""
    path = folder / "robot.urdf"
    path.write_text(text)
    arrays = [np.asarray(values, dtype=np.float64) for values in positions.values()]
    columns = tuple(array.reshape(len(array), -1) for array in arrays)
    count = len(columns[0]) if columns else 1
    labels = ("zero", *(f"sample {index}" for index in range(count - 1)))
    return Request(str(path), Configurations(tuple(positions), columns, labels))
