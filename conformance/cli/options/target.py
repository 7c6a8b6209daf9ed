"""The folder of a run: what a former run left there goes, nothing else does.

A run that resumes keeps what a former one left of the same robots.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from urdf_usd.conformance.cli.output.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

# Without it a folder of the user that happens to hold "assets" would be emptied.
MARKER = ".urdf-usd-run"
_MARKER_TEXT = "urdf-usd run writes this folder, and replaces all of it.\n"
# What lies in these belongs to the robot of that name, with a suffix or without.
_KEPT = ("results", "assets", "expanded", "scenes", "timings")
_FOLDERS = (*_KEPT, "robots", "scripts", "converters")
_FILES = (
    *("summary.json", "summary.md", "junit.xml", "index.html"),
    *("findings.sarif", "measurements.parquet", "badge.svg"),
)
_SHOWN = 3


def prepare_run_folder(out: Path, keep: Collection[str] = ()) -> None:
    """Make the folder of a run, or empty that of a former one.

    Args:
        out: The folder.
        keep: Ids of robots, below names of converters if there are several, of which
            results and assets stay.

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
    for name in names.intersection(_FOLDERS):
        _empty(out / name, keep if name in _KEPT else ())
    for name in _FILES:
        (out / name).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")


def _empty(folder: Path, keep: Collection[str], prefix: str = "") -> None:
    """Remove a folder, or all in it but what belongs to some robots."""
    if not keep:
        shutil.rmtree(folder)
        return
    for entry in folder.iterdir():
        if entry.is_file():
            if f"{prefix}{entry.stem}" not in keep:
                entry.unlink()
        elif any(place.startswith(f"{prefix}{entry.name}/") for place in keep):
            _empty(entry, keep, f"{prefix}{entry.name}/")
        elif f"{prefix}{entry.name}" not in keep:
            shutil.rmtree(entry)
