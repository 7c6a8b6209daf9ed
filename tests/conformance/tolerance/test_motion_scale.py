"""Bounds of equations of motion cover the float32 rounding of random robots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from msgspec import structs
from scipy.spatial.transform import Rotation

from tests.conformance.miniatures import ROBOT
from tests.converter.strategies import robots
from urdf_usd.conformance.checks.dynamics import bias_forces, inertia_matrices
from urdf_usd.conformance.engines.reference import observe_robot, structure
from urdf_usd.conformance.observation.robot import ROOT_MOTION
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import Compared, derive_tolerance_model
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.converter.robot.model import (
    Continuous,
    Inertial,
    Joint,
    Link,
    Planar,
    Pose,
    Prismatic,
    Revolute,
    Robot,
)
from urdf_usd.converter.robot.spatial import (
    inertia_tensor,
    inertia_values,
    rotation_from_quat_wxyz,
)
from urdf_usd.reports.records.record import Grade

_AXIAL = (Revolute, Continuous, Prismatic, Planar)


def _stored(value: float) -> float:
    return float(np.float32(value))


def _stored_rotation(rotation: Rotation) -> Rotation:
    return Rotation.from_quat(rotation.as_quat().astype(np.float32).astype(np.float64))


def _quat(rotation: Rotation) -> tuple[float, float, float, float]:
    w, x, y, z = rotation.as_quat(scalar_first=True).tolist()
    return w, x, y, z


def _lone(inertial: Inertial) -> Robot:
    return Robot("lone", (Link("lone", inertial),), ())


def _stored_link(link: Link) -> Link:
    """Return mass, centre, moments and principal axes, each rounded once."""
    if link.inertial is None:
        return link
    turn = rotation_from_quat_wxyz(link.inertial.origin.quat_wxyz)
    tensor = turn @ inertia_tensor(link.inertial.inertia) @ turn.T
    moments, axes = np.linalg.eigh(tensor)
    axes = axes * np.linalg.det(axes)
    turned = _stored_rotation(Rotation.from_matrix(axes)).as_matrix()
    kept = np.diag(moments.astype(np.float32).astype(np.float64))
    x, y, z = map(_stored, link.inertial.origin.position)
    inertial = Inertial(
        _stored(link.inertial.mass),
        Pose((x, y, z)),
        inertia_values(turned @ kept @ turned.T),
    )
    return structs.replace(link, inertial=inertial)


def _stored_joint(joint: Joint) -> Joint:
    """Return origin and both rotations of its frame, which include the axis."""
    own = Rotation.from_quat(joint.origin.quat_wxyz, scalar_first=True)
    align = Rotation.identity()
    if isinstance(joint.kind, _AXIAL):
        align, _ = Rotation.align_vectors([joint.kind.axis], [[1.0, 0.0, 0.0]])
    first, second = _stored_rotation(own * align), _stored_rotation(align)
    x, y, z = map(_stored, joint.origin.position)
    stored = structs.replace(joint, origin=Pose((x, y, z), _quat(first * second.inv())))
    if not isinstance(joint.kind, _AXIAL):
        return stored
    a, b, c = second.apply([1.0, 0.0, 0.0]).tolist()
    return structs.replace(stored, kind=structs.replace(joint.kind, axis=(a, b, c)))


@settings(deadline=None, max_examples=60)
@given(robots(massless=False))
# The square of such a distance underflows to zero.
@example(_lone(Inertial(0.2, Pose((0.0, -1e-188, 0.0)), (0.1, 0.0, 0.0, 0.2, 0.0, 0.2))))
def test_rounded_storage_is_exact(robot: Robot) -> None:
    sampled = configurations(structure(robot), 6)
    stored = structs.replace(
        robot,
        links=tuple(map(_stored_link, robot.links)),
        joints=tuple(map(_stored_joint, robot.joints)),
    )
    spec, usd = (observe_robot(each, sampled) for each in (robot, stored))

    for compare in (inertia_matrices, bias_forces):
        comparison = compare(spec, usd, derive_tolerance_model(spec, Tolerance()))

        assert isinstance(comparison, Compared)
        assert comparison.differences
        for difference in comparison.differences:
            assert difference.grade is Grade.EXACT, difference


def test_bounds_stay_below_the_engineering_tolerance_of_real_robots() -> None:
    sampled = configurations(structure(ROBOT))
    motion = derive_tolerance_model(observe_robot(ROBOT, sampled), Tolerance()).motion

    assert motion is not None
    scale = np.outer(motion.inertia, motion.inertia)
    assert 1e-8 < (motion.inertia_bound / scale).max() < 5e-5
    assert 1e-8 < (motion.bias_bound / motion.bias).max() < 5e-5
    assert motion.joints[:6] == (ROOT_MOTION,) * 6


def test_scales_bound_forces_and_inertias() -> None:
    sampled = configurations(structure(ROBOT))
    spec = observe_robot(ROBOT, sampled)
    motion = derive_tolerance_model(spec, Tolerance()).motion

    assert motion is not None
    assert spec.dynamics is not None
    ratio = np.abs(spec.dynamics.bias).max(axis=0) / motion.bias
    assert (ratio <= 1.0).all()
    assert ratio.max() > 0.5


@pytest.mark.parametrize(("mass", "invents"), [(None, True), (0.5, False)])
def test_only_massless_joints_may_have_invented_inertia(
    mass: float | None, *, invents: bool
) -> None:
    body = Inertial(3.0, Pose((0.1, 0.2, 0.3)), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    light = None if mass is None else structs.replace(body, mass=mass)
    origin = Pose((0.0, 0.3, 0.4))
    robot = Robot(
        "r",
        (Link("a", body), Link("b", light)),
        (Joint("turn", "a", "b", Continuous((1.0, 0.0, 0.0)), origin),),
    )
    motion = derive_tolerance_model(
        observe_robot(robot, configurations(structure(robot))), Tolerance()
    ).motion

    assert motion is not None
    assert bool(motion.inertia_invented.any()) is invents
    if invents:
        # Along X the root carries all of it; about X it is half a metre away, and has
        # an own extent of at most the robot's size.
        assert motion.inertia_invented[0, 0] == pytest.approx(3e-6)
        assert 0.75e-6 < motion.inertia_invented[3, 3] < 3 * 0.75e-6


def test_reading_without_equations_has_no_scale() -> None:
    sampled = configurations(structure(ROBOT))
    spec = observe_robot(ROBOT, sampled)
    links = tuple(
        structs.replace(link, mass=structs.replace(link.mass, inertia=None)) if link.mass else link
        for link in spec.links
    )

    assert derive_tolerance_model(structs.replace(spec, dynamics=None), Tolerance()).motion is None
    assert derive_tolerance_model(structs.replace(spec, links=links), Tolerance()).motion is None
