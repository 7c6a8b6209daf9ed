"""USDZ packages: archives whose files are read in place.

The form is that of the USDZ file format specification: a zip archive without
compression or encryption, each file at a multiple of 64 bytes, the root layer first.
OpenUSD's own writer keeps the files' times; here equal assets are equal packages.
"""

from __future__ import annotations

import errno
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ALIGNMENT = 64
# Of the header that precedes each file, without its name and extra field; and of the
# header within the extra field.
_LOCAL_HEADER, _EXTRA_HEADER = 30, 4
# Marks the extra field as padding, as OpenUSD's writer does.
_PADDING = 0x1986
# The earliest time that an archive can state.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o100644 << 16


def write_package(package: Path, folder: Path, files: Sequence[Path]) -> None:
    """Write a USDZ package.

    Args:
        package: File to write.
        folder: Folder whose files are packed; paths in the package are relative to it.
        files: The root layer, then the others.

    Raises:
        OSError: A file cannot be read, or the package not be written; or it would be
            larger than every reader of zip archives can take.
    """
    try:
        _write(package, folder, files)
    except zipfile.LargeZipFile as error:
        message = "a package may not exceed 2 GiB; choose another layout"
        raise OSError(errno.EFBIG, message, str(package)) from error


def _write(package: Path, folder: Path, files: Sequence[Path]) -> None:
    start = 0
    with zipfile.ZipFile(package, "w", allowZip64=False) as archive:
        for file in files:
            name, content = file.relative_to(folder).as_posix(), file.read_bytes()
            member = zipfile.ZipInfo(name, _NO_TIME)
            member.create_system, member.external_attr = _UNIX, _READABLE
            start += _LOCAL_HEADER + len(name.encode()) + _EXTRA_HEADER
            member.extra = _padding(-start % _ALIGNMENT)
            archive.writestr(member, content)
            start += -start % _ALIGNMENT + len(content)


def _padding(size: int) -> bytes:
    """Return an extra field of some bytes and its own header."""
    return _PADDING.to_bytes(2, "little") + size.to_bytes(2, "little") + bytes(size)
