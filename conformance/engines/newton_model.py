"""A robot in Newton, from either kind of file, and its observations.

Newton computes in single precision, on the CPU here. Values are taken from the finished
model, in which Newton has corrected invalid inertia.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.rotations import (
    matrices,
    matrices_of_xyzw,
    quats_wxyz,
)
from urdf_usd.conformance.engines.statements import (
    build_frames,
    settable_positions,
    vec3,
    vec6,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Configurations,
    Dynamics,
    Frames,
    JointObservation,
    JointType,
    MassProperties,
    MimicObservation,
)
from urdf_usd.conformance.observation.simulation import (
    DriveObservation,
    SimulationObservation,
)

if TYPE_CHECKING:
    import newton


# (L, 3) origins and (L, 3, 3) rotations.
Placed: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

# Newton uses 1e10 for "no limit"; an angle may have been converted from degrees.
_UNLIMITED = math.radians(1e10) * (1 - 1e-6)
_DEVICE = "cpu"
# The smallest normal number of float32.
_SMALLEST = 2.0**-126
# Types of D6 joints, by their numbers of translations and rotations.
_D6_TYPES = {
    (0, 0): JointType.FIXED,
    (1, 0): JointType.PRISMATIC,
    (0, 1): JointType.REVOLUTE,
    (2, 0): JointType.PLANAR,
    (2, 1): JointType.PLANAR,
}


class NewtonModel(Struct, frozen=True, eq=False):
    """A finished model with the URDF names of its parts.

    Attributes:
        engine: The ``newton`` module.
        builder: The ``newton.ModelBuilder``, which holds numbers in double precision.
        model: The ``newton.Model``.
        bodies: Index of each body, by the name of its link.
        joints: Index of each joint of the file, by name.
        warnings: Newton's warnings.
    """

    engine: ModuleType
    builder: newton.ModelBuilder
    model: newton.Model
    bodies: Mapping[str, int]
    joints: Mapping[str, int]
    warnings: tuple[str, ...]


def load() -> None:
    """Import Newton, and what it imports at first use: half of the time of a robot."""
    import_module("newton.solvers").SolverFeatherstone  # noqa: B018  imported by it


def build(
    read: Callable[[newton.ModelBuilder], None],
    names: Callable[[newton.ModelBuilder], tuple[Mapping[str, int], Mapping[str, int]]],
) -> NewtonModel:
    """Read a file and finish the model.

    Args:
        read: Reads into a ``newton.ModelBuilder``.
        names: Returns indices of bodies and joints of the builder by URDF name.

    Raises:
        AbstentionError: Newton refuses the model.
    """
    # Imported here because they need not be installed.
    import newton
    import warp

    warp.config.quiet = True
    builder = newton.ModelBuilder()
    # Newton lets the user choose the default of absent limits.
    builder.default_joint_cfg.effort_limit = math.inf
    builder.default_joint_cfg.velocity_limit = math.inf
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(builder)
        try:
            model = builder.finalize(device=_DEVICE)
        # Newton refuses, for example, joints outside articulations.
        except ValueError as error:
            raise AbstentionError(f"Newton: {' '.join(str(error).split())}") from error
    texts = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    return NewtonModel(
        newton,
        builder,
        model,
        *names(builder),
        tuple(f"Newton warns: {t}" for t in texts),
    )


def mass_of(robot: NewtonModel, link: str) -> MassProperties | None:
    """Return the mass properties of a link's body; None if it has no mass."""
    index = robot.bodies[link]
    mass = float(robot.model.body_mass.numpy()[index])
    if mass == 0:
        return None
    return MassProperties(
        mass=mass,
        center=vec3(robot.model.body_com.numpy()[index]),
        inertia=vec6(robot.model.body_inertia.numpy()[index]),
    )


def joint_of(robot: NewtonModel, name: str) -> JointObservation | None:
    """State a joint; None if it has no URDF type in Newton."""
    builder, index = robot.builder, robot.joints[name]
    link_of = {body: link for link, body in robot.bodies.items()}
    kind = _type(robot, index)
    if kind is None:
        return None
    parent, child = builder.joint_parent[index], builder.joint_child[index]
    ends = link_of.get(parent, "world"), link_of.get(child, "world")
    if kind not in {JointType.REVOLUTE, JointType.PRISMATIC}:
        return JointObservation(name, kind, *ends)
    axis = builder.joint_qd_start[index]
    lower = _limit(builder.joint_limit_lower[axis])
    upper = _limit(builder.joint_limit_upper[axis])
    if kind is JointType.REVOLUTE and (lower, upper) == (-math.inf, math.inf):
        kind = JointType.CONTINUOUS
    return JointObservation(
        name,
        kind,
        *ends,
        lower=lower,
        upper=upper,
        effort=_effort(builder.joint_effort_limit[axis]),
        velocity=_finite(builder.joint_velocity_limit[axis]),
        damping=float(builder.joint_damping[axis]),
        friction=float(builder.joint_friction[axis]),
        mimic=_mimic(robot, index),
    )


def loose_joints(robot: NewtonModel) -> frozenset[str]:
    """Return joints in no articulation, which Newton's forward kinematics ignores."""
    articulation = robot.builder.joint_articulation
    return frozenset(name for name, index in robot.joints.items() if articulation[index] < 0)


def _type(robot: NewtonModel, index: int) -> JointType | None:
    kinds = robot.engine.JointType
    kind = robot.builder.joint_type[index]
    if kind == kinds.D6:
        return _D6_TYPES.get(tuple(robot.builder.joint_dof_dim[index]))
    types = {
        kinds.FIXED: JointType.FIXED,
        kinds.REVOLUTE: JointType.REVOLUTE,
        kinds.PRISMATIC: JointType.PRISMATIC,
        kinds.BALL: JointType.SPHERICAL,
        kinds.FREE: JointType.FLOATING,
    }
    return types.get(kind)


def _limit(value: float) -> float:
    value = float(value)
    return value if abs(value) < _UNLIMITED else math.copysign(math.inf, value)


def _effort(value: float) -> float | None:
    """Return a limit of effort; the smallest number stands for zero in MuJoCo."""
    return 0.0 if 0.0 < value <= _SMALLEST else _finite(value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _mimic(robot: NewtonModel, index: int) -> MimicObservation | None:
    builder = robot.builder
    leader = builder.joint_mimic_joint[index]
    offset, multiplier = builder.joint_mimic_coeffs[index]
    if index in builder.constraint_mimic_joint0:
        # Couplings of MuJoCo's schemas are constraints.
        place = builder.constraint_mimic_joint0.index(index)
        leader = builder.constraint_mimic_joint1[place]
        offset = builder.constraint_mimic_coef0[place]
        multiplier = builder.constraint_mimic_coef1[place]
    names = {number: name for name, number in robot.joints.items()}
    if leader not in names:
        return None
    return MimicObservation(names[leader], float(multiplier), float(offset))


def poses(
    robot: NewtonModel,
    joints: Sequence[JointObservation],
    links: Sequence[str],
    configurations: Configurations,
    still: Placed | None = None,
) -> Frames:
    """Compute poses of links' bodies, relative to the first of them.

    Args:
        robot: The model.
        joints: Joints that Newton states.
        links: Names of the links, the root first.
        configurations: The configurations.
        still: Pose of the root, if it is part of the world instead of a body.
    """
    import warp

    model = robot.model
    state = model.state()
    start = model.joint_q.numpy()
    speeds = warp.zeros_like(model.joint_qd)
    indices = [robot.bodies[link] for link in (links[1:] if still else links)]
    stated = {joint.name: joint for joint in joints}
    targets_of = [
        _coordinates(robot, stated[name], positions)
        for name, positions in settable_positions(joints, configurations).items()
    ]

    def place(row: int) -> Placed:
        positions = start.copy()
        for columns, values in targets_of:
            positions[columns] = values[row]
        at = warp.array(positions, dtype=warp.float32, device=_DEVICE)
        robot.engine.eval_fk(model, at, speeds, state)
        placed = state.body_q.numpy()[indices].astype(np.float64)
        origins, turns = placed[:, :3], matrices_of_xyzw(placed[:, 3:])
        if still is None:
            return origins, turns
        return np.concatenate([still[0], origins]), np.concatenate([still[1], turns])

    return build_frames(links, configurations, place)


def equations_of_motion(
    robot: NewtonModel,
    joints: Sequence[JointObservation],
    configurations: Configurations,
) -> Dynamics | None:
    """Compute the equations of motion of the joints; the root's are left out.

    Newton adds armature to the mass matrix; it is left out.

    Args:
        robot: A model whose gravity is that of the observation.
        joints: Joints that Newton states, all of them in one articulation.
        configurations: Positions and velocities.

    Returns:
        None if there are no velocities, a joint has several degrees of freedom, or
        there is not exactly one articulation.
    """
    import warp

    model, sampled = robot.model, configurations.for_motion
    moving = [joint for joint in joints if COORDINATES[joint.type]]
    if (
        not moving
        or not sampled.velocities
        or model.articulation_count != 1
        or any(COORDINATES[joint.type] > 1 for joint in moving)
    ):
        return None
    given = settable_positions(joints, sampled)
    rates = dict(zip(sampled.joints, sampled.velocities, strict=True))
    columns = [robot.builder.joint_qd_start[robot.joints[j.name]] for j in moving]
    velocities = np.zeros((sampled.count, len(moving)))
    for column, joint in enumerate(moving):
        if joint.name in given:
            velocities[:, column] = rates[joint.name][:, 0]
    state, count = model.state(), model.joint_dof_count
    zeros = [
        warp.zeros(shape, dtype=warp.float32, device=_DEVICE)
        for shape in ((1, count, count), (count,), (count,))
    ]
    inertia, gravity, coriolis = zeros
    matrices, forces = [], []
    for row in range(sampled.count):
        positions = model.joint_q.numpy()
        for joint in moving:
            if joint.name in given:
                first = robot.builder.joint_q_start[robot.joints[joint.name]]
                positions[first] = given[joint.name][row, 0]
        speeds = np.zeros(count, np.float32)
        speeds[columns] = velocities[row]
        state.joint_q.assign(positions)
        state.joint_qd.assign(speeds)
        robot.engine.eval_fk(model, state.joint_q, state.joint_qd, state)
        robot.engine.eval_inverse_dynamics_passive(
            model,
            state,
            mass_matrix=inertia,
            gravity_force=gravity,
            coriolis_force=coriolis,
        )
        matrices.append(inertia.numpy()[0].astype(np.float64))
        forces.append(gravity.numpy().astype(np.float64) + coriolis.numpy())
    armature = np.diag(np.array(robot.builder.joint_armature)[columns])
    arrays = (
        np.array(matrices)[:, columns][:, :, columns] - armature,
        np.array(forces)[:, columns],
        velocities,
    )
    for array in arrays:
        array.flags.writeable = False
    return Dynamics(tuple(joint.name for joint in moving), *arrays)


def simulation_of(robot: NewtonModel, joints: Sequence[JointObservation]) -> SimulationObservation:
    """Return drives, armature, springs at limits and positions of joints."""
    builder = robot.builder
    drives, armatures, positions = [], [], []
    stiffnesses, dampings = [], []
    for joint in joints:
        if COORDINATES[joint.type] != 1:
            continue
        index = robot.joints[joint.name]
        rate, place = builder.joint_qd_start[index], builder.joint_q_start[index]
        drives.append(
            DriveObservation(
                joint.name,
                float(builder.joint_target_ke[rate]),
                float(builder.joint_target_kd[rate]),
                float(builder.joint_target_q[place]),
                float(builder.joint_target_qd[rate]),
            )
        )
        armatures.append((joint.name, float(builder.joint_armature[rate])))
        stiffnesses.append((joint.name, float(builder.joint_limit_ke[rate])))
        dampings.append((joint.name, float(builder.joint_limit_kd[rate])))
        if start := float(builder.joint_q[place]):
            positions.append((joint.name, start))
    return SimulationObservation(
        tuple(drives),
        tuple(armatures),
        tuple(positions),
        limit_stiffnesses=tuple(stiffnesses),
        limit_dampings=tuple(dampings),
    )


def _coordinates(
    robot: NewtonModel, joint: JointObservation, values: NDArray[np.float64]
) -> tuple[slice, NDArray[np.float64]]:
    """Return the slice of a joint in Newton's positions, and its (K, n) values.

    Newton's joint frame may be rotated relative to the link frame, in which the
    coordinates are given.
    """
    builder, index = robot.builder, robot.joints[joint.name]
    start = builder.joint_q_start[index]
    joint_to_link = matrices_of_xyzw(list(builder.joint_X_c[index])[3:])
    match joint.type:
        case JointType.FLOATING:
            slid = values[:, :3] @ joint_to_link
            values = np.column_stack([slid, _turned(joint_to_link, values[:, 3:])])
        case JointType.SPHERICAL:
            values = _turned(joint_to_link, values)
        case JointType.PLANAR:
            slides, turns = builder.joint_dof_dim[index]
            first = builder.joint_qd_start[index]
            axes = [vec3(axis) for axis in builder.joint_axis[first : first + slides]]
            slid = values[:, :3] @ joint_to_link @ np.array(axes).T
            values = np.column_stack([slid, values[:, 3:][:, :turns]])
    return slice(start, start + values.shape[1]), values


def _turned(
    joint_to_link: NDArray[np.float64], quat_wxyz: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Express rotations of the link in the joint frame, (K, 4) xyzw."""
    turned = quats_wxyz(joint_to_link.T @ matrices(quat_wxyz) @ joint_to_link)
    return np.roll(turned, -1, axis=1)
