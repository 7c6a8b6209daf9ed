"""Types of the values of an observation, which engines of other packages may confuse.

A comparison would fail later, for all engines of the robot, and name none of them.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from urdf_usd.conformance.observation.robot import Observation


def require_types(observation: Observation) -> None:
    """Check the types of all values; lists count as tuples, integers as floats.

    Raises:
        TypeError: A value has another type; the message says where.
    """

    def plain(value: object) -> Any:  # noqa: ANN401  a number
        if isinstance(value, np.number):
            return value.item()
        raise TypeError(f"observation has a value of type {type(value).__name__}")

    def require_array(_: object, value: object) -> object:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            return value
        raise TypeError("not an array of numbers")

    fields = msgspec.to_builtins(observation, enc_hook=plain, builtin_types=(np.ndarray,))
    try:
        msgspec.convert(fields, Observation, dec_hook=require_array)
    except msgspec.ValidationError as error:
        raise TypeError(str(error).replace("`$.", "`observation.")) from None
