"""The sizes of binary STL, by which it is recognised; without numpy."""

from __future__ import annotations

_NAME_SIZE = 80
# The name, then the number of triangles.
HEADER_SIZE = _NAME_SIZE + 4
# A normal and three corners of three float32, then two bytes.
TRIANGLE_SIZE = 50


def holds_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the header of binary STL."""
    return len(data) == announced_size(data)


def announced_size(data: bytes) -> int | None:
    """Return the size of a file with that header; None if it is shorter than one."""
    if len(data) < HEADER_SIZE:
        return None
    count = int.from_bytes(data[_NAME_SIZE:HEADER_SIZE], "little")
    return HEADER_SIZE + count * TRIANGLE_SIZE
