"""The URDF by its specification: our own reader and double-precision kinematics.

This engine shares its reader with the converter, so independent engines confirm or
contradict each of its values. Observations of malformed XML are marked, as no other
engine shares the repair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import numpy as np
from lxml import etree
from msgspec import structs

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.reference_shapes import state_shapes
from urdf_usd.conformance.engines.statements import moving_joints, read_only
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot import model
from urdf_usd.converter.robot.dynamics import (
    degrees_of_freedom,
    equations_of_motion,
    link_transforms,
)
from urdf_usd.converter.robot.spatial import inertia_tensor, inertia_values, rotation_from_quat_wxyz
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
_SHARED_REPAIR = (
    "The URDF is not well-formed XML ({}). This engine shares the repair with the converter,"
    " and does not confirm it."
)


class ReferenceEngine:
    """Reads a URDF by its specification."""

    name = NAME
    side = protocol.Side.URDF

    def availability(self) -> protocol.Available:
        """Return the version; it is always available."""
        return protocol.Available(version("urdf-usd-conformance"))

    def observe(self, request: protocol.Request) -> obs.Observation:
        """Read a URDF and state its quantities."""
        try:
            parsed = read_kept(request.path, request.packages)
            reading = observe_robot(parsed.robot, request.configurations, parsed.diagnostics)
        except SourceError as error:
            raise protocol.UnsupportedError(str(error.diagnostics[0])) from error
        if request.configurations.rollout:
            reading = with_motion(reading, request.configurations, perturbed=True)
        return structs.replace(reading, quaternions=_quaternions(request.path))


def read_kept(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: tuple[str, ...] = (),
) -> Parsed:
    """Read a robot, or return it from the cache, as several steps read the same robot."""
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
    return parse(path, packages=dict(packages), arguments=dict(arguments), environment=environment)


def forget_readings() -> None:
    """Clear the caches of robots and meshes, as files may have changed."""
    _read.cache_clear()
    load_mesh.cache_clear()


def observe_robot(
    robot: model.Robot,
    configurations: obs.Configurations,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    shapes: bool = True,
) -> obs.Observation:
    """State everything about a parsed robot.

    Raises:
        SourceError: The robot is not a tree.
    """
    tree = build_tree(robot)
    # The rules by which malformed XML was repaired, each once.
    rules = dict.fromkeys(diagnostic.rule for diagnostic in diagnostics)
    malformed = tuple(rule for rule in rules if rule in XML_REPAIRS)
    joints = structure(robot)
    links = []
    for link in robot.links:
        mass = None
        if (inertial := link.inertial) is not None:
            turn = rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
            tensor = inertia_values(turn @ inertia_tensor(inertial.inertia) @ turn.T)
            mass = obs.MassProperties(inertial.mass, inertial.origin.position, tensor)
        links.append(obs.LinkObservation(link.name, mass))
    names = tuple(link.name for link in links)
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    transforms = link_transforms(robot, positions)
    # Without a moving joint the pose is the same in all configurations.
    shape = configurations.count, 4, 4
    poses = np.stack([np.broadcast_to(transforms[name], shape) for name in names], axis=1)
    poses.setflags(write=False)
    return obs.Observation(
        engine=NAME,
        robot=robot.name,
        root=tree.root,
        states=frozenset(obs.Quantity),
        links=tuple(links),
        joints=joints,
        joint_order=moving_joints(joints),
        frames=obs.Frames(names, poses[..., :3, 3], poses[..., :3, :3], configurations.labels),
        base=_base(tree),
        repaired=_repaired(robot, diagnostics),
        malformed=malformed,
        notes=(_SHARED_REPAIR.format(", ".join(malformed)),) if malformed else (),
        dynamics=_dynamics(robot, configurations),
        shapes=state_shapes(robot) if shapes else (),
        words=tuple(_words(robot)),
    )


def structure(robot: model.Robot) -> tuple[obs.JointObservation, ...]:
    """State the joints of a robot, in the order in which they are written."""
    joints = []
    for joint in robot.joints:
        kind, mimic = joint.kind, None
        joint_type = obs.JointType[type(kind).__name__.upper()]
        # A mimic coupling has an effect only on joints with one coordinate.
        if joint.mimic and obs.COORDINATES[joint_type] == 1:
            coupling = joint.mimic
            mimic = obs.MimicObservation(coupling.joint, coupling.multiplier, coupling.offset)
        limits = kind.range if isinstance(kind, model.Revolute | model.Prismatic) else None
        turning = model.Revolute | model.Continuous | model.Prismatic | model.Planar
        observed = obs.JointObservation(
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
            axis=kind.axis if isinstance(kind, turning) else None,
        )
        joints.append(observed)
    return tuple(joints)


def _dynamics(robot: model.Robot, configurations: obs.Configurations) -> obs.Dynamics:
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
    return obs.Dynamics(names, read_only(inertia), read_only(bias), read_only(velocities))


def _quaternions(path: str) -> tuple[str, ...]:
    """Name the links and joints whose origin has a quaternion."""
    lenient = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        document = etree.parse(path, lenient)
    # The reader decodes more encodings than lxml, such as UTF-32.
    except etree.XMLSyntaxError:
        return ()
    turned = document.xpath("/*/*[origin/@quat_xyzw or inertial/origin/@quat_xyzw]")
    return tuple(part.get("name", "") for part in turned)


def _repaired(robot: model.Robot, diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Name the links and joints with ambiguous text."""
    parts: tuple[model.Link | model.Joint, ...] = (*robot.links, *robot.joints)
    starts = sorted(
        ((part.location.line, part.location.column), part.name) for part in parts if part.location
    )
    found: dict[str, None] = {}
    for diagnostic in diagnostics:
        place = diagnostic.location
        if diagnostic.rule in _REPAIRS and place is not None:
            # The part that starts last before the place holds it.
            before = [name for at, name in starts if at <= (place.line, place.column)]
            found |= dict.fromkeys(before[-1:])
    return tuple(found)


def _base(tree: Tree) -> obs.Base | None:
    """Return the base by the convention of an empty root link ``world``, else None.

    URDF has no element for the base. A ``world`` with mass or shapes is an ordinary
    link. Links without mass that are fixed to it are frames of the world: if floating
    joints alone leave them, the robot floats.
    """
    root = tree.link[tree.root]
    is_world = root.name == "world" and not (root.mass or root.visuals or root.collisions)
    if not is_world or not tree.child_joints[tree.root]:
        return None
    frames, leaving = [tree.root], []
    for name in frames:
        for joint in tree.child_joints[name]:
            if isinstance(joint.kind, model.Fixed) and not tree.link[joint.child].mass:
                frames.append(joint.child)
            else:
                leaving.append(joint)
    floats = leaving and all(isinstance(joint.kind, model.Floating) for joint in leaving)
    return obs.Base.FLOATING if floats else obs.Base.FIXED


def _words(robot: model.Robot) -> Iterator[obs.Word]:
    """State controllers, calibrations, and what is no part of URDF or has no schema in USD."""
    yield from _custom(("robot",), robot.custom)
    for link in robot.links:
        yield from _custom((f"link {link.name}",), link.custom)
        for shape in link.shapes:
            yield from _custom(("", f"link {link.name}"), shape.custom)
    for joint in robot.joints:
        owners = (f"joint {joint.name}",)
        values: dict[str, float | None] = {}
        # A fixed joint has nothing to control or limit, and to a frame no prim.
        if not isinstance(joint.kind, model.Fixed):
            for name in ("acceleration", "deceleration", "jerk"):
                values[f"limit:{name}"] = getattr(joint, name)
            tags = (("safety_controller", joint.safety), ("calibration", joint.calibration))
            for tag, element in tags:
                own = structs.asdict(element) if element else {}
                values |= {f"{tag}:{name}": value for name, value in own.items()}
        for name, value in values.items():
            if value is not None:
                yield obs.Word(owners, name, value)
        yield from _custom(owners, joint.custom)


def _custom(owners: tuple[str, ...], custom: model.Custom) -> Iterator[obs.Word]:
    for one in custom.attributes:
        yield obs.Word(owners, ":".join((*one.within, one.name)), one.value)
    for element in custom.elements:
        content = element.content
        name = "/".join((*element.within, f"<{content.tag}>"))
        yield obs.Word(owners, name, str(_content(content)))


def _content(element: model.XmlElement) -> obs.XmlContent:
    children = tuple(map(_content, element.children))
    return obs.XmlContent(element.tag, element.attributes, element.text or "", children)
