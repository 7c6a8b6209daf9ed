"""Types of attribute values, and their parsing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V", bound=tuple[float, ...])


class Value(Struct, Generic[T_co], frozen=True):
    """A parsed value; ``content`` is None if it is unusable."""

    content: T_co | None
    flaws: tuple[Diagnostic, ...] = ()


class Kind(Protocol[T_co]):
    """A type of attribute value."""

    def read(self, text: str) -> Value[T_co]:
        """Parse the text of an attribute; never raises."""


class Text(Struct, frozen=True):
    """Any text that is not blank."""

    def read(self, text: str) -> Value[str]:
        """Return the text as it is; nothing if it is blank."""
        return Value(text if text.strip() else None)


class Name(Text, frozen=True):
    """A name, or a reference by name."""


class Flag(Struct, frozen=True):
    """A truth value: ``true`` or ``false``, ``1`` or ``0``, in any case."""

    def read(self, text: str) -> Value[bool]:
        """Parse a boolean."""
        word = text.strip().lower()
        if word in {"true", "1"}:
            return Value(content=True)
        if word in {"false", "0"}:
            return Value(content=False)
        return Value(None, (Diagnostic("flag-invalid", "is neither true nor false"),))


class Number(Struct, frozen=True):
    """One number.

    Attributes:
        infinity: The infinite value that is allowed (unlimited), or None.
    """

    infinity: float | None = None

    def read(self, text: str) -> Value[float]:
        """Parse a number, which must be finite or the allowed infinity."""
        found = read_decimals(text, 1)
        if found is None:
            return Value(None, (Diagnostic("number-invalid", "is not a decimal number"),))
        (number,), stray, surplus = found
        if not math.isfinite(number) and number != self.infinity:
            return Value(None, (Diagnostic("number-nonfinite", "is not finite"),))
        return Value(number, _flaws(1, stray, surplus))


class Vector(Struct, Generic[V], frozen=True):
    """Several numbers.

    Attributes:
        count: Number of components.
        complete: Completes a vector that is too short; returns None if ambiguous.
    """

    count: int
    complete: Callable[[tuple[float, ...]], V | None] = lambda _: None

    def read(self, text: str) -> Value[V]:
        """Parse a vector of finite numbers."""
        found = read_decimals(text, self.count)
        if found is None:
            flaw = Diagnostic("number-invalid", f"does not hold {self.count} decimal numbers")
            return Value(None, (flaw,))
        values, stray, surplus = found
        if not all(map(math.isfinite, values)):
            return Value(None, (Diagnostic("number-nonfinite", "is not finite"),))
        flaws = _flaws(self.count, stray, surplus)
        if len(values) == self.count:
            return Value(cast("V", values), flaws)
        short = f"holds {len(values)} of {self.count} numbers"
        completed = self.complete(values)
        if completed is None:
            return Value(None, (Diagnostic("number-invalid", short),))
        return Value(completed, (*flaws, Diagnostic("vector-completed", short)))


def _flaws(count: int, stray: bool, surplus: bool) -> tuple[Diagnostic, ...]:
    flaws = []
    if stray:
        flaws.append(Diagnostic("number-punctuation", "has stray punctuation"))
    if surplus:
        plural = "s" if count > 1 else ""
        flaws.append(Diagnostic("vector-length", f"holds more than {count} number{plural}"))
    return tuple(flaws)


_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)
_STRAY = ",;[]()"
_SEPARATORS = re.compile(r"[\s,;]+")
# Unicode spaces that are no XML white space, such as no-break spaces.
_ODD_SPACE = re.compile(r"[^\S\t\n\v\f\r ]")


def read_decimals(text: str, count: int) -> tuple[tuple[float, ...], bool, bool] | None:
    """Read up to ``count`` numbers separated by white space.

    Unlike ``float``: no digit separators, and only ASCII digits. Unambiguous mistakes of
    hand-written files (``0.07,``, ``-1.57.`` or ``[0, 0, 1]``) are accepted.

    Returns:
        The numbers, including NaN and infinities, without negative zeros; whether
        punctuation or Unicode spaces were dropped; whether there are more numbers. None
        if the text is blank, or does not start with numbers.
    """
    words = text.split()
    plain = text.isascii() and text.isprintable()
    odd_space = not plain and _ODD_SPACE.search(text) is not None
    if len(words) == count and all(map(_NUMBER.fullmatch, words)):
        # The common case. Adding zero turns -0.0 into 0.0.
        return tuple([float(number) + 0.0 for number in words]), odd_space, False
    bare = [_bare(word) for word in words]
    if any("," in word or ";" in word for word in bare):
        # Commas without spaces separate only if the count proves that they are not
        # decimal commas: "1,2,3" is a vector, "0,5" is not a number.
        bare = [_bare(word) for word in _SEPARATORS.split(text.strip()) if word]
        if len([word for word in bare if word]) != count:
            return None
    numbers = [word for word in bare if word]
    if not numbers or not all(map(_NUMBER.fullmatch, numbers[:count])):
        return None
    values = tuple([float(number) + 0.0 for number in numbers[:count]])
    return values, bare != words or odd_space, len(numbers) > count


def _bare(word: str) -> str:
    """Drop punctuation around a word, and a full stop after a decimal fraction."""
    inner = word.strip(_STRAY)
    if inner.endswith(".") and not _NUMBER.fullmatch(inner):
        return inner.rstrip(".")
    return inner
