"""Parsing of long lists of numbers in COLLADA.

Lists whose numbers are valid JSON are parsed as JSON by simdjson, others by numpy.
simdjson is five times as fast with the same rounding; lists of numbers take half of the
time of reading COLLADA (docs/performance.md).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar
from xml.etree.ElementTree import Element

import numpy as np
import simdjson
from numpy.typing import NDArray

if TYPE_CHECKING:
    _Kind = TypeVar("_Kind", np.float64, np.int32)

_COMMAS = bytes.maketrans(b" \t\r\n", b",,,,")
_SPACE = re.compile(rb"[ \t\r\n]")
_LIMITS = np.iinfo(np.int32)
# simdjson needs ten times the memory of its input.
_PIECE = 2**18


def text_of(element: Element | None) -> bytes:
    """Return the text of an element; empty for None."""
    return b"" if element is None else (element.text or "").encode()


def read_floats(text: bytes) -> NDArray[np.float64]:
    """Read numbers between white space.

    Raises:
        ValueError: Something in there is not a number.
    """
    found = _read_pieces(text, _floats_of_json)
    return np.concatenate(found) if found else _read_by_numpy(text, np.float64)


def read_integers(text: bytes) -> NDArray[np.int32]:
    """Read integers between white space.

    Raises:
        ValueError: Something in there is not an integer.
    """
    found = _read_pieces(text, _integers_of_json)
    return np.concatenate(found) if found else _read_by_numpy(text, np.int32)


def _read_pieces(
    text: bytes, read: Callable[[bytes], NDArray[_Kind] | None]
) -> list[NDArray[_Kind]]:
    """Parse a list in pieces; empty if a piece is not valid JSON."""
    found: list[NDArray[_Kind]] = []
    start = 0
    while start < len(text):
        space = _SPACE.search(text, start + _PIECE)
        end = space.start() if space else len(text)
        piece = text[start:end].strip()
        start = end
        if not piece:
            continue
        numbers = None
        if b"," not in piece and b"[" not in piece:
            numbers = read(b"[%b]" % piece.translate(_COMMAS))
        if numbers is None:
            return []
        found.append(numbers)
    return found


def _floats_of_json(content: bytes) -> NDArray[np.float64] | None:
    parsed = _parsed(content, "d")
    if parsed is None:
        return None
    numbers = np.frombuffer(parsed, np.float64)
    # simdjson loses the sign of the integer -0.
    zeros = not numbers.all()
    signed = zeros and (b"-0," in content or content.endswith(b"-0]"))
    return None if signed else numbers


def _integers_of_json(content: bytes) -> NDArray[np.int32] | None:
    parsed = _parsed(content, "i")
    if not parsed:
        return None
    numbers = np.frombuffer(parsed, np.int64)
    fits = _LIMITS.min <= numbers.min() and numbers.max() <= _LIMITS.max
    return numbers.astype(np.int32) if fits else None


def _parsed(content: bytes, kind: Literal["d", "i"]) -> memoryview | None:
    """Parse doubles or integers; None for any other content."""
    try:
        found = simdjson.Parser().parse(content)
        if isinstance(found, simdjson.Array):
            return memoryview(found.as_buffer(of_type=kind))
    except (RuntimeError, TypeError, ValueError):
        # RuntimeError is raised for integers of more than 64 bits.
        return None
    return None


def _read_by_numpy(text: bytes, kind: type[_Kind]) -> NDArray[_Kind]:
    with _strictness():
        # For white space only, numpy returns one number.
        return np.fromstring(text if text.strip() else b"", kind, sep=" ")


@contextmanager
def _strictness() -> Iterator[None]:
    """Raise an error for invalid text, for which older numpy only warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            yield
        except DeprecationWarning as warning:
            raise ValueError(*warning.args) from warning
