"""The command: output streams, messages, exit codes, files."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree as ET

import pytest

from tests.robots import ROBOT
from tests.urdf_usd.cli.command import contents, urdf_usd
from urdf_usd.converter import convert


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(ROBOT)
    return tmp_path


@pytest.mark.parametrize("command", ["convert", "check", "run", "export", "doctor"])
def test_help_shows_examples_and_exit_codes(command: str) -> None:
    result = urdf_usd(command, "-h")

    assert result.exit_code == 0, result.output
    assert f"\n    urdf-usd {command}" in result.stdout
    assert "Exit status: 0 done; 1 does not conform; 2" in result.stdout
    assert urdf_usd(command, "--help").stdout == result.stdout


def test_view_opens_a_page_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Mock(return_value=True)
    monkeypatch.setattr(webbrowser, "open", browser)
    result = urdf_usd("view", "arm.urdf")

    assert result.exit_code == 0, result.stderr
    (page,) = map(Path, result.stdout.splitlines())
    text = page.read_text("utf-8")
    page.unlink()
    ((url,), _) = browser.call_args
    assert unquote(urlparse(url).path) == str(page)
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
    for name in ("file--arm", "pybullet--r2d2"):
        text = (report / "results" / f"{name}.json").read_text()
        engines = {
            one["name"] for one in json.loads(text)["engines"] if one["status"] == "observed"
        }
        assert {"mujoco", "pybullet", "reference", "openusd"} <= engines
        assert str(folder) not in text
        assert (report / "robots" / f"{name}.html").is_file()
    assert (report / "assets" / "file--arm" / "arm.usda").is_file()
    assert ET.parse(report / "junit.xml").getroot().tag == "testsuites"
    assert (report / "summary.md").read_text()
    assert (report / "index.html").read_text().startswith("<!")
    # Plain lines where stderr is no terminal, one per robot.
    assert re.search(r"^\[2/2\] . \w+: ", result.stderr, re.MULTILINE)
    assert "\x1b" not in result.output


def test_run_selects_variants_in_usds_of_other_converters() -> None:
    for name, usd in (("arm", "usds"), ("leg", "plain")):
        Path(f"{name}.urdf").write_text(ROBOT.replace('name="arm"', f'name="{name}"'))
        convert(f"{name}.urdf", usd)
    # It has no variant sets.
    reference = '#usda 1.0\n(defaultPrim = "leg")\ndef Xform "leg" (references = @{}@) {{}}\n'
    Path("usds/leg.usda").write_text(reference.format("../plain/payload/Physics.usda"))

    urdf_usd(
        *("run", "arm.urdf", "leg.urdf", "--converter", "x=folder:usds", "--engine", "mujoco"),
        *("--variant", "Physics=physics", "--jobs", "1", "--out", "report"),
    )

    arm, leg = (
        json.loads(Path(f"report/results/file--{name}.json").read_text()) for name in ("arm", "leg")
    )
    assert (arm["verdict"], arm["variants"]["/arm:Physics"]) == ("exact", "physics")
    assert leg["variants"] == {}
    assert "variant-absent" in {one["rule"] for one in leg["diagnostics"]}
    summary = json.loads(Path("report/summary.json").read_text())
    assert summary["options"]["variant"] == "Physics=physics"


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
