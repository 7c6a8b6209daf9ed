"""Runs on a real Dask scheduler with real workers, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.runs import Run, tree, wait_until, write_mesh, write_robot

pytest.importorskip("distributed")
_ROBOTS = ("first", "second", "third", "fourth")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")


class _Cluster:
    """A scheduler and workers on this machine."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = ""

    def start(self) -> None:
        """Start the scheduler and wait for its address."""
        self._folder.mkdir()
        place = self._folder / "scheduler.json"
        self._start("scheduler", "--scheduler-file", str(place), "--port", "0")
        wait_until(lambda: _is_json(place))
        self.address = json.loads(place.read_text())["address"]

    def add_worker(self, name: str, *options: str, **variables: str) -> None:
        """Start a worker with one thread."""
        self._start("worker", self.address, "--nthreads", "1", *options, name=name, **variables)

    def _start(self, what: str, *options: str, name: str = "", **variables: str) -> None:
        name = name or what
        settings = {"DASK_TEMPORARY_DIRECTORY": str(self._folder)}
        program = [sys.executable, "-m", "dask", what]
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*program, "--host", "127.0.0.1", "--no-dashboard", *options],
                env=self._environment | settings | variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Kill a process and all of its descendants."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()


def _is_json(file: Path) -> bool:
    """Return whether a file exists and has been written completely."""
    try:
        json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    return True


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, with the hostile engine."""
    return Run(tmp_path)


@pytest.fixture
def cluster(tmp_path: Path, run: Run) -> Iterator[_Cluster]:
    """A cluster without workers."""
    cluster = _Cluster(tmp_path / "dask", run.environment)
    try:
        cluster.start()
        yield cluster
    finally:
        for name, process in cluster.processes.items():
            if process.poll() is None:
                cluster.kill(name)


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with four robots."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in _ROBOTS:
        write_robot(folder, name)
    return folder


def test_robots_of_a_killed_worker_are_rerun_and_the_run_is_resumed(
    run: Run, cluster: _Cluster, robots: Path, tmp_path: Path
) -> None:
    """Another worker examines them; the results are those of a local run."""
    linger = tmp_path / "linger"
    linger.mkdir()
    # One worker has a nanny, which makes it a daemon; one has none.
    cluster.add_worker("doomed", LINGER=str(linger), PLACE="doomed")
    cluster.add_worker("other", "--no-nanny", LINGER=str(linger), PLACE="other")
    process = subprocess.Popen(
        run.command(f"dir:{robots}", "--scheduler", cluster.address),
        env=run.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: len({f.name.split()[1] for f in linger.iterdir()}) == 2)
        (begun,) = (f.name.split()[0] for f in linger.glob("* doomed"))
        cluster.kill("doomed")
        (linger / "go").touch()
        _, stderr = process.communicate()
    finally:
        process.kill()

    assert process.returncode == 0, stderr
    assert "Traceback" not in stderr
    # The robot of the killed worker has been started by the other worker.
    assert (linger / f"{begun} other").exists()
    there = tree(run.out)
    assert len([name for name in there if name.startswith("results/")]) == 4
    assert json.loads(there["summary.json"])["complete"] is True
    run.mark(*_ROBOTS)
    write_mesh(robots / "first.stl", 2.0)
    again = run(f"dir:{robots}", "--scheduler", cluster.address, "--resume")
    assert again.returncode == 0, again.stderr
    assert run.kept(*_ROBOTS) == list(_ROBOTS[1:])
    there = tree(run.out)
    run.out.rename(tmp_path / "there")
    run(f"dir:{robots}")
    assert tree(run.out) == there


@pytest.mark.parametrize("address", ["nonsense://127.0.0.1:1", "tcp://127.0.0.1:1", "nowhere"])
def test_unreachable_scheduler_changes_no_file(run: Run, robots: Path, address: str) -> None:
    run.out.mkdir()
    (run.out / ".urdf-usd-run").mkdir()
    (run.out / "summary.md").write_text("of a former run")
    before = tree(run.out)

    refused = run(f"dir:{robots}", "--scheduler", address)

    assert refused.returncode == 2
    assert f"there is no scheduler at {address}: " in refused.stderr
    assert "Traceback" not in refused.stderr
    assert tree(run.out) == before


def test_workers_of_another_version_are_refused(
    run: Run, cluster: _Cluster, robots: Path, tmp_path: Path
) -> None:
    site = tmp_path / "older"
    metadata = site / "numpy-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.1\n")
    path = os.pathsep.join([str(site), run.environment["PYTHONPATH"]])
    cluster.add_worker("older", PYTHONPATH=path)

    refused = run(f"dir:{robots}", "--scheduler", cluster.address)

    assert refused.returncode == 2
    assert "has numpy 0.1, and this machine" in refused.stderr
    assert not run.out.exists()
