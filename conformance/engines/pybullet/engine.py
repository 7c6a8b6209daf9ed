"""What PyBullet reads in a URDF.

PyBullet reports poses and inertia in the *inertial* frame of each link; link frames are
worked out here in double precision, because its own link frames pass through float32.
"""

from __future__ import annotations

import importlib.metadata
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.prepared_urdf.shapes import prepare_shapes
from urdf_usd.conformance.engines.prepared_urdf.text import (
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
    Side,
    Unavailable,
)
from urdf_usd.conformance.engines.pybullet.loading import BASE, loaded
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    links_in_reach,
    tensor_along_link,
    told_positions,
    unit,
    unreachable_joints,
    vec3,
)
from urdf_usd.conformance.engines.surfaces import primitive_surface
from urdf_usd.conformance.observation.robot import (
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from urdf_usd.conformance.engines.prepared_urdf.text import UrdfText
    from urdf_usd.conformance.engines.protocol import Request
    from urdf_usd.conformance.engines.pybullet.loading import Body
    from urdf_usd.conformance.observation.robot import Configurations, Vec3


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
_SHAPES = {Quantity.COLLISION, Quantity.VISUAL}


@dataclass(frozen=True, slots=True)
class PybulletEngine:
    """Asks Bullet's URDF importer."""

    name: str = "pybullet"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Say which version is installed."""
        try:
            return Available(importlib.metadata.version("pybullet"))
        except importlib.metadata.PackageNotFoundError:
            return Unavailable("pybullet is not installed", "pip install pybullet")

    def observe(self, request: Request) -> Observation:
        """Read the file and state what it says.

        Raises:
            AbstentionError: PyBullet refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        with loaded(urdf) as body:
            joints = _joints(body, urdf.limits_unknown)
            blocked = unreachable_joints(joints, request.configurations, _IMMOVABLE)
            reach = links_in_reach(body.links[0], joints, blocked)
            frames, silence = _frames(body, joints, reach, request.configurations)
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
            frames=frames,
            notes=(*urdf.notes, *blocked_note("PyBullet", blocked), *silence),
            invented=tuple(sorted(urdf.without_inertial & massive)),
            shapes=shapes or (),
        )


def _shapes(request: Request) -> tuple[ShapeObservation, ...] | None:
    """State shapes as PyBullet reads them in another copy; None if it refuses that."""
    text = prepare_shapes(request, frozenset(), name_robot)
    found = list(text.unread)
    try:
        with loaded(text.urdf) as body:
            visuals = body.ask("getVisualShapeData")
            for index, link in enumerate(body.links, start=BASE):
                colliders = body.ask("getCollisionShapeData", index)
                shown = tuple(row for row in visuals if row[1] == index)
                for role, rows in (Role.COLLISION, colliders), (Role.VISUAL, shown):
                    found += state_link(body.engine, link, role, rows)
    except AbstentionError:
        return None
    return tuple(found)


def _joints(body: Body, limits_unknown: frozenset[str]) -> tuple[JointObservation, ...]:
    # Axes are reported in inertial frames, in the length that the file gives.
    return tuple(
        _joint(row, body, unit(to_link @ row[13]), limits_unknown)
        for row, to_link in zip(body.joint_rows, body.axes.as_matrix()[1:], strict=True)
    )


def _joint(
    row: tuple[Any, ...],
    body: Body,
    axis: Vec3 | None,
    limits_unknown: frozenset[str],
) -> JointObservation:
    name, child, parent = row[1].decode(), row[12].decode(), body.links[row[16] + 1]
    kinds = {
        body.engine.JOINT_REVOLUTE: JointType.REVOLUTE,
        body.engine.JOINT_PRISMATIC: JointType.PRISMATIC,
        body.engine.JOINT_SPHERICAL: JointType.SPHERICAL,
        body.engine.JOINT_PLANAR: JointType.PLANAR,
        body.engine.JOINT_FIXED: JointType.FIXED,
    }
    kind = kinds[row[2]]
    if kind not in {JointType.REVOLUTE, JointType.PRISMATIC}:
        return JointObservation(name, kind, parent, child)
    if name in limits_unknown:
        return JointObservation(
            name, kind, parent, child, axis=axis, note="The file has no <limit>."
        )
    lower, upper = float(row[8]), float(row[9])
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
        effort=float(row[10]),
        velocity=float(row[11]),
        damping=float(row[6]),
        friction=float(row[7]),
        axis=axis,
        note=_note(unlimited=unlimited, effort=row[10], velocity=row[11]),
    )


def _note(*, unlimited: bool, effort: float, velocity: float) -> str | None:
    notes = []
    if unlimited:
        notes.append(
            "PyBullet writes unlimited as a lower limit above the upper one, for"
            " revolute and continuous joints alike."
        )
    if not effort or not velocity:
        notes.append("PyBullet reads an absent effort or velocity as 0.")
    return " ".join(notes) or None


def _links(body: Body, urdf: UrdfText) -> tuple[LinkObservation, ...]:
    return tuple(
        LinkObservation(link, _mass(link, row, axes, urdf))
        for link, row, axes in zip(
            body.links, body.link_rows, body.axes.as_matrix(), strict=True
        )
    )


def _mass(
    link: str, row: tuple[Any, ...], axes: NDArray[np.float64], urdf: UrdfText
) -> MassProperties | None:
    mass, moments, center = row[0], row[2], row[3]
    if link in urdf.mass_unknown or (mass == 0 and not any(moments)):
        return None
    return MassProperties(
        mass=float(mass),
        center=vec3(center),
        inertia=None
        if link in urdf.inertia_unknown
        else tensor_along_link(moments, axes),
    )


def _frames(
    body: Body,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> tuple[Frames | None, tuple[str, ...]]:
    """Poses relative to the root link; None, with a note, if there are none."""
    numbers = [body.links.index(link) for link in links]
    try:
        centers, quats_xyzw = _poses(body, joints, numbers, configurations)
    except body.engine.error as error:
        reason = f"PyBullet states no poses of {len(body.links)} links: {error}"
        return None, (reason,)
    in_world = Rotation.from_quat(quats_xyzw.reshape(-1, 4))
    own = np.tile(numbers, configurations.count)
    rotation = in_world * body.axes[own].inv()
    offsets = rotation.apply(np.array([row[3] for row in body.link_rows])[own])
    origins = centers - offsets.reshape(centers.shape)
    # The root is the same in all configurations.
    to_root = rotation[0].inv()
    relative = to_root.apply((origins - origins[:, :1]).reshape(-1, 3))
    positions = relative.reshape(centers.shape)
    rotations = (to_root * rotation).as_matrix().reshape(*centers.shape, 3)
    for array in (positions, rotations):
        array.flags.writeable = False
    return Frames(links, positions, rotations, configurations.labels), ()


def _poses(
    body: Body,
    joints: tuple[JointObservation, ...],
    numbers: list[int],
    configurations: Configurations,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inertial frames in the world, (K, L, 3) origins and (K, L, 4) quaternions xyzw.

    Args:
        body: The robot.
        joints: All of its joints.
        numbers: Of the links, of which the root is the first.
        configurations: What to bring the joints to.
    """
    shape = configurations.count, len(numbers)
    centers, quats_xyzw = np.empty((*shape, 3)), np.empty((*shape, 4))
    # No time passes, so it stays.
    centers[:, 0], quats_xyzw[:, 0] = body.ask("getBasePositionAndOrientation")
    moving = [number - 1 for number in numbers[1:]]
    settable, targets = _targets(body, joints, configurations)
    for row in range(configurations.count if moving else 0):
        if settable:
            body.ask("resetJointStatesMultiDof", settable, targets[row])
        # 1 computes forward kinematics; without it the poses are those of the last step
        states = body.ask("getLinkStates", moving, computeForwardKinematics=1)
        centers[row, 1:] = [state[0] for state in states]
        quats_xyzw[row, 1:] = [state[1] for state in states]
    return centers, quats_xyzw


def _targets(
    body: Body, joints: tuple[JointObservation, ...], configurations: Configurations
) -> tuple[list[int], list[list[list[float]]]]:
    """Return which joints PyBullet can set, and to what in each configuration."""
    indices, columns = [], []
    told = told_positions(joints, configurations)
    for index, joint in enumerate(joints):
        if joint.type in _IMMOVABLE or joint.name not in told:
            continue
        values = told[joint.name]
        if joint.type is JointType.SPHERICAL:
            # PyBullet turns the link about the axes of its inertial frame.
            to_link = body.axes[index + 1]
            given = Rotation.from_quat(values, scalar_first=True)
            values = (to_link.inv() * given * to_link).as_quat()
        indices.append(index)
        columns.append(values.tolist())
    # PyBullet dies of tuples here.
    return indices, [list(row) for row in zip(*columns, strict=True)]


# Where kind, dimensions, position and orientation are in a row of either function.
_KIND, _SIZE, _POSITION, _QUAT_XYZW = 2, 3, 5, 6


def state_link(
    engine: Any,  # noqa: ANN401  untyped engine
    link: str,
    role: Role,
    rows: tuple[tuple[Any, ...], ...],
) -> Iterator[ShapeObservation]:
    """State the shapes of a link that has no inertial, so that poses are in its frame.

    Args:
        engine: The ``pybullet`` module.
        link: URDF name.
        role: What the shapes are for.
        rows: What ``getCollisionShapeData`` or ``getVisualShapeData`` says of it.
    """
    for index, row in enumerate(rows):
        kind, size = _primitive(engine, row[_KIND], row[_SIZE])
        transform = np.eye(4)
        transform[:3, :3] = Rotation.from_quat(row[_QUAT_XYZW]).as_matrix()
        transform[:3, 3] = row[_POSITION]
        # A shape without extent is none to everybody else.
        sized = bool(size) and min(size) > 0
        surface = primitive_surface(kind, size, transform) if sized else None
        yield ShapeObservation(
            link=link,
            role=role,
            source=f"{link} {role} {index}",
            name=kind.value,
            kind=kind,
            size=size,
            position=vec3(row[_POSITION]),
            surface=surface,
            stated=surface is not None,
        )


def _primitive(
    engine: Any,  # noqa: ANN401  untyped engine
    kind: int,
    size: tuple[float, float, float],
) -> tuple[ShapeKind, tuple[float, ...]]:
    """Return kind and size; PyBullet states lengths before radii."""
    length, radius, _ = size
    return {
        engine.GEOM_BOX: (ShapeKind.BOX, size),
        engine.GEOM_SPHERE: (ShapeKind.SPHERE, size[:1]),
        engine.GEOM_CYLINDER: (ShapeKind.CYLINDER, (radius, length)),
        engine.GEOM_CAPSULE: (ShapeKind.CAPSULE, (radius, length)),
    }.get(kind, (ShapeKind.OTHER, ()))
