"""A reader that kills: installed as somebody else's package, asked by real commands.

What it does to its process is the stem of the file that it is asked to read. With
``SPARE`` in the environment it harms nobody, and with ``HASTY`` its time is over as
soon as it hangs. With ``LINGER``, a folder, it leaves a
file there for each robot, named after it and ``PLACE``, and waits for one called
``go``.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import AbstentionError, Available, Side
from urdf_usd.conformance.execution.workers.confinement import watched

if TYPE_CHECKING:
    from urdf_usd.conformance.engines.protocol import Availability, Request
    from urdf_usd.conformance.observation.robot import Observation


def install(site: Path) -> dict[str, str]:
    """Install it into a folder; return an environment in which it is found."""
    metadata = site / "killer-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: killer\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[urdf_usd.engines]\nkiller = {__name__}:Killer\n"
    )
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])
    }


class Killer:
    """The engine."""

    name = "killer"
    side = Side.URDF

    def availability(self) -> Availability:
        """Always."""
        return Available("1.0")

    def observe(self, request: Request) -> Observation:
        """Abort, hang or take all memory; or abstain."""
        os.write(2, b"the killer was here\n")
        if "LINGER" in os.environ:
            _linger(Path(os.environ["LINGER"]), Path(request.path).stem)
        match "spare" if "SPARE" in os.environ else Path(request.path).stem:
            case "abort":
                os.abort()
            case "hang":
                with watched(0.01) if "HASTY" in os.environ else nullcontext():
                    time.sleep(6000.0)
            case "devour":
                eaten = []
                while True:
                    eaten.append(bytearray(16 * 2**20))
        raise AbstentionError("it kills, and says nothing")


def _linger(folder: Path, robot: str) -> None:
    (folder / f"{robot} {os.environ['PLACE']}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
