"""The functions of ``urdf_usd`` take references, and results have a short repr."""

from __future__ import annotations

from pathlib import Path

import pytest

import urdf_usd
from tests.robots import ROBOT

R2D2 = "pybullet:r2d2.urdf"
NO_ENGINE = urdf_usd.CheckOptions(engines=("mujoco",))
# A box from the folder of a package, and an argument for its length.
XACRO = """<robot name="box" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="length" default="1"/>
<link name="box"><visual><geometry><box size="$(arg length) 1 1"/></geometry></visual>
</link></robot>"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ROBOT)
    return Path("arm.urdf")


@pytest.mark.parametrize("given", ["arm.urdf", "file:arm.urdf", Path("arm.urdf"), None, R2D2])
def test_functions_take_paths_and_references(arm: Path, given: str | Path | None) -> None:
    robot = given or arm.absolute()

    asset = urdf_usd.convert(robot, "usd")
    record = urdf_usd.check(robot, asset.root_layer, NO_ENGINE)

    assert asset.root_layer.parent == Path("usd")
    assert urdf_usd.read_urdf(robot).robot == asset.robot
    assert record.verdict is urdf_usd.Verdict.EXACT
    assert record.source.reference == (R2D2 if robot == R2D2 else "file:arm.urdf")


def test_run_takes_one_reference_or_many(arm: Path) -> None:
    options = urdf_usd.RunOptions(engines=("mujoco",))

    one = urdf_usd.run(arm, "one", options)
    two = urdf_usd.run([arm, "dir:.", R2D2], "two", options)

    assert [robot.id for robot in one.robots] == ["file--arm"]
    assert [robot.id for robot in two.robots] == ["file--arm", "pybullet--r2d2"]
    assert two.corpus == ("file:arm.urdf", "dir:.", R2D2)


def test_arguments_of_xacro_are_passed_on(arm: Path) -> None:
    (arm.parent / "box.xacro").write_text(XACRO)

    parsed = urdf_usd.read_urdf("box.xacro", arguments={"length": "3"})
    options = urdf_usd.ConvertOptions(arguments=(("length", "3"),))
    asset = urdf_usd.convert("box.xacro", "usd", options)

    (visual,) = parsed.robot.links[0].visuals
    assert "3.0, 1.0, 1.0" in repr(visual.geometry)
    assert asset.robot == parsed.robot


@pytest.mark.parametrize("name", ["read_urdf", "convert", "check", "run"])
@pytest.mark.parametrize("robot", ["pybullet:none.urdf", "pybulet:a"])
def test_wrong_reference_is_a_corpus_error(arm: Path, name: str, robot: str) -> None:
    message = "close to it: pybullet" if "none" not in robot else "none.urdf"
    with pytest.raises(urdf_usd.CorpusError, match=message):
        getattr(urdf_usd, name)(robot, *(["out.usda"] if name != "read_urdf" else []))

    assert [*Path().iterdir()] == [arm]


@pytest.mark.usefixtures("arm")
def test_missing_file_is_a_diagnostic() -> None:
    with pytest.raises(urdf_usd.SourceError) as caught:
        urdf_usd.convert("none.urdf", "usd")

    assert [one.rule for one in caught.value.diagnostics] == ["file-missing"]


def test_results_have_a_one_line_representation(arm: Path) -> None:
    asset = urdf_usd.convert(arm, "usd")
    Path("heavy.urdf").write_text(ROBOT.replace('<mass value="2"/>', '<mass value="3"/>'))
    wrong = urdf_usd.check("heavy.urdf", asset.root_layer, NO_ENGINE)
    export = urdf_usd.export(asset.root_layer, "again.urdf")
    summary = urdf_usd.run(arm, "out", urdf_usd.RunOptions(engines=("mujoco",)))

    shown = "2 links, 1 joint"
    assert repr(asset) == f"<Conversion 'usd/arm.usda': 'arm', {shown}, floating base>"
    assert repr(urdf_usd.read_urdf(arm)) == f"<Parsed 'arm', {shown}>"
    assert repr(urdf_usd.read_usd(asset.root_layer)) == f"<StageReading 'arm', {shown}>"
    assert repr(export) == f"<Export 'again.urdf': 'arm', {shown}>"
    assert repr(wrong) == f"<RobotRecord 'file--heavy': fails; {wrong.reason}>"
    assert repr(summary) == "<RunSummary 1 robot: 1 exact>"
