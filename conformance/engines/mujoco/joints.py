"""Joints of a MuJoCo model in the coordinates and velocities of the observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.observation.robot import COORDINATES, VELOCITIES, JointType

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class JointPlace:
    """Where the coordinates of a joint are in a model, and how they are written there.

    Attributes:
        name: URDF name.
        type: Kind of motion, not fixed.
        qpos: First position in ``qpos``.
        dofs: Where its velocities are in ``qvel``.
        rates: (v, d) matrix from velocities of the observation to the model's.
        plane: (2, 3) axes of the two slides of a planar joint; empty for others.
        origin: Position and quaternion wxyz of the joint's frame in the world, for a
            free joint, which counts from the world; empty for others.
    """

    name: str
    type: JointType
    qpos: int
    dofs: slice
    rates: NDArray[np.float64]
    plane: NDArray[np.float64]
    origin: NDArray[np.float64]

    def to_qpos(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Write (K, d) coordinates as the (K, n) positions of the model."""
        if len(self.plane):
            return np.column_stack([values[:, :3] @ self.plane.T, values[:, 3]])
        if len(self.origin):
            turn = _rotation(self.origin[3:])
            turned = turn * _rotation(values[:, 3:])
            position = self.origin[:3] + turn.apply(np.array(values[:, :3]))
            return np.column_stack([position, turned.as_quat(scalar_first=True)])
        return values

    def from_qpos(self, qpos: NDArray[np.float64]) -> tuple[float, ...]:
        """Read the coordinates of the joint from all positions of the model."""
        own = qpos[self.qpos :][: 3 if len(self.plane) else COORDINATES[self.type]]
        if len(self.plane):
            own = np.append(own[:2] @ self.plane, own[2])
        if len(self.origin):
            turn = _rotation(self.origin[3:]).inv()
            turned = turn * _rotation(own[3:])
            position = turn.apply(own[:3] - self.origin[:3])
            own = np.append(position, turned.as_quat(scalar_first=True))
        return tuple(own.tolist())

    def from_qvel(self, qvel: NDArray[np.float64]) -> tuple[float, ...]:
        """Read the velocities of the joint from all velocities of the model."""
        return tuple((self.rates.T @ qvel[self.dofs]).tolist())


def joint_place(
    model: Any,  # noqa: ANN401  untyped engine
    name: str,
    joint_type: JointType,
    first: int,
) -> JointPlace:
    """Find a joint in a model.

    Args:
        model: The ``mujoco.MjModel``.
        name: URDF name.
        joint_type: Kind of motion, not fixed.
        first: Index of its first joint in the model: a planar joint is two slides and
            a hinge there, a floating one is free, or three slides and a ball.
    """
    plane, origin = np.empty((0, 3)), np.empty(0)
    start = int(model.jnt_qposadr[first])
    if joint_type is JointType.PLANAR:
        plane = np.array(model.jnt_axis[first : first + 2])
    if model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE:
        origin = np.array(model.qpos0[start : start + COORDINATES[joint_type]])
    rates = _rates(joint_type, plane, origin)
    dof = int(model.jnt_dofadr[first])
    dofs = slice(dof, dof + len(rates))
    return JointPlace(name, joint_type, start, dofs, rates, plane, origin)


def _rates(
    joint_type: JointType, plane: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64]:
    matrix = np.eye(VELOCITIES[joint_type])
    if len(plane):
        matrix = np.zeros((3, 4))
        matrix[:2, :3] = plane
        matrix[2, 3] = 1.0
    if len(origin):
        matrix[:3, :3] = _rotation(origin[3:]).as_matrix()
    return matrix


def _rotation(quats_wxyz: NDArray[np.float64]) -> Rotation:
    # Copied: scipy refuses read-only arrays.
    return Rotation.from_quat(np.array(quats_wxyz), scalar_first=True)
