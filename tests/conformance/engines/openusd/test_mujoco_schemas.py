"""Schemas of MuJoCo: values of joints, couplings and actuators.

Units are those of mjcPhysics: radians, and the prefix of the axis does not matter.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conformance.engines.single_joints import (
    LIMITED,
    PRISMATIC,
    REVOLUTE,
    following_joint,
    only_joint,
)
from tests.conformance.engines.usd_observations import body, joint, observe_stage, stage
from urdf_usd.conformance.observation.robot import MimicObservation, SettingKind

JOINT = ("MjcJointAPI",)
EQUALITY = ("MjcEqualityJointAPI",)
CUSTOM = "custom uniform double urdf:limit:velocity = 0.5\n"
RANGE = "uniform double mjc:actuatorfrcrange:{} = {}\n"
DRIVE = """
    float drive:angular:physics:stiffness = {}
    float drive:angular:physics:damping = {}
"""


def _range(lower: float, upper: float) -> str:
    return RANGE.format("min", lower) + RANGE.format("max", upper)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_numbers_are_in_si_units_for_both_kinds_of_joints(tmp_path: Path, kind: str) -> None:
    text = _range(-7, 7) + CUSTOM
    text += "uniform double mjc:damping = 0.5\nuniform double mjc:frictionloss = 0.25\n"

    found = only_joint(tmp_path, kind, text, schemas=JOINT)

    assert (found.effort, found.velocity) == (7.0, 0.5)
    assert found.damping == pytest.approx(0.5)
    assert found.friction == 0.25


@pytest.mark.parametrize(
    ("text", "effort"),
    [
        ("", None),
        (_range(0, 0), None),
        (_range(-7, 7) + 'token mjc:actuatorfrclimited = "false"', None),
        (_range(-7, 7) + 'token mjc:actuatorfrclimited = "true"', 7.0),
        (_range(-1.1754943508222875e-38, 1.1754943508222875e-38), 0.0),
    ],
)
def test_effort_is_the_range_of_forces(tmp_path: Path, text: str, effort: float | None) -> None:
    assert only_joint(tmp_path, REVOLUTE, text, schemas=JOINT).effort == effort


def test_range_of_forces_with_two_bounds_is_no_effort(tmp_path: Path) -> None:
    found = only_joint(tmp_path, REVOLUTE, _range(-7, 6), schemas=JOINT)

    assert found.effort is not None
    assert math.isnan(found.effort)


def test_asset_for_mujoco_states_damping_in_its_schema(tmp_path: Path) -> None:
    custom = "custom uniform double urdf:dynamics:damping = 0.3"

    found = only_joint(tmp_path, REVOLUTE, custom, schemas=JOINT)

    assert found.damping is None
    assert found.note == "urdf:dynamics:damping is 0.3, but mjc:damping is absent"


@pytest.mark.parametrize("kinds", [(REVOLUTE, REVOLUTE), (REVOLUTE, PRISMATIC)])
def test_coupling_is_in_radians_and_metres(tmp_path: Path, kinds: tuple[str, str]) -> None:
    """Newton's attribute of the offset is in degrees, and comes first."""
    text = "rel mjc:target = </robot/lead>\nuniform double mjc:coef0 = 0.5\n"
    text += "uniform double mjc:coef1 = -2\n"

    plain = following_joint(tmp_path, LIMITED + text, EQUALITY, kinds=kinds)
    text += "float newton:mimicCoef0 = 90\n"
    newton = following_joint(tmp_path, LIMITED + text, EQUALITY, kinds=kinds)

    assert plain.mimic == MimicObservation("lead", -2.0, 0.5)
    assert newton.mimic is not None
    offset = math.pi / 2 if kinds[1] == REVOLUTE else 90.0
    assert newton.mimic.offset == pytest.approx(offset)


def _settings(folder: Path, actuator: str, drive: str = "") -> set[SettingKind]:
    text = body("a") + body("b")
    schemas = ("MjcJointAPI", *(("PhysicsDriveAPI:angular",) if drive else ()))
    text += joint(REVOLUTE, "it", _range(-7, 7) + drive, schemas=schemas)
    text += f'def MjcActuator "motor" {{ rel mjc:target = </robot/it>\n{actuator}\n}}\n'
    found = observe_stage(stage(folder, text)).unexpected
    assert found is not None
    return {one.kind for one in found if one.subject == "joint it"}


SERVO = """
    uniform double[] mjc:gainPrm = [30]
    uniform double[] mjc:biasPrm = [0, -30, -4]
    uniform token mjc:biasType = "affine"
"""
GEAR = "uniform double[] mjc:gear = [2]"
LIMIT = "uniform double mjc:forceRange:{} = {}\n"


@pytest.mark.parametrize(
    "actuator",
    [
        "",
        "uniform double[] mjc:gainPrm = [7]",
        "uniform double[] mjc:biasPrm = [0, -30, -4]",
        LIMIT.format("min", -7) + LIMIT.format("max", 7),
    ],
)
def test_actuator_without_bias_changes_nothing(tmp_path: Path, actuator: str) -> None:
    assert _settings(tmp_path, actuator) == set()


@pytest.mark.parametrize(
    "actuator",
    [
        SERVO,
        SERVO.replace("0, -30, -4", "5"),
        'uniform token mjc:biasType = "muscle"',
        LIMIT.format("min", -7) + LIMIT.format("max", 6),
        LIMIT.format("min", -5) + LIMIT.format("max", 5),
    ],
)
def test_actuator_that_acts_or_limits_is_a_setting(tmp_path: Path, actuator: str) -> None:
    assert _settings(tmp_path, actuator) == {SettingKind.DRIVE}


@pytest.mark.parametrize(
    ("stiffness", "damping", "more", "same"),
    [
        (30.0, 4.0, "", True),
        (31.0, 4.0, "", False),
        (30.0, 0.0, "", False),
        (30.0, 4.0, GEAR, False),
    ],
)
def test_servo_is_the_drive_of_its_joint(
    tmp_path: Path, stiffness: float, damping: float, more: str, *, same: bool
) -> None:
    degree = math.pi / 180
    drive = DRIVE.format(stiffness * degree, damping * degree)
    text = body("a") + body("b")
    schemas = ("MjcJointAPI", "PhysicsDriveAPI:angular")
    text += joint(REVOLUTE, "it", drive, schemas=schemas)
    text += 'def MjcActuator "motor" { rel mjc:target = </robot/it>\n'

    found = observe_stage(stage(tmp_path, f"{text}{SERVO}{more}\n}}\n")).unexpected

    assert found is not None
    acting = [one for one in found if one.message.startswith("actuator ")]
    assert len(acting) == (0 if same else 1)


def test_unknown_attribute_of_mujoco_is_a_setting(tmp_path: Path) -> None:
    found = _settings(tmp_path, "", "uniform double mjc:unheardOf = 1\n")

    assert found == {SettingKind.JOINT}
