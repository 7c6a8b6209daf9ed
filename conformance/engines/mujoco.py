"""URDF engine: MuJoCo.

MuJoCo merges a root link called ``world`` into its own world body, names no fixed
joint, and calls the three joints of a planar one ``<name>_TX``, ``_TY`` and ``_RZ``.
Inertia that it rejects is replaced before compilation, so that one invalid tensor does
not prevent the rest of the robot from being compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mujoco_compilation import (
    WORLD,
    Compiled,
    compile_freed,
    compile_urdf,
)
from urdf_usd.conformance.engines.mujoco_motion import (
    JointPlace,
    Mechanism,
    equations_of_motion,
    joint_place,
    joints_moving,
    roll_out,
    states,
)
from urdf_usd.conformance.engines.mujoco_shapes import state_shapes
from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfText,
    complete_inertials,
    keep_first_inertial,
    prepare,
    rename_inner_link,
    strip_shapes,
)
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Available,
    Request,
    Side,
)
from urdf_usd.conformance.engines.rotations import matrices
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    moving_joints,
    reachable_links,
    tensor_along_link,
    unreachable_joints,
    vec3,
)
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    MimicObservation,
    Observation,
    Quantity,
)

_STEPS = (
    strip_shapes,
    keep_first_inertial,
    complete_inertials,
    rename_inner_link(WORLD),
)
_PLANAR_SUFFIXES = ("_TX", "_TY", "_RZ")
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.MIMIC,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.EFFORT,
        Quantity.DYNAMICS,
        Quantity.MOTION,
        Quantity.ROLLOUT,
    }
)


class MujocoEngine(Struct, frozen=True):
    """Reads a URDF with MuJoCo's reader and compiler."""

    name: str = "mujoco"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version."""
        return Available(mujoco.__version__)

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            AbstentionError: MuJoCo refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        compiled = compile_urdf(urdf)
        joints = _joints(compiled)
        blocked = unreachable_joints(joints, request.configurations)
        reach = reachable_links(compiled.root, joints, blocked)
        reading = Observation(
            engine=self.name,
            robot=compiled.robot,
            root=compiled.root,
            states=_STATES,
            links=_links(compiled),
            joints=joints,
            joint_order=_joint_order(compiled, joints),
            frames=_frames(compiled, joints, reach, request.configurations),
            unread_masses=tuple(sorted(compiled.mass_unknown)),
            notes=(*urdf.notes, *compiled.notes, *blocked_note("MuJoCo", blocked)),
        )
        reading = _with_shapes(reading, request)
        if blocked:
            return reading
        return _moving(reading, urdf, compiled, request.configurations)


def _with_shapes(reading: Observation, request: Request) -> Observation:
    """Add shapes, from another copy, if MuJoCo accepts that."""
    shapes = state_shapes(request)
    if shapes is None:
        return reading
    return structs.replace(
        reading,
        shapes=shapes[0],
        notes=(*reading.notes, *shapes[1]),
        states=reading.states | {Quantity.COLLISION, Quantity.VISUAL},
    )


def _moving(
    reading: Observation,
    urdf: UrdfText,
    held: Compiled,
    configurations: Configurations,
) -> Observation:
    """Add equations of motion and rollout of the model of the file, if it has any."""
    try:
        model, unknown = compile_freed(urdf, held)
    except AbstentionError as error:
        note = f"MuJoCo cannot simulate it: {error}"
        return structs.replace(reading, notes=(*reading.notes, note))
    bodies = {urdf.original(model.body(i).name): i for i in range(model.nbody)}
    mechanism = Mechanism(
        model=model,
        joints=_places(model, bodies, reading.joints),
        free_root=bodies[reading.root] != 0,
        unknown=joints_moving(reading, unknown),
    )
    return structs.replace(
        reading,
        dynamics=equations_of_motion(mechanism, configurations),
        rollout=roll_out(mechanism, configurations),
    )


def _links(compiled: Compiled) -> tuple[LinkObservation, ...]:
    axes = matrices(compiled.model.body_iquat)
    return tuple(
        LinkObservation(link, _mass(compiled, link, axes[index]))
        for link, index in compiled.bodies.items()
    )


def _mass(compiled: Compiled, link: str, axes: NDArray[np.float64]) -> MassProperties | None:
    model, index = compiled.model, compiled.bodies[link]
    mass, moments = float(model.body_mass[index]), model.body_inertia[index]
    if link in compiled.mass_unknown or (mass == 0 and not moments.any()):
        return None
    return MassProperties(
        mass=mass,
        center=vec3(model.body_ipos[index]),
        inertia=None if link in compiled.inertia_unknown else tensor_along_link(moments, axes),
    )


def _joints(compiled: Compiled) -> tuple[JointObservation, ...]:
    link_of_body = {index: link for link, index in compiled.bodies.items()}
    mimics = _mimics(compiled.model)
    return tuple(
        _joint(compiled, link, link_of_body[compiled.model.body_parentid[index]], mimics)
        for link, index in compiled.bodies.items()
        if link != compiled.root
    )


def _joint_order(compiled: Compiled, joints: tuple[JointObservation, ...]) -> tuple[str, ...]:
    """Sort moving joints by their first degree of freedom in MuJoCo's ``qvel``."""
    first = {
        joint.name: int(compiled.model.body_dofadr[compiled.bodies[joint.child]])
        for joint in joints
    }
    return tuple(sorted(moving_joints(joints), key=first.__getitem__))


def _joint(
    compiled: Compiled, link: str, parent: str, mimics: Mapping[str, MimicObservation]
) -> JointObservation:
    """State the joint that carries ``link``."""
    model, body = compiled.model, compiled.bodies[link]
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if count == 0:
        return JointObservation(
            compiled.joint_of_child[link],
            JointType.FIXED,
            parent,
            link,
            note="MuJoCo has no names of fixed joints; this is the file's.",
        )
    name = model.joint(first).name
    if not name:
        raise AbstentionError(f"MuJoCo drops the name of the joint of link {link}")
    if count == len(_PLANAR_SUFFIXES):
        return JointObservation(
            name.removesuffix(_PLANAR_SUFFIXES[0]),
            JointType.PLANAR,
            parent,
            link,
            axis=vec3(model.jnt_axis[first + 2]),
        )
    kind = _single_type(model, first)
    if kind in {JointType.FLOATING, JointType.SPHERICAL}:
        return JointObservation(name, kind, parent, link)
    lower, upper = _limits(model, first)
    effort_limited = model.jnt_actfrclimited[first]
    freedom = model.jnt_dofadr[first]
    return JointObservation(
        name,
        kind,
        parent,
        link,
        lower=lower,
        upper=upper,
        effort=float(model.jnt_actfrcrange[first, 1]) if effort_limited else None,
        damping=float(model.dof_damping[freedom]),
        friction=float(model.dof_frictionloss[freedom]),
        mimic=mimics.get(name),
        axis=vec3(model.jnt_axis[first]),
        note="MuJoCo does not distinguish continuous and unlimited revolute joints."
        if kind is JointType.CONTINUOUS
        else None,
    )


def _single_type(model: mujoco.MjModel, joint: int) -> JointType:
    kinds = mujoco.mjtJoint
    match model.jnt_type[joint]:
        case kinds.mjJNT_FREE:
            return JointType.FLOATING
        case kinds.mjJNT_BALL:
            return JointType.SPHERICAL
        case kinds.mjJNT_SLIDE:
            return JointType.PRISMATIC
    unlimited = all(map(math.isinf, _limits(model, joint)))
    return JointType.CONTINUOUS if unlimited else JointType.REVOLUTE


def _limits(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    if not model.jnt_limited[joint]:
        return -math.inf, math.inf
    lower, upper = map(float, model.jnt_range[joint])
    return lower, upper


def _mimics(model: mujoco.MjModel) -> dict[str, MimicObservation]:
    return {
        model.joint(model.eq_obj1id[index]).name: MimicObservation(
            leader=model.joint(model.eq_obj2id[index]).name,
            multiplier=float(model.eq_data[index, 1]),
            offset=float(model.eq_data[index, 0]),
        )
        for index in range(model.neq)
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT
    }


def _places(
    model: mujoco.MjModel,
    bodies: Mapping[str, int],
    joints: tuple[JointObservation, ...],
) -> tuple[JointPlace, ...]:
    return tuple(
        joint_place(model, joint.name, joint.type, model.body_jntadr[bodies[joint.child]])
        for joint in joints
        if joint.type is not JointType.FIXED
    )


def _frames(
    compiled: Compiled,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> Frames:
    """Poses relative to the root link."""
    places = _places(compiled.model, compiled.bodies, joints)
    held = Mechanism(compiled.model, places, free_root=False)
    bodies = [compiled.bodies[link] for link in links]
    base = compiled.bodies[compiled.root]
    data = mujoco.MjData(compiled.model)
    origins = np.empty((configurations.count, *data.xpos.shape))
    turns = np.empty((configurations.count, *data.xmat.shape))
    for row, qpos in enumerate(states(held, configurations)[0]):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(compiled.model, data)
        origins[row], turns[row] = data.xpos, data.xmat
    axes = turns.reshape(*origins.shape, 3)
    offsets = origins[:, bodies] - origins[:, [base]]
    positions = offsets @ axes[:, base]
    rotations = np.swapaxes(axes[:, [base]], -1, -2) @ axes[:, bodies]
    for array in (positions, rotations):
        array.flags.writeable = False
    return Frames(links, positions, rotations, configurations.labels)
