"""What float32 does to a number before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from converter.diagnostics import AuthoringError, Diagnostic
from converter.spatial import (
    quats_wxyz_from_rotations,
    rotation_about,
    rotations_from_quats_wxyz,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from converter.model import Vec3

LARGEST = float(np.finfo(np.float32).max)
_DOUBLE_SLACK = 1e-12
# Turns about the axis that are tried for a joint frame.
_TWISTS = 128
# A limit at or beyond this is no limit. OpenUSD's parser ignores revolute limits from
# about 5e37 degrees on.
FARTHEST = float(np.float32(1e37))


def single(value: float, what: str) -> float:
    """Round to float32.

    Args:
        value: Finite number.
        what: Subject of the message if it does not fit.

    Raises:
        AuthoringError: The magnitude is beyond float32.
    """
    if abs(value) > LARGEST:
        message = f"{what} is {value:g}, which float32 cannot store"
        raise AuthoringError((Diagnostic("value-range", message),))
    return float(np.float32(value))


def single_moments(moments: Vec3, what: str) -> Vec3:
    """Round principal moments to float32 without making them implausible.

    Engines refuse or zero an inertia that breaks A + B >= C. A flat body has A + B = C,
    which rounding would break as often as not: there the largest moment is lowered to
    the float32 below the sum of the others, but not below either of them.

    Args:
        moments: Principal moments [kg m^2], in any order.
        what: Subject of the message if one does not fit.

    Raises:
        AuthoringError: A magnitude is beyond float32.
    """
    stored = [single(moment, what) for moment in moments]
    largest = max(range(3), key=lambda index: moments[index])
    others = sum(moments) - moments[largest]
    stored_others = sum(stored) - stored[largest]
    # The moments themselves were computed in double, to a few parts in 1e16.
    if (
        others >= moments[largest] * (1 - _DOUBLE_SLACK)
        and stored_others <= stored[largest]
    ):
        below = float(np.nextafter(np.float32(stored_others), np.float32(0)))
        second = max(stored[:largest] + stored[largest + 1 :])
        stored[largest] = max(second, min(stored[largest], below))
    a, b, c = stored
    return a, b, c


def is_single(value: float) -> bool:
    """Say whether float32 keeps a number, other than zero, from zero and infinity."""
    smallest = float(np.finfo(np.float32).smallest_normal)
    return value == 0 or smallest <= abs(value) <= LARGEST


def limit(value: float) -> float:
    """Round a position limit to float32; a very distant one is none."""
    if abs(value) >= FARTHEST:
        return float("inf") if value > 0 else float("-inf")
    return float(np.float32(value))


def finest_frame(
    origin: NDArray[np.float64], frame: NDArray[np.float64], axis: Vec3
) -> NDArray[np.float64]:
    """Choose the joint frame that survives rounding best.

    A joint's frame may be turned about the joint's axis, on both sides alike, without
    any effect on the motion. The two quaternions round differently at every turn, and
    what counts is how well their quotient gives the child's orientation, and how well
    the child's side gives the axis.

    Args:
        origin: (3, 3) orientation of the child in the parent body.
        frame: (3, 3) orientation of a joint frame in the child.
        axis: Unit vector in the child's frame, along an axis of ``frame``.

    Returns:
        (3, 3) orientation of the joint frame in the child.
    """
    angles = np.linspace(0.0, 2 * np.pi, _TWISTS, endpoint=False, dtype=np.float64)
    twists = rotation_about(axis, angles) @ frame
    parents, children = _stored(origin @ twists), _stored(twists)
    turned = parents @ children.transpose(0, 2, 1) - origin
    tilted = children @ (frame.T @ axis) - axis
    errors = np.linalg.norm(turned, axis=(1, 2)) + np.linalg.norm(tilted, axis=1)
    best: NDArray[np.float64] = twists[int(np.argmin(errors))]
    return best


def _stored(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rotations as they come back from float32 quaternions."""
    quats = quats_wxyz_from_rotations(rotations).astype(np.float32)
    return rotations_from_quats_wxyz(quats.astype(np.float64))
