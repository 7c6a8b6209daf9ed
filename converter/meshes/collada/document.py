"""Parsing of the XML of COLLADA.

Most of a document is lists of numbers, for which expat takes as long as for other text.
Long ones are taken out before, and put back as the texts of their elements.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from urdf_usd.converter.meshes.polygon_mesh import MeshError

# Limit of the number of tags; an element needs more than half a kilobyte.
_MOST_TAGS = 4_000_000
_LIST = re.compile(rb"<(?:float_array|p|vcount)\b[^<>]*>")
_LONG = 1024
# Ends of attributes, references, and white space that numpy accepts and XML does not.
# Other control characters are refused as numbers.
_NOT_IN_LISTS = (b">", b"&", b"\v", b"\f")
# Stands for a list.
_MARK = "@list"
_MARKED = re.compile(rf"{_MARK}(\d+);")
# An entity may repeat a list any number of times.
_ENTITY = b"<!ENTITY"


def parse_document(data: bytes) -> Element:
    """Parse a document, and drop the namespaces, which vary between exporters.

    Long lists after the end of an element, which COLLADA has none of, are not kept.

    Raises:
        MeshError: The text is not XML, or has too many tags.
    """
    if len(data) > _MOST_TAGS and data.count(b"<") > _MOST_TAGS:
        raise MeshError(f"it has more than {_MOST_TAGS} tags")
    shortened, lists = _without_lists(data)
    try:
        root = ET.fromstring(shortened)  # noqa: S314  (expat bounds entity expansion)
    except (ET.ParseError, LookupError, ValueError):
        lists = []
        try:
            # The location of the fault is that in the whole document.
            root = ET.fromstring(data)  # noqa: S314
        except (ET.ParseError, LookupError, ValueError) as error:
            # The last two are raised for unknown encodings.
            raise MeshError(f"it is not well-formed XML: {error}") from error

    def list_of(marked: re.Match[str]) -> str:
        return lists[int(marked[1])].decode("ascii")

    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if lists and element.text and _MARK in element.text:
            element.text = _MARKED.sub(list_of, element.text)
    return root


def _without_lists(data: bytes) -> tuple[bytes, list[bytes]]:
    """Replace long lists by marks; return the shorter document and the lists."""
    lists: list[bytes] = []
    kept: list[bytes] = []
    position = 0
    while found := _LIST.search(data, position):
        start, end = found.end(), data.find(b"<", found.end())
        content = data[start:end]
        if (
            end - start < _LONG
            or not content.isascii()
            or any(each in content for each in _NOT_IN_LISTS)
        ):
            kept.append(data[position:start])
            position = start
            continue
        kept += (data[position:start], f"{_MARK}{len(lists)};".encode())
        lists.append(content)
        position = end
    shortened = b"".join((*kept, data[position:]))
    if _ENTITY in shortened or shortened.count(_MARK.encode()) != len(lists):
        return data, []
    return shortened, lists
