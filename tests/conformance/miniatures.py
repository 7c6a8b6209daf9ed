"""Wrong converters: a correct observation of a correct robot with one value changed.

A check without a miniature that fails it is not a check. The robot has oblique axes,
rotated origins and non-zero offsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from msgspec import structs
from scipy.spatial.transform import Rotation

from tests.faults.fault import ROBOTS
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.reference import observe_robot
from urdf_usd.conformance.execution.reading import questions
from urdf_usd.conformance.observation.robot import (
    AssemblyGap,
    Base,
    Configurations,
    JointObservation,
    JointType,
    MassProperties,
    MimicObservation,
    Observation,
    Restatement,
    SettingKind,
    UnexpectedSetting,
    Word,
)
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Continuous,
    Custom,
    CustomElement,
    Cylinder,
    Dynamics,
    Fixed,
    Inertial,
    Joint,
    Link,
    Material,
    MeshFile,
    Mimic,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Robot,
    Vec3,
    Visual,
    XmlElement,
)

_RPY = {
    "shoulder": (0.3, -1.2, 2.5),
    "elbow": (-2.2, 0.45, 0.15),
    "weld": (0.9, -0.8, 0.7),
    "frame": (0.1, 0.2, -0.3),
    "finger_a": (-0.4, 0.6, 1.1),
    "finger_b": (0.5, -0.7, 0.2),
    "wheel": (1.3, 0.35, -0.65),
    "table": (-0.15, 0.25, 0.85),
}
_INERTIA = (0.05, 0.004, 0.003, 0.06, -0.002, 0.04)


def _unit(x: float, y: float, z: float) -> Vec3:
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def _pose(xyz: Vec3, rpy: Vec3, order: str = "xyz") -> Pose:
    """Return a pose from rotations about fixed (lower case) or moving axes."""
    w, x, y, z = Rotation.from_euler(order, rpy).as_quat(scalar_first=True).tolist()
    return Pose(xyz, (w, x, y, z))


def _link(
    name: str,
    mass: float,
    rpy: Vec3,
    visuals: tuple[Visual, ...] = (),
    collisions: tuple[Collision, ...] = (),
) -> Link:
    scaled = tuple(mass * moment for moment in _INERTIA)
    inertial = Inertial(mass, _pose((0.02, -0.03, 0.05), rpy), scaled)  # type: ignore[arg-type]  # six in, six out
    return Link(name, inertial, visuals, collisions)


def _origin(joint: str, xyz: Vec3) -> Pose:
    return _pose(xyz, _RPY[joint])


# A closed mesh without rotational or mirror symmetry.
WEDGE = ROBOTS / "wedge.obj"
_PLACE = _pose((0.03, -0.02, 0.06), (0.5, -0.4, 1.2))
_WEDGE = MeshFile(WEDGE.name, str(WEDGE), (0.5, 1.5, 2.0))
_PEN = Capsule(0.01, 0.08)
RUST = Material("rust", (0.55, 0.25, 0.1, 0.6))
_MOSS = ROBOTS / "moss.png"
MOSS = Material("moss", (0.2, 0.45, 0.3, 1.0), "moss.png", str(_MOSS))

ROBOT = Robot(
    name="miniature",
    links=(
        _link(
            "base",
            7.5,
            (0.4, -0.5, 0.6),
            (Visual(None, _PLACE, Box((0.3, 0.2, 0.1)), RUST),),
            (Collision(None, _PLACE, Box((0.3, 0.2, 0.1))),),
        ),
        _link(
            "arm",
            2.25,
            (1.1, 0.7, -0.9),
            (Visual(None, _PLACE, _WEDGE, MOSS),),
            (Collision(None, _PLACE, _WEDGE),),
        ),
        # A pen inside the cylinder.
        _link(
            "forearm",
            0.75,
            (-0.6, 0.25, 2.1),
            (
                Visual(None, _PLACE, Cylinder(0.04, 0.25), RUST),
                Visual(None, _PLACE, _PEN, MOSS),
            ),
            (
                Collision(None, _PLACE, Cylinder(0.04, 0.25)),
                Collision(None, _PLACE, _PEN),
            ),
        ),
        _link("hand", 0.5, (0.2, 0.3, 0.4)),
        Link("sensor"),
        _link("finger_a", 0.125, (0.7, -0.2, 0.1)),
        _link("finger_b", 0.15, (-0.3, 0.8, 0.5)),
        _link("wheel", 1.5, (0.15, 0.45, -0.75)),
        _link("plate", 0.875, (-1.0, 0.1, 0.3)),
    ),
    joints=(
        Joint(
            "shoulder",
            "base",
            "arm",
            origin=_origin("shoulder", (0.5, -0.6, 0.7)),
            kind=Revolute(_unit(1, -2, 3), Range(-1.25, 0.75)),
            effort=12.0,
            velocity=3.5,
            dynamics=Dynamics(0.7, 0.3),
        ),
        Joint(
            "elbow",
            "arm",
            "forearm",
            origin=_origin("elbow", (-0.1, 0.25, 0.35)),
            kind=Revolute(_unit(-0.48, 0.6, 0.64), Range(0.2, 2.4)),
            effort=5.0,
            velocity=2.0,
            dynamics=Dynamics(0.0, None),
        ),
        Joint(
            "weld",
            "forearm",
            "hand",
            origin=_origin("weld", (0.04, 0.05, -0.06)),
            kind=Fixed(),
        ),
        Joint(
            "frame",
            "hand",
            "sensor",
            origin=_origin("frame", (0.01, 0.02, 0.03)),
            kind=Fixed(),
        ),
        Joint(
            "finger_a",
            "hand",
            "finger_a",
            origin=_origin("finger_a", (0.07, -0.02, 0.04)),
            kind=Prismatic(_unit(2, 1, -1), Range(-0.01, 0.04)),
            effort=1.0,
        ),
        Joint(
            "finger_b",
            "hand",
            "finger_b",
            origin=_origin("finger_b", (-0.07, 0.03, 0.05)),
            kind=Revolute(_unit(-1, 0.5, 2), Range(-1.0, 1.0)),
            mimic=Mimic("finger_a", -12.5, 0.125),
        ),
        Joint(
            "wheel",
            "base",
            "wheel",
            origin=_origin("wheel", (-0.3, 0.2, -0.1)),
            kind=Continuous(_unit(0.3, 0.9, -0.2)),
            velocity=20.0,
        ),
        Joint(
            "table",
            "base",
            "plate",
            origin=_origin("table", (0.2, 0.4, -0.5)),
            kind=Planar(_unit(0.2, -0.3, 1)),
        ),
    ),
    custom=Custom(elements=(CustomElement(XmlElement("transmission")),)),
)
CONFIGURATIONS = questions(ROBOT)


@cache
def urdf_reading(
    robot: Robot = ROBOT, configurations: Configurations = CONFIGURATIONS
) -> Observation:
    """Return the reference observation of a robot."""
    reading = observe_robot(robot, configurations)
    return with_motion(reading, configurations, perturbed=True)


@cache
def usd_reading(
    robot: Robot = ROBOT, configurations: Configurations = CONFIGURATIONS
) -> Observation:
    """Return the observation of a faithful USD of a robot."""
    reading = observe_robot(robot, configurations)
    reading = with_motion(reading, configurations, perturbed=False)
    body = {link.name: link.name if link.inertial else None for link in robot.links}
    for joint in robot.joints:
        body[joint.child] = body[joint.child] or body[joint.parent]
    return structs.replace(
        reading,
        engine="usd",
        links=tuple(structs.replace(link, body=body[link.name]) for link in reading.links),
        base=Base.FLOATING,
        articulation_roots=1,
        up=(0.0, 0.0, 1.0),
        articulation_starts=(reading.root,),
        unexpected=(),
        assembly=tuple(
            AssemblyGap(joint.name, 0.0, 0.0)
            for joint in robot.joints
            if not isinstance(joint.kind, Fixed)
        ),
    )


def engine_reading(name: str, robot: Robot = ROBOT) -> Observation:
    """Return the observation of an engine without deviations."""
    return structs.replace(observe_robot(robot, CONFIGURATIONS), engine=name)


def with_joint(robot: Robot, name: str, **changes: object) -> Robot:
    """Return a robot with one joint changed."""
    joints = tuple(
        structs.replace(joint, **changes) if joint.name == name else joint for joint in robot.joints
    )
    return structs.replace(robot, joints=joints)


def with_inertial(robot: Robot, name: str, **changes: object) -> Robot:
    """Return a robot with the inertial of one link changed."""
    links = tuple(
        structs.replace(link, inertial=structs.replace(link.inertial, **changes))
        if link.name == name and link.inertial
        else link
        for link in robot.links
    )
    return structs.replace(robot, links=links)


def restating_joint(reading: Observation, name: str, **changes: object) -> Observation:
    """Return an observation with one joint changed."""
    joints = tuple(
        structs.replace(joint, **changes) if joint.name == name else joint
        for joint in reading.joints
    )
    return structs.replace(reading, joints=joints)


def restating_mass(reading: Observation, name: str, mass: MassProperties | None) -> Observation:
    """Return an observation with the mass of one link changed."""
    links = tuple(
        structs.replace(link, mass=mass) if link.name == name else link for link in reading.links
    )
    return structs.replace(reading, links=links)


def joint_of(reading: Observation, name: str) -> JointObservation:
    """Return one joint of an observation."""
    return next(joint for joint in reading.joints if joint.name == name)


def mass_of(reading: Observation, name: str) -> MassProperties:
    """Return the mass properties of a link that has some."""
    mass = next(link.mass for link in reading.links if link.name == name)
    assert mass is not None
    return mass


@dataclass(frozen=True)
class Miniature:
    """One wrong converter.

    Attributes:
        name: What it does wrong.
        reading: What an engine reports about its USD.
        trips: Checks that must fail, each with the subject that must be named.
        message: Description that must be in the message of the first check's finding.
    """

    name: str
    reading: Callable[[], Observation]
    trips: dict[str, str]
    message: str = ""


def _negated_axis() -> Observation:
    x, y, z = _unit(1, -2, 3)
    kind = Revolute((-x, -y, -z), Range(-1.25, 0.75))
    return usd_reading(with_joint(ROBOT, "shoulder", kind=kind))


def _snapped_axis() -> Observation:
    kind = Revolute((0.0, 0.0, 1.0), Range(0.2, 2.4))
    return usd_reading(with_joint(ROBOT, "elbow", kind=kind))


def _shifted_frame() -> Observation:
    pose = _pose((0.04, 0.05 + 20e-6, -0.06), _RPY["weld"])
    return usd_reading(with_joint(ROBOT, "weld", origin=pose))


def _inertia_not_turned() -> Observation:
    pose = Pose((0.02, -0.03, 0.05))
    return usd_reading(with_inertial(ROBOT, "arm", origin=pose))


def _welded_inertial_at_origin() -> Observation:
    pose = _pose((0.0, 0.0, 0.0), (0.2, 0.3, 0.4))
    return usd_reading(with_inertial(ROBOT, "hand", origin=pose))


def _lost_weld_mass() -> Observation:
    return restating_mass(usd_reading(), "hand", None)


def _parents_swapped() -> Observation:
    swapped = with_joint(ROBOT, "wheel", parent="arm")
    return usd_reading(with_joint(swapped, "elbow", parent="base"))


def _without_link(name: str) -> Observation:
    reading = usd_reading()
    links = tuple(link for link in reading.links if link.name != name)
    return structs.replace(reading, links=links)


def _mimic(**changes: object) -> Observation:
    coupling = structs.replace(MimicObservation("finger_a", -12.5, 0.125), **changes)
    return restating_joint(usd_reading(), "finger_b", mimic=coupling)


def _gap(position: float, rotation: float) -> Observation:
    reading = usd_reading()
    gaps = tuple(
        AssemblyGap(gap.joint, position, rotation) if gap.joint == "elbow" else gap
        for gap in reading.assembly
    )
    return structs.replace(reading, assembly=gaps)


def _with_joint(name: str) -> Observation:
    """Add fixed joints that the URDF does not have."""
    reading = usd_reading()
    brace = JointObservation(name, JointType.FIXED, "arm", "wheel")
    return structs.replace(reading, joints=(*reading.joints, brace))


def _inertia_stated_twice() -> Observation:
    pose = Pose((0.02, -0.03, 0.05))
    unturned = mass_of(usd_reading(with_inertial(ROBOT, "arm", origin=pose)), "arm")
    assert unturned.inertia is not None
    return _restating(unturned.inertia)


def _restating(second: tuple[float, ...]) -> Observation:
    """Report the inertia of the arm a second time."""
    reading = usd_reading()
    first = mass_of(reading, "arm").inertia
    assert first is not None
    restated = Restatement("arm", "newton:inertia", first, second)  # type: ignore[arg-type]  # six numbers
    return structs.replace(reading, restated=(restated,))


def _without_finger_inertia() -> Observation:
    light = with_inertial(ROBOT, "finger_b", inertia=(0.0,) * 6)
    return structs.replace(usd_reading(), dynamics=usd_reading(light).dynamics)


def _without_velocities() -> Observation:
    """Bias forces without the velocity term."""
    still = structs.replace(CONFIGURATIONS, velocities=())
    reading = usd_reading()
    return structs.replace(reading, dynamics=usd_reading(ROBOT, still).dynamics)


def _with_setting(kind: SettingKind, subject: str) -> Observation:
    setting = UnexpectedSetting(kind, subject, "something is 5, not 0", "0", "5")
    return structs.replace(usd_reading(), unexpected=(setting,))


def _with_ground() -> Observation:
    """Give a collider of the base to a plane that is no link."""
    reading = usd_reading()
    ground = structs.replace(
        next(shape for shape in reading.shapes if shape.role is Role.COLLISION),
        link="ground",
        source="/ground",
    )
    return structs.replace(reading, shapes=(*reading.shapes, ground))


def _joint_says(name: str, **changes: object) -> Callable[[], Observation]:
    return lambda: restating_joint(usd_reading(), name, **changes)


MINIATURES = (
    Miniature(
        "axis negated",
        _negated_axis,
        {
            "kinematics.rotation": "joint shoulder",
            "kinematics.position": "joint shoulder",
        },
        "axis is reversed",
    ),
    Miniature(
        "oblique axis snapped to a coordinate axis",
        _snapped_axis,
        {"kinematics.rotation": "joint elbow"},
        "axis or type of motion differs",
    ),
    Miniature(
        "frame shifted by 20 um",
        _shifted_frame,
        {"kinematics.position": "joint weld"},
        "frame at zero shifted by 2e-05 m",
    ),
    Miniature(
        "limits left in degrees",
        _joint_says("elbow", lower=math.degrees(0.2), upper=math.degrees(2.4)),
        {"limits.lower": "joint elbow", "limits.upper": "joint elbow"},
        "degrees instead of radians?",
    ),
    Miniature(
        "continuous joint limited",
        _joint_says("wheel", type=JointType.REVOLUTE, lower=-math.pi, upper=math.pi),
        {"limits.upper": "joint wheel", "structure.types": "joint wheel"},
        "not unlimited",
    ),
    Miniature(
        "effort dropped",
        _joint_says("shoulder", effort=None),
        {"limits.effort": "joint shoulder"},
        "absent",
    ),
    Miniature(
        "absent velocity made zero",
        _joint_says("finger_a", velocity=0.0),
        {"limits.velocity": "joint finger_a"},
        "not absent",
    ),
    Miniature(
        "damping per degree",
        _joint_says("shoulder", damping=math.radians(0.7)),
        {"dynamics.damping": "joint shoulder"},
        "radians instead of degrees?",
    ),
    Miniature(
        "friction dropped",
        _joint_says("shoulder", friction=None),
        {"dynamics.friction": "joint shoulder"},
        "absent",
    ),
    Miniature(
        "mimic offset in degrees",
        lambda: _mimic(offset=math.degrees(0.125)),
        {"structure.mimic": "joint finger_b"},
        "degrees instead of radians?",
    ),
    Miniature(
        "mimic of another joint",
        lambda: _mimic(leader="elbow"),
        {"structure.mimic": "joint finger_b"},
        "mimics elbow instead of finger_a",
    ),
    Miniature(
        "damping made up",
        lambda: usd_reading(with_joint(ROBOT, "wheel", dynamics=Dynamics(0.5, None))),
        {"dynamics.rollout": "joint wheel", "dynamics.damping": "joint wheel"},
        "after 1 s",
    ),
    Miniature(
        "forces without those of velocities",
        _without_velocities,
        {"dynamics.bias": "joint elbow"},
        "at 'sample",
    ),
    Miniature(
        "equations of motion of a finger without its inertia",
        _without_finger_inertia,
        {"dynamics.inertia_matrix": "joint finger_b"},
        "inertia",
    ),
    Miniature(
        "inertia not turned into the link frame",
        _inertia_not_turned,
        {"mass.link.inertia": "link arm"},
        "but wrong axes",
    ),
    Miniature(
        "inertial origin of a welded link ignored",
        _welded_inertial_at_origin,
        {
            "mass.group.center": "group forearm",
            "mass.group.inertia": "group forearm",
            "mass.link.center": "link hand",
        },
    ),
    Miniature(
        "mass halved",
        lambda: usd_reading(with_inertial(ROBOT, "arm", mass=1.125)),
        {"mass.link.mass": "link arm", "mass.total": "robot"},
        "mass is 1.125 kg, not 2.25 kg",
    ),
    Miniature(
        "mass of a welded link lost",
        _lost_weld_mass,
        {"mass.group.mass": "group forearm", "mass.total": "robot"},
        "mass is 0.75 kg, not 1.25 kg",
    ),
    Miniature(
        "frame given a kilogram",
        lambda: restating_mass(
            usd_reading(),
            "sensor",
            MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        ),
        {"mass.group.mass": "group forearm", "mass.total": "robot"},
    ),
    Miniature(
        "mass left to the colliders",
        lambda: structs.replace(usd_reading(), invented=("arm",)),
        {"mass.stated": "link arm"},
        "without an authored mass above zero",
    ),
    Miniature(
        "parents swapped",
        _parents_swapped,
        {"structure.parents": "joint elbow", "kinematics.position": "joint elbow"},
        "base -> forearm instead of arm -> forearm",
    ),
    Miniature(
        "joint type changed",
        _joint_says("elbow", type=JointType.PRISMATIC),
        {"structure.types": "joint elbow"},
        "prismatic instead of revolute",
    ),
    Miniature(
        "link lost",
        lambda: _without_link("wheel"),
        {"structure.links": "link wheel"},
        "missing",
    ),
    Miniature(
        "base welded",
        lambda: structs.replace(usd_reading(), base=Base.FIXED),
        {"structure.base": "link base"},
        "fixed, not floating",
    ),
    Miniature(
        "no articulation root",
        lambda: structs.replace(usd_reading(), articulation_roots=0),
        {"structure.articulation": "robot"},
        "0 articulation roots instead of 1",
    ),
    Miniature(
        "joint excluded from the articulation",
        lambda: structs.replace(usd_reading(), unarticulated=("elbow",)),
        {"structure.articulation": "joint elbow"},
        "belongs to no articulation",
    ),
    Miniature(
        "joint of a base without body tied to the world",
        lambda: structs.replace(usd_reading(), at_world=("wheel",)),
        {"structure.world": "joint wheel"},
        "connects a body to the world",
    ),
    Miniature(
        "gravity sideways",
        lambda: _with_setting(SettingKind.SCENE, "robot"),
        {"structure.scene": "robot"},
        "something is 5, not 0",
    ),
    Miniature(
        "ground plane next to the robot",
        _with_ground,
        {"structure.scene": "robot"},
        "collider /ground belongs to no link",
    ),
    Miniature(
        "articulation root on a link amid the robot",
        lambda: structs.replace(usd_reading(), articulation_starts=("forearm",)),
        {"structure.articulation": "link forearm"},
        "as if it were a floating base",
    ),
    Miniature(
        "two joints of one name",
        lambda: _with_joint("weld"),
        {"structure.joints": "joint weld"},
        "exists 2 times",
    ),
    Miniature(
        "surplus weld",
        lambda: _with_joint("brace"),
        {"structure.joints": "joint brace"},
        "is not in the URDF",
    ),
    Miniature(
        "body made kinematic",
        lambda: structs.replace(usd_reading(), nondynamic=("arm",)),
        {"structure.bodies": "link arm"},
        "kinematic or disabled",
    ),
    Miniature(
        "robot lying on its side",
        lambda: structs.replace(usd_reading(), up=(0.0, 1.0, 0.0)),
        {"kinematics.up": "link base"},
        "1.57 rad from the up axis",
    ),
    Miniature(
        "newton:inertia without the rotation of the inertial",
        _inertia_stated_twice,
        {"mass.link.agreement": "link arm"},
        "but wrong axes, in newton:inertia",
    ),
    Miniature(
        "body 2.6 mm away from its joint",
        lambda: _gap(2.6e-3, 0.0),
        {"kinematics.assembly.position": "joint elbow"},
        "0.0026 m apart",
    ),
    Miniature(
        "transmission changed",
        lambda: structs.replace(usd_reading(), words=_changed_words()),
        {"structure.words": "robot"},
        "<transmission> is",
    ),
    Miniature(
        "link frames not finite",
        lambda: _with_nan("plate"),
        {"kinematics.position": "joint table"},
    ),
)


def _with_nan(link: str) -> Observation:
    reading = usd_reading()
    frames = reading.frames
    assert frames is not None
    positions = frames.positions.copy()
    positions[3, frames.links.index(link)] = np.nan
    return structs.replace(reading, frames=structs.replace(frames, positions=positions))


def _changed_words() -> tuple[Word, ...]:
    return tuple(structs.replace(word, value=f"{word.value} ") for word in usd_reading().words)
