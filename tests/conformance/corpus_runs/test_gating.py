"""Baselines, and differences between runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from urdf_usd.cli.main import main
from urdf_usd.conformance.gate import OWNER, REASON, read_baseline

ROOT = Path(__file__).parents[3]
# Reverses every joint's axis in any process: both frames of the joint are rotated, so
# poses at zero are unchanged.
_REGRESSION = """
from urdf_usd.converter import conversion

_convert = conversion.convert_parsed

def convert_parsed(parsed, directory, options=conversion.DEFAULTS):
    from pxr import Gf, Sdf

    result = _convert(parsed, directory, options)
    physics = result.root_layer.parent / "payload" / "Physics.usda"
    layer = Sdf.Layer.FindOrOpen(str(physics))

    def turn(path):
        if path.IsPropertyPath() and path.name in (
            "physics:localRot0", "physics:localRot1"
        ):
            attribute = layer.GetAttributeAtPath(path)
            attribute.default = attribute.default * Gf.Quatf(0, 0, 1, 0)

    layer.Traverse(Sdf.Path.absoluteRootPath, turn)
    assert layer.Save()
    return result

conversion.convert_parsed = convert_parsed
"""
_ARM = """<robot name="arm"><link name="a">{mass}</link><link name="b">{mass}</link>
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/><axis xyz="0.48 0.6 0.64"/>
<limit lower="-0.7" upper="1.1" effort="3" velocity="2"/></joint></robot>""".format(
    mass='<inertial><origin xyz="0.05 0.02 -0.1" rpy="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/>'
    "</inertial>"
)
_EMPTY = '<robot name="nothing"/>'


@pytest.fixture
def robots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a robot that conforms into a folder of the working folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "robots"
    folder.mkdir()
    (folder / "arm.urdf").write_text(_ARM)
    return folder


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="urdf-usd")


def _run(out: str, *arguments: str) -> Result:
    engine = ("--engine", "mujoco", "--jobs", "1")
    return _invoke("run", "dir:robots", "--out", out, *engine, *arguments)


def test_gate_fails_on_a_regression(robots: Path, tmp_path: Path) -> None:
    """A converter that reverses axes, with the baseline of a correct one."""
    assert _run("good", "--baseline", "known.toml", "--update-baseline").exit_code == 0
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(_REGRESSION)
    program = "import sys; from urdf_usd.cli.main import main; main(sys.argv[1:])"
    command = ("run", f"dir:{robots.name}", "--out", "bad", "--engine", "mujoco")

    bad = subprocess.run(
        (sys.executable, "-c", program, *command, "--baseline", "known.toml"),
        env={**os.environ, "PYTHONPATH": f"{hook}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert bad.returncode == 1, bad.stderr
    gate = bad.stdout.partition("Gate against known.toml: ")[2]
    assert "0 worse, 0 expected" in gate
    assert "✗ dir--arm kinematics.rotation: fails, not expected: joint turn: " in gate
    diff = _invoke("diff", "good", "bad")
    assert diff.exit_code == 1
    assert "newly failing: dir--arm: exact → fails" in diff.stdout
    assert "worse: dir--arm kinematics.rotation: exact → fails" in diff.stdout
    assert _invoke("diff", "bad", "good").exit_code == 0


def test_baseline_entry_is_added_explained_and_removed(robots: Path) -> None:
    (robots / "nothing.urdf").write_text(_EMPTY)
    options = ("--baseline", "known.toml")
    assert _run("a").exit_code == 0
    missing = _run("a", *options)
    assert missing.exit_code == 2
    assert "known.toml: No such file" in missing.stderr

    written = _run("a", *options, "--update-baseline")

    assert written.exit_code == 0
    assert "known.toml: 1 new entry needs a reason and an owner" in written.stderr
    (expectation,) = read_baseline(Path("known.toml")).expectations
    assert expectation.place == ("dir--nothing", "verdict", "urdf-usd")
    again = _run("a", *options)
    assert again.exit_code == 0
    assert "known.toml:4: warning: the reason of dir--nothing" in again.stderr
    text = Path("known.toml").read_text()
    text = text.replace(REASON, "a placeholder").replace(OWNER, "ada")
    Path("known.toml").write_text(text)
    (robots / "nothing.urdf").write_text(_ARM)
    outgrown = _run("a", *options)
    assert outgrown.exit_code == 0
    assert "✓ dir--nothing verdict: passes now" in outgrown.stdout
    assert _run("a", *options, "--update-baseline").exit_code == 0
    assert read_baseline(Path("known.toml")).expectations == ()


def test_invalid_baseline_is_refused_before_the_run(robots: Path) -> None:
    assert robots.is_dir()
    Path("known.toml").write_text("[[expected]]\nrobot = 'a'\n")

    result = _run("out", "--baseline", "known.toml")

    assert result.exit_code == 2
    assert "known.toml:1: Object missing required field `check`" in result.stderr
    missing = _run("out", "--update-baseline")
    assert missing.exit_code == 2
    assert "--baseline FILE" in missing.stderr
    assert not Path("out").exists()


def test_diff_can_be_json(robots: Path) -> None:
    _run("a")
    (robots / "nothing.urdf").write_text(_EMPTY)
    _run("b", "--base", "fixed")

    result = _invoke("diff", "a", "b", "--format", "json")

    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["worse"] is False
    changes = {(change["kind"], change["subject"]) for change in document["changes"]}
    assert changes >= {("added", "dir--nothing"), ("setting", "option base")}
    assert _invoke("diff", "a", "a").stdout == "nothing changed\n"
    refused = _invoke("diff", "a", "robots")
    assert refused.exit_code == 2
    assert "robots holds no summary.json" in refused.stderr


def test_diff_names_the_changed_values_of_a_robot(robots: Path) -> None:
    _run("a")
    heavy = _ARM.replace('upper="1.1"', 'upper="0.9"').replace('"2"', '"3"', 1)
    (robots / "arm.urdf").write_text(heavy)
    _run("b")

    lines = _invoke("diff", "a", "b").stdout.splitlines()

    assert lines == [
        "2 robot value, 1 other files",
        "· robot value: dir--arm: 2 → 3 (link a mass)",
        "· robot value: dir--arm: 1.1 → 0.9 (joint turn upper)",
        "· other files: dir--arm (robots/arm.urdf)",
    ]


def test_run_is_compared_with_the_one_it_replaces(robots: Path) -> None:
    """It is read before the folder is emptied; the exit status is unchanged."""
    _run("out")
    (robots / "arm.urdf").rename(robots / "leg.urdf")

    result = _run("out", "--compare", "out", "--fail-on", "close")

    assert result.exit_code == 0
    assert "Gate: 0 new, 0 worse, 0 expected" in result.stdout
    assert "Since out: 1 removed, 1 added" in result.stdout
    former = json.loads(Path("out/summary.json").read_bytes())["former"]
    changes = {(one["kind"], one["subject"]) for one in former["changes"]}
    assert changes == {("removed", "dir--arm"), ("added", "dir--leg")}
    refused = _run("out", "--compare", "robots")
    assert refused.exit_code == 2
    assert Path("out/index.html").is_file()
