"""Types of attribute values, and their parsing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.urdf import decimals

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
        found = decimals.read(text, 1)
        if found is None:
            return Value(None, (Diagnostic("number-invalid", "is not a decimal number"),))
        (number,) = found.values
        if not math.isfinite(number) and number != self.infinity:
            return Value(None, (Diagnostic("number-nonfinite", "is not finite"),))
        return Value(number, _flaws(found, 1))


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
        found = decimals.read(text, self.count)
        if found is None:
            flaw = Diagnostic("number-invalid", f"does not hold {self.count} decimal numbers")
            return Value(None, (flaw,))
        if not all(map(math.isfinite, found.values)):
            return Value(None, (Diagnostic("number-nonfinite", "is not finite"),))
        flaws = _flaws(found, self.count)
        if len(found.values) == self.count:
            return Value(cast("V", found.values), flaws)
        short = f"holds {len(found.values)} of {self.count} numbers"
        completed = self.complete(found.values)
        if completed is None:
            return Value(None, (Diagnostic("number-invalid", short),))
        return Value(completed, (*flaws, Diagnostic("vector-completed", short)))


def _flaws(found: decimals.Decimals, count: int) -> tuple[Diagnostic, ...]:
    flaws = []
    if found.stray:
        flaws.append(Diagnostic("number-punctuation", "has stray punctuation"))
    if found.surplus:
        plural = "s" if count > 1 else ""
        flaws.append(Diagnostic("vector-length", f"holds more than {count} number{plural}"))
    return tuple(flaws)
