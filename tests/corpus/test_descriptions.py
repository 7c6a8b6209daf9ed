"""The real robot_descriptions package, with a local folder instead of cloning."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from urdf_usd.corpus import (
    RobotSource,
    UnavailableError,
    UnavailableSource,
    resolve_corpora,
    resolve_robot,
)

pytest.importorskip("robot_descriptions")


def _clone_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the function that clones repositories by a lookup in a folder."""
    cache = importlib.import_module("robot_descriptions._cache")
    table = importlib.import_module("robot_descriptions._repositories").REPOSITORIES

    def clone_to_cache(name: str, commit: str | None = None) -> str:
        del commit
        path = folder / table[name].cache_path
        if not path.is_dir():
            raise OSError(f"no copy of {name} in {folder.name}")
        return str(path)

    monkeypatch.setattr(cache, "clone_to_cache", clone_to_cache)
    for name in [name for name in sys.modules if name.endswith("_description")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the repository of the Upkie robot, with one link and no mesh."""
    folder = tmp_path / "upkie_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "urdf" / "upkie.urdf").write_text('<robot><link name="a"/></robot>')
    (folder / "package.xml").write_text("<package><name>upkie_ros</name></package>")
    _clone_from(tmp_path, monkeypatch)
    return folder


def test_module_resolves_to_urdf_and_packages(repository: Path) -> None:
    robot = resolve_robot("rd:upkie_description", lambda _: None)

    assert robot.id == "rd--upkie_description"
    assert robot.reference == "rd:upkie_description"
    assert robot.path == repository / "urdf" / "upkie.urdf"
    assert dict(robot.packages) == {
        "upkie_description": repository,
        "upkie_ros": repository,
    }


@pytest.mark.usefixtures("repository")
def test_download_is_announced_unless_the_clone_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    lines: list[str] = []
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "empty"))
    resolve_robot("rd:upkie_description", lines.append)
    git = tmp_path / "upkie_description" / ".git"
    git.mkdir()
    (git / "HEAD").write_text(f"{table['upkie_description'].commit}\n")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    resolve_robot("rd:upkie_description", lines.append)

    assert lines == [
        "downloading upkie_description from https://github.com/upkie/upkie_description.git"
    ]


def test_failed_download_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _clone_from(tmp_path, monkeypatch)

    with pytest.raises(
        UnavailableError,
        match=r"^upkie_description cannot be downloaded: no copy of upkie_desc[^\n]*$",
    ):
        resolve_robot("rd:upkie_description", lambda _: None)


def test_urdf_missing_from_repository_is_named(repository: Path) -> None:
    (repository / "urdf" / "upkie.urdf").unlink()

    with pytest.raises(UnavailableError, match=r"upkie\.urdf is missing"):
        resolve_robot("rd:upkie_description", lambda _: None)


def test_module_with_xacro_has_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "xarm_ros2/xarm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>xarm</name></package>")
    file = package / "urdf/xarm_device.urdf.xacro"
    file.touch()
    _clone_from(tmp_path, monkeypatch)

    robots = resolve_corpora(["rd:xarm6_description", "rd:xarm7_description"], lambda _: None)

    sources = [robot for robot in robots if isinstance(robot, RobotSource)]
    assert [robot.path for robot in sources] == [file, file]
    assert [dict(robot.arguments)["dof"] for robot in sources] == ["6", "7"]
    assert all(("xarm", package) in robot.packages for robot in sources)


def test_module_with_xacro_has_packages_of_other_repositories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    folder = tmp_path / table["flexiv_description"].cache_path
    (folder / "urdf").mkdir(parents=True)
    (folder / "urdf/flexiv.urdf.xacro").touch()
    _clone_from(tmp_path, monkeypatch)

    robot = resolve_robot("rd:mico_description", lambda _: None)

    assert ("flexiv_description", folder) in robot.packages
    assert robot.arguments == (("robot_type", "MICO-Core"),)


@pytest.mark.usefixtures("repository")
def test_whole_corpus_lists_unavailable_robots() -> None:
    robots = resolve_corpora(["rd"], lambda _: None)

    catalogue = importlib.import_module("robot_descriptions").DESCRIPTIONS
    assert len(robots) == len(catalogue)
    unavailable = [r for r in robots if isinstance(r, UnavailableSource)]
    assert len(unavailable) == len(robots) - 1
    assert all(robot.reason for robot in unavailable)
    without = [robot for robot in unavailable if "has no URDF" in robot.reason]
    assert len(without) == sum(not one.has_urdf for one in catalogue.values())
    (a1,) = (robot for robot in without if robot.reference == "rd:a1_mj_description")
    assert "only MJCF; rd:a1_description has one" in a1.reason


def test_output_of_git_goes_to_stderr(tmp_path: Path) -> None:
    script = (
        "import robot_descriptions._cache as cache\n"
        "def clone(name, commit=None):\n"
        "    print('Cloning ...')\n"
        "    raise OSError('no network')\n"
        "cache.clone_to_cache = clone\n"
        "from urdf_usd import corpus\n"
        "try:\n"
        "    corpus.resolve_robot('rd:upkie_description')\n"
        "except corpus.CorpusError:\n"
        "    print('refused')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ROBOT_DESCRIPTIONS_CACHE": str(tmp_path)},
    )

    assert run.stdout == "refused\n"
    assert "Cloning ..." in run.stderr


def test_repository_that_cannot_be_cloned_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = importlib.import_module("git")
    cache = importlib.import_module("robot_descriptions._cache")
    tried: list[str] = []

    def clone_to_cache(name: str, commit: str | None = None) -> str:
        del commit
        tried.append(name)
        raise git.GitCommandError("clone", 128, b"fatal: no such host")

    monkeypatch.setattr(cache, "clone_to_cache", clone_to_cache)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))

    robots = resolve_corpora(["rd:a1_description", "rd:go2_description"], lambda _: None)

    assert tried == ["unitree_ros"]
    for robot in robots:
        assert isinstance(robot, UnavailableSource)
        assert robot.reason.endswith("cannot be downloaded: fatal: no such host")
        assert robot.origin.maker == "UNITREE Robotics"


def test_mirror_replaces_cloning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = importlib.import_module("robot_descriptions._cache")

    def clone_to_cache(name: str, commit: str | None = None) -> str:
        raise AssertionError(name, commit)

    monkeypatch.setattr(cache, "clone_to_cache", clone_to_cache)
    repository = tmp_path / "upkie_description"
    (repository / "urdf").mkdir(parents=True)
    (repository / "urdf" / "upkie.urdf").write_text('<robot><link name="a"/></robot>')

    robots = resolve_corpora(["rd"], lambda _: None, mirror=tmp_path)

    (robot,) = (one for one in robots if isinstance(one, RobotSource))
    assert robot.path == repository / "urdf" / "upkie.urdf"
    # There is neither a checkout nor a manifest.
    assert robot.origin.commit is None
    assert cache.clone_to_cache is clone_to_cache


def test_robot_without_urdf_is_taken_from_the_mirror_if_mjcf_is_converted(tmp_path: Path) -> None:
    robot = tmp_path / "mujoco_menagerie" / "kuka_iiwa_14" / "iiwa14.xml"
    robot.parent.mkdir(parents=True)
    robot.write_text("<mujoco/>")

    for fetched in (False, True):
        found = resolve_corpora(["rd"], lambda _: None, mirror=tmp_path, mjcf=fetched)
        (kuka,) = (one for one in found if one.id == "rd--iiwa14_mj_description")
        assert (getattr(kuka, "path", None) == robot) is fetched
    named = resolve_robot("rd:iiwa14_mj_description", mirror=tmp_path)
    assert named.path == robot


def test_mirror_needs_no_git_executable(tmp_path: Path) -> None:
    # GitPython, which robot_descriptions imports, refuses to load without one.
    repository = tmp_path / "upkie_description"
    (repository / "urdf").mkdir(parents=True)
    (repository / "urdf" / "upkie.urdf").write_text('<robot><link name="a"/></robot>')
    script = (
        "from pathlib import Path\n"
        "from urdf_usd.corpus import resolve_robot\n"
        f"mirror = Path({str(tmp_path)!r})\n"
        "print(resolve_robot('rd:upkie_description', mirror=mirror).path.name)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )

    assert run.stdout == "upkie.urdf\n"
