"""Differences of equations of motion are traced to links and joints."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    ROBOT,
    compared,
    urdf_reading,
    usd_reading,
    with_inertial,
    with_joint,
)
from urdf_usd.conformance.checks.check import Compared, Incomparable
from urdf_usd.conformance.observation.robot import ROOT_MOTION, Dynamics, Observation
from urdf_usd.converter.robot.model import Pose
from urdf_usd.reports.records.record import Difference, Grade

_INERTIA, _BIAS = "dynamics.inertia_matrix", "dynamics.bias"


def _by_item(check: str, actual: Observation) -> dict[str, Difference]:
    comparison = compared(check, urdf_reading(), actual)
    assert isinstance(comparison, Compared)
    return {difference.item: difference for difference in comparison.differences}


def _dynamics(reading: Observation) -> Dynamics:
    assert reading.dynamics is not None
    return reading.dynamics


@pytest.mark.parametrize("check", [_INERTIA, _BIAS])
def test_wrong_link_is_traced_from_all_joints_that_carry_it(check: str) -> None:
    found = _by_item(check, usd_reading(with_inertial(ROBOT, "forearm", mass=0.8)))
    failing = {item for item, each in found.items() if each.grade is Grade.FAILS}

    assert failing == {ROOT_MOTION, "shoulder", "elbow"}
    assert {found[item].traces for item in failing} == {("forearm",)}
    assert "caused by link forearm" in found["elbow"].message
    assert found[ROOT_MOTION].subject == "link base"
    assert found["wheel"].grade is Grade.EXACT


def test_wrong_frame_is_traced_to_its_joint() -> None:
    moved = with_joint(ROBOT, "elbow", origin=Pose((0.1, 0.2, 0.3)))
    found = _by_item(_INERTIA, usd_reading(moved))

    assert found["shoulder"].traces == ("elbow",)
    assert found[ROOT_MOTION].traces == ("elbow",)


def test_order_of_joints_does_not_matter() -> None:
    shuffled = structs.replace(ROBOT, joints=tuple(reversed(ROBOT.joints)))
    reading = usd_reading(shuffled)

    assert _dynamics(reading).joints != _dynamics(urdf_reading()).joints
    for check in (_INERTIA, _BIAS):
        found = _by_item(check, reading)
        assert {each.grade for each in found.values()} == {Grade.EXACT}


def test_unstated_joint_is_not_comparable() -> None:
    whole = _dynamics(usd_reading())
    kept = [i for i, name in enumerate(whole.joints) if name not in {"elbow", ""}]
    part = structs.replace(
        whole,
        joints=tuple(whole.joints[i] for i in kept),
        inertia=whole.inertia[:, kept][:, :, kept],
        bias=whole.bias[:, kept],
        velocities=whole.velocities[:, kept],
    )
    found = _by_item(_INERTIA, structs.replace(usd_reading(), dynamics=part))

    assert found["elbow"].grade is Grade.NOT_COMPARABLE
    assert ROOT_MOTION not in found
    assert found["shoulder"].grade is Grade.EXACT
    assert "states no inertia" in found["elbow"].message


def test_force_that_is_not_finite_fails() -> None:
    whole = _dynamics(usd_reading())
    bias = whole.bias.copy()
    bias[2, whole.joints.index("wheel")] = np.nan
    broken = structs.replace(usd_reading(), dynamics=structs.replace(whole, bias=bias))

    assert _by_item(_BIAS, broken)["wheel"].grade is Grade.FAILS


def test_side_without_equations_is_not_comparable() -> None:
    spec, unstated = urdf_reading(), structs.replace(usd_reading(), dynamics=None)

    for check in (_INERTIA, _BIAS):
        for sides in ((spec, unstated), (unstated, spec)):
            assert compared(check, *sides) == Incomparable("usd states no equations of motion")
