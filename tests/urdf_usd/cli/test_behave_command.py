"""Simulations of robots by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from urdf_usd import convert
from urdf_usd.cli.main import main

# A horizontal arm of 2 kg, whose centre of mass is 0.5 m from its joint: 9.81 N m.
ARM = """<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/>
    <axis xyz="0 1 0"/><limit lower="-0.5" upper="0.7" effort="EFFORT" velocity="5"/></joint>
  <link name="forearm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace("EFFORT", "50"), encoding="utf-8")
    return file


def _behave(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["behave", "--simulator", "mujoco", *map(str, arguments)])


def test_arm_with_strong_drives_holds_its_pose_and_reaches_its_limits(urdf: Path) -> None:
    result = _behave(urdf)

    assert result.exit_code == 0, result.output
    assert "holds its pose" in result.stdout
    assert "1 driven joint reached targets and limits" in result.stdout
    assert "fixed base" in result.stderr


def test_urdf_on_standard_input_is_simulated(urdf: Path) -> None:
    text = urdf.read_text(encoding="utf-8")

    result = CliRunner().invoke(main, ["behave", "-", "--simulator", "mujoco"], input=text)

    assert result.exit_code == 0, result.output
    assert "holds its pose" in result.stdout


def test_drive_weaker_than_gravity_does_not_hold(urdf: Path) -> None:
    urdf.write_text(ARM.replace("EFFORT", "9.7"), encoding="utf-8")

    result = _behave(urdf, "--format", "json")

    (row,) = json.loads(result.stdout)
    assert result.exit_code == 1
    assert row["state"] != "holds"
    assert row["worst"] == "elbow"
    assert row["weak"] == ["elbow"]


def test_asset_without_drives_falls_and_the_remedy_is_named(urdf: Path, tmp_path: Path) -> None:
    asset = convert(urdf, tmp_path / "usd")

    result = _behave(asset.root_layer)

    assert result.exit_code == 1
    assert "joint elbow" in result.stdout
    assert "give gains (urdf-usd init, --with)" in result.stdout


def test_unreadable_asset_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cut.usda").write_text("#usda 1.0\ndef Xform {", encoding="utf-8")

    result = _behave(tmp_path / "cut.usda")

    assert result.exit_code == 2
    assert "cut.usda" in result.stderr
