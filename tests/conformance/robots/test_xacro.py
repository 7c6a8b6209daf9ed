"""Xacro in commands, engines and records."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from urdf_usd.cli.main import main
from urdf_usd.converter.urdf.parse import parse

INERTIA = '<inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/>'
ARM = f"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="0.5"/>
<xacro:macro name="part" params="name mass">
  <link name="${{name}}"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.1 0.2 0.3"/>
    <mass value="${{mass}}"/>{INERTIA}</inertial>
    <collision><geometry><mesh filename="../meshes/part.obj"/></geometry></collision>
  </link>
</xacro:macro>
<xacro:part name="base" mass="2"/>
<xacro:part name="tip" mass="1"/>
<joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/>
  <origin xyz="$(arg reach) -0.2 0.3" rpy="0.1 0.2 0.3"/><axis xyz="0.1 0.2 -0.9"/>
  <limit lower="-1" upper="2" effort="3" velocity="4"/></joint></robot>"""


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A xacro file in a folder next to the working folder."""
    file = tmp_path / "bot/urdf/arm.urdf.xacro"
    mesh = tmp_path / "bot/meshes/part.obj"
    for path, text in (
        (file, ARM),
        (
            mesh,
            "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4",
        ),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return file


def _urdf_usd(*arguments: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_xacro_file_is_converted_and_checked(robot: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    tempfile.tempdir, before = str(tmp_path / "temporary"), tempfile.tempdir
    try:
        converted = _urdf_usd("convert", str(robot), "out", "--arg", "reach:=0.7")
        checked = _urdf_usd("check", str(robot), "out/arm.usda", "--arg", "reach:=0.7")
        differing = _urdf_usd("check", str(robot), "out/arm.usda")
    finally:
        tempfile.tempdir = before

    assert (converted.exit_code, converted.stdout) == (0, "out/arm.usda\n")
    assert checked.exit_code == 0, checked.stdout
    assert differing.exit_code == 1
    assert not list((tmp_path / "temporary").iterdir())
    assert sorted(path.name for path in robot.parent.iterdir()) == [robot.name]


def test_engines_read_the_expanded_file_of_a_run(robot: Path) -> None:
    """With the arguments, which summary and page name."""
    result = _urdf_usd("run", str(robot), "--out", "report", "--arg", "reach:=0.7", "--jobs", "1")

    assert result.exit_code == 0, result.stdout
    summary = json.loads(Path("report/summary.json").read_text())
    (page,) = Path("report/robots").iterdir()
    assert summary["options"]["arg"] == "reach:=0.7"
    assert "--arg reach:=0.7" in page.read_text()
    (record,) = (json.loads(file.read_text()) for file in Path("report/results").iterdir())
    observed = {engine["name"] for engine in record["engines"] if engine["status"] == "observed"}
    assert {"mujoco", "pybullet", "reference", "openusd"} <= observed
    (expanded,) = Path("report/expanded").iterdir()
    assert expanded.name == f"{record['id']}.urdf"
    (shape,) = parse(expanded).robot.links[1].collisions
    path = robot.parents[1] / "meshes/part.obj"
    assert shape.geometry.path == str(path)  # type: ignore[union-attr]  # it is a mesh


@pytest.mark.parametrize("allowed", [False, True])
def test_commands_allow_variables_by_option(
    robot: Path, monkeypatch: pytest.MonkeyPatch, *, allowed: bool
) -> None:
    monkeypatch.setenv("ROBOT_TEST_REACH", "0.7")
    robot.write_text(ARM.replace("$(arg reach)", "$(env ROBOT_TEST_REACH)"))
    name = "ROBOT_TEST_REACH"
    options = ("--env", name) if allowed else ()
    file = str(robot)

    converted = _urdf_usd("convert", file, "out", *options)
    results = [
        converted,
        _urdf_usd("inspect", file, *options),
        _urdf_usd("lint", file, *options),
        _urdf_usd("expand", file, *options),
        _urdf_usd("run", file, "--out", "report", "--jobs", "1", *options),
    ]
    if allowed:
        results.append(_urdf_usd("check", file, "out/arm.usda", *options))

    codes = [result.exit_code for result in results]
    assert codes == ([0] * 6 if allowed else [2, 2, 2, 2, 1])
    summary = json.loads(Path("report/summary.json").read_text())
    assert summary["options"].get("env") == (name if allowed else None)
    if not allowed:
        (place,) = Path("report/results").iterdir()
        assert "[xacro-environment]" in converted.stderr
        assert "--env ROBOT_TEST_REACH" in place.read_text()


def test_failed_expansion_is_unreadable(robot: Path) -> None:
    text = ARM.replace("$(arg reach)", "$(arg nothing)")
    robot.write_text(text)
    line = text[: text.index('<origin xyz="$(arg')].count("\n") + 1

    result = _urdf_usd("run", str(robot), "--out", "report", "--jobs", "1")

    assert result.exit_code == 1
    (record,) = (json.loads(file.read_text()) for file in Path("report/results").iterdir())
    assert record["verdict"] == "unreadable"
    (found,) = record["diagnostics"]
    assert (found["rule"], found["file"], found["line"]) == (
        "xacro-error",
        "arm.urdf.xacro",
        line,
    )


def test_record_has_lint_findings_of_xacro(robot: Path) -> None:
    robot.write_text(
        ARM.replace('lower="-1" upper="2"', 'lower="-90" upper="90"'),
        encoding="utf-8",
    )
    assert _urdf_usd("run", str(robot), "--out", "report").exit_code == 0
    (result,) = Path("report/results").glob("*.json")
    found = {one["rule"]: one for one in json.loads(result.read_bytes())["lint"]}
    degrees = found["joint-limit-degrees"]
    line = next(n for n, text in enumerate(ARM.splitlines(), 1) if "<limit" in text)
    assert (degrees["file"], degrees["line"]) == ("arm.urdf.xacro", line)
    assert degrees["source"].startswith("<limit lower=")
