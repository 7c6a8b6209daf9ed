"""Quaternions and matrices, compared with scipy and with half turns by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.rotations import (
    matrices,
    matrices_of_xyzw,
    quats_wxyz,
)

_COMPONENT = st.floats(-1.0, 1.0)
_QUAT = st.tuples(*[_COMPONENT] * 4).filter(lambda quat: np.linalg.norm(quat) > 1e-3)


@given(st.lists(_QUAT, min_size=1, max_size=4))
def test_matrices_are_those_of_scipy(quats: list[tuple[float, ...]]) -> None:
    """Also of quaternions that are not normalised, in either order."""
    expected = Rotation.from_quat(quats, scalar_first=True).as_matrix()

    np.testing.assert_allclose(matrices(quats), expected, atol=1e-14)
    turned = np.roll(quats, -1, axis=1)
    np.testing.assert_allclose(matrices_of_xyzw(turned), expected, atol=1e-14)


@given(st.lists(_QUAT, min_size=1, max_size=4))
def test_quaternions_of_matrices_are_those_of_scipy(
    quats: list[tuple[float, ...]],
) -> None:
    """Up to their sign, which has no meaning."""
    rotations = Rotation.from_quat(quats)

    found = Rotation.from_quat(quats_wxyz(rotations.as_matrix()), scalar_first=True)

    assert np.max((found.inv() * rotations).magnitude()) < 1e-7


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_half_turn_about_an_axis(axis: int) -> None:
    """The scalar part is zero: the formula that divides by it would fail."""
    signs = -np.ones(3)
    signs[axis] = 1.0
    expected = np.zeros(4)
    expected[axis + 1] = 1.0

    np.testing.assert_allclose(np.abs(quats_wxyz(np.diag(signs))), expected)


def test_shapes_of_arrays_are_kept() -> None:
    """A single rotation, and a table of them."""
    assert matrices((1, 0, 0, 0)).shape == (3, 3)
    table = matrices(np.ones((2, 5, 4)))
    assert table.shape == (2, 5, 3, 3)
    assert quats_wxyz(table).shape == (2, 5, 4)


def test_zero_quaternion_is_no_rotation() -> None:
    """It is an error of the engine that reports it, and must not look like a pose."""
    assert np.isnan(matrices((0, 0, 0, 0))).all()
