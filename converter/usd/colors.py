"""From the colours that screens show to those that light has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def linear_from_srgb(values: ArrayLike) -> NDArray[np.float64]:
    """Return the linear values of sRGB components in [0, 1] (IEC 61966-2-1)."""
    encoded = np.asarray(values, dtype=np.float64)
    linear: NDArray[np.float64] = np.where(
        encoded <= 0.04045,  # noqa: PLR2004  the standard's threshold
        encoded / 12.92,
        ((encoded + 0.055) / 1.055) ** 2.4,
    )
    return linear
