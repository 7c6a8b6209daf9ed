"""Text of help and rules as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_<>\[\]|#~])")


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows the same."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown cells."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """Return a code block."""
    return f"```{language}\n{text.strip(chr(10))}\n```"


def page(*blocks: str) -> str:
    """Join blocks to a page."""
    return "\n\n".join(block for block in blocks if block) + "\n"
