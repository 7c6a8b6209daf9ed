"""The command: output streams, messages, exit codes, files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner, Result

from tests.conformance.runs import HANGS, group_exists, wait_until
from urdf_usd.cli.main import main
from urdf_usd.reports.records.record import RobotRecord

COMMANDS = ("convert", "check", "run", "export", "doctor")
ARM = """\
<robot name="arm">
  <link name="base">
    <inertial>
      <origin xyz="0.01 -0.02 0.03" rpy="0.1 0.2 0.3"/>
      <mass value="2.5"/>
      <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"/>
    </inertial>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0.02 -0.03" rpy="-0.3 0.1 0.2"/>
      <mass value="1.5"/>
      <inertia ixx="0.012" ixy="0.001" ixz="0.002" iyy="0.013" iyz="-0.001" izz="0.02"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/>
    <axis xyz="1 2 -3"/>
    <limit lower="-1.1" upper="2.3" effort="12" velocity="3.5"/>
  </joint>
</robot>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(ARM)
    return tmp_path


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convert the arm once; return the folder that holds URDF and USD."""
    folder = tmp_path_factory.mktemp("asset")
    (folder / "arm.urdf").write_text(ARM)
    result = _invoke("convert", str(folder / "arm.urdf"), str(folder / "usd"))
    assert result.exit_code == 0, result.stderr
    return folder


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="urdf-usd")


def _entries(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# Help and usage.


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples_and_exit_codes(command: str, flag: str) -> None:
    result = _invoke(command, flag)

    assert result.exit_code == 0
    assert f"\n    urdf-usd {command}" in result.stdout
    assert "Exit status: 0 done; 1 does not conform; 2" in result.stdout


# convert


def test_second_conversion_writes_the_same_bytes(folder: Path) -> None:
    _invoke("convert", "arm.urdf", "out")
    first = {name: (folder / name).read_bytes() for name in _files(folder / "out")}

    result = _invoke("convert", "arm.urdf", "out")

    assert result.exit_code == 0
    assert {n: (folder / n).read_bytes() for n in _files(folder / "out")} == first


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_failed_conversion_keeps_the_previous_asset(folder: Path) -> None:
    _invoke("convert", "arm.urdf", "out")
    before = {name: name.read_bytes() for name in _files(folder / "out")}
    (folder / "arm.urdf").write_text(ARM.replace("revolute", "hinge"))

    result = _invoke("convert", "arm.urdf", "out")

    assert result.exit_code == 2
    assert {name: name.read_bytes() for name in _files(folder / "out")} == before


# check


def test_check_of_a_good_asset_exits_0(asset: Path) -> None:
    result = _invoke(
        "check",
        str(asset / "arm.urdf"),
        str(asset / "usd" / "arm.usda"),
        *("--json", str(asset / "arm.json"), "--html", str(asset / "arm.html")),
    )

    record = json.loads((asset / "arm.json").read_text())
    assert result.exit_code == 0, result.output
    assert "exact" in result.stdout
    assert record["verdict"] == "exact"
    assert record["links"] == 2
    assert record["total_mass"] == 4.0
    assert {"mujoco", "pybullet", "reference", "openusd"} <= {
        engine["name"] for engine in record["engines"] if engine["status"] == "observed"
    }
    assert str(asset) not in (asset / "arm.json").read_text()
    assert "shoulder" in (asset / "arm.html").read_text()


def _chain(prefix: str, mass: float, length: float) -> str:
    links = "".join(
        f'<link name="{prefix}{at}"><inertial><mass value="{mass}"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for at in range(4)
    )
    joints = "".join(
        f'<joint name="{prefix}j{at}" type="continuous"><parent link="{prefix}{at}"/>'
        f'<child link="{prefix}{at + 1}"/><origin xyz="{length} 0 0"/></joint>'
        for at in range(3)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


def test_usd_of_another_robot_is_one_line(folder: Path) -> None:
    """A converter that only renames links has findings: its values are the same."""
    (folder / "arm.urdf").write_text(_chain("arm", 1.0, 0.1))
    (folder / "leg.urdf").write_text(_chain("leg", 2.0, 0.3))
    (folder / "renamed.urdf").write_text(_chain("x", 1.0, 0.1))
    asset = _invoke("convert", "arm.urdf", "usd").stdout.strip()

    other = _invoke("check", "leg.urdf", asset)
    renamed = _invoke("check", "renamed.urdf", asset)

    assert other.exit_code == renamed.exit_code == 1
    first, *rest = other.stdout.splitlines()
    assert first == "✗ fails  chain  probably another robot: 4 of 4 names are unknown"
    assert rest == [
        "",
        "Use --html FILE for a report that shows the differences in 3D.",
    ]
    assert "another robot" not in renamed.stdout
    assert "is renamed to" in renamed.stdout


def test_check_obeys_its_time_limit(asset: Path) -> None:
    files = str(asset / "arm.urdf"), str(asset / "usd" / "arm.usda")

    result = _invoke("check", *files, "--timeout", "0.001")

    assert result.exit_code == 2
    assert "no answer after 0.001 s" in " ".join(result.stdout.split())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to limits")
def test_memory_limit_below_libraries_is_refused(asset: Path) -> None:
    files = str(asset / "arm.urdf"), str(asset / "usd" / "arm.usda")

    result = _invoke("check", *files, "--memory", "1")

    assert result.exit_code == 2
    assert "more than 1 MiB" in result.stderr
    assert "--memory" in result.stderr
    assert "bug" not in result.stderr


# run


def test_run_writes_all_files_of_the_report(folder: Path) -> None:
    result = _invoke("run", "arm.urdf", "pybullet:r2d2.urdf", "--out", "report")

    report = folder / "report"
    summary = json.loads((report / "summary.json").read_text())
    assert result.exit_code == 0, result.output
    assert "2 of 2 robots conform" in result.stdout
    assert f"Report: {Path('report/index.html')}" in result.stdout
    assert summary["corpus"] == ["file:arm.urdf", "pybullet:r2d2.urdf"]
    assert [robot["id"] for robot in summary["robots"]] == [
        "file--arm",
        "pybullet--r2d2",
    ]
    assert sum(summary["verdicts"].values()) == 2
    for name in ("file--arm", "pybullet--r2d2"):
        assert (report / "results" / f"{name}.json").is_file()
        assert (report / "robots" / f"{name}.html").is_file()
    assert (report / "assets" / "file--arm" / "arm.usda").is_file()
    assert ET.parse(report / "junit.xml").getroot().tag == "testsuites"
    assert (report / "summary.md").read_text()
    assert (report / "index.html").read_text().startswith("<!")
    # Plain lines where stderr is no terminal, one per robot.
    assert re.search(r"^\[2/2\] . \w+: ", result.stderr, re.MULTILINE)
    assert "\x1b" not in result.output


def test_run_replaces_only_a_previous_report(folder: Path) -> None:
    """Robots of the previous run are removed; a folder of the user is refused."""
    _invoke("run", "arm.urdf", "--out", "report")
    (folder / "leg.urdf").write_text(ARM.replace('name="arm"', 'name="leg"'))

    again = _invoke("run", "leg.urdf", "--out", "report")
    (folder / "report" / "notes.txt").write_text("mine")
    before = _entries(folder)
    refused = _invoke("run", "arm.urdf", "--out", "report")

    assert again.exit_code == 0
    assert _entries(folder / "report" / "results") == ["file--leg.json"]
    assert refused.exit_code == 2
    assert "notes.txt" in refused.stderr
    assert _entries(folder) == before


def test_run_lists_unreadable_files_and_strict_counts_them(folder: Path) -> None:
    (folder / "bad.urdf").write_text(
        "<robot name='r'>\n<link name='a'/>\n<link name='b'/>\n</robot>\n"
    )

    lenient = _invoke("run", "dir:.", "--out", "report")
    record = json.loads((folder / "report/results/dir--bad.json").read_text())
    strict = _invoke("run", "dir:.", "--out", "report", "--strict")
    alone = _invoke("run", "bad.urdf", "--out", "report")

    assert lenient.exit_code == 0, lenient.output
    assert record["verdict"] == "unreadable"
    assert [(d["rule"], d["file"], d["line"]) for d in record["diagnostics"]] == [
        ("tree-roots", "bad.urdf", 3)
    ]
    assert strict.exit_code == 1
    assert alone.exit_code == 1
    assert "no robot could be read" in alone.stderr


def test_interrupted_run_writes_a_report_of_finished_robots(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupting(total: int, *, named: bool) -> Iterator[Callable[[RobotRecord], None]]:
        def show(record: RobotRecord) -> None:
            raise KeyboardInterrupt(record.id, total, named)

        yield show

    monkeypatch.setattr("urdf_usd.cli.run_report.shown_progress", interrupting)
    result = _invoke("run", "arm.urdf", "pybullet:cube.urdf", "--out", "report")

    assert result.exit_code == 130
    assert "1 of 2 robots are finished" in result.stderr
    assert len(_entries(folder / "report" / "results")) == 1
    assert (folder / "report" / "index.html").is_file()


# doctor


def test_doctor_lists_versions_engines_and_corpora() -> None:
    result = _invoke("doctor")

    assert result.exit_code == 0
    for name in ("usd-core", "mujoco", "pybullet", "reference", "openusd", "95 robots"):
        assert name in result.stdout


def test_doctor_shows_how_to_install_a_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was found on another path is cached.
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("urdf_usd.corpus.installed.DISTRIBUTION", "no-such-thing")

    result = _invoke("doctor")

    assert re.search(r"✗ +erd .*pip install 'example-robot-data>=", result.stdout)


# Bugs


def test_bug_asks_for_a_report_without_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("urdf_usd.cli.convert.convert_robot", fail)
    plain = _invoke("convert", "arm.urdf", "out")
    debug = _invoke("--debug", "convert", "arm.urdf", "out")

    assert plain.exit_code == debug.exit_code == 2
    assert "this is a bug" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert _entries(folder) == ["arm.urdf"]


# The command as a separate process.


def _installed() -> str:
    script = shutil.which("urdf-usd", path=Path(sys.executable).parent)
    assert script, "the package is not installed"
    return script


def _command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_installed(), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=HANGS)


@pytest.mark.usefixtures("folder")
def test_pipe_gets_only_the_path_without_colours() -> None:
    result = _command("convert", "pybullet:kuka_iiwa/model.urdf", "out")

    assert result.returncode == 0
    assert result.stdout == f"{Path('out/lbr_iiwa.usda')}\n"
    assert "\x1b" not in result.stderr
    assert re.search(r"\.urdf:\d+:\d+: warning: .* \[link-regularised\]\n", result.stderr)


@pytest.mark.parametrize("command", ["inspect", "corpus show"])
def test_closed_pipe_is_not_the_status_of_a_robot(folder: Path, command: str) -> None:
    """The shell's status of a program that SIGPIPE ends; rich would exit with 1."""
    (folder / "arm.urdf").write_text(ARM)
    process = subprocess.Popen(
        [_installed(), *command.split(), "arm.urdf"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=HANGS)

    assert process.returncode == 141
    assert errors == ""


@pytest.mark.usefixtures("folder")
def test_colours_follow_the_terminal_and_no_color() -> None:
    """FORCE_COLOR stands in for a terminal; NO_COLOR takes precedence."""
    coloured = _command("convert", "missing.urdf", "out", FORCE_COLOR="1")
    plain = _command("convert", "missing.urdf", "out", FORCE_COLOR="1", NO_COLOR="1")

    # SGR 31 is red, 1 is bold.
    assert "\x1b[1;31merror:" in coloured.stderr
    assert click.unstyle(coloured.stderr) == plain.stderr
    assert plain.stderr.startswith("missing.urdf:1:1: error: ")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_a_run_and_its_processes(
    folder: Path, processes: list[subprocess.Popen[str]]
) -> None:
    """Exit 130, a report of finished robots, no process left."""
    process = subprocess.Popen(
        [_installed(), "run", "--out", "report", "--jobs", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    processes.append(process)
    assert process.stderr is not None
    process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=HANGS)

    assert process.returncode == 130
    assert "robots are finished" in stderr
    assert "Traceback" not in stderr
    assert (folder / "report" / "index.html").is_file()
    # The last process of the group may need a moment to be reaped.
    wait_until(lambda: not group_exists(process.pid))
