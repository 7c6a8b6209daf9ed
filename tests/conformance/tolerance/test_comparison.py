"""Tests of relative differences."""

from __future__ import annotations

import math

import pytest

from urdf_usd.conformance.tolerance.comparison import relative_difference


@pytest.mark.parametrize(
    ("ours", "theirs", "least", "expected"),
    [
        (0.1, 4.0, 0.0, 39.0),
        (4.0, 0.1, 0.0, 0.975),
        (-2.0, 2.0, 0.0, 2.0),
        (0.5, 0.25, 1.0, 0.25),
        (4.0, 8.0, 1.0, 1.0),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 0.5, 0.0, math.inf),
        (0.0, 0.5, 1.0, 0.5),
        (math.inf, math.inf, 0.0, 0.0),
        (math.inf, 2.0, 1.0, math.inf),
        (2.0, math.nan, 1.0, math.inf),
    ],
)
def test_difference_is_relative_to_the_first_value(
    ours: float, theirs: float, least: float, expected: float
) -> None:
    assert relative_difference(ours, theirs, least) == pytest.approx(expected)
