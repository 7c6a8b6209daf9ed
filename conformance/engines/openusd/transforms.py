"""Rigid transforms as (..., 4, 4) matrices that act on column vectors.

It shares no code with the converter, so that an error of one side is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"


def rotations(quats_wxyz: Array | Sequence[float]) -> Array:
    """Return (..., 3, 3) rotations of (..., 4) quaternions, normalised in double."""
    quats = np.asarray(quats_wxyz, dtype=np.float64)
    quats = quats / np.linalg.norm(quats, axis=-1, keepdims=True)
    # The matrix K with K @ x = vector x x.
    vector = -np.cross(quats[..., np.newaxis, 1:], np.eye(3))
    real = quats[..., :1, np.newaxis]
    turned: Array = np.eye(3) + 2.0 * real * vector + 2.0 * vector @ vector
    return turned


def turns(axis: int, angles: Array) -> Array:
    """Return (K, 3, 3) rotations by K angles [rad] about a coordinate axis."""
    halves = np.zeros((len(angles), 4))
    halves[:, 0] = np.cos(angles / 2.0)
    halves[:, 1 + axis] = np.sin(angles / 2.0)
    return rotations(halves)


def transforms(
    rotation: Array | None = None, position: Array | Sequence[float] | None = None
) -> Array:
    """Return (..., 4, 4) transforms of rotations and positions, where given."""
    rotation = np.eye(3) if rotation is None else rotation
    position = np.zeros(3) if position is None else np.asarray(position)
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    result = np.zeros((*shape, 4, 4))
    result[..., :3, :3] = rotation
    result[..., :3, 3] = position
    result[..., 3, 3] = 1.0
    return result


def inverses(rigid: Array) -> Array:
    """Return the inverses of (..., 4, 4) rigid transforms."""
    transposed = np.swapaxes(rigid[..., :3, :3], -1, -2)
    moved = np.einsum("...ij,...j->...i", transposed, rigid[..., :3, 3])
    return transforms(transposed, -moved)


def rigid_part(matrix: Array) -> Array:
    """Return the rigid transform in a (4, 4) matrix that may also scale and shear.

    A mirroring matrix is read as a negative scale along all three axes, the way USD
    factors it.
    """
    linear = matrix[:3, :3]
    mirror = -1.0 if np.linalg.det(linear) < 0.0 else 1.0
    left, _, right = np.linalg.svd(mirror * linear)
    return transforms(left @ right, matrix[:3, 3])


def separation(first: Array, second: Array) -> tuple[float, float]:
    """Return distance and angle [rad] between two (4, 4) rigid transforms."""
    relative = inverses(first) @ second
    # The angle from sine and cosine: the trace alone cannot see angles below 1e-8.
    skew = relative[:3, :3] - relative[:3, :3].T
    sine = np.linalg.norm([skew[2, 1], skew[0, 2], skew[1, 0]]) / 2.0
    cosine = (np.trace(relative[:3, :3]) - 1.0) / 2.0
    distance = np.linalg.norm(relative[:3, 3])
    return float(distance), float(np.arctan2(sine, cosine))
