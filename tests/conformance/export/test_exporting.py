"""Export of USD assets as URDF files with meshes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from urdf_usd.conformance.export.files import export
from urdf_usd.converter import ConversionError, convert
from urdf_usd.converter.diagnostics import AuthoringError, StageError
from urdf_usd.converter.robot.model import MeshFile, Robot
from urdf_usd.converter.urdf.parse import parse

_ROBOT = """<robot name="r"><link name="base">
<inertial><origin xyz="0.01 0.02 0.03"/><mass value="2.5"/>
<inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="0.03" izz="0.4"/></inertial>
<visual><origin xyz="0.1 0.2 0.3" rpy="0.1 -0.2 0.3"/>
<geometry><mesh filename="part.stl" scale="0.5 2 3"/></geometry>
<material name="rust"><color rgba="0.6 0.3 0.1 0.5"/></material></visual>
<collision><geometry><mesh filename="part.stl"/></geometry></collision>
<collision name="tip"><geometry><mesh filename="tip.stl"/></geometry></collision>
</link></robot>"""


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """Root layer of a robot with two meshes, one of them used twice."""
    source = tmp_path / "source"
    source.mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(source / "part.stl")
    trimesh.creation.icosphere(2, 0.1).export(source / "tip.stl")
    (source / "r.urdf").write_text(_ROBOT)
    return convert(source / "r.urdf", tmp_path / "asset").root_layer


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_urdf_is_exported_with_its_meshes(asset: Path, tmp_path: Path) -> None:
    written = export(asset, tmp_path / "out/r.urdf")
    before = _files(tmp_path / "out")
    export(asset, tmp_path / "out/r.urdf")

    assert written.urdf == tmp_path / "out/r.urdf"
    assert written.diagnostics == ()
    assert {*before} == {"r.urdf", "meshes/base_visual.obj", "meshes/base_tip.obj"}
    assert _files(tmp_path / "out") == before
    parsed = parse(written.urdf)
    assert parsed.diagnostics == ()
    (link,) = parsed.robot.links
    part, again, tip = (shape.geometry for shape in link.shapes)
    assert isinstance(part, MeshFile)
    assert isinstance(again, MeshFile)
    assert isinstance(tip, MeshFile)
    assert part.uri == again.uri == "meshes/base_visual.obj"
    assert (part.scale, again.scale) == ((0.5, 2.0, 3.0), (1.0, 1.0, 1.0))
    assert part.path
    box = trimesh.load_mesh(part.path)
    np.testing.assert_allclose(box.extents, (0.1, 0.2, 0.3), rtol=1e-6)
    material = link.visuals[0].material
    assert material
    assert material.name == "rust"
    assert material.rgba == pytest.approx((0.6, 0.3, 0.1, 0.5), abs=1e-6)


@pytest.mark.parametrize("file", ["r.urdf", "meshes/base_tip.obj"])
def test_other_files_are_replaced_only_with_force(asset: Path, tmp_path: Path, file: str) -> None:
    mine = tmp_path / "out" / file
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    with pytest.raises(AuthoringError, match=r"was not written by an export of r\.urdf"):
        export(asset, tmp_path / "out/r.urdf")

    assert _files(tmp_path / "out") == {file: b"mine"}
    export(asset, tmp_path / "out/r.urdf", force=True)
    assert mine.read_text() != "mine"


def test_meshes_of_another_export_are_not_replaced(asset: Path, tmp_path: Path) -> None:
    export(asset, tmp_path / "out/one.urdf")
    before = _files(tmp_path / "out")

    with pytest.raises(AuthoringError, match=r"out/meshes/base_visual.obj and 1 more"):
        export(asset, tmp_path / "out/two.urdf")

    assert _files(tmp_path / "out") == before


def test_failed_export_leaves_the_folder_unchanged(asset: Path, tmp_path: Path) -> None:
    (tmp_path / "out/r.urdf").mkdir(parents=True)

    with pytest.raises(AuthoringError, match="cannot be written"):
        export(asset, tmp_path / "out/r.urdf", force=True)

    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["r.urdf"]


def test_export_of_an_unreadable_usd_creates_no_folder(tmp_path: Path) -> None:
    (tmp_path / "bad.usda").write_text("#usda 1.0\n")

    with pytest.raises(StageError):
        export(tmp_path / "bad.usda", tmp_path / "out/r.urdf")
    with pytest.raises(ConversionError):
        export(tmp_path / "absent.usd", tmp_path / "out/r.urdf")

    assert not (tmp_path / "out").exists()


def test_names_with_hyphens_give_valid_xml_comments(asset: Path, tmp_path: Path) -> None:
    for name in ("a--b.urdf", "c-"):
        export(asset, tmp_path / name / name)
        export(asset, tmp_path / name / name)

        assert parse(tmp_path / name / name).diagnostics == ()


_CUSTOM_URDF = """<robot name="r" version="1.0" xmlns:x="http://x" xmlns:drake="http://d"
x:flavour="s">
<material name="grey" x:gloss="0.3"><color rgba="0.5 0.25 0.75 1"/></material>
<material name="unused"><color rgba="1 0 0 1"/></material>
<link name="a" type="chassis"><inertial><origin xyz="0.1 0.2 0.3"/>
<mass value="2" unit="kg"/>
<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>
<visual><geometry><box size="1 2 3" subdivide="4"/></geometry><material name="grey"/>
<x:shadow cast="no">maybe</x:shadow></visual>
<collision name="c" group="1"><geometry><sphere radius="1"/></geometry>
<drake:proximity_properties><drake:mu value="0.4"/></drake:proximity_properties>
</collision><contact><lateral_friction value="0.9"/></contact></link>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>
<link name="f"/><joint name="j" type="continuous" driven="yes"><parent link="a"/>
<child link="b"/><axis xyz="0 0.6 0.8"/>
<limit effort="3" velocity="4" lower="-1" upper="2" acceleration="9" soft="1"/>
<encoder ticks="4096"/></joint><joint name="w" type="fixed" note="n">
<parent link="b"/><child link="f"/><axis xyz="1 2 3"/><weld/></joint>
<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
<joint name="j"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>
</transmission><gazebo><plugin filename="lib.so" name="p"><ns>/x</ns></plugin></gazebo>
<gazebo reference="b"><mu1>0.7</mu1></gazebo><gazebo reference="w"><keep>1</keep>
</gazebo><ros2_control name="c" type="system"><hardware><plugin>mock</plugin></hardware>
<joint name="j"><command_interface name="position"/></joint></ros2_control></robot>"""


def _custom(robot: Robot) -> list[tuple[list[str], list[str]]]:
    """Custom data of all owners; neither attributes nor siblings have an order in USD."""
    shapes = [shape for link in robot.links for shape in link.shapes]
    return [
        (sorted(map(repr, one.custom.attributes)), sorted(map(repr, one.custom.elements)))
        for one in (robot, *robot.links, *shapes, *robot.joints)
    ]


def test_custom_data_is_exported_at_its_owner(tmp_path: Path) -> None:
    source = tmp_path / "r.urdf"
    source.write_text(_CUSTOM_URDF)

    asset = convert(source, tmp_path / "asset").root_layer
    again = parse(export(asset, tmp_path / "again.urdf").urdf)

    assert _custom(again.robot) == _custom(parse(source).robot)
    assert "error" not in {d.severity for d in again.diagnostics}
