"""Time of conversions and of reading meshes: the numbers in brackets of the table are ratios.

A conversion is compared with writing the crate file of its meshes, which every converter does, and
reading a mesh with trimesh.
"""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pybullet_data
import pytest
import trimesh
from pxr import Sdf

from urdf_usd.converter import convert
from urdf_usd.converter.meshes.read import read_mesh

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

DATA = Path(pybullet_data.getDataPath())
IMPORTS = "import numpy; from pxr import Usd, UsdGeom, UsdPhysics, UsdShade"
_TRIANGLES = 20 * 4**6

# Classes of pycollada, which trimesh uses, still use numpy's matrices.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


# Many binary STL files; OBJ; primitive shapes alone.
@pytest.mark.parametrize("name", ["kuka_iiwa/model.urdf", "franka_panda/panda.urdf", "r2d2.urdf"])
@pytest.mark.parametrize("subject", ["convert", "write the crate file"])
def test_converting(benchmark: BenchmarkFixture, tmp_path: Path, name: str, subject: str) -> None:
    benchmark.group = name
    asset = convert(DATA / name, tmp_path / "usd").root_layer
    finished = Sdf.Layer.OpenAsAnonymous(str(next(asset.parent.rglob("GeometryLibrary.usdc"))))
    numbers = count()

    def run() -> Path:
        folder = tmp_path / f"{next(numbers)}"
        if subject == "convert":
            return convert(DATA / name, folder).root_layer
        folder.mkdir()
        finished.Export(str(folder / "copy.usdc"))
        return folder / "copy.usdc"

    assert benchmark(run).is_file()


@pytest.mark.parametrize("subject", ["convert", "imports alone"])
def test_starting_cold(benchmark: BenchmarkFixture, tmp_path: Path, subject: str) -> None:
    benchmark.group = "cold start"
    robot, numbers = str(DATA / "cartpole.urdf"), count()

    def start() -> int:
        command = ["-m", "urdf_usd", "convert", robot, str(tmp_path / f"{next(numbers)}")]
        line = (sys.executable, *(command if subject == "convert" else ["-c", IMPORTS]))
        return subprocess.run(line, check=True, capture_output=True).returncode

    assert benchmark(start) == 0


@pytest.mark.parametrize("file_type", ["stl", "stl_ascii", "obj", "dae"])
@pytest.mark.parametrize("reader", ["urdf-usd", "trimesh"])
def test_reading_a_mesh(
    benchmark: BenchmarkFixture, tmp_path: Path, file_type: str, reader: str
) -> None:
    benchmark.group = file_type
    kind = file_type.removesuffix("_ascii")
    data: Any = trimesh.creation.icosphere(6).export(file_type=file_type)
    content = data if isinstance(data, bytes) else data.encode()
    path = tmp_path / f"sphere.{kind}"
    path.write_bytes(content)

    if reader == "trimesh":
        assert len(benchmark(lambda: trimesh.load_mesh(BytesIO(content), kind)).faces) == _TRIANGLES
    else:
        assert len(benchmark(read_mesh, path).face_counts) == _TRIANGLES
