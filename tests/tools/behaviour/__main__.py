"""Assets that hold their pose in PhysX, Newton and MuJoCo, with and without drives.

Converts robots with a fixed base, without a settings file and with one that has drives of 5 Hz for
all joints, and simulates both assets in all three simulators. Writes a line of JSON for each robot,
asset and simulator, and prints tables of them: how many robots hold their pose, how many simulators
agree with MuJoCo, and each robot with drives that does not hold or agree. Robots that the file has
already are not simulated again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.tools.corpora import corpus_parser, robots, table
from urdf_usd import ConvertOptions
from urdf_usd.conformance import simulations
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.converter import ConversionError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import RobotSource

STATES = ("holds", "sags", "moves", "diverges", "refused")
_WITH = "with"
# Assets, and what their settings file has besides poses; None without a file.
_ASSETS = {"without": None, _WITH: f"self_collision = false\n{simulations.drives(5.0)}"}
# Reached only by a process that hangs, also on a busy machine [s].
_TIMEOUT = 1200.0


def main() -> None:
    parser = corpus_parser(__doc__, "pybullet")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--newton", default=sys.executable, help="interpreter with newton[sim]")
    options = parser.parse_args()
    options.out.touch()
    rows = [json.loads(line) for line in options.out.read_text("utf-8").splitlines()]
    done = {row["robot"] for row in rows}
    with ExitStack() as stack, options.out.open("a", encoding="utf-8") as file:
        pythons = (sys.executable, options.newton)
        programs = [
            Simulator(*program, python, _TIMEOUT)
            for program, python in zip(simulations.PROGRAMS.items(), pythons, strict=True)
        ]
        simulators = [stack.enter_context(program) for program in programs]
        for source in robots(options):
            for row in _measure(source, simulators) if source.reference not in done else ():
                rows.append({"robot": source.reference, **row})
                print(json.dumps(rows[-1]), file=file, flush=True)
    print("\n".join(tables(rows)))


def _measure(source: RobotSource, simulators: Sequence[Simulator]) -> Iterator[dict[str, Any]]:
    packages = {name: str(path) for name, path in source.packages}
    try:
        parsed = parse(str(source.path), packages=packages, arguments=dict(source.arguments))
    except ConversionError as error:
        yield {"status": "unreadable", "error": str(error).splitlines()[0]}
        return
    if not any(joint.type in simulations.ONE_AXIS for joint in structure(parsed.robot)):
        yield {"status": "without joints"}
        return
    fixed = ConvertOptions(base=BaseOption.FIXED)
    with tempfile.TemporaryDirectory() as scratch, cached_meshes():
        for name, text in _ASSETS.items():
            try:
                usd = simulations.convert_for_simulation(parsed, Path(scratch, name), text, fixed)
                rows = list(simulations.simulate_asset(usd, simulators))
            except (ConversionError, UnsupportedError) as error:
                rows = [{"status": "not converted", "error": str(error).splitlines()[0]}]
            yield from ({"asset": name, **row} for row in rows)


def tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of all tables."""
    seen = [row for row in rows if "simulator" in row]
    counted: dict[tuple[str, str], list[str]] = {}
    for row in seen:
        counted.setdefault((row["asset"], row["simulator"]), []).append(_state(row))
    counts = [(*key, len(own), *map(own.count, STATES)) for key, own in counted.items()]
    yield from table(("asset", "simulator", "robots", *STATES), counts)
    driven = [row for row in seen if row["asset"] == _WITH]
    compared = []
    for simulator in sorted({row["simulator"] for row in seen} - {simulations.MUJOCO}):
        agreed = [agrees(row) for row in driven if row["simulator"] == simulator]
        compared.append((simulator, len(agreed) - agreed.count(None), agreed.count(True)))
    yield from ("", *table(("simulator", "robots with drives", "agree with MuJoCo"), compared))
    weak = {row["robot"]: row["weak"] for row in driven if "weak" in row}
    lines = []
    for row in driven:
        differs = agrees(row) is False
        if _state(row) == "holds" and not differs:
            continue
        offsets = [
            f"{row[f'offset_{key}'] * scale:.2g} {unit}"
            for key, scale, unit in (("rad", 1.0, "rad"), ("m", 1e3, "mm"))
            if row.get(f"offset_{key}") is not None
        ]
        joints = (row.get("differing") or [row.get("missing", [])])[0] if differs else []
        joint = row.get("worst") or _list(joints)
        state = f"{_state(row)}, differs" if differs else _state(row)
        reason = row.get("error") or _list(weak.get(row["robot"], []))
        lines.append((row["robot"], row["simulator"], state, joint, ", ".join(offsets), reason))
    heads = ("robot", "simulator", "state", "joint", "offset", "gravity > effort")
    yield from ("", *table(heads, lines))


def _state(row: Mapping[str, Any]) -> str:
    return str(row.get("state", "refused"))


def agrees(row: Mapping[str, Any]) -> bool | None:
    """Return whether a simulator moves all joints as MuJoCo, None if not compared."""
    if "missing" in row:
        return False
    if "differing" not in row:
        return None
    return not row["differing"][0] and _state(row) != "diverges"


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


if __name__ == "__main__":
    main()
