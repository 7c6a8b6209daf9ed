"""Engines that read a URDF report the expected values of the oblique arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.optional_engines import ENGINES, installed
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import (
    Available,
    Engine,
    Side,
    Unavailable,
    optional_engine,
)
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.observation.robot import (
    DOUBLE_PRECISION,
    MimicObservation,
    Observation,
    Quantity,
)

_REQUIRED = ("mujoco", "pybullet")
_URDF = [MujocoEngine, PybulletEngine, *(e for e in ENGINES.values() if e().side is Side.URDF)]


@pytest.fixture(params=_URDF, ids=lambda make: make().name)
def observation(request: pytest.FixtureRequest, tmp_path: Path) -> Observation:
    engine = installed(request.param())
    return oblique_arm.observe_arm(engine, tmp_path)


def _rounding(observation: Observation) -> float:
    """Return the rounding of twenty operations on numbers of the order of one."""
    return 20 * max(observation.precision, DOUBLE_PRECISION)


def test_names_and_root_are_those_of_the_file(observation: Observation) -> None:
    """Engines lump, reorder and rename them."""
    oblique_arm.assert_structure(observation)


def test_link_frames_follow_the_formulas(observation: Observation) -> None:
    """Within the engine's floating-point precision."""
    atol = 1e-13 if observation.engine in _REQUIRED else _rounding(observation)
    oblique_arm.assert_frames(observation, atol=atol)


def test_inertia_is_in_the_link_frame(observation: Observation) -> None:
    """About the centre of mass, with products of inertia."""
    arm = next(link for link in observation.links if link.name == "arm").mass
    assert arm is not None
    slack = _rounding(observation)

    assert arm.mass == pytest.approx(2.25, rel=slack)
    assert arm.center == pytest.approx((-0.05, 0.15, 0.25), abs=slack)
    atol = 1e-14 if observation.engine in _REQUIRED else slack
    assert arm.inertia == pytest.approx(oblique_arm.ARM_INERTIA, abs=atol)


def test_mass_of_the_root_is_reported(observation: Observation) -> None:
    """The root is neither fixed to the world nor fused, unless the engine lumps groups."""
    base = next(link for link in observation.links if link.name == "base").mass
    written = [link for link in observation.links if link.name not in observation.invented]
    total = sum(link.mass.mass for link in written if link.mass)

    assert total == pytest.approx(10.5)
    assert base is not None
    if observation.engine in _REQUIRED:
        assert base.mass == pytest.approx(7.5)
        assert base.center == pytest.approx((0.1, -0.2, 0.3))


def test_limits_and_dynamics_are_those_of_the_file(observation: Observation) -> None:
    """Quantities that the engine does not have are left out."""
    shoulder, elbow = (oblique_arm.joint_named(observation, name) for name in ("shoulder", "elbow"))
    states = observation.states

    assert (shoulder.lower, shoulder.upper) == (-1.25, 0.75)
    assert (elbow.lower, elbow.upper) == (-0.2, 0.4)
    velocities = (3.5, 0.8) if Quantity.VELOCITY in states else (None, None)
    assert (shoulder.velocity, elbow.velocity) == velocities
    if Quantity.EFFORT in states:
        assert (shoulder.effort, elbow.effort) == (12, 55)
    assert shoulder.damping == 0.7
    if observation.engine in _REQUIRED:
        assert shoulder.friction == 0.3
        assert shoulder.axis == pytest.approx(np.array([1, -2, 3]) / np.sqrt(14))
        assert elbow.axis == pytest.approx((-0.48, 0.6, 0.64))


@pytest.mark.parametrize(
    ("engine", "unsupported"),
    [(MujocoEngine(), Quantity.VELOCITY), (PybulletEngine(), Quantity.MIMIC)],
)
def test_unsupported_quantities_are_not_reported(
    engine: Engine, unsupported: Quantity, tmp_path: Path
) -> None:
    observation = oblique_arm.observe_arm(engine, tmp_path)
    mimic = None if unsupported is Quantity.MIMIC else MimicObservation("shoulder", -0.2, 0.05)

    assert unsupported not in observation.states
    assert oblique_arm.joint_named(observation, "elbow").mimic == mimic


def test_elements_left_out_for_an_engine_are_noted(observation: Observation) -> None:
    """Shapes, for example."""
    assert any("Shapes" in note for note in observation.notes)


def test_missing_engine_gives_the_install_command() -> None:
    """As one string that can be copied."""
    found = optional_engine("surely_no_module", "no-engine", "newton")

    assert found == Unavailable("no-engine is not installed", "pip install 'newton>=1.8'")


def test_engine_without_package_metadata_is_available() -> None:
    """As for one built from source; any module serves as the example."""
    found = optional_engine("json", "surely-no-distribution", "newton")

    assert found == Available("surely-no-distribution of unknown version")


def test_installed_engine_gives_its_version() -> None:
    """The version is looked up by the name on PyPI."""
    match optional_engine("numpy", "numpy", "newton"):
        case Available(version):
            assert version == f"numpy {np.__version__}"
        case Unavailable():
            pytest.fail("numpy is a requirement")
