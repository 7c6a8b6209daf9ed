"""Bounds cover the float32 rounding of random robots, and are tight enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy.spatial.transform import Rotation

from tests.conformance.miniatures import ROBOT
from tests.converter.strategies import robots
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.engines.reference import observe_robot, structure
from urdf_usd.conformance.observation.robot import ROOT_MOTION, Observation, Quantity
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
from urdf_usd.converter.robot.model import (
    Continuous,
    Fixed,
    Inertial,
    Joint,
    Link,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Robot,
)
from urdf_usd.converter.robot.spatial import inertia_tensor, inertia_values, rotation_from_quat_wxyz
from urdf_usd.reports.records.record import Grade

_AXIAL = (Revolute, Continuous, Prismatic, Planar)


def _float32(value: float) -> float:
    return float(np.float32(value))


def _stored_rotation(rotation: Rotation) -> Rotation:
    return Rotation.from_quat(rotation.as_quat().astype(np.float32).astype(np.float64))


def _pose(position: tuple[float, ...], rotation: Rotation) -> Pose:
    x, y, z = map(float, position)
    a, b, c, d = rotation.as_quat(scalar_first=True).tolist()
    return Pose((x, y, z), (a, b, c, d))


def _stored_link(link: Link) -> Link:
    """Return mass, centre, moments and principal axes, each rounded once."""
    if link.inertial is None:
        return link
    turn = rotation_from_quat_wxyz(link.inertial.origin.quat_wxyz)
    tensor = turn @ inertia_tensor(link.inertial.inertia) @ turn.T
    moments, axes = np.linalg.eigh(tensor)
    axes = axes * np.linalg.det(axes)
    turned = _stored_rotation(Rotation.from_matrix(axes)).as_matrix()
    tensor = turned @ np.diag(moments.astype(np.float32).astype(np.float64)) @ turned.T
    x, y, z = map(_float32, link.inertial.origin.position)
    mass = _float32(link.inertial.mass)
    return structs.replace(link, inertial=Inertial(mass, Pose((x, y, z)), inertia_values(tensor)))


def _stored_joint(joint: Joint) -> Joint:
    """Return origin and both rotations of its frame, which include the axis."""
    own = Rotation.from_quat(joint.origin.quat_wxyz, scalar_first=True)
    align = Rotation.identity()
    if isinstance(joint.kind, _AXIAL):
        align, _ = Rotation.align_vectors([joint.kind.axis], [[1.0, 0.0, 0.0]])
    first, second = _stored_rotation(own * align), _stored_rotation(align)
    origin = _pose(tuple(map(_float32, joint.origin.position)), first * second.inv())
    stored = structs.replace(joint, origin=origin)
    if not isinstance(joint.kind, _AXIAL):
        return stored
    a, b, c = second.apply([1.0, 0.0, 0.0]).tolist()
    return structs.replace(stored, kind=structs.replace(joint.kind, axis=(a, b, c)))


def _require_exact(robot: Robot) -> None:
    """Judge a robot whose numbers are rounded as UsdPhysics stores them."""
    sampled = configurations(structure(robot), 6)
    stored = structs.replace(
        robot,
        links=tuple(map(_stored_link, robot.links)),
        joints=tuple(map(_stored_joint, robot.joints)),
    )
    states = frozenset({Quantity.FRAMES, Quantity.MASS, Quantity.MOTION})
    expected, actual = (
        structs.replace(observe_robot(each, sampled), states=states) for each in (robot, stored)
    )
    checks = judge({"reference": Observed(expected)}, Observed(actual)).checks
    nothing = {Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}
    graded = {check.id: check for check in checks if check.grade not in nothing}

    assert {"kinematics.position", "mass.total", "dynamics.bias"} <= graded.keys()
    for check in graded.values():
        assert check.grade is Grade.EXACT, (check.id, check.worst, check.bound)


def _lone(inertial: Inertial) -> Robot:
    return Robot("lone", (Link("lone", inertial),), ())


@settings(deadline=None, max_examples=60)
@given(robots(massless=False))
# The square of such a distance underflows to zero.
@example(_lone(Inertial(0.2, Pose((0.0, -1e-188, 0.0)), (0.1, 0.0, 0.0, 0.2, 0.0, 0.2))))
def test_rounded_storage_is_exact(robot: Robot) -> None:
    _require_exact(robot)


def _chain(seed: int, depth: int, *, welded: bool) -> Robot:
    random = np.random.default_rng(seed)

    def pose(scale: float) -> Pose:
        return _pose(tuple(random.normal(scale=scale, size=3)), Rotation.random(rng=random))

    def link(number: int) -> Link:
        a, b, c = random.uniform(0.02, 0.3, size=3) ** 2
        mass = random.uniform(0.05, 8.0)
        moments = mass / 3 * np.array([b + c, 0.0, 0.0, a + c, 0.0, a + b])
        return Link(f"l{number}", Inertial(mass, pose(0.2), tuple(moments.tolist())))

    kind = Fixed() if welded else Revolute((0.6, 0.0, 0.8), Range(-3.0, 3.0))
    joints = (Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, pose(0.4)) for i in range(depth))
    return Robot("chain", tuple(map(link, range(depth + 1))), tuple(joints))


@settings(max_examples=30, deadline=None)
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
