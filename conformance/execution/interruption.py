"""Interruption of a run where no lock is held.

Python raises ``KeyboardInterrupt`` between any two instructions of the main thread,
also between acquiring a lock and the statement that will release it. Threads that need
that lock then wait for ever, and so does the program, which waits for its threads.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Self, TypeAlias, TypeVar

_T = TypeVar("_T")
_Handler: TypeAlias = Callable[[int, FrameType | None], object]

_SIGNALS = [number for number in signal.Signals if number.name in {"SIGINT", "SIGTERM", "SIGHUP"}]


class DeferredInterrupts:
    """Calls the handlers of signals only while :meth:`get` waits, within the block.

    A signal that comes at another time is handled by the next call, or at the end of
    the block. Handlers run in the main thread; in a block of another thread, nothing is
    deferred.
    """

    def __init__(self) -> None:
        self._former: dict[signal.Signals, _Handler] = {}
        self._pending: list[tuple[int, FrameType | None]] = []
        self._waiting = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                # Others are ignored, or end the process immediately.
                if callable(handler):
                    self._former[number] = handler
                    signal.signal(number, self._receive)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the handlers, and handle a signal that is left."""
        for number, handler in self._former.items():
            signal.signal(number, handler)
        if error is None:
            self._handle_pending()

    def get(self, queue: SimpleQueue[_T], timeout: float | None = None) -> _T:
        """Wait for the next item of a queue.

        Args:
            queue: Filled by other threads.
            timeout: How long to wait [s].

        Raises:
            Empty: There is no item in time.
            KeyboardInterrupt: A signal came, now or since the last call.
        """
        self._waiting = True
        try:
            self._handle_pending()
            return queue.get(timeout=timeout)
        finally:
            self._waiting = False

    def result(self, future: Future[_T]) -> _T:
        """Wait for the result of a call in another thread.

        Raises:
            KeyboardInterrupt: As :meth:`get`.
        """
        done: SimpleQueue[Future[_T]] = SimpleQueue()
        future.add_done_callback(done.put)
        return self.get(done).result()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            self._former[signal.Signals(number)](number, frame)
        else:
            self._pending.append((number, frame))

    def _handle_pending(self) -> None:
        if self._pending:
            number, frame = self._pending.pop(0)
            self._former[signal.Signals(number)](number, frame)
