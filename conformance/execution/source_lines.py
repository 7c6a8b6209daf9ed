"""Lines of files that diagnostics point at, so that a report can show them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# A robot's own files are smaller; of others no line is worth the wait.
_LARGEST = 16 * 1024 * 1024
_LONGEST = 240


def source_lines(places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Read the lines at places, without the blanks around them.

    Args:
        places: File and line, counted from 1.

    Returns:
        What stands there, cut where it is long; nothing of files that cannot be read.
    """
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        wanted.setdefault(file, set()).add(line)
    found = {}
    for file, numbers in wanted.items():
        lines = _lines(Path(file))
        for number in numbers:
            if 0 < number <= len(lines):
                found[file, number] = _cut(lines[number - 1])
    return found


def _lines(path: Path) -> list[str]:
    try:
        # Devices and pipes lie about their size, or never end.
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        content = path.read_bytes()
    except (OSError, ValueError):
        return []
    return content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _cut(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
