"""``urdf-usd corpus``, filters and mirrors, with a mirror of two robots."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import urdf_usd

pytest.importorskip("robot_descriptions")

_COMMIT = "89abcdef" * 5
_ARM = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j"/>
</joint></robot>"""


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a mirror that holds one robot, and half a repository of others."""
    # Nothing may be cloned, and there is nothing to clone with.
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mirror"
    robot = folder / "upkie_description" / "urdf" / "upkie.urdf"
    robot.parent.mkdir(parents=True)
    robot.write_text(_ARM)
    (folder / "unitree_ros").mkdir()
    manifest = {"upkie_description": {"commit": _COMMIT}}
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
    return folder


def _rows(result: Result) -> dict[str, dict[str, str]]:
    assert result.exit_code == 0, result.stderr
    head, *lines = result.stdout.splitlines()
    rows = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
    return {row["reference"]: row for row in rows}


def test_list_in_a_pipe_has_a_line_per_robot(mirror: Path) -> None:
    rows = _rows(urdf_usd("corpus", "list", "rd", "--mirror", mirror))

    upkie = rows["rd:upkie_description"]
    assert upkie["license"] == "Apache-2.0"
    assert upkie["maker"] == "Upkie Project"
    assert (upkie["cached"], upkie["dof"], upkie["commit"]) == ("yes", "1", _COMMIT)
    go2 = rows["rd:go2_description"]
    assert (go2["cached"], go2["dof"], go2["tags"]) == ("no", "", "quadruped")
    assert "missing from the mirror" in go2["note"]
    assert "not in the mirror" in rows["rd:panda_description"]["note"]
    assert "not in the mirror" in rows["rd:panda_mj_description"]["note"]


def test_show_lists_all_files_of_a_robot(mirror: Path) -> None:
    words = ("corpus", "show", "rd:upkie_description", "--mirror", mirror)
    shown, plain = urdf_usd(*words), urdf_usd(*words, "--format", "json")

    assert "packages:\n  upkie_description: " in shown.stdout
    digest = hashlib.sha256(_ARM.encode()).hexdigest()
    facts = json.loads(plain.stdout)
    assert facts["commit"] == _COMMIT
    assert facts["repository"] == "https://github.com/upkie/upkie_description.git"
    assert facts["files"][0]["sha256"] == digest
    assert facts["tags"] == ["biped", "wheeled"]


def test_show_downloads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))

    shown = urdf_usd("corpus", "show", "rd:upkie_description", "--format", "json")

    assert shown.exit_code == 0
    facts = json.loads(shown.stdout)
    assert facts["repository"] == "https://github.com/upkie/upkie_description.git"
    assert facts["downloaded"] is False
    assert "files" not in facts
    assert "is not downloaded" in shown.stderr
    assert not (tmp_path / "cache").exists()


def test_run_uses_the_mirror(mirror: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    result = urdf_usd(
        *("run", "rd", "--tag", "biped", "--mirror", mirror, "--out", out),
        *("--engine", "mujoco", "--jobs", "1"),
    )

    assert result.exit_code == 0, result.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["corpus"] == ["rd", "tag biped"]
    assert summary["verdicts"]["not available"] == len(summary["robots"]) - 1
    record = json.loads((out / "results" / "rd--upkie_description.json").read_text())
    assert record["verdict"] in {"exact", "close"}
    source = record["source"]
    assert source["license"] == "Apache-2.0"
    assert source["commit"] == _COMMIT
    digest = hashlib.sha256(_ARM.encode()).hexdigest()
    assert source["files"] == [{"path": "upkie.urdf", "sha256": digest, "size": len(_ARM)}]
    assert str(tmp_path) not in json.dumps(record)


def test_mirror_can_be_set_by_the_environment(
    mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("URDF_USD_MIRROR", str(mirror))
    absent = urdf_usd("corpus", "show", "rd:panda_mj_description")
    assert absent.exit_code == 2
    assert "mujoco_menagerie is not in the mirror" in absent.stderr

    assert urdf_usd("corpus", "show", "rd:upkie_description").exit_code == 0
    # Commands without the option follow it too.
    shown = urdf_usd("inspect", "rd:upkie_description")
    assert shown.exit_code == 0, shown.stderr
    monkeypatch.setenv("URDF_USD_MIRROR", str(mirror / "nowhere"))
    refused = urdf_usd("inspect", "rd:upkie_description")
    assert refused.exit_code == 2
    assert "there is no such mirror folder" in refused.stderr


def test_missing_files_in_a_mirror_make_a_robot_unavailable(mirror: Path, tmp_path: Path) -> None:
    package = mirror / "xarm_ros2" / "xarm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "urdf" / "xarm_device.urdf.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="gone.xacro"/></robot>'
    )
    out = tmp_path / "out"

    urdf_usd("run", "rd:xarm6_description", "--mirror", mirror, "--out", out)

    record = json.loads((out / "results" / "rd--xarm6_description.json").read_text())
    assert record["verdict"] == "not available"
    assert record["reason"].startswith(
        "not in the mirror: xarm_device.urdf.xacro, line 1: gone.xacro"
    )
