"""Simulates assets in Newton's ``SolverMuJoCo``, one after the other, on the CPU, without contacts.

Requests and answers are those of :mod:`urdf_usd.conformance.simulations`. The interpreter may have
Newton alone: nothing of ours that needs other packages is imported.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import mujoco
import newton
import numpy as np
import warp

from urdf_usd.conformance.engines.process import answer_requests

_DEVICE = "cpu"


def _simulate(request: dict[str, Any]) -> dict[str, Any]:
    builder = newton.ModelBuilder()
    builder.add_usd(
        request["usd"],
        apply_up_axis_from_stage=True,
        load_visual_shapes=False,
        load_sites=False,
        # They have no effect, but their hulls take time.
        ignore_paths=[f"{re.escape(path)}$" for path in request["colliders"]],
    )
    model = builder.finalize(device=_DEVICE)
    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True, disable_contacts=True)
    state, following, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, state.joint_q, state.joint_qd, state)
    rows = {label: row for row, label in enumerate(builder.joint_label)}
    joints = [path for path in request["joints"] if path in rows]
    positions = [builder.joint_q_start[rows[path]] for path in joints]
    rates = [builder.joint_qd_start[rows[path]] for path in joints]
    starts = model.joint_target_q_start.numpy()
    answer: dict[str, Any] = {"joints": joints, "segments": []}
    for segment in request["segments"]:
        if segment["targets"]:
            targets = control.joint_target_q.numpy()
            for path in joints:
                targets[starts[rows[path]]] = segment["targets"].get(path, 0.0)
            control.joint_target_q.assign(targets)
        sampled: dict[str, list[list[float]]] = {"positions": [], "velocities": []}
        for step in range(segment["steps"] + 1):
            if step:
                solver.step(state, following, control, None, request["step"])
                state, following = following, state
            if step % request["every"] == 0:
                sampled["positions"].append(state.joint_q.numpy()[positions].tolist())
                sampled["velocities"].append(state.joint_qd.numpy()[rates].tolist())
        answer["segments"].append(sampled)
    # MuJoCo resets a state that diverges, and counts that.
    kinds = mujoco.mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    answer["resets"] = sum(int(solver.mj_data.warning[kind].number) for kind in bad)
    return answer


def _configure() -> None:
    # MuJoCo writes its log, of states that diverge, into the working directory.
    os.chdir(tempfile.gettempdir())
    warp.config.quiet = True
    warp.init()
    np.seterr(all="ignore")


if __name__ == "__main__":
    answer_requests(_simulate, _configure)
