"""The real robot_descriptions package, with a local folder instead of cloning."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from urdf_usd import corpus as c

pytest.importorskip("robot_descriptions")
CloneBy: TypeAlias = Callable[[Callable[[str], str]], None]
_TABLE = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
_UPKIE = "rd:upkie_description"


def _silent(_: str) -> None:
    pass


@pytest.fixture
def clone_by(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CloneBy:
    """Return a function that replaces the one that clones a repository."""
    cache = importlib.import_module("robot_descriptions._cache")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))

    def replace(clone: Callable[[str], str]) -> None:
        monkeypatch.setattr(cache, "clone_to_cache", lambda name, **_: clone(name))

    return replace


def _write(root: Path, *files: str) -> list[Path]:
    paths = [root / file for file in files]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('<robot><link name="a"/></robot>')
    return paths


@pytest.fixture
def upkie(tmp_path: Path, clone_by: CloneBy) -> Path:
    """Write the URDF of a robot, and make all clones come from the folder above."""
    (urdf,) = _write(tmp_path, "upkie_description/urdf/upkie.urdf")
    clone_by(lambda name: str(tmp_path / _TABLE[name].cache_path))
    return urdf


def test_module_resolves_to_urdf_and_packages(upkie: Path) -> None:
    repository = upkie.parents[1]
    (repository / "package.xml").write_text("<package><name>upkie_ros</name></package>")

    robot = c.resolve_robot(_UPKIE, _silent)

    assert (robot.id, robot.reference, robot.path) == ("rd--upkie_description", _UPKIE, upkie)
    assert dict(robot.packages) == {"upkie_description": repository, "upkie_ros": repository}


def test_download_is_announced_unless_the_clone_is_there(
    upkie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    c.resolve_robot(_UPKIE, lines.append)
    git = upkie.parents[1] / ".git"
    git.mkdir()
    (git / "HEAD").write_text(f"{_TABLE['upkie_description'].commit}\n")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(upkie.parents[2]))
    c.resolve_robot(_UPKIE, lines.append)

    assert lines == [
        "downloading upkie_description from https://github.com/upkie/upkie_description.git"
    ]


def test_missing_files_are_named(upkie: Path, clone_by: CloneBy) -> None:
    upkie.unlink()
    with pytest.raises(c.UnavailableError, match=r"upkie\.urdf is missing"):
        c.resolve_robot(_UPKIE, _silent)

    def refuse(name: str) -> str:
        raise OSError(f"no copy\nof {name}")

    clone_by(refuse)
    reason = r"^upkie_description cannot be downloaded: no copy of upkie_description$"
    with pytest.raises(c.UnavailableError, match=reason):
        c.resolve_robot(_UPKIE, _silent)


@pytest.mark.usefixtures("upkie")
def test_module_with_xacro_has_arguments_and_packages(tmp_path: Path) -> None:
    flexiv = _TABLE["flexiv_description"].cache_path
    file, manifest, _ = _write(
        tmp_path,
        "xarm_ros2/xarm_description/urdf/xarm_device.urdf.xacro",
        "xarm_ros2/xarm_description/package.xml",
        f"{flexiv}/urdf/flexiv.urdf.xacro",
    )
    manifest.write_text("<package><name>xarm</name></package>")

    robots = c.resolve_corpora(["rd:xarm6_description", "rd:xarm7_description"], _silent)
    mico = c.resolve_robot("rd:mico_description", _silent)

    sources = [robot for robot in robots if isinstance(robot, c.RobotSource)]
    assert [robot.path for robot in sources] == [file, file]
    assert [dict(robot.arguments)["dof"] for robot in sources] == ["6", "7"]
    assert all(("xarm", manifest.parent) in robot.packages for robot in sources)
    # Of another repository.
    assert ("flexiv_description", tmp_path / flexiv) in mico.packages
    assert mico.arguments == (("robot_type", "MICO-Core"),)


@pytest.mark.usefixtures("upkie")
def test_whole_corpus_lists_unavailable_robots() -> None:
    robots = c.resolve_corpora(["rd"], _silent)

    catalogue = importlib.import_module("robot_descriptions").DESCRIPTIONS
    unavailable = [r for r in robots if isinstance(r, c.UnavailableSource)]
    assert len(robots) == len(catalogue) == len(unavailable) + 1
    assert all(robot.reason for robot in unavailable)
    without = [robot for robot in unavailable if "has no URDF" in robot.reason]
    assert len(without) == sum(not one.has_urdf for one in catalogue.values())
    (a1,) = (robot for robot in without if robot.reference == "rd:a1_mj_description")
    assert "only MJCF; rd:a1_description has one" in a1.reason


def test_repository_that_cannot_be_cloned_is_tried_once(clone_by: CloneBy) -> None:
    git = importlib.import_module("git")
    tried: list[str] = []

    def fail(name: str) -> str:
        tried.append(name)
        raise git.GitCommandError("clone", 128, b"fatal: no such host")

    clone_by(fail)

    robots = c.resolve_corpora(["rd:a1_description", "rd:go2_description"], _silent)

    assert tried == ["unitree_ros"]
    for robot in robots:
        assert isinstance(robot, c.UnavailableSource)
        assert robot.reason.endswith("cannot be downloaded: fatal: no such host")
        assert robot.origin.maker == "UNITREE Robotics"


def test_mirror_replaces_cloning(upkie: Path, clone_by: CloneBy) -> None:
    def fail(name: str) -> str:
        raise AssertionError(name)

    clone_by(fail)

    robots = c.resolve_corpora(["rd"], _silent, mirror=upkie.parents[2])

    (robot,) = (one for one in robots if isinstance(one, c.RobotSource))
    # There is neither a checkout nor a manifest.
    assert (robot.path, robot.origin.commit) == (upkie, None)


def test_robot_without_urdf_is_taken_from_the_mirror_if_mjcf_is_converted(tmp_path: Path) -> None:
    (robot,) = _write(tmp_path, "mujoco_menagerie/kuka_iiwa_14/iiwa14.xml")

    for fetched in (False, True):
        found = c.resolve_corpora(["rd"], _silent, mirror=tmp_path, mjcf=fetched)
        (kuka,) = (one for one in found if one.id == "rd--iiwa14_mj_description")
        assert (getattr(kuka, "path", None) == robot) is fetched
    assert c.resolve_robot("rd:iiwa14_mj_description", mirror=tmp_path).path == robot


_OUTPUT = """\
import robot_descriptions._cache as cache
def clone(name, commit=None):
    print('Cloning ...')
    raise OSError('no network')
cache.clone_to_cache = clone
from urdf_usd import corpus
try:
    corpus.resolve_robot('rd:upkie_description')
except corpus.CorpusError:
    print('refused')
"""
_MIRROR = """\
from pathlib import Path
from urdf_usd.corpus import resolve_robot
print(resolve_robot('rd:upkie_description', mirror=Path({!r})).path.name)
"""


def test_output_of_git_goes_to_stderr_and_a_mirror_needs_no_git(upkie: Path) -> None:
    # GitPython, which robot_descriptions imports, refuses to load without the executable.
    mirror, nowhere = str(upkie.parents[2]), str(upkie.parent)
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **variables},
        )
        for script, variables in (
            (_OUTPUT, {"ROBOT_DESCRIPTIONS_CACHE": nowhere}),
            (_MIRROR.format(mirror), {"PATH": nowhere}),
        )
    ]

    assert [run.stdout for run in runs] == ["refused\n", "upkie.urdf\n"]
    assert "Cloning ..." in runs[0].stderr
