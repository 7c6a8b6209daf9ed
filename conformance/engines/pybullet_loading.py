"""Typed access to PyBullet, and robots loaded into it.

Nothing outside of this module calls the untyped ``pybullet``. PyBullet reads inertia
from the file only by a flag, caches files that it has read, and prints why it refuses
a file instead of putting it into the exception.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pybullet
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.prepared_urdf import UrdfText
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.rotations import matrices_of_xyzw
from urdf_usd.conformance.observation.robot import JointType, Vec3
from urdf_usd.conformance.observation.shapes import ShapeKind

Points: TypeAlias = NDArray[np.float64]
Quat: TypeAlias = tuple[float, float, float, float]

BASE = -1
"""PyBullet's index of the root link."""


class PoseError(Exception):
    """PyBullet does not state the poses of the links."""


class JointRow(Struct, frozen=True):
    """What ``getJointInfo`` returns about a joint; SI units.

    Attributes:
        name: URDF name.
        type: Kind of motion.
        damping: Viscous damping.
        friction: Coulomb friction.
        lower: Lower limit; above the upper one for no limits.
        upper: Upper limit.
        effort: Largest force or torque; 0 for none.
        velocity: Largest speed; 0 for none.
        child: Name of the child link.
        axis: Axis in the child's inertial frame, in the length of the file.
        parent: Index of the parent link.
    """

    name: str
    type: JointType
    damping: float
    friction: float
    lower: float
    upper: float
    effort: float
    velocity: float
    child: str
    axis: Vec3
    parent: int


class LinkRow(Struct, frozen=True):
    """What ``getDynamicsInfo`` returns about a link; SI units.

    Attributes:
        mass: [kg].
        moments: Principal moments of inertia [kg m^2].
        center: Centre of mass in the link frame [m].
        quat_xyzw: Rotation from the inertial frame to the link frame.
    """

    mass: float
    moments: Vec3
    center: Vec3
    quat_xyzw: Quat


class ShapeRow(Struct, frozen=True):
    """What ``getCollisionShapeData`` or ``getVisualShapeData`` returns about a shape.

    Attributes:
        link: Index of the link.
        kind: Kind of shape.
        size: As in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`;
            empty for meshes and others.
        position: Origin in the inertial frame of the link [m].
        quat_xyzw: Rotation to that frame.
    """

    link: int
    kind: ShapeKind
    size: tuple[float, ...]
    position: Vec3
    quat_xyzw: Quat


class Body(Struct, frozen=True, eq=False):
    """One robot in a PyBullet world.

    Attributes:
        client: Number of the world.
        index: Number of the robot in it.
        robot: Name of the robot.
        links: Names; PyBullet's link index is the position here minus one.
        joint_rows: One per joint.
        link_rows: One per link.
        axes: (L, 3, 3) rotation of each link from its inertial frame to its own.
    """

    client: int
    index: int
    robot: str
    links: tuple[str, ...]
    joint_rows: tuple[JointRow, ...]
    link_rows: tuple[LinkRow, ...]
    axes: NDArray[np.float64]

    def colliders(self, link: int) -> list[ShapeRow]:
        """Return the collision shapes of the link of an index."""
        pybullet = _pybullet()
        rows = pybullet.getCollisionShapeData(self.index, link, physicsClientId=self.client)
        return [_shape_row(pybullet, row) for row in rows]

    def hulls(self, link: int) -> tuple[Points, ...]:
        """Return the points of each convex hull of the only collider of a link [m].

        (N, 3) in the collider's own frame, scaled. PyBullet's indices of hulls count
        within one collider, which therefore has to be alone in its link, and not moved.
        """
        pybullet = _pybullet()
        hulls: list[Points] = []
        while True:
            count, points = pybullet.getMeshData(
                self.index,
                link,
                collisionShapeIndex=len(hulls),
                physicsClientId=self.client,
            )
            if not count:
                return tuple(hulls)
            hulls.append(np.array(points, np.float64))

    def joint_frame(self, link: int) -> tuple[Vec3, Quat]:
        """Return position and quaternion xyzw of the joint of a link in its parent.

        Both links must have no inertial, so that the poses are those of their frames.
        """
        row = _pybullet().getJointInfo(self.index, link, physicsClientId=self.client)
        # PyBullet states the rotation of the parent in the child.
        x, y, z, w = row[15]
        return row[14], (-x, -y, -z, w)

    def visuals(self) -> list[ShapeRow]:
        """Return the visual shapes of all links."""
        pybullet = _pybullet()
        rows = pybullet.getVisualShapeData(self.index, physicsClientId=self.client)
        return [_shape_row(pybullet, row) for row in rows]

    def base_pose(self) -> tuple[Vec3, Quat]:
        """Return position and quaternion xyzw of the root's inertial frame.

        Raises:
            PoseError: PyBullet refuses.
        """
        with _pose_errors() as pybullet:
            position, quat_xyzw = pybullet.getBasePositionAndOrientation(
                self.index, physicsClientId=self.client
            )
        return position, quat_xyzw

    def set_joints(self, joints: Sequence[int], targets: Sequence[Sequence[float]]) -> None:
        """Set the positions of joints by their indices.

        Raises:
            PoseError: PyBullet refuses.
        """
        with _pose_errors() as pybullet:
            # PyBullet crashes on tuples here.
            pybullet.resetJointStatesMultiDof(
                self.index,
                list(joints),
                [list(target) for target in targets],
                physicsClientId=self.client,
            )

    def link_poses(self, links: Sequence[int]) -> list[tuple[Vec3, Quat]]:
        """Return position and quaternion xyzw of the inertial frames of links.

        Raises:
            PoseError: PyBullet refuses, as it does beyond a number of links.
        """
        with _pose_errors() as pybullet:
            # Without forward kinematics the poses are those of the last time step.
            states = pybullet.getLinkStates(
                self.index,
                list(links),
                computeForwardKinematics=1,
                physicsClientId=self.client,
            )
        return [(state[0], state[1]) for state in states]


@contextlib.contextmanager
def loaded(urdf: UrdfText) -> Iterator[Body]:
    """Load a prepared copy into a world that is empty again after the context.

    Raises:
        AbstentionError: PyBullet refuses the copy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pybullet-") as folder,
        captured() as printed,
    ):
        pybullet = _pybullet()
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
            reason = _reason(printed(), copy) or str(error)
            # Parts of the robot may have been added before the error.
            pybullet.resetSimulation(physicsClientId=client)
            raise AbstentionError(reason) from error
        try:
            yield _body(pybullet, client, index)
        finally:
            pybullet.removeBody(index, physicsClientId=client)


@lru_cache(maxsize=1)
def world() -> int:
    """Return the number of a world, which takes longer to make than to empty."""
    pybullet = _pybullet()
    return int(pybullet.connect(pybullet.DIRECT))


@contextlib.contextmanager
def _pose_errors() -> Iterator[ModuleType]:
    pybullet = _pybullet()
    try:
        yield pybullet
    except pybullet.error as error:
        raise PoseError(str(error)) from error


def _pybullet() -> ModuleType:
    # Importing it prints to standard output.

    module: ModuleType = pybullet
    return module


def _body(pybullet: ModuleType, client: int, index: int) -> Body:
    root, robot = pybullet.getBodyInfo(index, physicsClientId=client)
    count = pybullet.getNumJoints(index, physicsClientId=client)
    kinds = {
        pybullet.JOINT_REVOLUTE: JointType.REVOLUTE,
        pybullet.JOINT_PRISMATIC: JointType.PRISMATIC,
        pybullet.JOINT_SPHERICAL: JointType.SPHERICAL,
        pybullet.JOINT_PLANAR: JointType.PLANAR,
        pybullet.JOINT_FIXED: JointType.FIXED,
    }
    joints = []
    for joint in range(count):
        row = pybullet.getJointInfo(index, joint, physicsClientId=client)
        joints.append(
            JointRow(
                name=row[1].decode(),
                type=kinds[row[2]],
                damping=float(row[6]),
                friction=float(row[7]),
                lower=float(row[8]),
                upper=float(row[9]),
                effort=float(row[10]),
                velocity=float(row[11]),
                child=row[12].decode(),
                axis=row[13],
                parent=row[16],
            )
        )
    links = []
    for link in range(BASE, count):
        row = pybullet.getDynamicsInfo(index, link, physicsClientId=client)
        links.append(LinkRow(float(row[0]), row[2], row[3], row[4]))
    return Body(
        client=client,
        index=index,
        robot=robot.decode(),
        links=(root.decode(), *(row.child for row in joints)),
        joint_rows=tuple(joints),
        link_rows=tuple(links),
        axes=matrices_of_xyzw([row.quat_xyzw for row in links]),
    )


def _shape_row(pybullet: ModuleType, row: tuple[Any, ...]) -> ShapeRow:
    link, kind, dimensions, position, quat_xyzw = (row[at] for at in (1, 2, 3, 5, 6))
    # Lengths come before radii.
    length, radius, _ = dimensions
    kind, size = {
        pybullet.GEOM_BOX: (ShapeKind.BOX, dimensions),
        pybullet.GEOM_SPHERE: (ShapeKind.SPHERE, dimensions[:1]),
        pybullet.GEOM_CYLINDER: (ShapeKind.CYLINDER, (radius, length)),
        pybullet.GEOM_CAPSULE: (ShapeKind.CAPSULE, (radius, length)),
    }.get(kind, (ShapeKind.OTHER, ()))
    return ShapeRow(link, kind, size, position, quat_xyzw)


def _reason(printed: str, copy: Path) -> str:
    """Return what PyBullet printed, without its source positions and the copy's path.

    Args:
        printed: Standard output and standard error.
        copy: The file that was loaded.
    """
    text = re.sub(r"b3(?:Error|Warning|Printf)\[[^\]]*\]:", "\n", printed)
    lines = (line.strip() for line in text.replace(str(copy), copy.name).splitlines())
    kept = (line for line in lines if line and "build time" not in line)
    return "; ".join(dict.fromkeys(kept))
