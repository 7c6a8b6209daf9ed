"""Summary of why a robot does not conform."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS
from urdf_usd.reports.diagnosis import diagnose, place_to_look
from urdf_usd.reports.records.record import (
    DiagnosticRecord,
    Difference,
    EngineDifference,
    Grade,
    Verdict,
)

ELBOW = Difference(
    subject="joint elbow",
    message="joint elbow: axis is reversed",
    assigned=Grade.FAILS,
)
WRIST = structs.replace(ELBOW, subject="link wrist", message="link wrist is missing")
SEEN = tuple(
    EngineDifference(engine=name, compared=4, unequal=unequal)
    for name, unequal in (("reference", 2), ("mujoco", 2), ("pybullet", 0))
)


@pytest.mark.parametrize("verdict", [Verdict.EXACT, Verdict.CLOSE])
def test_conforming_robot_has_no_diagnosis(verdict: Verdict) -> None:
    """Only robots that do not conform have one."""
    assert diagnose(samples.robot(verdict)) is None


def test_diagnosis_shows_worst_finding_of_first_failing_check() -> None:
    """With the engines that see it, further subjects, and where to look."""
    check = structs.replace(
        samples.position(Grade.FAILS, 1.0, "elbow", (ELBOW, WRIST)), differences=SEEN
    )
    further = structs.replace(check, id="kinematics.rotation")
    passing = samples.position(Grade.EXACT, 0.0)
    robot = samples.robot(Verdict.FAILS, checks=(passing, check, further))
    found = diagnose(robot)
    assert found is not None
    assert (found.subject, found.statement) == ("joint elbow", "axis is reversed")
    assert found.likewise == ("link wrist",)
    assert found.further == 1
    assert "reference and mujoco agree" in found.fault
    assert "pybullet" not in found.fault
    assert "physics:localRot0" in found.remedy


def test_fault_of_a_simulator_alone_names_it() -> None:
    """OpenUSD reads what the URDF states."""
    check = samples.simulated(unequal=1)
    found = diagnose(samples.robot(Verdict.FAILS, checks=(check,)))

    assert found is not None
    assert found.fault == (
        "USD: OpenUSD reads the value of the URDF, and newton-usd computes another from it"
    )


def test_statement_does_not_repeat_the_subject() -> None:
    """Whatever the form of the message."""
    check = samples.position(Grade.FAILS, 1.0, "wrist", (WRIST,))
    found = diagnose(samples.robot(Verdict.FAILS, checks=(check,)))
    assert found is not None
    assert (found.subject, found.statement) == ("link wrist", "is missing")


def test_fault_of_a_dispute_is_undecided() -> None:
    """The USD is not blamed."""
    finding = structs.replace(ELBOW, assigned=Grade.DISPUTED)
    check = samples.position(Grade.DISPUTED, 1.0, "elbow", (finding,))
    found = diagnose(samples.robot(Verdict.DISPUTED, checks=(check,)))
    assert found is not None
    assert found.fault.startswith("undecided")


def test_fault_of_a_missing_file_names_it() -> None:
    """Nothing is wrong with the USD."""
    message = "link elbow: texture a.png is not found; not compared"
    finding = structs.replace(
        ELBOW, assigned=Grade.NOT_COMPARABLE, subject="link elbow", message=message
    )
    check = samples.position(Grade.NOT_COMPARABLE, 0.0, "elbow", (finding,))
    found = diagnose(samples.robot(Verdict.INCOMPLETE, checks=(check,)))
    assert found is not None
    assert found.fault == "none in the USD: texture a.png is not found"


def test_diagnosis_of_an_unreadable_robot_names_the_line() -> None:
    """The line of the first error, not of an earlier warning."""
    warning = DiagnosticRecord(rule="x", severity="warning", message="odd", file="a.urdf", line=3)
    error = structs.replace(warning, severity="error", line=7)
    robot = samples.robot(Verdict.UNREADABLE, checks=(), diagnostics=(warning, error))
    found = diagnose(robot)
    assert found is not None
    assert "a.urdf:7" in found.remedy


@pytest.mark.parametrize("verdict", [one for one in Verdict if not one.conforms], ids=str)
def test_every_failing_verdict_has_fault_and_remedy(verdict: Verdict) -> None:
    """Also without any check."""
    found = diagnose(samples.robot(verdict, checks=()))
    assert found is not None
    assert found.fault
    assert found.remedy


@pytest.mark.parametrize("check", [one.id for one in (*CHECKS, *ROUND_TRIP_CHECKS)])
def test_every_check_has_a_place_to_look(check: str) -> None:
    """No check is without advice."""
    assert place_to_look(check)


def test_longest_matching_prefix_gives_the_place() -> None:
    """Round-trip checks use the place of the direct check."""
    assert "centerOfMass" in place_to_look("mass.link.center")
    assert place_to_look("round-trip.mass.link.mass") == place_to_look("mass.total")
    assert not place_to_look("unheard.of")


@pytest.mark.parametrize("reason", ["no answer after 120 s", "the memory limit was reached"])
def test_exceeded_limit_suggests_to_raise_it(reason: str) -> None:
    """Neither the robot nor an engine is at fault."""
    died = structs.replace(
        samples.robot(Verdict.CRASHED, checks=()),
        reason=f"the URDF reader crashed: {reason}",
    )

    found = diagnose(died)

    assert found is not None
    assert found.fault.startswith("none")
    assert "--timeout" in found.remedy
    assert "--memory" in found.remedy
