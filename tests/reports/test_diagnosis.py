"""What a report says first of a robot that does not conform."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.reports import records
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS
from urdf_usd.conformance.records.record import (
    DiagnosticRecord,
    DifferenceRecord,
    FindingRecord,
    Grade,
    Verdict,
)
from urdf_usd.reports.diagnosis import diagnose
from urdf_usd.reports.explanation import place_to_look

ELBOW = FindingRecord(
    subject="joint elbow",
    message="joint elbow: its axis is reversed",
    grade=Grade.FAILS,
)
WRIST = structs.replace(ELBOW, subject="link wrist", message="link wrist is missing")
SEEN = tuple(
    DifferenceRecord(engine=name, compared=4, unequal=unequal)
    for name, unequal in (("spec", 2), ("mujoco", 2), ("pybullet", 0))
)


@pytest.mark.parametrize("verdict", [Verdict.EXACT, Verdict.CLOSE])
def test_nothing_is_said_of_a_robot_that_conforms(verdict: Verdict) -> None:
    """Where nothing is wrong."""
    assert diagnose(records.robot(verdict)) is None


def test_the_gravest_finding_of_the_first_failing_check_is_told() -> None:
    """With who sees it, what shares its fate, and what to look at."""
    check = structs.replace(
        records.position(Grade.FAILS, 1.0, "elbow", (ELBOW, WRIST)), differences=SEEN
    )
    further = structs.replace(check, id="kinematics.rotation")
    passing = records.position(Grade.EXACT, 0.0)
    robot = records.robot(Verdict.FAILS, checks=(passing, check, further))
    found = diagnose(robot)
    assert found is not None
    assert (found.subject, found.statement) == ("joint elbow", "its axis is reversed")
    assert found.likewise == ("link wrist",)
    assert found.further == 1
    assert "spec and mujoco agree" in found.fault
    assert "pybullet" not in found.fault
    assert "physics:localRot0" in found.remedy


def test_a_subject_is_not_named_twice() -> None:
    """Whichever way the sentence begins."""
    check = records.position(Grade.FAILS, 1.0, "wrist", (WRIST,))
    found = diagnose(records.robot(Verdict.FAILS, checks=(check,)))
    assert found is not None
    assert (found.subject, found.statement) == ("link wrist", "is missing")


def test_a_dispute_is_nobodys_fault_that_is_known() -> None:
    """The USD is not blamed."""
    finding = structs.replace(ELBOW, grade=Grade.DISPUTED)
    check = records.position(Grade.DISPUTED, 1.0, "elbow", (finding,))
    found = diagnose(records.robot(Verdict.DISPUTED, checks=(check,)))
    assert found is not None
    assert found.fault.startswith("undecided")


def test_an_unreadable_robot_leads_to_the_line_that_is_wrong() -> None:
    """Of the first error, whatever was noticed before."""
    warning = DiagnosticRecord(
        rule="x", severity="warning", message="odd", file="a.urdf", line=3
    )
    error = structs.replace(warning, severity="error", line=7)
    robot = records.robot(Verdict.UNREADABLE, checks=(), diagnostics=(warning, error))
    found = diagnose(robot)
    assert found is not None
    assert "a.urdf:7" in found.remedy


@pytest.mark.parametrize(
    "verdict", [one for one in Verdict if not one.conforms], ids=str
)
def test_whoever_does_not_conform_is_told_what_to_do(verdict: Verdict) -> None:
    """Also where no check took place."""
    found = diagnose(records.robot(verdict, checks=()))
    assert found is not None
    assert found.fault
    assert found.remedy


@pytest.mark.parametrize("check", [one.id for one in (*CHECKS, *ROUND_TRIP_CHECKS)])
def test_every_check_knows_where_to_look(check: str) -> None:
    """So that nobody is left with a number."""
    assert place_to_look(check)


def test_the_nearest_advice_counts() -> None:
    """And what comes back from URDF is as what was written."""
    assert "centerOfMass" in place_to_look("mass.link.center")
    assert place_to_look("round-trip.mass.link.mass") == place_to_look("mass.total")
    assert not place_to_look("unheard.of")


@pytest.mark.parametrize(
    "reason", ["no answer after 120 s", "the memory limit was reached"]
)
def test_who_takes_too_much_is_allowed_more(reason: str) -> None:
    """A chain of a thousand joints has no fault, and neither have its readers."""
    died = structs.replace(
        records.robot(Verdict.CRASHED, checks=()),
        reason=f"the URDF reader died: {reason}",
    )

    found = diagnose(died)

    assert found is not None
    assert found.fault.startswith("none")
    assert "--timeout" in found.remedy
    assert "--memory" in found.remedy
