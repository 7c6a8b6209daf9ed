"""Commented description files."""

from __future__ import annotations

from pathlib import Path

from tests.converter.simulation.robots import write_description
from tests.converter.simulation.test_elements import write_described
from urdf_usd.converter.diagnostics.findings import drain
from urdf_usd.converter.robot.bodies import Base
from urdf_usd.converter.simulation.description import (
    DescriptionTable,
    load_description,
    tables_of,
)
from urdf_usd.converter.simulation.plan import Simulation
from urdf_usd.converter.simulation.resolution import resolve
from urdf_usd.converter.simulation.template import description_template
from urdf_usd.converter.urdf.parse import parse


def test_template_changes_nothing_until_it_is_edited(tmp_path: Path) -> None:
    """All settings are comments."""
    robot = parse(write_described(tmp_path)).robot
    text = description_template(robot, Base.FLOATING, "two.urdf")

    description = load_description(write_description(tmp_path, text))

    assert tables_of(description) == DescriptionTable()
    assert drain(resolve(description, robot, robot)) == (Simulation(), ())


def test_every_setting_of_the_template_is_valid(tmp_path: Path) -> None:
    """Once the comment sign of settings is removed, names match the robot."""
    robot = parse(write_described(tmp_path)).robot
    text = description_template(robot, Base.FIXED, "two.urdf")
    lines = [
        line[1:] if line.startswith("#") and not line.startswith("# ") else line
        for line in text.splitlines()
    ]

    description = load_description(write_description(tmp_path, "\n".join(lines)))

    found, diagnostics = drain(resolve(description, robot, robot))
    assert tables_of(description).base == "fixed"
    assert {drive.joint for drive in found.drives} == {"hinge"}
    assert ("base", "finger") in found.filtered_pairs
    rules = {one.rule for one in diagnostics}
    assert rules == {"description-lost"}


def test_joints_are_listed_with_types_and_limits(tmp_path: Path) -> None:
    """In the units of the file."""
    robot = parse(write_described(tmp_path)).robot

    text = description_template(robot, Base.FLOATING, "two.urdf")

    assert "#   hinge     revolute, -2 to 2 rad, 50 N m, 3 rad/s\n" in text
    follower = "prismatic, -1 to 1 m, 20 N, 1 m/s, follows slide: no drive"
    assert f"#   follower  {follower}\n" in text
    assert "# <transmission>: 1 in the URDF\n#transmissions = true\n" in text
