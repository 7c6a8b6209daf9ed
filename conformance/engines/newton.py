"""Engines of both files: Newton, in single precision, on the CPU.

Values are taken from the finished model, in which Newton has corrected invalid inertia.
Of a USD, Newton names bodies and joints by the paths of their prims: which prim is which
link, and the root link and its pose if it is no body, are OpenUSD's reading.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import statements
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Request,
    Side,
    UnsupportedError,
    optional_engine,
)
from urdf_usd.conformance.engines.rotations import matrices, matrices_of_xyzw, quats_wxyz
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.simulation import DriveObservation, SimulationObservation

if TYPE_CHECKING:
    import newton

Array: TypeAlias = NDArray[np.float64]
# (L, 3) origins and (L, 3, 3) rotations.
Placed: TypeAlias = tuple[Array, Array]
# Indices of bodies by link, and of joints by name.
Names: TypeAlias = tuple[Mapping[str, int], Mapping[str, int]]

_URDF_STEPS = (
    prepared.strip_shapes,
    prepared.keep_first_inertial,
    prepared.complete_inertials,
    prepared.name_robot,
    prepared.leave_out_idle_couplings,
)
# Names in a USD are those of prims.
_OF_USD = frozenset(
    {
        obs.Quantity.JOINT_TYPES,
        obs.Quantity.FRAMES,
        obs.Quantity.MASS,
        obs.Quantity.LIMITS,
        obs.Quantity.MOTION,
        obs.Quantity.SIMULATION,
    }
)
# Stated only if the asset uses Newton's or MuJoCo's schemas.
_BY_SCHEMA = frozenset(
    {obs.Quantity.MIMIC, obs.Quantity.EFFORT, obs.Quantity.VELOCITY, obs.Quantity.DYNAMICS}
)
_NO_SCHEMA = (
    "Newton states no efforts, speeds, damping, friction and couplings: no joint uses its schemas."
)
_NO_SPEED = "Newton states no speeds: MuJoCo's schemas have none."
_SI = stages.Units(1.0, 1.0)
_FAMILIES = frozenset({stages.SchemaFamily.NEWTON, stages.SchemaFamily.MUJOCO})
_AT_REST = obs.Configurations((), (), ("zero",))
# Newton uses 1e10 for "no limit"; an angle may have been converted from degrees.
_UNLIMITED = math.radians(1e10) * (1 - 1e-6)
_DEVICE = "cpu"
# The smallest normal number of float32.
_SMALLEST = 2.0**-126
TYPES = {
    "FIXED": obs.JointType.FIXED,
    "REVOLUTE": obs.JointType.REVOLUTE,
    "PRISMATIC": obs.JointType.PRISMATIC,
    "BALL": obs.JointType.SPHERICAL,
    "FREE": obs.JointType.FLOATING,
}
# Types of D6 joints, by their numbers of translations and rotations.
_D6_TYPES = {
    (0, 0): obs.JointType.FIXED,
    (1, 0): obs.JointType.PRISMATIC,
    (0, 1): obs.JointType.REVOLUTE,
    (2, 0): obs.JointType.PLANAR,
    (2, 1): obs.JointType.PLANAR,
}


class NewtonEngine(Struct, frozen=True):
    """Reads a URDF with Newton's importer."""

    name: str = "newton"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("newton", "newton", "newton")

    def observe(self, request: Request) -> obs.Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: Newton refuses the file.
        """
        urdf = prepared.prepare(request.path, _URDF_STEPS)
        text = urdf.text.decode()
        robot = build(lambda builder: builder.add_urdf(text, floating=False), _urdf_names)
        joints = []
        for name in robot.joints:
            joint = _joint(robot, name)
            if joint is None:
                raise UnsupportedError(f"Newton reads joint {name} as a type that URDF lacks")
            joints.append(joint)
        stated = tuple(joints)
        reading = obs.Observation(
            engine=self.name,
            robot=_robot_name(robot.builder),
            root=next(iter(robot.bodies)),
            states=statements.OF_ANY_URDF
            | {obs.Quantity.MIMIC, obs.Quantity.EFFORT, obs.Quantity.VELOCITY},
            links=tuple(
                obs.LinkObservation(link, mass and urdf.stated_mass([link], *mass))
                for link in robot.bodies
                for mass in [body_mass(robot, link)]
            ),
            joints=stated,
            joint_order=statements.moving_joints(stated),
            notes=robot.warnings,
            precision=obs.SINGLE_PRECISION,
        )

        def frames(links: tuple[str, ...]) -> obs.Frames:
            return _frames(robot, stated, links, request.configurations)

        return statements.with_frames(reading, "Newton", urdf, request, frames)


class NewtonUsdEngine(Struct, frozen=True):
    """Reads a USD with Newton's importer; compared with the engine that is judged."""

    name: str = "newton-usd"
    side: Side = Side.USD

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("newton", "newton", "newton")

    def observe(self, request: Request) -> obs.Observation:
        """Read the stage and state its quantities.

        Raises:
            UnsupportedError: OpenUSD refuses the stage, or it is not in SI units, which
                Newton ignores.
            InvalidFileError: Newton refuses a stage that is made for it.
        """
        names = OpenusdEngine().observe(Request(request.path, _AT_REST))
        with stages.captured_diagnostics():
            reading = stages.open_reading(request.path)
            if reading.units != _SI:
                raise UnsupportedError("Newton reads all numbers as SI units")
            by_path, families = reading.links_by_path, reading.families

            def find_names(builder: newton.ModelBuilder) -> Names:
                bodies = {
                    by_path[path].name: index
                    for index, path in enumerate(builder.body_label)
                    if path in by_path
                }
                joints = {
                    stages.urdf_name(reading.prim(path)): index
                    for index, path in enumerate(builder.joint_label)
                    if path in reading.joints
                }
                return bodies, joints

            try:
                robot = build(lambda builder: _add_usd(builder, request.path, families), find_names)
            except UnsupportedError as error:
                raise stages.refusal(str(error), families, _FAMILIES) from error
            if not robot.bodies:
                reason = "Newton finds no body"
                if reading.bodies:
                    raise stages.refusal(reason, families, _FAMILIES)
                raise UnsupportedError(reason)
            still = None
            if names.root not in robot.bodies:
                pose = reading.rigid(reading.links[names.root].path)
                still = pose[np.newaxis, :3, 3], pose[np.newaxis, :3, :3]
        by_schema, notes = _BY_SCHEMA, tuple[str, ...]()
        if stages.SchemaFamily.NEWTON not in families:
            by_mujoco = stages.SchemaFamily.MUJOCO in families
            by_schema = _BY_SCHEMA - {obs.Quantity.VELOCITY} if by_mujoco else frozenset()
            notes = (_NO_SPEED if by_mujoco else _NO_SCHEMA,)
        joints = tuple(joint for name in robot.joints if (joint := _joint(robot, name)))
        # Newton's forward kinematics ignores joints in no articulation.
        articulation = robot.builder.joint_articulation
        movable = [joint for joint in joints if articulation[robot.joints[joint.name]] >= 0]
        blocked = statements.unreachable_joints(movable, request.configurations)
        reach = statements.reachable_links(names.root, names.joints, blocked)
        framed = [link for link in reach if link in robot.bodies or link == names.root]
        return obs.Observation(
            engine=self.name,
            robot=names.robot,
            root=names.root,
            states=_OF_USD | by_schema,
            links=tuple(
                obs.LinkObservation(
                    link.name,
                    obs.MassProperties(mass[0], statements.vec3(mass[1]), statements.vec6(mass[2]))
                    if mass
                    else None,
                    link.name,
                )
                if link.name in robot.bodies
                else structs.replace(link, mass=None)
                for link in names.links
                for mass in [body_mass(robot, link.name)]
            ),
            joints=joints,
            joint_order=statements.moving_joints(joints),
            frames=_frames(robot, joints, framed, request.configurations, still),
            notes=(*robot.warnings, *statements.blocked_note("Newton", blocked), *notes),
            dynamics=None if blocked else _dynamics(robot, joints, request.configurations),
            simulation=_simulation(robot, joints),
            precision=obs.SINGLE_PRECISION,
        )


class Robot(Struct, frozen=True, eq=False):
    """A finished model with the indices of its bodies by link, and of its joints by name.

    The builder holds numbers in double precision.
    """

    engine: ModuleType
    builder: newton.ModelBuilder
    model: newton.Model
    bodies: Mapping[str, int]
    joints: Mapping[str, int]
    warnings: tuple[str, ...]


def build(
    read: Callable[[newton.ModelBuilder], object], names: Callable[[newton.ModelBuilder], Names]
) -> Robot:
    """Read a file and finish the model.

    Raises:
        UnsupportedError: Newton refuses the file or the model.
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
        try:
            read(builder)
        # Newton has no exception type of its own for invalid files.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UnsupportedError(f"Newton: {reason}") from error
        try:
            model = builder.finalize(device=_DEVICE)
        # Newton refuses, for example, joints outside articulations.
        except ValueError as error:
            raise UnsupportedError(f"Newton: {' '.join(str(error).split())}") from error
    texts = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    notes = tuple(f"Newton warns: {text}" for text in texts)
    return Robot(newton, builder, model, *names(builder), notes)


def _robot_name(builder: newton.ModelBuilder) -> str:
    return str(builder.articulation_label[0])


def _urdf_names(builder: newton.ModelBuilder) -> Names:
    """Return bodies, the root first, and joints without the one of the root."""
    prefix = f"{_robot_name(builder)}/"
    root = builder.joint_child[0]
    bodies = {label.removeprefix(prefix): index for index, label in enumerate(builder.body_label)}
    return (
        dict(sorted(bodies.items(), key=lambda item: item[1] != root)),
        {
            label.removeprefix(prefix): index
            for index, label in enumerate(builder.joint_label)
            if builder.joint_parent[index] >= 0
        },
    )


def _add_usd(
    builder: newton.ModelBuilder, path: str, families: Iterable[stages.SchemaFamily]
) -> None:
    import newton

    schemas: dict[str, Any] = {}
    if stages.SchemaFamily.MUJOCO in families:
        # MuJoCo's schemas are read first; the resolver requires the attributes.
        newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
        resolvers = [newton.usd.SchemaResolverMjc(), newton.usd.SchemaResolverNewton()]
        schemas = {"schema_resolvers": resolvers}
    # Without rotation to Newton's own up axis, and without massless sites.
    builder.add_usd(
        path,
        apply_up_axis_from_stage=True,
        load_visual_shapes=False,
        load_sites=False,
        **schemas,
    )


def body_mass(robot: Robot, link: str) -> tuple[float, Array, Array] | None:
    """Return mass, centre and inertia of a link's body; None without a body or mass."""
    index = robot.bodies.get(link)
    if index is None:
        return None
    mass = float(robot.model.body_mass.numpy()[index])
    if mass == 0:
        return None
    return mass, robot.model.body_com.numpy()[index], robot.model.body_inertia.numpy()[index]


def _joint(robot: Robot, name: str) -> obs.JointObservation | None:
    """State a joint; None if it has no URDF type in Newton."""
    builder, index = robot.builder, robot.joints[name]
    link_of = {body: link for link, body in robot.bodies.items()}
    newton_type = robot.engine.JointType(builder.joint_type[index]).name
    if newton_type == "D6":
        kind = _D6_TYPES.get(tuple(builder.joint_dof_dim[index]))
    else:
        kind = TYPES.get(newton_type)
    if kind is None:
        return None
    parent = link_of.get(builder.joint_parent[index], "world")
    child = link_of.get(builder.joint_child[index], "world")
    if kind not in {obs.JointType.REVOLUTE, obs.JointType.PRISMATIC}:
        return obs.JointObservation(name, kind, parent, child)
    axis = builder.joint_qd_start[index]
    lower = limit(builder.joint_limit_lower[axis])
    upper = limit(builder.joint_limit_upper[axis])
    if kind is obs.JointType.REVOLUTE and (lower, upper) == (-math.inf, math.inf):
        kind = obs.JointType.CONTINUOUS
    effort = builder.joint_effort_limit[axis]
    return obs.JointObservation(
        name,
        kind,
        parent,
        child,
        lower=lower,
        upper=upper,
        # The smallest number stands for zero in MuJoCo.
        effort=0.0 if 0.0 < effort <= _SMALLEST else _finite(effort),
        velocity=_finite(builder.joint_velocity_limit[axis]),
        damping=float(builder.joint_damping[axis]),
        friction=float(builder.joint_friction[axis]),
        mimic=_mimic(robot, index),
    )


def limit(value: float) -> float:
    value = float(value)
    return value if abs(value) < _UNLIMITED else math.copysign(math.inf, value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _mimic(robot: Robot, index: int) -> obs.MimicObservation | None:
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
    return obs.MimicObservation(names[leader], float(multiplier), float(offset))


def body_poses(robot: Robot) -> Callable[[Array, Sequence[int]], Placed]:
    """Return the function from all coordinates to the poses of some bodies."""
    import warp

    state, speeds = robot.model.state(), warp.zeros_like(robot.model.joint_qd)

    def poses(positions: Array, indices: Sequence[int]) -> Placed:
        at = warp.array(positions, dtype=warp.float32, device=_DEVICE)
        robot.engine.eval_fk(robot.model, at, speeds, state)
        placed = state.body_q.numpy()[indices].astype(np.float64)
        return placed[:, :3], matrices_of_xyzw(placed[:, 3:])

    return poses


def _frames(
    robot: Robot,
    joints: Sequence[obs.JointObservation],
    links: Sequence[str],
    configurations: obs.Configurations,
    still: Placed | None = None,
) -> obs.Frames:
    """Compute poses of links' bodies, relative to the first of them."""
    start = robot.model.joint_q.numpy()
    poses = body_poses(robot)
    indices = [robot.bodies[link] for link in (links[1:] if still else links)]
    stated = {joint.name: joint for joint in joints}
    targets = [
        _coordinates(robot, stated[name], positions)
        for name, positions in statements.settable_positions(joints, configurations).items()
    ]

    def place(row: int) -> Placed:
        positions = start.copy()
        for columns, values in targets:
            positions[columns] = values[row]
        origins, turns = poses(positions, indices)
        if still is None:
            return origins, turns
        return np.concatenate([still[0], origins]), np.concatenate([still[1], turns])

    return statements.build_frames(links, configurations, place)


def _coordinates(robot: Robot, joint: obs.JointObservation, values: Array) -> tuple[slice, Array]:
    """Return the slice of a joint in Newton's positions, and its (K, n) values.

    Newton's joint frame may be rotated relative to the link frame, in which the
    coordinates are given.
    """
    builder, index = robot.builder, robot.joints[joint.name]
    start = builder.joint_q_start[index]
    joint_to_link = matrices_of_xyzw(list(builder.joint_X_c[index])[3:])

    def turned(quats: Array) -> Array:
        own = quats_wxyz(joint_to_link.T @ matrices(quats) @ joint_to_link)
        return np.roll(own, -1, axis=1)

    match joint.type:
        case obs.JointType.FLOATING:
            values = np.column_stack([values[:, :3] @ joint_to_link, turned(values[:, 3:])])
        case obs.JointType.SPHERICAL:
            values = turned(values)
        case obs.JointType.PLANAR:
            slides, turns = builder.joint_dof_dim[index]
            first = builder.joint_qd_start[index]
            axes = [statements.vec3(axis) for axis in builder.joint_axis[first : first + slides]]
            slid = values[:, :3] @ joint_to_link @ np.array(axes).T
            values = np.column_stack([slid, values[:, 3:][:, :turns]])
    return slice(start, start + values.shape[1]), values


def _dynamics(
    robot: Robot, joints: Sequence[obs.JointObservation], configurations: obs.Configurations
) -> obs.Dynamics | None:
    """Compute the equations of motion of the joints; the root's are left out.

    Newton adds armature to the mass matrix; it is left out.

    Returns:
        None if there are no velocities, a joint has several degrees of freedom, or
        there is not exactly one articulation.
    """
    import warp

    model, sampled = robot.model, configurations.for_motion
    moving = [joint for joint in joints if obs.COORDINATES[joint.type]]
    if (
        not moving
        or not sampled.velocities
        or model.articulation_count != 1
        or any(obs.COORDINATES[joint.type] > 1 for joint in moving)
    ):
        return None
    given = statements.settable_positions(joints, sampled)
    rates = dict(zip(sampled.joints, sampled.velocities, strict=True))
    indices = [robot.joints[joint.name] for joint in moving]
    columns = [robot.builder.joint_qd_start[index] for index in indices]
    places = [robot.builder.joint_q_start[index] for index in indices]
    velocities = np.zeros((sampled.count, len(moving)))
    positions = np.tile(model.joint_q.numpy(), (sampled.count, 1))
    for column, joint in enumerate(moving):
        if joint.name in given:
            velocities[:, column] = rates[joint.name][:, 0]
            positions[:, places[column]] = given[joint.name][:, 0]
    state, count = model.state(), model.joint_dof_count
    inertia, gravity, coriolis = (
        warp.zeros(shape, dtype=warp.float32, device=_DEVICE)
        for shape in ((1, count, count), (count,), (count,))
    )
    tensors, forces = [], []
    for row in range(sampled.count):
        speeds = np.zeros(count, np.float32)
        speeds[columns] = velocities[row]
        state.joint_q.assign(positions[row])
        state.joint_qd.assign(speeds)
        robot.engine.eval_fk(model, state.joint_q, state.joint_qd, state)
        robot.engine.eval_inverse_dynamics_passive(
            model, state, mass_matrix=inertia, gravity_force=gravity, coriolis_force=coriolis
        )
        tensors.append(inertia.numpy()[0].astype(np.float64))
        forces.append(gravity.numpy().astype(np.float64) + coriolis.numpy())
    armature = np.diag(np.array(robot.builder.joint_armature)[columns])
    return obs.Dynamics(
        tuple(joint.name for joint in moving),
        statements.read_only(np.array(tensors)[:, columns][:, :, columns] - armature),
        statements.read_only(np.array(forces)[:, columns]),
        statements.read_only(velocities),
    )


def _simulation(robot: Robot, joints: Sequence[obs.JointObservation]) -> SimulationObservation:
    """Return drives, armature, springs at limits and positions of joints."""
    builder = robot.builder
    moved = [joint.name for joint in joints if obs.COORDINATES[joint.type] == 1]
    rate = {name: builder.joint_qd_start[robot.joints[name]] for name in moved}
    place = {name: builder.joint_q_start[robot.joints[name]] for name in moved}

    def by_joint(values: Sequence[float], at: Mapping[str, int]) -> tuple[tuple[str, float], ...]:
        return tuple((name, float(values[index])) for name, index in at.items())

    drives = (
        DriveObservation(
            name,
            float(builder.joint_target_ke[rate[name]]),
            float(builder.joint_target_kd[rate[name]]),
            float(builder.joint_target_q[place[name]]),
            float(builder.joint_target_qd[rate[name]]),
        )
        for name in moved
    )
    return SimulationObservation(
        tuple(drives),
        by_joint(builder.joint_armature, rate),
        tuple(start for start in by_joint(builder.joint_q, place) if start[1]),
        limit_stiffnesses=by_joint(builder.joint_limit_ke, rate),
        limit_dampings=by_joint(builder.joint_limit_kd, rate),
    )
