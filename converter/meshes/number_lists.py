"""Long lists of numbers in text, such as COLLADA is made of.

A list that is as plain as the numbers of JSON is read as JSON, by simdjson: five times
as fast as numpy, and rounded alike. All others are left to numpy.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import numpy as np
import simdjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_COMMAS = bytes.maketrans(b" \t\r\n", b",,,,")
_LIMITS = np.iinfo(np.int32)


def read_floats(text: bytes) -> NDArray[np.float64]:
    """Read numbers between white space.

    Raises:
        ValueError: Something in there is not a number.
    """
    content = _as_json(text)
    parsed = _parsed(content, "d")
    if parsed is not None:
        numbers = np.frombuffer(parsed, np.float64)
        if numbers.all() or not _has_negative_zero(content):
            return numbers
    with _strictness():
        # Of nothing, numpy would read one number.
        return np.fromstring(text if text.strip() else b"", np.float64, sep=" ")


def read_integers(text: bytes) -> NDArray[np.int32]:
    """Read integers between white space.

    Raises:
        ValueError: Something in there is not an integer.
    """
    numbers = _parsed(_as_json(text), "i")
    if numbers:
        integers = np.frombuffer(numbers, np.int64)
        if _LIMITS.min <= integers.min() and integers.max() <= _LIMITS.max:
            return integers.astype(np.int32)
    with _strictness():
        return np.fromstring(text if text.strip() else b"", np.int32, sep=" ")


def _as_json(text: bytes) -> bytes:
    """Write a list as JSON would; what was none may become none."""
    if b"," in text or b"[" in text:
        return b""
    return b"[%b]" % text.strip().translate(_COMMAS)


def _has_negative_zero(content: bytes) -> bool:
    """Look for an integer that JSON has no number for."""
    return b"-0," in content or content.endswith(b"-0]")


def _parsed(content: bytes, kind: Literal["d", "i"]) -> memoryview | None:
    """Read doubles or integers; None if that is not all that is there."""
    try:
        found = simdjson.Parser().parse(content)
        if isinstance(found, simdjson.Array):
            return memoryview(found.as_buffer(of_type=kind))
    except (RuntimeError, TypeError, ValueError):
        # The first is what it has for integers of more than 64 bits.
        return None
    return None


@contextmanager
def _strictness() -> Iterator[None]:
    """Refuse text that is no number, of which older numpy warns, and reads on."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            yield
        except DeprecationWarning as warning:
            raise ValueError(*warning.args) from warning
