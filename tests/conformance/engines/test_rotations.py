"""Quaternions and matrices."""

from __future__ import annotations

import numpy as np
import pytest

from urdf_usd.conformance.engines.statements import matrices, matrices_of_xyzw, quats_wxyz

_TURN = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_quaternions_have_either_order_and_any_length() -> None:
    np.testing.assert_allclose(matrices((2, 0, 0, 2)), _TURN, atol=1e-15)
    np.testing.assert_allclose(matrices_of_xyzw((0, 0, 2, 2)), _TURN, atol=1e-15)
    np.testing.assert_allclose(quats_wxyz(_TURN), np.array((1, 0, 0, 1)) / np.sqrt(2))


def test_shapes_of_arrays_are_kept() -> None:
    table = matrices(np.ones((2, 5, 4)))

    assert table.shape == (2, 5, 3, 3)
    assert quats_wxyz(table).shape == (2, 5, 4)


@pytest.mark.parametrize("quat", [(0, 0, 0, 0), (np.nan, 0, 0, 1)])
def test_quaternion_that_is_none_is_no_rotation(quat: tuple[float, ...]) -> None:
    """It must not look like a pose, nor prevent others from being read."""
    found = matrices([quat, (1, 0, 0, 0)])

    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1], np.eye(3))
