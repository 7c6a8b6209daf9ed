"""Runs on a real Dask scheduler with real workers, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.conformance.runs import Run, tree, wait_until, write_mesh, write_robot

pytest.importorskip("distributed")
_ROBOTS = ("first", "second", "third", "fourth")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
_Start: TypeAlias = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, with the hostile engine."""
    return Run(tmp_path)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all of its descendants."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def start(tmp_path: Path, run: Run) -> Iterator[_Start]:
    """Starts a process of Dask; all are killed at the end."""
    processes = []

    def started(*words: str, **variables: str) -> subprocess.Popen[bytes]:
        settings = {"DASK_TEMPORARY_DIRECTORY": str(tmp_path / "dask")}
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words, "--host", "127.0.0.1", "--no-dashboard"],
            env=run.environment | settings | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield started
    for process in processes:
        _kill(process)


@pytest.fixture
def address(tmp_path: Path, start: _Start) -> str:
    """That of a scheduler without workers."""
    file = tmp_path / "scheduler.json"
    start("scheduler", "--scheduler-file", str(file), "--port", "0")
    wait_until(lambda: file.exists() and file.read_text().endswith("}"))
    return str(json.loads(file.read_text())["address"])


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with four robots."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in _ROBOTS:
        write_robot(folder, name)
    return folder


def test_robots_of_a_killed_worker_are_rerun_and_the_run_is_resumed(
    run: Run, start: _Start, address: str, robots: Path, tmp_path: Path
) -> None:
    """Another worker examines them; the results are those of a local run."""
    linger, worker = tmp_path / "linger", ("worker", address, "--nthreads", "1")
    linger.mkdir()
    # One worker has a nanny, which makes it a daemon; one has none.
    doomed = start(*worker, LINGER=str(linger), PLACE="doomed")
    start(*worker, "--no-nanny", LINGER=str(linger), PLACE="other")
    with subprocess.Popen(
        run.command(f"dir:{robots}", "--scheduler", address),
        env=run.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(lambda: len({f.name.split()[1] for f in linger.iterdir()}) == 2)
            (begun,) = (f.name.split()[0] for f in linger.glob("* doomed"))
            _kill(doomed)
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
    again = run(f"dir:{robots}", "--scheduler", address, "--resume")
    assert again.returncode == 0, again.stderr
    assert run.kept(*_ROBOTS) == list(_ROBOTS[1:])
    there = tree(run.out)
    run.out.rename(tmp_path / "there")
    run(f"dir:{robots}")
    assert tree(run.out) == there


@pytest.mark.parametrize("nowhere", ["nonsense://127.0.0.1:1", "tcp://127.0.0.1:1", "nowhere"])
def test_unreachable_scheduler_changes_no_file(run: Run, robots: Path, nowhere: str) -> None:
    (run.out / ".urdf-usd-run").mkdir(parents=True)
    (run.out / "summary.md").write_text("of a former run")
    before = tree(run.out)

    refused = run(f"dir:{robots}", "--scheduler", nowhere)

    assert refused.returncode == 2
    assert f"there is no scheduler at {nowhere}: " in refused.stderr
    assert "Traceback" not in refused.stderr
    assert tree(run.out) == before


def test_workers_of_another_version_are_refused(
    run: Run, start: _Start, address: str, robots: Path, tmp_path: Path
) -> None:
    metadata = tmp_path / "older" / "numpy-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.1\n")
    path = os.pathsep.join([str(metadata.parent), run.environment["PYTHONPATH"]])
    start("worker", address, "--nthreads", "1", PYTHONPATH=path)

    refused = run(f"dir:{robots}", "--scheduler", address)

    assert refused.returncode == 2
    assert "has numpy 0.1, and this machine" in refused.stderr
    assert not run.out.exists()
