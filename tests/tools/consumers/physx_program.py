"""A process that loads assets into PhysX, one after the other.

Requests and answers are lines of JSON. A request has the path of the root layer,
``usd``; ``positions`` [rad or m], a list for each joint by prim path; and ``angular``,
the joints in rad. An answer has the number of articulations and bodies, the total mass
[kg], the joint of each degree of freedom, the joint-space inertia and the gravity
forces at each configuration, and messages; ``dofs_of`` is the number of degrees of
freedom of each articulation, by prim path.

It imports nothing of usd-core: ovphysx brings its own build of OpenUSD, and both cannot
share a process.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from typing import Any

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.api import ReadGroup, WriteGroup
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import ObjectScope, SimObjectType

from tests.tools.consumers.output import captured_output

_LOGGER = "urdf_usd.consumers"
_ROOT_VELOCITIES = 6
_STILL = {"rootLinearVelocity": np.zeros(3), "rootAngularVelocity": np.zeros(3)}


class _Log(logging.Handler):
    """Collects warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(record.getMessage().split())
        self.lines.append(f"{record.levelname.lower()}: {text}")


class _Scene:
    """A stage in PhysX."""

    def __init__(self, path: str) -> None:
        self._stage = ovstage.Stage("robot")
        ovstage.population.open_usd(
            self._stage, path, ordinal=1, domains=ovstage.PopulationDomain.ALL
        )
        self._stage.advance_write_floor(ordinal=1).wait()
        self.physx = PhysX()
        self.physx.wait_task(self.physx.attach_ovstage(self._stage, read_ordinal=1))
        self.physx.wait_all()
        self._paths = ovstage.PathDictionary(self._stage)

    def close(self) -> None:
        """Release the stage."""
        self.physx.wait_task(self.physx.detach_ovstage())
        self.physx.destroy()
        self._paths = None
        self._stage = None

    def _own_paths(self, group: ReadGroup | WriteGroup) -> list[str]:
        listed: list[str] = self._paths.get_path_strings(group.prim_list)
        return listed[group.prim_offset : group.prim_offset + group.prim_count]

    def read(self, kind: SimObjectType, name: str) -> dict[str, np.ndarray]:
        """Return an attribute of all objects of a kind, by prim path."""
        values: dict[str, np.ndarray] = {}
        with self.physx.read_sync(kind, [name], scope=ObjectScope.ALL) as result:
            for group in result.groups:
                if group.is_delete or not group.tensors:
                    continue
                rows = (
                    [tensor.numpy() for tensor in group.tensors]
                    if group.is_array
                    else list(group.tensors[0].numpy())
                )
                own = self._own_paths(group)
                values |= {p: np.array(row) for p, row in zip(own, rows, strict=True)}
        return values

    def write(self, kind: SimObjectType, name: str, values: dict[str, Any]) -> None:
        """Set an attribute of objects of a kind, by prim path; others to zero."""
        with self.physx.write_sync(kind, name) as session:
            for group in session.groups:
                own = self._own_paths(group)
                for path, tensor in zip(own, group.tensors, strict=True):
                    rows = np.broadcast_to(values.get(path, 0.0), tensor.shape)
                    tensor.assign(np.ascontiguousarray(rows, np.float32))
                session.commit_sync(group)

    def joint_of_dofs(self, articulation: str) -> list[str]:
        """Return the path of the joint of each degree of freedom."""
        handles = self.read(SimObjectType.ARTICULATION, "dofJointPath")
        # Rows are padded with zeros; an articulation without any has none.
        row = handles.get(articulation, np.empty(0)).ravel()
        return [self._paths.path_to_string(int(handle)) for handle in row if handle]


def _observe(request: dict[str, Any]) -> dict[str, Any]:
    scene = _Scene(request["usd"])
    try:
        return _observed(scene, request["positions"], request["angular"])
    finally:
        scene.close()


def _observed(
    scene: _Scene, positions: dict[str, list[float]], angular: list[str]
) -> dict[str, Any]:
    whole, joint = SimObjectType.ARTICULATION, SimObjectType.ARTICULATION_JOINT
    masses = scene.read(SimObjectType.ARTICULATION_LINK, "mass")
    masses |= scene.read(SimObjectType.RIGID_BODY, "mass")
    fixed = scene.read(whole, "isFixedBase")
    answer: dict[str, Any] = {
        "articulations": len(fixed),
        "fixed": [bool(value.item()) for value in fixed.values()],
        "mass": float(sum(value.item() for value in masses.values())),
        "bodies": len(masses),
        "dofs": [],
        "dofs_of": {path: len(scene.joint_of_dofs(path)) for path in fixed},
    }
    if len(fixed) != 1:
        return answer
    (articulation,) = fixed
    answer["dofs"] = scene.joint_of_dofs(articulation)
    roots = {name: dict(scene.read(whole, name)) for name in ("rootPosition", "rootOrientation")}
    # PhysX simulates a step before it accepts positions.
    scene.physx.warmup()
    scene.physx.wait_all()
    units = {path: math.degrees(1.0) for path in angular}
    count = len(next(iter(positions.values()), []))
    first = 0 if answer["fixed"][0] else _ROOT_VELOCITIES
    size = first + len(answer["dofs"])
    inertia, gravity = [], []
    for row in range(count if answer["dofs"] else 0):
        values = {p: v[row] * units.get(p, 1.0) for p, v in positions.items()}
        scene.write(joint, "jointPosition", values)
        scene.write(joint, "jointVelocity", {})
        for name, value in roots.items():
            scene.write(whole, name, value)
        for name, still in _STILL.items():
            scene.write(whole, name, {articulation: still})
        scene.physx.update_articulations_kinematic()
        matrix = scene.read(whole, "massMatrix")[articulation].reshape(size, size)
        inertia.append(matrix[first:, first:].tolist())
        forces = scene.read(whole, "gravityForce")[articulation].ravel()
        gravity.append(forces[first:].tolist())
    return answer | {"inertia": inertia, "gravity": gravity}


def main() -> None:
    log = _Log()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(log)
    logger.propagate = False
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with captured_output([]):
        ovphysx.enable_python_logging(_LOGGER, min_severity=ovphysx.LogLevel.WARNING)
        PhysX.set_cpu_mode(True)
        schemas = [str(folder) for folder in physx_schema_paths()]
        schemas.append(str(ovphysx.newton_schema_root()))
        ovstage.population.register_usd_schemas(schemas)
    for line in sys.stdin:
        log.lines.clear()
        printed: list[str] = []
        start = time.perf_counter()
        with captured_output(printed):
            try:
                answer = _observe(json.loads(line))
            except Exception as error:  # noqa: BLE001  its text is the answer
                answer = {"error": f"{type(error).__name__}: {error}"}
        answer["seconds"] = time.perf_counter() - start
        answer["messages"] = [*log.lines, *printed]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
