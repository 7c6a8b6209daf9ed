"""The PhysX engine: what PhysX simulates from a USD, in single precision.

PhysX knows links and joints by the paths of their prims. Which prim stands for which
link, what the root is, and the joints that PhysX cannot list because they have no
degree of freedom are OpenUSD's reading.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SchemaFamily,
    used_families,
)
from urdf_usd.conformance.engines.openusd.links import find_links
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    Units,
    WorldTransforms,
    captured_diagnostics,
    read_physics,
    urdf_name,
)
from urdf_usd.conformance.engines.optional_engine import optional_engine
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Request,
    Side,
)
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    build_frames,
    reachable_links,
    unreachable_joints,
    vec3,
    vec6,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    ROOT_MOTION,
    SINGLE_PRECISION,
    Base,
    Configurations,
    Dynamics,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
    Rollout,
    RolloutPlan,
    RolloutState,
)

_PROGRAM = Path(__file__).with_name("program.py")
# Of bodies in no articulation.
_OF_BODIES = frozenset({Quantity.FRAMES, Quantity.MASS})
_STATES = _OF_BODIES | {
    Quantity.JOINT_TYPES,
    Quantity.BASE,
    Quantity.LIMITS,
    Quantity.MOTION,
}
# Stated only if the asset uses schemas that PhysX reads.
_BY_SCHEMA = frozenset({Quantity.EFFORT, Quantity.VELOCITY})
_FAMILIES = frozenset({SchemaFamily.NEWTON, SchemaFamily.PHYSX})
_ANGULAR = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_ONE_AXIS = _ANGULAR | {JointType.PRISMATIC}
_SEVERAL_AXES = frozenset(JointType) - _ONE_AXIS - {JointType.FIXED}
# PhysX reports the largest float where there is no limit.
_UNLIMITED = float(np.finfo(np.float32).max) * (1 - 1e-6)
_SI = Units(1.0, 1.0)
_NOT_SI = "only stages in metres and kilograms are compared"
_AT_REST = Configurations((), (), ("zero",))
_ROOT_VELOCITIES = 6

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What PhysX reports, in the units of :mod:`.program`.

    Attributes:
        paths: Prim paths by name: ``links``, ``joints``, ``dofs``, ``articulations``;
            and ``messages``, warnings and errors of PhysX.
        numbers: Arrays by name; their rows are in the order of the paths.
    """

    paths: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, _Array]


@dataclass(frozen=True, slots=True)
class PhysxEngine:
    """PhysX through ovphysx, on the CPU, in a process of its own."""

    name: str = "physx"
    side: Side = Side.USD

    def availability(self) -> Availability:
        """Return the version that is installed, if any."""
        return optional_engine("ovphysx", "ovphysx", "physx")

    def observe(self, request: Request) -> Observation:
        """Load the stage into PhysX and report the articulation.

        Raises:
            AbstentionError: PhysX or OpenUSD refuses the stage, it is not in SI units,
                or PhysX finds no body or several articulations.
        """
        names = OpenusdEngine().observe(Request(request.path, _AT_REST))
        with captured_diagnostics():
            physics = read_physics(request.path)
            links = find_links(physics)
            joints = {
                urdf_name(physics.stage.GetPrimAtPath(path)): path
                for path in physics.joints
            }
            by_schema = bool(_FAMILIES & used_families(physics))
            root = links.by_name.get(names.root)
            outside = WorldTransforms(physics).rigid(root.path) if root else None
        if physics.units != _SI:
            raise AbstentionError(_NOT_SI)
        types = {joint.name: joint.type for joint in names.joints}
        movable = [
            name for name, kind in types.items() if kind in _ONE_AXIS and name in joints
        ]
        answer = _ask(request, {name: joints[name] for name in movable}, types)
        count = len(answer.paths["articulations"])
        if count > 1:
            raise AbstentionError(f"PhysX makes {count} articulations of the stage")
        rows = {
            links.by_path[path].name: row
            for row, path in enumerate(answer.paths["links"])
            if path in links.by_path
        }
        reported = _joints(answer, names.joints, joints, by_schema=by_schema)
        blocked = unreachable_joints(reported, request.configurations, _SEVERAL_AXES)
        reach = reachable_links(names.root, reported, blocked)
        framed = [link for link in reach if link in rows or link == names.root]

        def place(row: int) -> tuple[_Array, _Array]:
            return _placed(answer, row, [rows.get(link) for link in framed], outside)

        if not rows:
            raise AbstentionError("PhysX finds no body")
        fixed = bool(np.any(answer.numbers["fixed"]))
        return Observation(
            engine=self.name,
            robot=names.robot,
            root=names.root,
            states=(_STATES if count else _OF_BODIES)
            | (_BY_SCHEMA if by_schema else frozenset()),
            links=tuple(
                LinkObservation(link.name, _mass(answer, rows[link.name]), link.name)
                if link.name in rows
                else replace(link, mass=None)
                for link in names.links
            ),
            joints=reported,
            joint_order=_joint_order(answer, joints),
            frames=build_frames(framed, request.configurations, place),
            base=(Base.FIXED if fixed else Base.FLOATING) if count else None,
            articulation_roots=count,
            notes=(
                *(f"PhysX: {message}" for message in answer.paths["messages"]),
                *blocked_note("PhysX", blocked),
            ),
            # They depend on the positions of all joints.
            dynamics=(
                None
                if blocked
                else _dynamics(
                    answer,
                    {path: name for name, path in joints.items()},
                    request,
                    fixed,
                )
            ),
            precision=SINGLE_PRECISION,
        )

    def roll_out(self, request: Request, *, fix_root: bool = True) -> Rollout:
        """Simulate the passive rollout that a request plans.

        Drives without gains do not act; limits of position and velocity and collisions
        of the robot with itself are off. What else the asset states, or PhysX assumes,
        is simulated, such as the angular damping of bodies.

        Args:
            request: A stage, and configurations with a plan.
            fix_root: Whether to fix a floating root, as MuJoCo's rollouts do. Otherwise
                its motion is the last of the joints, ``ROOT_MOTION``.

        Returns:
            States in SI units, up to the first that is not finite.

        Raises:
            AbstentionError: There is no plan, PhysX or OpenUSD refuses the stage, it is
                not in SI units, a joint moves along several axes, or the root is no
                body.
        """
        plan = request.configurations.rollout
        if plan is None:
            raise AbstentionError("no rollout is planned")
        names = OpenusdEngine().observe(Request(request.path, _AT_REST))
        if any(joint.type in _SEVERAL_AXES for joint in names.joints):
            raise AbstentionError("a joint moves along several axes")
        falls = names.base is Base.FLOATING
        with captured_diagnostics():
            physics = read_physics(request.path)
            links = find_links(physics)
            if physics.units != _SI:
                raise AbstentionError(
                    "only stages in metres and kilograms are compared"
                )
            if falls and links.by_name[names.root].path not in physics.bodies:
                raise AbstentionError("the root is no body")
            paths = {
                urdf_name(physics.stage.GetPrimAtPath(path)): path
                for path in physics.joints
            }
        moving = [
            joint
            for joint in names.joints
            if joint.type in _ONE_AXIS and joint.name in paths
        ]
        units = np.array([_unit(joint) for joint in moving])
        start = _positions_at(request.configurations, plan.configuration, moving)
        with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
            root = links.by_name[names.root].path if falls and fix_root else None
            usd = Path(folder, "rollout.usda")
            with captured_diagnostics():
                _author_rollout(physics, request.path, usd, root)
            arrays = _run_program(
                {
                    "usd": str(usd),
                    "joints": [paths[joint.name] for joint in moving],
                    "start": (start / units).tolist(),
                    "held": [paths[name] for name in plan.held if name in paths],
                    "step": plan.step,
                    "steps": plan.steps,
                }
            )
        return _rollout(plan, moving, units, arrays, with_root=falls and not fix_root)


def _unit(joint: JointObservation) -> float:
    """SI value of PhysX's unit of position."""
    return math.radians(1.0) if joint.type in _ANGULAR else 1.0


def _positions_at(
    configurations: Configurations, row: int, joints: Sequence[JointObservation]
) -> _Array:
    given = dict(zip(configurations.joints, configurations.positions, strict=True))
    return np.array(
        [given[joint.name][row, 0] if joint.name in given else 0.0 for joint in joints]
    )


def _author_rollout(physics: Physics, usd: str, path: Path, root: str | None) -> None:
    """Write a layer over a stage that turns collisions off, and may fix the root.

    Args:
        physics: The stage.
        usd: Its root layer.
        path: File of the new layer.
        root: Path of the body to fix.
    """
    layer = Sdf.Layer.CreateNew(str(path))
    layer.subLayerPaths.append(str(Path(usd).absolute()))
    stage = Usd.Stage.Open(layer)
    # Not composed from sublayers.
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(physics.stage))
    stage.SetDefaultPrim(stage.GetPrimAtPath(physics.default.GetPath()))
    roots = [stage.GetPrimAtPath(found) for found in physics.articulations]
    if root is not None:
        pose = WorldTransforms(physics).rigid(root)
        x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
        joint = UsdPhysics.FixedJoint.Define(
            stage, physics.default.GetPath().AppendChild("rollout_root")
        )
        joint.CreateBody1Rel().SetTargets([Sdf.Path(root)])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*pose[:3, 3].tolist()))
        joint.CreateLocalRot0Attr(Gf.Quatf(w, x, y, z))
        # A body that is the root of an articulation stays free beside a joint.
        for prim in roots:
            prim.RemoveAPI(UsdPhysics.ArticulationRootAPI)
        roots = [joint.GetPrim()]
        UsdPhysics.ArticulationRootAPI.Apply(roots[0])
    for prim in roots:
        prim.AddAppliedSchema("PhysxArticulationAPI")
        attribute = prim.CreateAttribute(
            "physxArticulation:enabledSelfCollisions",
            Sdf.ValueTypeNames.Bool,
            custom=False,
        )
        attribute.Set(False)
    layer.Save()


def _rollout(
    plan: RolloutPlan,
    moving: Sequence[JointObservation],
    units: _Array,
    arrays: Mapping[str, NDArray[Any]],
    *,
    with_root: bool,
) -> Rollout:
    """Return the states that the program simulated, in SI units."""
    positions, velocities = arrays["positions"] * units, arrays["velocities"] * units
    start = Rotation.from_quat(arrays["root_orientations"][0])
    shifts = start.inv().apply(arrays["root_positions"] - arrays["root_positions"][0])
    turns = start.inv() * Rotation.from_quat(arrays["root_orientations"])
    states = []
    for row, steps in enumerate(plan.steps):
        if not np.isfinite([*positions[row], *velocities[row]]).all():
            break
        places: list[tuple[float, ...]] = [(v,) for v in positions[row].tolist()]
        rates: list[tuple[float, ...]] = [(v,) for v in velocities[row].tolist()]
        if with_root:
            quat_wxyz = turns[row + 1].as_quat(scalar_first=True)
            places.append((*shifts[row + 1].tolist(), *quat_wxyz.tolist()))
            rates.append(_root_rates(arrays, row + 1))
        states.append(RolloutState(steps * plan.step, tuple(places), tuple(rates)))
    names = [joint.name for joint in moving]
    return Rollout((*names, *([ROOT_MOTION] if with_root else [])), tuple(states))


def _root_rates(arrays: Mapping[str, NDArray[Any]], row: int) -> tuple[float, ...]:
    """Velocity of the root's origin along its first axes, and about its own axes."""
    start = Rotation.from_quat(arrays["root_orientations"][0])
    turn = Rotation.from_quat(arrays["root_orientations"][row])
    spin = arrays["root_angular_velocities"][row]
    linear = arrays["root_linear_velocities"][row]
    return (*start.inv().apply(linear).tolist(), *turn.inv().apply(spin).tolist())


def _ask(
    request: Request, paths: Mapping[str, str], types: Mapping[str, JointType]
) -> _Answer:
    """Run the program on the configurations of joints, given by URDF name."""
    configurations = request.configurations
    asked = [name for name in configurations.joints if name in paths]

    def columns(
        values: tuple[NDArray[np.float64], ...], count: int
    ) -> list[list[float]]:
        by_name = dict(zip(configurations.joints, values, strict=False))
        table = np.zeros((count, len(asked)))
        for column, name in enumerate(asked):
            own = by_name.get(name)
            if own is not None and own.shape[1] == COORDINATES[types[name]]:
                angular = types[name] in _ANGULAR
                table[:, column] = np.degrees(own[:, 0]) if angular else own[:, 0]
        rows: list[list[float]] = table.tolist()
        return rows

    moving = configurations.for_motion
    arrays = _run_program(
        {
            "usd": str(Path(request.path).absolute()),
            "joints": [paths[name] for name in asked],
            "positions": columns(configurations.positions, configurations.count),
            "velocities": columns(moving.velocities, moving.count),
        }
    )
    is_path = {name: values.dtype.kind == "U" for name, values in arrays.items()}
    return _Answer(
        paths={n: tuple(v.tolist()) for n, v in arrays.items() if is_path[n]},
        numbers={n: v.astype(np.float64) for n, v in arrays.items() if not is_path[n]},
    )


def _run_program(question: Mapping[str, object]) -> dict[str, NDArray[Any]]:
    """Run the program in a process of its own, and return the arrays that it wrote.

    Raises:
        AbstentionError: It ended with an error; the message is its last line.
        RuntimeError: A signal ended it.
    """
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
        request, answer = Path(folder, "request.json"), Path(folder, "answer.npz")
        request.write_text(json.dumps(question), encoding="utf-8")
        done = subprocess.run(  # noqa: S603  our own program
            [sys.executable, str(_PROGRAM), str(request), str(answer)],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode < 0:
            raise RuntimeError(f"PhysX ended with signal {-done.returncode}")
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise AbstentionError(f"PhysX: {' '.join(lines[-1].split())}")
        with np.load(answer) as stored:
            return dict(stored)


def _mass(answer: _Answer, row: int) -> MassProperties | None:
    """Mass properties of a link in its frame; None if it has no mass."""
    mass = float(answer.numbers["link_mass"][row, 0])
    if mass == 0:
        return None
    return MassProperties(
        mass=mass,
        center=vec3(answer.numbers["link_center"][row]),
        # ovphysx 0.7 returns it about the centre of mass along the axes of the link,
        # not along those of the mass frame, as its documentation has it.
        inertia=vec6(answer.numbers["link_inertia"][row].reshape(3, 3)),
    )


def _joint_order(answer: _Answer, paths: Mapping[str, str]) -> tuple[str, ...]:
    """Return joints as PhysX numbers their degrees of freedom."""
    names = {path: name for name, path in paths.items()}
    dofs = answer.paths["dofs"]
    return tuple(dict.fromkeys(names[path] for path in dofs if path in names))


def _joints(
    answer: _Answer,
    known: tuple[JointObservation, ...],
    paths: Mapping[str, str],
    *,
    by_schema: bool,
) -> tuple[JointObservation, ...]:
    """Joints with the type that their degrees of freedom give them.

    A joint with an axis that is no degree of freedom in PhysX is fixed.
    """
    rows = {path: row for row, path in enumerate(answer.paths["joints"])}
    found = []
    for joint in known:
        plain = JointObservation(joint.name, joint.type, joint.parent, joint.child)
        if joint.type not in _ONE_AXIS:
            found.append(plain)
            continue
        row = rows.get(paths.get(joint.name, ""))
        if row is None or not answer.numbers["joint_axes"][row]:
            found.append(replace(plain, type=JointType.FIXED))
            continue
        angular = joint.type in _ANGULAR
        lower, upper = (_limit(v, angular) for v in answer.numbers["joint_limit"][row])
        kind = joint.type
        if angular:
            free = (lower, upper) == (-math.inf, math.inf)
            kind = JointType.CONTINUOUS if free else JointType.REVOLUTE
        driven = by_schema and bool(answer.numbers["joint_drive"][row, 0])
        effort = _limit(answer.numbers["joint_effort"][row, 0], angular=False)
        velocity = _limit(answer.numbers["joint_velocity"][row, 0], angular)
        found.append(
            replace(
                plain,
                type=kind,
                lower=lower,
                upper=upper,
                effort=effort if driven and math.isfinite(effort) else None,
                velocity=velocity if math.isfinite(velocity) else None,
            )
        )
    return tuple(found)


def _limit(value: float, angular: bool) -> float:  # noqa: FBT001  of two kinds of unit
    """Return a limit in SI units; infinity where PhysX has none."""
    value = float(value)
    if abs(value) >= _UNLIMITED:
        return math.copysign(math.inf, value)
    return math.radians(value) if angular else value


def _placed(
    answer: _Answer,
    row: int,
    indices: list[int | None],
    outside: _Array | None,
) -> tuple[_Array, _Array]:
    """World poses of links at one configuration.

    Args:
        answer: What PhysX reports.
        row: Number of the configuration.
        indices: Row of each link; None for the root where it is no link of PhysX.
        outside: (4, 4) pose of the root in that case.
    """
    origins = np.empty((len(indices), 3))
    turns = np.empty((len(indices), 3, 3))
    for place, index in enumerate(indices):
        if index is None:
            assert outside is not None  # noqa: S101  the root has a prim
            origins[place], turns[place] = outside[:3, 3], outside[:3, :3]
        else:
            origins[place] = answer.numbers["positions"][row, index]
            quat_xyzw = answer.numbers["orientations"][row, index]
            turns[place] = Rotation.from_quat(quat_xyzw).as_matrix()
    return origins, turns


def _dynamics(
    answer: _Answer,
    names: Mapping[str, str],
    request: Request,
    fixed: bool,  # noqa: FBT001  a property of the robot
) -> Dynamics | None:
    """Equations of motion of the joints; the root's own velocities are left out."""
    joints = tuple(names.get(path, path) for path in answer.paths["dofs"])
    moving = request.configurations.for_motion
    if not joints or not moving.velocities or not len(answer.numbers["mass_matrix"]):
        return None
    first = 0 if fixed else _ROOT_VELOCITIES
    size = first + len(joints)
    count = moving.count
    inertia = answer.numbers["mass_matrix"].reshape(count, size, size)
    bias = answer.numbers["gravity"] + answer.numbers["coriolis"]
    told = dict(zip(moving.joints, moving.velocities, strict=True))
    velocities = np.column_stack([told[name][:, 0] for name in joints])
    arrays = inertia[:, first:, first:], bias[:, first:], velocities
    for array in arrays:
        array.flags.writeable = False
    return Dynamics(joints, *arrays)
