"""Signals interrupt a run only while it waits and holds no lock."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import pytest

from urdf_usd.conformance.execution.interruption import DeferredInterrupts


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_signal_is_deferred_to_the_next_wait() -> None:
    """Statements after the signal are executed, including those that take locks."""
    executed = []

    def go() -> None:
        with DeferredInterrupts() as interrupts:
            _interrupt()
            executed.append("all")
            interrupts.get(SimpleQueue())

    with pytest.raises(KeyboardInterrupt):
        go()
    assert executed == ["all"]


def test_signal_ends_a_wait() -> None:
    """Including a signal that another thread sends."""

    def go() -> None:
        with DeferredInterrupts() as interrupts, ThreadPoolExecutor(1) as threads:
            threads.submit(_interrupt)
            interrupts.get(SimpleQueue())

    with pytest.raises(KeyboardInterrupt):
        go()


def test_cleanup_after_a_signal_is_not_interrupted() -> None:
    """A second signal is raised after the block."""
    executed = []

    def go() -> None:
        with DeferredInterrupts() as interrupts:
            _interrupt()
            try:
                interrupts.get(SimpleQueue())
            except KeyboardInterrupt:
                _interrupt()
                executed.append("cleanup")
        executed.append("more")

    with pytest.raises(KeyboardInterrupt):
        go()
    assert executed == ["cleanup"]


def test_former_handlers_are_restored() -> None:
    """Those of the caller."""
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupts():
        inside = signal.getsignal(signal.SIGINT)

    assert inside is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_ignored_signal_stays_ignored() -> None:
    """For example SIGHUP under nohup."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with DeferredInterrupts() as interrupts:
            _interrupt()
            with pytest.raises(Empty):
                interrupts.get(SimpleQueue(), timeout=0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_defer_no_signals() -> None:
    """Only the main thread handles signals."""

    def waited() -> int:
        queue: SimpleQueue[int] = SimpleQueue()
        queue.put(7)
        with DeferredInterrupts() as interrupts:
            return interrupts.get(queue)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(waited).result() == 7


def test_items_and_results_are_returned() -> None:
    """Without a signal it is a queue, and a call in a thread."""
    queue: SimpleQueue[int] = SimpleQueue()
    queue.put(7)
    with DeferredInterrupts() as interrupts, ThreadPoolExecutor(1) as threads:
        assert interrupts.get(queue) == 7
        assert interrupts.result(threads.submit(divmod, 7, 2)) == (3, 1)
        with pytest.raises(Empty):
            interrupts.get(queue, timeout=0)
        with pytest.raises(ZeroDivisionError):
            interrupts.result(threads.submit(divmod, 7, 0))
