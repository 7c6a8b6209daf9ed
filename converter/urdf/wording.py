"""Phrases that messages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.converter.urdf.elements import Element

_LONGEST = 80


def describe(element: Element) -> str:
    """Name an element for a message: its tag, and its name if it has one."""
    name = element.get("name")
    if not name:
        return f"<{element.tag}>"
    return f"<{element.tag} name={shorten(repr(name))}>"


def shorten(text: str) -> str:
    """Cut a text that would drown a message."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def times(count: int) -> str:
    """Say how often something occurs."""
    return "once" if count == 1 else f"{count} times"
