"""Rotations as quaternions and as matrices, for many at once.

scipy has the same, but takes longer to import than all engines together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def matrices(quats_wxyz: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 4) quaternions wxyz to (..., 3, 3) matrices.

    Quaternions are normalised; one that is zero becomes NaN.
    """
    given = np.asarray(quats_wxyz, np.float64)
    with np.errstate(invalid="ignore"):
        unit = given / np.linalg.norm(given, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(unit, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrices_of_xyzw(quats_xyzw: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 4) quaternions xyzw to (..., 3, 3) matrices."""
    return matrices(np.roll(np.asarray(quats_xyzw, np.float64), 1, axis=-1))


def quats_wxyz(rotations: ArrayLike) -> NDArray[np.float64]:
    """Convert (..., 3, 3) rotation matrices to (..., 4) unit quaternions wxyz.

    Of the four formulas, that with the largest divisor is used: S. W. Shepperd,
    Quaternion from Rotation Matrix (1978).
    """
    given = np.asarray(rotations, np.float64)
    m = given.reshape(-1, 3, 3)
    xx, yy, zz = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    # Four times the products of any two components.
    products = np.empty((len(m), 4, 4))
    products[:, 0, 0] = 1.0 + xx + yy + zz
    products[:, 1, 1] = 1.0 + xx - yy - zz
    products[:, 2, 2] = 1.0 - xx + yy - zz
    products[:, 3, 3] = 1.0 - xx - yy + zz
    products[:, 0, 1] = products[:, 1, 0] = m[:, 2, 1] - m[:, 1, 2]
    products[:, 0, 2] = products[:, 2, 0] = m[:, 0, 2] - m[:, 2, 0]
    products[:, 0, 3] = products[:, 3, 0] = m[:, 1, 0] - m[:, 0, 1]
    products[:, 1, 2] = products[:, 2, 1] = m[:, 1, 0] + m[:, 0, 1]
    products[:, 1, 3] = products[:, 3, 1] = m[:, 2, 0] + m[:, 0, 2]
    products[:, 2, 3] = products[:, 3, 2] = m[:, 2, 1] + m[:, 1, 2]
    largest = products.diagonal(axis1=1, axis2=2).argmax(axis=1)
    quats = products[np.arange(len(m)), largest]
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    shaped: NDArray[np.float64] = quats.reshape(*given.shape[:-2], 4)
    return shaped
