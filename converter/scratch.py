"""Temporary folders that do not remain when a process is killed.

Those next to a target are moved into place when complete. Each holds a file that its
process keeps locked; the system releases the lock when the process ends, for any reason.
The next process that makes a folder at the same place removes those whose lock is free.
A process id is no evidence, because it is reused, and another machine may write to the
same file system.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

PREFIX = ".urdf-usd-"
# Parts of an asset that replaces another: the new one, and the one that is replaced.
NEW = "asset"
FORMER = "former"

_LOCK, _UNLOCKED = "lock", "lock.new"
# As made by tempfile.
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a temporary folder, and remove abandoned ones in the same existing parent.

    Raises:
        OSError: The folder cannot be made.
    """
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    file = -1
    try:
        # Without a lock where the file system has none.
        with suppress(OSError):
            file = os.open(folder / _UNLOCKED, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file is locked as soon as others can find it.
            (folder / _UNLOCKED).rename(folder / _LOCK)
        yield folder
    finally:
        # What cannot be removed is left to the next process.
        shutil.rmtree(folder, ignore_errors=True)
        if file >= 0:
            os.close(file)


def temporary_folder() -> AbstractContextManager[Path]:
    """Make a folder as :func:`scratch_folder` does, in that for temporary files."""
    return scratch_folder(Path(tempfile.gettempdir()))


def remove_abandoned(parent: Path) -> None:
    """Remove the temporary folders of processes that have ended.

    A folder that holds the only copy of an earlier asset is kept: its process was
    killed while it replaced that asset.
    """
    with suppress(OSError):
        for entry in list(os.scandir(parent)):
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(folder: Path) -> None:
    with suppress(OSError):
        # Folders of other users are not removed, and their files not opened.
        if folder.stat().st_uid != os.getuid():
            return
        file = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new = folder / NEW
            is_moving = new.is_dir() and any(new.iterdir())
            former = folder / FORMER
            if not (is_moving and former.is_dir() and any(former.iterdir())):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(file)
