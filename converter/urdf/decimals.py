"""Parsing of decimal numbers in attributes.

Unlike ``float``: no digit separators, and only ASCII digits. Unambiguous mistakes of
hand-written files (``0.07,``, ``-1.57.`` or ``[0, 0, 1]``) are accepted and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)
_STRAY = ",;[]()"
_SEPARATORS = re.compile(r"[\s,;]+")
# Unicode spaces that are no XML white space, such as no-break spaces.
_ODD_SPACE = re.compile(r"[^\S\t\n\v\f\r ]")


class Decimals(Struct, frozen=True):
    """Numbers found in a text.

    Attributes:
        values: At most ``count`` numbers, including NaN and infinities, without
            negative zeros.
        stray: Whether punctuation or Unicode spaces were dropped.
        surplus: Whether there are more numbers.
    """

    values: tuple[float, ...]
    stray: bool
    surplus: bool


def read(text: str, count: int) -> Decimals | None:
    """Read up to ``count`` numbers separated by white space.

    Returns:
        None if the text is blank, or does not start with numbers.
    """
    words = text.split()
    if len(words) == count and all(map(_NUMBER.fullmatch, words)):
        # The common case.
        return Decimals(_values(words), _has_odd_space(text), surplus=False)
    bare = [_bare(word) for word in words]
    if any("," in word or ";" in word for word in bare):
        # Commas without spaces separate only if the count proves that they are not
        # decimal commas: "1,2,3" is a vector, "0,5" is not a number.
        bare = [word for word in _SEPARATORS.split(text.strip()) if word]
        bare = [_bare(word) for word in bare]
        if len([word for word in bare if word]) != count:
            return None
    numbers = [word for word in bare if word]
    if not numbers or not all(map(_NUMBER.fullmatch, numbers[:count])):
        return None
    return Decimals(
        _values(numbers[:count]),
        stray=bare != words or _has_odd_space(text),
        surplus=len(numbers) > count,
    )


def _values(numbers: Iterable[str]) -> tuple[float, ...]:
    # Adding zero turns -0.0 into 0.0.
    return tuple([float(number) + 0.0 for number in numbers])


def _has_odd_space(text: str) -> bool:
    plain = text.isascii() and text.isprintable()
    return not plain and _ODD_SPACE.search(text) is not None


def _bare(word: str) -> str:
    """Drop punctuation around a word, and a full stop after a decimal fraction."""
    inner = word.strip(_STRAY)
    if inner.endswith(".") and not _NUMBER.fullmatch(inner):
        return inner.rstrip(".")
    return inner
