"""Signals interrupt a run where no lock is held, and nowhere else."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import pytest

from urdf_usd.conformance.execution.interruption import DeferredInterrupts

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "pthread_sigmask"), reason="the system has no signal masks"
)


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_signal_is_held_back_until_the_next_wait() -> None:
    """Statements after the signal are executed, whatever locks they take."""
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
    """Also if another thread sends it, which holds it back itself."""

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


def test_former_mask_is_restored() -> None:
    """A caller may hold back signals of its own."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with DeferredInterrupts():
        inside = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    assert signal.SIGINT in inside
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


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
