"""``certify``, ``compare`` and ``behave``: certificates, two descriptions, simulations."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from lxml import html
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


def _verify(folder: Path, *options: object) -> Result:
    files = folder / "arm.urdf", folder / "out" / "arm.usda"
    return urdf_usd("check", "--certificate", *files, *options)


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
    urdf, out, settings = tmp_path / "arm.urdf", tmp_path / "out", tmp_path / "arm.toml"
    urdf.write_text(ROBOT, encoding="utf-8")
    settings.write_text("self_collision = false\n", encoding="utf-8")
    assert urdf_usd("convert", urdf, out, "--with", settings).exit_code == 0
    assert urdf_usd("certify", urdf, out / "arm.usda", "--with", settings).exit_code == 0

    assert _verify(tmp_path, "--with", settings).exit_code == 0
    assert "arm.toml of the robot was changed" in _verify(tmp_path).stdout
    settings.write_text("self_collision = true\n", encoding="utf-8")
    changed = _verify(tmp_path, "--with", settings)
    assert (changed.exit_code, "arm.toml of the robot was" in changed.stdout) == (1, True)


def test_page_of_a_check_has_the_options_that_change_results(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = (
        *("--engine", "mujoco", "--base", "floating", "--inertia", "geometry"),
        *("--mass-density", "900", "--colliders", "a=hull", "--colliders", "none"),
        *("--package", f"robot={folder}", "--variant", "Physics=physics"),
    )

    urdf_usd("check", "arm.urdf", "out/arm.usda", *options, "--html", "page.html", "--timeout", 100)

    page = html.fromstring(Path("page.html").read_text(encoding="utf-8"))
    commands = map(shlex.split, page.xpath("//pre/code/text()"))
    (command,) = (words for words in commands if words[:2] == ["urdf-usd", "check"])
    assert command[2:4] == ["arm.urdf", "out/arm.usda"]
    assert command[-2:] == ["--html", "robot.html"]
    pairs = zip(command[4:-2:2], command[5:-2:2], strict=True)
    assert sorted(pairs) == sorted(zip(options[::2], options[1::2], strict=True))
    assert "/arm:Physics=physics" in page.text_content()


def test_page_names_both_formats(tmp_path: Path) -> None:
    robots, page = Path(__file__).with_name("robots") / "compared", tmp_path / "arm.html"

    urdf_usd("compare", robots / "arm.urdf", robots / "mass.xml", "--html", page)

    assert "Expected (URDF)" in page.read_text()
    assert "Actual (MJCF)" in page.read_text()


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
