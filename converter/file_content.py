"""Reading files whose size nobody vouches for."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def read_file(path: Path, largest: int) -> bytes:
    """Read a regular file that is not larger than some size.

    A size that a file system announces may lie (that of a device or of ``/proc`` is
    zero), so no more than that is read in any case.

    Args:
        path: The file.
        largest: Size [bytes].

    Raises:
        OSError: It cannot be read, is not a regular file, or is larger.
        ValueError: The path holds a null character.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with path.open("rb") as file:
        data = file.read(largest + 1) if path.stat().st_size <= largest else b""
    if len(data) > largest or path.stat().st_size > largest:
        message = f"it is larger than {largest // MIB} MiB"
        raise OSError(errno.EFBIG, message, str(path))
    return data
