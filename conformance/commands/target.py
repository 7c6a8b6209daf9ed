"""The folder of a run: what a former run left there goes, nothing else does."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from conformance.commands.failures import CommandError

if TYPE_CHECKING:
    from pathlib import Path

# Without it a folder of the user that happens to hold "assets" would be emptied.
MARKER = ".urdf-usd-run"
_MARKER_TEXT = "urdf-usd run writes this folder, and replaces all of it.\n"
_FOLDERS = ("results", "robots", "assets", "expanded")
_FILES = ("summary.json", "summary.md", "junit.xml", "index.html")
_SHOWN = 3


def prepare_run_folder(out: Path) -> None:
    """Make the folder of a run, or empty that of a former one.

    Raises:
        CommandError: Something that no run wrote lies there; nothing is removed then.
    """
    names = {entry.name for entry in out.iterdir()} if out.exists() else set()
    ours = {*_FOLDERS, *_FILES, MARKER} if MARKER in names else set()
    foreign = sorted(names - ours)
    if foreign:
        more = ", …" if len(foreign) > _SHOWN else ""
        raise CommandError(
            f"{out} holds files that no run wrote "
            f"({', '.join(foreign[:_SHOWN])}{more}); choose another folder"
        )
    for name in _FOLDERS:
        if name in names:
            shutil.rmtree(out / name)
    for name in _FILES:
        (out / name).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
