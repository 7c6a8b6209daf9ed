"""Rotations and inertia tensors: algebraic laws, and comparison with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.converter.strategies import axes, inertials, poses, rotations
from urdf_usd.converter.robot.model import Inertial, Pose, Vec3, Vec4
from urdf_usd.converter.robot.spatial import (
    diagonalise_inertia,
    inertia_tensor,
    inertia_values,
    inverse_transform,
    pose_from_transform,
    quat_wxyz_from_rotation,
    quats_wxyz_from_rotations,
    rotation_about,
    rotation_from_quat_wxyz,
    rotations_from_quats_wxyz,
    rpy_from_rotation,
    shift_inertia_tensor,
    transform_from_pose,
)


def _scipy(quat_wxyz: Vec4) -> Rotation:
    return Rotation.from_quat(quat_wxyz, scalar_first=True)


@given(st.lists(rotations(), min_size=1, max_size=9))
def test_batched_conversions_match_single_ones(rpys: list[Vec3]) -> None:
    """For every pivot, up to rounding."""
    matrices = Rotation.from_euler("xyz", rpys).as_matrix()

    quats = quats_wxyz_from_rotations(matrices)
    back = rotations_from_quats_wxyz(quats)

    singly = [quat_wxyz_from_rotation(matrix) for matrix in matrices]
    np.testing.assert_allclose(quats, singly, atol=1e-15)
    np.testing.assert_allclose(back, [rotation_from_quat_wxyz(quat) for quat in singly], atol=2e-15)


@given(rotations())
def test_quaternion_of_a_matrix_gives_the_matrix(rpy: Vec3) -> None:
    """By scipy."""
    rotation = Rotation.from_euler("xyz", rpy).as_matrix()

    quat = quat_wxyz_from_rotation(rotation)

    assert quat[0] >= 0
    np.testing.assert_allclose(_scipy(quat).as_matrix(), rotation, atol=1e-14)


@given(rotations())
def test_rpy_of_a_rotation_gives_the_rotation(rpy: Vec3) -> None:
    """The angles may differ."""
    rotation = Rotation.from_euler("xyz", rpy).as_matrix()

    again = Rotation.from_euler("xyz", rpy_from_rotation(rotation)).as_matrix()

    np.testing.assert_allclose(again, rotation, atol=2e-9)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
@pytest.mark.parametrize("roll", [0.0, 0.7, -2.0])
def test_rpy_is_accurate_at_gimbal_lock(pitch: float, roll: float) -> None:
    """Roll and yaw are one angle there."""
    rotation = Rotation.from_euler("xyz", (roll, pitch, 0.4)).as_matrix()

    again = Rotation.from_euler("xyz", rpy_from_rotation(rotation)).as_matrix()

    np.testing.assert_allclose(again, rotation, atol=1e-9)


@given(axes(), st.floats(-7, 7))
def test_rotation_about_an_axis_matches_scipy(axis: Vec3, angle: float) -> None:
    """Its rotation vector is axis times angle."""
    expected = Rotation.from_rotvec(np.asarray(axis) * angle).as_matrix()

    actual = rotation_about(axis, np.array([angle]))[0]

    np.testing.assert_allclose(actual, expected, atol=1e-14)


@given(poses())
def test_transform_times_its_inverse_is_the_identity(pose: Pose) -> None:
    """And poses are the same after conversion to matrices and back."""
    transform = transform_from_pose(pose)

    identity = inverse_transform(transform) @ transform

    np.testing.assert_allclose(identity, np.eye(4), atol=1e-14)
    again = transform_from_pose(pose_from_transform(transform))
    np.testing.assert_allclose(again, transform, atol=1e-14)


@given(inertials())
def test_principal_moments_and_axes_give_the_tensor(inertial: Inertial) -> None:
    """Axes are a proper rotation; their order and sign are free."""
    tensor = inertia_tensor(inertial.inertia)

    moments, axes_ = diagonalise_inertia(tensor)

    rebuilt = axes_ @ np.diag(moments) @ axes_.T
    np.testing.assert_allclose(rebuilt, tensor, rtol=1e-12, atol=1e-14)
    assert np.linalg.det(axes_) == pytest.approx(1.0)
    np.testing.assert_allclose(inertia_tensor(inertia_values(tensor)), tensor)


def test_diagonal_tensor_is_kept() -> None:
    """Equal and unordered moments keep their positions."""
    moments, axes_ = diagonalise_inertia(np.diag([3.0, 1.0, 1.0]))

    assert moments == (3.0, 1.0, 1.0)
    np.testing.assert_array_equal(axes_, np.eye(3))


def test_shifted_inertia_of_a_rod() -> None:
    """A thin rod: m l^2 / 12 about its middle, m l^2 / 3 about its end."""
    mass, length = 3.0, 2.0
    middle = np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12

    end = shift_inertia_tensor(middle, mass, np.array([length / 2, 0.0, 0.0]))

    np.testing.assert_allclose(end, np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 3)


def test_moment_of_a_thin_rod_about_its_line_is_exactly_zero() -> None:
    """The eigenvalue is a rounding error of either sign."""
    line = np.array([0.48, 0.6, 0.64])
    tensor = 0.2504 * (np.eye(3) - np.outer(line, line))

    (smallest, *others), axes = diagonalise_inertia(tensor)

    assert smallest == 0.0
    assert others == pytest.approx([0.2504, 0.2504])
    np.testing.assert_allclose(np.abs(axes[:, 0]), np.abs(line), atol=1e-12)
