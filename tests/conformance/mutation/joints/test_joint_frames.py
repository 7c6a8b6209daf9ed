"""Motions of joint frames, which show whether an edit is a fault."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.mutation.joints.joint_frames import (
    JointFrames,
    shifted,
    turned,
)

AT = np.array([0.0, -0.7, 1.1])
ORIGINS = (np.array([0.3, -0.2, 0.5]), np.array([0.05, 0.1, -0.04]))
OBLIQUE = Rotation.from_rotvec([0.4, -0.9, 0.7])
OTHER = Rotation.from_rotvec([-0.3, 0.5, 1.2])


def _joint_frames(first: Rotation, second: Rotation, motion: str = "angular") -> JointFrames:
    return JointFrames(ORIGINS, (first, second), axis=2, motion=motion)


def test_child_turns_about_the_joint_axis() -> None:
    """Points of the axis stay; the angle is from body 0 to body 1."""
    frames = _joint_frames(OBLIQUE, OTHER)
    origins, rotations = frames.child_poses(AT)
    axis_in_child = OTHER.apply([0.0, 0.0, 1.0])

    for origin, rotation, angle in zip(origins, rotations, AT, strict=True):
        np.testing.assert_allclose(rotation.apply(ORIGINS[1]) + origin, ORIGINS[0])
        np.testing.assert_allclose(rotation.apply(axis_in_child), OBLIQUE.apply([0.0, 0.0, 1.0]))
        turn = (OBLIQUE.inv() * rotation * OTHER).as_rotvec()
        np.testing.assert_allclose(turn, [0.0, 0.0, angle], atol=1e-12)


def test_child_slides_along_the_joint_axis() -> None:
    """Without rotation."""
    origins, rotations = _joint_frames(OBLIQUE, OTHER, "linear").child_poses(AT)

    np.testing.assert_allclose(
        origins - origins[0], np.outer(AT, OBLIQUE.apply([0.0, 0.0, 1.0])), atol=1e-12
    )
    assert (rotations.inv() * rotations[0]).magnitude().max() < 1e-12


@pytest.mark.parametrize("motion", ["angular", "linear"])
def test_exchanged_bodies_with_exchanged_frames_move_backwards(motion: str) -> None:
    """At zero the poses are unchanged."""
    frames = _joint_frames(OBLIQUE, OTHER, motion)
    back = JointFrames(ORIGINS[::-1], (OTHER, OBLIQUE), 2, motion, swapped=True)

    assert not frames.displaces(back, np.zeros(1))
    assert frames.displaces(back, AT)
    here, there = frames.child_poses(AT), back.child_poses(-AT)
    np.testing.assert_allclose(here[0], there[0], atol=1e-12)


@given(
    st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3),
)
def test_half_turn_is_its_own_inverse(axis: tuple[float, float, float]) -> None:
    """About any axis; other rotations are not."""
    direction = np.array(axis) / np.linalg.norm(axis)
    half = Rotation.from_rotvec(np.pi * direction)
    less = Rotation.from_rotvec(0.9 * np.pi * direction)

    good = _joint_frames(half, OTHER)
    assert not good.displaces(structs.replace(good, turns=(half.inv(), OTHER)), AT)
    good = _joint_frames(less, OTHER)
    assert good.displaces(structs.replace(good, turns=(less.inv(), OTHER)), AT)


def test_fixed_joint_motion_ignores_the_axis() -> None:
    """A joint that stays at zero."""
    good = _joint_frames(OBLIQUE, OTHER)
    bad = structs.replace(good, axis=0)

    assert not good.displaces(bad, np.zeros(1))
    assert good.displaces(bad, AT)


def test_shift_and_turn_displace_by_their_size() -> None:
    """On either side, without changing the original."""
    good = _joint_frames(OBLIQUE, OTHER, "none")

    for side in (0, 1):
        moved = shifted(good, side, np.array([0.0, 3e-4, -4e-4]))
        here, there = good.child_poses(AT[:1]), moved.child_poses(AT[:1])
        assert np.linalg.norm(here[0] - there[0]) == pytest.approx(5e-4)
        spun = turned(good, side, Rotation.from_rotvec([0.0, 2e-3, 0.0]))
        angle = (good.child_poses(AT)[1].inv() * spun.child_poses(AT)[1]).magnitude()
        np.testing.assert_allclose(angle, 2e-3)
