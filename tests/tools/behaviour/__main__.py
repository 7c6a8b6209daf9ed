"""Assets that hold their pose in PhysX, Newton and MuJoCo, with and without drives.

    python -m tests.tools.behaviour [CORPUS…] --out FILE.jsonl [--sample N]
        [--newton PYTHON]

Converts robots with a fixed base, without a description file and with one that has
drives of 5 Hz for all joints, and simulates the assets in all three simulators: 2 s of
gravity, then a step of all targets, and targets beyond both limits. Writes a line of
JSON for each robot, asset and simulator; ``python -m tests.tools.behaviour.table FILE.jsonl``
writes tables. Robots that the file has already are not simulated again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import structs
from pxr import Usd, UsdPhysics

from tests.tools.behaviour.assessment import (
    assess_bounds,
    assess_hold,
    assess_overshoot,
    assess_settling,
    differing_joints,
)
from tests.tools.behaviour.simulation import simulate_in_mujoco
from tests.tools.consumers.simulators import Simulator
from urdf_usd import ConvertOptions, load_description, with_description
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.stage import captured_diagnostics, urdf_name
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.converter import ConversionError
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.corpus import RobotSource, resolve_corpora

# Time step [s], steps between samples, and steps of 2 s and of 1 s.
_STEP = 0.004
_EVERY = 5
_HOLD, _MOVE = 500, 250
# Step of a target [rad, m], and distance of targets beyond limits.
_CHANGE = 0.1, 0.01
_BEYOND = 0.2, 0.02
_ONE_AXIS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
_DRIVES = """\
[[joints]]
match = "*"
natural_frequency = 5.0
armature = 0.01
"""
WITH = "with"
"""The asset with drives and without self-collision."""
# Assets, and what their description file has besides poses; None without a file.
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
    """Simulate, and write a line for each robot, asset and simulator."""
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
    folder = "tests.tools.behaviour"
    with (
        Simulator("PhysX", f"{folder}.physx_program", timeout=_TIMEOUT) as physx,
        Simulator("Newton", f"{folder}.newton_program", newton, _TIMEOUT) as other,
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
    if not any(joint.type in _ONE_AXIS for joint in structure(parsed.robot)):
        yield {"status": "without joints"}
        return
    chosen = configurations_at_rest(parsed)
    with tempfile.TemporaryDirectory() as scratch, cached_meshes():
        for name, text in ASSETS.items():
            out = Path(scratch, name.replace(" ", "-"))
            try:
                usd = convert_robot(parsed, out, text)
                with captured_diagnostics():
                    seen = OpenusdEngine().observe(Request(str(usd), chosen))
            except (ConversionError, AbstentionError) as error:
                reason = str(error).splitlines()[0]
                yield {"asset": name, "status": "not converted", "error": reason}
                continue
            yield from _simulated(name, usd, seen, chosen, simulators, moves=moves)


def convert_robot(
    parsed: Parsed, out: Path, text: str | None, base: BaseOption = BaseOption.FIXED
) -> Path:
    """Convert, with initial positions inside the limits if there is a description.

    Args:
        parsed: The robot.
        out: Folder of the asset.
        text: The description file without a pose; None for an asset without one.
        base: The base of the asset.
    """
    options = ConvertOptions(base=base)
    if text is not None:
        positions = []
        for joint in structure(parsed.robot):
            lower, upper = joint.lower, joint.upper
            if joint.type not in _ONE_AXIS or joint.mimic or lower is None:
                continue
            if upper is not None and lower <= upper and not lower <= 0.0 <= upper:
                name = json.dumps(joint.name.replace("[", "[[]"))
                positions.append(f"{name} = {(lower + upper) / 2}")
        out.mkdir()
        file = Path(out.parent, f"{out.name}.toml")
        lines = ["[pose.joints]", *positions] if positions else []
        file.write_text("\n".join([text, *lines, ""]), encoding="utf-8")
        options = with_description(options, load_description(file))
    with captured_diagnostics():
        return convert_parsed(parsed, out, options).root_layer


def _simulated(
    asset: str,
    usd: Path,
    seen: Observation,
    chosen: Configurations,
    simulators: Sequence[Simulator],
    *,
    moves: bool,
) -> Iterator[dict[str, Any]]:
    joints = {joint.name: joint for joint in seen.joints if joint.type in _ONE_AXIS}
    paths = {path: joints[n] for path, n in joint_names(usd).items() if n in joints}
    by_name = {joint.name: path for path, joint in paths.items()}
    driven = {
        by_name[drive.joint]: drive.target_position or 0.0
        for drive in (seen.simulation and seen.simulation.drives) or ()
        if drive.joint in by_name and drive.stiffness
    }
    segments: list[dict[str, Any]] = [{"steps": _HOLD, "targets": {}}]
    contacts = asset == _SELF_COLLISION
    if driven and moves and not contacts:
        segments += [{"steps": _MOVE, "targets": targets} for targets in _targets(driven, paths)]
    request = {
        "usd": str(usd),
        "colliders": find_prims(usd, UsdPhysics.CollisionAPI),
        "joints": sorted(paths),
        "angular": [p for p in sorted(paths) if _is_angular(paths[p])],
        "step": _STEP,
        "every": _EVERY,
        "segments": segments,
    }
    requested = [one for one in simulators if one.name == "PhysX" or not contacts]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda simulator: simulator.observe(request), requested)
        start = time.perf_counter()
        own_answer = simulate_in_mujoco(seen, chosen, by_name, request)
        own_answer["seconds"] = time.perf_counter() - start
        answers = {"MuJoCo": own_answer}
        answers |= {one.name: answer for one, answer in zip(requested, found, strict=True)}
    for name, answer in answers.items():
        if contacts and name == "MuJoCo":
            continue
        row = {"asset": asset, "simulator": name, "seconds": answer.get("seconds")}
        if "error" in answer:
            yield row | {"status": "refused", "error": answer["error"]}
            continue
        own = [paths[path] for path in answer["joints"]]
        row |= {"status": "simulated", "joints": len(own), "driven": len(driven)}
        yield row | _assessed(answer, own, segments) | _compared(answer, answers, paths)


def _targets(
    driven: Mapping[str, float], paths: Mapping[str, JointObservation]
) -> Iterator[dict[str, float]]:
    """Yield targets: a step away from the nearer limit, beyond the limits, and back."""
    step, high, low = {}, {}, {}
    for path, target in driven.items():
        lower, upper = _range(paths[path])
        unit = 0 if _is_angular(paths[path]) else 1
        change, beyond = _CHANGE[unit], _BEYOND[unit]
        upward = upper - target >= target - lower
        room = min(change, upper - target if upward else target - lower)
        step[path] = target + (room if upward else -room)
        high[path] = upper + beyond if math.isfinite(upper) else target
        low[path] = lower - beyond if math.isfinite(lower) else target
    yield from (step, high, low)


def _assessed(
    answer: Mapping[str, Any],
    joints: Sequence[JointObservation],
    segments: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    angular = [_is_angular(joint) for joint in joints]
    names = [joint.name for joint in joints]
    found = assess_hold(answer["segments"][0], angular)
    if found["worst"] is not None:
        found["worst"] = names[found["worst"]]
    if answer.get("resets"):
        found["state"] = "diverges"
    ranges = [_range(joint) for joint in joints]
    lower, upper = [low for low, _ in ranges], [high for _, high in ranges]
    speeds = [joint.velocity or math.inf for joint in joints]
    beyond: set[int] = set()
    fast: set[int] = set()
    for segment in answer["segments"]:
        beyond |= set(assess_bounds(segment["positions"], lower, upper, angular))
        slow = [-speed for speed in speeds]
        fast |= set(assess_bounds(segment["velocities"], slow, speeds, angular))
    if "gravity" in answer:
        found["weak"] = [
            joint.name
            for joint, force in zip(joints, answer["gravity"], strict=True)
            if joint.effort is not None and abs(force) > joint.effort
        ]
    found["outside"] = [
        names[row]
        for row in assess_bounds(answer["segments"][0]["positions"][:1], lower, upper, angular)
    ]
    found["beyond"] = [names[row] for row in sorted(beyond)]
    found["fast"] = [names[row] for row in sorted(fast)]
    if len(segments) > 1:
        targets = segments[1]["targets"]
        starts = answer["segments"][0]["positions"][-1]
        first = answer["segments"][0]["positions"][0]
        # Gravity moves a joint as far from its new target as from the former.
        aims = [
            targets[path] + now - begin if path in targets else math.nan
            for path, now, begin in zip(answer["joints"], starts, first, strict=True)
        ]
        rows = assess_settling(answer["segments"][1], aims, angular)
        found["unsettled"] = [names[row] for row in rows]
        rows = assess_overshoot(answer["segments"][1], aims)
        found["overshooting"] = [names[row] for row in rows]
        short = set()
        for segment, bounds in zip(answer["segments"][2:], (upper, lower), strict=True):
            ends = [
                bound if path in targets and math.isfinite(bound) else math.nan
                for path, bound in zip(answer["joints"], bounds, strict=True)
            ]
            short |= set(assess_settling(segment, ends, angular))
        found["short"] = [names[row] for row in sorted(short)]
    return found


def _compared(
    answer: Mapping[str, Any],
    answers: Mapping[str, Mapping[str, Any]],
    paths: Mapping[str, JointObservation],
) -> dict[str, Any]:
    """Return the joints at other positions than in MuJoCo, after each segment."""
    other = answers["MuJoCo"]
    if other is answer or "error" in other:
        return {}
    if other["joints"] != answer["joints"]:
        return {"missing": sorted(set(other["joints"]) ^ set(answer["joints"]))}
    own = [paths[path] for path in answer["joints"]]
    angular = [_is_angular(joint) for joint in own]
    rows = (
        differing_joints(one, two, angular)
        for one, two in zip(answer["segments"], other["segments"], strict=True)
    )
    return {"differing": [[own[n].name for n in found] for found in rows]}


def configurations_at_rest(parsed: Parsed) -> Configurations:
    """Return configurations of a robot for link frames alone."""
    whole = configurations(structure(parsed.robot), 1)
    return structs.replace(whole, velocities=(), root=None, rollout=None, motion_count=0)


def joint_names(usd: Path) -> dict[str, str]:
    """Return the URDF names of joints by prim path."""
    with captured_diagnostics():
        stage = Usd.Stage.Open(str(usd))
        predicate = Usd.TraverseInstanceProxies()
        return {
            str(prim.GetPath()): urdf_name(prim)
            for prim in Usd.PrimRange(stage.GetPseudoRoot(), predicate)
            if prim.IsA(UsdPhysics.Joint)
        }


def find_prims(usd: Path, schema: type[Usd.SchemaBase]) -> list[str]:
    """Return the paths of prims of a type, or to which a schema is applied."""
    applied = issubclass(schema, Usd.APISchemaBase)
    with captured_diagnostics():
        stage = Usd.Stage.Open(str(usd))
        predicate = Usd.TraverseInstanceProxies()
        return [
            str(prim.GetPath())
            for prim in Usd.PrimRange(stage.GetPseudoRoot(), predicate)
            if (prim.HasAPI(schema) if applied else prim.IsA(schema))
        ]


def _is_angular(joint: JointObservation) -> bool:
    return joint.type is not JointType.PRISMATIC


def _range(joint: JointObservation) -> tuple[float, float]:
    """Return the limits, infinite if there are none; reversed ones are zero."""
    lower = -math.inf if joint.lower is None else joint.lower
    upper = math.inf if joint.upper is None else joint.upper
    return (lower, upper) if lower <= upper else (0.0, 0.0)


if __name__ == "__main__":
    main()
