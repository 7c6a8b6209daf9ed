"""Interruption of a run where no lock is held.

Python raises ``KeyboardInterrupt`` between any two instructions of the main thread,
also between acquiring a lock and the statement that will release it. Threads that need
that lock then wait for ever, and so does the program, which waits for its threads.
"""

from __future__ import annotations

import signal
from concurrent.futures import Future
from queue import SimpleQueue
from types import TracebackType
from typing import Self, TypeVar

_T = TypeVar("_T")

_SIGNALS = {
    number
    for number in signal.Signals
    if number.name in {"SIGINT", "SIGTERM", "SIGHUP"}
}


class DeferredInterrupts:
    """Holds signals back within the block, except while :meth:`get` waits.

    Threads that are started in the block inherit this, so that signals reach the thread
    that waits. On systems without signal masks nothing is held back.
    """

    def __init__(self) -> None:
        self._former: set[signal.Signals | int] = set()

    def __enter__(self) -> Self:
        self._former = _hold()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let signals through again, as before."""
        _restore(self._former)

    def get(self, queue: SimpleQueue[_T], timeout: float | None = None) -> _T:
        """Wait for the next item of a queue.

        Args:
            queue: Filled by other threads.
            timeout: How long to wait [s].

        Raises:
            Empty: There is no item in time.
            KeyboardInterrupt: A signal came, now or since the last call.
        """
        try:
            _restore(self._former)
            return queue.get(timeout=timeout)
        finally:
            _hold()

    def result(self, future: Future[_T]) -> _T:
        """Wait for the result of a call in another thread.

        Raises:
            KeyboardInterrupt: As :meth:`get`.
        """
        done: SimpleQueue[Future[_T]] = SimpleQueue()
        future.add_done_callback(done.put)
        return self.get(done).result()


def _hold() -> set[signal.Signals | int]:
    if not hasattr(signal, "pthread_sigmask"):
        return set()
    return signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _restore(mask: set[signal.Signals | int]) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
