"""Rotations, poses and inertia: of single frames as tuples, of many as numpy arrays.

Plain sums round the same on all processors, unlike BLAS, which may fuse operations.
Quaternions are unit quaternions (w, x, y, z) that rotate child vectors into the parent;
returned ones have w >= 0. The columns of a rotation matrix are the child's axes. Inertia
is (ixx, ixy, ixz, iyy, iyz, izz), or a (3, 3) tensor.
"""

from __future__ import annotations

import math
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot.model import Pose, Vec3, Vec4, Vec6
from urdf_usd.converter.robot.topology import Tree

Matrix: TypeAlias = "NDArray[np.float64]"
_Number = TypeVar("_Number", float, NDArray[np.float64])
_Row: TypeAlias = tuple[_Number, _Number, _Number]

# Error of an eigenvalue of a (3, 3) matrix, relative to the largest one.
_EIGENVALUE = 2.0**-50
# Relative error of a rotated tensor, with margin.
_PRODUCT = 2.0**-48
# Cosines of the pitch below this are rounding noise.
_GIMBAL_LOCK = 1e-15


def quat_wxyz_from_rpy(rpy: Vec3) -> Vec4:
    """Return the quaternion of roll, pitch, yaw about fixed X, Y, Z [rad].

    R = Rz(yaw) Ry(pitch) Rx(roll), as the URDF specification has it.
    """
    cr, cp, cy = (math.cos(angle / 2) for angle in rpy)
    sr, sp, sy = (math.sin(angle / 2) for angle in rpy)
    return normalise_quat(
        (
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        )
    )


def normalise_quat(quat_wxyz: Vec4) -> Vec4:
    """Return the unit quaternion of a rotation, with w >= 0 and no negative zeros."""
    w, x, y, z = quat_wxyz
    length = _length(quat_wxyz) if w >= 0.0 else -_length(quat_wxyz)
    return w / length + 0.0, x / length + 0.0, y / length + 0.0, z / length + 0.0


def _length(quat_wxyz: Vec4) -> float:
    w, x, y, z = quat_wxyz
    return math.sqrt(w * w + x * x + y * y + z * z)


def rotation_rows(quat_wxyz: Vec4) -> tuple[Vec3, Vec3, Vec3]:
    """Return the rotation matrix of a quaternion, which need not be normalised."""
    length = _length(quat_wxyz)
    w, x, y, z = (component / length for component in quat_wxyz)
    return _rows(w, x, y, z)


def _rows(
    w: _Number, x: _Number, y: _Number, z: _Number
) -> tuple[_Row[_Number], _Row[_Number], _Row[_Number]]:
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def rotate_vector(quat_wxyz: Vec4, vector: Vec3) -> Vec3:
    x, y, z = vector
    first, second, third = (a * x + b * y + c * z for a, b, c in rotation_rows(quat_wxyz))
    return first, second, third


def transform_point(pose: Pose, point: Vec3) -> Vec3:
    x, y, z = rotate_vector(pose.quat_wxyz, point)
    a, b, c = pose.position
    return x + a, y + b, z + c


def compose(parent: Pose, child: Pose) -> Pose:
    """Return the pose of ``child``, given in the frame of ``parent``, one frame up."""
    a, b, c = transform_point(parent, child.position)
    return Pose((a + 0.0, b + 0.0, c + 0.0), multiply_quats(parent.quat_wxyz, child.quat_wxyz))


def invert_pose(pose: Pose) -> Pose:
    """Return the pose of the parent, given in the frame of the child."""
    w, x, y, z = pose.quat_wxyz
    back = normalise_quat((w, -x, -y, -z))
    a, b, c = rotate_vector(back, pose.position)
    return Pose((0.0 - a, 0.0 - b, 0.0 - c), back)


def multiply_quats(parent: Vec4, child: Vec4) -> Vec4:
    """Return the rotation ``parent`` after ``child``, as a unit quaternion wxyz."""
    a, b, c, d = parent
    w, x, y, z = child
    return normalise_quat(
        (
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        )
    )


def rest_poses(tree: Tree) -> dict[str, Pose]:
    """Return the pose of every link in the root, with all joints at zero."""
    poses = {tree.root: Pose()}
    for name in tree.links[1:]:
        joint = tree.parent_joint[name]
        poses[name] = compose(poses[joint.parent], joint.origin)
    return poses


def rotation_onto_axis(axis: Vec3) -> tuple[str, Vec4]:
    """Return the nearest of ``"X"``, ``"Y"`` and ``"Z"``, and the quaternion from it to ``axis``.

    UsdPhysics joints move about X, Y or Z of a joint frame. The nearest coordinate axis
    keeps the rotation small, and a coordinate axis itself, of either sign, gets an
    identity or a half turn, which float32 stores exactly.
    """
    index = max(range(3), key=lambda number: abs(axis[number]))
    after, last = (index + 1) % 3, (index + 2) % 3
    # Half of the smallest rotation from e to a: 1 + e.a, and e x a.
    sign = -1.0 if axis[index] < 0 else 1.0
    turn, half = [1.0 + abs(axis[index]), 0.0, 0.0, 0.0], [0.0] * 4
    turn[1 + after], turn[1 + last] = -sign * axis[last], sign * axis[after]
    w, x, y, z = turn
    if sign > 0:
        return "XYZ"[index], normalise_quat((w, x, y, z))
    # First half a turn about the next axis; the remaining rotation is below 90 deg.
    half[1 + after] = 1.0
    a, b, c, d = half
    return "XYZ"[index], multiply_quats((w, x, y, z), (a, b, c, d))


def rotate_inertia(inertia: Vec6, quat_wxyz: Vec4) -> Vec6:
    """Return a child's inertia along the axes of the parent [kg m^2]."""
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    rows = rotation_rows(quat_wxyz)
    a, b, c = (
        (
            x * ixx + y * ixy + z * ixz,
            x * ixy + y * iyy + z * iyz,
            x * ixz + y * iyz + z * izz,
        )
        for x, y, z in rows
    )
    f, g, h = rows
    return _dot(a, f), _dot(a, g), _dot(a, h), _dot(b, g), _dot(b, h), _dot(c, h)


def shift_inertia(inertia: Vec6, mass: float, offset: Vec3) -> Vec6:
    """Move inertia [kg m^2] from the centre of mass to a point ``offset`` [m] away.

    Parallel axis theorem: I + m (|d|^2 1 - d d^T).
    """
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    x, y, z = offset
    return (
        ixx + mass * (y * y + z * z),
        ixy - mass * (x * y),
        ixz - mass * (x * z),
        iyy + mass * (x * x + z * z),
        iyz - mass * (y * z),
        izz + mass * (x * x + y * y),
    )


def _dot(a: Vec3, b: Vec3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + 0.0


def rotation_from_quat_wxyz(quat_wxyz: Vec4) -> Matrix:
    return np.array(rotation_rows(quat_wxyz))


def quat_wxyz_from_rotation(rotation: Matrix) -> Vec4:
    """Return the quaternion of a (3, 3) rotation, with w >= 0."""
    w, x, y, z = quats_wxyz_from_rotations(rotation[np.newaxis])[0].tolist()
    return w, x, y, z


def rotations_from_quats_wxyz(quats_wxyz: Matrix) -> Matrix:
    """Return the (K, 3, 3) rotations of (K, 4) quaternions."""
    w, x, y, z = (quats_wxyz / np.linalg.norm(quats_wxyz, axis=1, keepdims=True)).T
    return np.stack([np.stack(row, axis=-1) for row in _rows(w, x, y, z)], axis=1)


def quats_wxyz_from_rotations(rotations: Matrix) -> Matrix:
    """Return the (K, 4) quaternions of (K, 3, 3) rotations, with w >= 0.

    The largest of the four candidates is the pivot, so no division is by a small
    number (Shepperd, "Quaternion from rotation matrix", 1978).
    """
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


def principal_inertia(inertia: Vec6) -> tuple[Vec3, Vec4]:
    """Diagonalise inertia; diagonal inertia keeps its values and their order.

    Products of inertia within rounding count as zero: otherwise the principal axes of a
    symmetric body would be noise.

    Returns:
        The three principal moments [kg m^2], and the quaternion wxyz that turns vectors
        along the principal axes into the frame of the inertia.
    """
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    rounding = _PRODUCT * max(abs(ixx), abs(iyy), abs(izz))
    if max(abs(ixy), abs(ixz), abs(iyz)) <= rounding:
        return (ixx + 0.0, iyy + 0.0, izz + 0.0), (1.0, 0.0, 0.0, 0.0)
    moments, axes = np.linalg.eigh(inertia_tensor((ixx, ixy + 0.0, ixz + 0.0, iyy, iyz + 0.0, izz)))
    if np.linalg.det(axes) < 0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    # The zero moment of a thin rod becomes rounding of either sign.
    rounding = _EIGENVALUE * np.abs(moments).max()
    a, b, c = (0.0 if abs(moment) <= rounding else float(moment) + 0.0 for moment in moments)
    return (a, b, c), quat_wxyz_from_rotation(axes)
