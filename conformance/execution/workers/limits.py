"""How long and how much memory the work on one robot may take."""

from __future__ import annotations

import sys
from dataclasses import dataclass

DEFAULT_TIMEOUT = 120.0
# A robot with meshes as large as files may be was measured to take 4.6 GiB.
DEFAULT_MEMORY = 6144

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process of one robot may take.

    Attributes:
        time: Longest time for one step, such as the conversion or one engine [s].
        memory: Most memory, in MiB; no limit if None. Holds on Linux alone.
    """

    time: float = DEFAULT_TIMEOUT
    memory: int | None = DEFAULT_MEMORY


DEFAULT_LIMITS = Limits()


def limit_memory(mebibytes: int) -> None:
    """Let further allocations of this process fail beyond a limit, where that works.

    What counts is memory that the process could write to. Its whole address space says
    nothing: that of OpenUSD and the engines is a gigabyte before the first robot. macOS
    does not keep to such limits, and Windows has none.
    """
    if sys.platform == "linux":
        import resource  # noqa: PLC0415  # there is none on Windows

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = mebibytes * MEBIBYTE
        soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, most))
