"""What holds of JUnit, SARIF, Markdown, badge and terminal, whatever they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree
from msgspec import structs

from tests.reports import samples
from tests.reports.documents import shown, write_run
from urdf_usd.reports.changes import MOST_ROWS, sorted_changes
from urdf_usd.reports.records import record as r
from urdf_usd.reports.run_report import write_badges, write_junit, write_markdown, write_sarif
from urdf_usd.reports.summary import headline
from urdf_usd.reports.terminal import terminal_summary

_SVG = "{http://www.w3.org/2000/svg}"


def _junit(
    robots: tuple[r.RobotRecord, ...], folder: Path, expected: r.BaselineRecord | None = None
) -> etree._Element:
    summary = structs.replace(samples.summary(robots), baseline=expected)
    write_junit(robots, folder / "junit.xml", summary)
    return etree.parse(folder / "junit.xml").getroot()


def _terminal(robots: tuple[r.RobotRecord, ...], *, width: int = 100, colours: bool = False) -> str:
    return shown(terminal_summary(samples.figures(robots)), width=width, colours=colours)


def _wrong(name: str) -> r.RobotRecord:
    """Return a failing robot in whose record a name occurs everywhere."""
    finding = r.Difference(
        subject=name, message=name, assigned=r.Grade.FAILS, expected=name, actual=name
    )
    check = samples.position(r.Grade.FAILS, 1.0, name, (finding,))
    return samples.robot(r.Verdict.FAILS, id=name, name=name, reason=name, checks=(check,))


def test_reports_are_deterministic(tmp_path: Path) -> None:
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
        write_run(samples.corpus(), folder)
    first, second = (
        {one.relative_to(folder): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
        for folder in folders
    )
    assert first == second


def test_junit_counts_match_the_cases(tmp_path: Path) -> None:
    robots = samples.corpus()
    root = _junit(robots, tmp_path)

    for element in (root, *root):
        assert element.get("tests") == str(len(element.findall(".//testcase")))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(count) == str(len(element.findall(f".//{tag}")))
        assert all(len(case) <= 1 for case in element.findall(".//testcase"))
    for suite, robot in zip(root, robots, strict=True):
        assert suite.get("assertions") == str(robot.compared)
        assert sum(int(case.get("assertions", "0")) for case in suite) == robot.compared


@pytest.mark.parametrize("verdict", [r.Verdict.FAILS, r.Verdict.DISPUTED, r.Verdict.NOT_COMPARABLE])
@pytest.mark.parametrize("checks", [(), (samples.mass(),), (samples.not_comparable(),)])
def test_nonconforming_robot_has_a_failing_case(
    verdict: r.Verdict, checks: tuple[()], tmp_path: Path
) -> None:
    root = _junit((samples.robot(verdict, checks=checks),), tmp_path)

    assert (root.get("failures"), root.get("errors")) == ("1", "0")


def test_expected_crash_is_skipped_in_junit(tmp_path: Path) -> None:
    crashed = samples.robot(r.Verdict.CRASHED, checks=())
    entry = structs.replace(samples.known("arm", "crashed", "crashed"), check="verdict")

    assert _junit((crashed,), tmp_path).get("errors") == "1"
    root = _junit((crashed,), tmp_path, r.BaselineRecord(expected=(entry,)))
    assert (root.get("errors"), root.get("skipped")) == ("0", "1")
    assert "expected: an upstream bug" in str(root.xpath("//skipped/@message")[0])


def test_long_lists_are_cut_and_counted(tmp_path: Path) -> None:
    findings = tuple(
        r.Difference(subject=f"link {i}", message="moved", assigned=r.Grade.FAILS)
        for i in range(25)
    )
    other = r.Difference(subject="link a", message="disputed", assigned=r.Grade.DISPUTED)
    check = samples.position(r.Grade.FAILS, findings=(*findings, other))
    root = _junit((samples.robot(r.Verdict.FAILS, checks=(check,)),), tmp_path)
    (failure,) = root.iter("failure")
    assert failure.get("message") == "moved (and 24 more)"
    assert "5 more are in the JSON record." in str(failure.text)

    change = r.ChangeRecord(r.ChangeKind.WORSE, True, "arm")
    many = sorted_changes(r.FormerRunRecord(name="a", changes=(change,) * (MOST_ROWS + 7)))
    assert many is not None
    assert (len(many.rows), many.hidden) == (MOST_ROWS, 7)
    assert many.sentence == f"{MOST_ROWS + 7} worse"


def test_control_characters_keep_files_well_formed(tmp_path: Path) -> None:
    robot = _wrong("]]><x>\x00\x1b\ud800\ufffe\r\n\u202e&\"'" + "n" * 10_000)
    (failure,) = _junit((robot,), tmp_path).iter("failure")
    assert "]]><x>␀␛\ufffd\ufffd" in str(failure.text)
    assert len(str(failure.get("message"))) == 300

    odd = r.DiagnosticRecord(rule="x", severity="error", message="\ud800", file="\ud800.urdf")
    robot = samples.robot(diagnostics=(odd,))
    write_sarif((robot,), tmp_path / "findings.sarif")
    (run,) = json.loads((tmp_path / "findings.sarif").read_text("utf-8"))["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["x"]


def test_names_keep_cells_of_markdown_apart(tmp_path: Path) -> None:
    name = "a|b`c`<script>x</script>\n# *title* [link](x) @panda \u202e" + "n" * 10_000
    robot = samples.robot(r.Verdict.FAILS, id="hostile", name=name, reason=name)
    write_markdown(samples.figures((robot,)), tmp_path / "summary.md")
    lines = (tmp_path / "summary.md").read_text("utf-8").splitlines()

    (row,) = [line for line in lines if "✗ fails |" in line and "code" in line]
    assert row.count("|") == 4
    assert not set("`*[]") & set(row)
    assert "<script" not in row
    assert "@panda" not in row
    assert len(row) < 1_000


def test_markdown_fits_into_a_github_comment(tmp_path: Path) -> None:
    robots = tuple(
        samples.robot(r.Verdict.FAILS, name=f"R{i}", reason="|" * 500) for i in range(400)
    )
    write_markdown(samples.figures(robots), tmp_path / "summary.md")
    text = (tmp_path / "summary.md").read_text("utf-8")

    assert "and 350 more." in text
    assert len(text) < 2 * 65_536


@pytest.mark.parametrize(
    ("verdicts", "label"),
    [
        ((r.Verdict.EXACT, r.Verdict.CLOSE), "2 of 2 conform"),
        ((r.Verdict.EXACT, r.Verdict.FAILS, r.Verdict.CRASHED), "1 of 3 conform"),
        ((r.Verdict.EXACT, r.Verdict.UNREADABLE), "1 of 1 conform"),
        ((r.Verdict.EXACT, r.Verdict.INCOMPLETE), "1 of 2 conform, 1 incomplete"),
        ((r.Verdict.NOT_AVAILABLE,), "no robots"),
    ],
)
def test_badge_counts_readable_robots(
    verdicts: tuple[r.Verdict, ...], label: str, tmp_path: Path
) -> None:
    robots = tuple(samples.robot(verdict) for verdict in verdicts)
    write_badges(samples.figures(robots), tmp_path)
    svg = etree.fromstring((tmp_path / "badge.svg").read_bytes())

    assert [text.text for text in svg.iter(f"{_SVG}text")][-1] == label
    counts = label.partition(" conform")[0].replace("no robots", "0 of 0")
    assert headline(robots).startswith(f"{counts} robots conform")


def test_run_takes_at_most_forty_lines_of_the_terminal() -> None:
    many = tuple(samples.robot(r.Verdict.FAILS, name=f"Wrong {i}") for i in range(40))
    lines = _terminal(samples.corpus() + many).splitlines()

    assert len(lines) <= 45
    assert any("and 38 more" in line for line in lines)


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ((), "openusd"),
        (("pybullet",), "Not compared with pybullet: not installed or not selected"),
        (("mujoco", "pybullet"), "Not compared with mujoco and pybullet: not"),
    ],
)
def test_last_line_names_engines_that_took_no_part(absent: tuple[str, ...], expected: str) -> None:
    robots = tuple(
        structs.replace(robot, engines=tuple(e for e in robot.engines if e.name not in absent))
        for robot in samples.corpus()
    )
    assert _terminal(robots).splitlines()[-1].strip().startswith(expected)


def test_single_robot_fits_into_a_narrow_terminal() -> None:
    finding = structs.replace(samples.UNTYPED, message="joint elbow: " + "off " * 40)
    check = samples.position(r.Grade.FAILS, 1.0, "elbow", (finding,) * 9)
    checks = tuple(structs.replace(check, group=f"g{n}") for n in range(8))
    text = _terminal((samples.robot(r.Verdict.FAILS, checks=checks),), width=60)

    assert len(text.splitlines()) <= 30
    assert text.index("Fault:") < text.index("Remedy:")


def test_names_have_no_effect_on_the_terminal() -> None:
    robot = _wrong("[red]x\x1b[2J\u202e" + "n" * 10_000)
    for robots in ((robot,), (robot, samples.robot(name="Zeta"))):
        text = _terminal(robots)
        assert "[red]x␛[2J\\u202e" in text
        assert not {"\x1b", "\u202e"} & set(text)
        assert len(text.splitlines()) < 30


@pytest.mark.parametrize(
    ("folder", "printed"), [(f"file:downloads/{'assets/' * 8}", "file:…/"), ("file:r/", "file:r/")]
)
def test_files_in_deep_folders_are_told_apart(folder: str, printed: str) -> None:
    places = "left_hand/robot.urdf", "right_hand/robot.urdf"
    text = _terminal(
        tuple(samples.robot(r.Verdict.CLOSE, id=one, reference=f"{folder}{one}") for one in places)
    )
    assert all(f"{printed}{place}  " in text for place in places)
