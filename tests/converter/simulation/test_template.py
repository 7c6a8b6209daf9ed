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
    assert not diagnostics


_EXCLUDED = """\
<robot name="knees">
  <link name="base"/><link name="shank"/><link name="toe"/>
  <joint name="knee" type="revolute"><parent link="base"/><child link="shank"/>
    <limit lower="-2.5" upper="-0.5" effort="40" velocity="3"/></joint>
  <joint name="ankle" type="prismatic"><parent link="shank"/><child link="toe"/>
    <limit lower="-1" upper="1" effort="0" velocity="3"/><mimic joint="knee"/></joint>
</robot>
"""


def test_joints_are_listed_and_start_within_their_limits(tmp_path: Path) -> None:
    file = tmp_path / "knees.urdf"
    file.write_text(_EXCLUDED, encoding="utf-8")
    contact = Diagnostic("collision-touch", "links touch at rest: toe and base")

    text = description_template(parse(file).robot, Base.FLOATING, "knees.urdf", [contact])

    assert "#   knee: revolute, -2.5 to -0.5 rad, 40 N m\n" in text
    no_force = "0 N: a drive exerts no force, follows knee: no drive"
    assert f"#   ankle: prismatic, -1 to 1 m, {no_force}\n" in text
    assert "#[pose.joints]\n#knee = -1.5\n" in text
    assert "#   links touch at rest: toe and base\n" in text
