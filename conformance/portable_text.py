"""Text without the paths of this machine, so that records compare between machines."""

from __future__ import annotations

import re
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Every spelling of a folder has one.
_SEPARATOR = re.compile(r"[/\\]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def portable(text: str, folders: Mapping[str, Path]) -> str:
    """Replace machine paths in text.

    Args:
        text: For example what an engine printed.
        folders: Folders by the name that stands for them; an empty name leaves the
            rest of the path relative.
    """
    if not _SEPARATOR.search(text):
        return _ADDRESS.sub("0x…", text)
    named = (
        *((name, str(folder)) for name, folder in folders.items()),
        ("<temporary>", tempfile.gettempdir()),
        ("<python>", sys.prefix),
        ("<python>", sys.base_prefix),
        ("~", str(Path.home())),
    )
    for folder, name in _spellings(named, str(Path.cwd())):
        if folder in text:
            text = _replace_folder(text, folder, name)
    return _ADDRESS.sub("0x…", text)


@lru_cache(maxsize=8)
def _spellings(
    named: tuple[tuple[str, str], ...], working: str
) -> tuple[tuple[str, str], ...]:
    """List all spellings of folders with their names.

    The longest comes first: a temporary folder may lie in the home folder.
    """
    spellings = {
        str(spelling): name
        for name, text in reversed(named)
        for folder in [Path(text)]
        for spelling in (folder, Path(working) / folder, folder.resolve())
        if len(spelling.parts) > 1
    }
    return tuple(sorted(spellings.items(), key=lambda item: -len(item[0])))


def portable_path(path: str, folders: Mapping[str, Path]) -> str:
    """Return a path as records hold it; of one outside the folders the last part."""
    shown = portable(path, folders)
    if Path(shown).is_absolute() or shown.startswith("~"):
        return f"<outside>/{Path(shown).name}"
    return Path(shown).as_posix() if "://" not in shown else shown


def _replace_folder(text: str, folder: str, name: str) -> str:
    below = re.compile(re.escape(folder) + r"[/\\]")
    replaced = below.sub(f"{name}/" if name else "", text)
    whole = re.compile(re.escape(folder) + r"(?![\w.-])")
    return whole.sub(name or ".", replaced)
