"""URDF engine: PyBullet.

PyBullet reports poses and inertia in the *inertial* frame of each link; link frames are
computed here in double precision, because its own link frames are in float32. It reads
inertia from the file only by a flag, caches files that it has read, and prints why it
refuses a file instead of putting it into the exception.
"""

from __future__ import annotations

import contextlib
import math
import re
import tempfile
from collections.abc import Iterator
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
from lxml import etree
from msgspec import Struct, structs

from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import protocol, statements
from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.surfaces import hull_surface, primitive_surface
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation
from urdf_usd.installation import distribution_of

# The wheels of `pybullet` are for Python 3.11 alone.
_INSTALL = "pip install pybullet (Python 3.11) or pybullet-arm64 (the same for later versions)"
# PyBullet's index of the root link.
_BASE = -1
_STEPS = (
    prepared.strip_shapes,
    prepared.complete_inertials,
    prepared.name_robot,
    prepared.add_missing_limits,
)
_TYPES = {
    pybullet.JOINT_REVOLUTE: obs.JointType.REVOLUTE,
    pybullet.JOINT_PRISMATIC: obs.JointType.PRISMATIC,
    pybullet.JOINT_SPHERICAL: obs.JointType.SPHERICAL,
    pybullet.JOINT_PLANAR: obs.JointType.PLANAR,
    pybullet.JOINT_FIXED: obs.JointType.FIXED,
}
_KINDS = {
    pybullet.GEOM_BOX: ShapeKind.BOX,
    pybullet.GEOM_SPHERE: ShapeKind.SPHERE,
    pybullet.GEOM_CYLINDER: ShapeKind.CYLINDER,
    pybullet.GEOM_CAPSULE: ShapeKind.CAPSULE,
}
# Neither of PyBullet's functions that set a joint has any effect on a planar one.
_IMMOVABLE = frozenset({obs.JointType.PLANAR})
_ONE_KIND = "PyBullet does not distinguish continuous and unlimited revolute joints."
_ABSENT = "PyBullet reads an absent effort or velocity as 0."
# In an OBJ file: faces, statements that begin a group, and faces with one or two
# corners.
_FACE = re.compile(rb"[\n\r][ \t]*+f[ \t]")
_GROUP = re.compile(rb"[\n\r][ \t]*+[go][ \t]")
_SHORT_FACE = re.compile(rb"[\n\r][ \t]*+f(?:[ \t]++[^\s]++){0,2}[ \t]*+[\n\r]")


class PybulletEngine(Struct, frozen=True):
    name: str = "pybullet"
    side: protocol.Side = protocol.Side.URDF

    def availability(self) -> protocol.Availability:
        if find_spec("pybullet") is None:
            return protocol.Unavailable("PyBullet is not installed", _INSTALL)
        found = distribution_of("pybullet")
        return protocol.Available(found[1] if found else "of unknown version")

    def observe(self, request: protocol.Request) -> obs.Observation:
        urdf = prepared.prepare(request.path, _STEPS)
        chosen, pose_notes = request.configurations, list[str]()

        def frames(links: tuple[str, ...]) -> obs.Frames | None:
            try:
                return _frames(body, joints, links, chosen)
            except pybullet.error as error:
                pose_notes.append(f"PyBullet states no poses of {len(body.links)} links: {error}")
                return None

        with loaded(urdf) as body:
            numbers = range(len(body.joints))
            joints = tuple(_joint(body, number, urdf.limits_unknown) for number in numbers)
            masses = {}
            for number, link in enumerate(body.links):
                mass, _, moments, center = body.masses[number][:4]
                tensor = statements.along_link(moments, body.axes[number])
                masses[link] = urdf.known([link], statements.mass_properties(mass, center, tensor))
            reading = obs.Observation(
                engine=self.name,
                robot=body.robot,
                root=body.links[0],
                joints=joints,
                joint_order=statements.moving_joints(joints),
                states=statements.OF_ANY_URDF | {obs.Quantity.EFFORT, obs.Quantity.VELOCITY},
                links=tuple(obs.LinkObservation(link, mass) for link, mass in masses.items()),
                defaulted=tuple(sorted(urdf.without_inertial & {n for n in masses if masses[n]})),
            )
            reading = statements.with_frames(reading, "PyBullet", urdf, request, frames, _IMMOVABLE)
        states, shapes = reading.states, _shapes(request)
        if reading.frames is None:
            states -= {obs.Quantity.FRAMES}
        if shapes is not None:
            states |= {obs.Quantity.COLLISION, obs.Quantity.VISUAL}
        notes = (*reading.notes, *pose_notes)
        return structs.replace(reading, states=states, notes=notes, shapes=shapes or ())


class Body(Struct, frozen=True, eq=False):
    """One robot in a PyBullet world.

    PyBullet's index of a link, and of the joint to it, is the position in ``links`` minus one.
    """

    client: int  # number of the world
    index: int  # number of the robot in it
    robot: str
    links: tuple[str, ...]
    joints: tuple[tuple[Any, ...], ...]  # rows of ``getJointInfo``
    masses: tuple[tuple[Any, ...], ...]  # rows of ``getDynamicsInfo``, of all links
    axes: statements.Array  # (L, 3, 3) rotation of each link from its inertial frame to its own


@contextlib.contextmanager
def loaded(urdf: prepared.UrdfCopy) -> Iterator[Body]:
    """Load a prepared copy into a world that is empty again after the context."""
    with tempfile.TemporaryDirectory(prefix="pybullet-") as folder, captured() as printed:
        copy = Path(folder, "robot.urdf")
        copy.write_bytes(urdf.text)
        client = world()
        # The cache goes by path alone and would return a file that was deleted.
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        try:
            index = pybullet.loadURDF(
                str(copy),
                # Cylinders would be read as meshes, whose surface is not stated.
                flags=pybullet.URDF_USE_INERTIA_FROM_FILE | pybullet.URDF_USE_IMPLICIT_CYLINDER,
                physicsClientId=client,
            )
        except pybullet.error as error:
            # What it printed, without its source positions and the path of the copy.
            text = re.sub(r"b3(?:Error|Warning|Printf)\[[^\]]*\]:", "\n", printed())
            lines = [line.strip() for line in text.replace(str(copy), copy.name).splitlines()]
            kept = dict.fromkeys(line for line in lines if line and "build time" not in line)
            # Parts of the robot may have been added before the error.
            pybullet.resetSimulation(physicsClientId=client)
            raise protocol.UnsupportedError("; ".join(kept) or str(error)) from error
        try:
            root, robot = pybullet.getBodyInfo(index, physicsClientId=client)
            numbers = range(pybullet.getNumJoints(index, physicsClientId=client))
            joints = tuple(pybullet.getJointInfo(index, n, physicsClientId=client) for n in numbers)
            masses = tuple(
                pybullet.getDynamicsInfo(index, n, physicsClientId=client)
                for n in (_BASE, *numbers)
            )
            links = (root.decode(), *(row[12].decode() for row in joints))
            axes = statements.matrices_of_xyzw([row[4] for row in masses])
            yield Body(client, index, robot.decode(), links, joints, masses, axes)
        finally:
            pybullet.removeBody(index, physicsClientId=client)


@lru_cache(maxsize=1)
def world() -> int:
    """Return the number of a world, which takes longer to make than to empty."""
    return int(pybullet.connect(pybullet.DIRECT))


def _joint(body: Body, number: int, limits_unknown: set[str]) -> obs.JointObservation:
    row = body.joints[number]
    name, child, parent = row[1].decode(), row[12].decode(), body.links[row[16] + 1]
    kind = _TYPES[row[2]]
    if kind not in {obs.JointType.REVOLUTE, obs.JointType.PRISMATIC}:
        return obs.JointObservation(name, kind, parent, child)
    damping, friction, lower, upper, effort, velocity = map(float, row[6:12])
    axis = body.axes[number + 1] @ row[13]
    length = float(np.linalg.norm(axis))
    plain = obs.JointObservation(
        name,
        kind,
        parent,
        child,
        damping=damping,
        friction=friction,
        # It is reported in the inertial frame, in the length that the file gives.
        axis=statements.vec3(axis / length) if 0.0 < length < math.inf else None,
        note="The file has no <limit>.",
    )
    if name in limits_unknown:
        return plain
    notes = []
    if lower > upper:
        lower, upper = -math.inf, math.inf
        kind = obs.JointType.CONTINUOUS if kind is obs.JointType.REVOLUTE else kind
        notes.append(_ONE_KIND)
    if not effort or not velocity:
        notes.append(_ABSENT)
    limits = {"lower": lower, "upper": upper, "effort": effort, "velocity": velocity}
    return structs.replace(plain, type=kind, **limits, note=" ".join(notes) or None)


def _frames(
    body: Body,
    joints: tuple[obs.JointObservation, ...],
    links: tuple[str, ...],
    configurations: obs.Configurations,
) -> obs.Frames:
    """Return poses relative to the root link; pybullet.error beyond a number of links."""
    numbers = [body.links.index(link) for link in links]
    at, offsets = {"physicsClientId": body.client}, [body.masses[number][3] for number in numbers]
    # (K, d) positions of the joints that PyBullet can set, by index.
    positions = statements.settable_positions(joints, configurations)
    targets: dict[int, statements.Array] = {}
    for index, joint in enumerate(joints):
        if joint.type in _IMMOVABLE or joint.name not in positions:
            continue
        targets[index] = positions[joint.name]
        if joint.type is obs.JointType.SPHERICAL:
            # PyBullet rotates the link about the axes of its inertial frame.
            to_link = body.axes[index + 1]
            turned = to_link.T @ statements.matrices(targets[index]) @ to_link
            targets[index] = np.roll(statements.quats_wxyz(turned), -1, axis=1)

    def place(row: int) -> statements.Placed:
        if targets:
            # PyBullet crashes on tuples here.
            values = [of_joint[row].tolist() for of_joint in targets.values()]
            pybullet.resetJointStatesMultiDof(body.index, list(targets), values, **at)
        # Nothing is stepped in time, so the root stays. Without forward kinematics the poses of
        # other links are those of the last time step.
        poses = [pybullet.getBasePositionAndOrientation(body.index, **at)]
        if inner := [number - 1 for number in numbers[1:]]:
            poses += pybullet.getLinkStates(body.index, inner, computeForwardKinematics=1, **at)
        quats_xyzw = np.array([pose[1] for pose in poses])
        if not np.isfinite(quats_xyzw).all():
            raise pybullet.error("an orientation is not finite, as below a zero axis")
        turns = statements.matrices_of_xyzw(quats_xyzw) @ body.axes[numbers].swapaxes(-1, -2)
        centers = np.array([pose[0] for pose in poses])
        return centers - np.einsum("lij,lj->li", turns, offsets), turns

    return statements.build_frames(links, configurations, place)


def _shapes(request: protocol.Request) -> tuple[ShapeObservation, ...] | None:
    """State shapes, from another copy; None if PyBullet rejects that."""
    # Links of that copy have no inertial, so that poses are in their frames.
    for loads in (_has_groups, lambda *_: False):
        separated: dict[str, str] = {}
        steps = prepared.name_robot, partial(_separate_meshes, separated)
        copy, unread = prepared.prepare_shapes(request, loads, *steps)
        try:
            with loaded(copy) as body:
                shapes, at = unread, {"physicsClientId": body.client}
                visuals = pybullet.getVisualShapeData(body.index, **at)
                for index, link in enumerate(body.links, start=_BASE):
                    if link in separated:
                        shapes += _hulls(body, index, separated[link])
                        continue
                    rows = {
                        Role.COLLISION: pybullet.getCollisionShapeData(body.index, index, **at),
                        Role.VISUAL: [row for row in visuals if row[1] == index],
                    }
                    shapes += (
                        _primitive(link, role, number, row)
                        for role, of_role in rows.items()
                        for number, row in enumerate(of_role)
                    )
                return tuple(shapes)
        except protocol.UnsupportedError:
            continue
    return None


def _has_groups(role: Role, file: Path) -> bool:
    """Whether PyBullet makes several convex hulls of a mesh file."""
    # Of other files it makes one hull, or none. A face with fewer than three corners crashes it.
    if role is not Role.COLLISION or file.suffix.lower() != ".obj":
        return False
    text = b"\n%b\n" % file.read_bytes()
    face = _FACE.search(text)
    return (
        face is not None
        and _GROUP.search(text, face.end()) is not None
        and _SHORT_FACE.search(text) is None
    )


def _separate_meshes(separated: dict[str, str], copy: prepared.UrdfCopy) -> None:
    """Move every collision mesh to a link of its own, without an origin."""
    # PyBullet's indices of hulls count within one collider, which therefore has to be alone in its
    # link, and not moved.
    robot = copy.robot
    taken = {part.get("name") for part in robot if part.tag in {"link", "joint"}}
    for link in list(robot.iterfind("link")):
        for collision in list(link.iterfind("collision")):
            if collision.find("geometry/mesh") is None:
                continue
            number = len(separated)
            while (name := f"mesh {number}") in taken:
                number += 1
            taken.add(name)
            separated[name] = link.get("name", "")
            joint = etree.SubElement(robot, "joint", name=name, type="fixed")
            joint.extend(collision.findall("origin"))
            etree.SubElement(joint, "parent", link=separated[name])
            etree.SubElement(joint, "child", link=name)
            etree.SubElement(robot, "link", name=name).append(collision)


def _hulls(body: Body, index: int, link: str) -> Iterator[ShapeObservation]:
    """State the convex hulls, of points rounded to 1/10216 of their extent, of a collision mesh."""
    hulls: list[statements.Array] = []
    while True:
        count, points = pybullet.getMeshData(
            body.index, index, collisionShapeIndex=len(hulls), physicsClientId=body.client
        )
        if not count:
            break
        hulls.append(np.array(points, np.float64))
    position = body.joints[index][14]
    # PyBullet states the rotation of the parent in the child.
    rotation = statements.matrices_of_xyzw(body.joints[index][15]).T
    for number, hull in enumerate(hulls):
        yield ShapeObservation(
            link=link,
            role=Role.COLLISION,
            source=f"{link} collision mesh {index} hull {number}",
            name=ShapeKind.MESH.value,
            kind=ShapeKind.MESH,
            position=statements.vec3(position),
            surface=hull_surface(hull @ rotation.T + position),
            pieces=len(hulls),
            hull=True,
        )


def _primitive(link: str, role: Role, number: int, row: tuple[Any, ...]) -> ShapeObservation:
    """State a shape; of a mesh PyBullet returns the file, but not the surface."""
    kind, size = _KINDS.get(row[2], ShapeKind.OTHER), tuple[float, ...]()
    if kind is ShapeKind.BOX:
        size = row[3]
    elif kind is not ShapeKind.OTHER:
        # Lengths come before radii.
        size = row[3][:1] if kind is ShapeKind.SPHERE else row[3][1::-1]
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = statements.matrices_of_xyzw(row[6]), row[5]
    # Other engines do not state a shape without extent.
    surface = primitive_surface(kind, size, transform) if size and min(size) > 0 else None
    return ShapeObservation(
        link=link,
        role=role,
        source=f"{link} {role} {number}",
        name=kind.value,
        kind=kind,
        size=size,
        position=statements.vec3(row[5]),
        surface=surface,
        stated=surface is not None,
    )
