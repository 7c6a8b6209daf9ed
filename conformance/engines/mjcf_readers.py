"""Second readers of MJCF: the parsers of Newton, Drake and Pinocchio.

MuJoCo defines MJCF: where they differ, they deviate. Which of their bodies and joints is which link
and joint is MuJoCo's reading, by the order of the file; what they state of these is theirs. Links
between several joints of a body, and free bodies besides the root, have no frames here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import newton as newton_engine
from urdf_usd.conformance.engines.drake import captured_log
from urdf_usd.conformance.engines.mjcf import kept_robot
from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Request,
    Side,
    UnsupportedError,
    optional_engine,
)
from urdf_usd.conformance.engines.rotations import matrices
from urdf_usd.conformance.engines.statements import (
    OF_ANY_URDF,
    blocked_note,
    build_frames,
    positions_in_order,
    reachable_links,
    unreachable_joints,
    vec3,
    vec6,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    DOUBLE_PRECISION,
    SINGLE_PRECISION,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)

if TYPE_CHECKING:
    import pinocchio
    from pydrake.multibody.tree import Joint, RigidBody

Array = NDArray[np.float64]


class _Joint(Struct, frozen=True):
    """A joint as an engine reads it."""

    start: int  # its first coordinate
    stated: JointObservation  # without names


class _Body(Struct, frozen=True):
    """A body as an engine reads it, and the joints that move it."""

    joints: Sequence[_Joint]
    mass: MassProperties | None
    head: int | None = None  # index of the body that has its mass, if that is another


def _xyzw(quats: Array) -> Array:
    return np.roll(quats, -1, axis=1)


class _Model(Struct, frozen=True, eq=False):
    """What an engine reads of a file."""

    bodies: Sequence[_Body]  # in the order of the file, without the world
    initial: Array  # coordinates at the initial pose
    # positions and rotation matrices of the bodies in the world, from all coordinates
    place: Callable[[Array], Iterable[tuple[Array, Array]]]
    notes: Sequence[str] = ()
    # coordinates of a ball joint, from (K, 4) quaternions wxyz
    ball: Callable[[Array], Array] = _xyzw


class MjcfReader(Struct, frozen=True):
    """An engine with a parser of MJCF of its own."""

    title: str  # as its makers write it
    module: str
    distribution: str
    read: Callable[[str], _Model]
    states: frozenset[Quantity] = frozenset({Quantity.EFFORT})  # besides those of every engine
    precision: float = DOUBLE_PRECISION
    side: Side = Side.MJCF

    @property
    def name(self) -> str:
        """Name under which it is registered."""
        return f"{self.title.lower()}-mjcf"

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine(self.module, self.distribution, self.title.lower())

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: MuJoCo or the engine refuses the file, or it reads other bodies.
        """
        robot, chosen = kept_robot(request.path), request.configurations
        own, count = robot.structure, robot.model.nbody - 1
        number = {body: link for link, body in robot.bodies.items()}
        try:
            model = self.read(request.path)
        except (RuntimeError, ValueError, IndexError) as error:
            text = " ".join(str(error).split())
            raise UnsupportedError(f"{self.title}: {text}") from error
        if len(model.bodies) != count:
            raise UnsupportedError(f"{self.title} reads {len(model.bodies)} of {count} bodies")
        joints = {joint.name: joint for joint in own.joints}
        starts: dict[str, int] = {}
        links = {link.name: LinkObservation(link.name) for link in own.links}
        for index, body in enumerate(model.bodies, start=1):
            link = number[index]
            head = link if body.head is None else number[body.head + 1]
            links[link] = LinkObservation(link, body.mass, head)
            first, several = robot.model.body_jntadr[index], robot.model.body_jntnum[index]
            places = (robot.places.get(joint) for joint in range(first, first + several))
            named = [joints[place.name] for place in places if place]
            found = body.joints if named else ()
            if len(named) != len(found):
                reads = f"{len(found)} of {len(named)} joints of body {link}"
                raise UnsupportedError(f"{self.title} reads {reads}")
            # Newton has slides before hinges.
            named.sort(key=lambda joint: joint.type is not JointType.PRISMATIC)
            slides_first = sorted(found, key=lambda one: one.stated.type is not JointType.PRISMATIC)
            for joint, one in zip(named, slides_first, strict=True):
                name, ends = joint.name, {"parent": joint.parent, "child": joint.child}
                joints[name] = structs.replace(one.stated, name=name, **ends)
                starts[name] = one.start
        read = tuple(joints.values())
        blocked = unreachable_joints(read, chosen, frozenset({JointType.FLOATING}))
        reached = reachable_links(own.root, read, blocked)
        framed = [link for link in reached if link in robot.bodies]

        def coordinates(name: str, kind: JointType, values: Array) -> tuple[int, Array]:
            if COORDINATES[kind] == 1:
                return starts[name], values + model.initial[starts[name]]
            return starts[name], model.ball(values)

        movable = [joint for joint in read if joint.name in starts and joint.name not in blocked]
        positions = positions_in_order(model.initial, movable, chosen, coordinates)

        def place(row: int) -> tuple[Array, Array]:
            poses = [(np.zeros(3), np.eye(3)), *model.place(positions[row])]
            origins, turns = zip(*(poses[robot.bodies[link]] for link in framed), strict=True)
            return np.array(origins), np.array(turns)

        return Observation(
            engine=self.name,
            robot=own.robot,
            root=own.root,
            states=OF_ANY_URDF | self.states,
            links=tuple(links.values()),
            joints=read,
            frames=build_frames(framed, chosen, place),
            notes=(*model.notes, *blocked_note(self.title, blocked)),
            precision=self.precision,
        )


def _joint(kind: JointType, start: int) -> _Joint:
    return _Joint(start, JointObservation("", kind, "", ""))


def _axis(slides: bool, start: int, lower: float, upper: float, **values: float) -> _Joint:
    """Return a joint with one axis, whose limits count from the initial pose."""
    unlimited = math.isinf(lower) and math.isinf(upper)
    kind = JointType.CONTINUOUS if unlimited else JointType.REVOLUTE
    kind = JointType.PRISMATIC if slides else kind
    stated = JointObservation("", kind, "", "", lower=float(lower), upper=float(upper))
    known = {name: float(value) for name, value in values.items() if math.isfinite(value)}
    return _Joint(start, structs.replace(stated, **known))


def _mass(mass: float, center: Array, tensor: Array) -> MassProperties | None:
    return MassProperties(float(mass), vec3(center), vec6(tensor)) if mass else None


def with_newton() -> MjcfReader:
    """Make the engine of Newton's importer."""
    return MjcfReader("Newton", "newton", "newton", _read_newton, precision=SINGLE_PRECISION)


def _read_newton(path: str) -> _Model:
    robot = newton_engine.build(
        lambda builder: builder.add_mjcf(path, parse_visuals=False, skip_equality_constraints=True),
        lambda builder: ({str(index): index for index in range(builder.body_count)}, {}),
    )
    builder, limit = robot.builder, newton_engine.limit
    joint_of = {child: index for index, child in enumerate(builder.joint_child)}

    def joints(body: int) -> list[_Joint]:
        if (index := joint_of.get(body)) is None:
            return []
        place, rate = builder.joint_q_start[index], builder.joint_qd_start[index]
        kind = newton_engine.TYPES.get(robot.engine.JointType(builder.joint_type[index]).name)
        if kind is JointType.FIXED:
            return []
        if kind in {JointType.SPHERICAL, JointType.FLOATING}:
            return [_joint(kind, place)]
        slides, turns = builder.joint_dof_dim[index]
        return [
            _axis(
                axis < slides,
                place + axis,
                limit(builder.joint_limit_lower[rate + axis]),
                limit(builder.joint_limit_upper[rate + axis]),
                effort=builder.joint_effort_limit[rate + axis],
                damping=builder.joint_damping[rate + axis],
                friction=builder.joint_friction[rate + axis],
            )
            for axis in range(slides + turns)
        ]

    poses = newton_engine.body_poses(robot)
    masses = (newton_engine.body_mass(robot, name) for name in robot.bodies)
    bodies = [_Body(joints(body), mass and _mass(*mass)) for body, mass in enumerate(masses)]
    indices = range(len(bodies))
    initial = np.array(robot.model.joint_q.numpy(), np.float64)
    return _Model(bodies, initial, lambda at: zip(*poses(at, indices), strict=True), robot.warnings)


def with_drake() -> MjcfReader:
    """Make the engine of Drake's parser, which reads no effort."""
    return MjcfReader("Drake", "pydrake", "drake", _read_drake, frozenset())


def _read_drake(path: str) -> _Model:
    from pydrake.math import RollPitchYaw, RotationMatrix
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(time_step=0.0)
    with captured_log() as messages:
        models = Parser(plant).AddModels(path)
        plant.Finalize()
    found = [plant.get_body(index) for model in models for index in plant.GetBodyIndices(model)]
    names = {body.name() for body in found}
    # Drake has a body without mass, with a number behind the name, between two joints of a body.
    between = {
        body.index()
        for body in found
        if not body.default_mass() and names & {body.name()[:-1], body.name()[:-2]}
    }
    bodies = [body for body in found if body.index() not in between]
    joint_of = {
        joint.child_body().index(): joint
        for joint in map(plant.get_joint, plant.GetJointIndices())
        if joint.type_name() != "weld"
    }
    kinds = {"ball_rpy": JointType.SPHERICAL, "quaternion_floating": JointType.FLOATING}

    def joints(body: RigidBody) -> list[_Joint]:
        joint = joint_of.get(body.index())
        if joint is None:
            return []
        above = joint.parent_body()
        return [*(joints(above) if above.index() in between else ()), stated(joint)]

    def stated(joint: Joint) -> _Joint:
        if kind := kinds.get(joint.type_name()):
            return _joint(kind, joint.position_start())
        zero = joint.default_positions()[0]
        return _axis(
            joint.type_name() == "prismatic",
            joint.position_start(),
            joint.position_lower_limits()[0] - zero,
            joint.position_upper_limits()[0] - zero,
            damping=joint.default_damping(),
        )

    def mass(body: RigidBody) -> MassProperties | None:
        inertia = body.default_spatial_inertia()
        central = inertia.Shift(inertia.get_com()).CalcRotationalInertia()
        return _mass(inertia.get_mass(), inertia.get_com(), central.CopyToFullMatrix3())

    def place(positions: Array) -> list[tuple[Array, Array]]:
        plant.SetPositions(context, positions)
        poses = (plant.EvalBodyPoseInWorld(context, body) for body in bodies)
        return [(pose.translation(), pose.rotation().matrix()) for pose in poses]

    def angles(quats: Array) -> Array:
        turns = map(RotationMatrix, matrices(quats))
        return np.array([RollPitchYaw(turn).vector() for turn in turns])

    context = plant.CreateDefaultContext()
    notes = [f"Drake warns: {text}" for text in dict.fromkeys(messages)]
    read = [_Body(joints(body), mass(body)) for body in bodies]
    return _Model(read, plant.GetDefaultPositions(), place, notes, angles)


def with_pinocchio() -> MjcfReader:
    """Make the engine of Pinocchio's parser."""
    return MjcfReader("Pinocchio", "pinocchio", "pin", _read_pinocchio)


def _read_pinocchio(path: str) -> _Model:
    import pinocchio

    with captured():
        model = pinocchio.buildModelFromMJCF(path)
    kinds, data = pinocchio.FrameType, model.createData()
    frames = [(i, one) for i, one in enumerate(model.frames) if one.type == kinds.BODY]
    initial = pinocchio.neutral(model)
    if "qpos0" in model.referenceConfigurations:
        initial = np.array(model.referenceConfigurations["qpos0"])

    def joints(joint: pinocchio.JointModel) -> list[_Joint]:
        kind = joint.shortname().removeprefix("JointModel")
        if kind == "Composite":
            return [one for part in joint.extract().joints for one in joints(part)]
        place, rate = joint.idx_q, joint.idx_v
        if joint.nq > 1:
            free = kind == "FreeFlyer"
            return [_joint(JointType.FLOATING if free else JointType.SPHERICAL, place)]
        return [
            _axis(
                kind.startswith("P"),
                place,
                model.lowerPositionLimit[place] - initial[place],
                model.upperPositionLimit[place] - initial[place],
                effort=model.effortLimit[rate],
                damping=model.damping[rate],
                friction=model.friction[rate],
            )
        ]

    heads: dict[int, int] = {}
    bodies = []
    for index, (_, frame) in enumerate(frames):
        joint, mass = frame.parentJoint, None
        if heads.setdefault(joint, index) == index:
            inertia = frame.placement.actInv(model.inertias[joint])
            mass = _mass(inertia.mass, inertia.lever, inertia.inertia)
        moves = model.frames[frame.parentFrame].type == kinds.JOINT
        bodies.append(_Body(joints(model.joints[joint]) if moves else [], mass, heads[joint]))

    def place(positions: Array) -> list[tuple[Array, Array]]:
        pinocchio.framesForwardKinematics(model, data, positions)
        return [(data.oMf[i].translation, data.oMf[i].rotation) for i, _ in frames]

    return _Model(bodies, initial, place)
