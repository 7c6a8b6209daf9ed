"""Wrong converters: a correct observation of a correct robot with one value changed.

A check without a miniature that fails it is not a check. The robot has oblique axes,
rotated origins and non-zero offsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from tests.faults.fault import ROBOTS
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import Comparison, compare
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.reference import observe_robot
from urdf_usd.conformance.execution.examine import questions
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
)
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.model import derive_tolerance_model
from urdf_usd.converter.robot.model import (
    Capsule,
    Cylinder,
    Dynamics,
    Fixed,
    Geometry,
    MeshFile,
    Pose,
    Range,
    Revolute,
    Robot,
)
from urdf_usd.converter.urdf.parse import parse

ROBOT = parse(ROBOTS / "miniature.urdf").robot
CONFIGURATIONS = questions(ROBOT)


def compared(check: str, expected: Observation, actual: Observation) -> Comparison:
    """Compare two observations by the check of an identifier."""
    (found,) = (one for one in (*CHECKS, *SIMULATION_CHECKS) if one.id == check)
    return compare(found, expected, actual, derive_tolerance_model(expected, Tolerance()))


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
    moving = [joint.name for joint in robot.joints if not isinstance(joint.kind, Fixed)]
    return structs.replace(
        reading,
        engine="usd",
        links=tuple(structs.replace(link, body=body[link.name]) for link in reading.links),
        base=Base.FLOATING,
        articulation_roots=1,
        up=(0.0, 0.0, 1.0),
        articulation_starts=(reading.root,),
        unexpected=(),
        assembly=tuple(AssemblyGap(name, 0.0, 0.0) for name in moving),
    )


def engine_reading(name: str, robot: Robot = ROBOT) -> Observation:
    """Return the observation of an engine without deviations."""
    return structs.replace(observe_robot(robot, CONFIGURATIONS), engine=name)


def _with(parts: tuple[Any, ...], name: str, **changes: object) -> tuple[Any, ...]:
    return tuple(structs.replace(one, **changes) if one.name == name else one for one in parts)


def with_joint(robot: Robot, name: str, **changes: object) -> Robot:
    """Return a robot with one joint changed."""
    return structs.replace(robot, joints=_with(robot.joints, name, **changes))


def with_inertial(robot: Robot, name: str, **changes: object) -> Robot:
    """Return a robot with the inertial of one link changed."""
    own = next(link.inertial for link in robot.links if link.name == name)
    assert own is not None
    inertial = structs.replace(own, **changes)
    return structs.replace(robot, links=_with(robot.links, name, inertial=inertial))


def restating_joint(reading: Observation, name: str, **changes: object) -> Observation:
    """Return an observation with one joint changed."""
    return structs.replace(reading, joints=_with(reading.joints, name, **changes))


def restating_mass(reading: Observation, name: str, mass: MassProperties | None) -> Observation:
    """Return an observation with the mass of one link changed."""
    return structs.replace(reading, links=_with(reading.links, name, mass=mass))


def joint_of(reading: Observation, name: str) -> JointObservation:
    """Return one joint of an observation."""
    return next(joint for joint in reading.joints if joint.name == name)


def mass_of(reading: Observation, name: str) -> MassProperties:
    """Return the mass properties of a link that has some."""
    mass = next(link.mass for link in reading.links if link.name == name)
    assert mass is not None
    return mass


def with_geometry(robot: Robot, link: str, role: Role, index: int, geometry: Geometry) -> Robot:
    """Return a robot one of whose shapes is another."""
    field = "visuals" if role is Role.VISUAL else "collisions"
    shapes = list(next(getattr(one, field) for one in robot.links if one.name == link))
    shapes[index] = structs.replace(shapes[index], geometry=geometry)
    return structs.replace(robot, links=_with(robot.links, link, **{field: tuple(shapes)}))


def restating_shapes(
    reading: Observation,
    link: str,
    role: Role,
    edit: Callable[[list[ShapeObservation]], list[ShapeObservation]],
) -> Observation:
    """Return an observation with the shapes of one link changed."""
    own = [shape for shape in reading.shapes if shape.link == link and shape.role is role]
    rest = [shape for shape in reading.shapes if shape not in own]
    return structs.replace(reading, shapes=(*rest, *edit(own)))


class Miniature(NamedTuple):
    """One wrong converter."""

    subject: str  # link, joint or group that findings name; that of the total mass is the robot
    trips: str  # checks that must fail
    message: str  # part of that of the first check's finding
    reading: Callable[[], Observation]  # what an engine reports about its USD

    def subjects(self) -> dict[str, str]:
        """Return the subject that each check has to name."""
        return {
            check: "robot" if check == "mass.total" else self.subject
            for check in self.trips.split()
        }


def _robot(change: Callable[..., Robot], name: str, **changes: object) -> Callable[[], Observation]:
    return lambda: usd_reading(change(ROBOT, name, **changes))


def _usd(**changes: object) -> Callable[[], Observation]:
    return lambda: structs.replace(usd_reading(), **changes)


def _joint(name: str, **changes: object) -> Callable[[], Observation]:
    return lambda: restating_joint(usd_reading(), name, **changes)


def _mimic(**changes: object) -> Callable[[], Observation]:
    coupling = structs.replace(MimicObservation("finger_a", -12.5, 0.125), **changes)
    return _joint("finger_b", mimic=coupling)


def _mass(name: str, mass: MassProperties | None) -> Callable[[], Observation]:
    return lambda: restating_mass(usd_reading(), name, mass)


def _parents_swapped() -> Observation:
    swapped = with_joint(ROBOT, "wheel", parent="arm")
    return usd_reading(with_joint(swapped, "elbow", parent="base"))


def _without_link(name: str) -> Observation:
    links = tuple(link for link in usd_reading().links if link.name != name)
    return structs.replace(usd_reading(), links=links)


def _with_joint(name: str) -> Observation:
    """Add a fixed joint that the URDF does not have."""
    brace = JointObservation(name, JointType.FIXED, "arm", "wheel")
    return structs.replace(usd_reading(), joints=(*usd_reading().joints, brace))


def _inertia_stated_twice() -> Observation:
    unturned = usd_reading(with_inertial(ROBOT, "arm", origin=_AT_CENTER))
    first, second = (mass_of(side, "arm").inertia for side in (usd_reading(), unturned))
    assert first is not None
    assert second is not None
    restated = Restatement("arm", "newton:inertia", first, second)
    return structs.replace(usd_reading(), restated=(restated,))


def _without_finger_inertia() -> Observation:
    light = with_inertial(ROBOT, "finger_b", inertia=(0.0,) * 6)
    return structs.replace(usd_reading(), dynamics=usd_reading(light).dynamics)


def _without_velocities() -> Observation:
    still = structs.replace(CONFIGURATIONS, velocities=())
    return structs.replace(usd_reading(), dynamics=usd_reading(ROBOT, still).dynamics)


def _with_ground() -> Observation:
    """Give a collider of the base to a plane that is no link."""
    shapes = usd_reading().shapes
    collider = next(shape for shape in shapes if shape.role is Role.COLLISION)
    ground = structs.replace(collider, link="ground", source="/ground")
    return structs.replace(usd_reading(), shapes=(*shapes, ground))


def _with_nan(link: str) -> Observation:
    frames = usd_reading().frames
    assert frames is not None
    positions = frames.positions.copy()
    positions[3, frames.links.index(link)] = np.nan
    return structs.replace(usd_reading(), frames=structs.replace(frames, positions=positions))


def _damped() -> Observation:
    return usd_reading(with_joint(ROBOT, "wheel", dynamics=Dynamics(0.5, None)))


def _changed_words() -> Observation:
    words = usd_reading().words
    changed = tuple(structs.replace(word, value=f"{word.value} ") for word in words)
    return structs.replace(usd_reading(), words=changed)


_AT_CENTER = Pose((0.02, -0.03, 0.05))
_DOWN = tuple(value / math.sqrt(14) for value in (-1, 2, -3))
_negated = _robot(with_joint, "shoulder", kind=Revolute(_DOWN, Range(-1.25, 0.75)))  # type: ignore[arg-type]  # three
_snapped = _robot(with_joint, "elbow", kind=Revolute((0.0, 0.0, 1.0), Range(0.2, 2.4)))
_weld = next(joint.origin for joint in ROBOT.joints if joint.name == "weld")
_shifted = structs.replace(_weld, position=(0.04, 0.05 + 20e-6, -0.06))
_hand = _robot(with_inertial, "hand", origin=Pose((0.0, 0.0, 0.0)))
_degrees = _joint("elbow", lower=math.degrees(0.2), upper=math.degrees(2.4))
_limited = _joint("wheel", type=JointType.REVOLUTE, lower=-math.pi, upper=math.pi)
_heavy = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
_scene = UnexpectedSetting(SettingKind.SCENE, "robot", "something is 5, not 0", "0", "5")
_gaps = tuple(
    structs.replace(gap, position=2.6e-3 * (gap.joint == "elbow")) for gap in usd_reading().assembly
)
_TURNED = "kinematics.rotation kinematics.position"
_GROUP = "mass.group.center mass.group.inertia"
_ROOTS = "0 articulation roots instead of 1"
_moved = _robot(with_joint, "weld", origin=_shifted)
_per_degree = _joint("shoulder", damping=0.0122173)
_not_turned = _robot(with_inertial, "arm", origin=_AT_CENTER)
_halved = _robot(with_inertial, "arm", mass=1.125)
_lost = _mass("hand", None)
_sliding = _joint("elbow", type=JointType.PRISMATIC)
_amid = _usd(articulation_starts=("forearm",))
_outside = _usd(unarticulated=("elbow",))
_rootless = _usd(articulation_roots=0)
_tied = _usd(at_world=("wheel",))
MINIATURES = tuple(
    Miniature(*row)
    for row in (
        ("joint shoulder", _TURNED, "axis is reversed", _negated),
        ("joint elbow", "kinematics.rotation", "axis or type of motion differs", _snapped),
        ("joint weld", "kinematics.position", "by 2e-05 m", _moved),
        ("joint table", "kinematics.position", "", lambda: _with_nan("plate")),
        ("joint elbow", "limits.lower limits.upper", "degrees instead of radians?", _degrees),
        ("joint wheel", "limits.upper structure.types", "not unlimited", _limited),
        ("joint shoulder", "limits.effort", "absent", _joint("shoulder", effort=None)),
        ("joint finger_a", "limits.velocity", "not absent", _joint("finger_a", velocity=0.0)),
        ("joint shoulder", "dynamics.damping", "radians instead", _per_degree),
        ("joint shoulder", "dynamics.friction", "absent", _joint("shoulder", friction=None)),
        ("joint finger_b", "structure.mimic", "degrees instead", _mimic(offset=7.1619724)),
        ("joint finger_b", "structure.mimic", "elbow instead of finger_a", _mimic(leader="elbow")),
        ("joint wheel", "dynamics.rollout dynamics.damping", "after 1 s", _damped),
        ("joint elbow", "dynamics.bias", "at 'sample", _without_velocities),
        ("joint finger_b", "dynamics.inertia_matrix", "inertia", _without_finger_inertia),
        ("link arm", "mass.link.inertia", "but wrong axes", _not_turned),
        ("group forearm", _GROUP, "", _hand),
        ("link hand", "mass.link.center", "", _hand),
        ("link arm", "mass.link.mass mass.total", "is 1.125 kg, not 2.25 kg", _halved),
        ("group forearm", "mass.group.mass mass.total", "0.75 kg, not 1.25 kg", _lost),
        ("group forearm", "mass.group.mass mass.total", "", _mass("sensor", _heavy)),
        ("link arm", "mass.stated", "without an authored mass above zero", _usd(invented=("arm",))),
        (
            "joint elbow",
            "structure.parents kinematics.position",
            "base -> forearm",
            _parents_swapped,
        ),
        ("joint elbow", "structure.types", "prismatic instead of", _sliding),
        ("link wheel", "structure.links", "missing", lambda: _without_link("wheel")),
        ("link base", "structure.base", "fixed, not floating", _usd(base=Base.FIXED)),
        ("robot", "structure.articulation", _ROOTS, _rootless),
        ("joint elbow", "structure.articulation", "no articulation", _outside),
        ("joint wheel", "structure.world", "a body to the world", _tied),
        ("robot", "structure.scene", "something is 5, not 0", _usd(unexpected=(_scene,))),
        ("robot", "structure.scene", "collider /ground belongs to no link", _with_ground),
        ("link forearm", "structure.articulation", "floating base", _amid),
        ("joint weld", "structure.joints", "exists 2 times", lambda: _with_joint("weld")),
        ("joint brace", "structure.joints", "is not in the URDF", lambda: _with_joint("brace")),
        ("link arm", "structure.bodies", "kinematic or disabled", _usd(nondynamic=("arm",))),
        ("link base", "kinematics.up", "1.57 rad from the up axis", _usd(up=(0.0, 1.0, 0.0))),
        ("link arm", "mass.link.agreement", "axes, in newton:inertia", _inertia_stated_twice),
        ("joint elbow", "kinematics.assembly.position", "0.0026 m apart", _usd(assembly=_gaps)),
        ("robot", "structure.words", "<transmission> is", _changed_words),
    )
)


def _shape(role: Role, link: str, index: int, geometry: Geometry) -> Callable[[], Observation]:
    return lambda: usd_reading(with_geometry(ROBOT, link, role, index, geometry))


def _first(role: Role, link: str, change: Callable[[Any], Any]) -> Callable[[], Observation]:
    """Change the first shape of a link."""
    return lambda: restating_shapes(
        usd_reading(), link, role, lambda own: [change(own[0]), *own[1:]]
    )


def _surfaced(role: Role, **changes: object) -> Callable[[], Observation]:
    """Change the surface of the wedge."""
    return _first(
        role,
        "arm",
        lambda own: structs.replace(own, surface=structs.replace(own.surface, **changes)),
    )


def _moved_pen(role: Role) -> Observation:
    """Move the shape inside the cylinder."""

    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        assert own[1].surface is not None
        x, y, z = own[1].surface.center
        moved = structs.replace(own[1].surface, center=(x, y + 1e-3, z))
        return [own[0], structs.replace(own[1], surface=moved)]

    return restating_shapes(usd_reading(), "forearm", role, edit)


def _with_looks(link: str, change: Callable[[Any], Any]) -> Callable[[], Observation]:
    """Change the appearances of a visual."""
    return _first(
        Role.VISUAL,
        link,
        lambda own: structs.replace(own, appearances=tuple(map(change, own.appearances))),
    )


def _flipped(look: Any) -> Any:  # noqa: ANN401  an appearance
    """Let v of the texture coordinates point down."""
    u, v, uu, vv, *along = look.mapping.moments
    x, y, z = look.mapping.center
    moved = (x - along[3], y - along[4], z - along[5])
    moments = (u, look.area - v, uu, look.area - 2.0 * v + vv, *along[:3], *moved)
    oriented = -look.mapping.oriented
    mapping = structs.replace(look.mapping, moments=moments, oriented=oriented)
    return structs.replace(look, mapping=mapping)


def _of_shapes(role: Role) -> tuple[Miniature, ...]:
    wedge = next(shape for shape in usd_reading().shapes if shape.link == "arm").surface
    assert wedge is not None
    file = str(ROBOTS / "wedge.obj")
    unscaled = MeshFile("wedge.obj", file, (1.0, 1.0, 1.0))
    shapes, support, area, volume, triangles = (
        f"{role}.{measure}" for measure in ("shapes", "support", "area", "volume", "triangles")
    )
    thin, short = Cylinder(0.02, 0.25), Capsule(0.01, 0.06)
    lost = restating_shapes(usd_reading(), "forearm", role, lambda own: own[:1])
    rows = (
        ("link forearm", f"{shapes} {area}", "has cylinder (0.04 x 0.25 m), not", lambda: lost),
        ("link forearm", f"{support} {volume}", "less than in", _shape(role, "forearm", 0, thin)),
        ("link forearm", support, "capsule (0.01 x 0.08 m)", _shape(role, "forearm", 1, short)),
        ("link forearm", support, "centroid differs by 0.001 m", lambda: _moved_pen(role)),
        ("link arm", f"{support} {area}", "", _shape(role, "arm", 0, unscaled)),
        ("link arm", volume, "is inside out", _surfaced(role, volume=-wedge.volume)),
        ("link arm", triangles, "7 triangles, not 8", _surfaced(role, triangles=7)),
    )
    return tuple(Miniature(*row) for row in rows)


_srgb = _with_looks("base", lambda look: structs.replace(look, color=(0.55, 0.25, 0.1)))
_COLOUR, _COORDINATES = "is (0.55, 0.25, 0.1) linear", "texture coordinates of mesh"
SHAPE_MINIATURES = (
    *(one for role in Role for one in _of_shapes(role)),
    Miniature("link base", "visual.colour", _COLOUR, _srgb),
    Miniature("link arm", "visual.mapping", _COORDINATES, _with_looks("arm", _flipped)),
)
