"""URDF engine: Pinocchio, through urdfdom.

Pinocchio merges links that fixed joints connect into one body per moving joint, so mass
is stated per rigid group, with its first link. It keeps every link as a frame. It reads
couplings only by an option that rejects some of them, so none are stated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfText,
    complete_inertials,
    complete_limits,
    keep_first_inertial,
    leave_out,
    leave_out_empty_dynamics,
    name_robot,
    prepare,
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
    import pinocchio


_REFUSED = "urdfdom rejects the whole file if one is incomplete"
_STEPS = (
    strip_shapes,
    keep_first_inertial,
    complete_inertials,
    name_robot,
    complete_limits,
    leave_out("mimic", _REFUSED),
    leave_out("safety_controller", _REFUSED),
    leave_out_empty_dynamics,
)
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.EFFORT,
        Quantity.VELOCITY,
        Quantity.DYNAMICS,
    }
)
# Numbers of coordinates and velocities identify the URDF type, except for prismatic and
# revolute joints.
_TYPES = {
    (2, 1): JointType.CONTINUOUS,
    (4, 3): JointType.PLANAR,
    (7, 6): JointType.FLOATING,
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

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            AbstentionError: urdfdom or Pinocchio refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        robot = _read(urdf)
        joints = _joints(robot, urdf)
        blocked = unreachable_joints(joints, request.configurations)
        reach = reachable_links(robot.root, joints, blocked)
        return Observation(
            engine=self.name,
            robot=None if urdf.robot_unnamed else robot.model.name,
            root=robot.root,
            states=_STATES,
            links=_links(robot, urdf),
            joints=joints,
            frames=_frames(robot, joints, reach, request.configurations),
            unread_masses=urdf.unread_masses,
            notes=(*urdf.notes, *blocked_note("Pinocchio", blocked)),
        )


class _Robot(Struct, frozen=True, eq=False):
    """A model, and the indices of its frames.

    Attributes:
        engine: The ``pinocchio`` module.
        model: The ``pinocchio.Model``.
        root: Name of the root link.
        frame_of_link: Index of each link's frame.
        frame_of_joint: Index of each joint's frame; fixed joints have one too.
    """

    engine: ModuleType
    model: pinocchio.Model
    root: str
    frame_of_link: Mapping[str, int]
    frame_of_joint: Mapping[str, int]


def _read(urdf: UrdfText) -> _Robot:
    # Imported here because it need not be installed.
    import pinocchio

    with captured() as printed:
        try:
            model = pinocchio.buildModelFromXML(urdf.text.decode())
        except (ValueError, RuntimeError) as error:
            raise AbstentionError(_reason(printed()) or str(error)) from error
    kinds = pinocchio.FrameType
    frames = list(enumerate(model.frames))
    links = {frame.name: i for i, frame in frames if frame.type == kinds.BODY}
    # The first frame is the universe.
    joints = {
        frame.name: i for i, frame in frames[1:] if frame.type in {kinds.JOINT, kinds.FIXED_JOINT}
    }
    roots = [name for name, i in links.items() if model.frames[i].parentFrame == 0]
    if len(roots) != 1:
        raise AbstentionError(f"Pinocchio finds {len(roots)} root links")
    return _Robot(pinocchio, model, roots[0], links, joints)


def _reason(printed: str) -> str:
    """Return the errors that urdfdom printed."""
    lines = re.findall(r"^Error: *(.*)$", printed, re.MULTILINE)
    return "; ".join(dict.fromkeys(lines))


def _links(robot: _Robot, urdf: UrdfText) -> tuple[LinkObservation, ...]:
    """State links; the head of a rigid group has the mass of all its links.

    A root ``world`` without inertial is no body.
    """
    groups: dict[int, list[str]] = {}
    observed = []
    for name, index in robot.frame_of_link.items():
        if name == robot.root == _WORLD and name in urdf.without_inertial:
            observed.append(LinkObservation(name))
        else:
            groups.setdefault(robot.model.frames[index].parentJoint, []).append(name)
    for joint, members in groups.items():
        head = next((name for name in members if _heads(robot, name)), members[0])
        for name in members:
            mass = _mass(robot, joint, head, members, urdf) if name == head else None
            observed.append(LinkObservation(name, mass, body=head))
    return tuple(observed)


def _heads(robot: _Robot, link: str) -> bool:
    frames = robot.model.frames
    above = frames[frames[robot.frame_of_link[link]].parentFrame]
    return link == robot.root or above.type == robot.engine.FrameType.JOINT


def _mass(
    robot: _Robot, joint: int, head: str, members: list[str], urdf: UrdfText
) -> MassProperties | None:
    # The frame of the joint is that of the head, except for one fixed to the world.
    frame = robot.model.frames[robot.frame_of_link[head]]
    inertia = frame.placement.actInv(robot.model.inertias[joint])
    if inertia.mass == 0 or not urdf.mass_unknown.isdisjoint(members):
        return None
    unknown = not urdf.inertia_unknown.isdisjoint(members)
    return MassProperties(
        mass=float(inertia.mass),
        center=vec3(inertia.lever),
        inertia=None if unknown else vec6(inertia.inertia),
    )


def _joints(robot: _Robot, urdf: UrdfText) -> tuple[JointObservation, ...]:
    child = {
        robot.model.frames[index].parentFrame: link for link, index in robot.frame_of_link.items()
    }
    return tuple(
        _joint(robot, name, child[index], urdf) for name, index in robot.frame_of_joint.items()
    )


def _joint(robot: _Robot, name: str, child: str, urdf: UrdfText) -> JointObservation:
    model, frame = robot.model, robot.model.frames[robot.frame_of_joint[name]]
    parent = model.frames[frame.parentFrame].name
    if frame.type == robot.engine.FrameType.FIXED_JOINT:
        return JointObservation(name, JointType.FIXED, parent, child)
    joint = model.joints[frame.parentJoint]
    kind = _type(joint)
    if kind in {JointType.PLANAR, JointType.FLOATING}:
        return JointObservation(name, kind, parent, child)
    at, speed = joint.idx_q, joint.idx_v
    bounded = kind is not JointType.CONTINUOUS and name not in urdf.limits_unknown
    effort, velocity = model.effortLimit[speed], model.velocityLimit[speed]
    return JointObservation(
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


def _type(joint: pinocchio.JointModel) -> JointType:
    if kind := _TYPES.get((joint.nq, joint.nv)):
        return kind
    slides = joint.shortname().startswith(_SLIDES)
    return JointType.PRISMATIC if slides else JointType.REVOLUTE


def _finite(value: float) -> float | None:
    """Return None for infinity, which Pinocchio uses without a ``<limit>``."""
    return float(value) if math.isfinite(value) else None


def _frames(
    robot: _Robot,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> Frames:
    model = robot.model
    cache = model.createData()

    def coordinates(
        name: str, kind: JointType, values: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        return model.joints[model.getJointId(name)].idx_q, _coordinates(kind, values)

    neutral = robot.engine.neutral(model)
    positions = positions_in_order(neutral, joints, configurations, coordinates)
    frames = [robot.frame_of_link[link] for link in links]

    def place(row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        robot.engine.framesForwardKinematics(model, cache, positions[row])
        poses = [cache.oMf[index] for index in frames]
        return (
            np.array([pose.translation for pose in poses]),
            np.array([pose.rotation for pose in poses]),
        )

    return build_frames(links, configurations, place)


def _coordinates(kind: JointType, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (K, n) values of a joint in Pinocchio's coordinates."""
    match kind:
        case JointType.CONTINUOUS:
            return np.column_stack([np.cos(values), np.sin(values)])
        case JointType.PLANAR:
            # Its plane is always x, y; other displacements cannot be set.
            angle = values[:, 3]
            return np.column_stack([values[:, :2], np.cos(angle), np.sin(angle)])
        case JointType.FLOATING:
            return np.column_stack([values[:, :3], np.roll(values[:, 3:], -1, axis=1)])
    return values
