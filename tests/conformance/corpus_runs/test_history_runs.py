"""History of runs with a converter that has a fault for some of them."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import html

from urdf_usd.cli.main import main
from urdf_usd.reports.changes import changed_results, changed_settings
from urdf_usd.reports.records.history import read_history
from urdf_usd.reports.records.record import CaseOutcome, Grade, Verdict

CASE = "suite:inertial/mass"
CONVERTER = """
import pathlib, sys
from urdf_usd.converter import convert

urdf, out = map(pathlib.Path, sys.argv[1:])
changed = pathlib.Path("changed.urdf")
changed.write_text(urdf.read_text().replace('value="2.75"', 'value="{mass}"'))
convert(changed, out)
"""
# The third and fourth version double a mass.
MASSES = ("2.75", "2.75", "5.5", "5.5", "2.75")
FAULTY = (3, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the history of five runs, beside the report of the last."""
    folder = tmp_path_factory.mktemp("history")
    program = folder / "converter.py"
    for number, mass in enumerate(MASSES, 1):
        program.write_text(CONVERTER.format(mass=mass))
        arguments = (
            *("run", CASE, "--out", folder / "report", "--engine", "mujoco"),
            *("--converter", f"new={sys.executable} {program} {{urdf}} {{out}}"),
            *("--converter-version", f"new=0.{number}"),
            *("--history", folder / "runs", "--label", f"commit {number}"),
        )
        done = CliRunner().invoke(main, list(map(str, arguments)))
        assert done.exit_code == int(number in FAULTY), done.output
    return folder


def test_regression_is_in_the_runs_that_have_it(folder: Path) -> None:
    """With the version that brought it, and the one that corrected it."""
    entries = read_history(folder / "runs")
    robots = [entry.robots[0] for entry in entries]
    changes = [changed_results(before, after) for before, after in pairwise(entries)]

    assert [entry.label for entry in entries] == [f"commit {n}" for n in range(1, 6)]
    for number, (entry, robot) in enumerate(zip(entries, robots, strict=True), 1):
        faulty = number in FAULTY
        assert robot.verdict is (Verdict.FAILS if faulty else Verdict.EXACT)
        assert robot.case is (CaseOutcome.FAIL if faulty else CaseOutcome.PASS)
        assert entry.suite[0].must.passed == int(not faulty)
        relative = robot.worst["mass.link.mass"]
        assert relative == pytest.approx(1.0 if faulty else 0.0, abs=1e-6)
    assert [len(found) for found in changes] == [0, 1, 0, 1]
    ((worse,), (better,)) = changes[1], changes[3]
    assert worse.worse
    assert f"mass.link.mass: {Grade.EXACT} → {Grade.FAILS}" in worse.detail.splitlines()
    assert not better.worse
    (version,) = changed_settings(entries[1].converters, entries[2].converters)
    assert (version.before, version.after) == ("0.2", "0.3")


def test_page_shows_the_trend(folder: Path) -> None:
    """A column and a row for each run, and a sign of the robot for each."""
    page = html.fromstring((folder / "report" / "history.html").read_text("utf-8"))

    rows = page.xpath("//table[@id='run-changes']/tbody/tr")
    texts = [" ".join(row.text_content().split()) for row in rows]
    assert ["▼" in text for text in texts] == [False, False, True, False, False]
    assert ["▲" in text for text in texts] == [True, False, False, False, False]
    assert ["0 of 1 must" in t for t in texts] == [False, True, True, False, False]
    (course,) = page.xpath("//table[@id='robot-courses']/tbody/tr")
    signs = course.xpath("td[@data-label='verdicts']/span/@title")
    assert signs == [
        f"run {number}: {'fails' if number in FAULTY else 'exact'}" for number in range(1, 6)
    ]
