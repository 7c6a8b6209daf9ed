"""MuJoCo models: equations of motion, passive rollouts, and distances of colliders.

A model comes from MuJoCo's own URDF reader, or is built from the observation of another
engine: links, masses, joints with axes and anchors, and link frames in the first
configuration.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import mujoco
import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.engines.statements import (
    Array,
    matrices,
    quats_wxyz,
    read_only,
    transforms,
)
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import ShapeKind, Solid

_ROOT_FREEDOMS = 6
# Added to the inertia of fixed degrees of freedom [kg, kg m^2]: in 1 s, a force of 1 kN
# moves them by 1e-9 m. It is the same on both sides of a comparison.
_HELD = 1e12
# Tolerance of the solver: 1e-22 changes some states, 1e-24 and 1e-30 are equal.
_SOLVED = 1e-26
# Relative perturbation of perturbed rollouts: ten times the rounding of float32.
_NEARBY = 1e-6
_NEIGHBOURS = 3
_SEED = 20_240_229
# Radius of gyration squared [m^2] of a sphere of radius 0.1 m, which OpenUSD assumes
# for a body with mass and without collider.
_GYRATION = 0.4 * 0.1**2
# Mass and moments for compilation, replaced by the stated ones afterwards.
_PLACEHOLDER = 1.0
# A component that unit vectors of simple numbers do not have.
_ALONG = 0.77
# Distances beyond it are not computed; smaller extents are flat for MuJoCo, which
# computes the inertia of every mesh [m].
_FAR, _FLAT = 0.01, 1e-3


class UnbuildableError(Exception):
    """No model can be built from the observation; the message says why."""


def compiled_quietly(spec: mujoco.MjSpec) -> mujoco.MjModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return spec.compile()


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings, which MuJoCo would write to a file in the working directory."""
    previous = mujoco.get_mju_user_warning()
    messages: list[str] = []
    mujoco.set_mju_user_warning(messages.append)
    try:
        yield messages
    finally:
        mujoco.set_mju_user_warning(previous)


class JointPlace(Struct, frozen=True, eq=False):
    """Location and form of the coordinates of a joint in a model."""

    name: str  # URDF name
    type: obs.JointType  # not fixed
    qpos: int  # index of its first position in ``qpos``
    dofs: slice  # of its velocities in ``qvel``
    rates: Array  # (v, d) from velocities of the observation to the model's; orthonormal rows
    plane: Array  # (2, 3) axes of the two slides of a planar joint; empty for others
    # Position and quaternion wxyz of the joint's frame in the world, for a free joint,
    # whose coordinates are in the world; empty for others.
    origin: Array

    def to_qpos(self, values: Array) -> Array:
        """Convert (K, d) coordinates to (K, n) positions of the model."""
        if len(self.plane):
            return np.column_stack([values[:, :3] @ self.plane.T, values[:, 3]])
        if len(self.origin):
            turn = matrices(self.origin[3:])
            turned = quats_wxyz(turn @ matrices(values[:, 3:]))
            return np.column_stack([self.origin[:3] + values[:, :3] @ turn.T, turned])
        return values

    def from_qpos(self, qpos: Array) -> tuple[float, ...]:
        own = qpos[self.qpos :][: 3 if len(self.plane) else obs.COORDINATES[self.type]]
        if len(self.plane):
            own = np.append(own[:2] @ self.plane, own[2])
        if len(self.origin):
            turn = matrices(self.origin[3:]).T
            turned = quats_wxyz(turn @ matrices(own[3:]))
            own = np.append(turn @ (own[:3] - self.origin[:3]), turned)
        return tuple(own.tolist())


def joint_place(model: mujoco.MjModel, joint: obs.JointObservation, first: int) -> JointPlace:
    """Locate a joint by the number of its first joint in the model.

    A planar one is two slides and a hinge, a floating one is free, or three slides and a ball.
    """
    plane, origin = np.empty((0, 3)), np.empty(0)
    start, dof = int(model.jnt_qposadr[first]), int(model.jnt_dofadr[first])
    rates = np.eye(obs.VELOCITIES[joint.type])
    if joint.type is obs.JointType.PLANAR:
        plane = np.array(model.jnt_axis[first : first + 2])
        rates = np.zeros((3, 4))
        rates[:2, :3], rates[2, 3] = plane, 1.0
    if model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE:
        origin = np.array(model.qpos0[start : start + obs.COORDINATES[joint.type]])
        rates[:3, :3] = matrices(origin[3:])
    dofs = slice(dof, dof + len(rates))
    return JointPlace(joint.name, joint.type, start, dofs, rates, plane, origin)


class Mechanism(Struct, frozen=True, eq=False):
    model: mujoco.MjModel  # if its root moves freely, these are its first coordinates
    joints: tuple[JointPlace, ...]  # those that move
    free_root: bool  # whether the root link moves freely, from the origin of the world
    # Joints that move links with placeholder mass properties, and ROOT_MOTION if there are any.
    unknown: frozenset[str] = frozenset()

    def states(self, configurations: obs.Configurations) -> tuple[Array, Array]:
        """Return (K, nq) positions and (K, nv) velocities in the model's own form.

        Joints without given positions, or of another type, stay at zero.
        """
        qpos = np.tile(self.model.qpos0, (configurations.count, 1))
        qvel = np.zeros((configurations.count, self.model.nv))
        given = dict(zip(configurations.joints, configurations.positions, strict=True))
        moving = dict(zip(configurations.joints, configurations.velocities, strict=False))
        for joint in self.joints:
            values = given.get(joint.name)
            if values is not None and values.shape[1] == obs.COORDINATES[joint.type]:
                values = joint.to_qpos(values)
                qpos[:, joint.qpos : joint.qpos + values.shape[1]] = values
            rates = moving.get(joint.name)
            if rates is not None and rates.shape[1] == obs.VELOCITIES[joint.type]:
                qvel[:, joint.dofs] = rates @ joint.rates.T
        return qpos, qvel


def joints_moving(joints: Sequence[obs.JointObservation], links: Collection[str]) -> frozenset[str]:
    joint_to = {joint.child: joint for joint in joints}
    found = {obs.ROOT_MOTION} if links else set()
    for link in links:
        while joint := joint_to.get(link):
            found.add(joint.name)
            link = joint.parent
    return frozenset(found)


def equations_of_motion(mechanism: Mechanism, configurations: obs.Configurations) -> obs.Dynamics:
    """Compute the equations of motion, without joints that move unknown masses."""
    model, data = mechanism.model, mujoco.MjData(mechanism.model)
    sampled = configurations.for_motion
    full = np.empty((sampled.count, model.nv, model.nv))
    forces = np.empty((sampled.count, model.nv))
    qpos, qvel = mechanism.states(sampled)
    for row in range(sampled.count):
        data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
        # In single steps: a whole stage would factorise M, which may be singular.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, forces[row])
        mujoco.mj_fullM(model, data, full[row])
    # From velocities of the observation to the model's; its rows are orthonormal.
    names, columns = list[str](), [np.empty((model.nv, 0))]
    blocks = [(obs.ROOT_MOTION, slice(0, _ROOT_FREEDOMS), np.eye(_ROOT_FREEDOMS))]
    blocks = blocks if mechanism.free_root else []
    blocks += ((joint.name, joint.dofs, joint.rates) for joint in mechanism.joints)
    for name, dofs, own in blocks:
        if name not in mechanism.unknown:
            names += [name] * own.shape[1]
            columns.append(np.zeros((model.nv, own.shape[1])))
            columns[-1][dofs] = own
    rates = np.concatenate(columns, axis=1)
    arrays = rates.T @ full @ rates, forces @ rates, qvel @ rates
    return obs.Dynamics(tuple(names), *map(read_only, arrays))


def roll_out(
    mechanism: Mechanism, configurations: obs.Configurations, *, perturbed: bool = False
) -> obs.Rollout | None:
    """Simulate the passive rollout that is planned, if there is any and masses are known."""
    # The integrator treats damping implicitly, as damping that makes explicit integration unstable
    # is common in URDFs. Both sides take the same steps.
    plan = configurations.rollout
    if plan is None or mechanism.unknown:
        return None
    start = mechanism.states(configurations)[0][plan.configuration]
    random = np.random.default_rng(_SEED)
    return obs.Rollout(
        joints=tuple(joint.name for joint in mechanism.joints),
        states=_states(mechanism, mechanism.model, plan, start),
        perturbed=tuple(
            _states(mechanism, _altered(mechanism.model, random), plan, start)
            for _ in range(_NEIGHBOURS if perturbed else 0)
        ),
    )


def _states(
    mechanism: Mechanism, model: mujoco.MjModel, plan: obs.RolloutPlan, start: Array
) -> tuple[obs.RolloutState, ...]:
    """Return the states of the plan, until MuJoCo warns of divergence."""
    model = copy.copy(model)
    # Couple joints to the heads of their chains, as writers of USD may do: MuJoCo's couplings are
    # slightly compliant, so that a chain is softer.
    index_of, written = dict[str, int](), dict[str, obs.MimicObservation]()
    is_coupling = (model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_obj2id >= 0)
    for index in np.flatnonzero(is_coupling).tolist():
        offset, multiplier = model.eq_data[index, :2].tolist()
        follower, leader = str(model.eq_obj1id[index]), str(model.eq_obj2id[index])
        index_of[follower] = index
        written[follower] = obs.MimicObservation(leader, multiplier, offset)
    for follower, index in index_of.items():
        if head := obs.head_coupling(follower, written.get):
            model.eq_obj2id[index] = int(head.leader)
            model.eq_data[index, :2] = head.offset, head.multiplier
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
        # The compliance of couplings and friction depends on the inverse inertia of each
        # degree of freedom, which MuJoCo computes at the initial poses of a model. These
        # differ between models of one robot.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        inverse = np.eye(model.nv)
        mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
        model.dof_invweight0[:] = np.diagonal(inverse)
        # The solver's tolerance is relative to it; held freedoms would dominate.
        free = model.dof_invweight0[~held & (model.dof_invweight0 > 0.0)]
        model.stat.meaninertia = float((1.0 / free).mean()) if len(free) else 1.0
        before = 0
        for steps in plan.steps:
            mujoco.mj_step(model, data, steps - before)
            before = steps
            if messages:
                break
            positions = tuple(joint.from_qpos(data.qpos) for joint in mechanism.joints)
            velocities = tuple(
                tuple((joint.rates.T @ data.qvel[joint.dofs]).tolist())
                for joint in mechanism.joints
            )
            reached.append(obs.RolloutState(steps * plan.step, positions, velocities))
    return tuple(reached)


def _altered(model: mujoco.MjModel, random: np.random.Generator) -> mujoco.MjModel:
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
    # Small mass and inertia of moving groups without, as converters add.
    groups = np.bincount(near.body_weldid, near.body_mass, near.nbody)
    heads = (body for body in range(1, near.nbody) if near.body_weldid[body] == body)
    bare = [body for body in heads if not groups[body]]
    for body in bare:
        mass = _NEARBY * groups.sum() * random.uniform() / len(bare)
        near.body_mass[body] = mass
        near.body_inertia[body] = mass * _GYRATION
    size = float(np.linalg.norm(near.body_pos, axis=1).sum()) or 1.0
    for body in range(1, near.nbody):
        if near.body_mass[body] and not near.body_inertia[body].any():
            moment = _NEARBY * near.body_mass[body] * size**2
            near.body_inertia[body] = moment * random.uniform()
    return near


def with_motion(
    observation: obs.Observation, configurations: obs.Configurations, *, perturbed: bool
) -> obs.Observation:
    """Add rollout and, unless it states them, equations of motion to an observation."""
    try:
        mechanism = build(observation, configurations)
    except UnbuildableError as error:
        note = f"MuJoCo cannot simulate the observation: {error}"
        return structs.replace(observation, notes=(*observation.notes, note))
    dynamics = observation.dynamics or equations_of_motion(mechanism, configurations)
    rollout = roll_out(mechanism, configurations, perturbed=perturbed)
    return structs.replace(observation, dynamics=dynamics, rollout=rollout)


def build(
    observation: obs.Observation,
    configurations: obs.Configurations,
    prepare: Callable[[mujoco.MjSpec, Mapping[str, mujoco.MjsBody], Sequence[str]], None]
    | None = None,
) -> Mechanism:
    """Make a model of an observation, its root free to move from the world's origin.

    ``prepare`` changes the specification before it is compiled. It is also given the bodies by
    link, and the URDF names of moving joints: the name of a joint with one axis is the place of its
    URDF name among these. What is no tree with known masses and axes raises UnbuildableError.
    """
    order = _ordered(observation)
    stated = {link.name: link.mass for link in observation.links}
    for name, mass in stated.items():
        if mass and name not in order:
            raise UnbuildableError(f"no joint leads to link {name}")
    # Positions are zero, except for followers whose coupling has an offset.
    at_zero = {
        name: float(positions[0, 0])
        for name, positions in zip(configurations.joints, configurations.positions, strict=True)
        if positions.shape[1] == 1
    }
    # (L) masses, (L, 3) centres and moments, and (L, 4) axes of these as quaternions.
    tensors, centers = np.zeros((len(order), 3, 3)), np.zeros((len(order), 3))
    masses = np.array([max(0.0, mass.mass) if (mass := stated.get(n)) else 0.0 for n in order])
    for row, mass in enumerate(map(stated.get, order)):
        if mass is not None:
            if mass.inertia is None:
                raise UnbuildableError("an inertia is not stated")
            tensors[row][np.triu_indices(3)] = mass.inertia
            centers[row] = mass.center
    moments, axes = np.linalg.eigh(tensors + np.triu(tensors, 1).swapaxes(-1, -2))
    axes *= np.linalg.det(axes)[:, np.newaxis, np.newaxis]
    moments[masses == 0.0] = 0.0
    axes = quats_wxyz(axes)
    poses = _relative_poses(observation, order)
    turns = quats_wxyz(poses[:, :3, :3])
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies: dict[str, mujoco.MjsBody] = {}
    moving: list[obs.JointObservation] = []
    for number, (name, joint) in enumerate(order.items()):
        bodies[name] = (bodies[joint.parent] if joint else spec.worldbody).add_body(
            pos=poses[number, :3, 3],
            quat=turns[number],
            explicitinertial=True,
            mass=_PLACEHOLDER,
            ipos=centers[number],
            iquat=axes[number],
            inertia=[_PLACEHOLDER] * 3,
        )
        if joint is None:
            bodies[name].add_freejoint()
        elif joint.type is not obs.JointType.FIXED:
            _add_joint(bodies[name], joint, str(len(moving)), at_zero.get(joint.name, 0.0))
            moving.append(joint)
    _add_couplings(spec, moving, at_zero)
    if prepare:
        prepare(spec, bodies, [joint.name for joint in moving])
    try:
        model = compiled_quietly(spec)
    except ValueError as error:
        raise UnbuildableError(" ".join(str(error).split())) from error
    # Bodies keep the order in which they were added, depth first.
    model.body_mass[1:], model.body_inertia[1:] = masses, moments
    body_of = {name: body for body, name in enumerate(order, start=1)}
    places = tuple(
        joint_place(model, joint, int(model.body_jntadr[body_of[joint.child]])) for joint in moving
    )
    for joint, place in zip(moving, places, strict=True):
        model.dof_damping[place.dofs] = np.nan_to_num(joint.damping or 0.0)
        model.dof_frictionloss[place.dofs] = np.nan_to_num(joint.friction or 0.0)
    # Derived constants depend on the inertia of merged bodies.
    with collected_warnings():
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return Mechanism(model, places, free_root=True)


def _ordered(observation: obs.Observation) -> dict[str, obs.JointObservation | None]:
    """Return the links below the root, depth first, each with the joint to it."""
    leaving: dict[str, list[obs.JointObservation]] = {}
    for leads in observation.joints:
        leaving.setdefault(leads.parent, []).append(leads)
    order: dict[str, obs.JointObservation | None] = {}
    pending: list[tuple[str, obs.JointObservation | None]] = [(observation.root, None)]
    while pending:
        name, joint = pending.pop()
        if name in order:
            raise UnbuildableError(f"two joints lead to link {name}")
        order[name] = joint
        pending += ((j.child, j) for j in reversed(leaving.get(name, [])))
    return order


def _relative_poses(
    observation: obs.Observation, order: Mapping[str, obs.JointObservation | None]
) -> Array:
    """Return (L, 4, 4) frames of links in their parents', in the first configuration."""
    frames = observation.frames
    if frames is None:
        raise UnbuildableError("no link frames are stated")
    column = {link: place for place, link in enumerate(frames.links)}
    joints = [joint for joint in order.values() if joint]
    for joint in joints:
        for name in (joint.parent, joint.child):
            if name not in column:
                raise UnbuildableError(f"the frame of link {name} is not stated")
    placed = transforms(frames.rotations[0], frames.positions[0])
    relative = np.tile(np.eye(4), (len(order), 1, 1))
    if joints:
        parents = placed[[column[joint.parent] for joint in joints]]
        relative[1:] = np.linalg.inv(parents) @ placed[[column[joint.child] for joint in joints]]
    if not np.isfinite(relative).all():
        raise UnbuildableError("the frame of a link is not stated")
    return relative


def _add_joint(
    body: mujoco.MjsBody, joint: obs.JointObservation, name: str, reference: float
) -> None:
    """Add the joints of a body.

    The name, and the position at the pose of the body, are those of a joint with one coordinate.
    """
    kinds = mujoco.mjtJoint
    if obs.COORDINATES[joint.type] == 1:
        slides = joint.type is obs.JointType.PRISMATIC
        kind = kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE
        body.add_joint(name=name, type=kind, axis=_axis(joint), pos=joint.anchor, ref=reference)
    elif joint.type is obs.JointType.SPHERICAL:
        body.add_joint(type=kinds.mjJNT_BALL, pos=joint.anchor)
    else:
        # A body that may also translate rotates about its own origin.
        planar = joint.type is obs.JointType.PLANAR
        for direction in _plane(_axis(joint)) if planar else np.eye(3):
            body.add_joint(type=kinds.mjJNT_SLIDE, axis=direction)
        if planar:
            body.add_joint(type=kinds.mjJNT_HINGE, axis=_axis(joint))
        else:
            body.add_joint(type=kinds.mjJNT_BALL)


def _axis(joint: obs.JointObservation) -> obs.Vec3:
    if joint.axis is None:
        raise UnbuildableError(f"the axis of joint {joint.name} is not stated")
    return joint.axis


def _plane(axis: obs.Vec3) -> Array:
    """Return (2, 3) orthonormal vectors normal to a unit vector."""
    # Friction acts along each of them, so axes that differ by rounding need almost the same
    # vectors: the choice changes only where one component is 0.77.
    along = np.eye(3)[0 if abs(axis[0]) < _ALONG else 1]
    first = along - np.dot(along, axis) * np.array(axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])


def _add_couplings(
    spec: mujoco.MjSpec, moving: Sequence[obs.JointObservation], at_zero: Mapping[str, float]
) -> None:
    """Couple mimic joints by equality constraints, as MuJoCo's URDF reader does."""
    # Their polynomials are relative to the initial poses of the bodies.
    single = (one for one in enumerate(moving) if obs.COORDINATES[one[1].type] == 1)
    index = {joint.name: place for place, joint in single}
    for name, place in index.items():
        mimic = moving[place].mimic
        if mimic and mimic.leader in index and mimic.leader != name:
            coupling = spec.add_equality(
                type=mujoco.mjtEq.mjEQ_JOINT,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=str(place),
                name2=str(index[mimic.leader]),
            )
            polynomial = np.zeros(len(coupling.data))
            led = mimic.offset + mimic.multiplier * at_zero.get(mimic.leader, 0.0)
            polynomial[:2] = led - at_zero.get(name, 0.0), mimic.multiplier
            coupling.data = polynomial


def link_distances(
    solids: Sequence[Solid],
) -> tuple[Mapping[tuple[str, str], float], frozenset[str]]:
    """Return the smallest distances of links nearer than 1 cm, negative if they overlap [m].

    ``solids`` are their colliders, each convex. Links with thin ones are left out and named.
    """
    spec, links, thin = mujoco.MjSpec(), list[str](), set[str]()
    for solid in solids:
        kind, points = solid.kind, solid.points
        if kind is ShapeKind.MESH:
            # The least singular value is zero for a plane.
            middle = points.mean(axis=0) if len(points) else 0.0
            spread = np.linalg.svd(points - middle, compute_uv=False)
            is_thin = len(points) < 4 or spread[-1] < _FLAT
        else:
            # A capsule may be a sphere.
            is_thin = min(solid.size[:1] if kind is ShapeKind.CAPSULE else solid.size) <= 0.0
        if is_thin:
            thin.add(solid.link)
            continue
        if kind is ShapeKind.MESH:
            mesh = spec.add_mesh(name=f"{len(links)}", uservert=points.ravel())
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
        else:
            # MuJoCo refuses capsules without a straight part.
            if kind is ShapeKind.CAPSULE and solid.size[1] <= 0.0:
                kind = ShapeKind.SPHERE
            spec.worldbody.add_geom(
                type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.name}"),
                size=[*solid.size, 0.0, 0.0][:3],
                pos=solid.position,
                quat=quats_wxyz(np.reshape(solid.rotation, (3, 3))),
            )
        links.append(solid.link)
    if not links:
        return {}, frozenset(thin)
    model = compiled_quietly(spec)
    state = mujoco.MjData(model)
    mujoco.mj_kinematics(model, state)
    nearest: dict[tuple[str, str], float] = {}
    for one, other in itertools.combinations(range(len(links)), 2):
        apart = float(np.linalg.norm(state.geom_xpos[other] - state.geom_xpos[one]))
        if links[one] == links[other] or apart > model.geom_rbound[[one, other]].sum() + _FAR:
            continue
        found = float(mujoco.mj_geomDistance(model, state, one, other, _FAR, None))
        if found < _FAR:
            first, second = sorted((links[one], links[other]))
            nearest[first, second] = min(nearest.get((first, second), _FAR), found)
    return nearest, frozenset(thin)
