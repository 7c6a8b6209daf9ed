"""Work in a copy of this process, beside it: whatever is in memory is there as well.

Only where a system copies processes
(:data:`~urdf_usd.conformance.execution.workers.confinement.FORKS`), and only from a
process that has one thread: others would be missing in the copy, with whatever they had
locked.
"""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
from typing import TYPE_CHECKING, NoReturn

from urdf_usd.conformance.execution.workers.confinement import (
    FORKS,
    crash_reason,
    die_with_parent,
    printing_into,
    thread_ids,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from urdf_usd.conformance.engines.protocol import Crashed
    from urdf_usd.conformance.execution.workers.slots import Slots

_DONE = b"."


class Beside:
    """A process that does several things in turn; made by :func:`start_beside`.

    Args:
        process: Its id.
        pipe: Where it says that it has done one more.
        folder: For what it prints.
        timeout: Time limit of each [s], of which it takes care itself.

    Attributes:
        done: How many are known to be done.
    """

    def __init__(self, process: int, pipe: int, folder: str, timeout: float) -> None:
        self.done = 0
        self._process = process
        self._pipe = pipe
        self._folder = folder
        self._timeout = timeout
        self._death: Crashed | None = None

    def wait(self, number: int) -> Crashed | None:
        """Wait until so many things are done; say what it died of before that."""
        while self.done < number and self._death is None:
            if os.read(self._pipe, 1):
                self.done += 1
            else:
                self._death = self._buried()
        return None if self.done >= number else self._death

    def stop(self) -> None:
        """End the process, wherever it is."""
        if self._death is None:
            os.kill(self._process, signal.SIGKILL)
            self._death = self._buried()

    def _buried(self) -> Crashed:
        os.close(self._pipe)
        _, status = os.waitpid(self._process, 0)
        code = os.waitstatus_to_exitcode(status)
        return crash_reason(code, self._folder, self._timeout)


def start_beside(
    tasks: Iterable[Callable[[], None]], slots: Slots, folder: str, timeout: float
) -> Beside | None:
    """Have a copy of this process do things in turn.

    Args:
        tasks: What is done; nothing of it comes back by itself.
        slots: The copy holds one of them.
        folder: Receives a folder for what it prints, and for its temporary files.
        timeout: Time limit of each task [s], of which the tasks take care.

    Returns:
        The process; None if it has no room, or cannot be.
    """
    if not (FORKS and _is_alone()):
        return None
    slot = slots.take()
    if slot is None:
        return None
    own = tempfile.mkdtemp(dir=folder)
    reader, writer = os.pipe()
    parent = os.getpid()
    try:
        process = os.fork()
    except OSError:
        # There is no room for one more, as there may be later.
        process = None
    if process == 0:
        os.close(reader)
        _work(tasks, parent, own, writer)
    os.close(slot)
    os.close(writer)
    if process is None:
        os.close(reader)
        return None
    return Beside(process, reader, own, timeout)


def _work(
    tasks: Iterable[Callable[[], None]], parent: int, folder: str, pipe: int
) -> NoReturn:
    """Do things in turn, and end without what the original would do at its end."""
    code = 1
    try:
        die_with_parent()
        if os.getppid() != parent:
            # It was over before the system knew.
            os._exit(code)
        with printing_into(folder):
            try:
                for task in tasks:
                    task()
                    os.write(pipe, _DONE)
                code = 0
            # Where this ends there is nobody to raise anything to.
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
    finally:
        os._exit(code)


def _is_alone() -> bool:
    return len(thread_ids()) == 1
