"""URDF and MJCF engines: Pinocchio, of URDF through urdfdom.

Pinocchio merges links that fixed joints connect into one body per moving joint, so mass
is stated per rigid group, with its first link. It keeps every link as a frame. It reads
couplings only by an option that rejects some of them, so none are stated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import readers
from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.engines.statements import Array, Placed, mass_properties
from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    import pinocchio

_REFUSED = "<{}> of joints was left out: urdfdom rejects the whole file if one is incomplete."
_STEPS = (
    *prepared.WITHOUT_SHAPES,
    prepared.name_robot,
    prepared.complete_limits,
    prepared.leave_out("joint/mimic", _REFUSED.format("mimic")),
    prepared.leave_out("joint/safety_controller", _REFUSED.format("safety_controller")),
    prepared.leave_out_empty_dynamics,
)
_SEVERAL_AXES = {
    "JointModelPlanar": obs.JointType.PLANAR,
    "JointModelSpherical": obs.JointType.SPHERICAL,
    "JointModelFreeFlyer": obs.JointType.FLOATING,
}
_WORLD = "world"


def _joint(
    model: pinocchio.Model, joint: pinocchio.JointModel, initial: Array
) -> obs.JointObservation:
    if kind := _SEVERAL_AXES.get(joint.shortname()):
        return obs.JointObservation("", kind, "", "")
    place, rate = joint.idx_q, joint.idx_v
    stated = readers.one_axis(
        joint.shortname().startswith("JointModelP"),
        model.lowerPositionLimit[place] - initial[place],
        model.upperPositionLimit[place] - initial[place],
        effort=model.effortLimit[rate],
        velocity=model.velocityLimit[rate],
        damping=model.damping[rate],
        friction=model.friction[rate],
    )
    if joint.nq == 1:
        return stated
    # Its coordinates are a cosine and a sine.
    return structs.replace(stated, type=obs.JointType.CONTINUOUS, lower=None, upper=None)


def _mass(model: pinocchio.Model, frame: pinocchio.Frame, joint: int) -> obs.MassProperties | None:
    """Return the mass of all that a joint moves, in a frame."""
    inertia = frame.placement.actInv(model.inertias[joint])
    return mass_properties(inertia.mass, inertia.lever, inertia.inertia) if inertia.mass else None


def _kinematics(
    model: pinocchio.Model, frames: Sequence[int], initial: Array
) -> readers.Kinematics:
    import pinocchio

    data = model.createData()

    def place(positions: Array) -> Placed:
        pinocchio.framesForwardKinematics(model, data, positions)
        poses = [data.oMf[index] for index in frames]
        return (
            np.array([pose.translation for pose in poses]),
            np.array([pose.rotation for pose in poses]),
        )

    return readers.Kinematics(initial, place, _converted)


def _converted(joint: obs.JointObservation, values: Array) -> Array:
    match joint.type:
        case obs.JointType.CONTINUOUS:
            return np.column_stack([np.cos(values), np.sin(values)])
        case obs.JointType.PLANAR:
            # Its plane is always x, y; other displacements cannot be set.
            return np.column_stack([values[:, :2], np.cos(values[:, 3]), np.sin(values[:, 3])])
        case obs.JointType.FLOATING:
            return np.column_stack([values[:, :3], np.roll(values[:, 3:], -1, axis=1)])
        case obs.JointType.SPHERICAL:
            return np.roll(values, -1, axis=1)
    return values


def _read_urdf(urdf: prepared.UrdfCopy) -> readers.UrdfModel:
    # Imported here because it need not be installed.
    import pinocchio

    with captured() as printed:
        try:
            model = pinocchio.buildModelFromXML(urdf.text.decode())
        except (ValueError, RuntimeError) as error:
            lines = re.findall(r"^Error: *(.*)$", printed(), re.MULTILINE)
            raise UnsupportedError("; ".join(dict.fromkeys(lines)) or str(error)) from error
    kinds, frames, initial = pinocchio.FrameType, model.frames, pinocchio.neutral(model)
    frame_of = {frame.name: i for i, frame in enumerate(frames) if frame.type == kinds.BODY}
    roots = [name for name, i in frame_of.items() if frames[i].parentFrame == 0]
    if len(roots) != 1:
        raise UnsupportedError(f"Pinocchio finds {len(roots)} root links")
    child_of = {frames[i].parentFrame: name for name, i in frame_of.items()}
    joints, starts = [], {}
    # The first frame is the universe.
    for index, frame in list(enumerate(frames))[1:]:
        if frame.type not in {kinds.JOINT, kinds.FIXED_JOINT}:
            continue
        stated = obs.JointObservation("", obs.JointType.FIXED, "", "")
        if frame.type == kinds.JOINT:
            joint = model.joints[frame.parentJoint]
            starts[frame.name], stated = joint.idx_q, _joint(model, joint, initial)
        for names, unknown in (
            (urdf.limits_unknown, {"lower": None, "upper": None}),
            (urdf.effort_unknown, {"effort": None}),
            (urdf.velocity_unknown, {"velocity": None}),
        ):
            stated = structs.replace(stated, **unknown) if frame.name in names else stated
        ends = frames[frame.parentFrame].name, child_of[index]
        joints.append(readers.named(stated, frame.name, *ends))

    def is_head(link: str) -> bool:
        above = frames[frames[frame_of[link]].parentFrame]
        return link == roots[0] or bool(above.type == kinds.JOINT)

    groups: dict[int, list[str]] = {}
    links = []
    for name, index in frame_of.items():
        # A root ``world`` without inertial is no body.
        if name == roots[0] == _WORLD and name in urdf.without_inertial:
            links.append(obs.LinkObservation(name))
        else:
            groups.setdefault(frames[index].parentJoint, []).append(name)
    for number, members in groups.items():
        head = next(filter(is_head, members), members[0])
        # The frame of the joint is that of the head, except for one fixed to the world.
        mass = urdf.known(members, _mass(model, frames[frame_of[head]], number))
        links += (obs.LinkObservation(x, mass if x == head else None, head) for x in members)
    kinematics = _kinematics(model, [frame_of[link.name] for link in links], initial)
    return readers.UrdfModel(model.name, roots[0], links, joints, starts, kinematics)


def _read_mjcf(path: str) -> readers.MjcfModel:
    import pinocchio

    with captured():
        model = pinocchio.buildModelFromMJCF(path)
    kinds = pinocchio.FrameType
    frames = [(i, one) for i, one in enumerate(model.frames) if one.type == kinds.BODY]
    initial = pinocchio.neutral(model)
    if "qpos0" in model.referenceConfigurations:
        initial = np.array(model.referenceConfigurations["qpos0"])

    def joints(joint: pinocchio.JointModel) -> list[tuple[int, obs.JointObservation]]:
        if joint.shortname() == "JointModelComposite":
            return [one for part in joint.extract().joints for one in joints(part)]
        return [(joint.idx_q, _joint(model, joint, initial))]

    heads: dict[int, int] = {}
    bodies = []
    for index, (_, frame) in enumerate(frames):
        joint = frame.parentJoint
        is_head = heads.setdefault(joint, index) == index
        moves = model.frames[frame.parentFrame].type == kinds.JOINT
        bodies.append(
            readers.MjcfBody(
                joints(model.joints[joint]) if moves else [],
                _mass(model, frame, joint) if is_head else None,
                heads[joint],
            )
        )
    return readers.MjcfModel(bodies, _kinematics(model, [i for i, _ in frames], initial))


_LIBRARY = ("Pinocchio", "pinocchio", "pin")
_STATES = frozenset({obs.Quantity.EFFORT, obs.Quantity.VELOCITY})
read_urdf = partial(readers.UrdfReader, *_LIBRARY, _STEPS, _read_urdf, _STATES)
read_mjcf = partial(readers.MjcfReader, *_LIBRARY, _read_mjcf)
