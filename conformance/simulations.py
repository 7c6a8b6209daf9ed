"""Simulations of an asset: gravity, and targets of its drives.

Positions and velocities are (S, n) samples of n joints [rad or m, per second], ``angular`` is (n)
whether a joint is in rad, and joints are assessed by their indices.

A request has the root layer, ``usd``; ``colliders``, their prim paths; ``joints``, prim
paths of joints with one degree of freedom; ``angular``, those in rad; the time step
``step`` [s]; ``every``, the number of steps between two samples; and ``segments``, each
with a number of ``steps`` and position targets by prim path [rad or m], or none to keep
those of the asset. PhysX has contacts, and a request for it may have ``body``, the path of a
rigid body.

An answer has ``joints``, those that the simulator has; and ``segments``, each with
``positions`` and ``velocities``, (S, n) samples of these joints in rad or m, the first
of which is before the first step; that of MuJoCo has ``gravity``, (n) forces of gravity
at the start [N or N m]. With ``body``, segments have ``base``, (S, 3) samples of its
position [m]. It has ``error`` instead, if the simulator refuses.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import mujoco
import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.mujoco_models import UnbuildableError, build, collected_warnings
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.reading import captured_diagnostics, urdf_name
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.converter.urdf.parse import Parsed

Array: TypeAlias = NDArray[np.float64]
Units: TypeAlias = NDArray[np.bool_]

# Speeds that no robot of the corpora reaches by falling [rad/s, m/s].
_DIVERGED = 1e3, 1e2
# Speed at which a joint is at rest [rad/s, m/s].
_RESTING = 1e-2, 1e-3
# Distance from the initial position within which a joint holds it [rad, m].
_HELD = 0.1, 0.01
# Difference between positions of two simulators [rad, m].
_SAME = 1e-2, 1e-3
# Part of the distance moved by which positions may differ besides.
_RELATIVE = 0.02
# Time step [s], steps between samples, and steps of 2 s and of 1 s.
_STEP = 0.004
_EVERY = 5
_HOLD, _MOVE = 500, 250
# Number of targets on the way to a limit, and steps between them: 5 s.
_TARGETS, _RAMP = 125, 10
_CHANGE = 0.1, 0.01  # step of a target [rad, m]
ONE_AXIS = (obs.JointType.REVOLUTE, obs.JointType.CONTINUOUS, obs.JointType.PRISMATIC)
PROGRAMS = {
    "PhysX": "urdf_usd.conformance.engines.physx_program",
    "Newton": "urdf_usd.conformance.engines.newton_program",
}
MUJOCO = "MuJoCo"
# Half the range of a joint whose limits are equal [rad or m].
_LOCKED = 1e-6


def behave(usd: str, simulators: Sequence[str], timeout: float) -> tuple[dict[str, Any], ...]:
    """Simulate an asset in MuJoCo and others of :data:`PROGRAMS`, with a limit of time [s]."""
    with ExitStack() as stack:
        processes = [Simulator(name, PROGRAMS[name], timeout=timeout) for name in simulators]
        try:
            return tuple(simulate_asset(Path(usd), [*map(stack.enter_context, processes)]))
        except UnsupportedError as error:
            raise StageError((Diagnostic("stage-unreadable", str(error)),)) from error


def simulate_asset(usd: Path, simulators: Sequence[Simulator]) -> Iterator[dict[str, Any]]:
    """Simulate 2 s of gravity, a step of all targets, and targets that move to both limits.

    Yields a row for MuJoCo and each simulator, for JSON: ``state``, and joints by what they do. An
    asset that OpenUSD refuses raises UnsupportedError.
    """
    engine = OpenusdEngine()
    with captured_diagnostics():
        # With the joints at zero.
        joints = engine.observe(Request(str(usd), obs.Configurations((), (), ("zero",)))).joints
        whole = configurations(joints, 1)
        chosen = structs.replace(whole, velocities=(), root=None, rollout=None, motion_count=0)
        seen = engine.observe(Request(str(usd), chosen))
        stage = Usd.Stage.Open(str(usd))
        prims = list(Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
        named = {str(p.GetPath()): urdf_name(p) for p in prims if p.IsA(UsdPhysics.Joint)}
        colliders = [str(p.GetPath()) for p in prims if p.HasAPI(UsdPhysics.CollisionAPI)]
    movable = {joint.name: joint for joint in seen.joints if joint.type in ONE_AXIS}
    paths = {path: movable[name] for path, name in named.items() if name in movable}
    by_name = {joint.name: path for path, joint in paths.items()}
    driven = {
        by_name[drive.joint]: drive.target_position or 0.0
        for drive in (seen.simulation and seen.simulation.drives) or ()
        if drive.joint in by_name and drive.stiffness
    }
    # Each phase is assessed as a whole.
    phases: list[list[dict[str, Any]]] = [[{"steps": _HOLD, "targets": {}}]]
    if driven:
        near, high, low = _targets(driven, paths)
        phases.append([{"steps": _MOVE, "targets": near}])
        # From rest to rest, along a cosine.
        parts = [(1 - math.cos(math.pi * n / _TARGETS)) / 2 for n in range(1, _TARGETS + 1)]
        for start, end in ((near, high), (high, low)):
            way = ({x: (1 - part) * start[x] + part * end[x] for x in end} for part in parts)
            ramp = [{"steps": _RAMP, "targets": targets} for targets in way]
            phases.append([*ramp, {"steps": _MOVE, "targets": end}])
    request = {
        "usd": str(usd),
        "colliders": colliders,
        "joints": sorted(paths),
        "angular": [path for path in sorted(paths) if _is_angular(paths[path])],
        "step": _STEP,
        "every": _EVERY,
        "segments": [segment for phase in phases for segment in phase],
    }
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda simulator: simulator.observe(request), simulators)
        begun = time.perf_counter()
        answers = {MUJOCO: simulate_in_mujoco(seen, chosen, by_name, request)}
        answers[MUJOCO]["seconds"] = time.perf_counter() - begun
        answers |= {one.name: answer for one, answer in zip(simulators, found, strict=True)}
    counts, targets = [len(phase) for phase in phases], [phase[-1]["targets"] for phase in phases]
    moved = {n: _Motion(a, counts, paths) for n, a in answers.items() if "error" not in a}
    for name, answer in answers.items():
        row = {"simulator": name, "seconds": answer.get("seconds")}
        if name not in moved:
            yield row | {"status": "refused", "error": answer["error"]}
            continue
        row |= {"status": "simulated", "joints": len(answer["joints"]), "driven": len(driven)}
        row |= _assessed(answer, moved[name], targets)
        if name != MUJOCO and MUJOCO in moved:
            own, other = moved[name], moved[MUJOCO]
            if list(own.joints) == list(other.joints):
                pairs = zip(own.positions, other.positions, strict=True)
                differing = (differing_joints(*pair, own.angular) for pair in pairs)
                row["differing"] = list(map(own.named, differing))
            else:
                row["missing"] = sorted(set(other.joints) ^ set(own.joints))
        yield row


class _Motion:
    """Samples of a simulator in each phase, (S, n) of n joints."""

    def __init__(
        self,
        answer: Mapping[str, Any],
        counts: Sequence[int],  # numbers of segments of phases, which are joined
        paths: Mapping[str, obs.JointObservation],
    ) -> None:
        self.joints = {path: paths[path] for path in answer["joints"]}
        self.angular: Units = np.array([_is_angular(x) for x in self.joints.values()], bool)  # (n)
        samples: list[list[Array]] = []
        for name in ("positions", "velocities"):
            segments = iter(answer["segments"])
            rows = [[row for _ in range(count) for row in next(segments)[name]] for count in counts]
            samples.append([np.reshape(own, (len(own), len(self.joints))) for own in rows])
        self.positions, self.velocities = samples

    def named(self, rows: Sequence[int]) -> list[str]:
        names = [joint.name for joint in self.joints.values()]
        return [names[row] for row in rows]


def _targets(
    driven: Mapping[str, float], paths: Mapping[str, obs.JointObservation]
) -> Iterator[dict[str, float]]:
    """Yield targets: a step away from the nearer limit, and both limits."""
    step, high, low = {}, {}, {}
    for path, target in driven.items():
        lower, upper = _range(paths[path])
        upward = upper - target >= target - lower
        change = _CHANGE[0 if _is_angular(paths[path]) else 1]
        room = min(change, upper - target if upward else target - lower)
        step[path] = target + (room if upward else -room)
        high[path] = upper if math.isfinite(upper) else target
        low[path] = lower if math.isfinite(lower) else target
    yield from (step, high, low)


def _assessed(
    answer: Mapping[str, Any], motion: _Motion, targets: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    """Return the state, and the joints by what they do."""
    joints, angular, named = motion.joints, motion.angular, motion.named
    positions, velocities = motion.positions, motion.velocities
    found = assess_hold(positions[0], velocities[0], angular)
    if found["worst"] is not None:
        (found["worst"],) = named([found["worst"]])
    if answer.get("resets"):
        found["state"] = "diverges"
    lower, upper = np.reshape([_range(joint) for joint in joints.values()], (-1, 2)).T
    if "gravity" in answer:
        forces = zip(joints.values(), answer["gravity"], strict=True)
        found["weak"] = [j.name for j, f in forces if j.effort is not None and abs(f) > j.effort]
    found["beyond"] = named(assess_bounds(np.concatenate(positions), lower, upper, angular))
    if len(targets) > 1:
        # Gravity moves a joint as far from its new target as from the former.
        aims = np.array([targets[1].get(path, math.nan) for path in joints])
        aims += positions[0][-1] - positions[0][0]
        found["unsettled"] = named(assess_settling(positions[1], velocities[1], aims, angular))
        short = set()
        for phase, bounds in ((2, upper), (3, lower)):
            aims = np.where([path in targets[1] for path in joints], bounds, math.nan)
            aims[np.isinf(aims)] = math.nan
            short |= set(assess_settling(positions[phase], velocities[phase], aims, angular))
        found["short"] = named(sorted(short))
    return found


def assess_hold(positions: Array, velocities: Array, angular: Units) -> dict[str, Any]:
    """Assess whether joints hold their first positions.

    Returns ``state`` by the bounds above (``diverges``, ``moves``, ``sags`` or ``holds``), the
    ``worst`` joint that decides it, and for each unit the largest distance at the end, ``offset``.
    """
    broken = ~(np.isfinite(positions) & np.isfinite(velocities)).all(axis=0)
    # Not finite is infinite below.
    moved = np.nan_to_num(np.abs(positions - positions[0]), nan=np.inf)
    speeds = np.nan_to_num(np.abs(velocities), nan=np.inf)
    fastest = np.where(broken, np.inf, speeds.max(axis=0))
    found: dict[str, Any] = {"state": "holds", "worst": None}
    for state, values, bounds in (
        ("diverges", fastest, _DIVERGED),
        ("moves", speeds[-1], _RESTING),
        ("sags", moved[-1], _HELD),
    ):
        ratios = values / np.where(angular, *bounds)
        if ratios.max(initial=0.0) > 1.0:
            found = {"state": state, "worst": int(ratios.argmax())}
            break
    for unit, own in (("rad", angular), ("m", ~angular)):
        if own.any():
            # JSON has no infinity.
            largest = float(moved[-1][own].max())
            found[f"offset_{unit}"] = largest if np.isfinite(largest) else None
    return found


def assess_settling(positions: Array, velocities: Array, aims: Array, angular: Units) -> list[int]:
    """Return the joints that are not at rest at aims at the end; NaN where they may be anywhere."""
    away, speeds = np.abs(positions[-1] - aims), np.abs(velocities[-1])
    settled = (away <= np.where(angular, *_HELD)) & (speeds <= np.where(angular, *_RESTING))
    return np.flatnonzero(~settled & ~np.isnan(aims)).tolist()


def assess_bounds(samples: Array, lower: Array, upper: Array, angular: Units) -> list[int]:
    """Return the joints with a position beyond (n) bounds by more than 0.1 rad or 10 mm."""
    slack = np.where(angular, *_HELD)
    inside = (samples >= lower - slack) & (samples <= upper + slack)
    return np.flatnonzero(~inside.all(axis=0)).tolist()


def differing_joints(one: Array, other: Array, angular: Units) -> list[int]:
    """Return the joints that two simulators leave at different positions."""
    moved = np.maximum(*(np.abs(p - p[0]).max(axis=0) for p in (one, other)))
    allowed = np.where(angular, *_SAME) + _RELATIVE * moved
    return np.flatnonzero(~(np.abs(one[-1] - other[-1]) <= allowed)).tolist()


def _is_angular(joint: obs.JointObservation) -> bool:
    return joint.type is not obs.JointType.PRISMATIC


def _range(joint: obs.JointObservation) -> tuple[float, float]:
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
    """Convert with a settings file without a pose, if any, and positions inside the limits."""
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
        options = with_settings(options, load_settings(file))
    with captured_diagnostics():
        return convert_parsed(parsed, out, options).root_layer


def simulate_in_mujoco(
    observation: obs.Observation,
    configurations: obs.Configurations,
    paths: Mapping[str, str],
    request: Mapping[str, Any],
) -> dict[str, Any]:
    """Simulate what OpenUSD reads of an asset, without contacts and with a welded root; see above.

    Drives become actuators within the effort limit. ``paths`` are prim paths of joints by name.
    """
    settings = observation.simulation
    armatures = dict((settings and settings.armatures) or ())
    efforts = {joint.name: joint.effort for joint in observation.joints}
    # Without effort a drive exerts no force; MuJoCo refuses such an actuator.
    drives = [
        drive
        for drive in (settings and settings.drives) or ()
        if (drive.stiffness or drive.damping) and efforts[drive.joint] != 0
    ]

    def prepare(
        spec: mujoco.MjSpec, _: Mapping[str, mujoco.MjsBody], moving: Sequence[str]
    ) -> None:
        spec.option.timestep = request["step"]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        own = {name: spec.joint(str(place)) for place, name in enumerate(moving)}
        for joint in observation.joints:
            if own.get(joint.name) is not None:
                _limit(own[joint.name], joint, request["step"])
                own[joint.name].armature = armatures.get(joint.name, 0.0)
        for drive in drives:
            target, effort = own[drive.joint].name, efforts[drive.joint]
            actuator = spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=target)
            actuator.gainprm[0] = 1.0
            actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            actuator.biasprm[1:3] = -drive.stiffness, -drive.damping
            if effort is not None and math.isfinite(effort):
                actuator.forcelimited = True
                actuator.forcerange = -effort, effort
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        free = mujoco.mjtJoint.mjJNT_FREE
        spec.delete(next(one for one in spec.joints if one.type == free))

    try:
        mechanism = build(observation, configurations, prepare)
    except UnbuildableError as error:
        return {"error": f"MuJoCo cannot simulate the asset: {error}"}
    model = mechanism.model
    place_of = {paths[p.name]: p for p in mechanism.joints if p.name in paths}
    chosen = [path for path in request["joints"] if path in place_of]
    state = mujoco.MjData(model)
    for name, position in (settings and settings.positions) or ():
        state.qpos[place_of[paths[name]].qpos] = position
    columns = [place_of[path].qpos for path in chosen]
    rates = [place_of[path].dofs.start for path in chosen]
    mujoco.mj_forward(model, state)
    answer: dict[str, Any] = {"joints": chosen, "segments": []}
    answer["gravity"] = state.qfrc_bias[rates].tolist()
    with collected_warnings():
        for segment in request["segments"]:
            for row, drive in enumerate(drives):
                target = segment["targets"].get(paths[drive.joint], drive.target_position)
                state.ctrl[row] = drive.stiffness * (target or 0.0)
                state.ctrl[row] += drive.damping * (drive.target_velocity or 0.0)
            positions, velocities = [], []
            for step in range(segment["steps"] + 1):
                if step:
                    mujoco.mj_step(model, state)
                if step % request["every"] == 0:
                    positions.append(state.qpos[columns].tolist())
                    velocities.append(state.qvel[rates].tolist())
            answer["segments"].append({"positions": positions, "velocities": velocities})
    # MuJoCo resets a state that diverges, and counts that.
    kinds = mujoco.mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    answer["resets"] = sum(int(state.warning[kind].number) for kind in bad)
    return answer


def _limit(own: mujoco.MjsJoint, joint: obs.JointObservation, step: float) -> None:
    """Set the limits of a joint; those that are reversed lock it at zero in USD."""
    lower, upper = joint.lower, joint.upper
    if lower is not None and upper is not None:
        if lower > upper:
            lower = upper = 0.0
        if lower == upper:
            # MuJoCo refuses an empty range.
            lower, upper = lower - _LOCKED, upper + _LOCKED
        own.limited = np.isfinite([lower, upper]).any()
        # An absent bound of two.
        own.range = np.nan_to_num([lower, upper], posinf=1e6, neginf=-1e6)
    # As stiff as is stable; by default, drives of 5 Hz exceed limits visibly.
    own.solref_limit = 2.0 * step, 1.0
