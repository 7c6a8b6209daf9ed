"""Helpers for the texts of diagnostics."""

from __future__ import annotations

from collections.abc import Iterable

LONG_TEXT = 300
_MOST_FAULTS = 20


def truncate(text: str, longest: int = 80) -> str:
    """Shorten a text to a number of characters; ``...`` replaces the rest."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def truncate_list(faults: Iterable[str]) -> tuple[str, ...]:
    """Return distinct texts, truncated; of many the first 20 and the number of others.

    The number is not used for a single text, which would be as long.
    """
    distinct = [truncate(fault, LONG_TEXT) for fault in dict.fromkeys(faults)]
    if len(distinct) <= _MOST_FAULTS + 1:
        return tuple(distinct)
    others = f"there are {len(distinct) - _MOST_FAULTS} more faults"
    return (*distinct[:_MOST_FAULTS], others)


def times(count: int) -> str:
    """Return ``once``, or ``N times``."""
    return "once" if count == 1 else f"{count} times"
