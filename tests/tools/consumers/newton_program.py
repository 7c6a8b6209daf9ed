"""A process that loads assets into Newton, one after the other.

Requests and answers are those of ``physx_program.py``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

import newton
import numpy as np
import warp

from tests.tools.consumers.output import captured_output

_DEVICE = "cpu"


def _observe(request: dict[str, Any]) -> dict[str, Any]:
    builder = newton.ModelBuilder()
    # A warning for each body.
    builder.validate_inertia_detailed = True
    # Without rotation to Newton's own up axis, and without massless sites.
    builder.add_usd(
        request["usd"],
        apply_up_axis_from_stage=True,
        load_visual_shapes=False,
        load_sites=False,
    )
    model = builder.finalize(device=_DEVICE)
    parents, kinds = builder.joint_parent, builder.joint_type
    roots = [row for row, parent in enumerate(parents) if parent < 0]
    ends = [*builder.joint_qd_start[1:], model.joint_dof_count]
    # An empty model has one end more.
    columns = {
        label: range(start, end)
        for label, start, end in zip(
            builder.joint_label, builder.joint_qd_start, ends, strict=False
        )
    }
    # The free joint of a floating base.
    free = {builder.joint_label[row] for row in roots if kinds[row] == newton.JointType.FREE}
    dofs = [
        (label, column) for label, own in columns.items() if label not in free for column in own
    ]
    answer: dict[str, Any] = {
        "articulations": model.articulation_count,
        "fixed": [builder.joint_label[row] not in free for row in roots],
        "mass": float(np.sum(model.body_mass.numpy(), dtype=float)),
        "bodies": model.body_count,
        "dofs": [label for label, _ in dofs],
    }
    if not dofs or model.articulation_count != 1:
        return answer
    state = model.state()
    rates = warp.zeros_like(model.joint_qd)
    size = model.max_dofs_per_articulation
    matrix = warp.zeros((1, size, size), dtype=warp.float32, device=_DEVICE)
    force = warp.zeros(model.joint_dof_count, dtype=warp.float32, device=_DEVICE)
    start = model.joint_q.numpy()
    position = {label: builder.joint_q_start[row] for row, label in enumerate(builder.joint_label)}
    chosen = [column for _, column in dofs]
    count = len(next(iter(request["positions"].values()), []))
    inertia, gravity = [], []
    for row in range(count):
        values = start.copy()
        for path, own in request["positions"].items():
            if path in position:
                values[position[path]] = own[row]
        placed = warp.array(values, dtype=warp.float32, device=_DEVICE)
        warp.copy(state.joint_q, placed)
        warp.copy(state.joint_qd, rates)
        newton.eval_fk(model, state.joint_q, state.joint_qd, state)
        newton.eval_inverse_dynamics_passive(model, state, mass_matrix=matrix, gravity_force=force)
        full = matrix.numpy()[0]
        inertia.append(full[np.ix_(chosen, chosen)].tolist())
        gravity.append(force.numpy()[chosen].tolist())
    return answer | {"inertia": inertia, "gravity": gravity}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with captured_output([]):
        warp.config.quiet = True
        warp.init()
    for line in sys.stdin:
        printed: list[str] = []
        start = time.perf_counter()
        with (
            captured_output(printed),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            try:
                answer = _observe(json.loads(line))
            except Exception as error:  # noqa: BLE001  its text is the answer
                answer = {"error": f"{type(error).__name__}: {error}"}
        answer["seconds"] = time.perf_counter() - start
        texts = (" ".join(str(one.message).split()) for one in caught)
        answer["messages"] = [*(f"warning: {text}" for text in texts), *printed]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
