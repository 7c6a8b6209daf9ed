"""Helpers for the texts of diagnostics."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic

LONG_TEXT = 300
_MOST_FAULTS = 20
# Diagnostics of one rule that are reported each; further ones are counted.
MOST_ALIKE = 100


class Alike(Struct, frozen=True):
    """One diagnostic, or the last of several with the same rule, and their number."""

    one: Diagnostic
    count: int

    def described(self, message: str) -> str:
        """Return a message about it, with the number of those that it stands for."""
        if self.count == 1:
            return message
        return f"{self.count:,} more, the last of them: {message}"


def group_alike(found: Sequence[Diagnostic]) -> tuple[Alike, ...]:
    """Keep the first 100 of each rule, and the last for all others, in order.

    A generated file may have an unknown attribute in each of a million elements.
    """
    totals = Counter(one.rule for one in found)
    seen: Counter[str] = Counter()
    kept = []
    for one in found:
        seen[one.rule] += 1
        if seen[one.rule] <= MOST_ALIKE:
            kept.append(Alike(one, 1))
        elif seen[one.rule] == totals[one.rule]:
            kept.append(Alike(one, totals[one.rule] - MOST_ALIKE))
    return tuple(kept)


def escaped(path: str | os.PathLike[str]) -> str:
    """Return a path as UTF-8 text; other bytes are escaped.

    Python decodes them as lone surrogates, which OpenUSD and JSON refuse.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_failure(target: Path, reason: str) -> str:
    """Describe a file or folder that cannot be written, with the space that is left."""
    message = f"{target} cannot be written: {reason}"
    above = target.absolute()
    try:
        while not above.exists():
            above = above.parent
        free = shutil.disk_usage(above).free / 2**20
    except (OSError, ValueError):
        # A name that no file can have, or a folder without access.
        return message
    return f"{message}; {free:,.1f} MiB are free in {above}"


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
