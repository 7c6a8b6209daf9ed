"""Time of conversions, relative to a lower bound.

Every converter reads the bytes of its files and writes a crate file with the arrays of
its meshes. The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pybullet_data
import pytest
from pxr import Sdf

from tests.tools.benchmarks.generated import write_mesh_robot
from urdf_usd.converter import convert, read_urdf
from urdf_usd.converter.robot.model import MeshFile

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

DATA = Path(pybullet_data.getDataPath())
# Many binary STL files; one large one; OBJ; COLLADA.
ROBOTS = ("kuka_iiwa/model.urdf", "sheets", "franka_panda/panda.urdf", "duck")
IMPORTS = "import numpy; from pxr import Usd, UsdGeom, UsdPhysics, UsdShade"

pytestmark = pytest.mark.benchmark_run


def _robot(name: str, folder: Path) -> Path:
    if name == "sheets":
        return write_mesh_robot(folder, 500_000)
    if name == "duck":
        path = folder / "duck.urdf"
        mesh = f'<geometry><mesh filename="{DATA / "duck.dae"}"/></geometry>'
        path.write_text(f'<robot name="duck"><link name="a"><visual>{mesh}</visual></link></robot>')
        return path
    return DATA / name


def _mesh_files(robot: Path) -> list[Path]:
    geometries = [shape.geometry for link in read_urdf(robot).robot.links for shape in link.shapes]
    paths = [one.path for one in geometries if isinstance(one, MeshFile)]
    return [Path(path) for path in dict.fromkeys(paths) if path]


@pytest.mark.parametrize("name", ROBOTS)
def test_converting(benchmark: BenchmarkFixture, tmp_path: Path, name: str) -> None:
    benchmark.group = name
    robot = _robot(name, tmp_path)
    numbers = iter(range(1_000_000))

    conversion = benchmark(lambda: convert(robot, tmp_path / f"usd{next(numbers)}"))

    assert Path(conversion.root_layer).is_file()


@pytest.mark.parametrize("name", ROBOTS)
def test_copying_the_bytes(benchmark: BenchmarkFixture, tmp_path: Path, name: str) -> None:
    benchmark.group = name
    robot = _robot(name, tmp_path)
    files = _mesh_files(robot)
    root_layer = convert(robot, tmp_path / "usd").root_layer
    library = next(root_layer.parent.rglob("GeometryLibrary.usdc"))
    finished = Sdf.Layer.OpenAsAnonymous(str(library))

    def move() -> int:
        read = sum(len(path.read_bytes()) for path in files)
        copy = tmp_path / "copy.usdc"
        copy.unlink(missing_ok=True)
        finished.Export(str(copy))
        return read

    assert benchmark(move)


@pytest.mark.parametrize("subject", ["convert", "imports alone"])
def test_starting_cold(benchmark: BenchmarkFixture, tmp_path: Path, subject: str) -> None:
    benchmark.group = "cold start"
    numbers = iter(range(1_000_000))
    program = Path(sys.executable).parent / "urdf-usd"

    def start() -> int:
        out = str(tmp_path / str(next(numbers)))
        convert_robot = (program, "convert", str(DATA / "cartpole.urdf"), out)
        command = convert_robot if subject == "convert" else (sys.executable, "-c", IMPORTS)
        return subprocess.run(command, check=True, capture_output=True).returncode

    assert benchmark(start) == 0
