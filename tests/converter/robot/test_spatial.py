"""Rotations, poses and inertia: algebraic laws, and comparison with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tests.converter.strategies import axes, rotations
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.robot.model import Vec3, Vec4


def test_moment_of_a_thin_rod_about_its_line_is_exactly_zero() -> None:
    line = np.array([0.48, 0.6, 0.64])
    tensor = 0.2504 * (np.eye(3) - np.outer(line, line))

    (smallest, *others), quat = spatial.principal_inertia(spatial.inertia_values(tensor))

    axes = spatial.rotation_from_quat_wxyz(quat)
    assert smallest == 0.0
    assert others == pytest.approx([0.2504, 0.2504])
    np.testing.assert_allclose(np.abs(axes[:, 0]), np.abs(line), atol=1e-12)


def _matrix(quat_wxyz: Vec4) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = Rotation.from_quat(quat_wxyz, scalar_first=True).as_matrix()
    return matrix


@given(rotations())
def test_rpy_is_roll_then_pitch_then_yaw_about_fixed_axes(rpy: Vec3) -> None:
    # Lower-case xyz is scipy's notation for fixed axes, as URDF defines rpy.
    expected = Rotation.from_euler("xyz", rpy).as_matrix()

    quat = spatial.quat_wxyz_from_rpy(rpy)

    assert quat[0] >= 0
    np.testing.assert_allclose(_matrix(quat), expected, atol=1e-14)


@given(axes())
def test_rotation_onto_axis_maps_a_coordinate_axis_to_the_axis(axis: Vec3) -> None:
    letter, quat = spatial.rotation_onto_axis(axis)

    e = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    np.testing.assert_allclose(
        spatial.rotate_vector(quat, e["XYZ".index(letter)]), axis, atol=1e-15
    )
    assert np.linalg.norm(quat) == pytest.approx(1.0)
    if set(np.abs(axis)) == {0.0, 1.0}:
        assert set(np.abs(quat)) == {0.0, 1.0}


def test_rotation_onto_axis_is_minimal() -> None:
    letter, ahead = spatial.rotation_onto_axis((0.6, 0.0, 0.8))
    _, behind = spatial.rotation_onto_axis((0.6, 0.0, -0.8))

    assert letter == "Z"
    angle = np.arccos(0.8) / 2
    expected = (np.cos(angle), 0.0, np.sin(angle), 0.0)
    assert ahead == pytest.approx(expected, abs=1e-15)
    # Half a turn about X, and then back about Y.
    np.testing.assert_allclose(
        _matrix(behind),
        Rotation.from_rotvec([0.0, -2 * angle, 0.0]).as_matrix() @ np.diag([1.0, -1.0, -1.0]),
        atol=1e-15,
    )


@given(rotations(), st.floats(1e-9, 1e3))
def test_rotated_isotropic_inertia_has_identity_axes(rpy: Vec3, moment: float) -> None:
    ball = (moment, 0.0, 0.0, moment, 0.0, moment)

    moments, quat = spatial.principal_inertia(
        spatial.rotate_inertia(ball, spatial.quat_wxyz_from_rpy(rpy))
    )

    assert quat == (1.0, 0.0, 0.0, 0.0)
    assert moments == pytest.approx((moment,) * 3, rel=1e-14)
