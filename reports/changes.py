"""Changes since a previous run, sorted for reports."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from urdf_usd.reports.records.change_record import (
    GOOD,
    ChangeRecord,
    FormerRunRecord,
    Kind,
)

# Further changes are only counted.
MOST_ROWS = 200


class Changes(Struct, frozen=True):
    """Changes since a previous run.

    Attributes:
        name: Name of the previous run's folder.
        counts: Number of changes of robots of each kind, the worst kind first.
        rows: Changes of robots in that order, at most ``MOST_ROWS``.
        hidden: Number of changes of robots that ``rows`` leaves out.
        settings: Changed versions and options.
    """

    name: str
    counts: tuple[tuple[Kind, int], ...]
    rows: tuple[ChangeRecord, ...]
    hidden: int
    settings: tuple[ChangeRecord, ...]

    @property
    def sentence(self) -> str:
        """The counts as text."""
        text = ", ".join(f"{count} {kind}" for kind, count in self.counts)
        return text or "nothing changed"


def sorted_changes(former: FormerRunRecord) -> Changes:
    """Separate changes of robots from changed settings."""
    robots = [one for one in former.changes if one.kind is not Kind.SETTING]
    return Changes(
        name=former.name,
        counts=tuple(Counter(one.kind for one in robots).items()),
        rows=tuple(robots[:MOST_ROWS]),
        hidden=max(len(robots) - MOST_ROWS, 0),
        settings=tuple(one for one in former.changes if one.kind is Kind.SETTING),
    )


def sign(change: ChangeRecord) -> str:
    """Return the sign of a change: worse, better, or neutral."""
    return {"fails": "✗", "exact": "✓"}.get(style_class(change), "·")


def style_class(change: ChangeRecord) -> str:
    """Return the style-sheet class of a change."""
    if change.worse:
        return "fails"
    return "exact" if change.kind in GOOD else "not-comparable"
