"""Configurations cover the joint ranges, follow couplings and stay inside limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
    MimicObservation,
)
from urdf_usd.conformance.tolerance.sampling import configurations

R, P = JointType.REVOLUTE, JointType.PRISMATIC
C = JointType.CONTINUOUS


def _joint(
    name: str,
    joint_type: JointType = R,
    lower: float | None = None,
    upper: float | None = None,
    mimic: MimicObservation | None = None,
) -> JointObservation:
    return JointObservation(
        name, joint_type, "parent", "child", lower=lower, upper=upper, mimic=mimic
    )


def _of(sampled: Configurations, name: str) -> NDArray[np.float64]:
    return sampled.positions[sampled.joints.index(name)]


def test_zero_and_both_limits_come_first() -> None:
    sampled = configurations([_joint("a", R, -0.5, 1.25), _joint("b", P, 0.1, 0.3)])

    assert sampled.labels[:4] == ("zero", "lower", "upper", "sample 0")
    assert sampled.count == len(sampled.labels) == 32
    assert _of(sampled, "a")[:3, 0].tolist() == [0.0, -0.5, 1.25]
    assert _of(sampled, "b")[:3, 0].tolist() == [0.0, 0.1, 0.3]


@pytest.mark.parametrize("count", [1, 200, 300, 1200])
def test_inertia_matrices_stay_within_memory(count: int) -> None:
    sampled = configurations([_joint(f"joint{i}") for i in range(count)])
    motion_count = sampled.for_motion

    size = motion_count.count * (count + 6) ** 2 * 8
    assert size <= 16e6 or motion_count.count == 4
    assert motion_count.labels == sampled.labels[: motion_count.count]
    assert (motion_count.count == sampled.count) is (count <= 200)
    for values in (*motion_count.positions, *motion_count.velocities):
        assert len(values) == motion_count.count


def test_configurations_are_deterministic() -> None:
    joints = [_joint("a", R, -0.5, 1.25), _joint("b", JointType.FLOATING)]
    first, second = configurations(joints), configurations(joints)

    for ours, theirs in zip(first.positions, second.positions, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_samples_differ_between_joints_and_from_the_middle() -> None:
    sampled = configurations([_joint("a", R, -1.0, 1.0), _joint("b", R, -1.0, 1.0)])
    a, b = _of(sampled, "a")[3:, 0], _of(sampled, "b")[3:, 0]

    assert len(set(a)) == len(a) == 29
    assert np.abs(a - b).max() > 0.5
    assert np.abs(a).min() > 1e-6
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.5


def test_samples_cover_the_range_of_every_joint() -> None:
    joints = [_joint(f"j{number}", R, 0.0, 29.0) for number in range(300)]
    sampled = configurations(joints, 32)

    for joint in joints:
        samples = _of(sampled, joint.name)[3:, 0]
        assert sorted(np.floor(samples)) == list(range(29))


def test_robot_without_moving_joints_has_one_configuration() -> None:
    sampled = configurations([_joint("a", JointType.FIXED)])

    assert sampled.count == 1
    assert sampled.joints == ()
    assert sampled.labels == ("zero",)


@pytest.mark.parametrize(
    ("joint", "lower", "upper"),
    [
        (_joint("a", R), -math.pi, math.pi),
        (_joint("a", JointType.CONTINUOUS), -math.pi, math.pi),
        (_joint("a", P), -1.0, 1.0),
        (_joint("a", P, 0.25, math.inf), 0.25, 2.25),
        (_joint("a", R, -math.inf, 1.0), 1.0 - 2 * math.pi, 1.0),
        (_joint("a", R, -1e16, 1e16), -math.pi, math.pi),
        (_joint("a", P, -1e16, 0.5), -1.5, 0.5),
        (_joint("a", R, -40.0, 50.0), -40.0, 50.0),
        (_joint("a", R, 1.5, -0.5), -0.5, 1.5),
        (_joint("a", R, 0.7, 0.7), 0.7, 0.7),
    ],
)
def test_sampled_range_of_a_joint(joint: JointObservation, lower: float, upper: float) -> None:
    positions = _of(configurations([joint]), "a")[:, 0]

    assert positions[0] == 0.0
    assert positions[1] == pytest.approx(lower)
    assert positions[2] == pytest.approx(upper)
    assert positions[3:].min() >= lower - 1e-12
    assert positions[3:].max() <= upper + 1e-12


def test_followers_are_computed_through_chains() -> None:
    sampled = configurations(
        [
            _joint("c", R, -9.0, 9.0, MimicObservation("b", -2.0, 0.25)),
            _joint("b", R, -9.0, 9.0, MimicObservation("a", 1.5, -0.1)),
            _joint("a", R, -0.5, 0.75),
        ]
    )
    a, b, c = (_of(sampled, name) for name in "abc")

    np.testing.assert_allclose(b, 1.5 * a - 0.1, atol=1e-15)
    np.testing.assert_allclose(c, -2.0 * b + 0.25, atol=1e-15)
    assert c[0, 0] == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("limits", "mimic", "sampled"),
    [
        pytest.param((-0.2, 0.6), (-2.0, 0.1), [-0.25, 0.15], id="within those of the follower"),
        pytest.param((5.0, 6.0), (1.0, 0.0), [-1.0, 1.0], id="that have nothing in common"),
    ],
)
def test_limits_of_a_follower_narrow_its_leader(
    limits: tuple[float, float], mimic: tuple[float, float], sampled: list[float]
) -> None:
    follower = _joint("b", R, *limits, MimicObservation("a", *mimic))

    assert _of(configurations([_joint("a", R, -1.0, 1.0), follower]), "a")[
        1:3, 0
    ].tolist() == pytest.approx(sampled)


@pytest.mark.parametrize("limit", [None, 0.5])
@pytest.mark.parametrize("multiplier", [1e-300, -1e-9, 1e9, -1e300])
def test_coupled_joints_stay_near_for_every_multiplier(
    multiplier: float, limit: float | None
) -> None:
    lower = None if limit is None else -limit
    mimic = MimicObservation("a", multiplier, 0.0)
    sampled = configurations([_joint("a", C), _joint("b", R, lower, limit, mimic)])

    assert np.abs(_of(sampled, "a")).max() <= math.pi
    assert np.abs(_of(sampled, "b")).max() <= (limit or 1000.0) * (1.0 + 1e-12)
    assert np.ptp(_of(sampled, "a")) > 0.0


@pytest.mark.parametrize(
    ("own", "others"),
    [
        pytest.param(("a", 2.0), [], id="itself"),
        pytest.param(("missing", 2.0), [], id="a missing joint"),
        pytest.param(
            ("b", 2.0), [_joint("b", R, -0.3, 0.3, MimicObservation("a", 2.0, 0.0))], id="a loop"
        ),
        pytest.param(
            ("b", 1e200),
            [_joint("b", R, mimic=MimicObservation("c", 1e200, 0.0)), _joint("c", C)],
            id="factors that overflow",
        ),
    ],
)
def test_joint_is_sampled_independently_of_a_coupling_without_effect(
    own: tuple[str, float], others: list[JointObservation]
) -> None:
    joint = _joint("a", R, -0.5, 0.5, MimicObservation(*own, 0.0))

    assert _of(configurations([joint, *others]), "a")[1:3, 0].tolist() == [-0.5, 0.5]


def test_planar_joints_stay_in_their_plane() -> None:
    axis = (0.6, 0.0, 0.8)
    joint = JointObservation("a", JointType.PLANAR, "parent", "child", axis=axis)
    positions = _of(configurations([joint]), "a")

    assert positions.shape[1] == 4
    np.testing.assert_allclose(positions[:, :3] @ np.array(axis), 0.0, atol=1e-15)
    assert np.ptp(positions[:, 0]) > 0.5
    assert np.ptp(positions[:, 1]) > 0.5
    assert np.ptp(positions[:, 3]) > math.pi


@pytest.mark.parametrize(
    ("joint_type", "start"), [(JointType.FLOATING, 3), (JointType.SPHERICAL, 0)]
)
def test_rotations_are_unit_quaternions(joint_type: JointType, start: int) -> None:
    quats = _of(configurations([_joint("a", joint_type)]), "a")[:, start:]

    np.testing.assert_allclose(np.linalg.norm(quats, axis=1), 1.0, atol=1e-15)
    assert quats[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert (np.ptp(quats[3:], axis=0) > 0.9).all()


def test_positions_are_read_only() -> None:
    positions = _of(configurations([_joint("a", R, -1.0, 1.0)]), "a")

    with pytest.raises(ValueError, match="read-only"):
        positions[0, 0] = 1.0


_LIMIT = st.floats(-50, 50, allow_nan=False)


@given(st.lists(st.tuples(st.sampled_from([R, P]), _LIMIT, _LIMIT), max_size=6))
def test_samples_lie_within_limits(
    ranges: list[tuple[JointType, float, float]],
) -> None:
    joints = [_joint(f"j{i}", *each) for i, each in enumerate(ranges)]
    sampled = configurations(joints)

    for joint in joints:
        lower, upper = sorted([joint.lower or 0.0, joint.upper or 0.0])
        positions = _of(sampled, joint.name)
        assert positions.shape == (32, 1)
        assert (positions[1:] >= lower - 1e-9).all()
        assert (positions[1:] <= upper + 1e-9).all()
