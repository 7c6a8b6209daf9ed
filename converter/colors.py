"""Conversion between sRGB and linear colours (IEC 61966-2-1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Largest value that the standard encodes linearly, before and after.
_LINEAR, _LINEAR_ENCODED = 0.0031308, 0.04045


def linear_from_srgb(values: ArrayLike) -> NDArray[np.float64]:
    """Return the linear values of sRGB components in [0, 1]."""
    encoded = np.asarray(values, dtype=np.float64)
    linear: NDArray[np.float64] = np.where(
        encoded <= _LINEAR_ENCODED,
        encoded / 12.92,
        ((encoded + 0.055) / 1.055) ** 2.4,
    )
    return linear


def srgb_from_linear(values: ArrayLike) -> NDArray[np.float64]:
    """Return the sRGB components of linear values, which are clamped to [0, 1]."""
    linear = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    encoded: NDArray[np.float64] = np.where(
        linear <= _LINEAR,
        linear * 12.92,
        1.055 * linear ** (1 / 2.4) - 0.055,
    )
    # The formula is off by one bit there.
    return np.where(linear == 1.0, 1.0, encoded)
