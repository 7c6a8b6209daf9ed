"""Poses, rotations and inertia of single frames, without numpy.

Importing numpy takes longer than converting a small robot. Plain sums also round the
same on all processors, unlike BLAS, which may fuse operations. Arrays of many frames
are in ``spatial``.

Quaternions are unit quaternions (w, x, y, z) that rotate child vectors into the parent;
returned ones have w >= 0. Inertia is (ixx, ixy, ixz, iyy, iyz, izz).
"""

from __future__ import annotations

import math
from typing import TypeAlias

from urdf_usd.converter.robot.model import Pose, Vec3, Vec4, Vec6
from urdf_usd.converter.robot.topology import Tree

# The rows of a rotation, whose columns are the child's axes.
Rows: TypeAlias = "tuple[Vec3, Vec3, Vec3]"


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


def rotation_rows(quat_wxyz: Vec4) -> Rows:
    """Return the rotation matrix of a quaternion, which need not be normalised."""
    length = _length(quat_wxyz)
    w, x, y, z = (component / length for component in quat_wxyz)
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def rotate_vector(quat_wxyz: Vec4, vector: Vec3) -> Vec3:
    """Rotate a vector from the child into the parent."""
    x, y, z = vector
    first, second, third = (a * x + b * y + c * z for a, b, c in rotation_rows(quat_wxyz))
    return first, second, third


def transform_point(pose: Pose, point: Vec3) -> Vec3:
    """Transform a point from the child into the parent [m]."""
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
    """Return the nearest coordinate axis, and the rotation of it onto ``axis``.

    UsdPhysics joints move about X, Y or Z of a joint frame. The coordinate axis
    nearest to ``axis`` keeps the rotation small, and a coordinate axis itself, of
    either sign, gets an identity or a half turn, which float32 stores exactly.

    Args:
        axis: Unit vector.

    Returns:
        ``"X"``, ``"Y"`` or ``"Z"``, and the quaternion wxyz of a rotation that turns
        that unit vector into ``axis``.
    """
    index = max(range(3), key=lambda number: abs(axis[number]))
    after, last = (index + 1) % 3, (index + 2) % 3
    # Half of the smallest rotation from e to a: 1 + e.a, and e x a.
    turn = [1.0 + abs(axis[index]), 0.0, 0.0, 0.0]
    turn[1 + after], turn[1 + last] = -axis[last], axis[after]
    if axis[index] < 0:
        # First half a turn about the next axis; the remaining rotation is below 90 deg.
        half = [0.0, 0.0, 0.0, 0.0]
        half[1 + after] = 1.0
        turn[1 + after], turn[1 + last] = axis[last], -axis[after]
        return "XYZ"[index], multiply_quats(_quat(turn), _quat(half))
    return "XYZ"[index], normalise_quat(_quat(turn))


def _quat(components: list[float]) -> Vec4:
    w, x, y, z = components
    return w, x, y, z


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
    first, second, third = rows
    return (
        _dot(a, first),
        _dot(a, second),
        _dot(a, third),
        _dot(b, second),
        _dot(b, third),
        _dot(c, third),
    )


def shift_inertia(inertia: Vec6, mass: float, offset: Vec3) -> Vec6:
    """Move inertia from the centre of mass to a point ``offset`` away [kg m^2].

    Parallel axis theorem: I + m (|d|^2 1 - d d^T).

    Args:
        inertia: About the centre of mass [kg m^2].
        mass: [kg].
        offset: Between the two points, in either direction [m].
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
