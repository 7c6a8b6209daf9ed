"""Origin of robots, recorded by runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pybullet_data
import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import RunOptions
from urdf_usd.corpus import resolve_corpora
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import read_run

BULLET = Path(pybullet_data.getDataPath())
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


def _run(corpus: Iterable[str], out: Path) -> dict[str, RobotRecord]:
    records: dict[str, RobotRecord] = {}
    options = RunOptions(engines=("mujoco",), jobs=1)
    run(
        resolve_corpora(corpus, lambda _: None),
        out,
        options,
        progress=lambda record: records.update({record.id: record}),
    )
    return records


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
    robots.mkdir()
    (robots / "arm.urdf.xacro").write_text(_ARM)
    (robots / "part.xacro").write_text(_PART)
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
    Path("arm.xacro").write_text(_ARM)
    Path("part.xacro").write_text(_PART)
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
    (robots / "arm.xacro").write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:property name="prefix" value="left_"/>'
        '<xacro:include filename="parts/tip.xacro"/></robot>'
    )
    (robots / "leg.xacro").write_text(
        '<robot name="leg" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="parts/no_such_file.xacro"/></robot>'
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
    (tmp_path / "arm.xacro").write_text(_ARM)
    (tmp_path / "part.xacro").write_text(_PART)
    (tmp_path / "list.toml").write_text(
        "[[robots]]\n"
        'reference = "arm.xacro"\n'
        "arguments = { mass = 7.5 }\n"
        f'base = "{base}"\n'
        'license = "MIT"\n'
        'notes = "made for this test"\n'
    )

    (record,) = _run([f"list:{tmp_path / 'list.toml'}"], tmp_path / "out").values()

    assert record.verdict is Verdict.EXACT
    assert record.total_mass == 7.5
    assert record.base == base
    assert record.source.reference == "file:arm.xacro"
    assert record.source.arguments == {"mass": "7.5"}
    assert record.source.license == "MIT"
    assert record.source.notes == "made for this test"
