"""Time of examining robots, relative to loading them in the engines' libraries.

The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.benchmarks.engine_loading import load_once
from urdf_usd.conformance.execution.engines import InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter import convert
from urdf_usd.corpus import RobotSource, resolve_robot
from urdf_usd.reports.records.record import RobotRecord

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


# Few links and large meshes; many links and small meshes; no meshes at all.
ROBOTS = ("kuka_iiwa/model.urdf", "r2d2.urdf", "cartpole.urdf")

pytestmark = pytest.mark.benchmark_run


@pytest.fixture(scope="module")
def pool() -> Iterator[Workers]:
    """A pool whose workers have imported all libraries."""
    with Workers() as started:
        started.call(abs, -1)
        yield started


@pytest.fixture(scope="module")
def engines(pool: Workers) -> tuple[InstalledEngine, ...]:
    """All installed engines."""
    return select_engines(pool)


def _source(robot: str) -> RobotSource:
    source = resolve_robot(f"pybullet:{robot}")
    assert isinstance(source, RobotSource)
    return source


@pytest.mark.parametrize("robot", ROBOTS)
def test_examining_a_robot(
    benchmark: BenchmarkFixture,
    pool: Workers,
    engines: tuple[InstalledEngine, ...],
    tmp_path: Path,
    robot: str,
) -> None:
    """The subject: from file to record, in a worker process."""
    benchmark.group = robot
    job = Job(_source(robot), engines, folder=tmp_path)

    record = benchmark(lambda: examine_in_worker(pool, job))

    assert isinstance(record, RobotRecord)
    assert record.checks


@pytest.mark.parametrize("robot", ROBOTS)
def test_loading_a_robot(benchmark: BenchmarkFixture, tmp_path: Path, robot: str) -> None:
    """Lower bound: every engine loads it, and every mesh is read, once."""
    benchmark.group = robot
    urdf = _source(robot).path
    conversion = convert(urdf, tmp_path / "usd")

    assert benchmark(lambda: load_once(urdf, conversion))


def test_starting_a_process(benchmark: BenchmarkFixture, pool: Workers) -> None:
    """The cost of a robot's process without the robot."""
    benchmark.group = "a process"

    ending = benchmark(lambda: pool.call(abs, -1))

    assert ending
