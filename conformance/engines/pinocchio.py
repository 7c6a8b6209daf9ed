"""URDF engine: Pinocchio, through urdfdom.

Pinocchio merges links that fixed joints connect into one body per moving joint, so mass
is stated per rigid group, with its first link. It keeps every link as a frame. It reads
couplings only by an option that rejects some of them, so none are stated.
"""

from __future__ import annotations

import math
import re
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import statements
from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Request,
    Side,
    UnsupportedError,
    optional_engine,
)
from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    import pinocchio

_REFUSED = "<{}> of joints was left out: urdfdom rejects the whole file if one is incomplete."
_STEPS = (
    prepared.strip_shapes,
    prepared.keep_first_inertial,
    prepared.complete_inertials,
    prepared.name_robot,
    prepared.complete_limits,
    prepared.leave_out("joint/mimic", _REFUSED.format("mimic")),
    prepared.leave_out("joint/safety_controller", _REFUSED.format("safety_controller")),
    prepared.leave_out_empty_dynamics,
)
# Numbers of coordinates and velocities identify the URDF type, except for prismatic and
# revolute joints.
_TYPES = {
    (2, 1): obs.JointType.CONTINUOUS,
    (4, 3): obs.JointType.PLANAR,
    (7, 6): obs.JointType.FLOATING,
}
_SLIDES = "JointModelP"
_WORLD = "world"


class PinocchioEngine(Struct, frozen=True):
    """Reads a URDF with Pinocchio's parser."""

    name: str = "pinocchio"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("pinocchio", "pin", "pinocchio")

    def observe(self, request: Request) -> obs.Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: urdfdom or Pinocchio refuses the file.
        """
        urdf = prepared.prepare(request.path, _STEPS)
        robot = _read(urdf)
        joints = tuple(_joint(robot, name, urdf) for name in robot.frame_of_joint)
        reading = obs.Observation(
            engine=self.name,
            robot=robot.model.name,
            root=robot.root,
            states=statements.OF_ANY_URDF | {obs.Quantity.EFFORT, obs.Quantity.VELOCITY},
            links=_links(robot, urdf),
            joints=joints,
        )

        def frames(links: tuple[str, ...]) -> obs.Frames:
            return _frames(robot, joints, links, request.configurations)

        return statements.with_frames(reading, "Pinocchio", urdf, request, frames)


class _Robot(Struct, frozen=True, eq=False):
    """A model, and the indices of its frames by name; fixed joints have one too."""

    engine: ModuleType
    model: pinocchio.Model
    root: str
    frame_of_link: dict[str, int]
    frame_of_joint: dict[str, int]


def _read(urdf: prepared.UrdfCopy) -> _Robot:
    # Imported here because it need not be installed.
    import pinocchio

    with captured() as printed:
        try:
            model = pinocchio.buildModelFromXML(urdf.text.decode())
        except (ValueError, RuntimeError) as error:
            lines = re.findall(r"^Error: *(.*)$", printed(), re.MULTILINE)
            raise UnsupportedError("; ".join(dict.fromkeys(lines)) or str(error)) from error
    kinds = pinocchio.FrameType
    frames = list(enumerate(model.frames))
    links = {frame.name: i for i, frame in frames if frame.type == kinds.BODY}
    # The first frame is the universe.
    joints = {
        frame.name: i for i, frame in frames[1:] if frame.type in {kinds.JOINT, kinds.FIXED_JOINT}
    }
    roots = [name for name, i in links.items() if model.frames[i].parentFrame == 0]
    if len(roots) != 1:
        raise UnsupportedError(f"Pinocchio finds {len(roots)} root links")
    return _Robot(pinocchio, model, roots[0], links, joints)


def _links(robot: _Robot, urdf: prepared.UrdfCopy) -> tuple[obs.LinkObservation, ...]:
    """State links; the head of a rigid group has the mass of all its links.

    A root ``world`` without inertial is no body.
    """
    frames = robot.model.frames
    groups: dict[int, list[str]] = {}
    observed = []
    for name, index in robot.frame_of_link.items():
        if name == robot.root == _WORLD and name in urdf.without_inertial:
            observed.append(obs.LinkObservation(name))
        else:
            groups.setdefault(frames[index].parentJoint, []).append(name)

    def heads(link: str) -> bool:
        above = frames[frames[robot.frame_of_link[link]].parentFrame]
        return link == robot.root or above.type == robot.engine.FrameType.JOINT

    for joint, members in groups.items():
        head = next(filter(heads, members), members[0])
        for name in members:
            mass = _mass(robot, joint, head, members, urdf) if name == head else None
            observed.append(obs.LinkObservation(name, mass, body=head))
    return tuple(observed)


def _mass(
    robot: _Robot, joint: int, head: str, members: list[str], urdf: prepared.UrdfCopy
) -> obs.MassProperties | None:
    # The frame of the joint is that of the head, except for one fixed to the world.
    frame = robot.model.frames[robot.frame_of_link[head]]
    inertia = frame.placement.actInv(robot.model.inertias[joint])
    if inertia.mass == 0:
        return None
    return urdf.stated_mass(members, float(inertia.mass), inertia.lever, inertia.inertia)


def _joint(robot: _Robot, name: str, urdf: prepared.UrdfCopy) -> obs.JointObservation:
    model, index = robot.model, robot.frame_of_joint[name]
    frame = model.frames[index]
    parent = model.frames[frame.parentFrame].name
    child = next(
        link for link, i in robot.frame_of_link.items() if model.frames[i].parentFrame == index
    )
    if frame.type == robot.engine.FrameType.FIXED_JOINT:
        return obs.JointObservation(name, obs.JointType.FIXED, parent, child)
    joint = model.joints[frame.parentJoint]
    slides = joint.shortname().startswith(_SLIDES)
    one_axis = obs.JointType.PRISMATIC if slides else obs.JointType.REVOLUTE
    kind = _TYPES.get((joint.nq, joint.nv), one_axis)
    if kind in {obs.JointType.PLANAR, obs.JointType.FLOATING}:
        return obs.JointObservation(name, kind, parent, child)
    at, speed = joint.idx_q, joint.idx_v
    bounded = kind is not obs.JointType.CONTINUOUS and name not in urdf.limits_unknown
    effort, velocity = model.effortLimit[speed], model.velocityLimit[speed]
    return obs.JointObservation(
        name,
        kind,
        parent,
        child,
        lower=float(model.lowerPositionLimit[at]) if bounded else None,
        upper=float(model.upperPositionLimit[at]) if bounded else None,
        effort=None if name in urdf.effort_unknown else _finite(effort),
        velocity=None if name in urdf.velocity_unknown else _finite(velocity),
        damping=float(model.damping[speed]),
        friction=float(model.friction[speed]),
    )


def _finite(value: float) -> float | None:
    """Return None for infinity, which Pinocchio uses without a ``<limit>``."""
    return float(value) if math.isfinite(value) else None


def _frames(
    robot: _Robot,
    joints: tuple[obs.JointObservation, ...],
    links: tuple[str, ...],
    configurations: obs.Configurations,
) -> obs.Frames:
    model, cache = robot.model, robot.model.createData()
    frames = [robot.frame_of_link[link] for link in links]

    def coordinates(
        name: str, kind: obs.JointType, values: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        match kind:
            case obs.JointType.CONTINUOUS:
                values = np.column_stack([np.cos(values), np.sin(values)])
            case obs.JointType.PLANAR:
                # Its plane is always x, y; other displacements cannot be set.
                angle = values[:, 3]
                values = np.column_stack([values[:, :2], np.cos(angle), np.sin(angle)])
            case obs.JointType.FLOATING:
                values = np.column_stack([values[:, :3], np.roll(values[:, 3:], -1, axis=1)])
        return model.joints[model.getJointId(name)].idx_q, values

    neutral = robot.engine.neutral(model)
    positions = statements.positions_in_order(neutral, joints, configurations, coordinates)

    def place(row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        robot.engine.framesForwardKinematics(model, cache, positions[row])
        poses = [cache.oMf[index] for index in frames]
        return (
            np.array([pose.translation for pose in poses]),
            np.array([pose.rotation for pose in poses]),
        )

    return statements.build_frames(links, configurations, place)
