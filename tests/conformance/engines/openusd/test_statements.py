"""Limits and types of joints, in SI units."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conformance.engines.single_joints import PRISMATIC, REVOLUTE, only_joint
from tests.conformance.engines.usd_observations import DATA, joint_named, observe_stage
from urdf_usd.conformance.observation.robot import JointType


def bounds(lower: str, upper: str) -> str:
    """Return limit attributes."""
    return f"float physics:lowerLimit = {lower}\nfloat physics:upperLimit = {upper}\n"


def test_revolute_limits_become_radians() -> None:
    elbow = joint_named(observe_stage(DATA / "nested_arm.usda"), "elbow")

    assert (elbow.lower, elbow.upper) == (-math.pi / 2, math.pi / 4)


def test_prismatic_limits_stay_in_metres() -> None:
    slide = joint_named(observe_stage(DATA / "nested_arm.usda"), "slide")

    assert (slide.lower, slide.upper) == (-0.125, 0.25)


def test_revolute_joint_without_limits_is_continuous() -> None:
    wrist = joint_named(observe_stage(DATA / "nested_arm.usda"), "wrist_turn")

    assert wrist.type is JointType.CONTINUOUS
    assert (wrist.lower, wrist.upper) == (None, None)


def test_prismatic_joint_without_limits_is_unlimited(tmp_path: Path) -> None:
    rail = only_joint(tmp_path, PRISMATIC, "")

    assert rail.type is JointType.PRISMATIC
    assert (rail.lower, rail.upper) == (-math.inf, math.inf)


@pytest.mark.parametrize("infinite", ["inf", "3.4028235e38"])
def test_revolute_limit_on_one_side_only_is_lost(tmp_path: Path, infinite: str) -> None:
    """OpenUSD's parser then disables both sides."""
    assert only_joint(tmp_path, REVOLUTE, bounds("-90", infinite)).type is (JointType.CONTINUOUS)


def test_revolute_limit_beyond_all_angles_is_unlimited(tmp_path: Path) -> None:
    half_open = only_joint(tmp_path, REVOLUTE, bounds("-90", "1e37"))

    assert half_open.type is JointType.REVOLUTE
    assert (half_open.lower, half_open.upper) == (-math.pi / 2, math.inf)


def test_prismatic_limit_on_one_side_only_is_kept(tmp_path: Path) -> None:
    rail = only_joint(tmp_path, PRISMATIC, bounds("-inf", "0.5"))

    assert (rail.lower, rail.upper) == (-math.inf, 0.5)


def test_reversed_limits_are_reported_and_noted(tmp_path: Path) -> None:
    locked = only_joint(tmp_path, PRISMATIC, bounds("0.5", "0.25"))

    assert (locked.lower, locked.upper) == (0.5, 0.25)
    assert locked.note == "its limits lock it: lower is above upper"


def test_joint_type_attribute_that_differs_from_the_effective_type_is_noted(tmp_path: Path) -> None:
    meant = 'custom uniform string urdf:joint:type = "revolute"'
    found = only_joint(tmp_path, REVOLUTE, meant)

    assert (found.type, found.note) == (JointType.CONTINUOUS, "urdf:joint:type is revolute")
