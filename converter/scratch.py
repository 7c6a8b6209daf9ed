"""Temporary folders; those next to a target are moved into place when complete."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

PREFIX = ".urdf-usd-"
# Parts of an asset that replaces another: the new one, and the one that is replaced.
NEW = "asset"
FORMER = "former"


@contextmanager
def scratch_folder(parent: Path | None) -> Iterator[Path]:
    """Make a temporary folder, None for that for temporary files.

    Raises:
        OSError: The folder cannot be made.
    """
    with tempfile.TemporaryDirectory(
        prefix=PREFIX, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def temporary_folder() -> AbstractContextManager[Path]:
    """Make a folder in that for temporary files."""
    return scratch_folder(None)
