"""Rounding to float32 keeps what engines insist on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.usd.storage import single_moments

_SIZES = st.floats(1e-6, 1e3)


@given(_SIZES, _SIZES, st.permutations(range(3)))
def test_a_flat_body_stays_plausible(a: float, b: float, order: list[int]) -> None:
    """Perpendicular axis theorem: the moments of a plate satisfy A + B = C."""
    moments = [(a, b, a + b)[index] for index in order]

    x, y, z = single_moments((moments[0], moments[1], moments[2]), "x")

    low, middle, high = sorted((x, y, z))
    assert low + middle > high
    np.testing.assert_allclose((x, y, z), moments, rtol=2.0**-22)
    assert all(float(np.float32(value)) == value for value in (x, y, z))


def test_an_implausible_inertia_stays_as_it_is_written() -> None:
    """It is reported, not repaired."""
    assert single_moments((1.0, 1.0, 2.5), "x") == (1.0, 1.0, 2.5)


def test_a_solid_body_is_rounded_and_no_more() -> None:
    """Nothing is lowered that has room."""
    moments = (0.1, 0.2, 0.25)

    stored = single_moments(moments, "x")

    assert stored == pytest.approx(moments, rel=2.0**-24)
