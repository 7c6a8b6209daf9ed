"""Rotations, poses and inertia tensors as numpy arrays.

A rotation matrix rotates child vectors into the parent; its columns are the child's
axes. Quaternions are unit quaternions (w, x, y, z).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot.model import Pose, Vec3, Vec4, Vec6
from urdf_usd.converter.robot.rigid import normalise_quat, rotation_rows

Matrix: TypeAlias = "NDArray[np.float64]"

# Error of an eigenvalue of a (3, 3) matrix, relative to the largest one.
_EIGENVALUE = 2.0**-50
# Cosines of the pitch below this are rounding noise.
_GIMBAL_LOCK = 1e-15


def rotation_from_quat_wxyz(quat_wxyz: Vec4) -> Matrix:
    """Return the (3, 3) rotation of a quaternion, which need not be normalised."""
    return np.array(rotation_rows(quat_wxyz))


def quat_wxyz_from_rotation(rotation: Matrix) -> Vec4:
    """Return the quaternion of a (3, 3) rotation, with w >= 0.

    The largest of the four candidates is the pivot, so no division is by a small
    number (Shepperd, "Quaternion from rotation matrix", 1978).
    """
    m = rotation
    trace = float(np.trace(m))
    squares = np.array([trace, m[0, 0], m[1, 1], m[2, 2]])
    pivot = int(np.argmax(squares))
    if pivot == 0:
        q = np.array([1 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    else:
        i = pivot - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        q = np.empty(4)
        q[0] = m[k, j] - m[j, k]
        q[1 + i] = 1 + m[i, i] - m[j, j] - m[k, k]
        q[1 + j] = m[j, i] + m[i, j]
        q[1 + k] = m[k, i] + m[i, k]
    w, x, y, z = q.tolist()
    return normalise_quat((w, x, y, z))


def rotations_from_quats_wxyz(quats_wxyz: Matrix) -> Matrix:
    """Return the (K, 3, 3) rotations of (K, 4) quaternions."""
    lengths = np.linalg.norm(quats_wxyz, axis=1, keepdims=True)
    w, x, y, z = (quats_wxyz / lengths).T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def quats_wxyz_from_rotations(rotations: Matrix) -> Matrix:
    """Return the (K, 4) quaternions of (K, 3, 3) rotations, with w >= 0."""
    m = np.moveaxis(rotations, 0, -1)
    diagonal = m[0, 0], m[1, 1], m[2, 2]
    trace = diagonal[0] + (diagonal[1] + diagonal[2])
    quats = np.empty((4, 4, len(rotations)))
    quats[0, 0] = 1 + trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        quats[0, 1 + i] = quats[1 + i, 0] = m[k, j] - m[j, k]
        quats[1 + i, 1 + i] = 1 + m[i, i] - m[j, j] - m[k, k]
        quats[1 + i, 1 + j] = m[j, i] + m[i, j]
        quats[1 + i, 1 + k] = m[k, i] + m[i, k]
    pivots = np.argmax(np.stack([trace, *diagonal]), axis=0)
    chosen = quats[pivots, :, np.arange(len(rotations))]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)
    return np.where(chosen[:, :1] < 0, -chosen, chosen) + 0.0


def rpy_from_rotation(rotation: Matrix) -> Vec3:
    """Return roll, pitch, yaw [rad] of a (3, 3) rotation; roll is 0 at gimbal lock.

    Near gimbal lock, roll is ill-conditioned. Pitch and yaw are computed after undoing
    that roll, so that the three together are accurate.
    """
    lock = np.hypot(rotation[2, 1], rotation[2, 2]) < _GIMBAL_LOCK
    roll = 0.0 if lock else float(np.arctan2(rotation[2, 1], rotation[2, 2]))
    cos_roll, sin_roll = np.cos(roll), np.sin(roll)
    second = rotation[:, 1] * cos_roll - rotation[:, 2] * sin_roll
    third = rotation[:, 1] * sin_roll + rotation[:, 2] * cos_roll
    pitch = float(np.arctan2(-rotation[2, 0], third[2]))
    yaw = float(np.arctan2(-second[0], second[1]))
    return roll, pitch, yaw


def rotation_about(axis: Vec3, angles: Matrix) -> Matrix:
    """Return (K, 3, 3) rotations about a unit axis by (K,) angles [rad]."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sin = np.sin(angles)[:, None, None]
    # 1 - cos, without cancellation at small angles
    versine = 2 * np.sin(np.asarray(angles) / 2)[:, None, None] ** 2
    rotations: Matrix = np.eye(3) + sin * cross + versine * (cross @ cross)
    return rotations


def transform_from_pose(pose: Pose) -> Matrix:
    """Return the (4, 4) homogeneous transform of a pose, child to parent."""
    transform = np.eye(4)
    transform[:3, :3] = rotation_from_quat_wxyz(pose.quat_wxyz)
    transform[:3, 3] = pose.position
    return transform


def pose_from_transform(transform: Matrix) -> Pose:
    """Return the pose of a (4, 4) rigid transform."""
    x, y, z = (float(c) + 0.0 for c in transform[:3, 3])
    return Pose((x, y, z), quat_wxyz_from_rotation(transform[:3, :3]))


def inverse_transform(transform: Matrix) -> Matrix:
    """Return the inverse of (..., 4, 4) rigid transforms."""
    invert_pose = np.zeros_like(transform)
    rotation = np.swapaxes(transform[..., :3, :3], -1, -2)
    invert_pose[..., :3, :3] = rotation
    invert_pose[..., :3, 3] = -np.einsum("...ij,...j->...i", rotation, transform[..., :3, 3])
    invert_pose[..., 3, 3] = 1.0
    return invert_pose


def inertia_tensor(inertia: Vec6) -> Matrix:
    """Return the (3, 3) tensor of (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2]."""
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def inertia_values(tensor: Matrix) -> Vec6:
    """Return (ixx, ixy, ixz, iyy, iyz, izz) of a symmetric (3, 3) tensor."""
    t = (tensor + tensor.T) / 2
    ixx, ixy, ixz, iyy, iyz, izz = (
        float(t[i, j]) + 0.0 for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )
    return ixx, ixy, ixz, iyy, iyz, izz


def diagonalise_inertia(tensor: Matrix) -> tuple[Vec3, Matrix]:
    """Diagonalise an inertia tensor.

    A diagonal tensor keeps its values and their order.

    Args:
        tensor: Symmetric (3, 3) [kg m^2].

    Returns:
        The three principal moments, and the (3, 3) rotation whose columns are the
        principal axes: tensor = R diag(moments) R^T.
    """
    if not np.any(tensor - np.diag(np.diagonal(tensor))):
        moments, axes = np.diagonal(tensor), np.eye(3)
    else:
        moments, axes = np.linalg.eigh((tensor + tensor.T) / 2)
        if np.linalg.det(axes) < 0:
            axes = axes * np.array([1.0, 1.0, -1.0])
        # The zero moment of a thin rod becomes rounding of either sign.
        rounding = _EIGENVALUE * np.abs(moments).max()
        moments = np.where(np.abs(moments) <= rounding, 0.0, moments)
    a, b, c = (float(m) + 0.0 for m in moments)
    return (a, b, c), axes


def shift_inertia_tensor(tensor: Matrix, mass: float, offset: Matrix) -> Matrix:
    """Move an inertia tensor from the centre of mass to a point ``offset`` away.

    Parallel axis theorem: I + m (|d|^2 1 - d d^T).

    Args:
        tensor: (3, 3) about the centre of mass [kg m^2].
        mass: [kg].
        offset: (3,) between the two points, in either direction [m].
    """
    shifted: Matrix = tensor + mass * (
        float(offset @ offset) * np.eye(3) - np.outer(offset, offset)
    )
    return shifted
