"""Changes since a previous run in all reports."""

from __future__ import annotations

import io
from pathlib import Path

from lxml import html
from msgspec import structs
from rich.console import Console

from tests.reports import samples
from urdf_usd.reports.changes import MOST_ROWS, sign, sorted_changes, style_class
from urdf_usd.reports.html.site import write_site
from urdf_usd.reports.markdown import write_markdown
from urdf_usd.reports.records.record import (
    ChangeKind,
    ChangeRecord,
    FormerRunRecord,
)
from urdf_usd.reports.terminal import terminal_summary

FAILING = ChangeRecord(
    kind=ChangeKind.NEWLY_FAILING,
    worse=True,
    subject="shifted",
    before="exact",
    after="fails",
    detail="link <wrist> moved",
)
FIXED = ChangeRecord(kind=ChangeKind.FIXED, worse=False, subject="zeta", after="exact")
WORSE = ChangeRecord(
    kind=ChangeKind.WORSE,
    worse=True,
    subject="alpha",
    check="kinematics.position",
    before="1e-08 m",
    after="3e-06 m",
)
GONE = ChangeRecord(kind=ChangeKind.REMOVED, worse=True, subject="gone", before="exact")
SETTING = ChangeRecord(
    kind=ChangeKind.SETTING, worse=False, subject="environment mujoco", before="3", after="4"
)
FORMER = FormerRunRecord(name="before", changes=(FAILING, GONE, WORSE, FIXED, SETTING))
ROBOTS = samples.corpus()
SUMMARY = structs.replace(samples.summary(ROBOTS), former=FORMER)
COUNTS = "1 newly failing, 1 removed, 1 worse, 1 fixed"


def test_run_page_lists_changes(tmp_path: Path) -> None:
    """With links to robots that are in the run, and to the check."""
    path = write_site(SUMMARY, ROBOTS, tmp_path)
    page = html.fromstring(path.read_text("utf-8"))
    table = page.get_element_by_id("former-table")
    rows = [
        [" ".join(cell.text_content().split()) for cell in row] for row in table.xpath("tbody/tr")
    ]
    nothing = "\N{EN DASH}"
    assert rows == [
        ["✗ newly failing", "shifted", "all", "exact", "fails", "link <wrist> moved"],
        ["✗ removed", "gone", "all", "exact", nothing, ""],
        ["✗ worse", "alpha", "kinematics.position", "1e-08 m", "3e-06 m", ""],
        ["✓ fixed", "zeta", "all", nothing, "exact", ""],
    ]
    assert table.xpath(".//a/@href") == [
        "robots/shifted.html",
        "robots/alpha.html#check-kinematics.position",
        "robots/zeta.html",
    ]
    settings = page.get_element_by_id("former-settings").text_content()
    assert "environment mujoco" in settings
    (section,) = page.xpath("//section[h2/@id='former']")
    assert f"the run in before: {COUNTS}." in section.text_content()


def test_markdown_lists_changes(tmp_path: Path) -> None:
    """Names are escaped."""
    write_markdown(SUMMARY, tmp_path / "summary.md")
    lines = (tmp_path / "summary.md").read_text("utf-8").splitlines()
    assert f"{COUNTS}." in lines
    row = (
        "| ✗ newly failing | <code>shifted</code> |  | exact | fails | link &#60;wrist&#62; moved |"
    )
    assert row in lines


def test_terminal_counts_changes_in_one_line() -> None:
    """The page has the list."""
    stream = io.StringIO()
    Console(file=stream, width=100).print(terminal_summary(SUMMARY, ROBOTS))
    assert f"Since before: {COUNTS}" in stream.getvalue()


def test_run_without_changes_says_so() -> None:
    """Changed versions alone do not count."""
    changes = sorted_changes(FormerRunRecord(name="a", changes=(SETTING,)))
    assert changes is not None
    assert changes.sentence == "nothing changed"
    assert changes.settings == (SETTING,)


def test_long_lists_of_changes_are_cut_and_counted() -> None:
    """Further changes are only counted."""
    many = sorted_changes(FormerRunRecord(name="a", changes=(WORSE,) * (MOST_ROWS + 7)))
    assert many is not None
    assert (len(many.rows), many.hidden) == (MOST_ROWS, 7)
    assert many.sentence == f"{MOST_ROWS + 7} worse"


def test_sign_of_a_change_matches_its_colour() -> None:
    """Worse, better, and neutral."""
    added = structs.replace(FIXED, kind=ChangeKind.ADDED)
    marks = [(sign(one), style_class(one)) for one in (WORSE, FIXED, added)]
    assert marks == [("✗", "fails"), ("✓", "exact"), ("·", "not-comparable")]
