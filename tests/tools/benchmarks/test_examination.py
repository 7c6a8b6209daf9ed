"""Time of examining robots, relative to loading them in the engines' libraries.

The table groups by robot; the numbers in brackets are the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.benchmarks.engine_loading import load_once
from urdf_usd.conformance.execution.engine_set import select_engines
from urdf_usd.conformance.execution.examination.assignment import Assignment
from urdf_usd.conformance.execution.examination.robot import examine_isolated
from urdf_usd.conformance.execution.tasks import InstalledEngine
from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.corpus import RobotSource, resolve_robot
from urdf_usd.reports.records.record import RobotRecord

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


# Few links and large meshes; many links and small meshes; no meshes at all.
ROBOTS = ("kuka_iiwa/model.urdf", "r2d2.urdf", "cartpole.urdf")

pytestmark = pytest.mark.benchmark_run


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """A pool whose workers have imported all libraries."""
    with WorkerPool() as started:
        started.call(abs, -1)
        yield started


@pytest.fixture(scope="module")
def engines(pool: WorkerPool) -> tuple[InstalledEngine, ...]:
    """All installed engines."""
    return select_engines(pool)


def _source(robot: str) -> RobotSource:
    source = resolve_robot(f"pybullet:{robot}")
    assert isinstance(source, RobotSource)
    return source


@pytest.mark.parametrize("robot", ROBOTS)
def test_examining_a_robot(
    benchmark: BenchmarkFixture,
    pool: WorkerPool,
    engines: tuple[InstalledEngine, ...],
    tmp_path: Path,
    robot: str,
) -> None:
    """The subject: from file to record, in a worker process."""
    benchmark.group = robot
    assignment = Assignment(_source(robot), tmp_path, ConvertOptions(), engines)

    record = benchmark(lambda: examine_isolated(pool, assignment, {}))

    assert isinstance(record, RobotRecord)
    assert record.checks


@pytest.mark.parametrize("robot", ROBOTS)
def test_loading_a_robot(benchmark: BenchmarkFixture, tmp_path: Path, robot: str) -> None:
    """Lower bound: every engine loads it, and every mesh is read, once."""
    benchmark.group = robot
    urdf = _source(robot).path
    conversion = convert(urdf, tmp_path / "usd")

    assert benchmark(lambda: load_once(urdf, conversion))


def test_starting_a_process(benchmark: BenchmarkFixture, pool: WorkerPool) -> None:
    """The cost of a robot's process without the robot."""
    benchmark.group = "a process"

    ending = benchmark(lambda: pool.call(abs, -1))

    assert ending
