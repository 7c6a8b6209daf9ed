"""Files: reading up to a maximum size, hashes, and which may be replaced."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from msgspec import Struct

MIB = 1 << 20
# Bytes of a file in which its kind is looked for.
_HEAD = 1 << 12
# Largest mesh file.
LARGEST_MESH = 256 * MIB


class InputFile(Struct, frozen=True):
    """One input file, with the hash of its content."""

    path: str
    sha256: str
    size: int  # number of bytes


def read_file(path: Path, largest: int) -> bytes:
    """Read a regular file up to a maximum size.

    Raises:
        OSError: It cannot be read, is not a regular file, or is larger.
        ValueError: The path holds a null character.
    """
    # Before it is opened, because opening a pipe blocks.
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with path.open("rb") as file:
        announced = os.fstat(file.fileno()).st_size
        # In /proc it is zero.
        limit = min(announced or MIB, largest)
        data = file.read(limit + 1) if announced <= largest else b""
    if max(announced, len(data)) > limit:
        message = f"it is larger than {limit / MIB:g} MiB"
        raise OSError(errno.EFBIG, message, str(path))
    return data


def is_file(path: Path) -> bool:
    """Return whether a path leads to a file; no name is too long, or has a null character."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which need not exist.

    Symbolic links, and hard links of an existing file, are followed.
    """
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def has_mark(path: Path, mark: bytes) -> bool:
    """Return whether a file begins with text that has a mark, in lower case.

    Raises:
        OSError: It cannot be read.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return mark in file.read(_HEAD).lower()
