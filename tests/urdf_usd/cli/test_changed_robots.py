"""`urdf-usd run --changed-since`: robots of which a file changed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import urdf_usd

_URDF = """<robot name="{name}"><link name="base">
  <inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{shape}</geometry></collision>
</link></robot>
"""
_OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with two robots, one of which has a mesh."""
    monkeypatch.chdir(tmp_path)
    Path("robots").mkdir()
    Path("robots/part.obj").write_text(_OBJ)
    mesh = '<mesh filename="part.obj"/>'
    Path("robots/a.urdf").write_text(_URDF.format(name="a", shape=mesh))
    Path("robots/b.urdf").write_text(_URDF.format(name="b", shape='<sphere radius="1"/>'))
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


def _touch_mesh() -> None:
    Path("robots/part.obj").write_text(_OBJ.replace("v 1 0 0", "v 2 0 0"))


def _commit_mesh() -> None:
    _touch_mesh()
    _commit("second")


def _add_robot() -> None:
    text = Path("robots/b.urdf").read_text()
    Path("robots/c.urdf").write_text(text.replace('name="b"', 'name="c"'))


@pytest.mark.parametrize(
    ("change", "revision", "robots"),
    [(_touch_mesh, "HEAD", ["a"]), (_commit_mesh, "HEAD~1", ["a"]), (_add_robot, "HEAD", ["c"])],
)
def test_robots_with_changed_files_are_examined(
    change: Callable[[], None], revision: str, robots: list[str]
) -> None:
    change()

    result = _run(revision)

    assert result.exit_code == 0, result.stderr
    files = Path("report/results").glob("*.json")
    assert [file.stem.removeprefix("dir--") for file in files] == robots


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
