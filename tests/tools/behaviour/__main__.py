"""Assets that hold their pose in PhysX, Newton and MuJoCo, with and without drives.

    python -m tests.tools.behaviour [CORPUS…] --out FILE.jsonl [--sample N]
        [--newton PYTHON]

Converts robots with a fixed base, without a settings file and with one that has
drives of 5 Hz for all joints, and simulates the assets in all three simulators: 2 s of
gravity, then a step of all targets, and targets beyond both limits. Writes a line of
JSON for each robot, asset and simulator; ``python -m tests.tools.behaviour.table FILE.jsonl``
writes tables. Robots that the file has already are not simulated again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from urdf_usd import ConvertOptions
from urdf_usd.conformance.behaviour.simulations import (
    ONE_AXIS,
    PROGRAMS,
    convert_for_simulation,
    drives,
    simulate_asset,
)
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.converter import ConversionError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import RobotSource, resolve_corpora

_FIXED = ConvertOptions(base=BaseOption.FIXED)
_DRIVES = drives(5.0)
WITH = "with"
"""The asset with drives and without self-collision."""
# Assets, and what their settings file has besides poses; None without a file.
ASSETS = {
    "without": None,
    "self-collision": _DRIVES,
    WITH: f"self_collision = false\n{_DRIVES}",
}
# The others are simulated without contacts, and get the same from both files.
_SELF_COLLISION = "self-collision"
# Reached only by a process that hangs, also on a busy machine [s].
_TIMEOUT = 1200.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--sample", type=int, help="robots, spread over the corpora")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--moves", action="store_true", help="move targets after the first 2 s")
    parser.add_argument("--newton", default=sys.executable, help="interpreter with newton[sim]")
    options = parser.parse_args()
    sources = [one for text in options.corpus for one in resolve_corpora([text])]
    if options.sample and options.sample < len(sources):
        step = len(sources) / options.sample
        sources = [sources[int(n * step)] for n in range(options.sample)]
    done = set()
    if options.out.exists():
        lines = options.out.read_text(encoding="utf-8").splitlines()
        done = {json.loads(line)["robot"] for line in lines}
    with run_simulators(options.newton) as simulators:
        for source in sources:
            if not isinstance(source, RobotSource) or source.reference in done:
                continue
            rows = list(_measure(source, simulators, moves=options.moves))
            with options.out.open("a", encoding="utf-8") as file:
                for row in rows:
                    line = json.dumps({"robot": source.reference, **row})
                    file.write(f"{line}\n")
            sys.stderr.write(f"{source.reference}\n")


@contextmanager
def run_simulators(newton: str) -> Iterator[tuple[Simulator, Simulator]]:
    """Run PhysX and Newton in processes.

    Args:
        newton: Interpreter with ``newton[sim]``.
    """
    with (
        Simulator("PhysX", PROGRAMS["PhysX"], timeout=_TIMEOUT) as physx,
        Simulator("Newton", PROGRAMS["Newton"], newton, _TIMEOUT) as other,
    ):
        yield physx, other


def _measure(
    source: RobotSource, simulators: Sequence[Simulator], *, moves: bool
) -> Iterator[dict[str, Any]]:
    packages = {name: str(path) for name, path in source.packages}
    try:
        parsed = parse(str(source.path), packages=packages, arguments=dict(source.arguments))
    except ConversionError as error:
        yield {"status": "unreadable", "error": str(error).splitlines()[0]}
        return
    if not any(joint.type in ONE_AXIS for joint in structure(parsed.robot)):
        yield {"status": "without joints"}
        return
    with tempfile.TemporaryDirectory() as scratch, cached_meshes():
        for name, text in ASSETS.items():
            out = Path(scratch, name.replace(" ", "-"))
            contacts = name == _SELF_COLLISION
            try:
                usd = convert_for_simulation(parsed, out, text, _FIXED)
                rows = list(simulate_asset(usd, simulators, moves=moves, contacts=contacts))
            except (ConversionError, UnsupportedError) as error:
                reason = str(error).splitlines()[0]
                yield {"asset": name, "status": "not converted", "error": reason}
                continue
            yield from ({"asset": name, **row} for row in rows)


if __name__ == "__main__":
    main()
