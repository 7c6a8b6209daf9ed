"""Which other files a mesh file names: material libraries and images.

This is for those who account for files, and reads no mesh: it looks for the few words
by which the formats refer, also where the reader would have no use for the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import unescape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The word that tells without a search line by line whether there is any; the pattern.
_WORDS = (
    (b"mtllib", re.compile(rb"(?m)^[ \t]*mtllib[ \t]+([^\r\n]+)")),
    (b"init_from", re.compile(rb"<init_from[^<>]*>\s*(?:<ref>)?([^<>]+)<")),
    (b'"uri"', re.compile(rb'"uri"\s*:\s*"((?!data:)[^"\\]+)"')),
)
_IMAGE_OF_MTL = re.compile(
    rb"(?mi)^[ \t]*(?:map_\w+|bump|disp|decal|refl|norm)[ \t]+([^\r\n]+)"
)
_FILE_SCHEME = "file://"


def referred_files(data: bytes, path: Path) -> tuple[Path, ...]:
    """Return the files beside a mesh file, or a material library, that it names.

    Args:
        data: Its content.
        path: Where it lies; what is not found from there is left out.
    """
    found: dict[Path, None] = {}
    for reference in _references(data, path.suffix.lower()):
        for candidate in _candidates(reference, path.parent):
            if _is_file(candidate):
                found[candidate] = None
                break
    return tuple(found)


def _references(data: bytes, suffix: str) -> Iterator[str]:
    patterns = [pattern for word, pattern in _WORDS if word in data]
    if suffix == ".mtl":
        patterns.append(_IMAGE_OF_MTL)
    for pattern in patterns:
        for match in pattern.finditer(data):
            yield unescape(match[1].decode("utf-8", "replace").strip())


def _candidates(reference: str, folder: Path) -> Iterator[Path]:
    """Places of a file: what exporters write may hold options, or their own folders."""
    plain = reference.removeprefix(_FILE_SCHEME).replace("\\", "/")
    last_word = plain.split()[-1] if plain.split() else ""
    for text in (plain, unquote(plain), last_word):
        if text:
            yield folder / text
            yield folder / text.rpartition("/")[2]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # a name too long, or with a character that no name contains
        return False
