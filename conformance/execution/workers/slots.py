"""How many processes may work at a time, over all robots of a run.

A slot is a locked file. The system unlocks it when the process that holds it ends,
however that comes about; so no slot is lost with a process that is killed.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots that processes share.

    Attributes:
        folder: Where their files are.
        count: How many there are.
    """

    folder: str
    count: int

    def take(self) -> int | None:
        """Take a free slot, and return its file descriptor; None if all are taken.

        Closing the descriptor gives the slot back, in whatever processes it is open.
        """
        import fcntl  # noqa: PLC0415  # there is none on Windows

        for number in range(self.count):
            file = os.open(
                Path(self.folder, f"slot-{number}"), os.O_RDWR | os.O_CREAT, 0o600
            )
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            else:
                return file
        return None

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a slot for as long as the block runs, if there is one."""
        slot = self.take()
        try:
            yield
        finally:
            if slot is not None:
                os.close(slot)
