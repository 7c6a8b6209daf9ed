"""What changed since a former run, sorted for readers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.records.change_record import GOOD, Kind

if TYPE_CHECKING:
    from urdf_usd.conformance.records.change_record import ChangeRecord, FormerRunRecord

# Beyond them a table is no help; the words say how many there are.
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Changes:
    """What a report says of a former run.

    Attributes:
        name: Name of the former run's folder.
        counts: Kinds of change and how often each happened, the gravest first.
        rows: Changes of robots, likewise; not all if they are very many.
        hidden: Number of changes of robots that are left out.
        settings: Versions and options that are others.
    """

    name: str
    counts: tuple[tuple[Kind, int], ...]
    rows: tuple[ChangeRecord, ...]
    hidden: int
    settings: tuple[ChangeRecord, ...]

    @property
    def sentence(self) -> str:
        """The counts in words."""
        said = ", ".join(f"{count} {kind}" for kind, count in self.counts)
        return said or "nothing changed"


def sorted_changes(former: FormerRunRecord) -> Changes:
    """Sort what changed into robots and settings."""
    robots = [one for one in former.changes if one.kind is not Kind.SETTING]
    return Changes(
        name=former.name,
        counts=tuple(Counter(one.kind for one in robots).items()),
        rows=tuple(robots[:MOST_ROWS]),
        hidden=max(len(robots) - MOST_ROWS, 0),
        settings=tuple(one for one in former.changes if one.kind is Kind.SETTING),
    )


def sign(change: ChangeRecord) -> str:
    """Return the sign of a change: for the worse, for the better, or neither."""
    return {"fails": "✗", "exact": "✓"}.get(look(change), "·")


def look(change: ChangeRecord) -> str:
    """Return the class in the style sheet that goes with it."""
    if change.worse:
        return "fails"
    return "exact" if change.kind in GOOD else "not-comparable"
