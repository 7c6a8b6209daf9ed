"""Tests of what a run says as a whole."""

from __future__ import annotations

from tests.reports import records
from urdf_usd.conformance.records.record import (
    EngineRecord,
    EngineStatus,
    Grade,
    Verdict,
)
from urdf_usd.reports import overview


def test_what_does_not_conform_comes_first_then_names_in_order() -> None:
    """The most urgent first; among those that conform, exact and close mix."""
    names = [robot.name for robot in overview.most_urgent_first(records.corpus())]
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


def test_a_robot_without_a_name_goes_by_its_id() -> None:
    """A link to it would have no text."""
    assert overview.title(records.robot(name=" ", id="arm-2")) == "arm-2"


def test_a_group_has_the_most_urgent_grade_of_its_checks() -> None:
    """Silence in one check hides neither success nor failure in another."""
    checks = (records.silent(), records.mass())
    assert overview.group_grades(records.robot(checks=checks)) == {"mass": Grade.EXACT}
    checks = (records.mass(Grade.FAILS), records.silent())
    assert overview.group_grades(records.robot(checks=checks)) == {"mass": Grade.FAILS}
    assert overview.not_comparable_checks(records.robot(checks=checks), "mass") == 1


def test_the_worst_figure_of_every_measured_check_names_its_robot() -> None:
    """Checks of equality measure nothing."""
    figures = overview.worst_figures(records.corpus())
    found = {f.check.id: (f.robot.name, f.value) for f in figures}
    assert found["kinematics.position"] == ("Shifted", 0.0031)
    assert found["limits.upper"] == ("Alpha", 1.7e-7)
    assert "structure.joint_types" not in found


def test_a_group_is_told_by_what_uses_most_of_its_tolerance() -> None:
    """3.1 mm of 10 µm is more than any ratio of masses here."""
    figures = overview.worst_per_group(overview.worst_figures(records.corpus()))
    assert {f.check.group: round(f.share, 4) for f in figures} == {
        "kinematics": 310.0,
        "mass": 0.0003,
        "limits": 0.017,
    }


def test_participation_counts_readable_robots_alone() -> None:
    """Of eight robots one is unreadable and one could not be fetched."""
    engines = {w.name: w for w in overview.participation(records.corpus())}
    assert engines["spec"].readable == 6
    assert engines["spec"].share == 1.0
    pybullet = engines["pybullet"]
    assert pybullet.counts[EngineStatus.ABSTAINED] == 6
    assert pybullet.reasons == (("refuses a revolute joint without <limit>", 6),)
    assert engines["usdphysics"].counts[EngineStatus.CRASHED] == 1


def test_an_engine_that_was_never_asked_is_absent_and_not_forgotten() -> None:
    """Absent is not equal: a missing record lowers the share."""
    only = EngineRecord(name="drake", side="urdf", status=EngineStatus.OBSERVED)
    robots = (
        records.robot(name="A", engines=(only,)),
        records.robot(name="B", engines=()),
    )
    (drake,) = overview.participation(robots)
    assert drake.share == 0.5
    assert drake.reasons == (("not used", 1),)


def test_a_run_in_which_nothing_is_readable_has_no_participation() -> None:
    """There is nobody to be asked about."""
    assert overview.participation((records.robot(Verdict.UNREADABLE),)) == ()


def test_deviations_are_collected_by_cause_over_robots() -> None:
    """One robot that shows a deviation in two checks counts once."""
    (deviation,) = overview.engine_deviations(records.corpus())
    assert deviation.engine == "pybullet"
    assert {robot.name for robot in deviation.robots} == {"Alpha", "Shifted"}
    twice = records.robot(deviations=(records.DEVIATION, records.DEVIATION))
    (deviation,) = overview.engine_deviations((twice,))
    assert len(deviation.robots) == 1
