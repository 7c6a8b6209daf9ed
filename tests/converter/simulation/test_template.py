"""Commented settings files."""

from __future__ import annotations

from pathlib import Path

from tests.converter.simulation.robots import write_described, write_description
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Base
from urdf_usd.converter.simulation.resolution import Simulation, resolve
from urdf_usd.converter.simulation.settings import (
    SettingsTables,
    load_settings,
)
from urdf_usd.converter.simulation.template import description_template
from urdf_usd.converter.urdf.parse import parse


def test_template_changes_nothing_until_it_is_edited(tmp_path: Path) -> None:
    robot = parse(write_described(tmp_path)).robot
    text = description_template(robot, Base.FLOATING, "two.urdf")

    description = load_settings(write_description(tmp_path, text))

    assert description.tables == SettingsTables()
    notes: list[Diagnostic] = []
    assert resolve(description, robot, robot, notes) == Simulation()
    assert not notes


def test_every_setting_of_the_template_is_valid(tmp_path: Path) -> None:
    """Once the comment sign of settings is removed, names match the robot."""
    robot = parse(write_described(tmp_path)).robot
    text = description_template(robot, Base.FIXED, "two.urdf")
    lines = [
        line[1:] if line.startswith("#") and not line.startswith("# ") else line
        for line in text.splitlines()
    ]

    description = load_settings(write_description(tmp_path, "\n".join(lines)))

    diagnostics: list[Diagnostic] = []
    found = resolve(description, robot, robot, diagnostics)
    assert description.tables.base == "fixed"
    assert {drive.joint for drive in found.drives} == {"hinge"}
    assert ("base", "finger") in found.filtered_pairs
    rules = {one.rule for one in diagnostics}
    assert rules == {"description-lost"}


def test_joints_are_listed_with_types_and_limits(tmp_path: Path) -> None:
    robot = parse(write_described(tmp_path)).robot

    text = description_template(robot, Base.FLOATING, "two.urdf")

    assert "#   hinge     revolute, -2 to 2 rad, 50 N m, 3 rad/s\n" in text
    follower = "prismatic, -1 to 1 m, 20 N, 1 m/s, follows slide: no drive"
    assert f"#   follower  {follower}\n" in text
    assert "# <transmission>: 1 in the URDF\n#transmissions = true\n" in text


_EXCLUDED = """\
<robot name="knees">
  <link name="base"/><link name="shank"/><link name="toe"/>
  <joint name="knee" type="revolute"><parent link="base"/><child link="shank"/>
    <limit lower="-2.5" upper="-0.5" effort="40" velocity="3"/></joint>
  <joint name="ankle" type="revolute"><parent link="shank"/><child link="toe"/>
    <limit lower="-1" upper="1" effort="0" velocity="3"/></joint>
</robot>
"""


def test_template_names_joints_without_zero_or_effort(tmp_path: Path) -> None:
    """Zero is outside of the knee's limits, and the ankle has no effort."""
    file = tmp_path / "knees.urdf"
    file.write_text(_EXCLUDED, encoding="utf-8")
    robot = parse(file).robot

    text = description_template(robot, Base.FLOATING, "knees.urdf")

    joined = text.replace("\n#   ", " ")
    assert "without this table: knee. The middle" in joined
    assert '#"knee" = -1.5\n#"ankle" = 0.0\n' in text
    assert "#target = -1.5\n" in text
    assert "exerts no force: ankle." in joined
