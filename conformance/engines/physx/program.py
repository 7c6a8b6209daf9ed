"""Loads a USD into PhysX and writes what PhysX reports: ``program.py REQUEST ANSWER``.

A program of its own: ovphysx brings its own build of OpenUSD, which cannot share a
process with usd-core. It imports nothing of this package but the file format.

Units are those of ovphysx: degrees for joint positions, velocities and limits of
rotational joints, radians in mass matrix and generalised forces. Gravity is that of the
stage; quaternions are xyzw.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.api import ReadGroup, WriteGroup
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import ObjectScope, SimObjectType

LINK_ATTRIBUTES = {
    "link_mass": "mass",
    "link_center": "centerOfMassPosition",
    "link_inertia": "inertia",
}
JOINT_ATTRIBUTES = {
    "joint_limit": "jointLimit",
    "joint_velocity": "jointMaxVelocity",
    "joint_effort": "jointMaxForce",
    "joint_drive": "jointDriveType",
    "joint_damping": "jointViscousFriction",
    "joint_friction": "jointDynamicFriction",
}
ROOT_ATTRIBUTES = {
    "root_positions": "rootPosition",
    "root_orientations": "rootOrientation",
    "root_linear_velocities": "rootLinearVelocity",
    "root_angular_velocities": "rootAngularVelocity",
}
# Position and velocity limits that no joint reaches, in any unit.
_FAR = 1e6
# PhysX reports this, or infinity, where there is no limit.
_UNLIMITED = np.finfo(np.float32).max
# Inertia that fixes a joint [kg or kg m^2].
_HELD = 1e9
FORCE_ATTRIBUTES = {
    "mass_matrix": "massMatrix",
    "gravity": "gravityForce",
    "coriolis": "coriolisForce",
}


_LOGGER = "urdf_usd.physx"
# Beginnings of messages that do not concern the stage.
_ABOUT_MACHINE = ("GPU broadphase requires",)


class Request(TypedDict):
    """What is read.

    Attributes:
        usd: Root layer.
        joints: (n) paths of joints with one degree of freedom.
        positions: (K, n) their positions.
        velocities: (W, n) their velocities at the first W configurations, for forces.
    """

    usd: str
    joints: list[str]
    positions: list[list[float]]
    velocities: list[list[float]]


class RolloutRequest(TypedDict):
    """A passive rollout.

    Attributes:
        usd: Root layer.
        joints: (n) paths of joints with one degree of freedom.
        start: (n) their initial positions.
        held: Paths of joints that stay there.
        step: Time step [s].
        steps: (S) numbers of time steps after which the state is read, ascending.
    """

    usd: str
    joints: list[str]
    start: list[float]
    held: list[str]
    step: float
    steps: list[int]


class _Messages(logging.Handler):
    """Collects warnings and errors that concern the stage."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(record.getMessage().split())
        if not text.startswith(_ABOUT_MACHINE):
            self.texts[text] = None


class Scene:
    """A stage in PhysX.

    Args:
        path: Root layer.

    Attributes:
        messages: Warnings and errors of PhysX so far.
    """

    def __init__(self, path: str) -> None:
        self.messages = _Messages()
        logger = logging.getLogger(_LOGGER)
        logger.addHandler(self.messages)
        ovphysx.enable_python_logging(_LOGGER, min_severity=ovphysx.LogLevel.WARNING)
        PhysX.set_cpu_mode(True)
        schemas = [str(folder) for folder in physx_schema_paths()]
        schemas.append(str(ovphysx.newton_schema_root()))
        ovstage.population.register_usd_schemas(schemas)
        self._stage = ovstage.Stage("robot")
        ovstage.population.open_usd(
            self._stage, path, ordinal=1, domains=ovstage.PopulationDomain.ALL
        )
        self._stage.advance_write_floor(ordinal=1).wait()
        self._physx = PhysX()
        self._physx.wait_task(self._physx.attach_ovstage(self._stage, read_ordinal=1))
        self._physx.wait_all()
        self._paths = ovstage.PathDictionary(self._stage)

    def _own_paths(self, group: ReadGroup | WriteGroup) -> list[str]:
        listed: list[str] = self._paths.get_path_strings(group.prim_list)
        return listed[group.prim_offset : group.prim_offset + group.prim_count]

    def read(self, kind: SimObjectType, name: str) -> dict[str, np.ndarray]:
        """Return an attribute of all objects of a kind, by prim path."""
        values: dict[str, np.ndarray] = {}
        with self._physx.read_sync(kind, [name], scope=ObjectScope.ALL) as result:
            for group in result.groups:
                if group.is_delete or not group.tensors:
                    continue
                rows = (
                    [tensor.numpy() for tensor in group.tensors]
                    if group.is_array
                    else list(group.tensors[0].numpy())
                )
                paths = self._own_paths(group)
                values |= {p: np.array(row) for p, row in zip(paths, rows, strict=True)}
        return values

    def read_bodies(self, name: str) -> dict[str, np.ndarray]:
        """Return an attribute of links of articulations and of other rigid bodies."""
        links = self.read(SimObjectType.ARTICULATION_LINK, name)
        return links | self.read(SimObjectType.RIGID_BODY, name)

    def dof_paths(self) -> dict[str, list[str]]:
        """Return the joint of each degree of freedom, by path of the articulation."""
        handles = self.read(SimObjectType.ARTICULATION, "dofJointPath")
        # Rows are padded with zeros.
        return {
            path: [self._paths.path_to_string(int(h)) for h in row.ravel() if h]
            for path, row in handles.items()
        }

    def write(
        self, name: str, values: Mapping[str, float | np.ndarray], other: float = 0.0
    ) -> None:
        """Set an attribute of all joints, by prim path; the same for each axis."""
        with self._physx.write_sync(SimObjectType.ARTICULATION_JOINT, name) as session:
            for group in session.groups:
                paths = self._own_paths(group)
                for path, tensor in zip(paths, group.tensors, strict=True):
                    rows = np.broadcast_to(values.get(path, other), tensor.shape)
                    tensor.assign(np.ascontiguousarray(rows, np.float32))
                session.commit_sync(group)

    def read_root(
        self, names: Iterable[str] = ("rootPosition", "rootOrientation")
    ) -> dict[str, np.ndarray]:
        """Return the rows of attributes of the roots of all articulations."""
        return {
            name: np.array(list(self.read(SimObjectType.ARTICULATION, name).values()))
            for name in names
        }

    def hold_root(self, root: dict[str, np.ndarray]) -> None:
        """Put the root back where it was, at rest.

        Args:
            root: As read by :meth:`read_root`.
        """
        still = {"rootLinearVelocity": np.zeros(3), "rootAngularVelocity": np.zeros(3)}
        for name, value in (root | still).items():
            with self._physx.write_sync(SimObjectType.ARTICULATION, name) as session:
                for group in session.groups:
                    for tensor in group.tensors:
                        rows = np.broadcast_to(value, tensor.shape)
                        tensor.assign(np.ascontiguousarray(rows, np.float32))
                    session.commit_sync(group)

    def step(self, seconds: float) -> None:
        """Simulate one time step [s]."""
        self._physx.step_sync(seconds)

    def place(self) -> None:
        """Bring links to where joint positions put them."""
        self._physx.update_articulations_kinematic()

    def warm_up(self) -> None:
        """Simulate the first step."""
        self._physx.warmup()
        self._physx.wait_all()


def observe(request: Request) -> dict[str, np.ndarray]:
    """Return all arrays of an answer, by name.

    Args:
        request: In the units of ovphysx.
    """
    scene = Scene(request["usd"])
    joint, articulation = SimObjectType.ARTICULATION_JOINT, SimObjectType.ARTICULATION
    links = sorted(scene.read_bodies("mass"))
    dofs = scene.dof_paths()
    fixed = scene.read(articulation, "isFixedBase")
    answer = {
        "links": np.array(links, dtype=str),
        "articulations": np.array(sorted(fixed), dtype=str),
        "fixed": np.array([int(fixed[path].item()) for path in sorted(fixed)]),
    }
    for name, attribute in LINK_ATTRIBUTES.items():
        values = scene.read_bodies(attribute)
        answer[name] = np.array([values[path].ravel() for path in links])
    columns = [path for own in sorted(dofs) for path in dofs[own]]
    answer["dofs"] = np.array(columns, dtype=str)
    moving = sorted(scene.read(joint, "jointLimit"))
    answer["joints"] = np.array(moving, dtype=str)
    answer["joint_axes"] = np.array([columns.count(path) for path in moving])
    for name, attribute in JOINT_ATTRIBUTES.items():
        values = scene.read(joint, attribute)
        # The first axis is enough: joints with several have neither limits nor drives
        # in URDF.
        answer[name] = np.array([values[path][0].ravel() for path in moving])
    answer |= _configurations(scene, request, links)
    answer["messages"] = np.array(list(scene.messages.texts), dtype=str)
    return answer


def _configurations(
    scene: Scene, request: Request, links: list[str]
) -> dict[str, np.ndarray]:
    articulation = SimObjectType.ARTICULATION
    root = scene.read_root()
    # PhysX simulates a step before it accepts positions.
    scene.warm_up()
    # PhysX reduces velocities to their limits.
    scene.write("jointMaxVelocity", {}, _FAR)
    positions, turns = [], []
    forces: dict[str, list[np.ndarray]] = {name: [] for name in FORCE_ATTRIBUTES}
    velocities = request["velocities"]
    for row, values in enumerate(request["positions"]):
        scene.write("jointPosition", dict(zip(request["joints"], values, strict=True)))
        speeds = velocities[row] if row < len(velocities) else [0.0] * len(values)
        scene.write("jointVelocity", dict(zip(request["joints"], speeds, strict=True)))
        scene.hold_root(root)
        scene.place()
        origins = scene.read_bodies("position")
        orientations = scene.read_bodies("orientation")
        positions.append([origins[path] for path in links])
        turns.append([orientations[path] for path in links])
        if row < len(velocities):
            for name, attribute in FORCE_ATTRIBUTES.items():
                found = scene.read(articulation, attribute)
                if len(found) == 1:
                    forces[name] += [row.ravel() for row in found.values()]
    return {
        "positions": np.array(positions),
        "orientations": np.array(turns),
        **{name: np.array(rows) for name, rows in forces.items()},
    }


def roll_out(request: RolloutRequest) -> dict[str, np.ndarray]:
    """Simulate a passive rollout, without limits of position and velocity.

    Args:
        request: In the units of ovphysx.

    Returns:
        ``positions`` and ``velocities`` (S, n) of joints; of the root, before the first
        step and at each state, ``root_positions``, ``root_orientations`` xyzw,
        ``root_linear_velocities`` and ``root_angular_velocities``, in the world.
    """
    scene = Scene(request["usd"])
    joint = SimObjectType.ARTICULATION_JOINT
    root = scene.read_root()
    scene.warm_up()
    limits = scene.read(joint, "jointLimit")
    # Joints without a limit keep theirs: they cannot get one.
    scene.write("jointLimit", {path: _widened(limits[path]) for path in limits})
    scene.write("jointMaxVelocity", {}, _FAR)
    scene.write("jointArmature", dict.fromkeys(request["held"], _HELD))
    paths = request["joints"]
    scene.write("jointPosition", dict(zip(paths, request["start"], strict=True)))
    scene.write("jointVelocity", {})
    scene.hold_root(root)
    scene.place()
    roots = [scene.read_root(ROOT_ATTRIBUTES.values())]
    states: dict[str, list[list[float]]] = {"jointPosition": [], "jointVelocity": []}
    before = 0
    for steps in request["steps"]:
        for _ in range(steps - before):
            scene.step(request["step"])
        before = steps
        for name, rows in states.items():
            values = scene.read(joint, name)
            rows.append([float(values[path].ravel()[0]) for path in paths])
        roots.append(scene.read_root(ROOT_ATTRIBUTES.values()))
    return {
        "positions": np.array(states["jointPosition"]),
        "velocities": np.array(states["jointVelocity"]),
        **{
            name: np.array([at[attribute][0] for at in roots])
            for name, attribute in ROOT_ATTRIBUTES.items()
        },
    }


def _widened(limits: np.ndarray) -> np.ndarray:
    """Return (n, 2) limits, the finite ones moved out of reach."""
    return np.where(np.abs(limits) < _UNLIMITED, np.array([-_FAR, _FAR]), limits)


def main(request: str, answer: str) -> None:
    """Read a request from a file, and write the answer to another."""
    asked = json.loads(Path(request).read_text(encoding="utf-8"))
    arrays: dict[str, Any] = roll_out(asked) if "start" in asked else observe(asked)
    np.savez(answer, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
