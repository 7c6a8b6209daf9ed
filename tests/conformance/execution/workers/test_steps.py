"""Work in steps: what is known of a robot when its process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.conformance.misbehaviour import CRASHES, crash, unreadable
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.execution.workers.steps import Interrupted, Steps, run_steps
from urdf_usd.conformance.execution.workers.worker import WorkerPool

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="memory limits are Linux's"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """One pool for all tests."""
    with WorkerPool(memory=1024) as opened:
        yield opened


def _reasons(*endings: object) -> list[object]:
    return [e.reason if isinstance(e, Crashed) else e.value for e in endings]  # type: ignore[attr-defined]  # else Completed


def _crash_in_step(steps: Steps, kind: str) -> str:
    steps.fall_back("before anything")
    steps.call(abs, -1)
    steps.fall_back("in the crash")
    ending = steps.call(crash, kind)
    return str(ending)


@pytest.mark.parametrize("kind", ["abort", "hard-exit-0", "kill"])
def test_end_of_process_returns_the_last_fallback(pool: WorkerPool, kind: str) -> None:
    """With the reason of the end."""
    ending = run_steps(pool, _crash_in_step, kind)

    assert isinstance(ending, Interrupted)
    assert ending.crash.reason == CRASHES[kind][1]
    assert ending.fallback == "in the crash"


def _catch(steps: Steps, kind: str) -> tuple[object, ...]:
    endings = steps.call(crash, kind), steps.call(abs, -2)
    return (*_reasons(*endings), steps.crashed)


@pytest.mark.parametrize("kind", ["exit-0", "panic", "interrupt", "memory-error"])
def test_exception_in_a_step_is_a_crash_of_the_step(
    pool: WorkerPool, kind: str
) -> None:
    """The process goes on."""
    ending = run_steps(pool, _catch, kind)

    assert isinstance(ending, Completed)
    assert ending.value == (CRASHES[kind][1], 2, True)


def _crash_outside(steps: Steps, kind: str) -> None:
    steps.fall_back("of a step")
    steps.call(abs, -1)
    crash(kind)


def test_exception_outside_of_steps_has_no_fallback(pool: WorkerPool) -> None:
    """It is a bug."""
    ending = run_steps(pool, _crash_outside, "panic")

    assert isinstance(ending, Crashed)
    assert ending.reason == CRASHES["panic"][1]


def _request(steps: Steps, kind: str) -> tuple[object, ...]:
    first = steps.request("first", crash, kind)
    second = steps.request("second", os.getpid)
    here = steps.request(None, os.getpid)
    reasons = _reasons(first.result(), second.result(), here.result())
    again = [
        steps.request("first", abs, -2).result(),
        steps.request("second", os.getpid).result(),
        steps.request("second", unreadable).result(),
    ]
    return (*reasons, *_reasons(*again), os.getpid(), steps.crashed)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("kind", ["abort", "hard-exit-0", "exit-3", "allocate"])
def test_crash_of_a_request_costs_its_own_answer(
    pool: WorkerPool, kind: str, *, parallel: bool
) -> None:
    """Requests of one purpose have one process, unless it crashed."""
    ending = run_steps(pool, _request, kind, parallel=parallel)

    assert isinstance(ending, Completed)
    crashed, second, here, two, again, unread, own, any_crash = ending.value
    assert crashed == CRASHES[kind][1]
    assert two == 2
    assert second == again != own == here
    assert str(unread).startswith("the answer cannot be read: ValueError: ")
    assert any_crash is True
