"""URDF engine: PyBullet.

PyBullet reports poses and inertia in the *inertial* frame of each link; link frames are
computed here in double precision, because its own link frames are in float32.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from lxml import etree
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.prepared_shapes import prepare_shapes
from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfElement,
    UrdfText,
    add_missing_limits,
    complete_inertials,
    name_robot,
    prepare,
    strip_shapes,
)
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Available,
    Request,
    Side,
    Unavailable,
)
from urdf_usd.conformance.engines.pybullet_loading import (
    BASE,
    Body,
    JointRow,
    LinkRow,
    PoseError,
    ShapeRow,
    loaded,
)
from urdf_usd.conformance.engines.rotations import (
    matrices,
    matrices_of_xyzw,
    quats_wxyz,
)
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    moving_joints,
    reachable_links,
    settable_positions,
    tensor_along_link,
    unit,
    unreachable_joints,
    vec3,
)
from urdf_usd.conformance.engines.surfaces import hull_surface, primitive_surface
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
    Vec3,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation
from urdf_usd.installation import distribution_of

# The wheels of `pybullet` are for Python 3.11 alone.
_INSTALL = "pip install pybullet (Python 3.11) or pybullet-arm64 (the same for later versions)"
_STEPS = (strip_shapes, complete_inertials, name_robot, add_missing_limits)
# Neither of PyBullet's functions that set a joint has any effect on a planar one.
_IMMOVABLE = frozenset({JointType.PLANAR})
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
# In an OBJ file: faces, statements that begin a group, and faces with one or two
# corners.
_FACE = re.compile(rb"[\n\r][ \t]*+f[ \t]")
_GROUP = re.compile(rb"[\n\r][ \t]*+[go][ \t]")
_SHORT_FACE = re.compile(rb"[\n\r][ \t]*+f(?:[ \t]++[^\s]++){0,2}[ \t]*+[\n\r]")
_SHAPES = {Quantity.COLLISION, Quantity.VISUAL}


class PybulletEngine(Struct, frozen=True):
    """Reads a URDF with Bullet's importer."""

    name: str = "pybullet"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version."""
        if find_spec("pybullet") is None:
            return Unavailable("PyBullet is not installed", _INSTALL)
        found = distribution_of("pybullet")
        return Available(found[1] if found else "of unknown version")

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            AbstentionError: PyBullet refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        with loaded(urdf) as body:
            joints = _joints(body, urdf.limits_unknown)
            blocked = unreachable_joints(joints, request.configurations, _IMMOVABLE)
            reach = reachable_links(body.links[0], joints, blocked)
            frames, pose_notes = _frames(body, joints, reach, request.configurations)
            links = _links(body, urdf)
        massive = {link.name for link in links if link.mass is not None}
        states = _STATES if frames else _STATES - {Quantity.FRAMES}
        shapes = _shapes(request)
        return Observation(
            engine=self.name,
            robot=None if urdf.robot_unnamed else body.robot,
            root=body.links[0],
            states=states if shapes is None else states | _SHAPES,
            links=links,
            joints=joints,
            joint_order=moving_joints(joints),
            frames=frames,
            unread_masses=urdf.unread_masses,
            notes=(*urdf.notes, *blocked_note("PyBullet", blocked), *pose_notes),
            invented=tuple(sorted(urdf.without_inertial & massive)),
            shapes=shapes or (),
        )


def _shapes(request: Request) -> tuple[ShapeObservation, ...] | None:
    """State shapes, from another copy; None if PyBullet rejects that."""
    for loads in (_has_groups, lambda *_: False):
        separated: dict[str, str] = {}
        steps = (name_robot, partial(_separate_meshes, separated))
        text = prepare_shapes(request, loads, *steps)
        try:
            with loaded(text.urdf) as body:
                return (*text.unread, *_shapes_of(body, separated))
        except AbstentionError:
            continue
    return None


def _shapes_of(body: Body, separated: Mapping[str, str]) -> Iterator[ShapeObservation]:
    """State the shapes of a robot.

    Args:
        body: The robot, whose links have no inertial.
        separated: Links that were added for one collision mesh each, and their link in
            the file.
    """
    visuals = body.visuals()
    for index, link in enumerate(body.links, start=BASE):
        if link in separated:
            yield from _hull_observations(body, index, separated[link])
            continue
        shown = [row for row in visuals if row.link == index]
        yield from _shape_observations(link, Role.COLLISION, body.colliders(index))
        yield from _shape_observations(link, Role.VISUAL, shown)


def _has_groups(role: Role, file: Path) -> bool:
    """Whether PyBullet makes several convex hulls of a mesh file.

    Of other files it makes one hull, or none. A face with fewer than three corners
    crashes it.
    """
    if role is not Role.COLLISION or file.suffix.lower() != ".obj":
        return False
    text = b"\n%b\n" % file.read_bytes()
    face = _FACE.search(text)
    return (
        face is not None
        and _GROUP.search(text, face.end()) is not None
        and _SHORT_FACE.search(text) is None
    )


def _separate_meshes(separated: dict[str, str], robot: UrdfElement) -> None:
    """Move every collision mesh to a link of its own, without an origin.

    Args:
        separated: Receives the names of these links, and of those that had the meshes.
        robot: The copy.
    """
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


def _hull_observations(body: Body, index: int, link: str) -> Iterator[ShapeObservation]:
    """State the convex hulls that PyBullet makes of one collision mesh.

    Its hulls have points that are rounded to 1/10216 of their extent.
    """
    position, quat_xyzw = body.joint_frame(index)
    rotation = matrices_of_xyzw(quat_xyzw)
    hulls = body.hulls(index)
    for number, points in enumerate(hulls):
        yield ShapeObservation(
            link=link,
            role=Role.COLLISION,
            source=f"{link} collision mesh {index} hull {number}",
            name=ShapeKind.MESH.value,
            kind=ShapeKind.MESH,
            position=vec3(position),
            surface=hull_surface(points @ rotation.T + position),
            pieces=len(hulls),
            hull=True,
        )


def _joints(body: Body, limits_unknown: frozenset[str]) -> tuple[JointObservation, ...]:
    # Axes are reported in inertial frames, in the length that the file gives.
    return tuple(
        _joint(row, body, unit(to_link @ row.axis), limits_unknown)
        for row, to_link in zip(body.joint_rows, body.axes[1:], strict=True)
    )


def _joint(
    row: JointRow, body: Body, axis: Vec3 | None, limits_unknown: frozenset[str]
) -> JointObservation:
    name, child, parent = row.name, row.child, body.links[row.parent + 1]
    kind = row.type
    if kind not in {JointType.REVOLUTE, JointType.PRISMATIC}:
        return JointObservation(name, kind, parent, child)
    if name in limits_unknown:
        return JointObservation(
            name,
            kind,
            parent,
            child,
            damping=row.damping,
            friction=row.friction,
            axis=axis,
            note="The file has no <limit>.",
        )
    lower, upper = row.lower, row.upper
    unlimited = lower > upper
    if unlimited:
        lower, upper = -math.inf, math.inf
        kind = JointType.CONTINUOUS if kind is JointType.REVOLUTE else kind
    return JointObservation(
        name,
        kind,
        parent,
        child,
        lower=lower,
        upper=upper,
        effort=row.effort,
        velocity=row.velocity,
        damping=row.damping,
        friction=row.friction,
        axis=axis,
        note=_note(unlimited=unlimited, effort=row.effort, velocity=row.velocity),
    )


def _note(*, unlimited: bool, effort: float, velocity: float) -> str | None:
    notes = []
    if unlimited:
        notes.append("PyBullet does not distinguish continuous and unlimited revolute joints.")
    if not effort or not velocity:
        notes.append("PyBullet reads an absent effort or velocity as 0.")
    return " ".join(notes) or None


def _links(body: Body, urdf: UrdfText) -> tuple[LinkObservation, ...]:
    return tuple(
        LinkObservation(link, _mass(link, row, axes, urdf))
        for link, row, axes in zip(body.links, body.link_rows, body.axes, strict=True)
    )


def _mass(
    link: str, row: LinkRow, axes: NDArray[np.float64], urdf: UrdfText
) -> MassProperties | None:
    if link in urdf.mass_unknown or (row.mass == 0 and not any(row.moments)):
        return None
    return MassProperties(
        mass=row.mass,
        center=vec3(row.center),
        inertia=None if link in urdf.inertia_unknown else tensor_along_link(row.moments, axes),
    )


def _frames(
    body: Body,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> tuple[Frames | None, tuple[str, ...]]:
    """Return poses relative to the root link; None, with a note, if not stated."""
    numbers = [body.links.index(link) for link in links]
    try:
        centers, quats_xyzw = _poses(body, joints, numbers, configurations)
    except PoseError as error:
        reason = f"PyBullet states no poses of {len(body.links)} links: {error}"
        return None, (reason,)
    in_world = matrices_of_xyzw(quats_xyzw) @ body.axes[numbers].swapaxes(-1, -2)
    offsets = np.array([body.link_rows[number].center for number in numbers])
    origins = centers - (in_world @ offsets[..., np.newaxis])[..., 0]
    # The root is the same in all configurations.
    to_world = in_world[0, 0]
    positions = (origins - origins[:, :1]) @ to_world
    rotations = to_world.T @ in_world
    for array in (positions, rotations):
        array.flags.writeable = False
    return Frames(links, positions, rotations, configurations.labels), ()


def _poses(
    body: Body,
    joints: tuple[JointObservation, ...],
    numbers: list[int],
    configurations: Configurations,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inertial frames in the world, (K, L, 3) origins and (K, L, 4) quats xyzw.

    Args:
        body: The robot.
        joints: All of its joints.
        numbers: Indices of the links, the root first.
        configurations: The configurations.

    Raises:
        PoseError: PyBullet refuses, or states a quaternion that is not finite.
    """
    shape = configurations.count, len(numbers)
    centers, quats_xyzw = np.empty((*shape, 3)), np.empty((*shape, 4))
    # Nothing is stepped in time, so the root stays.
    centers[:, 0], quats_xyzw[:, 0] = body.base_pose()
    moving = [number - 1 for number in numbers[1:]]
    settable, targets = _targets(body, joints, configurations)
    for row in range(configurations.count if moving else 0):
        if settable:
            body.set_joints(settable, targets[row])
        poses = body.link_poses(moving)
        centers[row, 1:] = [position for position, _ in poses]
        quats_xyzw[row, 1:] = [quat for _, quat in poses]
    if not np.isfinite(quats_xyzw).all():
        raise PoseError("an orientation is not finite, as below a zero axis")
    return centers, quats_xyzw


def _targets(
    body: Body, joints: tuple[JointObservation, ...], configurations: Configurations
) -> tuple[list[int], list[list[list[float]]]]:
    """Return the joints that PyBullet can set, and their targets per configuration."""
    indices, columns = [], []
    targets_of = settable_positions(joints, configurations)
    for index, joint in enumerate(joints):
        if joint.type in _IMMOVABLE or joint.name not in targets_of:
            continue
        values = targets_of[joint.name]
        if joint.type is JointType.SPHERICAL:
            # PyBullet rotates the link about the axes of its inertial frame.
            to_link = body.axes[index + 1]
            turned = quats_wxyz(to_link.T @ matrices(values) @ to_link)
            values = np.roll(turned, -1, axis=1)
        indices.append(index)
        columns.append(values.tolist())
    return indices, [list(row) for row in zip(*columns, strict=True)]


def _shape_observations(
    link: str, role: Role, rows: Sequence[ShapeRow]
) -> Iterator[ShapeObservation]:
    """State the shapes of a link that has no inertial, so that poses are in its frame.

    PyBullet returns file and scale of a mesh, but not its surface.
    """
    for index, row in enumerate(rows):
        transform = np.eye(4)
        transform[:3, :3] = matrices_of_xyzw(row.quat_xyzw)
        transform[:3, 3] = row.position
        # Other engines do not state a shape without extent.
        sized = bool(row.size) and min(row.size) > 0
        surface = primitive_surface(row.kind, row.size, transform) if sized else None
        yield ShapeObservation(
            link=link,
            role=role,
            source=f"{link} {role} {index}",
            name=row.kind.value,
            kind=row.kind,
            size=row.size,
            position=vec3(row.position),
            surface=surface,
            stated=surface is not None,
        )
