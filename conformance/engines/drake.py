"""URDF and MJCF engines: Drake.

Drake treats a link ``world`` of a URDF as its own world, crashes on a lower limit above the upper
one, and rejects a file for a coupling to an unknown joint. Couplings and efforts are
not accessible. It drops floating joints of a URDF: their child is free in the world, without the
joint's name and pose.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import readers
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.engines.statements import Array, Placed, mass_properties, matrices
from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import Joint, ModelInstanceIndex, RigidBody

_STEPS = (
    *prepared.WITHOUT_SHAPES,
    prepared.name_robot,
    prepared.add_missing_limits,
    prepared.rename_link("world"),
    prepared.leave_out_reversed_bounds,
    prepared.leave_out(
        "joint/mimic",
        "<mimic> of joints was left out: Drake states none, and rejects the file for an"
        " invalid one.",
    ),
)
_WITHOUT_LIMITS = {
    "weld": obs.JointType.FIXED,
    "planar": obs.JointType.PLANAR,
    "ball_rpy": obs.JointType.SPHERICAL,
    "quaternion_floating": obs.JointType.FLOATING,
}
_ONE_AXIS = ("revolute", "prismatic")


def _parse(
    path: str | None = None, text: str = ""
) -> tuple[MultibodyPlant, list[ModelInstanceIndex], list[str]]:
    # Imported here because it need not be installed.
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant, messages = MultibodyPlant(time_step=0.0), list[str]()

    def collect(record: logging.LogRecord) -> bool:
        messages.append(_portable(record.getMessage()))
        # It would go to standard error.
        return False

    log = logging.getLogger("drake")
    log.addFilter(collect)
    try:
        parser = Parser(plant)
        models = parser.AddModels(path) if path else parser.AddModelsFromString(text, "urdf")
        plant.Finalize()
    finally:
        log.removeFilter(collect)
    return plant, models, [f"Drake warns: {text}" for text in dict.fromkeys(messages)]


def _portable(text: str) -> str:
    """Remove line numbers, which are those of the copy, and source positions."""
    text = re.sub(r"<literal-string>\.urdf:\d+: (warning|error): ", "", text)
    text = re.sub(r"Failure at \S+ in ", "failure in ", text)
    return " ".join(text.split())


def _mass(body: RigidBody) -> obs.MassProperties | None:
    inertia = body.default_spatial_inertia()
    center = inertia.get_com()
    if not inertia.get_mass():
        return None
    central = inertia.Shift(center).CalcRotationalInertia()
    return mass_properties(inertia.get_mass(), center, central.CopyToFullMatrix3())


def _joint(joint: Joint) -> obs.JointObservation:
    """State a joint without names; its limits count from the initial pose."""
    if kind := _WITHOUT_LIMITS.get(joint.type_name()):
        return obs.JointObservation("", kind, "", "")
    if joint.type_name() not in _ONE_AXIS:
        raise UnsupportedError(f"Drake reads joint {joint.name()} as {joint.type_name()}")
    zero = joint.default_positions()[0]
    return readers.one_axis(
        joint.type_name() == "prismatic",
        joint.position_lower_limits()[0] - zero,
        joint.position_upper_limits()[0] - zero,
        velocity=joint.velocity_upper_limits()[0],
        damping=joint.default_damping(),
    )


def _kinematics(
    plant: MultibodyPlant, bodies: Sequence[RigidBody], joint_of: dict[str, Joint] | None = None
) -> readers.Kinematics:
    from pydrake.math import RollPitchYaw, RotationMatrix

    context = plant.CreateDefaultContext()

    def place(positions: Array) -> Placed:
        plant.SetPositions(context, positions)
        poses = [plant.EvalBodyPoseInWorld(context, body) for body in bodies]
        return (
            np.array([pose.translation() for pose in poses]),
            np.array([pose.rotation().matrix() for pose in poses]),
        )

    def convert(joint: obs.JointObservation, values: Array) -> Array:
        match joint.type:
            case obs.JointType.PLANAR if joint_of:
                # Drake's plane is x, y of a frame with the axis as z, which is rotated relative
                # to the child's link frame.
                frame = joint_of[joint.name].frame_on_child()
                link_to_plane = frame.GetFixedPoseInBodyFrame().rotation().matrix()
                slid = (values[:, :3] @ link_to_plane)[:, :2]
                return np.column_stack([slid, values[:, 3]])
            case obs.JointType.SPHERICAL:
                turns = map(RotationMatrix, matrices(values))
                return np.array([RollPitchYaw(turn).vector() for turn in turns])
        return values

    return readers.Kinematics(plant.GetDefaultPositions(), place, convert)


def _read_urdf(urdf: prepared.UrdfCopy) -> readers.UrdfModel:
    try:
        plant, models, notes = _parse(text=urdf.text.decode())
    except (RuntimeError, ValueError) as error:
        raise UnsupportedError(_portable(str(error))) from error
    if len(models) != 1:
        raise UnsupportedError(f"Drake finds {len(models)} robots")
    found = map(plant.get_body, plant.GetBodyIndices(*models))
    bodies = {urdf.original(body.name()): body for body in found}
    inner = {urdf.original(child) for child in urdf.joint_of_child}
    roots = [link for link in bodies if link not in inner]
    if len(roots) != 1:
        raise UnsupportedError(f"Drake finds {len(roots)} root links")
    # A free body has a joint as well, with the name of the body.
    moved = {
        joint.name(): joint
        for joint in map(plant.get_joint, plant.GetJointIndices(*models))
        if joint.name() in urdf.joint_of_child.values()
        and joint.parent_body() != plant.world_body()
    }
    ends = {
        name: [urdf.original(body.name()) for body in (joint.parent_body(), joint.child_body())]
        for name, joint in moved.items()
    }
    return readers.UrdfModel(
        plant.GetModelInstanceName(*models),
        roots[0],
        [
            obs.LinkObservation(link, urdf.known([link], _mass(body)))
            for link, body in bodies.items()
        ],
        [readers.named(_joint(joint), name, *ends[name]) for name, joint in moved.items()],
        {name: joint.position_start() for name, joint in moved.items()},
        _kinematics(plant, list(bodies.values()), moved),
        notes,
    )


def _read_mjcf(path: str) -> readers.MjcfModel:
    plant, models, notes = _parse(path)
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

    def joints(body: RigidBody) -> list[tuple[int, obs.JointObservation]]:
        joint = joint_of.get(body.index())
        if joint is None:
            return []
        above = joint.parent_body()
        earlier = joints(above) if above.index() in between else []
        return [*earlier, (joint.position_start(), _joint(joint))]

    read = [readers.MjcfBody(joints(body), _mass(body)) for body in bodies]
    return readers.MjcfModel(read, _kinematics(plant, bodies), notes)


_LIBRARY = ("Drake", "pydrake", "drake")
_STATES = frozenset({obs.Quantity.VELOCITY})
read_urdf = partial(readers.UrdfReader, *_LIBRARY, _STEPS, _read_urdf, _STATES)
# It reads no effort.
read_mjcf = partial(readers.MjcfReader, *_LIBRARY, _read_mjcf, frozenset[obs.Quantity]())
