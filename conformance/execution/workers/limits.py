"""Limits of time and memory of worker processes, and the number of processors."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

DEFAULT_TIMEOUT = 120.0
# A robot with meshes at the largest accepted file size was measured to take 4.6 GiB.
DEFAULT_MEMORY = 6144

MEBIBYTE = 1024 * 1024


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


def limit_memory(mebibytes: int) -> None:
    """Limit the writable memory and files of this process; no effect outside Linux.

    ``RLIMIT_DATA`` counts private writable memory. The address space would be no
    measure: OpenUSD and the engines reserve a gigabyte before the first robot. macOS
    does not enforce these limits, and Windows has none.

    The size of a file is limited as well: what an engine prints goes to one, and an
    engine that prints without end would fill the disk until its time limit.

    Args:
        mebibytes: The limit, in MiB.
    """
    if sys.platform == "linux":
        import resource  # noqa: PLC0415  # not available on Windows

        wanted = mebibytes * MEBIBYTE
        for limit in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
            soft, most = resource.getrlimit(limit)
            given = [one for one in (soft, most) if one != resource.RLIM_INFINITY]
            resource.setrlimit(limit, (min([wanted, *given]), most))
