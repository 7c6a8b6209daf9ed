"""Temporary folders that do not remain when a process is killed.

Those next to a target are moved into place when complete.

A process that is killed cannot remove its folder. Each folder therefore holds a file
that its process keeps locked; the system releases the lock when the process ends, for
any reason, also on a reboot. The next process that makes a folder at the same place
removes those whose lock is free. A process id is no evidence, because it is reused,
and another machine may write to the same file system.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

PREFIX = ".urdf-usd-"
# Parts of an asset that replaces another: the new one, and the one that is replaced.
NEW = ("bundle", "asset")
FORMER = "former"

_LOCK = "lock"
_UNLOCKED = "lock.new"
# As made by tempfile.
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a temporary folder, and remove abandoned ones in the same parent.

    Args:
        parent: Existing folder.

    Raises:
        OSError: The folder cannot be made.
    """
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # Held until the folder is removed.
    with _locked(folder):
        try:
            yield folder
        finally:
            # What cannot be removed is left to the next process.
            shutil.rmtree(folder, ignore_errors=True)


def temporary_folder() -> AbstractContextManager[Path]:
    """Make a folder as :func:`scratch_folder` does, in that for temporary files."""
    return scratch_folder(Path(tempfile.gettempdir()))


def remove_abandoned(parent: Path) -> None:
    """Remove the temporary folders of processes that have ended.

    A folder that holds the only copy of an earlier asset is kept: its process was
    killed while it replaced that asset.

    Args:
        parent: Folder in which they are.
    """
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; none where the file system has no locks."""
    file = -1
    try:
        with contextlib.suppress(ImportError, OSError):
            import fcntl  # not available on Windows

            file = os.open(folder / _UNLOCKED, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file is locked as soon as others can find it.
            (folder / _UNLOCKED).rename(folder / _LOCK)
        yield
    finally:
        if file >= 0:
            os.close(file)


def _remove_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(ImportError, OSError):
        # Folders of other users are not removed, and their files not opened.
        if folder.stat().st_uid != os.getuid():
            return
        file = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _holds_former_asset(folder):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(file)


def _holds_former_asset(folder: Path) -> bool:
    new = next((folder / name for name in NEW if (folder / name).is_dir()), None)
    former = folder / FORMER
    is_moving = new is not None and any(new.iterdir())
    return is_moving and former.is_dir() and any(former.iterdir())
