"""Removes paths of this machine from text, so that records compare across machines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

# Pairs of two texts.
FolderNames: TypeAlias = tuple[tuple[str, str], ...]
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def folder_names(folders: Mapping[str, Path]) -> FolderNames:
    """List all spellings of folders, those of this machine too, with their names.

    The longest comes first: a temporary folder may lie in the home folder.

    Args:
        folders: Folders by the name that stands for them; an empty name leaves the
            rest of the path relative.
    """
    named = (
        *((name, str(folder)) for name, folder in folders.items()),
        ("<python>", sys.prefix),
        ("<python>", sys.base_prefix),
        ("~", str(Path.home())),
    )
    return _spellings(named, str(Path.cwd()))


@lru_cache(maxsize=8)
def _spellings(named: FolderNames, working: str) -> FolderNames:
    spellings = {
        spelling: name
        for name, text in reversed(named)
        for spelling in _spellings_of(text, working)
    }
    return tuple(sorted(spellings.items(), key=lambda item: -len(item[0])))


# Robots of a corpus have folders in common.
@lru_cache(maxsize=1024)
def _spellings_of(text: str, working: str) -> tuple[str, ...]:
    folder = Path(text)
    spellings = folder, Path(working) / folder, folder.resolve()
    return tuple(str(one) for one in spellings if len(one.parts) > 1)


def portable(text: str, names: FolderNames) -> str:
    """Replace machine paths in text.

    Args:
        text: For example what an engine printed.
        names: What stands for folders.
    """
    if "/" in text or "\\" in text:
        for folder, name in names:
            if folder in text:
                text = _replace_folder(text, folder, name)
    return _ADDRESS.sub("0x…", text)


def portable_path(path: str, names: FolderNames) -> str:
    """Return a path as records hold it; of one outside the folders the last part."""
    shown = portable(path, names)
    place = Path(shown)
    if place.is_absolute() or shown.startswith("~"):
        return f"<outside>/{place.name}"
    return shown if "://" in shown else place.as_posix()


def _replace_folder(text: str, folder: str, name: str) -> str:
    below = f"{name}/" if name else ""
    replaced = text.replace(f"{folder}/", below).replace(f"{folder}\\", below)
    if folder not in replaced:
        return replaced
    return re.sub(re.escape(folder) + r"(?![\w.-])", name or ".", replaced)
