"""Two descriptions of a robot, in either format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.urdf_usd.cli.command import urdf_usd

_URDF = """<robot name="arm">
  <link name="base"><inertial><mass value="3"/><inertia ixx="0.1" iyy="0.2" izz="0.15"
    ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.1 0 0.05"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.1 0.1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0.1 0.4" rpy="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1.5" effort="20" velocity="2"/><dynamics damping="0.3"/></joint>
</robot>"""
# cos and sin of half of 0.5.
_MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
  <body name="base" pos="0 0 1"><freejoint/>
    <inertial pos="0 0 0" mass="3" diaginertia="0.1 0.2 0.15"/>
    <body name="upper" pos="0 0.1 0.4" quat="0.9689124217106447 0 0 0.24740395925452294">
      <inertial pos="0.1 0 0.05" mass="2" diaginertia="0.01 0.02 0.015"/>
      <joint name="shoulder" axis="0 1 0" range="-1 1.5" damping="0.3"/>
      <geom type="box" size="0.1 0.05 0.05" pos="0.1 0 0" group="3"/>
    </body></body></worldbody>
  <actuator><motor joint="shoulder" ctrlrange="-2 2" gear="10"/></actuator></mujoco>"""


def _compared(
    folder: Path, first: str, second: str, *words: str
) -> tuple[int, dict[str, set[str]]]:
    """Compare; return the exit status, and what differs in each check."""
    for name, text in {"arm.urdf": _URDF, "arm.xml": _MJCF}.items():
        file = folder / name
        if not file.exists():
            file.write_text(text)
    record = folder / "record.json"
    result = urdf_usd(
        "compare",
        folder / first,
        folder / second,
        "--engine",
        "reference",
        "--json",
        record,
        *words,
    )
    assert record.exists(), result.output
    checks = json.loads(record.read_text())["checks"]
    assert all(check["compared"] for check in checks if check["id"].startswith("kinematics"))
    return result.exit_code, {
        check["id"]: {finding["subject"] for finding in check["findings"]}
        for check in checks
        if check["grade"] == "fails"
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [("arm.urdf", "arm.xml"), ("arm.xml", "arm.urdf"), ("arm.urdf", "arm.urdf")],
)
def test_same_robot_in_two_formats_is_equal(first: str, second: str, tmp_path: Path) -> None:
    assert _compared(tmp_path, first, second) == (0, {})


@pytest.mark.parametrize(
    ("right", "wrong", "check"),
    [
        ('mass="2"', 'mass="2.5"', "mass.link.mass"),
        ('ctrlrange="-2 2"', 'ctrlrange="-3 3"', "limits.effort"),
        ('axis="0 1 0"', 'axis="0 -1 0"', "kinematics.rotation"),
        ('size="0.1 0.05 0.05"', 'size="0.1 0.06 0.05"', "collision.support"),
    ],
)
def test_difference_is_found(right: str, wrong: str, check: str, tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(_MJCF.replace(right, wrong))

    status, failed = _compared(tmp_path, "arm.urdf", "arm.xml")

    assert status == 1
    assert failed[check] <= {"joint shoulder", "link upper"}


def test_named_pairs_are_no_difference(tmp_path: Path) -> None:
    text = _MJCF.replace('"upper"', '"link1"').replace('"shoulder"', '"j1"')
    (tmp_path / "arm.xml").write_text(text.replace('"base"', '"trunk"'))

    status, failed = _compared(tmp_path, "arm.urdf", "arm.xml")
    assert status == 1
    assert failed["structure.links"] == {"link base", "link upper"}
    assert failed.keys() == {"structure.links", "structure.joints"}
    pairs = ("--map", "base=trunk", "--map", "upper=link1", "--map", "shoulder=j1")
    assert _compared(tmp_path, "arm.urdf", "arm.xml", *pairs) == (0, {})


def test_output_names_both_formats(tmp_path: Path) -> None:
    _compared(tmp_path, "arm.urdf", "arm.xml")
    (tmp_path / "arm.xml").write_text(_MJCF.replace('mass="2"', 'mass="2.5"'))

    page = tmp_path / "arm.html"
    result = urdf_usd("compare", tmp_path / "arm.urdf", tmp_path / "arm.xml", "--html", page)

    assert "Not compared: actuators (1)" in result.output
    assert "USD" not in result.output
    assert "Expected (URDF)" in page.read_text()
    assert "Actual (MJCF)" in page.read_text()


def test_file_that_is_refused_ends_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(_URDF)
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody/></mujoco>")

    result = urdf_usd("compare", tmp_path / "arm.urdf", tmp_path / "bad.xml")

    assert result.exit_code == 2
    assert "bad.xml:1:1: error: the MJCF has no body" in result.output
