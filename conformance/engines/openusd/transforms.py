"""Rigid transforms as (..., 4, 4) matrices that act on column vectors.

It shares no code with the converter, so that an error of one side is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array: TypeAlias = "NDArray[np.float64]"


def turns(axis: int, angles: Array) -> Array:
    """Return (K, 3, 3) rotations by K angles [rad] about a coordinate axis."""
    turned: Array = Rotation.from_rotvec(angles[:, np.newaxis] * np.eye(3)[axis]).as_matrix()
    return turned


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
    angle = Rotation.from_matrix(relative[:3, :3]).magnitude()
    return float(np.linalg.norm(relative[:3, 3])), float(angle)
