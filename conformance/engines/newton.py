"""Engines of URDF, MJCF and USD: Newton, in single precision, on the CPU.

Values are taken from the finished model, in which Newton has corrected invalid inertia.
Of a USD, Newton names bodies and joints by the paths of their prims: which prim is which
link, and the root link and its pose if it is no body, are OpenUSD's reading.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import protocol, readers, statements
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    import newton

_IDLE = prepared.leave_out_idle_couplings
_URDF_STEPS = (*prepared.WITHOUT_SHAPES, prepared.name_robot, _IDLE)
# Names in a USD are those of prims.
_OF_USD = {
    *(obs.Quantity.JOINT_TYPES, obs.Quantity.FRAMES, obs.Quantity.MASS),
    *(obs.Quantity.LIMITS, obs.Quantity.MOTION, obs.Quantity.SIMULATION),
}
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


def _read_urdf(urdf: prepared.UrdfCopy) -> readers.UrdfModel:
    text = urdf.text.decode()
    robot = _build(lambda builder: builder.add_urdf(text, floating=False))
    builder = robot.builder
    prefix = f"{builder.articulation_label[0]}/"
    links = [label.removeprefix(prefix) for label in builder.body_label]
    names = [label.removeprefix(prefix) for label in builder.joint_label]
    # The root first, and joints without the one of the root.
    bodies = sorted(range(len(links)), key=lambda body: body != builder.joint_child[0])
    robot = structs.replace(
        robot,
        bodies={links[body]: body for body in bodies},
        joints={name: i for i, name in enumerate(names) if builder.joint_parent[i] >= 0},
    )
    read = {name: _joint(robot, name) for name in robot.joints}
    joints = [joint for joint in read.values() if joint]
    for name in (name for name, joint in read.items() if joint is None):
        raise protocol.UnsupportedError(f"Newton reads joint {name} as a type that URDF lacks")
    return readers.UrdfModel(
        str(builder.articulation_label[0]),
        next(iter(robot.bodies)),
        [
            obs.LinkObservation(link, urdf.known([link], _mass(robot, body)))
            for link, body in robot.bodies.items()
        ],
        joints,
        {name: builder.joint_q_start[index] for name, index in robot.joints.items()},
        _kinematics(robot, list(robot.bodies.values())),
        robot.warnings,
        is_ordered=True,
    )


def _read_mjcf(path: str) -> readers.MjcfModel:
    robot = _build(
        lambda builder: builder.add_mjcf(path, parse_visuals=False, skip_equality_constraints=True)
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
    read = [readers.MjcfBody(joints(body), _mass(robot, body)) for body in bodies]
    kinematics = structs.replace(
        _kinematics(robot, bodies), convert=lambda _, quats: np.roll(quats, -1, axis=1)
    )
    return readers.MjcfModel(read, kinematics, robot.warnings)


_LIBRARY = ("Newton", "newton", "newton")
_STATES = frozenset({obs.Quantity.MIMIC, obs.Quantity.EFFORT, obs.Quantity.VELOCITY})
_SINGLE = obs.SINGLE_PRECISION
read_urdf = partial(readers.UrdfReader, *_LIBRARY, _URDF_STEPS, _read_urdf, _STATES, _SINGLE)
read_mjcf = partial(readers.MjcfReader, *_LIBRARY, _read_mjcf, precision=_SINGLE)


class NewtonUsdEngine(Struct, frozen=True):
    """Reads a USD with Newton's importer; compared with the engine that is judged."""

    name: str = "newton-usd"
    side: protocol.Side = protocol.Side.USD

    def availability(self) -> protocol.Availability:
        return protocol.optional_engine("newton", "newton", "newton")

    def observe(self, request: protocol.Request) -> obs.Observation:
        names = OpenusdEngine().observe(protocol.Request(request.path, _AT_REST))
        with stages.captured_diagnostics():
            reading = stages.open_reading(request.path)
            if reading.units != _SI:
                raise protocol.UnsupportedError("Newton reads all numbers as SI units")
            by_path, families = reading.links_by_path, reading.families

            def read(builder: newton.ModelBuilder) -> None:
                import newton

                schemas: dict[str, Any] = {}
                if stages.SchemaFamily.MUJOCO in families:
                    # MuJoCo's schemas are read first; the resolver requires the attributes.
                    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
                    resolvers = newton.usd.SchemaResolverMjc(), newton.usd.SchemaResolverNewton()
                    schemas = {"schema_resolvers": [*resolvers]}
                # Without rotation to Newton's own up axis, and without massless sites.
                flags = {"load_visual_shapes": False, "load_sites": False}
                builder.add_usd(request.path, apply_up_axis_from_stage=True, **flags, **schemas)

            try:
                robot = _build(read)
            except protocol.UnsupportedError as error:
                raise stages.refusal(str(error), families, _FAMILIES) from error
            bodies, joint_paths = enumerate(robot.builder.body_label), robot.builder.joint_label
            robot = structs.replace(
                robot,
                bodies={by_path[path].name: body for body, path in bodies if path in by_path},
                joints={
                    stages.urdf_name(reading.prim(path)): index
                    for index, path in enumerate(joint_paths)
                    if path in reading.joints
                },
            )
            if not robot.bodies:
                reason = "Newton finds no body"
                refusal = stages.refusal(reason, families, _FAMILIES)
                raise refusal if reading.bodies else protocol.UnsupportedError(reason)
            # The root link is perhaps no body.
            world = reading.rigid(reading.links[names.root].path)
            kinematics = _kinematics(robot, range(robot.builder.body_count))
            kinematics = structs.replace(kinematics, world=world)
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
            states=by_schema | _OF_USD,
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
    """A finished model with the indices of its bodies by link, and of its joints by name."""

    engine: ModuleType
    builder: newton.ModelBuilder  # has numbers in double precision
    model: newton.Model
    warnings: tuple[str, ...]
    bodies: Mapping[str, int] = {}
    joints: Mapping[str, int] = {}


def _build(read: Callable[[newton.ModelBuilder], object]) -> _Robot:
    """Finish a model, without names."""
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
            raise protocol.UnsupportedError(f"Newton: {reason}") from error
        try:
            model = builder.finalize(device=_DEVICE)
        # Newton refuses, for example, joints outside articulations.
        except ValueError as error:
            raise protocol.UnsupportedError(f"Newton: {' '.join(str(error).split())}") from error
    texts = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    return _Robot(newton, builder, model, tuple(f"Newton warns: {text}" for text in texts))


def _mass(robot: _Robot, body: int) -> obs.MassProperties | None:
    model = robot.model
    if not (mass := float(model.body_mass.numpy()[body])):
        return None
    center, tensor = model.body_com.numpy()[body], model.body_inertia.numpy()[body]
    return statements.mass_properties(mass, center, tensor)


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
    leader = builder.joint_mimic_joint[index]
    offset, multiplier = builder.joint_mimic_coeffs[index]
    if index in builder.constraint_mimic_joint0:
        # Couplings of MuJoCo's schemas are constraints.
        place = builder.constraint_mimic_joint0.index(index)
        leader = builder.constraint_mimic_joint1[place]
        offset = builder.constraint_mimic_coef0[place]
        multiplier = builder.constraint_mimic_coef1[place]
    names = {number: name for name, number in robot.joints.items()}
    mimic = None
    if leader in names:
        mimic = obs.MimicObservation(names[leader], float(multiplier), float(offset))
    return structs.replace(readers.named(stated, name, parent, child), mimic=mimic)


def _axis(builder: newton.ModelBuilder, rate: int, slides: bool) -> obs.JointObservation:
    effort = builder.joint_effort_limit[rate]
    return readers.one_axis(
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


def _kinematics(robot: _Robot, bodies: Sequence[int]) -> readers.Kinematics:
    import warp

    state, speeds = robot.model.state(), warp.zeros_like(robot.model.joint_qd)

    def place(positions: statements.Array) -> statements.Placed:
        at = warp.array(positions, dtype=warp.float32, device=_DEVICE)
        robot.engine.eval_fk(robot.model, at, speeds, state)
        placed = state.body_q.numpy()[bodies].astype(np.float64)
        return placed[:, :3], statements.matrices_of_xyzw(placed[:, 3:])

    def convert(joint: obs.JointObservation, values: statements.Array) -> statements.Array:
        builder, index = robot.builder, robot.joints[joint.name]
        # Newton's joint frame may be rotated relative to that of the link, in which they are given.
        joint_to_link = statements.matrices_of_xyzw(list(builder.joint_X_c[index])[3:])

        def turned(quats: statements.Array) -> statements.Array:
            turns = joint_to_link.T @ statements.matrices(quats) @ joint_to_link
            return np.roll(statements.quats_wxyz(turns), -1, axis=1)

        match joint.type:
            case obs.JointType.FLOATING:
                return np.column_stack([values[:, :3] @ joint_to_link, turned(values[:, 3:])])
            case obs.JointType.SPHERICAL:
                return turned(values)
            case obs.JointType.PLANAR:
                slides, turns = builder.joint_dof_dim[index]
                first = builder.joint_qd_start[index]
                axes = [statements.vec3(x) for x in builder.joint_axis[first : first + slides]]
                slid = values[:, :3] @ joint_to_link @ np.array(axes).T
                return np.column_stack([slid, values[:, 3:][:, :turns]])
        return values

    return readers.Kinematics(robot.model.joint_q.numpy().astype(np.float64), place, convert)


def _dynamics(
    robot: _Robot, joints: Sequence[obs.JointObservation], configurations: obs.Configurations
) -> obs.Dynamics | None:
    """Compute the equations of motion of the joints, without the root's, and without armature.

    None if there are no velocities, a joint has several degrees of freedom, or there is not exactly
    one articulation.
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
    columns = [robot.builder.joint_qd_start[robot.joints[joint.name]] for joint in moving]
    velocities = np.zeros((sampled.count, len(moving)))
    positions = np.tile(model.joint_q.numpy(), (sampled.count, 1))
    for column, name in enumerate(joint.name for joint in moving):
        if name in given:
            velocities[:, column] = rates[name][:, 0]
            positions[:, robot.builder.joint_q_start[robot.joints[name]]] = given[name][:, 0]
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
    inertias = np.array(tensors)[:, columns][:, :, columns] - armature
    arrays = inertias, np.array(forces)[:, columns], velocities
    return obs.Dynamics(tuple(joint.name for joint in moving), *map(statements.read_only, arrays))


def _simulation(robot: _Robot, joints: Sequence[obs.JointObservation]) -> obs.SimulationObservation:
    builder = robot.builder
    moved = [joint.name for joint in joints if obs.COORDINATES[joint.type] == 1]
    rate = {name: builder.joint_qd_start[robot.joints[name]] for name in moved}
    place = {name: builder.joint_q_start[robot.joints[name]] for name in moved}

    def by_joint(values: Sequence[float], at: Mapping[str, int]) -> tuple[tuple[str, float], ...]:
        return tuple((name, float(values[index])) for name, index in at.items())

    drives = (
        obs.DriveObservation(
            name,
            float(builder.joint_target_ke[rate[name]]),
            float(builder.joint_target_kd[rate[name]]),
            float(builder.joint_target_q[place[name]]),
            float(builder.joint_target_qd[rate[name]]),
        )
        for name in moved
    )
    return obs.SimulationObservation(
        tuple(drives),
        by_joint(builder.joint_armature, rate),
        tuple(start for start in by_joint(builder.joint_q, place) if start[1]),
        limit_stiffnesses=by_joint(builder.joint_limit_ke, rate),
        limit_dampings=by_joint(builder.joint_limit_kd, rate),
    )
