"""Rounding to float32, and joint frames of oblique axes that minimise it."""

from __future__ import annotations

from struct import Struct

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.robot.spatial import (
    quat_wxyz_from_rotation,
    quats_wxyz_from_rotations,
    rotation_about,
    rotation_from_quat_wxyz,
    rotations_from_quats_wxyz,
)

LARGEST = (2 - 2.0**-23) * 2.0**127
_SMALLEST_NORMAL = 2.0**-126
_DOUBLE_SLACK = 1e-12
_SINGLE = Struct("<f")
_BITS = Struct("<i")
# Limits from this value on represent no limit. OpenUSD's parser ignores revolute limits
# from about 5e37 degrees on.
NO_LIMIT: float = _SINGLE.unpack(_SINGLE.pack(1e37))[0]
# Range for limits of zero where MuJoCo refuses equal ones. Equal limits are apart by at
# least four units in the last place of float32, of which conversions to radians round
# away one.
LEAST_RANGE = 2.0**-120
# Number of candidate rotations about the axis of a joint.
_TWISTS = 128


def to_float32(value: float, what: str) -> float:
    """Round to float32.

    Args:
        value: Finite number.
        what: Subject of the error message.

    Raises:
        AuthoringError: The magnitude is too large for float32.
    """
    if abs(value) > LARGEST:
        message = f"{what} is {value:g}, which float32 cannot store"
        raise AuthoringError((Diagnostic("value-range", message),))
    return _rounded(value)


def moments_to_float32(moments: Vec3, what: str) -> Vec3:
    """Round principal moments to float32 so that A + B >= C still holds.

    Engines refuse or zero an inertia that violates it. A flat body has A + B = C, which
    rounding violates half of the time; its largest moment is lowered to the float32
    below the sum of the others, but not below either of them.

    Args:
        moments: Principal moments [kg m^2], in any order.
        what: Subject of the message if one does not fit.

    Raises:
        AuthoringError: A magnitude is beyond float32.
    """
    stored = [to_float32(moment, what) for moment in moments]
    largest = max(range(3), key=lambda index: moments[index])
    others = sum(moments) - moments[largest]
    stored_others = sum(stored) - stored[largest]
    # Tolerance for the rounding of the moments in double.
    if others >= moments[largest] * (1 - _DOUBLE_SLACK) and stored_others <= stored[largest]:
        below = _next_below(stored_others)
        second = max(stored[:largest] + stored[largest + 1 :])
        stored[largest] = max(second, min(stored[largest], below))
    a, b, c = stored
    return a, b, c


def fits_float32(value: float) -> bool:
    """Return whether a number is zero, or neither zero nor infinite in float32."""
    return value == 0 or _SMALLEST_NORMAL <= abs(value) <= LARGEST


def is_positive_float32(value: float) -> bool:
    """Return whether a number is positive and finite in float32."""
    return 0 < value <= LARGEST and _rounded(value) > 0


def limit_to_float32(value: float) -> float:
    """Round a position limit to float32; a very large limit becomes infinite."""
    if abs(value) >= NO_LIMIT:
        return float("inf") if value > 0 else float("-inf")
    return _rounded(value)


def _rounded(value: float) -> float:
    """Round a number within the range of float32."""
    (stored,) = _SINGLE.unpack(_SINGLE.pack(value))
    return float(stored)


def _next_below(value: float) -> float:
    """Return the next lower float32 of a non-negative number; zero for zero."""
    # The bit patterns of positive floats are ordered as the floats.
    (bits,) = _BITS.unpack(_SINGLE.pack(value))
    (below,) = _SINGLE.unpack(_BITS.pack(max(bits - 1, 0)))
    return float(below)


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
