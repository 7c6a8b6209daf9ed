"""MuJoCo and PyBullet report the expected values of the oblique arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
from urdf_usd.conformance.engines.mujoco.engine import MujocoEngine
from urdf_usd.conformance.engines.protocol import Engine
from urdf_usd.conformance.engines.pybullet.engine import PybulletEngine
from urdf_usd.conformance.observation.robot import (
    MimicObservation,
    Observation,
    Quantity,
)


@pytest.fixture(params=[MujocoEngine, PybulletEngine])
def observation(request: pytest.FixtureRequest, tmp_path: Path) -> Observation:
    """Return one engine's observation of the oblique arm."""
    engine: Engine = request.param()
    return oblique_arm.observe_arm(engine, tmp_path)


def test_names_and_root_are_those_of_the_file(observation: Observation) -> None:
    """Independent of the order of the file and of fused links."""
    oblique_arm.assert_structure(observation)


def test_link_frames_follow_the_formulas(observation: Observation) -> None:
    """Link frames, not inertial frames, in double precision."""
    oblique_arm.assert_frames(observation, atol=1e-13)


def test_inertia_is_in_the_link_frame(observation: Observation) -> None:
    """The rotated tensor with its products, not principal moments."""
    arm = next(link for link in observation.links if link.name == "arm").mass
    assert arm is not None

    assert arm.mass == pytest.approx(2.25)
    assert arm.center == pytest.approx((-0.05, 0.15, 0.25))
    assert arm.inertia == pytest.approx(oblique_arm.ARM_INERTIA, abs=1e-14)


def test_mass_of_the_root_is_reported(observation: Observation) -> None:
    """The root is neither fixed to the world nor fused."""
    base = next(link for link in observation.links if link.name == "base").mass
    assert base is not None

    assert base.mass == pytest.approx(7.5)
    assert base.center == pytest.approx((0.1, -0.2, 0.3))


def test_limits_effort_and_dynamics_are_as_written(observation: Observation) -> None:
    """In SI units, with the signs of the file."""
    shoulder = oblique_arm.joint_named(observation, "shoulder")

    assert (shoulder.lower, shoulder.upper) == (-1.25, 0.75)
    assert (shoulder.effort, shoulder.damping, shoulder.friction) == (12, 0.7, 0.3)
    assert shoulder.axis == pytest.approx(np.array([1, -2, 3]) / np.sqrt(14))
    assert oblique_arm.joint_named(observation, "elbow").axis == pytest.approx((-0.48, 0.6, 0.64))


def test_unsupported_quantities_are_not_reported(observation: Observation) -> None:
    """MuJoCo has no velocity limit, PyBullet no mimic joints."""
    elbow = oblique_arm.joint_named(observation, "elbow")
    if observation.engine == "mujoco":
        assert Quantity.VELOCITY not in observation.states
        assert elbow.velocity is None
        assert elbow.mimic == MimicObservation("shoulder", -0.2, 0.05)
    else:
        assert Quantity.MIMIC not in observation.states
        assert elbow.mimic is None
        assert elbow.velocity == 0.8


def test_missing_meshes_are_left_out_with_a_note(observation: Observation) -> None:
    """The copy that the engine reads has no shapes."""
    assert any("Shapes" in note for note in observation.notes)
