"""Engines of URDF, MJCF and USD: Newton, in single precision, on the CPU.

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
from urdf_usd.conformance.engines.readers import (
    Kinematics,
    MjcfBody,
    MjcfModel,
    MjcfReader,
    UrdfModel,
    UrdfReader,
    named,
    one_axis,
)
from urdf_usd.conformance.engines.statements import (
    Array,
    Placed,
    mass_properties,
    matrices,
    matrices_of_xyzw,
    quats_wxyz,
)
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.robot import DriveObservation, SimulationObservation

if TYPE_CHECKING:
    import newton

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
_TYPES = {
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


def read_urdf() -> UrdfReader:
    """Make the engine of Newton's importer of URDF."""
    states = frozenset({obs.Quantity.MIMIC, obs.Quantity.EFFORT, obs.Quantity.VELOCITY})
    precision = obs.SINGLE_PRECISION
    return UrdfReader(
        "Newton", "newton", "newton", _URDF_STEPS, _read_urdf, states, precision=precision
    )


def read_mjcf() -> MjcfReader:
    """Make the engine of Newton's importer of MJCF."""
    return MjcfReader("Newton", "newton", "newton", _read_mjcf, precision=obs.SINGLE_PRECISION)


def _read_urdf(urdf: prepared.UrdfCopy) -> UrdfModel:
    text = urdf.text.decode()
    robot = _build(lambda builder: builder.add_urdf(text, floating=False), _urdf_names)
    joints = []
    for name in robot.joints:
        joint = _joint(robot, name)
        if joint is None:
            raise UnsupportedError(f"Newton reads joint {name} as a type that URDF lacks")
        joints.append(joint)
    return UrdfModel(
        _robot_name(robot.builder),
        next(iter(robot.bodies)),
        [
            obs.LinkObservation(link, urdf.known([link], _mass(robot, body)))
            for link, body in robot.bodies.items()
        ],
        joints,
        {name: robot.builder.joint_q_start[index] for name, index in robot.joints.items()},
        _kinematics(robot, list(robot.bodies.values())),
        robot.warnings,
        is_ordered=True,
    )


def _read_mjcf(path: str) -> MjcfModel:
    robot = _build(
        lambda builder: builder.add_mjcf(path, parse_visuals=False, skip_equality_constraints=True),
        lambda _: ({}, {}),
    )
    builder = robot.builder
    joint_of = {child: index for index, child in enumerate(builder.joint_child)}

    def joints(body: int) -> list[tuple[int, obs.JointObservation]]:
        index = joint_of.get(body)
        kind = None if index is None else _kind(robot, index)
        if index is None or kind is obs.JointType.FIXED:
            return []
        place, rate = builder.joint_q_start[index], builder.joint_qd_start[index]
        if kind in {obs.JointType.SPHERICAL, obs.JointType.FLOATING}:
            return [(place, obs.JointObservation("", kind, "", ""))]
        slides, turns = builder.joint_dof_dim[index]
        return [
            (place + axis, _axis(builder, rate + axis, axis < slides))
            for axis in range(slides + turns)
        ]

    bodies = range(builder.body_count)
    read = [MjcfBody(joints(body), _mass(robot, body)) for body in bodies]
    kinematics = structs.replace(
        _kinematics(robot, bodies), convert=lambda _, quats: np.roll(quats, -1, axis=1)
    )
    return MjcfModel(read, kinematics, robot.warnings)


class NewtonUsdEngine(Struct, frozen=True):
    """Reads a USD with Newton's importer; compared with the engine that is judged."""

    name: str = "newton-usd"
    side: Side = Side.USD

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("newton", "newton", "newton")

    def observe(self, request: Request) -> obs.Observation:
        """Read the stage, which has to be in SI units, and state its quantities."""
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
                robot = _build(
                    lambda builder: _add_usd(builder, request.path, families), find_names
                )
            except UnsupportedError as error:
                raise stages.refusal(str(error), families, _FAMILIES) from error
            if not robot.bodies:
                reason = "Newton finds no body"
                if reading.bodies:
                    raise stages.refusal(reason, families, _FAMILIES)
                raise UnsupportedError(reason)
            # The root link is perhaps no body.
            kinematics = structs.replace(
                _kinematics(robot, range(robot.builder.body_count)),
                world=reading.rigid(reading.links[names.root].path),
            )
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
                obs.LinkObservation(link.name, _mass(robot, robot.bodies[link.name]), link.name)
                if link.name in robot.bodies
                else structs.replace(link, mass=None)
                for link in names.links
            ),
            joints=joints,
            joint_order=statements.moving_joints(joints),
            frames=kinematics.frames(
                {link: robot.bodies.get(link, -1) for link in framed},
                joints,
                {name: robot.builder.joint_q_start[index] for name, index in robot.joints.items()},
                request.configurations,
            ),
            notes=(*robot.warnings, *statements.blocked_note("Newton", blocked), *notes),
            dynamics=None if blocked else _dynamics(robot, joints, request.configurations),
            simulation=_simulation(robot, joints),
            precision=obs.SINGLE_PRECISION,
        )


class _Robot(Struct, frozen=True, eq=False):
    """A finished model with the indices of its bodies by link, and of its joints by name.

    The builder holds numbers in double precision.
    """

    engine: ModuleType
    builder: newton.ModelBuilder
    model: newton.Model
    bodies: Mapping[str, int]
    joints: Mapping[str, int]
    warnings: tuple[str, ...]


def _build(
    read: Callable[[newton.ModelBuilder], object], names: Callable[[newton.ModelBuilder], Names]
) -> _Robot:
    """Read a file and finish the model."""
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
    return _Robot(newton, builder, model, *names(builder), notes)


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


def _mass(robot: _Robot, body: int) -> obs.MassProperties | None:
    model = robot.model
    if not (mass := float(model.body_mass.numpy()[body])):
        return None
    return mass_properties(mass, model.body_com.numpy()[body], model.body_inertia.numpy()[body])


def _kind(robot: _Robot, index: int) -> obs.JointType | None:
    """Return the URDF type of a joint, if it has any; None for other D6 joints."""
    kind = robot.engine.JointType(robot.builder.joint_type[index]).name
    if kind == "D6":
        return _D6_TYPES.get(tuple(robot.builder.joint_dof_dim[index]))
    return _TYPES.get(kind)


def _joint(robot: _Robot, name: str) -> obs.JointObservation | None:
    """State a joint; None if it has no URDF type in Newton."""
    builder, index = robot.builder, robot.joints[name]
    link_of = {body: link for link, body in robot.bodies.items()}
    kind = _kind(robot, index)
    if kind is None:
        return None
    parent = link_of.get(builder.joint_parent[index], "world")
    child = link_of.get(builder.joint_child[index], "world")
    if kind not in {obs.JointType.REVOLUTE, obs.JointType.PRISMATIC}:
        return obs.JointObservation(name, kind, parent, child)
    slides = kind is obs.JointType.PRISMATIC
    stated = _axis(builder, builder.joint_qd_start[index], slides)
    return structs.replace(named(stated, name, parent, child), mimic=_mimic(robot, index))


def _axis(builder: newton.ModelBuilder, rate: int, slides: bool) -> obs.JointObservation:
    """State one degree of freedom, without names."""
    effort = builder.joint_effort_limit[rate]
    return one_axis(
        slides,
        _limit(builder.joint_limit_lower[rate]),
        _limit(builder.joint_limit_upper[rate]),
        # The smallest number stands for zero in MuJoCo.
        effort=0.0 if 0.0 < effort <= _SMALLEST else effort,
        velocity=builder.joint_velocity_limit[rate],
        damping=builder.joint_damping[rate],
        friction=builder.joint_friction[rate],
    )


def _limit(value: float) -> float:
    value = float(value)
    return value if abs(value) < _UNLIMITED else math.copysign(math.inf, value)


def _mimic(robot: _Robot, index: int) -> obs.MimicObservation | None:
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


def _kinematics(robot: _Robot, bodies: Sequence[int]) -> Kinematics:
    import warp

    state, speeds = robot.model.state(), warp.zeros_like(robot.model.joint_qd)

    def place(positions: Array) -> Placed:
        at = warp.array(positions, dtype=warp.float32, device=_DEVICE)
        robot.engine.eval_fk(robot.model, at, speeds, state)
        placed = state.body_q.numpy()[bodies].astype(np.float64)
        return placed[:, :3], matrices_of_xyzw(placed[:, 3:])

    initial = robot.model.joint_q.numpy().astype(np.float64)
    return Kinematics(initial, place, lambda joint, values: _coordinates(robot, joint, values))


def _coordinates(robot: _Robot, joint: obs.JointObservation, values: Array) -> Array:
    """Return (K, n) coordinates of a joint in Newton's form.

    Newton's joint frame may be rotated relative to the link frame, in which the
    coordinates are given.
    """
    builder, index = robot.builder, robot.joints[joint.name]
    joint_to_link = matrices_of_xyzw(list(builder.joint_X_c[index])[3:])

    def turned(quats: Array) -> Array:
        own = quats_wxyz(joint_to_link.T @ matrices(quats) @ joint_to_link)
        return np.roll(own, -1, axis=1)

    match joint.type:
        case obs.JointType.FLOATING:
            return np.column_stack([values[:, :3] @ joint_to_link, turned(values[:, 3:])])
        case obs.JointType.SPHERICAL:
            return turned(values)
        case obs.JointType.PLANAR:
            slides, turns = builder.joint_dof_dim[index]
            first = builder.joint_qd_start[index]
            axes = [statements.vec3(axis) for axis in builder.joint_axis[first : first + slides]]
            slid = values[:, :3] @ joint_to_link @ np.array(axes).T
            return np.column_stack([slid, values[:, 3:][:, :turns]])
    return values


def _dynamics(
    robot: _Robot, joints: Sequence[obs.JointObservation], configurations: obs.Configurations
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


def _simulation(robot: _Robot, joints: Sequence[obs.JointObservation]) -> SimulationObservation:
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
