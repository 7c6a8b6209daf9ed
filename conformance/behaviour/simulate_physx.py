"""A process that simulates assets in PhysX, one after the other.

Requests and answers are lines of JSON, see ``simulations``. It
imports nothing of usd-core: ovphysx brings its own build of OpenUSD.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ovphysx.types import SimObjectType

from urdf_usd.conformance.engines.physx_program import Scene, configure
from urdf_usd.conformance.engines.process import answer_requests


def _simulate(request: dict[str, Any]) -> dict[str, Any]:
    scene = Scene(request["usd"])
    joint = SimObjectType.ARTICULATION_JOINT
    start = scene.read(joint, ["jointPosition"])["jointPosition"]
    freedoms = {path for own in scene.dof_paths().values() for path in own}
    joints = [path for path in request["joints"] if path in freedoms]
    units = np.array([math.radians(1.0) if path in request["angular"] else 1.0 for path in joints])
    # PhysX simulates a step before it accepts positions.
    scene.warm_up()
    scene.write("jointPosition", start)
    scene.write("jointVelocity", {})
    scene.physx.update_articulations_kinematic()
    answer: dict[str, Any] = {"joints": joints, "segments": []}
    for segment in request["segments"]:
        if segment["targets"]:
            targets = np.array([segment["targets"].get(path, 0.0) for path in joints]) / units
            scene.write("jointPositionTarget", dict(zip(joints, targets, strict=True)))
        rows: dict[str, list[list[float]]] = {"Position": [], "Velocity": []}
        poses = []
        for step in range(segment["steps"] + 1):
            if step:
                scene.physx.step_sync(request["step"])
            if step % request["every"] == 0:
                for name, values in rows.items():
                    values.append((scene.joint_values(f"joint{name}", joints) * units).tolist())
                if "body" in request:
                    (found,) = scene.read_bodies("position")
                    poses.append(found[request["body"]].ravel().tolist())
        sampled = {"positions": rows["Position"], "velocities": rows["Velocity"], "base": poses}
        answer["segments"].append(sampled)
    return answer


if __name__ == "__main__":
    answer_requests(_simulate, configure)
