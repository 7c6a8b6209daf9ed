"""Link frames of the USD engine; expected values are products of known transforms.

Quaternions in the stages have exact cosines: (0.8, 0.6, 0, 0) rotates by acos(0.28).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.engines.usd_observations import (
    Array,
    pose,
)
from urdf_usd.conformance.engines.openusd.transforms import (
    inverses,
    rigid_part,
    rotations,
    separation,
    transforms,
    turns,
)

numbers = st.floats(-10, 10)
quats = st.tuples(numbers, numbers, numbers, numbers).filter(
    lambda quat: np.linalg.norm(quat) > 1e-3
)
positions = st.tuples(numbers, numbers, numbers)


@given(quats, positions)
def test_inverse_undoes_a_transform(quat: tuple[float, ...], position: tuple[float, ...]) -> None:
    rigid = transforms(rotations(quat), position)

    np.testing.assert_allclose(rigid @ inverses(rigid), np.eye(4), atol=1e-12)


@given(quats, positions, st.sampled_from([1.0, -1.0]))
def test_rigid_part_excludes_scale(
    quat: tuple[float, ...], position: tuple[float, ...], sign: float
) -> None:
    rigid = transforms(rotations(quat), position)
    scaled: Array = rigid @ np.diag((sign * 0.5, sign * 2.0, sign * 3.0, 1.0))

    np.testing.assert_allclose(rigid_part(scaled), rigid, atol=1e-12)


@given(st.integers(0, 2), st.floats(0, np.pi))
def test_separation_returns_distance_and_angle(axis: int, angle: float) -> None:
    first = pose((0.1, 0.2, 0.3), (0.8, 0.6, 0, 0))
    second = first @ transforms(turns(axis, np.array([angle]))[0], (0, 0.3, 0.4))

    assert separation(first, second) == pytest.approx((0.5, angle), abs=1e-12)
