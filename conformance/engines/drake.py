"""URDF engine: Drake.

Drake treats a link ``world`` as its own world, crashes on a lower limit above the upper
one, and rejects a file for a coupling to an unknown joint. Couplings and efforts are
not accessible. It drops floating joints: their child is free in the world, without the
joint's name and pose.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfText,
    add_missing_limits,
    complete_inertials,
    keep_first_inertial,
    leave_out,
    leave_out_reversed_bounds,
    name_robot,
    prepare,
    rename_link,
    strip_shapes,
)
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Request,
    Side,
    optional_engine,
)
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    build_frames,
    positions_in_order,
    reachable_links,
    unreachable_joints,
    vec3,
    vec6,
)
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)

if TYPE_CHECKING:
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import Joint, RigidBody


_STEPS = (
    strip_shapes,
    keep_first_inertial,
    complete_inertials,
    name_robot,
    add_missing_limits,
    rename_link("world"),
    leave_out_reversed_bounds,
    leave_out("mimic", "Drake states none, and rejects the file for an invalid one"),
)
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.VELOCITY,
        Quantity.DYNAMICS,
    }
)
_TYPES = {
    "weld": JointType.FIXED,
    "revolute": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "planar": JointType.PLANAR,
}


class DrakeEngine(Struct, frozen=True):
    """Reads a URDF with Drake's parser and multibody plant."""

    name: str = "drake"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("pydrake", "drake", "drake")

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            AbstentionError: Drake refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        robot = _read(urdf)
        joints = tuple(_joint(robot, name) for name in robot.joints)
        blocked = unreachable_joints(joints, request.configurations)
        held = {joint.name for joint in joints}
        # A dropped joint is floating: links below it are not reachable anyway.
        reach = reachable_links(robot.root, joints, [name for name in blocked if name in held])
        return Observation(
            engine=self.name,
            robot=None if urdf.robot_unnamed else robot.name,
            root=robot.root,
            states=_STATES,
            links=tuple(LinkObservation(link, _mass(robot, link, urdf)) for link in robot.bodies),
            joints=joints,
            frames=_frames(robot, joints, reach, request.configurations),
            unread_masses=urdf.unread_masses,
            notes=(*urdf.notes, *robot.warnings, *blocked_note("Drake", blocked)),
        )


class _Robot(Struct, frozen=True, eq=False):
    """A finished plant with one robot, with the names of its parts in the file.

    Attributes:
        plant: The ``MultibodyPlant``.
        name: Name of the robot.
        root: Name of the root link.
        bodies: Each link's ``RigidBody``.
        joints: Each joint's ``Joint``.
        links: Name of each link in the file, by its name in the plant.
        warnings: Drake's warnings.
    """

    plant: MultibodyPlant
    name: str
    root: str
    bodies: Mapping[str, RigidBody]
    joints: Mapping[str, Joint]
    links: Mapping[str, str]
    warnings: tuple[str, ...]


def _read(urdf: UrdfText) -> _Robot:
    # Imported here because it need not be installed.
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(time_step=0.0)
    with _warnings() as messages:
        try:
            models = Parser(plant).AddModelsFromString(urdf.text.decode(), "urdf")
        except (RuntimeError, ValueError) as error:
            raise AbstentionError(_portable(str(error))) from error
        plant.Finalize()
    if len(models) != 1:
        raise AbstentionError(f"Drake finds {len(models)} robots")
    (model,) = models
    found = [plant.get_body(index) for index in plant.GetBodyIndices(model)]
    links = {body.name(): urdf.original(body.name()) for body in found}
    roots = [name for name in links if name not in urdf.joint_of_child]
    if len(roots) != 1:
        raise AbstentionError(f"Drake finds {len(roots)} root links")
    names = set(urdf.joint_of_child.values())
    joints = (plant.get_joint(index) for index in plant.GetJointIndices(model))
    return _Robot(
        plant=plant,
        name=plant.GetModelInstanceName(model),
        root=links[roots[0]],
        bodies={links[body.name()]: body for body in found},
        # A free body has a joint as well, with the name of the body.
        joints={
            joint.name(): joint
            for joint in joints
            if joint.name() in names and joint.parent_body() != plant.world_body()
        },
        links=links,
        warnings=tuple(f"Drake warns: {text}" for text in dict.fromkeys(messages)),
    )


@contextlib.contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the log of Drake, which would go to standard error."""
    messages: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(_portable(record.getMessage()))

    log, listener = logging.getLogger("drake"), Listener()
    propagated, log.propagate = log.propagate, False
    log.addHandler(listener)
    try:
        yield messages
    finally:
        log.removeHandler(listener)
        log.propagate = propagated


def _portable(text: str) -> str:
    """Remove line numbers, which are those of the copy, and source positions."""
    text = re.sub(r"<literal-string>\.urdf:\d+: (warning|error): ", "", text)
    text = re.sub(r"Failure at \S+ in ", "failure in ", text)
    return " ".join(text.split())


def _mass(robot: _Robot, link: str, urdf: UrdfText) -> MassProperties | None:
    inertia = robot.bodies[link].default_spatial_inertia()
    mass, center = float(inertia.get_mass()), inertia.get_com()
    if mass == 0 or link in map(urdf.original, urdf.mass_unknown):
        return None
    central = inertia.Shift(center).CalcRotationalInertia().CopyToFullMatrix3()
    unknown = link in map(urdf.original, urdf.inertia_unknown)
    return MassProperties(mass, vec3(center), None if unknown else vec6(central))


def _joint(robot: _Robot, name: str) -> JointObservation:
    joint = robot.joints[name]
    parent = robot.links[joint.parent_body().name()]
    child = robot.links[joint.child_body().name()]
    kind = _TYPES.get(joint.type_name())
    if kind is None:
        raise AbstentionError(f"Drake reads joint {name} as {joint.type_name()}")
    if kind in {JointType.FIXED, JointType.PLANAR}:
        return JointObservation(name, kind, parent, child)
    lower = float(joint.position_lower_limits()[0])
    upper = float(joint.position_upper_limits()[0])
    if kind is JointType.REVOLUTE and math.isinf(lower) and math.isinf(upper):
        kind = JointType.CONTINUOUS
    velocity = float(joint.velocity_upper_limits()[0])
    return JointObservation(
        name,
        kind,
        parent,
        child,
        lower=lower,
        upper=upper,
        velocity=velocity if math.isfinite(velocity) else None,
        damping=float(joint.default_damping()),
    )


def _frames(
    robot: _Robot,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> Frames:
    plant = robot.plant
    context = plant.CreateDefaultContext()

    def coordinates(
        name: str, kind: JointType, values: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        joint = robot.joints[name]
        return joint.position_start(), _coordinates(joint, kind, values)

    default = plant.GetDefaultPositions()
    positions = positions_in_order(default, joints, configurations, coordinates)

    def place(row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        plant.SetPositions(context, positions[row])
        poses = [plant.EvalBodyPoseInWorld(context, robot.bodies[n]) for n in links]
        return (
            np.array([pose.translation() for pose in poses]),
            np.array([pose.rotation().matrix() for pose in poses]),
        )

    return build_frames(links, configurations, place)


def _coordinates(
    joint: Joint,
    kind: JointType,
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the (K, n) values of a joint in Drake's coordinates."""
    if kind is not JointType.PLANAR:
        return values
    # Drake's plane is x, y of a frame with the axis as z, which is rotated relative to
    # the child's link frame.
    link_to_plane = joint.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
    return np.column_stack([(values[:, :3] @ link_to_plane)[:, :2], values[:, 3]])
