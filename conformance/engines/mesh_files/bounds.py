"""Limits of the files that engines read, and reading of files within them.

Robots from elsewhere may name a device, which has no end, a pipe, which blocks, or a
document whose instances multiply. The converter has its own limits.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

_MIB = 1 << 20
LARGEST_MESH = 256 * _MIB
# Readers of text take up to a hundred times its size.
LARGEST_TEXT = 128 * _MIB
LARGEST_LIBRARY = 16 * _MIB
LARGEST_IMAGE = 128 * _MIB
MOST_INSTANCES = 100_000
# Coordinates and indices of one file, with all instances.
MOST_NUMBERS = 50_000_000


def require_bounded(path: Path, largest: int) -> None:
    """Check a file before it is opened, because opening a pipe blocks.

    Args:
        path: The file.
        largest: Maximum size [B].

    Raises:
        OSError: It is not found, not a regular file, or larger; the message of the
            last two has its name.
        ValueError: The path has a null character.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    if status.st_size > largest:
        raise _too_large(path, largest)


def read_bounded(path: Path, largest: int) -> bytes:
    """Read a regular file of limited size; see :func:`require_bounded`."""
    require_bounded(path, largest)
    with path.open("rb") as file:
        # The size that is stated is zero in some file systems.
        content = file.read(largest + 1)
    if len(content) > largest:
        raise _too_large(path, largest)
    return content


def _too_large(path: Path, largest: int) -> OSError:
    message = f"{path.name} is larger than {largest // _MIB} MiB"
    return OSError(errno.EFBIG, message)
