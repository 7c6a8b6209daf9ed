"""Reports as they were when they were last looked at.

``UPDATE_SNAPSHOTS=1 pytest tests/reports/test_snapshots.py`` writes the files of the
folder ``snapshots``; their changes are part of the change that is reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reports import samples
from tests.reports.documents import snapshot, write_converters, write_run, write_terminals

_STORED = Path(__file__).with_name("snapshots")
_REPORTS = {
    "run": (
        "index.html",
        "history.html",
        "robots/shifted.html",
        "robots/alpha.html",
        "robots/broken.html",
        "robots/fatal.html",
        "summary.md",
        "junit.xml",
        "findings.sarif",
        "badge.svg",
        "badge.json",
        "matrix.json",
        "run.txt",
        "check.txt",
    ),
    "converters": ("index.html", "suite.html", "comparison.md", "comparison.txt"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write all reports."""
    folder = tmp_path_factory.mktemp("reports")
    for name in _REPORTS:
        (folder / name).mkdir()
    robots = samples.corpus()
    summary = write_run(robots, folder / "run")
    write_terminals(robots, summary, folder / "run")
    write_converters(folder / "converters")
    return folder


@pytest.mark.parametrize(
    "name", [f"{run}/{report}" for run, reports in _REPORTS.items() for report in reports]
)
def test_report_is_as_stored(name: str, folder: Path) -> None:
    stored = _STORED / f"{name.replace('/', '-')}.txt"
    current = snapshot(folder / name)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(current, encoding="utf-8")

    assert current == stored.read_text("utf-8")
