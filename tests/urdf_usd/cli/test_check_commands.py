"""``certify``, ``compare`` and ``behave``: certificates, two descriptions, simulations."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from pxr import Sdf

from tests.robots import ROBOT
from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd import ConvertOptions, check, convert
from urdf_usd.converter.options import Layout


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with arm.urdf and its certified asset out/arm.usda."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "arm.urdf").write_text(ROBOT, encoding="utf-8")
    convert(folder / "arm.urdf", folder / "out")
    result = urdf_usd("certify", folder / "arm.urdf", folder / "out" / "arm.usda")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def folder(certified: Path, tmp_path: Path) -> Path:
    return shutil.copytree(certified, tmp_path / "copy")


def _verify(folder: Path) -> Result:
    return urdf_usd("check", "--certificate", folder / "arm.urdf", folder / "out" / "arm.usda")


def test_copy_of_a_certified_asset_is_valid_and_conforms(folder: Path) -> None:
    result = _verify(folder)

    assert result.exit_code == 0, result.output
    assert "certificate valid: exact" in result.stdout
    assert "exact" in (folder / "out" / "conformance.svg").read_text(encoding="utf-8")
    assert check(folder / "arm.urdf", folder / "out" / "arm.usda").verdict.value == "exact"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("arm.urdf", "arm.urdf of the robot was changed"),
        ("out/payload/Physics.usda", "payload/Physics.usda of the asset was changed"),
        ("out/arm.usda", "arm.usda of the asset was changed"),
    ],
)
def test_changed_file_invalidates_the_certificate(folder: Path, file: str, message: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count("arm") > 0
    changed = text.replace('name="j"', 'name="k"').replace("upAxis", "endTimeCode = 3\n    upAxis")
    (folder / file).write_text(changed, encoding="utf-8")

    result = _verify(folder)

    assert result.exit_code == 1
    assert message in result.stdout
    assert len(result.stdout.strip().splitlines()) == (3 if file == "arm.urdf" else 2)


@pytest.mark.parametrize("data", [{}, {"urdfUsdCertificate": {"schema": "1", "values": "many"}}])
def test_asset_without_a_readable_certificate_is_reported(folder: Path, data: object) -> None:
    layer = Sdf.Layer.FindOrOpen(str(folder / "out" / "arm.usda"))
    layer.customLayerData = data
    layer.Save()

    result = _verify(folder)

    assert result.exit_code == 2
    assert "has no certificate; urdf-usd certify writes one" in result.stderr


def test_asset_that_does_not_conform_is_not_changed(folder: Path) -> None:
    (folder / "arm.urdf").write_text(ROBOT.replace('mass value="2"', 'mass value="3"'))
    before = (folder / "out" / "arm.usda").read_bytes()

    result = urdf_usd("certify", folder / "arm.urdf", folder / "out" / "arm.usda")

    assert result.exit_code == 1
    assert "not certified" in result.stderr
    assert (folder / "out" / "arm.usda").read_bytes() == before


@pytest.mark.parametrize("layout", [Layout.SINGLE, Layout.USDZ])
def test_binary_layer_keeps_its_format_and_packages_are_refused(
    tmp_path: Path, layout: Layout
) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ROBOT, encoding="utf-8")
    usd = convert(urdf, tmp_path / "out", ConvertOptions(layout=layout)).root_layer

    result = urdf_usd("certify", urdf, usd)

    if layout is Layout.USDZ:
        assert result.exit_code == 2
        assert "is a package" in result.stderr
    else:
        assert result.exit_code == 0, result.output
        assert usd.read_bytes().startswith(b"PXR-USDC")
        assert urdf_usd("check", "--certificate", urdf, usd).exit_code == 0


def test_certificate_holds_for_the_settings_it_was_made_with(tmp_path: Path) -> None:
    urdf, settings, usd = (
        tmp_path / "arm.urdf",
        tmp_path / "arm.toml",
        tmp_path / "out" / "arm.usda",
    )
    urdf.write_text(ROBOT, encoding="utf-8")
    settings.write_text("self_collision = false\n", encoding="utf-8")
    assert urdf_usd("convert", urdf, usd.parent, "--with", settings).exit_code == 0
    assert urdf_usd("certify", urdf, usd, "--with", settings).exit_code == 0
    verify = ("check", "--certificate", urdf, usd)

    assert urdf_usd(*verify, "--with", settings).exit_code == 0
    assert "arm.toml of the robot was changed" in urdf_usd(*verify).stdout
    settings.write_text("self_collision = true\n", encoding="utf-8")
    changed = urdf_usd(*verify, "--with", settings)
    assert (changed.exit_code, "arm.toml of the robot was" in changed.stdout) == (1, True)


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
    return urdf_usd("behave", "--simulator", "mujoco", *arguments)


def test_arm_with_strong_drives_holds_its_pose_and_reaches_its_limits(urdf: Path) -> None:
    result = _behave(urdf)

    assert result.exit_code == 0, result.output
    assert "holds its pose" in result.stdout
    assert "1 driven joint reached targets and limits" in result.stdout
    assert "fixed base" in result.stderr


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
