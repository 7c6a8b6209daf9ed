"""Time of conversions, relative to opening the written asset.

The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pybullet_data
import pytest
from pxr import Usd

from urdf_usd.converter import convert

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

DATA = Path(pybullet_data.getDataPath())
# Few links and large meshes; many links and small meshes; no meshes at all.
ROBOTS = ("kuka_iiwa/model.urdf", "r2d2.urdf", "cartpole.urdf")

pytestmark = [pytest.mark.benchmark_run, pytest.mark.parametrize("robot", ROBOTS)]


def test_converting_a_robot(benchmark: BenchmarkFixture, tmp_path: Path, robot: str) -> None:
    """The subject: URDF and meshes in, USD out."""
    benchmark.group = robot
    numbers = iter(range(1_000_000))

    conversion = benchmark(lambda: convert(DATA / robot, tmp_path / str(next(numbers))))

    assert Path(conversion.root_layer).is_file()


def test_opening_the_asset(benchmark: BenchmarkFixture, tmp_path: Path, robot: str) -> None:
    """The reference: compose the stage and flatten it to text."""
    benchmark.group = robot
    root_layer = str(convert(DATA / robot, tmp_path).root_layer)

    text = benchmark(lambda: Usd.Stage.Open(root_layer).ExportToString())

    assert "Physics" in text
