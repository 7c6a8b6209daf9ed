"""Speed of examining robots, beside what libraries take to load them.

The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import mujoco
import pybullet
import pytest
import trimesh
from pxr import Usd, UsdPhysics

from conformance.examination import Assignment, survive
from conformance.isolation import Isolation
from conformance.panel import convene
from conformance.record import RobotRecord
from converter import ConvertOptions, convert
from converter.model import MeshFile
from corpus import RobotSource, resolve_robot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from conformance.tasks import InstalledWitness
    from converter.model import Robot

# Few links and large meshes; many links and small meshes; no meshes at all.
ROBOTS = ("kuka_iiwa/model.urdf", "r2d2.urdf", "cartpole.urdf")

pytestmark = pytest.mark.benchmark_run


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    """Processes, the first of which has been started."""
    with Isolation() as started:
        started.call(abs, -1)
        yield started


@pytest.fixture(scope="module")
def witnesses(isolation: Isolation) -> tuple[InstalledWitness, ...]:
    """All that are asked unless somebody chooses."""
    return convene(isolation)


def _source(robot: str) -> RobotSource:
    source = resolve_robot(f"pybullet:{robot}")
    assert isinstance(source, RobotSource)
    return source


@pytest.mark.parametrize("robot", ROBOTS)
def test_examining_a_robot(
    benchmark: BenchmarkFixture,
    isolation: Isolation,
    witnesses: tuple[InstalledWitness, ...],
    tmp_path: Path,
    robot: str,
) -> None:
    """The subject: from its file to its record, in a process of its own."""
    benchmark.group = robot
    assignment = Assignment(_source(robot), tmp_path, ConvertOptions(), witnesses)

    record = benchmark(lambda: survive(isolation, assignment, {}))

    assert isinstance(record, RobotRecord)
    assert record.checks


@pytest.mark.parametrize("robot", ROBOTS)
def test_loading_a_robot(
    benchmark: BenchmarkFixture, tmp_path: Path, robot: str
) -> None:
    """The floor: every engine loads it, and every mesh is read, just once."""
    benchmark.group = robot
    urdf = _source(robot).path
    conversion = convert(urdf, tmp_path / "usd")
    meshes = _mesh_files(conversion.robot)

    def load() -> int:
        triangles = sum(
            len(trimesh.load_mesh(mesh, process=False).faces) for mesh in meshes
        )
        links = _links_in_mujoco(urdf) + _links_in_pybullet(urdf)
        return triangles + links + _bodies_in_usd(conversion.root_layer)

    assert benchmark(load)


def test_starting_a_process(benchmark: BenchmarkFixture, isolation: Isolation) -> None:
    """What a robot's process costs apart from the robot."""
    benchmark.group = "a process"

    ending = benchmark(lambda: isolation.call(abs, -1))

    assert ending


def _mesh_files(robot: Robot) -> tuple[str, ...]:
    shapes = [shape.geometry for link in robot.links for shape in link.shapes]
    paths = [one.path for one in shapes if isinstance(one, MeshFile)]
    return tuple(dict.fromkeys(path for path in paths if path))


def _links_in_mujoco(urdf: Path) -> int:
    """Have MuJoCo read it without meshes, of which it reads few formats."""
    spec = mujoco.MjSpec.from_string(urdf.read_text())
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    return int(spec.compile().nbody)


def _links_in_pybullet(urdf: Path) -> int:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        robot = pybullet.loadURDF(os.fspath(urdf), physicsClientId=client)
        return int(pybullet.getNumJoints(robot, physicsClientId=client))
    finally:
        pybullet.disconnect(client)


def _bodies_in_usd(root_layer: Path) -> int:
    stage = Usd.Stage.Open(str(root_layer))
    root = stage.GetDefaultPrim().GetPath()
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [root])
    return len(found)
