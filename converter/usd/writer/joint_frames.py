"""Joint frames of oblique axes that minimise float32 rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.robot.spatial import (
    quat_wxyz_from_rotation,
    quats_wxyz_from_rotations,
    rotation_about,
    rotation_from_quat_wxyz,
    rotations_from_quats_wxyz,
)

# Number of candidate rotations about the axis.
_TWISTS = 128


def finest_frame(origin: Vec4, frame: Vec4, axis: Vec3) -> Vec4:
    """Choose the joint frame with the smallest rounding error.

    The joint frame may be rotated about the joint axis on both sides without changing
    the motion. The error of the stored quaternions depends on that rotation: the error
    of the child's orientation in the parent, and of the axis in the child.

    Args:
        origin: Orientation of the child in the parent body, as a quaternion wxyz.
        frame: Orientation of a joint frame in the child, as a quaternion wxyz.
        axis: Unit vector in the child's frame, along an axis of ``frame``.

    Returns:
        Orientation of the joint frame in the child, as a quaternion wxyz.
    """
    child, turn = rotation_from_quat_wxyz(origin), rotation_from_quat_wxyz(frame)
    angles = np.linspace(0.0, 2 * np.pi, _TWISTS, endpoint=False, dtype=np.float64)
    twists = rotation_about(axis, angles) @ turn
    parents, children = _stored(child @ twists), _stored(twists)
    turned = parents @ children.transpose(0, 2, 1) - child
    tilted = children @ (turn.T @ axis) - axis
    errors = np.linalg.norm(turned, axis=(1, 2)) + np.linalg.norm(tilted, axis=1)
    return quat_wxyz_from_rotation(twists[int(np.argmin(errors))])


def _stored(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rotations as they come back from float32 quaternions."""
    quats = quats_wxyz_from_rotations(rotations).astype(np.float32)
    return rotations_from_quats_wxyz(quats.astype(np.float64))
