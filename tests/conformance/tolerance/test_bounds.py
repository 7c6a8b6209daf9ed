"""Bounds cover the float32 rounding of random robots, and are tight enough."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from scipy.spatial.transform import Rotation

from tests.conformance.miniatures import ROBOT
from tests.converter.strategies import robots
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference import observe_robot, structure
from urdf_usd.conformance.observation.robot import ROOT_MOTION, Observation
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.tolerance import (
    RELATIVE,
    Tolerance,
    ToleranceModel,
    derive_tolerance_model,
    inertia_bound,
    scalar_bound,
)
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import (
    Continuous,
    Fixed,
    Inertial,
    Joint,
    Link,
    Pose,
    Range,
    Revolute,
    Robot,
)
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset
from urdf_usd.reports.records.record import Grade


def _require_exact(robot: Robot) -> None:
    """Judge a robot whose numbers are rounded as UsdPhysics stores them."""
    sampled, tree = configurations(structure(robot), 6), build_tree(robot)
    with tempfile.TemporaryDirectory() as folder:
        write_asset(robot, tree, assign_bodies(tree), Path(folder), ConvertOptions())
        usd = OpenusdEngine().observe(Request(str(Path(folder, asset_name(robot))), sampled))
    checks = judge({"reference": Observed(observe_robot(robot, sampled))}, Observed(usd)).checks
    nothing = {Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}
    graded = {check.id: check for check in checks if check.grade not in nothing}

    assert {"kinematics.position", "mass.total", "dynamics.bias"} <= graded.keys()
    for check in graded.values():
        assert check.grade is Grade.EXACT, (check.id, check.worst, check.bound)


def _lone(inertial: Inertial) -> Robot:
    return Robot("lone", (Link("lone", inertial),), ())


@given(robots(massless=False))
# The square of such a distance underflows to zero.
@example(_lone(Inertial(0.2, Pose((0.0, -1e-188, 0.0)), (0.1, 0.0, 0.0, 0.2, 0.0, 0.2))))
def test_rounded_storage_is_exact(robot: Robot) -> None:
    _require_exact(robot)


def _chain(seed: int, depth: int, *, welded: bool) -> Robot:
    random = np.random.default_rng(seed)

    def pose(scale: float) -> Pose:
        x, y, z = random.normal(scale=scale, size=3).tolist()
        a, b, c, d = Rotation.random(rng=random).as_quat(scalar_first=True).tolist()
        return Pose((x, y, z), (a, b, c, d))

    def link(number: int) -> Link:
        a, b, c = random.uniform(0.02, 0.3, size=3) ** 2
        mass = random.uniform(0.05, 8.0)
        moments = mass / 3 * np.array([b + c, 0.0, 0.0, a + c, 0.0, a + b])
        return Link(f"l{number}", Inertial(mass, pose(0.2), tuple(moments.tolist())))

    kind = Fixed() if welded else Revolute((0.6, 0.0, 0.8), Range(-3.0, 3.0))
    joints = (Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, pose(0.4)) for i in range(depth))
    return Robot("chain", tuple(map(link, range(depth + 1))), tuple(joints))


@given(seed=st.integers(0, 2**32 - 1), depth=st.integers(1, 30), welded=st.booleans())
def test_rounded_storage_of_a_chain_is_exact(seed: int, depth: int, *, welded: bool) -> None:
    _require_exact(_chain(seed, depth, welded=welded))


def _modelled(robot: Robot) -> tuple[Observation, ToleranceModel]:
    expected = observe_robot(robot, configurations(structure(robot)))
    return expected, derive_tolerance_model(expected, Tolerance())


def test_bounds_stay_below_the_engineering_tolerance_of_real_robots() -> None:
    bounds = _modelled(_chain(7, 7, welded=False))[1].bounds
    rotations = [bounds[f"l{index}"].rotation for index in range(8)]
    motion = _modelled(ROBOT)[1].motion

    assert rotations[0] < 1e-11
    assert rotations == sorted(rotations)
    assert 1e-7 < bounds["l7"].rotation < 2e-6
    assert 1e-7 < bounds["l7"].position < 5e-6
    assert motion is not None
    scale = np.outer(motion.inertia, motion.inertia)
    assert 1e-8 < (motion.inertia_bound / scale).max() < 5e-5
    assert 1e-8 < (motion.bias_bound / motion.bias).max() < 5e-5
    assert motion.joints[:6] == (ROOT_MOTION,) * 6


def test_scales_bound_forces() -> None:
    expected, model = _modelled(ROBOT)

    assert model.motion is not None
    assert expected.dynamics is not None
    ratio = np.abs(expected.dynamics.bias).max(axis=0) / model.motion.bias
    assert 0.5 < ratio.max() <= 1.0


@pytest.mark.parametrize(("mass", "invents"), [(None, True), (0.5, False)])
def test_only_massless_joints_may_have_invented_inertia(
    mass: float | None, *, invents: bool
) -> None:
    body = Inertial(3.0, Pose((0.1, 0.2, 0.3)), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    light = None if mass is None else structs.replace(body, mass=mass)
    turn = Joint("turn", "a", "b", Continuous((1.0, 0.0, 0.0)), Pose((0.0, 0.3, 0.4)))
    motion = _modelled(Robot("r", (Link("a", body), Link("b", light)), (turn,)))[1].motion

    assert motion is not None
    assert bool(motion.inertia_defaulted.any()) is invents
    if invents:
        # Along X the root carries all of it; about X it is half a metre away, and has
        # an own extent of at most the robot's size.
        assert motion.inertia_defaulted[0, 0] == pytest.approx(3e-6)
        assert 0.75e-6 < motion.inertia_defaulted[3, 3] < 3 * 0.75e-6


@given(st.floats(1e-30, 1e30))
def test_scalar_bound_covers_rounding_in_degrees(value: float) -> None:
    stored = float(np.float32(math.degrees(value)))

    assert abs(math.radians(stored) - value) <= scalar_bound(value) < 1.001 * RELATIVE * value


def test_bound_of_an_isotropic_inertia_is_that_of_its_moments() -> None:
    assert inertia_bound(3.0 * np.eye(3)) < 1.001 * RELATIVE
    assert inertia_bound(np.diag([1.0, 2.0, 3.0])) > 2 * RELATIVE
    assert inertia_bound(np.zeros((3, 3))) > 0
