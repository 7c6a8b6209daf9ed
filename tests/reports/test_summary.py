"""Tests of the summary of a run."""

from __future__ import annotations

from tests.reports import samples
from urdf_usd.reports import summary
from urdf_usd.reports.records.record import (
    EngineRecord,
    EngineStatus,
    Grade,
    Verdict,
)


def test_robots_are_sorted_by_urgency_then_name() -> None:
    """Exact and close robots are not separated."""
    names = [robot.name for robot in summary.most_urgent_first(samples.corpus())]
    assert names == [
        "Shifted",
        "Fatal",
        "Ambiguous",
        "Quiet",
        "Broken",
        "Remote",
        "Alpha",
        "Zeta",
    ]


def test_robot_without_a_name_is_titled_by_its_id() -> None:
    """A link needs a text."""
    assert summary.title(samples.robot(name=" ", id="arm-2")) == "arm-2"


def test_a_group_has_the_most_urgent_grade_of_its_checks() -> None:
    """Checks that are not comparable hide no other grade."""
    checks = (samples.not_comparable(), samples.mass())
    assert summary.group_grades(samples.robot(checks=checks)) == {"mass": Grade.EXACT}
    checks = (samples.mass(Grade.FAILS), samples.not_comparable())
    assert summary.group_grades(samples.robot(checks=checks)) == {"mass": Grade.FAILS}


def test_largest_difference_of_every_check_names_its_robot() -> None:
    """Checks of equality have none."""
    figures = summary.worst_figures(samples.corpus())
    found = {f.check.id: (f.robot.name, f.value) for f in figures}
    assert found["kinematics.position"] == ("Shifted", 0.0031)
    assert found["limits.upper"] == ("Alpha", 1.7e-7)
    assert "structure.joint_types" not in found


def test_group_shows_the_largest_share_of_tolerance() -> None:
    """3.1 mm of 10 µm is more than any ratio of masses here."""
    figures = summary.worst_per_group(summary.worst_figures(samples.corpus()))
    assert {f.check.group: round(f.share, 4) for f in figures} == {
        "kinematics": 310.0,
        "mass": 0.0003,
        "limits": 0.017,
    }


def test_participation_counts_only_readable_robots() -> None:
    """Of eight robots one is unreadable and one could not be fetched."""
    engines = {w.name: w for w in summary.participation(samples.corpus())}
    assert engines["reference"].readable == 6
    assert engines["reference"].share == 1.0
    pybullet = engines["pybullet"]
    assert pybullet.counts[EngineStatus.ABSTAINED] == 6
    assert pybullet.reasons == (("refuses a revolute joint without <limit>", 6),)
    assert engines["openusd"].counts[EngineStatus.CRASHED] == 1


def test_missing_engine_record_lowers_participation() -> None:
    """A robot without a record of the engine counts as not read."""
    only = EngineRecord(name="drake", side="urdf", status=EngineStatus.OBSERVED)
    robots = (
        samples.robot(name="A", engines=(only,)),
        samples.robot(name="B", engines=()),
    )
    (drake,) = summary.participation(robots)
    assert drake.share == 0.5
    assert drake.reasons == (("not used", 1),)


def test_run_without_readable_robots_has_no_participation() -> None:
    """There are no engine records."""
    assert summary.participation((samples.robot(Verdict.UNREADABLE),)) == ()


def test_deviations_are_collected_by_cause_over_robots() -> None:
    """A robot with a deviation in two checks counts once."""
    (deviation,) = summary.engine_deviations(samples.corpus())
    assert deviation.engine == "pybullet"
    assert {robot.name for robot in deviation.robots} == {"Alpha", "Shifted"}
    twice = samples.robot(deviations=(samples.DEVIATION, samples.DEVIATION))
    (deviation,) = summary.engine_deviations((twice,))
    assert len(deviation.robots) == 1


def test_files_are_shown_without_their_common_folder() -> None:
    """Unless there is a single file, or their folders have nothing in common."""
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
