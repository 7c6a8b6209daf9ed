"""What float32 does to a number before it is written."""

from __future__ import annotations

import numpy as np

from converter.diagnostics import AuthoringError, Diagnostic

LARGEST = float(np.finfo(np.float32).max)
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


def limit(value: float) -> float:
    """Round a position limit to float32; a very distant one is none."""
    if abs(value) >= FARTHEST:
        return float("inf") if value > 0 else float("-inf")
    return float(np.float32(value))
