"""Rounding to float32, compared with numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.usd.writer.specs import (
    NO_LIMIT,
    is_positive_float32,
    limit_to_float32,
    moments_to_float32,
    to_float32,
)

LARGEST = float(np.finfo(np.float32).max)
_SIZES = st.floats(1e-6, 1e3)


@given(st.floats(-LARGEST, LARGEST))
def test_numbers_are_rounded_like_numpy(value: float) -> None:
    assert to_float32(value, "x") == float(np.float32(value))
    if abs(value) < NO_LIMIT:
        assert limit_to_float32(value) == float(np.float32(value))
    assert is_positive_float32(value) == (np.float32(value) > 0)


def test_range_of_float32_is_that_of_numpy() -> None:
    assert float(np.float32(1e37)) == NO_LIMIT
    assert is_positive_float32(LARGEST)
    assert not is_positive_float32(1e300)
    assert not is_positive_float32(-1e300)
    assert not is_positive_float32(float(np.finfo(np.float32).smallest_subnormal) / 2)


@given(_SIZES, _SIZES, st.permutations(range(3)))
def test_rounded_moments_of_a_plate_satisfy_the_triangle_inequality(
    a: float, b: float, order: list[int]
) -> None:
    """Perpendicular axis theorem: the moments of a plate satisfy A + B = C."""
    moments = [(a, b, a + b)[index] for index in order]

    x, y, z = moments_to_float32((moments[0], moments[1], moments[2]), "x")

    low, middle, high = sorted((x, y, z))
    assert low + middle > high
    np.testing.assert_allclose((x, y, z), moments, rtol=2.0**-22)
    assert all(float(np.float32(value)) == value for value in (x, y, z))
