"""Parsing of the XML of a COLLADA document without its long lists of numbers.

The lists are cut out before the rest is parsed as XML, which is then a few kilobytes:
no parser looks at their characters, and they are in memory once.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

from urdf_usd.converter.meshes.polygon_mesh import MeshError

# Shorter lists are parsed with the XML.
_SHORTEST = 256
_MARK = "@"
_STARTS_LIKE_A_NUMBER = re.compile(rb"\s*[-+.\d]")
# Limit of the number of tags; an element needs more than half a kilobyte.
_MOST_TAGS = 4_000_000


class DaeText(NamedTuple):
    """A parsed document.

    Attributes:
        root: Its elements, without namespaces, which vary between exporters.
        lists: The lists of numbers.
    """

    root: ET.Element
    lists: tuple[bytes, ...]

    def of(self, element: ET.Element | None) -> bytes:
        """Return the text of an element; empty for None."""
        text = "" if element is None else element.text or ""
        if self.lists and text.startswith(_MARK):
            return self.lists[int(text[1:])]
        return text.encode()


def parse_text(data: bytes) -> DaeText:
    """Parse a document.

    Raises:
        MeshError: It is not XML, or has too many elements.
    """
    data, lists = _without_lists(data)
    try:
        root = ET.fromstring(data)  # noqa: S314  (expat bounds entity expansion)
    except (ET.ParseError, LookupError, ValueError) as error:
        # The last two are raised for unknown encodings.
        raise MeshError(f"it is not well-formed XML: {error}") from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return DaeText(root, lists)


def _without_lists(data: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """Replace long lists of numbers by marks; return the document and the lists.

    Documents with comments, CDATA sections or declarations, in UTF-16, or with text
    that looks like a mark, are returned unchanged.

    Raises:
        MeshError: It has too many tags.
    """
    kept: list[bytes] = []
    lists: list[bytes] = []
    start = at = 0
    for _ in range(_MOST_TAGS):
        after = data.find(b">", at) + 1
        at = data.find(b"<", after)
        if not after or at < 0:
            break
        if at - after >= _SHORTEST and _STARTS_LIKE_A_NUMBER.match(data, after):
            kept.append(data[start:after])
            lists.append(data[after:at])
            start = at
    else:
        raise MeshError(f"it has more than {_MOST_TAGS} tags")
    kept.append(data[start:])
    if b"\0" in data or any(odd in part for part in kept for odd in (b"<!", b">@")):
        return data, ()
    marked = (f"{_MARK}{number}".encode() for number in range(len(lists)))
    return b"".join(map(b"".join, zip(kept, [*marked, b""], strict=True))), tuple(lists)
