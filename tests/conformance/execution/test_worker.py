"""Calls in child processes: limits, crashes, hangs, and the end of the program."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.misbehaviour import (
    CRASHES,
    HANGS,
    LITTER,
    close_files_and_hang,
    crash,
    fault_at_time_limit,
    hang,
    litter,
    stop,
    unpicklable,
)
from tests.conformance.runs import wait_until
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution import worker
from urdf_usd.conformance.execution.worker import OUT_OF_MEMORY, Steps, call, call_all, end_idle
from urdf_usd.conformance.options import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")

_LIMITS = Limits(memory=1024)
_SHORT = Limits(time=0.5, memory=1024)


def _reason(ending: object) -> str:
    assert isinstance(ending, Crashed), ending
    return ending.reason


def _state() -> tuple[str, str | None, bool]:
    return str(Path.cwd()), os.environ.get("PATH"), Path(tempfile.mkdtemp()).is_dir()


def _steps_around(kind: str) -> list[object]:
    """Call a step of a kind between two others, and then one that crashes."""
    steps, function = Steps(), crash if kind in CRASHES else litter
    calls = ("before", _state), ("kind", function, kind), ("after", _state), ("end", crash, "abort")
    return [steps.call(*call) for call in calls]


@pytest.mark.parametrize("kind", [*CRASHES, *LITTER])
def test_step_costs_its_own_answer_and_the_next_finds_the_process_as_it_was(
    kind: str,
) -> None:
    answer = call(_steps_around, kind, limits=_LIMITS)

    assert isinstance(answer, list)
    before, ending, after, crashed = answer
    assert before == after
    assert isinstance(crashed, Crashed)
    assert crashed.output.startswith("printed by native code\n")
    if kind in CRASHES:
        assert _reason(ending).startswith(CRASHES[kind][1])


def _hang_in_step(kind: str) -> object:
    return Steps().call("hang", hang, kind)


def _three_steps() -> int:
    steps = Steps()
    return sum(steps.call(str(number), time.sleep, 0.6) is None for number in range(3))


def test_each_step_has_its_own_time_limit() -> None:
    limits = Limits(time=1.0, memory=1024)
    assert _reason(call(_hang_in_step, "hang-with-lock", limits=limits)) == "no answer after 1 s"
    assert call(_three_steps, limits=limits) == 3


_CALLS = itertools.count(1)


def _crash_if_used(kind: str) -> int:
    """Crash in a process that has called this before."""
    count = next(_CALLS)
    if count > 1:
        Steps().call("crash", crash, kind)
    return count


@pytest.mark.parametrize("kind", ["abort", "hard-exit-0", "memory-error"])
def test_crash_after_other_robots_is_repeated_in_a_new_process(kind: str) -> None:
    assert [call(_crash_if_used, kind, limits=_LIMITS) for _ in range(2)] == [1, 1]


def _allocate(mebibytes: int) -> int:
    assert len(b"1" * (mebibytes << 20)) == mebibytes << 20
    return os.getpid()


def test_worker_with_much_memory_is_replaced() -> None:
    sizes, limits = (10, worker._MOST_MEMORY + 10, 10), Limits(memory=None)
    used = [call(_allocate, size, limits=limits) for size in sizes]
    assert used[0] == used[1] != used[2]


def _meet(folder: str, own: str, other: str) -> str:
    Path(folder, own).touch()
    wait_until(Path(folder, other).exists)
    return own


def test_robots_are_examined_at_the_same_time(tmp_path: Path) -> None:
    names = [(str(tmp_path), "a", "b"), (str(tmp_path), "b", "a")]

    assert dict(call_all(_meet, names, _LIMITS, at_once=2)) == {0: "a", 1: "b"}


@pytest.mark.parametrize("kind", HANGS)
def test_hang_ends_at_time_limit(kind: str) -> None:
    """Whatever holds Python's lock or ignores signals."""
    ending = call(hang, kind, limits=_SHORT)

    assert _reason(ending) == "no answer after 0.5 s"
    assert isinstance(ending, Crashed)
    assert ending.output.startswith("about to hang\nTimeout (" if kind == "hang" else "Timeout (")
    assert ending.output.endswith(" in hang")


def test_stopped_process_is_killed() -> None:
    """It cannot end itself; the time for a process to start is not added to its first call."""
    begin = time.monotonic()
    for used in (False, True):
        end_idle()
        assert not used or call(abs, -1, limits=_LIMITS) == 1
        assert _reason(call(stop, limits=_SHORT)) == "no answer after 0.5 s"
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        # Python 3.13 words it otherwise.
        (unpicklable, ("Can't pickle", "AttributeError: Can't get local object")),
        (close_files_and_hang, ("the process closed its connection",)),
        (len, ("TypeError: ",)),
        (os.abort, ("the process died: SIGABRT",)),
        (fault_at_time_limit, ("no answer after 120 s",)),
    ],
)
def test_call_without_an_answer_is_a_crash(
    function: Callable[[], object], reason: tuple[str, ...]
) -> None:
    assert any(one in _reason(call(function, limits=_LIMITS)) for one in reason)


def test_process_has_the_environment_and_no_module_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traceback.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/somewhere")
    end_idle()
    for _ in ("in a new process", "in one that was used"):
        assert call(os.getenv, "ROS_PACKAGE_PATH", limits=_LIMITS) == "/somewhere"
        assert call(os.getcwd, limits=_LIMITS) == str(tmp_path)


def test_memory_limit_counts_what_is_allocated_later() -> None:
    assert isinstance(call(_allocate, 64, limits=_LIMITS), int)
    assert _reason(call(_allocate, 2048, limits=_LIMITS)) == OUT_OF_MEMORY
    assert isinstance(call(_allocate, 2048, limits=Limits(memory=None)), int)


def test_idle_process_serves_the_next_call() -> None:
    assert call(os.getpid) == call(os.getpid)
