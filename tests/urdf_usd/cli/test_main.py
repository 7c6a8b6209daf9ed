"""The command: output streams, messages, exit codes, files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree as ET

import click
import pytest

from tests.conformance.runs import HANGS, group_exists, wait_until
from tests.robots import ROBOT
from tests.urdf_usd.cli.command import contents, urdf_usd
from urdf_usd.conformance.execution.sources import write_back
from urdf_usd.converter import convert


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(ROBOT)
    return tmp_path


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convert the arm once; return the folder that holds URDF and USD."""
    folder = tmp_path_factory.mktemp("asset")
    (folder / "arm.urdf").write_text(ROBOT)
    convert(folder / "arm.urdf", folder / "usd")
    return folder


@pytest.mark.parametrize("command", ["convert", "check", "run", "export", "doctor"])
def test_help_shows_examples_and_exit_codes(command: str) -> None:
    result = urdf_usd(command, "-h")

    assert result.exit_code == 0, result.output
    assert f"\n    urdf-usd {command}" in result.stdout
    assert "Exit status: 0 done; 1 does not conform; 2" in result.stdout
    assert urdf_usd(command, "--help").stdout == result.stdout


def test_previous_asset_is_written_again_or_kept(folder: Path) -> None:
    urdf_usd("convert", "arm.urdf", "out")
    before = contents(folder / "out")

    again = urdf_usd("convert", "arm.urdf", "out")
    assert (again.exit_code, contents(folder / "out")) == (0, before)

    (folder / "arm.urdf").write_text(ROBOT.replace("revolute", "hinge"))
    failed = urdf_usd("convert", "arm.urdf", "out")
    assert (failed.exit_code, contents(folder / "out")) == (2, before)


@pytest.mark.parametrize("command", [("inspect",), ("convert", "out"), ("lint",)])
@pytest.mark.parametrize("content", [b'#usda 1.0\ndef Xform "a" {}\n', b"PXR-USDC\x00\x08"])
def test_other_formats_are_refused_with_their_first_bytes(
    command: tuple[str, ...], content: bytes
) -> None:
    Path("robot.urdf").write_bytes(content)
    result = urdf_usd(command[0], "robot.urdf", *command[1:])

    assert result.exit_code == 2
    assert f"it begins with {content[:8].decode()!r}" in result.output


def test_limit_that_is_given_holds_for_a_single_conversion() -> None:
    refused = urdf_usd("convert", "arm.urdf", "out", "--timeout", "0.001")

    assert refused.exit_code == 2
    assert "no answer after 0.001 s" in refused.stderr
    assert not Path("out").exists()
    assert urdf_usd("convert", "arm.urdf", "out", "--timeout", "100").exit_code == 0


def test_check_of_a_good_asset_exits_0(asset: Path) -> None:
    result = urdf_usd(
        *("check", asset / "arm.urdf", asset / "usd" / "arm.usda"),
        *("--json", asset / "arm.json", "--html", asset / "arm.html"),
    )

    text = (asset / "arm.json").read_text()
    record = json.loads(text)
    assert result.exit_code == 0, result.output
    assert "exact" in result.stdout
    assert (record["verdict"], record["links"], record["total_mass"]) == ("exact", 2, 3.0)
    assert {"mujoco", "pybullet", "reference", "openusd"} <= {
        engine["name"] for engine in record["engines"] if engine["status"] == "observed"
    }
    assert str(asset) not in text
    assert ">j<" in (asset / "arm.html").read_text()


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


def test_usd_of_another_robot_is_one_line() -> None:
    for name, text in (
        ("arm", _chain("arm", 1.0, 0.1)),
        ("leg", _chain("leg", 2.0, 0.3)),
        ("renamed", _chain("x", 1.0, 0.1)),
    ):
        Path(f"{name}.urdf").write_text(text)
    usd = urdf_usd("convert", "arm.urdf", "usd").stdout.strip()
    other, renamed = urdf_usd("check", "leg.urdf", usd), urdf_usd("check", "renamed.urdf", usd)

    assert other.exit_code == renamed.exit_code == 1
    assert other.stdout.splitlines() == [
        "✗ fails  chain  probably another robot: 4 of 4 names are unknown",
        "",
        "Use --html FILE for a report that shows the differences in 3D.",
    ]
    assert "another robot" not in renamed.stdout
    assert "is renamed to" in renamed.stdout


def test_check_obeys_its_limits(asset: Path) -> None:
    files = asset / "arm.urdf", asset / "usd" / "arm.usda"
    late = urdf_usd("check", *files, "--timeout", "0.001")

    assert late.exit_code == 2
    assert "no answer after 0.001 s" in " ".join(late.stdout.split())
    if sys.platform == "linux":
        # Less than the libraries take.
        small = urdf_usd("check", *files, "--memory", "1")
        assert small.exit_code == 2
        assert "the memory limit was reached" in small.stderr
        assert "--memory" in small.stderr
        assert "bug" not in small.stderr


def test_usd_without_robot_is_not_exported() -> None:
    Path("no.usda").write_text("no layer")
    Path("empty.usda").write_text("#usda 1.0\n")
    result = urdf_usd("export", "no.usda", "out.urdf")

    assert result.exit_code == 2
    assert "cannot be opened" in result.stderr
    assert "stage-unreadable" in result.stderr
    assert write_back("empty.usda", ()) == "the stage has no rigid body and no link"


def test_view_opens_a_page_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def remember(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", remember)
    result = urdf_usd("view", "arm.urdf")

    assert result.exit_code == 0, result.stderr
    (page,) = map(Path, result.stdout.splitlines())
    text = page.read_text("utf-8")
    page.unlink()
    assert [unquote(urlparse(url).path) for url in opened] == [str(page)]
    assert '<script type="text/plain" id="scene">' in text
    assert "3D view of arm" in text


def test_run_writes_all_files_of_the_report(folder: Path) -> None:
    result = urdf_usd("run", "arm.urdf", "pybullet:r2d2.urdf", "--out", "report")

    report = folder / "report"
    summary = json.loads((report / "summary.json").read_text())
    assert result.exit_code == 0, result.output
    assert "2 of 2 robots conform" in result.stdout
    assert f"Report: {Path('report/index.html')}" in result.stdout
    assert summary["corpus"] == ["file:arm.urdf", "pybullet:r2d2.urdf"]
    assert [robot["id"] for robot in summary["robots"]] == ["file--arm", "pybullet--r2d2"]
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
    urdf_usd("run", "arm.urdf", "--out", "report")
    (folder / "leg.urdf").write_text(ROBOT.replace('name="arm"', 'name="leg"'))

    assert urdf_usd("run", "leg.urdf", "--out", "report").exit_code == 0
    assert list(contents(folder / "report" / "results")) == ["file--leg.json"]

    (folder / "report" / "notes.txt").write_text("mine")
    assert urdf_usd("run", "arm.urdf", "--out", "report").exit_code == 0
    assert (folder / "report" / "notes.txt").read_text() == "mine"


def test_run_lists_unreadable_files_and_strict_counts_them(folder: Path) -> None:
    (folder / "bad.urdf").write_text(
        "<robot name='r'>\n<link name='a'/>\n<link name='b'/>\n</robot>\n"
    )
    lenient = urdf_usd("run", "dir:.", "--out", "report")
    record = json.loads((folder / "report/results/dir--bad.json").read_text())

    assert lenient.exit_code == 0, lenient.output
    assert record["verdict"] == "unreadable"
    assert [(d["rule"], d["file"], d["line"]) for d in record["diagnostics"]] == [
        ("tree-roots", "bad.urdf", 3)
    ]
    assert urdf_usd("run", "dir:.", "--out", "report", "--strict").exit_code == 1
    alone = urdf_usd("run", "bad.urdf", "--out", "report")
    assert alone.exit_code == 1
    assert "no robot could be read" in alone.stderr


def test_doctor_lists_versions_engines_and_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    # What was found on another path is cached.
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.setattr("urdf_usd.corpus.installed.DISTRIBUTION", "no-such-thing")
    result = urdf_usd("doctor")

    assert result.exit_code == 0
    for name in ("usd-core", "mujoco", "pybullet", "reference", "openusd", "95 robots"):
        assert name in result.stdout
    assert re.search(r"✗ +erd .*pip install 'example-robot-data>=", result.stdout)


def test_bug_asks_for_a_report_without_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("urdf_usd.cli.convert.convert_robot", fail)
    plain = urdf_usd("convert", "arm.urdf", "out")
    debug = urdf_usd("--debug", "convert", "arm.urdf", "out")

    assert plain.exit_code == debug.exit_code == 2
    assert "this is a bug" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert list(contents(folder)) == ["arm.urdf"]


# The command as a separate process.


def _installed() -> str:
    script = shutil.which("urdf-usd", path=Path(sys.executable).parent)
    assert script, "the package is not installed"
    return script


def _command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    words, variables = (_installed(), *arguments), {**os.environ, **variables}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=variables)


def test_pipe_gets_only_the_path_without_colours() -> None:
    result = _command("convert", "pybullet:kuka_iiwa/model.urdf", "out")

    assert result.returncode == 0
    assert result.stdout == f"{Path('out/lbr_iiwa.usda')}\n"
    assert "\x1b" not in result.stderr
    assert re.search(r"\.urdf:\d+:\d+: warning: .* \[link-regularised\]\n", result.stderr)


@pytest.mark.parametrize("command", ["inspect", "corpus show"])
def test_closed_pipe_is_not_the_status_of_a_robot(command: str) -> None:
    process = subprocess.Popen(
        [_installed(), *command.split(), "arm.urdf"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=HANGS)

    assert (process.returncode, errors) == (141, "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_a_run_and_its_processes(folder: Path) -> None:
    process = subprocess.Popen(
        [_installed(), "run", "--out", "report", "--jobs", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        process.stderr.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=HANGS)
    finally:
        process.kill()

    assert process.returncode == 130
    assert "robots are finished" in stderr
    assert "Traceback" not in stderr
    assert (folder / "report" / "index.html").is_file()
    # The last process of the group may need a moment to be reaped.
    wait_until(lambda: not group_exists(process.pid))


def test_colours_follow_the_terminal_and_no_color() -> None:
    """FORCE_COLOR stands in for a terminal; NO_COLOR takes precedence."""
    coloured = _command("convert", "missing.urdf", "out", FORCE_COLOR="1")
    plain = _command("convert", "missing.urdf", "out", FORCE_COLOR="1", NO_COLOR="1")

    # SGR 31 is red, 1 is bold.
    assert "\x1b[1;31merror:" in coloured.stderr
    assert click.unstyle(coloured.stderr) == plain.stderr
    assert plain.stderr.startswith("missing.urdf:1:1: error: ")
