"""Simulations of an asset: gravity, and targets of its drives."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import structs
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.behaviour.assessment import (
    assess_bounds,
    assess_hold,
    assess_overshoot,
    assess_settling,
    differing_joints,
)
from urdf_usd.conformance.behaviour.process import Simulator
from urdf_usd.conformance.behaviour.simulate_mujoco import simulate_in_mujoco
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.reading import captured_diagnostics, urdf_name
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.conversion import convert_parsed, with_description
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.urdf.parse import Parsed

# Time step [s], steps between samples, and steps of 2 s and of 1 s.
_STEP = 0.004
_EVERY = 5
_HOLD, _MOVE = 500, 250
# Time in which targets move to a limit, for assets of users [s], and steps between them.
_SWEEP = 5.0
_RAMP = 10
# Step of a target [rad, m], and distance of targets beyond limits.
_CHANGE = 0.1, 0.01
_BEYOND = 0.2, 0.02
ONE_AXIS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
PROGRAMS = {
    "PhysX": "urdf_usd.conformance.behaviour.simulate_physx",
    "Newton": "urdf_usd.conformance.behaviour.simulate_newton",
}
MUJOCO = "MuJoCo"


def behave(usd: str, simulators: Sequence[str], timeout: float) -> tuple[dict[str, Any], ...]:
    """Simulate an asset in MuJoCo and others; a row for each as of :func:`simulate_asset`.

    Args:
        usd: Root layer.
        simulators: Those of :data:`PROGRAMS`.
        timeout: Of each other simulator [s].

    Raises:
        StageError: OpenUSD refuses the asset.
    """
    processes = [Simulator(name, PROGRAMS[name], timeout=timeout) for name in simulators]
    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        try:
            return tuple(simulate_asset(Path(usd), processes, moves=True, sweep=_SWEEP))
        except AbstentionError as error:
            raise StageError((Diagnostic("stage-unreadable", str(error)),)) from error


def simulate_asset(
    usd: Path,
    simulators: Sequence[Simulator],
    *,
    moves: bool,
    contacts: bool = False,
    sweep: float | None = None,
) -> Iterator[dict[str, Any]]:
    """Simulate 2 s of gravity, then a step of all targets, and targets at or beyond both limits.

    Args:
        usd: Root layer.
        simulators: Other simulators than MuJoCo.
        moves: Whether targets are moved.
        contacts: Whether the asset collides with itself: only PhysX simulates that here.
        sweep: Time in which targets move to each limit [s], where they remain for 1 s; None for
            targets beyond the limits, for 1 s and at once, so that limits have to hold.

    Yields:
        A row for each simulator, for JSON: ``state``, and joints by what they do.

    Raises:
        AbstentionError: OpenUSD refuses the asset.
    """
    seen, chosen = observe_at_rest(usd)
    joints = {joint.name: joint for joint in seen.joints if joint.type in ONE_AXIS}
    paths = {path: joints[n] for path, n in joint_names(usd).items() if n in joints}
    by_name = {joint.name: path for path, joint in paths.items()}
    driven = {
        by_name[drive.joint]: drive.target_position or 0.0
        for drive in (seen.simulation and seen.simulation.drives) or ()
        if drive.joint in by_name and drive.stiffness
    }
    # Each phase is assessed as a whole.
    phases: list[list[dict[str, Any]]] = [[{"steps": _HOLD, "targets": {}}]]
    if driven and moves and not contacts:
        near, high, low = _targets(driven, paths, (0.0, 0.0) if sweep else _BEYOND)
        phases.append([{"steps": _MOVE, "targets": near}])
        for start, end in ((near, high), (high, low)):
            phases.append([*_ramp(start, end, sweep or 0.0), {"steps": _MOVE, "targets": end}])
    request = {
        "usd": str(usd),
        "colliders": find_prims(usd, UsdPhysics.CollisionAPI),
        "joints": sorted(paths),
        "angular": [p for p in sorted(paths) if _is_angular(paths[p])],
        "step": _STEP,
        "every": _EVERY,
        "segments": [segment for phase in phases for segment in phase],
    }
    requested = [one for one in simulators if one.name == "PhysX" or not contacts]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda simulator: simulator.observe(request), requested)
        answers = {}
        if not contacts:
            begun = time.perf_counter()
            answers[MUJOCO] = simulate_in_mujoco(seen, chosen, by_name, request)
            answers[MUJOCO]["seconds"] = time.perf_counter() - begun
        answers |= {one.name: answer for one, answer in zip(requested, found, strict=True)}
    for answer in answers.values():
        if "error" not in answer:
            answer["segments"] = _joined(answer["segments"], [len(phase) for phase in phases])
    for name, answer in answers.items():
        row = {"simulator": name, "seconds": answer.get("seconds")}
        if "error" in answer:
            yield row | {"status": "refused", "error": answer["error"]}
            continue
        own = [paths[path] for path in answer["joints"]]
        row |= {"status": "simulated", "joints": len(own), "driven": len(driven)}
        yield (
            row
            | _assessed(answer, own, [phase[-1] for phase in phases])
            | _compared(answer, answers, paths)
        )


def _ramp(
    start: Mapping[str, float], end: Mapping[str, float], seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield segments in which targets move from rest to rest, along a cosine."""
    count = round(seconds / (_STEP * _RAMP))
    for number in range(1, count + 1):
        part = (1.0 - math.cos(math.pi * number / count)) / 2.0
        targets = {path: (1.0 - part) * start[path] + part * end[path] for path in end}
        yield {"steps": _RAMP, "targets": targets}


def _joined(segments: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> list[dict[str, Any]]:
    """Join consecutive segments."""
    waiting = iter(segments)
    groups = [[next(waiting) for _ in range(count)] for count in counts]
    return [
        {
            name: [sample for segment in group for sample in segment[name]]
            for name in ("positions", "velocities")
        }
        for group in groups
    ]


def _targets(
    driven: Mapping[str, float],
    paths: Mapping[str, JointObservation],
    distances: tuple[float, float],
) -> Iterator[dict[str, float]]:
    """Yield targets: a step away from the nearer limit, and by distances beyond both limits."""
    step, high, low = {}, {}, {}
    for path, target in driven.items():
        lower, upper = _range(paths[path])
        unit = 0 if _is_angular(paths[path]) else 1
        change, beyond = _CHANGE[unit], distances[unit]
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
    other = answers.get(MUJOCO)
    if other is None or other is answer or "error" in other:
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


def observe_at_rest(usd: Path) -> tuple[Observation, Configurations]:
    """Read an asset with its joints at zero."""
    engine = OpenusdEngine()
    with captured_diagnostics():
        joints = engine.observe(Request(str(usd), Configurations((), (), ("zero",)))).joints
        whole = configurations(joints, 1)
        chosen = structs.replace(whole, velocities=(), root=None, rollout=None, motion_count=0)
        return engine.observe(Request(str(usd), chosen)), chosen


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


def drives(frequency: float) -> str:
    """Return a settings file that gives all joints drives of a natural frequency [Hz]."""
    return f'[[joints]]\nmatch = "*"\nnatural_frequency = {frequency}\narmature = 0.01\n'


def convert_for_simulation(
    parsed: Parsed, out: Path, text: str | None, options: ConvertOptions
) -> Path:
    """Convert, with initial positions inside the limits if there are settings.

    Args:
        parsed: The robot.
        out: Folder of the asset.
        text: The settings file without a pose; None for an asset without one.
        options: Of the conversion.

    Returns:
        The root layer.
    """
    if text is not None:
        positions = []
        for joint in structure(parsed.robot):
            lower, upper = joint.lower, joint.upper
            if joint.type not in ONE_AXIS or joint.mimic or lower is None:
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
