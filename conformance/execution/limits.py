"""Limits of worker processes, settings of their libraries, number of processors."""

from __future__ import annotations

import os

from msgspec import Struct

DEFAULT_TIMEOUT = 120.0
# A robot with meshes at the largest accepted file size was measured to take 4.6 GiB.
DEFAULT_MEMORY = 6144
# The work is parallel over robots or engines, and a fork copies no threads.
_SETTINGS = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PXR_WORK_THREAD_LIMIT": "1",
    # MuJoCo would import OpenGL, which starts a process to find its library.
    "MUJOCO_GL": "disable",
}


class Limits(Struct, frozen=True):
    """Limits of the processes that work on one robot.

    Attributes:
        time: Longest time of one step, such as the conversion or one engine [s].
        memory: Most memory of one process, in MiB, and largest size of a file that it
            writes; None for no limit. Linux only.
    """

    time: float = DEFAULT_TIMEOUT
    memory: int | None = DEFAULT_MEMORY


DEFAULT_LIMITS = Limits()


def library_settings() -> dict[str, str]:
    """Return the environment variables of libraries that the user has not set."""
    return {name: to for name, to in _SETTINGS.items() if name not in os.environ}


def processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
