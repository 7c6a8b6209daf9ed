"""A MuJoCo model built from the observation of another engine.

It uses the observation alone: links, masses, joints with axes and anchors, and link
frames in the first configuration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import mujoco
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mujoco_compilation import (
    collected_warnings,
    compiled_quietly,
)
from urdf_usd.conformance.engines.mujoco_motion import (
    Mechanism,
    equations_of_motion,
    joint_place,
    roll_out,
)
from urdf_usd.conformance.engines.rotations import quats_wxyz
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Configurations,
    Frames,
    JointObservation,
    JointType,
    MassProperties,
    Observation,
    Vec3,
)

# Mass and moments for compilation, replaced by the stated ones afterwards.
_PLACEHOLDER = 1.0
_UPPER = np.triu_indices(3)
# A component that unit vectors of simple numbers do not have.
_ALONG = 0.77


class UnbuildableError(Exception):
    """No model can be built from the observation; the message says why."""


def with_motion(
    observation: Observation, configurations: Configurations, *, perturbed: bool
) -> Observation:
    """Add equations of motion and rollout to an observation.

    Equations of motion that the observation states itself are kept.

    Args:
        observation: An observation with link frames.
        configurations: Those of the frames.
        perturbed: Whether to simulate perturbed copies of the robot as well.
    """
    try:
        mechanism = build(observation, configurations)
    except UnbuildableError as error:
        note = f"MuJoCo cannot simulate the observation: {error}"
        return structs.replace(observation, notes=(*observation.notes, note))
    return structs.replace(
        observation,
        dynamics=observation.dynamics or equations_of_motion(mechanism, configurations),
        rollout=roll_out(mechanism, configurations, perturbed=perturbed),
    )


def build(
    observation: Observation,
    configurations: Configurations,
    prepare: Callable[[mujoco.MjSpec, Mapping[str, mujoco.MjsBody], Sequence[str]], None]
    | None = None,
) -> Mechanism:
    """Make a model of an observation, its root free to move from the world's origin.

    Args:
        observation: An observation with link frames.
        configurations: Those of the frames.
        prepare: Changes the specification before it is compiled. It is also given the
            bodies by link, and the URDF names of moving joints: the name of a joint
            with one axis is the place of its URDF name among these.

    Raises:
        UnbuildableError: A link with mass is not connected to the root, or by two
            paths; a tensor or an axis is not stated; or the compiler rejects it.
    """
    frames = observation.frames
    if frames is None:
        raise UnbuildableError("no link frames are stated")
    order = _ordered(observation)
    masses = {link.name: link.mass for link in observation.links}
    for name, mass in masses.items():
        if mass and name not in order:
            raise UnbuildableError(f"no joint leads to link {name}")
    at_zero = _first_positions(configurations)
    inertials = _inertials([masses.get(name) for name in order])
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies: dict[str, mujoco.MjsBody] = {}
    moving: list[JointObservation] = []
    statements = _bodies(frames, order, inertials)
    for (name, joint), stated in zip(order.items(), statements, strict=True):
        parent = bodies[joint.parent] if joint else spec.worldbody
        bodies[name] = parent.add_body(**stated)
        if joint is None:
            bodies[name].add_freejoint()
        elif joint.type is not JointType.FIXED:
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
    model.body_mass[1:], model.body_inertia[1:] = inertials.masses, inertials.moments
    body_of = {name: body for body, name in enumerate(order, start=1)}
    places = tuple(
        joint_place(model, joint.name, joint.type, int(model.body_jntadr[body_of[joint.child]]))
        for joint in moving
    )
    for joint, place in zip(moving, places, strict=True):
        model.dof_damping[place.dofs] = np.nan_to_num(joint.damping or 0.0)
        model.dof_frictionloss[place.dofs] = np.nan_to_num(joint.friction or 0.0)
    # Derived constants depend on the inertia of merged bodies.
    with collected_warnings():
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return Mechanism(model, places, free_root=True)


def _first_positions(configurations: Configurations) -> dict[str, float]:
    """Return the positions of joints with one coordinate in the first configuration.

    They are zero, except for followers whose coupling has an offset.
    """
    return {
        name: float(positions[0, 0])
        for name, positions in zip(configurations.joints, configurations.positions, strict=True)
        if positions.shape[1] == 1
    }


def _ordered(observation: Observation) -> dict[str, JointObservation | None]:
    """Return the links below the root, depth first, each with the joint to it."""
    leaving: dict[str, list[JointObservation]] = {}
    for leads in observation.joints:
        leaving.setdefault(leads.parent, []).append(leads)
    order: dict[str, JointObservation | None] = {}
    pending: list[tuple[str, JointObservation | None]] = [(observation.root, None)]
    while pending:
        name, joint = pending.pop()
        if name in order:
            raise UnbuildableError(f"two joints lead to link {name}")
        order[name] = joint
        pending += ((j.child, j) for j in reversed(leaving.get(name, [])))
    return order


def _relative(frames: Frames, order: Mapping[str, JointObservation | None]) -> NDArray[np.float64]:
    """Return (L, 4, 4) frames of links in their parents', in the first configuration.

    The first is the root, which has no parent.
    """
    column = {link: place for place, link in enumerate(frames.links)}
    ends = [(joint.parent, joint.child) for joint in order.values() if joint]
    for name in itertools.chain.from_iterable(ends):
        if name not in column:
            raise UnbuildableError(f"the frame of link {name} is not stated")
    placed = np.tile(np.eye(4), (len(column), 1, 1))
    placed[:, :3, :3] = frames.rotations[0]
    placed[:, :3, 3] = frames.positions[0]
    relative = np.tile(np.eye(4), (len(order), 1, 1))
    if ends:
        parents, children = zip(*ends, strict=True)
        relative[1:] = (
            np.linalg.inv(placed[[column[name] for name in parents]])
            @ placed[[column[name] for name in children]]
        )
    return relative


def _bodies(
    frames: Frames,
    order: Mapping[str, JointObservation | None],
    inertials: _Inertials,
) -> Iterator[dict[str, object]]:
    """Yield the arguments of each body: pose, and frame of its inertia."""
    poses = _relative(frames, order)
    if not np.isfinite(poses).all():
        raise UnbuildableError("the frame of a link is not stated")
    turns = quats_wxyz(poses[:, :3, :3])
    for number, pose in enumerate(poses):
        yield {
            "pos": pose[:3, 3],
            "quat": turns[number],
            "explicitinertial": True,
            "mass": _PLACEHOLDER,
            "ipos": inertials.centers[number],
            "iquat": inertials.quats_wxyz[number],
            "inertia": [_PLACEHOLDER] * 3,
        }


class _Inertials(Struct, frozen=True, eq=False):
    """Mass properties of links; moments of a massless link are set to zero.

    Attributes:
        masses: (L) [kg].
        centers: (L, 3) [m].
        moments: (L, 3) about the centre of mass, along principal axes [kg m^2].
        quats_wxyz: (L, 4) rotations that turn vectors along these into the link frame.
    """

    masses: NDArray[np.float64]
    centers: NDArray[np.float64]
    moments: NDArray[np.float64]
    quats_wxyz: NDArray[np.float64]


def _inertials(stated: Sequence[MassProperties | None]) -> _Inertials:
    tensors = np.zeros((len(stated), 3, 3))
    masses, centers = np.zeros(len(stated)), np.zeros((len(stated), 3))
    for row, mass in enumerate(stated):
        if mass is None:
            continue
        if mass.inertia is None:
            raise UnbuildableError("an inertia is not stated")
        tensors[row][_UPPER] = mass.inertia
        centers[row] = mass.center
        masses[row] = max(0.0, mass.mass)
    moments, axes = np.linalg.eigh(tensors + np.triu(tensors, 1).swapaxes(-1, -2))
    axes *= np.linalg.det(axes)[:, np.newaxis, np.newaxis]
    moments[masses == 0.0] = 0.0
    return _Inertials(masses, centers, moments, quats_wxyz(axes))


def _add_joint(
    body: mujoco.MjsBody,
    joint: JointObservation,
    name: str,
    reference: float,
) -> None:
    """Add the joints of a body.

    Args:
        body: The body.
        joint: The joint to its parent.
        name: Name of the MuJoCo joint, if it has one coordinate.
        reference: Position of that joint at the pose of the body.
    """
    kinds = mujoco.mjtJoint
    if COORDINATES[joint.type] == 1:
        slides = joint.type is JointType.PRISMATIC
        kind = kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE
        body.add_joint(name=name, type=kind, axis=_axis(joint), pos=joint.anchor, ref=reference)
        return
    directions = np.eye(3)
    if joint.type is JointType.PLANAR:
        directions = _plane(_axis(joint))
    if joint.type is not JointType.SPHERICAL:
        for direction in directions:
            body.add_joint(type=kinds.mjJNT_SLIDE, axis=direction)
    # A body that may also translate rotates about its own origin.
    if joint.type is JointType.PLANAR:
        body.add_joint(type=kinds.mjJNT_HINGE, axis=_axis(joint))
    elif joint.type is JointType.FLOATING:
        body.add_joint(type=kinds.mjJNT_BALL)
    else:
        body.add_joint(type=kinds.mjJNT_BALL, pos=joint.anchor)


def _axis(joint: JointObservation) -> Vec3:
    if joint.axis is None:
        raise UnbuildableError(f"the axis of joint {joint.name} is not stated")
    return joint.axis


def _plane(axis: Vec3) -> NDArray[np.float64]:
    """Return (2, 3) orthonormal vectors normal to a unit vector.

    Friction acts along each of them, so axes that differ by rounding need almost the
    same vectors: the choice changes only where one component is 0.77.
    """
    along = np.eye(3)[0 if abs(axis[0]) < _ALONG else 1]
    first = along - np.dot(along, axis) * np.array(axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])


def _add_couplings(
    spec: mujoco.MjSpec,
    moving: Sequence[JointObservation],
    at_zero: Mapping[str, float],
) -> None:
    """Couple mimic joints by equality constraints, as MuJoCo's URDF reader does.

    Their polynomials are relative to the initial poses of the bodies.
    """
    index = {
        joint.name: place for place, joint in enumerate(moving) if COORDINATES[joint.type] == 1
    }
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
