"""Copies of robots with all their files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd import check, convert, read_urdf

MESH = Path(__file__).parent / "robots" / "meshes" / "m.obj"
ROBOT = """<?xml version="1.0"?>
<!-- Copyright of somebody -->
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="size" default="2"/>
  <link name="a"><inertial><mass value="$(arg size)"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://arm_description/meshes/m.obj"/></geometry></visual>
  </link>
  <link name="b"/><link name="c"/>
  <joint name="up_joint" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="on_joint" type="continuous"><parent link="b"/><child link="c"/>
    <mimic joint="up_joint"/></joint>
  <transmission name="t"><joint name="up_joint"/></transmission>
  <gazebo reference="up_joint"/>
</robot>
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "arm_description"
    (folder / "meshes").mkdir(parents=True)
    shutil.copy(MESH, folder / "meshes")
    (folder / "meshes" / "m.obj").write_text(
        f"mtllib m.mtl\n{MESH.read_text(encoding='utf-8')}", encoding="utf-8"
    )
    (folder / "meshes" / "m.mtl").write_text("newmtl red\nKd 1 0 0\n", encoding="utf-8")
    (folder / "LICENSE").write_text("Words of a licence", encoding="utf-8")
    (folder / "package.xml").write_text(
        "<package><name>arm_description</name><license>BSD</license></package>", encoding="utf-8"
    )
    (folder / "arm.urdf.xacro").write_text(ROBOT, encoding="utf-8")
    return folder


def _expand(*arguments: object) -> Result:
    return urdf_usd("expand", *arguments)


def test_copy_has_all_files_and_converts_elsewhere(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"

    result = _expand(package / "arm.urdf.xacro", "--vendor", out, "--arg", "size:=5")
    shutil.rmtree(package)

    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out / 'arm.urdf'}\n"
    files = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert files == {"arm.urdf", "LICENSE", "files/m.obj", "files/m.mtl"}
    text = (out / "arm.urdf").read_text(encoding="utf-8")
    assert "Licence: BSD" in text
    assert "Xacro arguments: size:=5" in text
    asset = convert(out / "arm.urdf", tmp_path / "usd")
    assert check(out / "arm.urdf", asset.root_layer).verdict.conforms
    assert not [one for one in asset.diagnostics if one.severity.value == "error"]


def test_joints_are_renamed_with_their_references(package: Path, tmp_path: Path) -> None:
    options = ("--rename-joint", r"(.*)_joint=\1")

    result = _expand(package / "arm.urdf.xacro", "--vendor", tmp_path / "copy", *options)

    assert result.exit_code == 0, result.output
    file = tmp_path / "copy" / "arm.urdf"
    up, on = read_urdf(file).robot.joints
    assert (up.name, on.name) == ("up", "on")
    assert on.mimic
    assert on.mimic.joint == "up"
    assert "up_joint" not in file.read_text(encoding="utf-8").split("-->", 1)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rename-joint", "elbow=x"), "no joint matches 'elbow'"),
        (("--rename-joint", ".*=x"), "several joints would be named x"),
        (("--rename-joint", "(=x"), "unterminated subpattern"),
        (("--rename-joint", "elbow"), "is not PATTERN=NAME"),
    ],
)
def test_impossible_renaming_writes_nothing(
    package: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = _expand(package / "arm.urdf.xacro", "--vendor", tmp_path / "copy", *options)

    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "copy").exists()


def test_missing_file_is_named_and_a_full_folder_is_refused(package: Path, tmp_path: Path) -> None:
    (package / "meshes" / "m.obj").unlink()

    first = _expand(package / "arm.urdf.xacro", "--vendor", tmp_path / "copy")
    second = _expand(package / "arm.urdf.xacro", "--vendor", tmp_path / "copy")

    assert "meshes/m.obj is not found, and not copied" in first.stderr
    assert second.exit_code == 2
    assert "is not empty" in second.stderr
