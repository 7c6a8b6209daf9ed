"""`urdf-usd run --changed-since`: robots of which a file changed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import urdf_usd

_SPHERE = """<robot name="{name}"><link name="base">
  <inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="1"/></geometry></collision>
</link></robot>
"""
_MESH = _SPHERE.replace('<sphere radius="1"/>', '<mesh filename="part.obj"/>')
_OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with two robots, one of which has a mesh."""
    monkeypatch.chdir(tmp_path)
    Path("robots").mkdir()
    Path("robots/part.obj").write_text(_OBJ)
    Path("robots/a.urdf").write_text(_MESH.format(name="a"))
    Path("robots/b.urdf").write_text(_SPHERE.format(name="b"))
    _git("init", "-q")
    _commit("first")


def _git(*words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git = shutil.which("git") or "git"
    subprocess.run((git, *identity, *words), check=True, capture_output=True)


def _commit(message: str) -> None:
    _git("add", "-A")
    _git("commit", "-q", "-m", message)


def _run(revision: str) -> Result:
    words = ("run", "dir:robots", "--out", "report", "--changed-since", revision)
    return urdf_usd(*words, "--engine", "mujoco")


@pytest.mark.parametrize(
    ("file", "text", "revision", "robot"),
    [
        ("part.obj", f"{_OBJ}v 2 0 0\n", "HEAD", "a"),
        ("part.obj", f"{_OBJ}v 2 0 0\n", "HEAD~1", "a"),
        ("c.urdf", _SPHERE.format(name="c"), "HEAD", "c"),
    ],
)
def test_robots_with_changed_files_are_examined(
    file: str, text: str, revision: str, robot: str
) -> None:
    Path("robots", file).write_text(text)
    if revision != "HEAD":
        _commit("second")

    result = _run(revision)

    assert result.exit_code == 0, result.stderr
    assert [file.name for file in Path("report/results").iterdir()] == [f"dir--{robot}.json"]


def test_nothing_is_written_without_a_change() -> None:
    result = _run("HEAD")

    assert result.exit_code == 0
    assert "no robot changed since HEAD" in result.stderr
    assert not Path("report").exists()


@pytest.mark.parametrize("revision", ["none", "--output=x"])
def test_unknown_revision_is_refused(revision: str) -> None:
    result = _run(revision)

    assert result.exit_code == 2
    assert f"has no revision {revision!r}" in result.stderr
