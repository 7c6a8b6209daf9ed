"""What the parser of ROS says of a file."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from tests.robots import ROBOT
from urdf_usd.converter import ros
from urdf_usd.converter.lint.linting import lint

_URDFDOM = pytest.mark.skipif(
    not any(metadata.packages_distributions().get("cmeel", ())), reason="no wheel of urdfdom"
)


@_URDFDOM
@pytest.mark.parametrize(
    ("old", "new", "rule", "message"),
    [
        ("", "", None, ""),
        ('type="revolute"', 'type="revolut"', "ros-refused", "Joint [j] has no known type"),
        ('<limit lower="-1" upper="2" effort="3" velocity="4"/>', "", "ros-refused", "limits"),
        ('<mass value="1"/>', '<mass value="x"/>', "ros-incomplete", "mass [x] is not a float"),
    ],
)
def test_answer_of_urdfdom(tmp_path: Path, old: str, new: str, rule: str, message: str) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT.replace(old, new) if old else ROBOT, encoding="utf-8")

    report = lint(file)

    assert report.ros
    assert report.ros.loads is (rule != "ros-refused")
    found = {one.rule: one.message for one in report.findings if one.rule.startswith("ros-")}
    assert list(found) == ([rule] if rule else [])
    assert message in "".join(found.values())


@_URDFDOM
def test_expansion_of_a_xacro_file_is_what_ros_reads(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf.xacro"
    xacro = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm"><xacro:property'
    text = ROBOT.replace('<robot name="arm">', f'{xacro} name="effort" value="3"/>')
    file.write_text(text.replace('effort="3"', 'effort="${effort}"'), encoding="utf-8")

    reading = lint(file).ros

    assert reading
    assert reading.loads
    assert not reading.errors


def test_lint_works_without_urdfdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros, "_DISTRIBUTION", "no-such-distribution")
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT.replace("revolute", "revolut"), encoding="utf-8")

    report = lint(file)

    assert report.ros is None
    assert [one.rule for one in report.findings] == ["joint-type"]
