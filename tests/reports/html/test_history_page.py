"""Page of the history, and its figure in the index."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.html.history_page import write_history
from urdf_usd.reports.html.site import write_site
from urdf_usd.reports.records.history import (
    HistoryEntry,
    append_entry,
    read_history,
)
from urdf_usd.reports.records.record import ConverterRecord, RunSummary, Verdict


def _summary(verdict: Verdict) -> RunSummary:
    summary = samples.summary(samples.corpus())
    first, *others = summary.robots
    changed = structs.replace(first, verdict=verdict)
    return structs.replace(summary, robots=(changed, *others))


def _history(folder: Path) -> tuple[HistoryEntry, ...]:
    for label, verdict in (
        ("one", Verdict.EXACT),
        ("<two>", Verdict.FAILS),
        ("three", Verdict.EXACT),
    ):
        append_entry(folder, _summary(verdict), label)
    return read_history(folder)


def test_page_lists_the_regression_and_its_correction(tmp_path: Path) -> None:
    """Labels are escaped; the robot that changed comes first."""
    history = _history(tmp_path / "runs")
    page = write_history(history, tmp_path).read_text("utf-8")
    name = history[0].robots[0].id

    rows = re.findall(r'<tr id="run-(\d)">(.*?)</tr>', page, re.DOTALL)
    assert [number for number, _ in rows] == ["3", "2", "1"]
    assert "fails → exact" in rows[0][1]
    assert "exact → fails" in rows[1][1]
    assert "&lt;two&gt;" in rows[1][1]
    assert "→" not in rows[2][1]
    robots = page[page.index('id="robot-courses"') :]
    assert robots.index(name) < min(robots.index(robot.id) for robot in history[0].robots[1:])
    assert "://" not in page


def test_page_of_robots_outside_the_feature_suite(tmp_path: Path) -> None:
    """No converter has a score then."""
    summary = _summary(Verdict.EXACT)
    converter = ConverterRecord(
        name=summary.robots[0].candidate,
        title="urdf-usd 1",
        recipe="",
        gated=True,
        verdicts=summary.verdicts,
    )
    summary = structs.replace(summary, converters=(converter,))
    append_entry(tmp_path / "runs", summary)

    page = write_history(read_history(tmp_path / "runs"), tmp_path).read_text("utf-8")

    assert " exact" in page
    assert "feature suite:" not in page


def test_index_links_to_the_history_if_there_is_one(tmp_path: Path) -> None:
    """Without, it is as before."""
    robots = samples.corpus()
    summary = samples.summary(robots)
    history = _history(tmp_path / "runs")

    without = write_site(summary, robots, tmp_path).read_text("utf-8")
    index = write_site(summary, robots, tmp_path, history=history).read_text("utf-8")

    assert 'href="history.html' not in without
    assert index.count('href="history.html#run-') == len(history)
