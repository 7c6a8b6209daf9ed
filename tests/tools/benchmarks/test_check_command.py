"""Time of the command ``check``, relative to loading the robot once.

The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pybullet_data
import pytest

from urdf_usd.converter import convert

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

DATA = Path(pybullet_data.getDataPath())
# OBJ and STL meshes; many links; no meshes.
ROBOTS = ("kuka_iiwa/model.urdf", "r2d2.urdf", "cartpole.urdf")
# MuJoCo reads no COLLADA.
LOADING = """
import sys
import lxml.etree, mujoco, numpy, pybullet
from pxr import Usd, UsdPhysics
urdf, usd = sys.argv[1:]
lxml.etree.parse(urdf)
try:
    mujoco.MjModel.from_xml_path(urdf)
except ValueError:
    pass
pybullet.connect(pybullet.DIRECT)
pybullet.loadURDF(urdf, flags=pybullet.URDF_USE_INERTIA_FROM_FILE)
stage = Usd.Stage.Open(usd)
list(stage.Traverse())
"""

pytestmark = [pytest.mark.benchmark_run, pytest.mark.parametrize("robot", ROBOTS)]


@pytest.fixture
def pair(tmp_path: Path, robot: str) -> tuple[str, str]:
    """A URDF and its USD."""
    urdf = DATA / robot
    return str(urdf), str(convert(urdf, tmp_path / "usd").root_layer)


def _time(benchmark: BenchmarkFixture, *command: str) -> None:
    ended = benchmark(lambda: subprocess.run(command, capture_output=True, check=False))

    assert ended.returncode == 0, ended.stderr.decode()


def test_checking(benchmark: BenchmarkFixture, pair: tuple[str, str], robot: str) -> None:
    """The subject: the whole command, with all installed engines."""
    benchmark.group = f"check of {robot}"
    _time(benchmark, str(Path(sys.executable).with_name("urdf-usd")), "check", *pair)


def test_loading_in_one_process(
    benchmark: BenchmarkFixture, pair: tuple[str, str], robot: str
) -> None:
    """The reference: import the libraries, and load the robot in each."""
    benchmark.group = f"check of {robot}"
    _time(benchmark, sys.executable, "-c", LOADING, *pair)
