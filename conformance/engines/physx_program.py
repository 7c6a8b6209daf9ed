"""Loads USDs into PhysX, one after the other, and writes what PhysX reports, or how they move.

A program of its own: ovphysx brings its own build of OpenUSD, which cannot share a
process with usd-core, of which it imports nothing.

Requests with ``segments``, and their answers, are those of :mod:`urdf_usd.conformance.simulations`.
Others are as :mod:`.physx` makes them. Their answers have attributes of PhysX by its names:

- ``usd``: root layer;
- ``joints``: (n) paths of joints with one degree of freedom, ``positions``: (K, n) of them, and
  ``velocities``: (W, n) at the first W configurations, for forces;
- ``passive``: null, or what is simulated without collisions and with a fixed root, to measure
  couplings: ``usd``, ``joints``, ``ranges`` (n) largest positions, and ``heads`` paths of joints
  that are preferred as leaders.

Units are those of ovphysx: degrees for joint positions, velocities and limits of
rotational joints, radians in mass matrix and generalised forces. Gravity is that of the
stage; quaternions are xyzw.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import ObjectScope, SimObjectType

from urdf_usd.conformance.engines.process import answer_requests

_ARTICULATION = SimObjectType.ARTICULATION
_JOINT = SimObjectType.ARTICULATION_JOINT
_OF_LINKS = ("mass", "centerOfMassPosition", "inertia")
_OF_JOINTS = (
    *("jointLimit", "jointMaxVelocity", "jointMaxForce", "jointViscousFriction", "jointPosition"),
    *("jointDynamicFriction", "jointDriveType", "jointStiffness", "jointDamping", "jointArmature"),
    *("jointPositionTarget", "jointVelocityTarget"),
)
_FORCES = ("massMatrix", "gravityForce", "coriolisForce")
# Position and velocity limits that no joint reaches, in any unit.
_FAR = 1e6
# PhysX reports this, or infinity, where there is no limit.
_UNLIMITED = np.finfo(np.float32).max
# Inertia that fixes a joint [kg or kg m^2].
_HELD = 1e9
# Step [s] in which mimic couplings move their joints to where they satisfy them, and
# the largest number of these steps.
_COUPLING_STEP, _COUPLING_STEPS = 1e-3, 200
# Parts of the range of positions: by which a joint has to move to be coupled, by which
# it may depart from a linear coupling, and below which it is settled.
_CHANGED, _SETTLED = 1e-4, 1e-7
# Positions of a leader, relative to its range.
_LEADER_POSITIONS = np.array([-1.0, 1.0, 0.25, -0.4])
_SEED = 20_240_229
_LOGGER = "urdf_usd.physx"
# Beginnings of messages that do not concern the stage.
_ABOUT_MACHINE = ("GPU broadphase requires",)


def configure() -> None:
    # While there is no scene.
    ovphysx.enable_python_logging(_LOGGER, min_severity=ovphysx.LogLevel.WARNING)
    PhysX.set_cpu_mode(True)
    # On the calling thread: a step of a robot takes 0.2 ms instead of 4 ms.
    ovphysx.set_global_config(ovphysx.GlobalConfigKey.NUM_THREADS, 0)
    schemas = [str(folder) for folder in physx_schema_paths()]
    schemas.append(str(ovphysx.newton_schema_root()))
    ovstage.population.register_usd_schemas(schemas)


class Scene:
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
        kinds = SimObjectType.ARTICULATION_LINK, SimObjectType.RIGID_BODY
        self._kinds = [kind for kind in kinds if self.read(kind, ["mass"])["mass"]]
        self._root = self.read(_ARTICULATION, ("rootPosition", "rootOrientation"))

    def _own_paths(self, group: Any) -> list[str]:  # noqa: ANN401  of ovphysx
        listed: list[str] = self._paths.get_path_strings(group.prim_list)
        return listed[group.prim_offset : group.prim_offset + group.prim_count]

    def read(self, kind: SimObjectType, names: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        """Return attributes of all objects of a kind, by name and prim path.

        Each call takes 2 ms, with any number of attributes.
        """
        found: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        with self.physx.read_sync(kind, names, scope=ObjectScope.ALL) as result:
            for group in result.groups:
                if group.is_delete or not group.tensors:
                    continue
                tensors = [tensor.numpy() for tensor in group.tensors]
                rows = tensors if group.is_array else list(tensors[0])
                paths = self._own_paths(group)
                own = {p: np.array(row) for p, row in zip(paths, rows, strict=True)}
                found[self._paths.token_to_string(group.attribute)] |= own
        return found

    def read_bodies(self, *names: str) -> list[dict[str, np.ndarray]]:
        """Return attributes of links of articulations and of other rigid bodies."""
        kinds = [self.read(kind, names) for kind in self._kinds]
        return [{path: v for found in kinds for path, v in found[name].items()} for name in names]

    def joint_values(self, name: str, paths: list[str]) -> np.ndarray:
        """Return (n) values of an attribute of joints with one degree of freedom."""
        values = self.read(_JOINT, [name])[name]
        return np.array([values[path].ravel()[0] for path in paths], np.float64)

    def dof_paths(self) -> dict[str, list[str]]:
        """Return the joint of each degree of freedom, by path of the articulation."""
        handles = self.read(_ARTICULATION, ["dofJointPath"])["dofJointPath"]
        # Rows are padded with zeros.
        return {
            path: [self._paths.path_to_string(int(h)) for h in row.ravel() if h]
            for path, row in handles.items()
        }

    def write(
        self, name: str, values: Mapping[str, float | np.ndarray], other: float = 0.0
    ) -> None:
        """Set an attribute of all joints, by prim path; the same for each axis."""
        with self.physx.write_sync(_JOINT, name) as session:
            for group in session.groups:
                for path, tensor in zip(self._own_paths(group), group.tensors, strict=True):
                    _assign(tensor, values.get(path, other))
                session.commit_sync(group)

    def hold_root(self) -> None:
        """Put the roots of articulations back where they were, at rest."""
        values = {name: np.array(list(found.values())) for name, found in self._root.items()}
        values |= {"rootLinearVelocity": np.zeros(3), "rootAngularVelocity": np.zeros(3)}
        with self.physx.write_sync(_ARTICULATION, tuple(values)) as session:
            for group in session.groups:
                for tensor in group.tensors:
                    _assign(tensor, list(values.values())[group.attribute_index])
                session.commit_sync(group)

    def make_passive(self) -> None:
        """Simulate the first step; then remove limits, Coulomb friction, gains and gravity."""
        # Limits are moved out of reach. Joints without a position limit keep none: they cannot get
        # one.
        self.warm_up()
        limits = self.read(_JOINT, ["jointLimit"])["jointLimit"]
        far = np.array([-_FAR, _FAR])
        self.write(
            "jointLimit",
            {path: np.where(np.abs(own) < _UNLIMITED, far, own) for path, own in limits.items()},
        )
        self.write("jointMaxVelocity", {}, _FAR)
        # Static friction must not be less than dynamic friction.
        for name in ("DynamicFriction", "StaticFriction", "Stiffness", "Damping"):
            self.write(f"joint{name}", {})
        link = SimObjectType.ARTICULATION_LINK
        with self.physx.write_sync(link, "disableGravity") as session:
            for group in session.groups:
                for tensor in group.tensors:
                    tensor.assign(np.ones(tensor.shape, np.uint8))
                session.commit_sync(group)

    def warm_up(self) -> None:
        """Simulate the first step, before which PhysX accepts no positions."""
        self.physx.warmup()
        self.physx.wait_all()


def _observe(request: dict[str, Any]) -> dict[str, Any]:
    scene = Scene(request["usd"])
    bodies = dict(zip(_OF_LINKS, scene.read_bodies(*_OF_LINKS), strict=True))
    dofs = scene.dof_paths()
    fixed = scene.read(_ARTICULATION, ["isFixedBase"])["isFixedBase"]
    joints = scene.read(_JOINT, _OF_JOINTS)
    freedoms = [path for own in sorted(dofs) for path in dofs[own]]
    links = sorted(bodies["mass"])
    answer: dict[str, Any] = {
        "fixed": [bool(found.item()) for found in fixed.values()],
        "dofs": freedoms,
        "links": {
            path: {k: of[path].ravel().tolist() for k, of in bodies.items()} for path in links
        },
        # The first axis is enough: joints with several have neither limits nor drives in URDF.
        "joints": {
            path: {name: of[path][0].ravel().tolist() for name, of in joints.items()}
            | {"freedoms": [freedoms.count(path)]}
            for path in sorted(joints["jointLimit"])
        },
        "positions": [],
        "orientations": [],
        **{name: [] for name in _FORCES},
    }
    scene.warm_up()
    # PhysX reduces velocities to their limits.
    scene.write("jointMaxVelocity", {}, _FAR)
    velocities = request["velocities"]
    for row, values in enumerate(request["positions"]):
        scene.write("jointPosition", dict(zip(request["joints"], values, strict=True)))
        speeds = velocities[row] if row < len(velocities) else [0.0] * len(values)
        scene.write("jointVelocity", dict(zip(request["joints"], speeds, strict=True)))
        scene.hold_root()
        # Bring links to where joint positions put them.
        scene.physx.update_articulations_kinematic()
        origins, turns = scene.read_bodies("position", "orientation")
        answer["positions"].append([origins[path].tolist() for path in links])
        answer["orientations"].append([turns[path].tolist() for path in links])
        if row < len(velocities):
            for name, found in scene.read(_ARTICULATION, _FORCES).items():
                if len(found) == 1:
                    answer[name] += [own.ravel().tolist() for own in found.values()]
    passive = request["passive"]
    answer["couplings"] = _couplings(passive, freedoms) if passive and len(fixed) == 1 else []
    return answer


def _couplings(request: dict[str, Any], freedoms: list[str]) -> list[tuple[str, str, float, float]]:
    """Measure mimic couplings by the positions of joints after some steps; PhysX lists none.

    Each is follower, leader, multiplier and offset.
    """
    # It moves coupled joints to where they satisfy their coupling, and no others. Then each leader
    # is fixed by a large inertia at some positions, far apart: followers end at positions that
    # depend on the leader's linearly, wherever they start. With three positions, two other joints
    # of a large robot may do so by chance.
    scene = Scene(request["usd"])
    scene.make_passive()
    ranges_of = dict(zip(request["joints"], request["ranges"], strict=True))
    paths = [path for path in request["joints"] if path in freedoms]
    ranges = np.array([ranges_of[path] for path in paths])

    def settle(start: np.ndarray) -> np.ndarray:
        """Return (n) positions in which coupled joints end."""
        scene.write("jointPosition", dict(zip(paths, start, strict=True)))
        scene.hold_root()
        for _ in range(_COUPLING_STEPS):
            scene.write("jointVelocity", {})
            scene.physx.step_sync(_COUPLING_STEP)
            end = scene.joint_values("jointPosition", paths)
            if np.all(np.abs(end - start) <= _SETTLED * ranges):
                break
            start = end
        return end

    random = np.random.default_rng(_SEED)
    starts = random.uniform(-1, 1, (len(_LEADER_POSITIONS), len(paths))) * ranges
    coupled = np.abs(settle(starts[0]) - starts[0]) > _CHANGED * ranges
    # Viscous friction keeps other joints at rest, but a follower of small mass from its position.
    viscous = scene.read(_JOINT, ["jointViscousFriction"])["jointViscousFriction"]
    moved = {paths[row] for row in np.flatnonzero(coupled)}
    held = {path: own for path, own in viscous.items() if path not in moved}
    scene.write("jointViscousFriction", held)
    heads = [paths.index(path) for path in request["heads"] if path in paths]
    found: dict[int, tuple[int, float, float]] = {}
    leaders: set[int] = set()
    for head in [*heads, *range(len(paths))]:
        if not coupled[head] or head in found or head in leaders:
            continue
        leaders.add(head)
        scene.write("jointArmature", {paths[head]: _HELD})
        apart = starts.copy()
        apart[:, head] = ranges[head] * _LEADER_POSITIONS
        ends = np.array([settle(start) for start in apart])
        led = ends[:, head]
        slope = (ends[1] - ends[0]) / (led[1] - led[0])
        offset = ends[0] - slope * led[0]
        error = np.abs(ends[2:] - (slope * led[2:, np.newaxis] + offset)).max(axis=0)
        for row in np.flatnonzero(coupled & (error <= _CHANGED * ranges)).tolist():
            if row not in {head, *heads} and row not in found:
                found[row] = head, float(slope[row]), float(offset[row])
    return [(paths[row], paths[head], *linear) for row, (head, *linear) in found.items()]


def _assign(tensor: Any, values: float | np.ndarray) -> None:  # noqa: ANN401  of warp
    """Set a tensor to values that are broadcast to its shape."""
    rows = np.broadcast_to(values, tensor.shape)
    tensor.assign(np.ascontiguousarray(rows, np.float32))


def _simulate(request: dict[str, Any]) -> dict[str, Any]:
    scene = Scene(request["usd"])
    start = scene.read(_JOINT, ["jointPosition"])["jointPosition"]
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


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if "segments" in request:
        return _simulate(request)
    # PhysX forgets it at the end of its last instance, without which it waits: its
    # threads take an eighth of a processor.
    configure()
    logger, texts = logging.getLogger(_LOGGER), dict[str, None]()

    def collect(record: logging.LogRecord) -> bool:
        text = " ".join(record.getMessage().split())
        if record.levelno >= logging.WARNING and not text.startswith(_ABOUT_MACHINE):
            texts[text] = None
        return False

    logger.addFilter(collect)
    try:
        return _observe(request) | {"warnings": list(texts)}
    finally:
        logger.removeFilter(collect)


if __name__ == "__main__":
    answer_requests(_answer, configure)
