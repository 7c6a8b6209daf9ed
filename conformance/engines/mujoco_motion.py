"""Equations of motion and passive rollouts in MuJoCo.

The model may come from MuJoCo's own URDF reader or from the observation of another
engine.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

import mujoco
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from urdf_usd.conformance.engines.mujoco_compilation import collected_warnings
from urdf_usd.conformance.engines.rotations import matrices, quats_wxyz
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    ROOT_MOTION,
    VELOCITIES,
    Configurations,
    Dynamics,
    JointType,
    Observation,
    Rollout,
    RolloutLimit,
    RolloutPlan,
    RolloutState,
)


class JointPlace(Struct, frozen=True, eq=False):
    """Location and form of the coordinates of a joint in a model.

    Attributes:
        name: URDF name.
        type: Kind of motion, not fixed.
        qpos: Index of its first position in ``qpos``.
        dofs: Slice of its velocities in ``qvel``.
        rates: (v, d) matrix from velocities of the observation to the model's.
        plane: (2, 3) axes of the two slides of a planar joint; empty for others.
        origin: Position and quaternion wxyz of the joint's frame in the world, for a
            free joint, whose coordinates are in the world; empty for others.
    """

    name: str
    type: JointType
    qpos: int
    dofs: slice
    rates: NDArray[np.float64]
    plane: NDArray[np.float64]
    origin: NDArray[np.float64]

    def to_qpos(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert (K, d) coordinates to (K, n) positions of the model."""
        if len(self.plane):
            return np.column_stack([values[:, :3] @ self.plane.T, values[:, 3]])
        if len(self.origin):
            turn = matrices(self.origin[3:])
            turned = quats_wxyz(turn @ matrices(values[:, 3:]))
            return np.column_stack([self.origin[:3] + values[:, :3] @ turn.T, turned])
        return values

    def from_qpos(self, qpos: NDArray[np.float64]) -> tuple[float, ...]:
        """Read the coordinates of the joint from all positions of the model."""
        own = qpos[self.qpos :][: 3 if len(self.plane) else COORDINATES[self.type]]
        if len(self.plane):
            own = np.append(own[:2] @ self.plane, own[2])
        if len(self.origin):
            turn = matrices(self.origin[3:]).T
            turned = quats_wxyz(turn @ matrices(own[3:]))
            own = np.append(turn @ (own[:3] - self.origin[:3]), turned)
        return tuple(own.tolist())

    def from_qvel(self, qvel: NDArray[np.float64]) -> tuple[float, ...]:
        """Read the velocities of the joint from all velocities of the model."""
        return tuple((self.rates.T @ qvel[self.dofs]).tolist())


def joint_place(
    model: mujoco.MjModel,
    name: str,
    joint_type: JointType,
    first: int,
) -> JointPlace:
    """Locate a joint in a model.

    Args:
        model: The ``mujoco.MjModel``.
        name: URDF name.
        joint_type: Kind of motion, not fixed.
        first: Index of its first joint in the model: a planar joint is two slides and
            a hinge there, a floating one is free, or three slides and a ball.
    """
    plane, origin = np.empty((0, 3)), np.empty(0)
    start = int(model.jnt_qposadr[first])
    if joint_type is JointType.PLANAR:
        plane = np.array(model.jnt_axis[first : first + 2])
    if model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE:
        origin = np.array(model.qpos0[start : start + COORDINATES[joint_type]])
    rates = _joint_rates(joint_type, plane, origin)
    dof = int(model.jnt_dofadr[first])
    dofs = slice(dof, dof + len(rates))
    return JointPlace(name, joint_type, start, dofs, rates, plane, origin)


def _joint_rates(
    joint_type: JointType, plane: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64]:
    matrix = np.eye(VELOCITIES[joint_type])
    if len(plane):
        matrix = np.zeros((3, 4))
        matrix[:2, :3] = plane
        matrix[2, 3] = 1.0
    if len(origin):
        matrix[:3, :3] = matrices(origin[3:])
    return matrix


_ROOT_FREEDOMS = 6
# Added to the inertia of fixed degrees of freedom [kg, kg m^2]: in 1 s, a force of 1 kN
# moves them by 1e-9 m. It is the same on both sides of a comparison.
_HELD = 1e12
# Tolerance of the solver: 1e-22 changes some states, 1e-24 and 1e-30 are equal.
_SOLVED = 1e-26
# Relative and absolute error of one step of the integration with error control: what
# perturbed rollouts differ by is a thousand times as large.
_LIMIT_TOLERANCE = 1e-10
# Relative perturbation of perturbed rollouts: ten times the rounding of float32.
_NEARBY = 1e-6
_NEIGHBOURS = 3
_SEED = 20_240_229
# Radius of gyration squared [m^2] of a sphere of radius 0.1 m, which OpenUSD assumes
# for a body with mass and without collider.
_GYRATION = 0.4 * 0.1**2


class Mechanism(Struct, frozen=True, eq=False):
    """A model with the URDF names of its joints.

    Attributes:
        model: The ``mujoco.MjModel``; if its root moves freely, these are its first
            coordinates.
        joints: The moving joints.
        free_root: Whether the root link moves freely, from the origin of the world.
        unknown: Joints that move links with placeholder mass properties, and
            ``ROOT_MOTION`` if there are any.
    """

    model: mujoco.MjModel
    joints: tuple[JointPlace, ...]
    free_root: bool
    unknown: frozenset[str] = frozenset()


def joints_moving(reading: Observation, links: Collection[str]) -> frozenset[str]:
    """Return the joints that move any of the links, with ``ROOT_MOTION``."""
    if not links:
        return frozenset()
    joint_to = {joint.child: joint for joint in reading.joints}
    found = {ROOT_MOTION}
    for link in links:
        while joint := joint_to.get(link):
            found.add(joint.name)
            link = joint.parent
    return frozenset(found)


def equations_of_motion(mechanism: Mechanism, configurations: Configurations) -> Dynamics:
    """Compute the equations of motion.

    Degrees of freedom that depend on unknown mass properties are left out.
    """
    model, data = mechanism.model, mujoco.MjData(mechanism.model)
    names, blocks = _rates(mechanism)
    sampled = configurations.for_motion
    count = sampled.count
    full = np.empty((count, model.nv, model.nv))
    forces = np.empty((count, model.nv))
    qpos, qvel = states(mechanism, sampled)
    for row in range(count):
        data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
        # In single steps: a whole stage would factorise M, which may be singular.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, forces[row])
        mujoco.mj_fullM(model, data, full[row])
    half = _multiplied(full, blocks)
    inertia = _multiplied(np.swapaxes(half, -1, -2), blocks)
    bias = _multiplied(forces, blocks)
    # Most joints have the same rates.
    distinct = {rates.tobytes(): rates for _, rates in blocks}
    inverse = {
        key: np.asarray(np.linalg.pinv(rates), np.float64).T for key, rates in distinct.items()
    }
    inverses = [(dofs, inverse[rates.tobytes()]) for dofs, rates in blocks]
    velocities = _multiplied(qvel, inverses)
    for array in (inertia, bias, velocities):
        array.setflags(write=False)
    return Dynamics(names, inertia, bias, velocities)


def _rates(
    mechanism: Mechanism,
) -> tuple[tuple[str, ...], list[tuple[slice, NDArray[np.float64]]]]:
    """Return the joint of each known degree of freedom, and the rates of each joint.

    Rates are a (v, d) block, with its rows in the model's velocities. Blocks have no
    rows in common, so products need not be those of one large matrix.
    """
    names: list[str] = []
    blocks: list[tuple[slice, NDArray[np.float64]]] = []
    if mechanism.free_root and ROOT_MOTION not in mechanism.unknown:
        names += [ROOT_MOTION] * _ROOT_FREEDOMS
        blocks.append((slice(0, _ROOT_FREEDOMS), np.eye(_ROOT_FREEDOMS)))
    for joint in mechanism.joints:
        if joint.name not in mechanism.unknown:
            names += [joint.name] * joint.rates.shape[1]
            blocks.append((joint.dofs, joint.rates))
    return tuple(names), blocks


def _multiplied(
    values: NDArray[np.float64], blocks: Sequence[tuple[slice, NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """Return (..., v) values times the block matrix of rates, (..., n)."""
    if not blocks:
        return np.zeros((*values.shape[:-1], 0))
    parts = [values[..., dofs] @ rates for dofs, rates in blocks]
    return np.concatenate(parts, axis=-1)


def states(
    mechanism: Mechanism, configurations: Configurations
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (K, nq) positions and (K, nv) velocities in the model's own form.

    Joints without given positions, or of another type, stay at zero.
    """
    model = mechanism.model
    qpos = np.tile(model.qpos0, (configurations.count, 1))
    qvel = np.zeros((configurations.count, model.nv))
    given = dict(zip(configurations.joints, configurations.positions, strict=True))
    moving = dict(zip(configurations.joints, configurations.velocities, strict=False))
    for joint in mechanism.joints:
        values = given.get(joint.name)
        if values is not None and values.shape[1] == COORDINATES[joint.type]:
            values = joint.to_qpos(values)
            qpos[:, joint.qpos : joint.qpos + values.shape[1]] = values
        rates = moving.get(joint.name)
        if rates is not None and rates.shape[1] == VELOCITIES[joint.type]:
            qvel[:, joint.dofs] = rates @ joint.rates.T
    return qpos, qvel


def roll_out(
    mechanism: Mechanism, configurations: Configurations, *, perturbed: bool = False
) -> Rollout | None:
    """Simulate a passive rollout by a :class:`RolloutPlan`.

    The integrator treats damping implicitly, as damping that makes explicit integration
    unstable is common in URDFs. Both sides take the same steps.

    Args:
        mechanism: The robot.
        configurations: Configurations with a plan.
        perturbed: Whether to simulate perturbed copies of the robot as well.

    Returns:
        None if there is no plan, or if masses are unknown.
    """
    plan = configurations.rollout
    if plan is None or mechanism.unknown:
        return None
    qpos, _ = states(mechanism, configurations)
    start = qpos[plan.configuration]
    random = np.random.default_rng(_SEED)
    return Rollout(
        joints=tuple(joint.name for joint in mechanism.joints),
        states=_states(mechanism, mechanism.model, plan, start),
        perturbed=tuple(
            _states(mechanism, _altered(mechanism.model, random), plan, start)
            for _ in range(_NEIGHBOURS if perturbed else 0)
        ),
        limit=_limit(mechanism, plan, start) if plan.limit else None,
    )


def _limit(
    mechanism: Mechanism, plan: RolloutPlan, start: NDArray[np.float64]
) -> RolloutLimit | None:
    """Integrate the equations of motion with error control.

    With x the positions of joints that follow no other, q = start + G (x - x_0) and
    G^T M(q) G x'' = -G^T (b(q, q') + d q'). M and b are MuJoCo's.

    Returns:
        None if a joint has several degrees of freedom, if couplings form a loop, or if
        the integration fails.
    """
    # It takes a while to import, and is needed only besides a simulator.

    joints = mechanism.joints
    if any(COORDINATES[joint.type] > 1 for joint in joints):
        return None
    model = copy.copy(mechanism.model)
    _couple_to_heads(model)
    leads = _leads(mechanism, model)
    if leads is None:
        return None
    dofs = [joint.dofs.start for joint in joints]
    places = [joint.qpos for joint in joints]
    data = mujoco.MjData(model)
    full, forces = np.empty((model.nv, model.nv)), np.empty(model.nv)
    held = np.diag([_HELD if joint.name in plan.held else 0.0 for joint in joints])
    damping = model.dof_damping[dofs]
    count = leads.shape[1]
    data.qpos[:] = start

    def rates(_: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        speeds = leads @ state[count:]
        data.qpos[places] = start[places] + leads @ state[:count]
        data.qvel[dofs] = speeds
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, forces)
        mujoco.mj_fullM(model, data, full)
        inertia = leads.T @ (full[np.ix_(dofs, dofs)] + held) @ leads
        force = -leads.T @ (forces[dofs] + damping * speeds)
        return np.concatenate([state[count:], np.linalg.solve(inertia, force)])

    times = plan.step * np.array(plan.steps)
    solved = solve_ivp(
        rates,
        (0.0, times[-1]),
        np.zeros(2 * count),
        # It changes to an implicit method where damping makes the equations stiff.
        method="LSODA",
        t_eval=times,
        rtol=_LIMIT_TOLERANCE,
        atol=_LIMIT_TOLERANCE,
    )
    states = []
    for time, state in zip(solved.t.tolist(), solved.y.T, strict=True):
        positions = start[places] + leads @ state[:count]
        speeds = leads @ state[count:]
        if not np.isfinite([*positions, *speeds]).all():
            break
        states.append(
            RolloutState(
                time,
                tuple((value,) for value in positions.tolist()),
                tuple((value,) for value in speeds.tolist()),
            )
        )
    return RolloutLimit(tuple(states), ())


def _leads(mechanism: Mechanism, model: mujoco.MjModel) -> NDArray[np.float64] | None:
    """Return (n, m) rates of joints per rate of those that follow no other.

    Args:
        mechanism: The robot.
        model: Its model, with couplings to the heads of chains.

    Returns:
        None if couplings form a loop.
    """
    multipliers = {
        int(model.eq_obj1id[index]): (
            int(model.eq_obj2id[index]),
            float(model.eq_data[index, 1]),
        )
        for index in range(model.neq)
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT and model.eq_obj2id[index] >= 0
    }
    row_of = {
        int(model.dof_jntid[joint.dofs.start]): row for row, joint in enumerate(mechanism.joints)
    }
    heads = [number for number in row_of if number not in multipliers]
    matrix = np.zeros((len(row_of), len(heads)))
    for number, row in row_of.items():
        head, multiplier = multipliers.get(number, (number, 1.0))
        if head not in heads:
            return None
        matrix[row, heads.index(head)] = multiplier
    return matrix


def _states(
    mechanism: Mechanism,
    model: mujoco.MjModel,
    plan: RolloutPlan,
    start: NDArray[np.float64],
) -> tuple[RolloutState, ...]:
    """Return the states of the plan, until MuJoCo warns of divergence."""
    model = copy.copy(model)
    _couple_to_heads(model)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = plan.step
    # Tolerance of the solver of friction and couplings: a looser one changes states,
    # and zero doubles the time.
    model.opt.tolerance = _SOLVED
    model.opt.iterations = 20
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_AUTORESET
    held = np.zeros(model.nv, dtype=bool)
    held[:_ROOT_FREEDOMS] = mechanism.free_root
    for joint in mechanism.joints:
        held[joint.dofs] |= joint.name in plan.held
    model.dof_armature[held] = _HELD
    data = mujoco.MjData(model)
    reached = []
    with collected_warnings() as messages:
        mujoco.mj_setConst(model, data)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        _set_inverse_inertia(model, data)
        # The solver's tolerance is relative to it; fixed freedoms would dominate.
        model.stat.meaninertia = _mean_inertia(model, free=~held)
        before = 0
        for steps in plan.steps:
            mujoco.mj_step(model, data, steps - before)
            before = steps
            if messages:
                break
            reached.append(
                RolloutState(
                    time=steps * plan.step,
                    positions=tuple(j.from_qpos(data.qpos) for j in mechanism.joints),
                    velocities=tuple(j.from_qvel(data.qvel) for j in mechanism.joints),
                )
            )
    return tuple(reached)


def _set_inverse_inertia(
    model: mujoco.MjModel,
    data: mujoco.MjData,
) -> None:
    """Set the inverse inertia of each degree of freedom as it is at a position.

    The compliance of couplings and friction depends on it. MuJoCo computes it at the
    initial poses of a model, which differ between models of one robot.
    """
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    mujoco.mj_factorM(model, data)
    inverse = np.eye(model.nv)
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    model.dof_invweight0[:] = np.diagonal(inverse)


def _mean_inertia(
    model: mujoco.MjModel,
    *,
    free: NDArray[np.bool_],
) -> float:
    """Return the mean inertia of the degrees of freedom that are not held."""
    inverse = model.dof_invweight0[free & (model.dof_invweight0 > 0.0)]
    return float((1.0 / inverse).mean()) if len(inverse) else 1.0


def _couple_to_heads(model: mujoco.MjModel) -> None:
    """Couple joints to the heads of their chains, as writers of USD may do.

    MuJoCo's couplings are slightly compliant, so that a chain is softer.
    """
    coupling_of = {
        int(model.eq_obj1id[index]): index
        for index in range(model.neq)
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT and model.eq_obj2id[index] >= 0
    }
    coupling_data = {
        follower: (int(model.eq_obj2id[index]), *model.eq_data[index, :2])
        for follower, index in coupling_of.items()
    }
    for follower, index in coupling_of.items():
        leader, offset, multiplier = coupling_data[follower]
        seen = {follower}
        while leader in coupling_data and leader not in seen:
            seen.add(leader)
            leader, further, factor = coupling_data[leader]
            offset, multiplier = offset + multiplier * further, multiplier * factor
        model.eq_obj2id[index] = leader
        model.eq_data[index, :2] = offset, multiplier


def _altered(
    model: mujoco.MjModel,
    random: np.random.Generator,
) -> mujoco.MjModel:
    """Return a model with all numbers of the robot perturbed."""
    near = copy.copy(model)
    for field in (
        "body_mass",
        "body_inertia",
        "body_ipos",
        "body_pos",
        "jnt_pos",
        "dof_damping",
        "dof_frictionloss",
        "eq_data",
    ):
        sizes = getattr(near, field)
        sizes[:] = sizes * (1 + random.uniform(-_NEARBY, _NEARBY, sizes.shape))
    for field in ("body_quat", "body_iquat", "jnt_axis"):
        units = getattr(near, field)
        turned = units + random.uniform(-_NEARBY, _NEARBY, units.shape)
        units[:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    _invent(near, random)
    return near


def _invent(
    model: mujoco.MjModel,
    random: np.random.Generator,
) -> None:
    """Add small mass and inertia to moving groups without, as converters do."""
    groups = np.bincount(model.body_weldid, model.body_mass, model.nbody)
    heads = [body for body in range(1, model.nbody) if model.body_weldid[body] == body]
    bare = [body for body in heads if not groups[body]]
    for body in bare:
        mass = _NEARBY * groups.sum() * random.uniform() / len(bare)
        model.body_mass[body] = mass
        model.body_inertia[body] = mass * _GYRATION
    size = float(np.linalg.norm(model.body_pos, axis=1).sum()) or 1.0
    for body in range(1, model.nbody):
        if model.body_mass[body] and not model.body_inertia[body].any():
            moment = _NEARBY * model.body_mass[body] * size**2
            model.body_inertia[body] = moment * random.uniform()
