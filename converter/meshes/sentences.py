"""What is said of a file, when the file may have any number of faults of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 20
_LONGEST = 300


def few(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences once each; of very many the first, and how many there are."""
    distinct = list(dict.fromkeys(sentences))
    # One sentence more would only be replaced by its number.
    if len(distinct) <= _MOST + 1:
        return tuple(map(brief, distinct))
    shown = map(brief, distinct[:_MOST])
    return (*shown, f"there are {len(distinct) - _MOST} more faults")


def brief(sentence: str) -> str:
    """Cut a sentence that would drown a report."""
    if len(sentence) <= _LONGEST:
        return sentence
    return sentence[: _LONGEST - 3] + "..."
