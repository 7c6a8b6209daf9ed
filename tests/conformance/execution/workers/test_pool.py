"""The workers of one robot: crashes, requests, and what is left of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.misbehaviour import CRASHES, crash, unreadable
from tests.conformance.runs import wait_until
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers import context
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """One pool for all tests."""
    with WorkerPool(memory=1024) as opened:
        yield opened


def _reasons(*endings: object) -> list[object]:
    return [e.reason if isinstance(e, Crashed) else e.value for e in endings]  # type: ignore[attr-defined]  # else Completed


@pytest.mark.parametrize("kind", ["exit-0", "panic", "interrupt", "abort"])
def test_crash_of_a_step_costs_its_own_answer(pool: WorkerPool, kind: str) -> None:
    """The next step has a process again."""
    with RobotWorkers(pool) as workers:
        endings = workers.call(crash, kind), workers.call(abs, -2)

        assert _reasons(*endings) == [CRASHES[kind][1], 2]
        assert workers.crashed


def test_spawned_process_needs_no_fork_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts when a process is forked; neither imports the working directory."""
    loaded: list[Sequence[str]] = []
    start_loading = context.start_loading

    def noted(modules: Sequence[str] = context.FOR_ROBOTS) -> None:
        loaded.append(modules)
        start_loading(modules)

    monkeypatch.setattr(context, "start_loading", noted)
    (tmp_path / "traceback.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with WorkerPool(memory=1024) as pool:
        spawned = pool.call(abs, -2, spawned=True)
        crashed = pool.call(crash, "exit-3", spawned=True)
        before = list(loaded)
        forked = pool.call(abs, -3)

    assert _reasons(spawned, crashed, forked) == [2, CRASHES["exit-3"][1], 3]
    assert before == []
    assert loaded == [context.FOR_ROBOTS]


def test_steps_share_a_process_and_requests_have_their_own(pool: WorkerPool) -> None:
    """One for each purpose; the reference engine is a step."""
    with RobotWorkers(pool) as workers:
        requests = [workers.request(purpose, os.getpid) for purpose in (None, "a", "a", "b")]
        step, *others = _reasons(*(result() for result in requests))

        assert step == _reasons(workers.call(os.getpid))[0]
        assert others[0] == others[1] != others[2]
        assert step not in others
        assert not workers.crashed


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("kind", ["abort", "hard-exit-0", "exit-3", "allocate"])
def test_crash_of_a_request_costs_its_own_answer(
    pool: WorkerPool, kind: str, *, parallel: bool
) -> None:
    """Further requests of the same purpose, and those of others, succeed."""
    with RobotWorkers(pool, parallel=parallel) as workers:
        first = workers.request("first", crash, kind)
        second = workers.request("second", abs, -1)
        assert _reasons(first(), second()) == [CRASHES[kind][1], 1]
        assert _reasons(workers.request("first", abs, -2)()) == [2]
        (unread,) = _reasons(workers.request("second", unreadable)())
        assert str(unread).startswith("the answer cannot be read: ValueError: ")
        assert workers.crashed


def test_parallel_requests_run_at_the_same_time(pool: WorkerPool, tmp_path: Path) -> None:
    """Each waits for the other, and a step for both."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    with RobotWorkers(pool, parallel=True) as workers:
        requests = (
            workers.request("one", _meet, one, other),
            workers.request("other", _meet, other, one),
        )
        assert _reasons(workers.call(_meet, one, other)) == [True]
        assert _reasons(*(result() for result in requests)) == [True, True]


def test_step_begins_when_it_is_requested(pool: WorkerPool, tmp_path: Path) -> None:
    """Unless it is deferred until its result is needed; steps are served in turn."""
    one, other = tmp_path / "one", tmp_path / "other"
    with RobotWorkers(pool, parallel=True) as workers:
        workers.request(None, Path.touch, one)
        deferred = workers.request(None, Path.touch, other, at_once=False)

        assert _reasons(workers.call(Path.is_file, one)) == [True]
        assert _reasons(workers.call(Path.is_file, other)) == [False]
        deferred()
        assert other.is_file()


def test_requests_of_a_purpose_are_served_in_turn(pool: WorkerPool) -> None:
    """Also if one of them ends the process."""
    with RobotWorkers(pool, parallel=True) as workers:
        requests = (
            workers.request("one", crash, "abort"),
            workers.request("one", os.getpid),
            workers.request("one", os.getpid),
        )
        crashed, first, second = _reasons(*(result() for result in requests))

    assert crashed == CRASHES["abort"][1]
    assert first == second


def _meet(own: str, other: str) -> bool:
    Path(own).touch()
    while not Path(other).exists():
        time.sleep(0.01)
    return True


def test_requests_that_nobody_waits_for_are_ended(pool: WorkerPool, tmp_path: Path) -> None:
    """As after a robot whose conversion failed."""
    with RobotWorkers(pool, parallel=True) as workers:
        workers.request("endless", _meet, str(tmp_path / "begun"), "/nowhere")
        wait_until((tmp_path / "begun").exists)
        folder = workers.folder
        assert folder.is_dir()

    assert not folder.exists()


def test_requests_that_have_not_begun_are_dropped(pool: WorkerPool, tmp_path: Path) -> None:
    """No process is started for them."""
    with RobotWorkers(pool, parallel=True) as workers:
        workers.request("one", _meet, str(tmp_path / "begun"), "/nowhere")
        workers.request("one", _touch, str(tmp_path / "next"))
        wait_until((tmp_path / "begun").exists)

    assert not (tmp_path / "next").exists()


def _touch(file: str) -> None:
    Path(file).touch()


def test_closing_the_pool_cancels_requests(tmp_path: Path) -> None:
    """In the thread of the robot."""
    begun = tmp_path / "begun"

    def wait(pool: WorkerPool) -> object:
        with RobotWorkers(pool, parallel=True) as workers:
            return workers.request("endless", _meet, str(begun), "/nowhere")()

    with ThreadPoolExecutor(1) as threads:
        with WorkerPool() as pool:
            waiting = threads.submit(wait, pool)
            wait_until(begun.exists)
        with pytest.raises(CancelledError):
            waiting.result()


def test_worker_serves_several_robots(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small number, which bounds what it leaks."""
    monkeypatch.setattr(f"{WorkerPool.__module__}._MOST_ROBOTS", 2)
    processes: list[object] = []
    for _ in range(4):
        with RobotWorkers(pool) as workers:
            processes.extend(_reasons(workers.request("kept", os.getpid)()))

    first, second, third, fourth = processes
    assert first == second != third == fourth


def test_worker_with_much_memory_ends_with_its_robot(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a robot leaves in its process is bounded; small robots share one."""
    first, peak = _filled(pool, 0)
    monkeypatch.setattr(f"{WorkerPool.__module__}._MOST_MEMORY", peak + 100)
    second, _ = _filled(pool, 300)
    third, _ = _filled(pool, 0)

    assert first == second != third


def _filled(pool: WorkerPool, mebibytes: int) -> tuple[int, int]:
    """Return number and memory [MiB] of a robot's process, after filling some."""
    with RobotWorkers(pool) as workers:
        ending = workers.request("large", _fill, mebibytes)()
    assert isinstance(ending, Completed)
    return ending.value, ending.memory


def _fill(mebibytes: int) -> int:
    assert len(b"1" * (mebibytes << 20)) == mebibytes << 20
    return os.getpid()


@pytest.fixture
def used(pool: WorkerPool) -> str:
    """Return the purpose of a worker that has served a robot."""
    with RobotWorkers(pool) as workers:
        assert _reasons(workers.request("used", _crash_if_used, "abort")()) == [1]
    return "used"


def _crash_if_used(kind: str) -> int:
    """Crash in a process that has called this before."""
    _CALLS.append(kind)
    if len(_CALLS) > 1:
        crash(kind)
    return len(_CALLS)


_CALLS: list[str] = []


@pytest.mark.parametrize("kind", ["abort", "exit-3", "memory-error"])
def test_crash_after_other_robots_is_repeated_in_a_new_process(
    pool: WorkerPool, used: str, kind: str
) -> None:
    """The robots before may be the reason."""
    with RobotWorkers(pool) as workers:
        assert _reasons(workers.request(used, _crash_if_used, kind)()) == [1]
        assert not workers.crashed


def test_crash_in_the_new_process_counts(pool: WorkerPool, used: str) -> None:
    """It is the robot's own."""
    with RobotWorkers(pool) as workers:
        (reason,) = _reasons(workers.request(used, crash, "abort")())

        assert reason == CRASHES["abort"][1]
        assert workers.crashed


def test_cancelled_worker_is_not_kept(pool: WorkerPool, used: str, tmp_path: Path) -> None:
    """The next robot has one that runs."""
    with RobotWorkers(pool, parallel=True) as workers:
        workers.request(used, _meet, str(tmp_path / "begun"), "/nowhere")
        wait_until((tmp_path / "begun").exists)
    with RobotWorkers(pool) as workers:
        assert _reasons(workers.request(used, abs, -1)()) == [1]


def test_variables_are_those_of_the_robot(pool: WorkerPool) -> None:
    """Besides those of this process."""
    with RobotWorkers(pool, variables={"ROS_PACKAGE_PATH": "/robot"}) as workers:
        endings = [workers.call(os.getenv, name) for name in ("ROS_PACKAGE_PATH", "PATH")]

        assert _reasons(*endings) == ["/robot", os.environ["PATH"]]
