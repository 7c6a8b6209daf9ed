"""Robots of a folder are read as if each were given alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from urdf_usd import read_urdf
from urdf_usd.conformance.execution.folder import STATE
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.corpus import RobotSource, UnavailableSource, resolve_corpora

_ROBOT = """<robot name="r"><link name="a"><visual><geometry>
<mesh filename="package://arm_description/meshes/part.stl"/>
</geometry></visual></link></robot>"""
_MANIFEST = "<package><name>arm_description</name></package>"
_TRIANGLE = """solid s
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid s
"""


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
                "robots/arm/meshes/part.stl": _TRIANGLE,
                "other/arm_description/package.xml": _MANIFEST,
            },
            "robots/arm/meshes/part.stl",
        ),
        (
            # Two packages declare one name; the one that contains the robot is used.
            {
                "a/arm_description/package.xml": _MANIFEST,
                "a/arm_description/meshes/part.stl": _TRIANGLE,
                "b/arm_description/package.xml": _MANIFEST,
                "b/arm_description/meshes/part.stl": _TRIANGLE,
                "b/arm_description/urdf/arm.urdf": _ROBOT,
            },
            "b/arm_description/meshes/part.stl",
        ),
    ],
)
def test_robot_of_a_folder_finds_the_meshes_that_it_finds_alone(
    tmp_path: Path, files: dict[str, str], mesh: str
) -> None:
    """Other packages in the folder do not hide the files of a robot."""
    _write(tmp_path, files)
    (robot,) = resolve_corpora([f"dir:{tmp_path}"])
    assert isinstance(robot, RobotSource)
    packages = {name: str(path) for name, path in robot.packages}

    assert _mesh_paths(robot.path, packages) == [str(tmp_path / mesh)]
    assert _mesh_paths(robot.path, {}) == [str(tmp_path / mesh)]


@pytest.mark.parametrize(
    "other",
    [
        ".git/a.urdf",
        "build/a.urdf",
        "arm/Build/a.urdf",
        "node_modules/arm/a.urdf",
        "__pycache__/a.urdf",
    ],
)
def test_generated_folders_are_skipped(tmp_path: Path, other: str) -> None:
    """Their robots are copies of others, or belong to libraries."""
    _write(tmp_path, {other: _ROBOT, "arm/own.urdf": _ROBOT})

    assert [one.id for one in resolve_corpora([f"dir:{tmp_path}"])] == ["dir--arm--own"]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "COLCON_IGNORE", "CATKIN_IGNORE", STATE])
def test_marked_folders_are_skipped(tmp_path: Path, mark: str) -> None:
    """Virtual environments, what the build tools of ROS skip, and reports of runs."""
    _write(
        tmp_path,
        {f"x/{mark}": "", "x/share/a.urdf": _ROBOT, "arm/own.urdf": _ROBOT},
    )

    assert [one.id for one in resolve_corpora([f"dir:{tmp_path}"])] == ["dir--arm--own"]


def test_folder_that_is_named_is_searched(tmp_path: Path) -> None:
    _write(tmp_path, {"build/pyvenv.cfg": "", "build/own.urdf": _ROBOT})

    assert len(resolve_corpora([f"dir:{tmp_path / 'build'}"])) == 1


@pytest.mark.skipif(os.name == "nt", reason="file names are text on Windows")
def test_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    robot = '<robot name="r"><link name="a"/></robot>'
    _write(tmp_path, {"good.urdf": robot, os.fsdecode(b"\xff.urdf"): robot})

    bad, good = resolve_corpora([f"dir:{tmp_path}"])

    assert isinstance(good, RobotSource)
    assert isinstance(bad, UnavailableSource)
    assert bad.reference.endswith("/\\xff.urdf")
    assert bad.reason == ("\\xff.urdf: the name of the file or folder is not UTF-8; rename it")
