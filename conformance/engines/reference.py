"""The URDF by its specification: our own reader and double-precision kinematics.

This engine shares its reader with the converter, so independent engines confirm or
contradict each of its values. Observations of malformed XML are marked, as no other
engine shares the repair.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import numpy as np
from lxml import etree
from msgspec import structs

from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Available,
    Request,
    Side,
)
from urdf_usd.conformance.engines.reference_shapes import state_shapes
from urdf_usd.conformance.engines.statements import moving_joints
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    Configurations,
    Dynamics,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    MimicObservation,
    Observation,
    Quantity,
    Word,
    XmlContent,
)
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot.dynamics import degrees_of_freedom, equations_of_motion
from urdf_usd.converter.robot.kinematics import link_transforms
from urdf_usd.converter.robot.model import (
    Continuous,
    Custom,
    Fixed,
    Floating,
    Joint,
    Link,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    XmlElement,
)
from urdf_usd.converter.robot.spatial import (
    inertia_tensor,
    inertia_values,
    rotation_from_quat_wxyz,
)
from urdf_usd.converter.robot.topology import Tree, build_tree
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xml import XML_REPAIRS

NAME = "reference"

# Rules for ambiguous text, of which one interpretation was chosen.
_REPAIRS = frozenset(
    {
        "element-repeated",
        "number-invalid",
        "number-nonfinite",
        "number-punctuation",
        "vector-completed",
        "vector-length",
    }
)
_AFTER_ALL = chr(sys.maxunicode)

_TYPES = {
    Revolute: JointType.REVOLUTE,
    Continuous: JointType.CONTINUOUS,
    Prismatic: JointType.PRISMATIC,
    Planar: JointType.PLANAR,
    Fixed: JointType.FIXED,
    Floating: JointType.FLOATING,
    Spherical: JointType.SPHERICAL,
}


class ReferenceEngine:
    """Reads a URDF by its specification."""

    name = NAME
    side = Side.URDF

    def availability(self) -> Available:
        """Return the version; it is always available."""
        return Available(version("urdf-usd-conformance"))

    def observe(self, request: Request) -> Observation:
        """Read a URDF.

        Raises:
            AbstentionError: The URDF is invalid or unsupported.
        """
        try:
            parsed = read_kept(request.path, request.packages)
            reading = observe_robot(parsed.robot, request.configurations, parsed.diagnostics)
        except SourceError as error:
            raise AbstentionError(str(error.diagnostics[0])) from error
        if request.configurations.rollout:
            reading = with_motion(reading, request.configurations, perturbed=True)
        return structs.replace(reading, quaternions=_quaternions(request.path))


def read_kept(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: tuple[str, ...] = (),
) -> Parsed:
    """Read a robot, or return it from the cache, as several steps read the same robot.

    Raises:
        SourceError: It is invalid or unsupported.
    """
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError:
        changed = 0
    named = tuple(packages.items()), tuple(arguments.items())
    return _read(path, changed, *named, environment)


# A robot may consist of a xacro file, the URDF made from it, and a copy of that with
# estimated mass.
@lru_cache(maxsize=3)
def _read(
    path: str,
    changed: int,
    packages: tuple[tuple[str, str], ...],
    arguments: tuple[tuple[str, str], ...],
    environment: tuple[str, ...],
) -> Parsed:
    del changed
    return parse(
        path,
        packages=dict(packages),
        arguments=dict(arguments),
        environment=environment,
    )


def forget_readings() -> None:
    """Clear the caches, as files may have changed."""
    _read.cache_clear()
    _motion.cache_clear()


def observe_robot(
    robot: Robot,
    configurations: Configurations,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    shapes: bool = True,
) -> Observation:
    """State everything about a parsed robot.

    Args:
        robot: A robot that is a tree.
        configurations: Positions of every moving joint.
        diagnostics: Diagnostics of the reader.
        shapes: Whether to state shapes, whose meshes are slow to read.

    Raises:
        SourceError: The robot is not a tree.
    """
    tree = build_tree(robot)
    frames, dynamics = _motion(_Moved(robot, configurations))
    malformed = _malformed(diagnostics)
    joints = structure(robot)
    return Observation(
        engine=NAME,
        robot=robot.name,
        root=tree.root,
        states=frozenset(Quantity),
        links=tuple(LinkObservation(link.name, _mass_properties(link)) for link in robot.links),
        joints=joints,
        joint_order=moving_joints(joints),
        frames=frames,
        base=_base(tree),
        repaired=_repaired(robot, diagnostics),
        malformed=malformed,
        notes=(_shared_repair(malformed),) if malformed else (),
        dynamics=dynamics,
        shapes=state_shapes(robot) if shapes else (),
        words=_words(robot),
    )


def structure(robot: Robot) -> tuple[JointObservation, ...]:
    """State the joints of a robot, in the order in which they are written."""
    return tuple(_joint(joint) for joint in robot.joints)


def _joint(joint: Joint) -> JointObservation:
    limits = axis = mimic = None
    if isinstance(joint.kind, Revolute | Prismatic):
        limits = joint.kind.range
    if isinstance(joint.kind, Revolute | Continuous | Prismatic | Planar):
        axis = joint.kind.axis
    # A mimic coupling has an effect only on joints with one coordinate.
    joint_type = _TYPES[type(joint.kind)]
    if joint.mimic and COORDINATES[joint_type] == 1:
        mimic = MimicObservation(joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
    return JointObservation(
        name=joint.name,
        type=joint_type,
        parent=joint.parent,
        child=joint.child,
        lower=limits.lower if limits else None,
        upper=limits.upper if limits else None,
        effort=joint.effort,
        velocity=joint.velocity,
        damping=joint.dynamics.damping if joint.dynamics else None,
        friction=joint.dynamics.friction if joint.dynamics else None,
        mimic=mimic,
        axis=axis,
    )


def _mass_properties(link: Link) -> MassProperties | None:
    inertial = link.inertial
    if inertial is None:
        return None
    rotation = rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
    tensor = rotation @ inertia_tensor(inertial.inertia) @ rotation.T
    return MassProperties(inertial.mass, inertial.origin.position, inertia_values(tensor))


class _Moved:
    """Cache key of a robot, by identity, and configurations, by value.

    The configurations of a request are a copy of those that were planned.
    """

    def __init__(self, robot: Robot, configurations: Configurations) -> None:
        self.robot, self.configurations = robot, configurations
        sampled = configurations
        # The robot is immutable, and is not freed while this key exists.
        self._parts = (
            id(robot),
            sampled.joints,
            sampled.labels,
            sampled.motion_count,
            tuple(values.tobytes() for values in sampled.positions),
            tuple(values.tobytes() for values in sampled.velocities),
        )

    def __eq__(self, other: object) -> bool:
        """Whether it has the same robot and equal configurations."""
        return isinstance(other, _Moved) and self._parts == other._parts

    def __hash__(self) -> int:
        """Hash the parts."""
        return hash(self._parts)


@lru_cache(maxsize=1)
def _motion(moved: _Moved) -> tuple[Frames, Dynamics]:
    """Compute frames and dynamics, cached for the plan of the rollout."""
    robot, configurations = moved.robot, moved.configurations
    return _frames(robot, configurations), _dynamics(robot, configurations)


def _frames(robot: Robot, configurations: Configurations) -> Frames:
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    transforms = link_transforms(robot, positions)
    # Without a moving joint the pose is the same in all configurations.
    stacked = np.stack(
        [
            np.broadcast_to(transforms[link.name], (configurations.count, 4, 4))
            for link in robot.links
        ],
        axis=1,
    )
    stacked.setflags(write=False)
    return Frames(
        links=tuple(link.name for link in robot.links),
        positions=stacked[..., :3, 3],
        rotations=stacked[..., :3, :3],
        labels=configurations.labels,
    )


def _dynamics(robot: Robot, configurations: Configurations) -> Dynamics:
    sampled = configurations.for_motion
    positions = dict(zip(sampled.joints, sampled.positions, strict=True))
    given = dict(zip(sampled.joints, sampled.velocities, strict=False))
    names = degrees_of_freedom(robot)
    velocities = np.zeros((sampled.count, len(names)))
    for name, values in given.items():
        start = names.index(name)
        velocities[:, start : start + values.shape[1]] = values
    inertia, bias = equations_of_motion(robot, positions, given)
    # Likewise without moving joints.
    inertia = np.broadcast_to(inertia, (sampled.count, len(names), len(names)))
    bias = np.broadcast_to(bias, velocities.shape)
    for array in (inertia, bias, velocities):
        array.setflags(write=False)
    return Dynamics(names, inertia, bias, velocities)


def _quaternions(path: str) -> tuple[str, ...]:
    """Name the links and joints whose origin has a quaternion."""
    lenient = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        document = etree.parse(path, lenient)
    # The reader decodes more encodings than lxml, such as UTF-32.
    except etree.XMLSyntaxError:
        return ()
    return tuple(
        part.get("name", "")
        for part in document.iterfind("*")
        if part.find("origin[@quat_xyzw]") is not None
        or part.find("inertial/origin[@quat_xyzw]") is not None
    )


def _repaired(robot: Robot, diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Name the links and joints with ambiguous text."""
    parts: tuple[Link | Joint, ...] = (*robot.links, *robot.joints)
    starts = sorted(
        (part.location.line, part.location.column, part.name) for part in parts if part.location
    )
    found: dict[str, None] = {}
    for diagnostic in diagnostics:
        place = diagnostic.location
        if diagnostic.rule not in _REPAIRS or place is None:
            continue
        # The part that starts last before the place holds it.
        index = bisect_right(starts, (place.line, place.column, _AFTER_ALL)) - 1
        if index >= 0:
            found[starts[index][2]] = None
    return tuple(found)


def _malformed(diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Name the rules by which malformed XML was repaired, each once."""
    rules = dict.fromkeys(diagnostic.rule for diagnostic in diagnostics)
    return tuple(rule for rule in rules if rule in XML_REPAIRS)


def _shared_repair(rules: Iterable[str]) -> str:
    return (
        f"The URDF is not well-formed XML ({', '.join(rules)}). This engine shares the"
        " repair with the converter, and does not confirm it."
    )


def _base(tree: Tree) -> Base | None:
    """Return the base by the convention of an empty root link ``world``, else None.

    URDF has no element for the base. A ``world`` with mass or shapes is an ordinary
    link. Links without mass that are fixed to it are frames of the world: if floating
    joints alone leave them, the robot floats.
    """
    root = tree.link[tree.root]
    if root.name != "world" or root.mass or root.visuals or root.collisions:
        return None
    if not tree.child_joints[tree.root]:
        return None
    frames = [tree.root]
    leaving = []
    for name in frames:
        for joint in tree.child_joints[name]:
            is_frame = isinstance(joint.kind, Fixed) and not tree.link[joint.child].mass
            if is_frame:
                frames.append(joint.child)
            else:
                leaving.append(joint)
    floats = leaving and all(isinstance(joint.kind, Floating) for joint in leaving)
    return Base.FLOATING if floats else Base.FIXED


def _words(robot: Robot) -> tuple[Word, ...]:
    """State controllers, calibrations, and what is no part of URDF or has no schema in USD."""
    words = [*_custom(("robot",), robot.custom)]
    for link in robot.links:
        words += _custom((f"link {link.name}",), link.custom)
        for shape in link.shapes:
            words += _custom(("", f"link {link.name}"), shape.custom)
    for joint in robot.joints:
        words += (Word((f"joint {joint.name}",), name, value) for name, value in _numbers(joint))
        words += _custom((f"joint {joint.name}",), joint.custom)
    return tuple(words)


def _numbers(joint: Joint) -> Iterator[tuple[str, float]]:
    # A fixed joint has nothing to control or limit, and to a frame no prim.
    if isinstance(joint.kind, Fixed):
        return
    for name in ("acceleration", "deceleration", "jerk"):
        if (value := getattr(joint, name)) is not None:
            yield f"limit:{name}", value
    for tag, element in (
        ("safety_controller", joint.safety),
        ("calibration", joint.calibration),
    ):
        for name, value in (structs.asdict(element) if element else {}).items():
            if value is not None:
                yield f"{tag}:{name}", value


def _custom(owners: tuple[str, ...], custom: Custom) -> Iterator[Word]:
    for one in custom.attributes:
        yield Word(owners, ":".join((*one.within, one.name)), one.value)
    for element in custom.elements:
        content = element.content
        name = "/".join((*element.within, f"<{content.tag}>"))
        yield Word(owners, name, str(_content(content)))


def _content(element: XmlElement) -> XmlContent:
    children = tuple(map(_content, element.children))
    return XmlContent(element.tag, element.attributes, element.text or "", children)
