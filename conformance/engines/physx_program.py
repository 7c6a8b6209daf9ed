"""Loads USDs into PhysX, one after the other, and writes what PhysX reports.

A program of its own: ovphysx brings its own build of OpenUSD, which cannot share a
process with usd-core. It imports nothing of this package.

Each line of standard input is a :class:`Request` in JSON. Each line of standard output
states that its answer is complete. An error ends the program.

Units are those of ovphysx: degrees for joint positions, velocities and limits of
rotational joints, radians in mass matrix and generalised forces. Gravity is that of the
stage; quaternions are xyzw.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.api import ReadGroup, WriteGroup
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import ObjectScope, SimObjectType

if TYPE_CHECKING:
    import warp

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
    "joint_stiffness": "jointStiffness",
    "joint_gain": "jointDamping",
    "joint_armature": "jointArmature",
    "joint_target": "jointPositionTarget",
    "joint_target_speed": "jointVelocityTarget",
    "joint_start": "jointPosition",
}
# Position and velocity limits that no joint reaches, in any unit.
_FAR = 1e6
# PhysX reports this, or infinity, where there is no limit.
_UNLIMITED = np.finfo(np.float32).max
# Inertia that fixes a joint [kg or kg m^2].
_HELD = 1e9
# Step [s] in which mimic couplings move their joints to where they satisfy them, and
# the largest number of these steps.
_COUPLING_STEP = 1e-3
_COUPLING_STEPS = 200
# Parts of the range of positions: by which a joint has to move to be coupled, by which
# it may depart from a linear coupling, and below which it is settled.
_CHANGED = 1e-4
_SETTLED = 1e-7
_SEED = 20_240_229
# Rollouts are repeated with time steps divided by these.
_REFINEMENTS = (1, 2, 4, 8)
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
        passive: What is simulated, if anything.
        answer: File in which arrays are stored, by name.
    """

    usd: str
    joints: list[str]
    positions: list[list[float]]
    velocities: list[list[float]]
    passive: PassiveRequest | None
    answer: str


class PassiveRequest(TypedDict):
    """What is simulated without collisions, with a fixed root.

    Attributes:
        usd: Root layer.
        joints: (n) paths of joints with one degree of freedom.
        ranges: (n) largest positions of these at which couplings are measured.
        heads: Paths of joints that are preferred as leaders of mimic couplings.
        rollout: The passive rollout, if there is one.
    """

    usd: str
    joints: list[str]
    ranges: list[float]
    heads: list[str]
    rollout: RolloutRequest | None


class RolloutRequest(TypedDict):
    """A passive rollout.

    Attributes:
        joints: (n) paths of joints, all with one degree of freedom.
        start: (n) their initial positions.
        held: Paths of joints that stay there.
        step: Largest time step [s].
        steps: (S) numbers of time steps after which the state is read, ascending.
    """

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


def configure() -> None:
    """Configure PhysX, while there is no scene."""
    ovphysx.enable_python_logging(_LOGGER, min_severity=ovphysx.LogLevel.WARNING)
    PhysX.set_cpu_mode(True)
    # On the calling thread: a step of a robot takes 0.2 ms instead of 4 ms.
    ovphysx.set_global_config(ovphysx.GlobalConfigKey.NUM_THREADS, 0)
    schemas = [str(folder) for folder in physx_schema_paths()]
    schemas.append(str(ovphysx.newton_schema_root()))
    ovstage.population.register_usd_schemas(schemas)


class Scene:
    """A stage in PhysX.

    Args:
        path: Root layer.
    """

    def __init__(self, path: str) -> None:
        self._stage = ovstage.Stage("robot")
        ovstage.population.open_usd(
            self._stage, path, ordinal=1, domains=ovstage.PopulationDomain.ALL
        )
        self._stage.advance_write_floor(ordinal=1).wait()
        self._physx = PhysX()
        self._physx.wait_task(self._physx.attach_ovstage(self._stage, read_ordinal=1))
        self._physx.wait_all()
        self._paths = ovstage.PathDictionary(self._stage)
        kinds = SimObjectType.ARTICULATION_LINK, SimObjectType.RIGID_BODY
        self._kinds = [kind for kind in kinds if self.read(kind, "mass")]

    def _own_paths(self, group: ReadGroup | WriteGroup) -> list[str]:
        listed: list[str] = self._paths.get_path_strings(group.prim_list)
        return listed[group.prim_offset : group.prim_offset + group.prim_count]

    def read(self, kind: SimObjectType, name: str) -> dict[str, np.ndarray]:
        """Return an attribute of all objects of a kind, by prim path."""
        return self.read_all(kind, [name])[name]

    def read_all(
        self, kind: SimObjectType, names: Sequence[str]
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return attributes of all objects of a kind, by name and prim path.

        Each call takes 2 ms, with any number of attributes.
        """
        found: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        with self._physx.read_sync(kind, names, scope=ObjectScope.ALL) as result:
            for group in result.groups:
                if group.is_delete or not group.tensors:
                    continue
                rows = (
                    [tensor.numpy() for tensor in group.tensors]
                    if group.is_array
                    else list(group.tensors[0].numpy())
                )
                paths = self._own_paths(group)
                own = {p: np.array(row) for p, row in zip(paths, rows, strict=True)}
                found[self._paths.token_to_string(group.attribute)] |= own
        return found

    def read_bodies(self, *names: str) -> list[dict[str, np.ndarray]]:
        """Return attributes of links of articulations and of other rigid bodies."""
        kinds = [self.read_all(kind, names) for kind in self._kinds]
        return [
            {path: value for found in kinds for path, value in found[name].items()}
            for name in names
        ]

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
                    _assign(tensor, values.get(path, other))
                session.commit_sync(group)

    def joint_values(self, name: str, paths: list[str]) -> np.ndarray:
        """Return (n) values of an attribute of joints with one degree of freedom."""
        values = self.read(SimObjectType.ARTICULATION_JOINT, name)
        return np.array([values[path].ravel()[0] for path in paths], np.float64)

    def turn_gravity_off(self) -> None:
        """Let no gravity act on links of articulations."""
        link = SimObjectType.ARTICULATION_LINK
        with self._physx.write_sync(link, "disableGravity") as session:
            for group in session.groups:
                for tensor in group.tensors:
                    tensor.assign(np.ones(tensor.shape, np.uint8))
                session.commit_sync(group)

    def remove_limits(self) -> None:
        """Move limits of position and velocity out of reach.

        Joints without a position limit keep none: they cannot get one.
        """
        limits = self.read(SimObjectType.ARTICULATION_JOINT, "jointLimit")
        self.write("jointLimit", {path: _widened(limits[path]) for path in limits})
        self.write("jointMaxVelocity", {}, _FAR)

    def remove_friction(self) -> None:
        """Remove Coulomb friction of joints."""
        # Static friction must not be less than dynamic friction.
        self.write("jointDynamicFriction", {})
        self.write("jointStaticFriction", {})

    def remove_drives(self) -> None:
        """Remove the gains of all drives."""
        self.write("jointStiffness", {})
        self.write("jointDamping", {})

    def read_root(self) -> dict[str, np.ndarray]:
        """Return the poses of the roots of all articulations."""
        names = "rootPosition", "rootOrientation"
        found = self.read_all(SimObjectType.ARTICULATION, names)
        return {name: np.array(list(found[name].values())) for name in names}

    def hold_root(self, root: dict[str, np.ndarray]) -> None:
        """Put the root back where it was, at rest.

        Args:
            root: As read by :meth:`read_root`.
        """
        still = {"rootLinearVelocity": np.zeros(3), "rootAngularVelocity": np.zeros(3)}
        names, values = zip(*(root | still).items(), strict=True)
        with self._physx.write_sync(SimObjectType.ARTICULATION, names) as session:
            for group in session.groups:
                for tensor in group.tensors:
                    _assign(tensor, values[group.attribute_index])
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
    logger, messages = logging.getLogger(_LOGGER), _Messages()
    logger.addHandler(messages)
    try:
        answer = _observe(request)
    finally:
        logger.removeHandler(messages)
    answer["messages"] = np.array(list(messages.texts), dtype=str)
    return answer


def _observe(request: Request) -> dict[str, np.ndarray]:
    scene = Scene(request["usd"])
    joint, articulation = SimObjectType.ARTICULATION_JOINT, SimObjectType.ARTICULATION
    bodies = scene.read_bodies(*LINK_ATTRIBUTES.values())
    links = sorted(bodies[0])
    dofs = scene.dof_paths()
    fixed = scene.read(articulation, "isFixedBase")
    answer = {
        "links": np.array(links, dtype=str),
        "articulations": np.array(sorted(fixed), dtype=str),
        "fixed": np.array([int(fixed[path].item()) for path in sorted(fixed)]),
    }
    for name, values in zip(LINK_ATTRIBUTES, bodies, strict=True):
        answer[name] = np.array([values[path].ravel() for path in links])
    columns = [path for own in sorted(dofs) for path in dofs[own]]
    answer["dofs"] = np.array(columns, dtype=str)
    moving = sorted(scene.read(joint, "jointLimit"))
    answer["joints"] = np.array(moving, dtype=str)
    answer["joint_axes"] = np.array([columns.count(path) for path in moving])
    attributes = scene.read_all(joint, tuple(JOINT_ATTRIBUTES.values()))
    for name, attribute in JOINT_ATTRIBUTES.items():
        values = attributes[attribute]
        # The first axis is enough: joints with several have neither limits nor drives
        # in URDF.
        answer[name] = np.array([values[path][0].ravel() for path in moving])
    answer |= _configurations(scene, request, links)
    passive = request["passive"]
    if passive and len(fixed) == 1:
        answer |= _couplings(passive, columns)
        rollout = passive["rollout"]
        if rollout and set(rollout["joints"]) <= set(columns):
            answer |= _roll_out(passive["usd"], rollout)
    return answer


def _configurations(scene: Scene, request: Request, links: list[str]) -> dict[str, np.ndarray]:
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
        origins, orientations = scene.read_bodies("position", "orientation")
        positions.append([origins[path] for path in links])
        turns.append([orientations[path] for path in links])
        if row < len(velocities):
            read = scene.read_all(articulation, tuple(FORCE_ATTRIBUTES.values()))
            for name, attribute in FORCE_ATTRIBUTES.items():
                found = read[attribute]
                if len(found) == 1:
                    forces[name] += [row.ravel() for row in found.values()]
    return {
        "positions": np.array(positions),
        "orientations": np.array(turns),
        **{name: np.array(rows) for name, rows in forces.items()},
    }


def _couplings(request: PassiveRequest, freedoms: list[str]) -> dict[str, np.ndarray]:
    """Measure mimic couplings by the positions of joints after some steps.

    PhysX does not list them. It moves coupled joints to where they satisfy their
    coupling, and no others. Then each leader is fixed by a large inertia at three
    positions: followers end at positions that depend on the leader's linearly, wherever
    they start.

    Args:
        request: In the units of ovphysx.
        freedoms: Joint of each degree of freedom; other joints do not move.

    Returns:
        ``followers`` and ``leaders``, (c) paths; ``multipliers`` and ``offsets``, (c).
    """
    scene = Scene(request["usd"])
    root = scene.read_root()
    scene.warm_up()
    scene.turn_gravity_off()
    scene.remove_limits()
    scene.remove_friction()
    scene.remove_drives()
    ranges_of = dict(zip(request["joints"], request["ranges"], strict=True))
    paths = [path for path in request["joints"] if path in freedoms]
    ranges = np.array([ranges_of[path] for path in paths])

    def settle(start: np.ndarray) -> np.ndarray:
        """Return (n) positions in which coupled joints end."""
        scene.write("jointPosition", dict(zip(paths, start, strict=True)))
        scene.hold_root(root)
        for _ in range(_COUPLING_STEPS):
            scene.write("jointVelocity", {})
            scene.step(_COUPLING_STEP)
            end = scene.joint_values("jointPosition", paths)
            if np.all(np.abs(end - start) <= _SETTLED * ranges):
                break
            start = end
        return end

    random = np.random.default_rng(_SEED)
    starts = random.uniform(-1, 1, (3, len(paths))) * ranges
    coupled = np.abs(settle(starts[0]) - starts[0]) > _CHANGED * ranges
    heads = [paths.index(path) for path in request["heads"] if path in paths]
    found: dict[int, tuple[int, float, float]] = {}
    leaders: set[int] = set()
    for head in [*heads, *range(len(paths))]:
        if not coupled[head] or head in found or head in leaders:
            continue
        leaders.add(head)
        scene.write("jointArmature", {paths[head]: _HELD})
        ends = np.array([settle(start) for start in starts])
        led = ends[:, head]
        slope = (ends[1] - ends[0]) / (led[1] - led[0])
        offset = ends[0] - slope * led[0]
        error = np.abs(ends[2] - (slope * led[2] + offset))
        for row in np.flatnonzero(coupled & (error <= _CHANGED * ranges)).tolist():
            if row not in {head, *heads} and row not in found:
                found[row] = head, float(slope[row]), float(offset[row])
    return {
        "followers": np.array([paths[row] for row in found], dtype=str),
        "leaders": np.array([paths[head] for head, _, _ in found.values()], dtype=str),
        "multipliers": np.array([slope for _, slope, _ in found.values()]),
        "offsets": np.array([offset for _, _, offset in found.values()]),
    }


def _roll_out(usd: str, request: RolloutRequest) -> dict[str, np.ndarray]:
    """Simulate a passive rollout with several time steps.

    Limits of position and velocity, Coulomb friction, armature and the gains of drives
    are left out.

    Args:
        usd: Root layer.
        request: In the units of ovphysx.

    Returns:
        ``rollout_positions`` and ``rollout_velocities``, (R, S, n) of joints, with the
        given time step divided by ``_REFINEMENTS``; ``rollout_steps``, (S, R) numbers
        of these steps.
    """
    scene = Scene(usd)
    root = scene.read_root()
    scene.warm_up()
    scene.remove_limits()
    scene.remove_friction()
    scene.remove_drives()
    scene.write("jointArmature", dict.fromkeys(request["held"], _HELD))
    paths = request["joints"]
    states: dict[str, list[list[np.ndarray]]] = {"Position": [], "Velocity": []}
    for refinement in _REFINEMENTS:
        scene.write("jointPosition", dict(zip(paths, request["start"], strict=True)))
        scene.write("jointVelocity", {})
        scene.hold_root(root)
        scene.place()
        for rows in states.values():
            rows.append([])
        before = 0
        for steps in request["steps"]:
            for _ in range(refinement * (steps - before)):
                scene.step(request["step"] / refinement)
            before = steps
            for name, rows in states.items():
                rows[-1].append(scene.joint_values(f"joint{name}", paths))
    return {
        "rollout_positions": np.array(states["Position"]),
        "rollout_velocities": np.array(states["Velocity"]),
        "rollout_steps": np.outer(request["steps"], _REFINEMENTS),
    }


def _assign(tensor: warp.array, values: float | np.ndarray) -> None:
    """Set a tensor to values that are broadcast to its shape."""
    rows = np.broadcast_to(values, tensor.shape)
    tensor.assign(np.ascontiguousarray(rows, np.float32))


def _widened(limits: np.ndarray) -> np.ndarray:
    """Return (n, 2) limits, the finite ones moved out of reach."""
    return np.where(np.abs(limits) < _UNLIMITED, np.array([-_FAR, _FAR]), limits)


def main() -> None:
    """Answer requests until standard input ends."""
    # What native code prints must not come between the answers.
    done = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request: Request = json.loads(line)
        # PhysX forgets it at the end of its last instance, without which it waits: its
        # threads take an eighth of a processor.
        configure()
        np.savez(request["answer"], **observe(request))  # type: ignore[arg-type]
        print(file=done, flush=True)


if __name__ == "__main__":
    main()
