"""Robots and ROS packages in folders."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from urdf_usd import read_urdf
from urdf_usd.conformance.execution.folder import STATE
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.corpus import RobotSource, UnavailableSource, resolve_corpora
from urdf_usd.corpus.files import declared_license, locate_below, locate_mjcf, ros_packages
from urdf_usd.corpus.installed import MANIFEST, head_commit, mirrored_commit
from urdf_usd.corpus.robots import UnknownRobotError

_ROBOT = """<robot name="r"><link name="a"><visual><geometry>
<mesh filename="package://arm_description/meshes/part.stl"/>
</geometry></visual></link></robot>"""
_MANIFEST = "<package><name>arm_description</name></package>"


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _mesh_paths(path: Path, packages: dict[str, str]) -> list[str | None]:
    robot = read_urdf(path, packages=packages).robot
    geometries = (shape.geometry for link in robot.links for shape in link.shapes)
    return [g.path for g in geometries if isinstance(g, MeshFile)]


@pytest.mark.parametrize(
    ("files", "mesh"),
    [
        (
            # The package of that name lacks the mesh; the folder of the robot has it.
            {
                "robots/arm/urdf/arm.urdf": _ROBOT,
                "robots/arm/meshes/part.stl": "",
                "other/arm_description/package.xml": _MANIFEST,
            },
            "robots/arm/meshes/part.stl",
        ),
        (
            # Two packages declare one name; the one that contains the robot is used.
            {
                "a/arm_description/package.xml": _MANIFEST,
                "a/arm_description/meshes/part.stl": "",
                "b/arm_description/package.xml": _MANIFEST,
                "b/arm_description/meshes/part.stl": "",
                "b/arm_description/urdf/arm.urdf": _ROBOT,
            },
            "b/arm_description/meshes/part.stl",
        ),
    ],
)
def test_robot_of_a_folder_finds_the_meshes_that_it_finds_alone(
    tmp_path: Path, files: dict[str, str], mesh: str
) -> None:
    _write(tmp_path, files)
    (robot,) = resolve_corpora([f"dir:{tmp_path}"])
    assert isinstance(robot, RobotSource)
    packages = {name: str(path) for name, path in robot.packages}

    assert _mesh_paths(robot.path, packages) == [str(tmp_path / mesh)]
    assert _mesh_paths(robot.path, {}) == [str(tmp_path / mesh)]


@pytest.mark.parametrize(
    "others",
    [
        [".git/a.urdf"],
        ["arm/Build/a.urdf"],
        ["node_modules/arm/a.urdf"],
        *([f"x/{mark}", "x/share/a.urdf"] for mark in ("pyvenv.cfg", "COLCON_IGNORE", STATE)),
    ],
)
def test_generated_and_marked_folders_are_skipped(tmp_path: Path, others: list[str]) -> None:
    _write(tmp_path, {**dict.fromkeys(others, _ROBOT), "arm/own.urdf": _ROBOT})

    assert [one.id for one in resolve_corpora([f"dir:{tmp_path}"])] == ["dir--arm--own"]


def test_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    _write(tmp_path, {"good.urdf": _ROBOT, os.fsdecode(b"\xff.urdf"): _ROBOT})

    bad, good = resolve_corpora([f"dir:{tmp_path}"])

    assert isinstance(good, RobotSource)
    assert isinstance(bad, UnavailableSource)
    assert bad.reference.endswith("/\\xff.urdf")
    assert "not UTF-8" in bad.reason


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ("<package><name> arm </name></package>", "arm"),
        ("<package><name>x", "Folder"),
        ("<package/>", "Folder"),
        ('<!DOCTYPE a [<!ENTITY n "arm">]><package><name>&n;</name></package>', "Folder"),
    ],
)
def test_package_is_named_by_its_manifest_or_folder(
    tmp_path: Path, manifest: str, name: str
) -> None:
    files = ("Folder/package.xml", "Second/package.xml")
    _write(tmp_path, {**dict.fromkeys(files, manifest), ".git/x/package.xml": _MANIFEST})

    first, *others = ros_packages(tmp_path)

    # Of two with one name the first.
    assert first == (name, tmp_path / "Folder")
    assert len(others) == (name == "Folder")


def test_licences_of_a_robot_are_those_of_its_package(tmp_path: Path) -> None:
    text = (
        "<package><license> BSD\n 3 </license><license>MIT</license><license/>"
        "<export><license>none</license></export></package>"
    )
    _write(tmp_path, {"arm/package.xml": text})

    assert declared_license(tmp_path / "arm/urdf/arm.urdf") == "BSD 3 AND MIT"


# Commits of checkouts and mirrors

COMMIT = "0123456789abcdef" * 2 + "01234567"


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ("git", *identity, *arguments)
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("change", [[], ["pack-refs", "--all"], ["checkout", "-q", "--detach"]])
def test_commit_of_a_checkout_is_that_of_git(tmp_path: Path, change: list[str]) -> None:
    checkout = tmp_path / "robot"
    checkout.mkdir()
    assert head_commit(checkout) is None
    _git(checkout, "init", "--quiet")
    assert head_commit(checkout) is None
    _git(checkout, "commit", "--quiet", "--allow-empty", "--message=a")
    if change:
        _git(checkout, *change)
    (tmp_path / MANIFEST).write_text(json.dumps({"robot": {"commit": COMMIT}}))

    assert head_commit(checkout) == _git(checkout, "rev-parse", "HEAD")
    assert mirrored_commit(tmp_path, "robot") == head_commit(checkout)


@pytest.mark.parametrize(
    ("manifest", "commit"),
    [
        ({"robot": {"commit": COMMIT}}, COMMIT),
        ({"robot": {"commit": "main"}}, None),
        ({"robot": COMMIT}, None),
        ({}, None),
        ([], None),
    ],
)
def test_manifest_of_a_mirror_gives_commits(
    tmp_path: Path, manifest: object, commit: str | None
) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))

    assert mirrored_commit(tmp_path, "robot") == commit


def test_mjcf_with_bodies_of_its_own_is_a_robot_of_a_folder(tmp_path: Path) -> None:
    texts = {
        "arm.xml": "\n<!-- a --><?xml?><mujoco><worldbody><body/></worldbody></mujoco>",
        "scene.xml": "<mujoco><include file='arm.xml'/><worldbody><light/></worldbody></mujoco>",
        "defaults.xml": "<mujocoinclude><default/></mujocoinclude>",
        "package.xml": "<package/>",
        "arm.urdf": "<robot name='arm'><link name='a'/></robot>",
    }
    _write(tmp_path, texts)

    assert [one.id for one in locate_below(str(tmp_path))] == ["dir--arm", "dir--arm.xml"]
    (arm,) = locate_mjcf(str(tmp_path))
    assert arm.id == "mjcf--arm.xml"
    assert [one.id for one in locate_mjcf(str(tmp_path / "arm.xml"))] == ["file--arm.xml"]
    with pytest.raises(UnknownRobotError, match="is no MJCF"):
        locate_mjcf(str(tmp_path / "arm.urdf"))
