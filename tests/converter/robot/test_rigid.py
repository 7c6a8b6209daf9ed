"""Plain poses and inertia obey their laws and agree with scipy and with matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tests.converter.strategies import axes, inertials, poses, rotations
from urdf_usd.converter.robot.mass_properties import principal_inertia
from urdf_usd.converter.robot.model import IDENTITY, Inertial, Pose, Vec3, Vec4, Vec6
from urdf_usd.converter.robot.rigid import (
    compose,
    invert_pose,
    quat_wxyz_from_rpy,
    rotate_inertia,
    rotate_vector,
    rotation_onto_axis,
    shift_inertia,
    transform_point,
)


def _matrix(quat_wxyz: Vec4) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = Rotation.from_quat(
        quat_wxyz, scalar_first=True
    ).as_matrix()
    return matrix


def _tensor(inertia: Vec6) -> NDArray[np.float64]:
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


@given(rotations())
def test_rpy_is_roll_then_pitch_then_yaw_about_fixed_axes(rpy: Vec3) -> None:
    """Lower-case xyz is scipy's notation for fixed axes, as URDF defines rpy."""
    expected = Rotation.from_euler("xyz", rpy).as_matrix()

    quat = quat_wxyz_from_rpy(rpy)

    assert quat[0] >= 0
    np.testing.assert_allclose(_matrix(quat), expected, atol=1e-14)


@given(axes())
def test_a_coordinate_axis_is_turned_onto_an_axis(axis: Vec3) -> None:
    """By less than a right angle, or after a half turn, and along itself exactly."""
    letter, quat = rotation_onto_axis(axis)

    e = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    np.testing.assert_allclose(
        rotate_vector(quat, e["XYZ".index(letter)]), axis, atol=1e-15
    )
    assert np.linalg.norm(quat) == pytest.approx(1.0)
    if set(np.abs(axis)) == {0.0, 1.0}:
        assert set(np.abs(quat)) == {0.0, 1.0}


def test_axes_are_turned_to_by_the_least_rotation() -> None:
    """A negative axis begins with a half turn about the next coordinate axis."""
    letter, ahead = rotation_onto_axis((0.6, 0.0, 0.8))
    _, behind = rotation_onto_axis((0.6, 0.0, -0.8))

    assert letter == "Z"
    angle = np.arccos(0.8) / 2
    expected = (np.cos(angle), 0.0, np.sin(angle), 0.0)
    assert ahead == pytest.approx(expected, abs=1e-15)
    # Half a turn about X, and then back about Y.
    np.testing.assert_allclose(
        _matrix(behind),
        Rotation.from_rotvec([0.0, -2 * angle, 0.0]).as_matrix()
        @ np.diag([1.0, -1.0, -1.0]),
        atol=1e-15,
    )


@given(poses(), poses(), poses())
def test_composition_of_poses_is_associative(a: Pose, b: Pose, c: Pose) -> None:
    """Frames may be accumulated from either end."""
    left = compose(compose(a, b), c)
    right = compose(a, compose(b, c))

    np.testing.assert_allclose(left.position, right.position, atol=1e-13)
    np.testing.assert_allclose(
        _matrix(left.quat_wxyz), _matrix(right.quat_wxyz), atol=1e-13
    )


@given(poses(), poses())
def test_composition_places_points_as_matrices_do(parent: Pose, child: Pose) -> None:
    """Of scipy, one frame after the other."""
    point = (0.3, -1.2, 0.7)
    within = _matrix(child.quat_wxyz) @ point + child.position
    expected = _matrix(parent.quat_wxyz) @ within + parent.position

    actual = transform_point(compose(parent, child), point)

    np.testing.assert_allclose(actual, expected, atol=1e-13)


@given(poses())
def test_inverse_undoes_a_pose(pose: Pose) -> None:
    """From either side."""
    for undone in (compose(invert_pose(pose), pose), compose(pose, invert_pose(pose))):
        np.testing.assert_allclose(undone.position, IDENTITY.position, atol=1e-14)
        np.testing.assert_allclose(undone.quat_wxyz, IDENTITY.quat_wxyz, atol=1e-14)


@given(inertials())
def test_inertia_turns_as_tensors_do(inertial: Inertial) -> None:
    """Two matrices around it."""
    turn = _matrix(inertial.origin.quat_wxyz)
    expected = turn @ _tensor(inertial.inertia) @ turn.T

    actual = _tensor(rotate_inertia(inertial.inertia, inertial.origin.quat_wxyz))

    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-14)


@given(inertials())
def test_principal_axes_rebuild_the_inertia(inertial: Inertial) -> None:
    """Order and sign of axes are free."""
    moments, quat = principal_inertia(inertial.inertia)

    rebuilt = _matrix(quat) @ np.diag(moments) @ _matrix(quat).T
    np.testing.assert_allclose(
        rebuilt, _tensor(inertial.inertia), rtol=1e-12, atol=1e-14
    )


@given(rotations(), st.floats(1e-9, 1e3))
def test_a_ball_keeps_plain_axes_however_it_is_turned(rpy: Vec3, moment: float) -> None:
    """What differs after the turn is rounding, and rounding has no direction."""
    ball = (moment, 0.0, 0.0, moment, 0.0, moment)

    moments, quat = principal_inertia(rotate_inertia(ball, quat_wxyz_from_rpy(rpy)))

    assert quat == (1.0, 0.0, 0.0, 0.0)
    assert moments == pytest.approx((moment,) * 3, rel=1e-14)


def test_parallel_axis_theorem_for_points() -> None:
    """Point masses, summed about either point."""
    points = np.array([[0.1, 0.2, -0.4], [-0.3, 0.5, 0.2], [0.7, -0.1, 0.9]])
    offset = np.array([0.4, -0.7, 0.2])
    mass = 1.5

    def about(origin: NDArray[np.float64]) -> NDArray[np.float64]:
        arms = points - origin
        tensor: NDArray[np.float64] = mass * (
            np.sum(arms**2) * np.eye(3) - arms.T @ arms
        )
        return tensor

    center = points.mean(axis=0)
    t = about(center).tolist()
    inertia = (t[0][0], t[0][1], t[0][2], t[1][1], t[1][2], t[2][2])
    x, y, z = offset.tolist()

    shifted = shift_inertia(inertia, 3 * mass, (x, y, z))

    np.testing.assert_allclose(_tensor(shifted), about(center + offset), rtol=1e-14)
