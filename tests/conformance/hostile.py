"""An engine and a converter that misbehave, installed as a package of somebody else.

What they do to their process is the stem of the URDF that they read: a kind of
:mod:`tests.conformance.misbehaviour`. Otherwise, and with ``SPARE`` in the environment,
the engine abstains. Hangs reach their time limit at once, unless ``PATIENT`` is in the
environment. With ``LINGER``, a folder, the engine leaves a file there for each robot,
named after it and ``PLACE``, and waits for one called ``go``.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import cast

from tests.conformance import misbehaviour
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Available,
    Request,
    Side,
)
from urdf_usd.conformance.observation.robot import Observation


def install(site: Path) -> dict[str, str]:
    """Install both into a folder; return an environment in which they are found."""
    metadata = site / "hostile-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[urdf_usd.engines]\nhostile = {__name__}:Hostile\n"
        f"[urdf_usd.converters]\nhostile = {__name__}:convert\n"
    )
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])
    }


class Hostile:
    """The engine."""

    name = "hostile"
    side = Side.URDF

    def availability(self) -> Availability:
        """Always."""
        return Available("1.0")

    def observe(self, request: Request) -> Observation:
        """Misbehave, or abstain."""
        os.write(2, b"printed by the engine\n")
        robot = Path(request.path).stem
        if "LINGER" in os.environ:
            _linger(Path(os.environ["LINGER"]), robot)
        if "SPARE" not in os.environ:
            if robot == "wrong-type":
                return cast("Observation", 7)
            _misbehave(robot)
        raise AbstentionError("it reads nothing")


def convert(urdf: str, directory: str, _: dict[str, str]) -> str:
    """Misbehave; convert if the process is still there."""
    from urdf_usd.converter import convert as convert_robot  # noqa: PLC0415  # if need be

    _misbehave(Path(urdf).stem)
    return str(convert_robot(urdf, directory).root_layer)


def _misbehave(kind: str) -> None:
    if kind in misbehaviour.CRASHES:
        misbehaviour.crash(kind)
    if kind in misbehaviour.HANGS:
        if "PATIENT" not in os.environ:
            misbehaviour.let_time_run_out()
        misbehaviour.hang(kind)
    if kind in misbehaviour.LITTER:
        misbehaviour.litter(kind)


def _linger(folder: Path, robot: str) -> None:
    (folder / f"{robot} {os.environ['PLACE']}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
