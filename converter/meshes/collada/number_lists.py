"""Parsing of long lists of numbers in COLLADA.

Decimals that are separated by single spaces, which exporters write, are read as JSON:
a third of numpy's time, with the same rounding. All others are read by numpy.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TypeVar
from xml.etree.ElementTree import Element

import msgspec
import numpy as np
from numpy.typing import NDArray

_Kind = TypeVar("_Kind", np.float64, np.int32)
_JSON = msgspec.json.Decoder(list[float])


def text_of(element: Element | None) -> bytes:
    """Return the text of an element; empty for None."""
    return b"" if element is None else (element.text or "").encode()


def read_floats(text: bytes) -> NDArray[np.float64]:
    """Read numbers between white space.

    Raises:
        ValueError: Something in there is not a number.
    """
    if b"," not in text:
        content = b"[" + text.strip().replace(b" ", b",") + b"]"
        with suppress(msgspec.DecodeError):
            decoded = _JSON.decode(content)
            numbers = np.fromiter(decoded, np.float64, len(decoded))
            # The sign of the integer -0 would be lost.
            if numbers.all() or not (b"-0," in content or content.endswith(b"-0]")):
                return numbers
    return _read(text, np.float64)


def read_integers(text: bytes) -> NDArray[np.int32]:
    """Read integers between white space.

    Raises:
        ValueError: Something in there is not an integer.
    """
    return _read(text, np.int32)


def _read(text: bytes, kind: type[_Kind]) -> NDArray[_Kind]:
    with warnings.catch_warnings():
        # For invalid text, older numpy only warns.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            # For white space only, numpy returns one number.
            return np.fromstring(text if text.strip() else b"", kind, sep=" ")
        except DeprecationWarning as warning:
            raise ValueError(*warning.args) from warning
