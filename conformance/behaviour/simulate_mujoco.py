"""Simulation of an asset in MuJoCo, and the form of requests to all simulators.

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

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from urdf_usd.conformance.engines.mujoco_models import UnbuildableError, build, collected_warnings
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    Observation,
)
from urdf_usd.conformance.observation.simulation import DriveObservation

# Half the range of a joint whose limits are equal [rad or m].
_LOCKED = 1e-6


def simulate_in_mujoco(
    observation: Observation,
    configurations: Configurations,
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
            _add_actuator(spec, own[drive.joint].name, drive, efforts[drive.joint])
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
    answer: dict[str, Any] = {
        "joints": chosen,
        "gravity": state.qfrc_bias[rates].tolist(),
        "segments": [],
    }
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
    answer["resets"] = sum(
        int(state.warning[kind].number)
        for kind in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    )
    return answer


def _limit(own: mujoco.MjsJoint, joint: JointObservation, step: float) -> None:
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


def _add_actuator(
    spec: mujoco.MjSpec, joint: str, drive: DriveObservation, effort: float | None
) -> None:
    actuator = spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint)
    actuator.gainprm[0] = 1.0
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.biasprm[1:3] = -drive.stiffness, -drive.damping
    if effort is not None and math.isfinite(effort):
        actuator.forcelimited = True
        actuator.forcerange = -effort, effort
