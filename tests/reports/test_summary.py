"""What is counted and collected over the robots of a run."""

from __future__ import annotations

import pytest

from tests.reports import samples
from urdf_usd.reports import summary
from urdf_usd.reports.records.record import CheckRecord, EngineRecord, EngineStatus, Grade, Verdict


def test_robots_are_sorted_by_urgency_then_name() -> None:
    names = [robot.name for robot in summary.most_urgent_first(samples.corpus())]
    unread = ["Part", "Broken", "Remote"]
    assert names == ["Shifted", "Fatal", "Ambiguous", "Quiet", *unread, "Alpha", "Zeta"]


@pytest.mark.parametrize(
    ("checks", "grade"),
    [
        ((samples.not_comparable(), samples.mass()), Grade.EXACT),
        ((samples.mass(Grade.FAILS), samples.not_comparable()), Grade.FAILS),
    ],
)
def test_group_has_the_most_urgent_grade_of_its_checks(
    checks: tuple[CheckRecord, ...], grade: Grade
) -> None:
    assert summary.group_grades(samples.robot(checks=checks)) == {"mass": grade}


def test_largest_difference_has_the_largest_share_of_its_tolerance() -> None:
    figures = summary.worst_figures(samples.corpus())
    found = {one.check.id: (one.robot.name, one.value) for one in figures}
    assert found["kinematics.position"] == ("Shifted", 0.0031)
    assert "structure.joint_types" not in found
    groups = summary.largest("group", figures)
    assert {one.check.group: round(one.share, 4) for one in groups} == {
        "kinematics": 310.0,
        "mass": 0.0003,
        "limits": 0.017,
    }


def test_participation_counts_readable_robots() -> None:
    only = EngineRecord(name="drake", side="urdf", status=EngineStatus.OBSERVED)
    robots = samples.robot(name="A", engines=(only,)), samples.robot(name="B", engines=())
    (drake,) = summary.participation(robots)

    assert (drake.share, drake.reasons) == (0.5, (("not used", 1),))
    assert summary.participation((samples.robot(Verdict.UNREADABLE),)) == ()


def test_robot_with_a_deviation_in_two_checks_counts_once() -> None:
    robot = samples.robot(deviations=(samples.DEVIATION, samples.DEVIATION))
    (deviation,) = summary.engine_deviations((robot,))
    assert len(deviation.robots) == 1


def test_known_deviation_of_a_simulator_is_counted_apart() -> None:
    known = samples.DEVIATION.__class__(
        engine="newton-usd", id="far-range", cause="", check="limits.upper", subjects=()
    )
    checks = (samples.limits(unequal=1),)
    robots = (
        samples.robot(checks=checks),
        samples.robot(checks=checks, deviations=(known,)),
        samples.robot(checks=(samples.limits(),)),
    )
    counts = summary.engine_matrix(robots).counts["limits.upper", "newton-usd"]

    assert counts == {
        summary.Outcome.DIFFERS: 1,
        summary.Outcome.DEVIATES: 1,
        summary.Outcome.EQUAL: 1,
    }


def test_files_are_shown_without_their_common_folder() -> None:
    files = ["file:a/b/arm/robot.urdf", "file:a/b/hand/robot.urdf", "file:a/b/car.urdf"]
    other = "pybullet:r2d2.urdf"
    robots = [samples.robot(reference=one) for one in (*files, other)]

    assert summary.short_references(robots) == {
        files[0]: "file:…/arm/robot.urdf",
        files[1]: "file:…/hand/robot.urdf",
        files[2]: "file:…/car.urdf",
        other: other,
    }
    for alone in (["file:a/b/arm.urdf"], ["file:/a/x.urdf", "file:/b/x.urdf"]):
        robots = [samples.robot(reference=one) for one in alone]
        assert summary.short_references(robots) == {one: one for one in alone}
