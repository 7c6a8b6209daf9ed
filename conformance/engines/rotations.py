"""Rotations as quaternions and as matrices, for many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

# Components of a quaternion that differ by less are equal.
_TIE = 1e-9


def matrices(quats_wxyz: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 4) quaternions wxyz to (..., 3, 3) matrices.

    Quaternions are normalised; one that is zero or not finite becomes NaN: an engine that
    reports it states no pose.
    """
    quats = np.asarray(quats_wxyz, np.float64)
    valid = np.isfinite(quats).all(axis=-1) & quats.any(axis=-1)
    found = np.full((*quats.shape[:-1], 3, 3), np.nan)
    found[valid] = Rotation.from_quat(quats[valid], scalar_first=True).as_matrix()
    return found


def matrices_of_xyzw(quats_xyzw: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 4) quaternions xyzw to (..., 3, 3) matrices."""
    return matrices(np.roll(np.asarray(quats_xyzw, np.float64), 1, axis=-1))


def quats_wxyz(rotations: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 3, 3) rotation matrices to (..., 4) unit quaternions wxyz.

    Of two opposite quaternions, that in which the first of the largest components is positive.
    """
    given = np.asarray(rotations, np.float64)
    # Rotations of engines in single precision are orthogonal only up to rounding.
    turns = Rotation.from_matrix(given.reshape(-1, 3, 3), assume_valid=True)
    quats: NDArray[np.float64] = turns.as_quat(scalar_first=True)
    sizes = np.abs(quats)
    first = np.argmax(sizes > sizes.max(axis=1, initial=0.0, keepdims=True) - _TIE, axis=1)
    quats *= np.where(np.take_along_axis(quats, first[:, np.newaxis], axis=1) < 0.0, -1.0, 1.0)
    return quats.reshape(*given.shape[:-2], 4)
