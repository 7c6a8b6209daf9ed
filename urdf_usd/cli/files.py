"""Files that a command writes where the user says."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from urdf_usd.cli.failures import CommandError
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.reports.records.results import write_atomically

# What files of a kind have in their first 4 KiB, in lower case.
PAGE = b"<!doctype html"
RECORD = b'"schema_version"'
ARRAYS = b".npy"
URDF = b"<robot"


def require_outputs(
    outputs: Iterable[tuple[Path | None, bytes | None]],
    inputs: Iterable[Path | None] = (),
) -> None:
    """Refuse outputs that would replace an input, each other, or another kind of file.

    The latter is most likely an input too, such as a mesh or a layer.

    Args:
        outputs: Each with its kind, None if other code examines it. A path that is None
            is not written.
        inputs: Files that the command reads.

    Raises:
        CommandError: Nothing has to be written.
    """
    named = [(path, kind) for path, kind in outputs if path is not None]
    read = [path for path in inputs if path is not None]
    for path, kind in named:
        if any(is_same_file(path, one) for one in read):
            raise CommandError(f"{path} is an input, and is not overwritten")
        foreign = kind and path.is_file() and path.stat().st_size
        if kind and foreign and not has_mark(path, kind):
            raise CommandError(f"{path} exists and has content of another kind; name another file")
    for (one, _), (other, _) in combinations(named, 2):
        if is_same_file(one, other):
            raise CommandError(f"{one} and {other} are one file; name two")


def write_output(path: Path, content: bytes) -> None:
    """Write a file atomically; of a symbolic link, its target; or a pipe or a device.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    write_atomically(Path(os.path.realpath(path)), content)
