"""Limits of time and memory of worker processes, and the number of processors."""

from __future__ import annotations

import os
from dataclasses import dataclass

DEFAULT_TIMEOUT = 120.0
# A robot with meshes at the largest accepted file size was measured to take 4.6 GiB.
DEFAULT_MEMORY = 6144


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the processes that work on one robot.

    Attributes:
        time: Longest time of one step, such as the conversion or one engine [s].
        memory: Most memory of one process, in MiB, and largest size of a file that it
            writes; None for no limit. Linux only.
    """

    time: float = DEFAULT_TIMEOUT
    memory: int | None = DEFAULT_MEMORY


DEFAULT_LIMITS = Limits()


def processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
