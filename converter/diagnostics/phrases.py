"""Phrases that messages share."""

from __future__ import annotations

_LONGEST = 80


def shorten(text: str) -> str:
    """Cut a text that would drown a message."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def times(count: int) -> str:
    """Say how often something occurs."""
    return "once" if count == 1 else f"{count} times"
