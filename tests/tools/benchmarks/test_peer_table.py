"""The table of ratios between two converters."""

from __future__ import annotations

import json
from dataclasses import asdict

from tests.tools.benchmarks.peer_table import Comparison, Row, cells, markdown

COMPARISON = Comparison(
    robots=2,
    smallest="a",
    largest="b",
    rows=(Row("wall time", "s", 21.5, 4.3), Row("content: faces", "", 12345, 12345)),
    failures={"c (peer)": "no name"},
)


def test_ratio_is_peer_divided_by_ours() -> None:
    """Above one is better, for every cost."""
    assert cells(COMPARISON.rows[0]) == ("wall time", "21.5 s", "4.3 s", "5.00")


def test_ratio_to_zero_is_not_infinite() -> None:
    """If our value is zero."""
    assert cells(Row("content: x", "", 3, 0))[-1] == "inf"


def test_counts_are_written_in_full() -> None:
    """A count that differs by one must show it."""
    assert cells(COMPARISON.rows[1])[1] == "12,345"


def test_markdown_has_every_row_and_every_failed_robot() -> None:
    """Nothing disappears between measurement and table."""
    text = markdown(COMPARISON)

    assert text.startswith("2 robots; smallest a, largest b")
    assert "| wall time | 21.5 s | 4.3 s | 5.00 |" in text
    assert "left out: c (peer): no name" in text


def test_comparison_can_be_written_as_json() -> None:
    """For plots over releases."""
    assert json.loads(json.dumps(asdict(COMPARISON)))["rows"][0]["peer"] == 21.5
