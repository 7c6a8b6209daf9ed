"""Time of reading meshes, relative to trimesh on the same bytes.

The table groups by format; the numbers in brackets are the ratios.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trimesh

from tests.tools.benchmarks.generated import sheet
from urdf_usd.converter.meshes.read import read_mesh

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

FORMATS = ("stl", "stl_ascii", "obj", "dae")

pytestmark = [
    pytest.mark.benchmark_run,
    # Classes of pycollada, which trimesh uses, still use numpy's matrices.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]


@pytest.fixture(scope="module", params=FORMATS)
def mesh_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a wavy sheet of 80 000 triangles; the binary STL has 4 MB."""
    file_type: str = request.param
    points, faces = sheet(200)
    data = trimesh.Trimesh(points, faces, process=False).export(file_type=file_type)
    suffix = file_type.removesuffix("_ascii")
    assert not isinstance(data, dict)
    path = tmp_path_factory.mktemp("meshes") / f"{file_type}.{suffix}"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_reading_a_mesh(benchmark: BenchmarkFixture, mesh_file: Path) -> None:
    benchmark.group = mesh_file.stem
    mesh = benchmark(read_mesh, mesh_file)

    assert len(mesh.face_counts) == 80_000


def test_reading_a_mesh_with_trimesh(benchmark: BenchmarkFixture, mesh_file: Path) -> None:
    benchmark.group = mesh_file.stem
    data = mesh_file.read_bytes()
    kind = mesh_file.suffix.removeprefix(".")

    mesh = benchmark(lambda: trimesh.load_mesh(BytesIO(data), file_type=kind))

    assert len(mesh.faces) == 80_000
