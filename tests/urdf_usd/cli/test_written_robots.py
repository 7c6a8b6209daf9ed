"""Robots that ``expand``, ``init`` and ``reduce`` write."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from lxml import etree

from tests.converter.simulation.robots import write_urdf
from tests.urdf_usd.cli.command import DATA, urdf_usd
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
    texts = {
        "meshes/m.obj": f"mtllib m.mtl\n{MESH.read_text(encoding='utf-8')}",
        "meshes/m.mtl": "newmtl red\nKd 1 0 0\n",
        "LICENSE": "Words of a licence",
        "package.xml": "<package><name>arm_description</name><license>BSD</license></package>",
        "arm.urdf.xacro": ROBOT,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_copy_has_all_files_and_converts_elsewhere(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"

    result = urdf_usd("expand", package / "arm.urdf.xacro", "--vendor", out, "--arg", "size:=5")
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
    words = ("expand", package / "arm.urdf.xacro", "--vendor", tmp_path / "copy")

    result = urdf_usd(*words, "--rename-joint", r"(.*)_joint=\1")

    assert result.exit_code == 0, result.output
    file = tmp_path / "copy" / "arm.urdf"
    up, on = read_urdf(file).robot.joints
    assert (up.name, on.name) == ("up", "on")
    assert on.mimic
    assert on.mimic.joint == "up"
    assert "up_joint" not in file.read_text(encoding="utf-8").split("-->", 1)[1]


def test_init_names_links_that_overlap_at_rest(tmp_path: Path) -> None:
    urdf = write_urdf(tmp_path)
    shape = '<collision><geometry><sphere radius="0.07"/></geometry></collision>'
    urdf.write_text(
        urdf.read_text().replace('<link name="finger">', f'<link name="finger">{shape}')
    )

    assert urdf_usd("init", urdf, tmp_path / "robot.toml").exit_code == 0

    written = (tmp_path / "robot.toml").read_text(encoding="utf-8")
    assert "overlap at rest" in written
    assert "finger and tool" in written
    assert "#overlap = true\n" in written


_MESH = (DATA / "tetrahedron.stl").read_text("utf-8")
_URDF = (DATA / "reduced.urdf").read_text("utf-8")
_LINKS = (DATA / "two_links.urdf").read_text("utf-8")


def test_robot_is_reduced_to_the_link_with_the_wrong_mass(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    shutil.copyfile(DATA / "wrong_converter.py", program)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "tip.stl").write_text(_MESH, encoding="utf-8")
    (tmp_path / "arm.urdf").write_text(_URDF, encoding="utf-8")
    out = tmp_path / "minimal"
    options = ("--engine", "mujoco", "--mass-density", "900")
    arguments = ("reduce", tmp_path / "arm.urdf", out, *options)
    converter = f"wrong={sys.executable} {program} {{urdf}} {{out}}"

    result = urdf_usd(*arguments, "--check", "mass.link.mass", "--converter", converter)

    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [str(out / "arm.urdf")]
    reduced = etree.parse(out / "arm.urdf").getroot()
    assert [link.get("name") for link in reduced.findall("link")] == ["l1"]
    assert not reduced.findall("joint")
    (mesh,) = reduced.iter("mesh")
    assert (out / mesh.get("filename", "")).read_text().startswith("solid")
    report = (out / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# wrong: check mass.link.mass fails")
    command = next(line for line in report.splitlines() if line.startswith("urdf-usd"))
    assert command == (
        "urdf-usd run arm.urdf --out report --converter "
        f"'wrong={Path(sys.executable).name} wrong.py {{urdf}} {{out}}' "
        "--mass-density 900 --engine mujoco"
    )


def test_malformed_robot_is_reduced_after_the_repair(tmp_path: Path) -> None:
    urdf, out = tmp_path / "arm.urdf", tmp_path / "minimal"
    urdf.write_text(_LINKS.replace("</robot>", '<link name="x" name="y"/><a:b/></robot>'))

    result = urdf_usd("reduce", str(urdf), str(out), "--engine", "openusd")

    assert result.exit_code == 0, result.stderr
    reduced = etree.parse(out / "arm.urdf").getroot()
    assert len(reduced.findall("link")) == 2
    assert not reduced.findall("joint")


def test_robot_is_reduced_to_what_crashes_a_converter(tmp_path: Path) -> None:
    program = DATA / "crashing_converter.py"
    urdf, out = tmp_path / "arm.urdf", tmp_path / "minimal"
    urdf.write_text(_LINKS, encoding="utf-8")
    converter = f"crashing={sys.executable} {program} {{urdf}} {{out}}"
    arguments = ("reduce", str(urdf), str(out), "--engine", "mujoco")

    result = urdf_usd(*arguments, "--converter", converter)

    assert result.exit_code == 0, result.stderr
    reduced = etree.parse(out / "arm.urdf").getroot()
    (joint,) = reduced.findall("joint")
    assert joint.get("type") == "continuous"
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "crashed" in report
    assert "SIGSEGV" in report
