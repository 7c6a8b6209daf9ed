"""What changed between two runs as lines of text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from urdf_usd.conformance.records.change_record import GOOD, ChangeRecord, Kind
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST = 200


def change_lines(changes: Sequence[ChangeRecord]) -> Iterator[Text]:
    """Write how many changes there are of each kind, then each."""
    if not changes:
        yield Text("nothing changed")
        return
    counts = Counter(change.kind for change in changes)
    yield Text(
        ", ".join(f"{counts[kind]} {kind}" for kind in Kind if counts[kind]),
        style="bold",
    )
    for change in changes:
        sign = ("✗", "red") if change.worse else _mild(change.kind)
        yield Text.assemble(sign, f" {_words(change)}")


def _mild(kind: Kind) -> tuple[str, str]:
    return ("✓", "green") if kind in GOOD else ("·", "dim")


def _words(change: ChangeRecord) -> str:
    place = f"{change.subject} {change.check}" if change.check else change.subject
    values = " → ".join(value or "nothing" for value in (change.before, change.after))
    step = f": {values}" if change.before or change.after else ""
    detail = f" ({one_line(change.detail, _LONGEST)})" if change.detail else ""
    return f"{change.kind}: {place}{step}{detail}"
