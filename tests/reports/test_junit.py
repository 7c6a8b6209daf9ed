"""Tests of the JUnit file, as a CI system reads it."""

from __future__ import annotations

from pathlib import Path

from lxml import etree
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.junit import write_junit
from urdf_usd.reports.records.record import (
    BaselineRecord,
    Difference,
    Grade,
    KnownFailureRecord,
    RobotRecord,
    Verdict,
)


def _written(robots: tuple[RobotRecord, ...], folder: Path) -> etree._Element:
    path = folder / "junit.xml"
    write_junit(robots, path)
    return etree.fromstring(path.read_bytes())


def test_a_suite_per_robot_and_a_case_per_check(tmp_path: Path) -> None:
    """A robot without checks has one case: its conversion."""
    root = _written(samples.corpus(), tmp_path)
    assert [suite.get("name") for suite in root] == [r.id for r in samples.corpus()]
    cases = root.xpath("testsuite[@name='shifted']/testcase/@name")
    assert cases == [
        "structure.joint_types",
        "kinematics.position",
        "mass.link",
        "mass.inertia",
    ]
    assert root.xpath("testsuite[@name='broken']/testcase/@name") == ["conversion"]


def test_counts_match_the_cases(tmp_path: Path) -> None:
    """CI systems read the attributes."""
    root = _written(samples.corpus(), tmp_path)
    for element in (root, *root):
        cases = element.findall(".//testcase")
        assert element.get("tests") == str(len(cases))
        for count, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert element.get(count) == str(len(element.findall(f".//{tag}")))
        assert all(len(case) <= 1 for case in cases)


def test_failure_shows_values_difference_and_remedy(tmp_path: Path) -> None:
    """Place, both values, difference and advice."""
    root = _written(samples.corpus(), tmp_path)
    (failure,) = root.xpath("testsuite[@name='shifted']//failure")
    assert failure.get("message") == samples.MISPLACED.message
    for part in (
        "link wrist",
        "(0.1, -0.2, 0.3)",
        "(0.1, -0.2, 0.3031)",
        "3.1\N{NO-BREAK SPACE}mm (tolerance 10\N{NO-BREAK SPACE}µm)",
        "sample 4",
        "correct the converter",
    ):
        assert part in failure.text


def test_outcomes_follow_verdicts_and_grades(tmp_path: Path) -> None:
    """A refused URDF is skipped with its diagnostic; a crash is an error."""
    root = _written(samples.corpus(), tmp_path)
    outcomes = {
        str(suite.get("name")): {outcome.tag for outcome in suite.iterfind("testcase/*")}
        for suite in root
    }
    assert outcomes == {
        "alpha": set(),
        "zeta": set(),
        "shifted": {"failure", "skipped"},
        "ambiguous": {"failure"},
        "quiet": {"failure", "skipped"},
        "broken": {"skipped"},
        "remote": {"skipped"},
        "fatal": {"error"},
    }
    (skipped,) = root.xpath("testsuite[@name='broken']//skipped")
    assert "broken.urdf:12:3: error: mismatched tag </link> [xml-syntax]" in skipped.text
    (reason,) = root.xpath("testsuite[@name='quiet']//skipped/@message")
    assert reason == "the USD engine computes the inertia of every link"


def test_nonconforming_robot_has_a_failing_case(tmp_path: Path) -> None:
    """Also if no check fails."""
    for verdict in (Verdict.FAILS, Verdict.DISPUTED, Verdict.NOT_COMPARABLE):
        for checks in ((), (samples.mass(),), (samples.not_comparable(),)):
            root = _written((samples.robot(verdict, checks=checks),), tmp_path)
            assert root.get("failures") == "1"
    root = _written((samples.robot(Verdict.CRASHED),), tmp_path)
    assert root.get("errors") == "1"


def test_control_characters_keep_the_file_well_formed(tmp_path: Path) -> None:
    """XML cannot represent most controls."""
    name = "]]><x>\x00\x1b\ud800\ufffe\r\n\u202e&\"'" + "n" * 10_000
    finding = Difference(
        subject=name, message=name, assigned=Grade.FAILS, expected=name, actual=name
    )
    robot = samples.robot(
        Verdict.FAILS,
        id=name,
        name=name,
        reason=name,
        checks=(samples.position(Grade.FAILS, 1.0, name, (finding,)),),
    )
    root = _written((robot,), tmp_path)
    (failure,) = root.iter("failure")
    assert "]]><x>␀␛\ufffd\ufffd" in str(failure.text)
    assert len(str(failure.get("message"))) == 300


def test_output_is_deterministic(tmp_path: Path) -> None:
    """It contains neither time nor host."""
    _written(samples.corpus(), tmp_path)
    first = (tmp_path / "junit.xml").read_bytes()
    _written(samples.corpus(), tmp_path)
    assert (tmp_path / "junit.xml").read_bytes() == first


def test_many_findings_are_cut_and_counted(tmp_path: Path) -> None:
    """At most twenty are listed."""
    findings = tuple(
        Difference(subject=f"link {i}", message="moved", assigned=Grade.FAILS) for i in range(25)
    )
    check = samples.position(Grade.FAILS, findings=findings)
    root = _written((samples.robot(Verdict.FAILS, checks=(check,)),), tmp_path)
    (failure,) = root.iter("failure")
    assert failure.get("message") == "moved (and 24 more)"
    assert "5 more are in the JSON record." in str(failure.text)


def test_expected_failure_is_skipped_with_its_reason(tmp_path: Path) -> None:
    """A new failure of the same robot stays a failure."""

    def known(robot: str, check: str) -> KnownFailureRecord:
        return KnownFailureRecord(
            robot=robot,
            check=check,
            grade="fails",
            expected="fails",
            message="moved",
            reason="an upstream bug",
        )

    robots = (
        samples.robot(
            Verdict.FAILS,
            name="Arm",
            checks=(samples.position(Grade.FAILS), samples.mass(Grade.FAILS)),
        ),
        samples.robot(Verdict.CRASHED, name="Dead", checks=()),
    )
    expected = (known("arm", "kinematics.position"), known("dead", "verdict"))
    baseline = BaselineRecord(expected=expected)
    summary = structs.replace(samples.summary(robots), baseline=baseline)
    path = tmp_path / "junit.xml"
    write_junit(robots, path, summary)
    root = etree.parse(path).getroot()

    skipped = {
        case.get("name"): case.findtext("skipped") is not None for case in root.iter("testcase")
    }
    assert skipped == {
        "kinematics.position": True,
        "mass.link": False,
        "conversion": True,
    }
    messages = root.xpath("//skipped/@message")
    assert all("expected: an upstream bug" in str(one) for one in messages)
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == (
        "1",
        "0",
        "2",
    )


def test_incomplete_robot_has_a_skipped_case(tmp_path: Path) -> None:
    """With the reason, also if every check passes."""
    robot = samples.robot(Verdict.INCOMPLETE, reason="arm.usda is missing")
    (suite,) = _written((robot,), tmp_path).iterchildren()
    case = suite[0]

    assert case.get("name") == "conversion"
    assert case[0].tag == "skipped"
    assert case[0].get("message") == "incomplete: arm.usda is missing"
    assert suite.get("failures") == "0"


def test_assertions_are_compared_values(tmp_path: Path) -> None:
    """Of a check, of a robot and of the run, whose name has the headline."""
    robots = samples.corpus()
    root = _written(robots, tmp_path)

    assert root.get("assertions") == str(sum(robot.compared for robot in robots))
    assert "values compared" in str(root.get("name"))
    for suite, robot in zip(root, robots, strict=True):
        assert suite.get("assertions") == str(robot.compared)
        stated = [int(case.get("assertions", "0")) for case in suite]
        assert sum(stated) == robot.compared
