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
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import protocol, statements
from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import Joint, ModelInstanceIndex, RigidBody

_STEPS = (
    prepared.strip_shapes,
    prepared.keep_first_inertial,
    prepared.complete_inertials,
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
_TYPES = {
    "weld": obs.JointType.FIXED,
    "revolute": obs.JointType.REVOLUTE,
    "prismatic": obs.JointType.PRISMATIC,
    "planar": obs.JointType.PLANAR,
}


class DrakeEngine(Struct, frozen=True):
    """Reads a URDF with Drake's parser and multibody plant."""

    name: str = "drake"
    side: protocol.Side = protocol.Side.URDF

    def availability(self) -> protocol.Availability:
        """Return the installed version, if any."""
        return protocol.optional_engine("pydrake", "drake", "drake")

    def observe(self, request: protocol.Request) -> obs.Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: Drake refuses the file.
        """
        urdf = prepared.prepare(request.path, _STEPS)
        plant, models, warnings = _read(urdf)
        if len(models) != 1:
            raise protocol.UnsupportedError(f"Drake finds {len(models)} robots")
        found = map(plant.get_body, plant.GetBodyIndices(*models))
        bodies = {urdf.original(body.name()): body for body in found}
        inner = {urdf.original(child) for child in urdf.joint_of_child}
        roots = [link for link in bodies if link not in inner]
        if len(roots) != 1:
            raise protocol.UnsupportedError(f"Drake finds {len(roots)} root links")
        # A free body has a joint as well, with the name of the body.
        moved = [
            joint
            for joint in map(plant.get_joint, plant.GetJointIndices(*models))
            if joint.name() in urdf.joint_of_child.values()
            and joint.parent_body() != plant.world_body()
        ]
        joints = tuple(_joint(joint, urdf) for joint in moved)
        reading = obs.Observation(
            engine=self.name,
            robot=plant.GetModelInstanceName(*models),
            root=roots[0],
            states=statements.OF_ANY_URDF | {obs.Quantity.VELOCITY},
            links=tuple(
                obs.LinkObservation(link, _mass(body, link, urdf)) for link, body in bodies.items()
            ),
            joints=joints,
            notes=tuple(f"Drake warns: {text}" for text in dict.fromkeys(warnings)),
        )

        def frames(links: tuple[str, ...]) -> obs.Frames:
            framed = {link: bodies[link] for link in links}
            return _frames(plant, moved, joints, framed, request.configurations)

        return statements.with_frames(reading, "Drake", urdf, request, frames, drops_floating=True)


def _read(
    urdf: prepared.UrdfCopy,
) -> tuple[MultibodyPlant, list[ModelInstanceIndex], list[str]]:
    """Return a finished plant, its robots, and what Drake logs."""
    # Imported here because it need not be installed.
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(time_step=0.0)
    with captured_log() as messages:
        try:
            models = Parser(plant).AddModelsFromString(urdf.text.decode(), "urdf")
        except (RuntimeError, ValueError) as error:
            raise protocol.UnsupportedError(_portable(str(error))) from error
        plant.Finalize()
    return plant, models, messages


@contextlib.contextmanager
def captured_log() -> Iterator[list[str]]:
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


def _mass(body: RigidBody, link: str, urdf: prepared.UrdfCopy) -> obs.MassProperties | None:
    inertia = body.default_spatial_inertia()
    mass, center = float(inertia.get_mass()), inertia.get_com()
    if mass == 0:
        return None
    central = inertia.Shift(center).CalcRotationalInertia().CopyToFullMatrix3()
    return urdf.stated_mass([link], mass, center, central)


def _joint(joint: Joint, urdf: prepared.UrdfCopy) -> obs.JointObservation:
    ends = joint.parent_body().name(), joint.child_body().name()
    named = joint.name(), *map(urdf.original, ends)
    kind = _TYPES.get(joint.type_name())
    if kind is None:
        raise protocol.UnsupportedError(f"Drake reads joint {joint.name()} as {joint.type_name()}")
    name, parent, child = named
    if kind in {obs.JointType.FIXED, obs.JointType.PLANAR}:
        return obs.JointObservation(name, kind, parent, child)
    lower = float(joint.position_lower_limits()[0])
    upper = float(joint.position_upper_limits()[0])
    if kind is obs.JointType.REVOLUTE and math.isinf(lower) and math.isinf(upper):
        kind = obs.JointType.CONTINUOUS
    velocity = float(joint.velocity_upper_limits()[0])
    return obs.JointObservation(
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
    plant: MultibodyPlant,
    moved: list[Joint],
    joints: tuple[obs.JointObservation, ...],
    bodies: dict[str, RigidBody],
    configurations: obs.Configurations,
) -> obs.Frames:
    context = plant.CreateDefaultContext()
    joint_of = {joint.name(): joint for joint in moved}

    def coordinates(
        name: str, kind: obs.JointType, values: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        joint = joint_of[name]
        if kind is obs.JointType.PLANAR:
            # Drake's plane is x, y of a frame with the axis as z, which is rotated relative
            # to the child's link frame.
            link_to_plane = joint.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
            values = np.column_stack([(values[:, :3] @ link_to_plane)[:, :2], values[:, 3]])
        return joint.position_start(), values

    default = plant.GetDefaultPositions()
    positions = statements.positions_in_order(default, joints, configurations, coordinates)

    def place(row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        plant.SetPositions(context, positions[row])
        poses = [plant.EvalBodyPoseInWorld(context, body) for body in bodies.values()]
        return (
            np.array([pose.translation() for pose in poses]),
            np.array([pose.rotation().matrix() for pose in poses]),
        )

    return statements.build_frames(tuple(bodies), configurations, place)
