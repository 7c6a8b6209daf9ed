"""The table of ratios between two converters."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of both converters."""

    quantity: str
    unit: str
    peer: float
    ours: float

    @property
    def ratio(self) -> float:
        """The peer's value divided by ours."""
        return self.peer / self.ours if self.ours else float("inf")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was measured.

    Attributes:
        robots: Number of robots that both convert.
        smallest: Robot of the cold start.
        largest: Robot of the peak memory.
        rows: The quantities.
        failures: Reason by robot and converter.
    """

    robots: int
    smallest: str
    largest: str
    rows: tuple[Row, ...]
    failures: dict[str, str]


HEADINGS = ("quantity", "peer", "ours", "peer / ours")


def show(comparison: Comparison) -> None:
    """Print the table."""
    table = Table(title=_title(comparison))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "quantity" else "right")
    for row in comparison.rows:
        table.add_row(*cells(row))
    console = Console(highlight=False)
    console.print(table)
    for robot, reason in comparison.failures.items():
        console.print(f"left out: {robot}: {reason}", soft_wrap=True)


def markdown(comparison: Comparison) -> str:
    """Return the table as Markdown."""
    lines = [
        _title(comparison),
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|---:|---:|---:|",
        *(f"| {' | '.join(cells(row))} |" for row in comparison.rows),
        "",
        *(f"- left out: {robot}: {why}" for robot, why in comparison.failures.items()),
    ]
    return "\n".join(lines).rstrip() + "\n"


def cells(row: Row) -> tuple[str, str, str, str]:
    """Write a row: measurements with three digits, counts in full."""
    if row.unit:
        peer, ours = (f"{value:.3g} {row.unit}" for value in (row.peer, row.ours))
    else:
        peer, ours = f"{row.peer:,.0f}", f"{row.ours:,.0f}"
    return row.quantity, peer, ours, f"{row.ratio:.2f}"


def _title(comparison: Comparison) -> str:
    return (
        f"{comparison.robots} robots; smallest {comparison.smallest}, largest {comparison.largest}"
    )
