"""Text without the paths of this machine, so that records compare between machines."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def portable(text: str, folders: Mapping[str, Path]) -> str:
    """Replace machine paths in text.

    Args:
        text: For example what an engine printed.
        folders: Folders by the name that stands for them; an empty name leaves the
            rest of the path relative.
    """
    named = [
        *folders.items(),
        ("<temporary>", Path(tempfile.gettempdir())),
        ("<python>", Path(sys.prefix)),
        ("<python>", Path(sys.base_prefix)),
        ("~", Path.home()),
    ]
    spellings = {
        str(spelling): name
        for name, folder in reversed(named)
        for spelling in (folder, folder.absolute(), folder.resolve())
        if len(spelling.parts) > 1
    }
    # The longest folder first: a temporary folder may lie in the home folder.
    for spelling in sorted(spellings, key=len, reverse=True):
        text = _replace_folder(text, spelling, spellings[spelling])
    return _ADDRESS.sub("0x…", text)


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
