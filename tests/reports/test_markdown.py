"""Tests of the summary for a pull request."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.html.site import write_site
from urdf_usd.reports.markdown import write_markdown
from urdf_usd.reports.records.record import (
    BaselineRecord,
    KnownFailureRecord,
    RobotRecord,
    Verdict,
)


def _written(robots: tuple[RobotRecord, ...], folder: Path) -> list[str]:
    path = folder / "summary.md"
    write_markdown(samples.summary(robots), path)
    return path.read_text("utf-8").splitlines()


def test_summary_has_counts_failures_and_largest_differences(tmp_path: Path) -> None:
    """The three tables, most urgent rows first."""
    lines = _written(samples.corpus(), tmp_path)
    values = sum(robot.compared for robot in samples.corpus())
    assert lines[0] == (
        "## 2 of 6 robots conform, 1 more is unreadable, 1 more is not available; "
        f"{values:,} values compared"
    )
    assert "| ✗ | fails | 1 |" in lines
    start = lines.index("### Robots that do not conform")
    assert lines[start + 4] == (
        "| <code>pybullet:Shifted.urdf</code> | ✗ fails | link wrist: position differs by 3.1 mm |"
    )
    worst = next(line for line in lines if line.startswith("| link position"))
    assert "3.1\N{NO-BREAK SPACE}mm" in worst
    assert "Shifted" in worst
    assert worst.endswith("| ✗ fails |")


def test_summary_of_a_conforming_run_has_no_empty_table(tmp_path: Path) -> None:
    """Headings without rows are left out."""
    lines = _written((samples.robot(),), tmp_path)
    assert "### Robots that do not conform" not in lines
    assert "### Largest differences" in lines
    unchecked = _written((samples.robot(checks=()),), tmp_path)
    assert "### Largest differences" not in unchecked


def test_names_are_escaped_in_table_cells(tmp_path: Path) -> None:
    """Every row keeps its number of cells."""
    name = "a|b`c`<script>x</script>\n# *title* [link](x) @panda \u202e" + "n" * 10_000
    robot = samples.robot(Verdict.FAILS, id="hostile", name=name, reason=name)
    lines = _written((robot,), tmp_path)
    (row,) = [line for line in lines if "✗ fails |" in line and "code" in line]
    assert row.count("|") == 4
    assert not set("`*[]") & set(row)
    assert "<script" not in row
    assert "@panda" not in row
    assert len(row) < 1_000


def test_summary_fits_into_a_github_comment(tmp_path: Path) -> None:
    """GitHub refuses more than 65,536 characters."""
    robots = tuple(samples.robot(Verdict.FAILS, name=f"R{i}", reason="|" * 500) for i in range(400))
    lines = _written(robots, tmp_path)
    assert "and 350 more." in lines
    assert sum(map(len, lines)) < 2 * 65_536


def test_summary_of_an_interrupted_run_says_so_first(tmp_path: Path) -> None:
    """With the number of missing robots."""
    summary = samples.summary(samples.corpus())
    partial = structs.replace(summary, complete=False, unfinished=87)

    write_markdown(partial, tmp_path / "summary.md")
    write_site(partial, samples.corpus(), tmp_path)

    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "**Incomplete:** the run was interrupted, and 87 further" in text
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "and 87 further robots are missing" in page
    write_site(summary, samples.corpus(), tmp_path)
    assert "Incomplete" not in (tmp_path / "index.html").read_text("utf-8")


def test_summary_lists_new_worse_and_fixed_results(tmp_path: Path) -> None:
    """Expected results are counted; names are escaped."""
    new = KnownFailureRecord(
        robot="a|b<i>",
        check="mass.link.mass",
        grade="fails",
        expected="",
        message="link hand: off by 50 %",
    )
    fixed = structs.replace(
        new, robot="zeta", grade="", expected="close", message="", reason="upstream"
    )
    baseline = BaselineRecord(new=(new,), fixed=(fixed,), expected=(fixed, fixed))
    robots = samples.corpus()
    summary = structs.replace(samples.summary(robots), baseline=baseline)
    path = tmp_path / "summary.md"
    write_markdown(summary, path)
    lines = path.read_text("utf-8").splitlines()

    assert "1 new, 0 worse, 1 fixed, 2 as expected." in lines
    assert (
        "| ✗ new | <code>a&#124;b&#60;i&#62;</code> | mass.link.mass "
        "| nothing | fails | link hand: off by 50 % |"
    ) in lines
    assert ("| ✓ fixed | <code>zeta</code> | mass.link.mass | close | passes | upstream |") in lines
