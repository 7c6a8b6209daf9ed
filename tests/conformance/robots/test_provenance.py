"""Origin of robots, xacro, and an engine of another package, in commands and records."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pybullet_data
import pytest
from click.testing import CliRunner, Result

from tests.installed import EXAMPLES, installed
from urdf_usd.cli.program import main
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import RunOptions
from urdf_usd.converter import convert
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_corpora
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import read_run

BULLET = Path(pybullet_data.getDataPath())
_REPOSITORY = Path(__file__).parents[3]
_ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="part.xacro"/>
<xacro:arg name="mass" default="2"/>
<xacro:body mass="$(arg mass)"/>
</robot>"""
_PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="body" params="mass"><link name="body"><inertial>
<mass value="${mass}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
</inertial></link></xacro:macro>
</robot>"""


def _write_arm(folder: Path, name: str = "arm.xacro") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(_ARM)
    (folder / "part.xacro").write_text(_PART)


def _run(corpus: Iterable[str], out: Path) -> dict[str, RobotRecord]:
    records: list[RobotRecord] = []
    options = RunOptions(engines=("mujoco",), jobs=1)
    run(resolve_corpora(corpus, lambda _: None), out, options, progress=records.append)
    return {record.id: record for record in records}


def test_record_lists_every_file_of_the_robot(tmp_path: Path) -> None:
    (record,) = _run(["pybullet:table/table.urdf"], tmp_path).values()

    hashes = {file.path: file.sha256 for file in record.source.files}
    assert set(hashes) == {"table.urdf", "table.obj", "table.mtl", "table.png"}
    for name, digest in hashes.items():
        content = (BULLET / "table" / name).read_bytes()
        assert digest == hashlib.sha256(content).hexdigest()
    assert record.source.sha256 == hashes["table.urdf"]
    assert record.source.distribution is not None
    assert record.source.distribution.startswith(("pybullet ", "pybullet-arm64 "))
    assert {"usd-core", "mujoco", "urdf-usd-conformance"} <= record.environment.keys()


def test_files_of_a_folder_without_a_robot_are_parts(tmp_path: Path) -> None:
    robots = tmp_path / "robots"
    _write_arm(robots, "arm.urdf.xacro")
    needy = _ARM.replace('<xacro:arg name="mass" default="2"/>', "")
    (robots / "needy.xacro").write_text(needy)

    records = _run([f"dir:{robots}"], tmp_path / "out")
    summary = summary_of(records.values(), (), {})

    assert summary.verdicts == {"exact": 1, "unreadable": 1}
    assert [one.id for one in summary.robots] == ["dir--arm", "dir--needy"]
    assert summary.parts == {"file:robots/part.xacro": records["dir--part"].reason}
    assert records["dir--part"].part
    assert "Undefined substitution argument mass" in records["dir--needy"].reason
    assert (
        "part of another file: it only defines macros, properties or arguments"
        in records["dir--part"].reason
    )
    files = [file.path for file in records["dir--arm"].source.files]
    assert files == ["arm.urdf.xacro", "part.xacro"]
    (named,) = _run([str(robots / "part.xacro")], tmp_path / "named").values()
    assert named.verdict is Verdict.UNREADABLE


def test_second_run_over_a_folder_has_the_same_robots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_arm(tmp_path)
    command = ["run", "dir:.", "--out", "report", "--engine", "mujoco", "--strict"]

    for options in ([], [], ["--resume"]):
        result = CliRunner().invoke(main, [*command, *options])

        assert result.exit_code == 0, result.output
        summary = read_run(Path("report")).summary
        assert [robot.id for robot in summary.robots] == ["dir--arm"]
        assert list(summary.parts) == ["file:part.xacro"]
        assert "do not conform" not in result.stdout
        assert "Parts of robots, not checked\n  file:part.xacro" in result.stdout
        assert "Parts of robots" in Path("report/summary.md").read_text()
        page = Path("report/index.html").read_text()
        assert "1 xacro file is part of robots, and not checked" in page


def test_a_file_that_only_expands_where_it_is_included_is_a_part(
    tmp_path: Path,
) -> None:
    robots = tmp_path / "robots"
    (robots / "parts").mkdir(parents=True)
    (robots / "parts/tip.xacro").write_text('<robot><link name="${prefix}tip"/></robot>')
    for name, file in (("arm", "tip"), ("leg", "no_such_file")):
        (robots / f"{name}.xacro").write_text(
            f'<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            '<xacro:property name="prefix" value="left_"/>'
            f'<xacro:include filename="parts/{file}.xacro"/></robot>'
        )

    records = _run([f"dir:{robots}"], tmp_path / "out")

    assert records["dir--arm"].verdict is not Verdict.UNREADABLE
    part, incomplete = records["dir--parts--tip"], records["dir--leg"]
    assert incomplete.verdict is Verdict.NOT_AVAILABLE
    assert (part.part, incomplete.part) == (True, False)
    assert incomplete.reason.startswith("incomplete: ")
    assert "no_such_file.xacro" in incomplete.reason


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_list_sets_arguments_and_base_of_a_robot(tmp_path: Path, base: str) -> None:
    _write_arm(tmp_path)
    (tmp_path / "list.toml").write_text(
        f'[[robots]]\nreference = "arm.xacro"\narguments = {{ mass = 7.5 }}\nbase = "{base}"\n'
        'license = "MIT"\nnotes = "made for this test"\n'
    )

    (record,) = _run([f"list:{tmp_path / 'list.toml'}"], tmp_path / "out").values()

    assert record.verdict is Verdict.EXACT
    assert record.total_mass == 7.5
    assert record.base == base
    assert record.source.reference == "file:arm.xacro"
    assert record.source.arguments == {"mass": "7.5"}
    assert record.source.license == "MIT"
    assert record.source.notes == "made for this test"


_INERTIA = '<inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/>'
_ROBOT = f"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="0.5"/>
<xacro:macro name="part" params="name mass">
  <link name="${{name}}"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.1 0.2 0.3"/>
    <mass value="${{mass}}"/>{_INERTIA}</inertial>
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
    file, mesh = tmp_path / "bot/urdf/arm.urdf.xacro", tmp_path / "bot/meshes/part.obj"
    for folder in (file.parent, mesh.parent, tmp_path / "work"):
        folder.mkdir(parents=True)
    file.write_text(_ROBOT, encoding="utf-8")
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4")
    monkeypatch.chdir(tmp_path / "work")
    return file


def _urdf_usd(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


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
    robot.write_text(_ROBOT.replace("$(arg reach)", "$(env ROBOT_TEST_REACH)"))
    name, file = "ROBOT_TEST_REACH", str(robot)
    options = ("--env", name) if allowed else ()
    commands = [("convert", file, "out"), ("inspect", file), ("lint", file), ("expand", file)]
    commands.append(("run", file, "--out", "report", "--jobs", "1"))
    commands += [("check", file, "out/arm.usda")] if allowed else []

    results = [_urdf_usd(*command, *options) for command in commands]

    assert [result.exit_code for result in results] == ([0] * 6 if allowed else [2, 2, 2, 2, 1])
    summary = json.loads(Path("report/summary.json").read_text())
    assert summary["options"].get("env") == (name if allowed else None)
    if not allowed:
        (place,) = Path("report/results").iterdir()
        assert "[xacro-environment]" in results[0].stderr
        assert "--env ROBOT_TEST_REACH" in place.read_text()


def test_errors_and_lint_findings_have_the_line_of_the_xacro(robot: Path) -> None:
    text = _ROBOT.replace("$(arg reach)", "$(arg nothing)")
    robot.write_text(text)
    (record,) = _run([str(robot)], Path("report")).values()
    (found,) = record.diagnostics
    line = text[: text.index('<origin xyz="$(arg')].count("\n") + 1

    assert record.verdict is Verdict.UNREADABLE
    assert (found.rule, found.file, found.line) == ("xacro-error", "arm.urdf.xacro", line)

    robot.write_text(_ROBOT.replace('lower="-1" upper="2"', 'lower="-90" upper="90"'))
    (record,) = _run([str(robot)], Path("other")).values()
    (degrees,) = (one for one in record.lint if one.rule == "joint-limit-degrees")
    line = next(n for n, text in enumerate(_ROBOT.splitlines(), 1) if "<limit" in text)

    assert (degrees.file, degrees.line) == ("arm.urdf.xacro", line)
    assert str(degrees.source).startswith("<limit lower=")


def test_third_party_engine_is_compared(tmp_path: Path) -> None:
    site, file = installed(EXAMPLES / "engine", tmp_path / "example"), tmp_path / "record.json"
    urdf = _REPOSITORY / "tests/data/deviations/zero-effort.urdf"
    usd = convert(urdf, tmp_path / "usd").root_layer
    program = "from urdf_usd.cli.program import main; main()"
    command = ("check", urdf, usd, "--engine", "etree", "--json", file)
    subprocess.run(
        [sys.executable, "-c", program, *map(str, command)],
        env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{_REPOSITORY}"},
        check=False,
    )

    record = json.loads(file.read_text())
    (engine,) = (one for one in record["engines"] if one["name"] == "etree")
    stated = {
        check["id"].removeprefix("round-trip.")
        for check in record["checks"]
        for difference in check["differences"]
        if difference["engine"] == "etree" and difference["compared"]
    }
    assert (engine["status"], engine["side"]) == ("observed", "urdf")
    assert stated == {"structure.links"}
