"""Why a robot does not conform, and the independent faults of a USD."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS
from urdf_usd.reports.diagnosis import Diagnosis, diagnose, independent_faults, place_to_look
from urdf_usd.reports.records import record as r

ELBOW = r.Difference(
    subject="joint elbow", message="joint elbow: axis is reversed", assigned=r.Grade.FAILS
)
WRIST = structs.replace(ELBOW, subject="link wrist", message="link wrist is missing")


def _check(identifier: str, *subjects: str, fault: str = "differs") -> r.CheckRecord:
    findings = tuple(
        r.Difference(subject=one, message=f"{one}: {fault}", assigned=r.Grade.FAILS)
        for one in subjects
    )
    return structs.replace(samples.position(r.Grade.FAILS, findings=findings), id=identifier)


def _diagnosed(robot: r.RobotRecord) -> Diagnosis:
    found = diagnose(robot)
    assert found is not None
    return found


@pytest.mark.parametrize("verdict", r.Verdict)
def test_every_failing_verdict_has_fault_and_remedy(verdict: r.Verdict) -> None:
    found = diagnose(samples.robot(verdict, checks=()))
    if verdict.conforms:
        assert found is None
    else:
        assert found is not None
        assert found.fault
        assert found.remedy


def test_diagnosis_shows_the_worst_finding_of_the_first_failing_check() -> None:
    seen = tuple(
        r.EngineDifference(engine=name, compared=4, unequal=unequal)
        for name, unequal in (("reference", 2), ("mujoco", 2), ("pybullet", 0))
    )
    check = structs.replace(
        samples.position(r.Grade.FAILS, 1.0, "elbow", (ELBOW, WRIST)), differences=seen
    )
    further = structs.replace(check, id="kinematics.rotation")
    passing = samples.position(r.Grade.EXACT, 0.0)
    found = _diagnosed(samples.robot(r.Verdict.FAILS, checks=(passing, check, further)))

    assert (found.subject, found.statement) == ("joint elbow", "axis is reversed")
    assert found.likewise == ("link wrist",)
    assert found.further == 1
    assert "reference and mujoco agree" in found.fault
    assert "pybullet" not in found.fault
    assert "physics:localRot0" in found.remedy


@pytest.mark.parametrize(
    ("verdict", "check", "fault"),
    [
        (
            r.Verdict.FAILS,
            samples.limits(unequal=1),
            "USD: OpenUSD reads the value of the URDF, and newton-usd computes another from it",
        ),
        (
            r.Verdict.DISPUTED,
            samples.position(
                r.Grade.DISPUTED, findings=(structs.replace(ELBOW, assigned=r.Grade.DISPUTED),)
            ),
            "undecided: the URDF engines disagree, so there is no value to compare the USD with",
        ),
        (
            r.Verdict.INCOMPLETE,
            samples.position(
                r.Grade.NOT_COMPARABLE,
                findings=(
                    structs.replace(
                        ELBOW,
                        subject="link elbow",
                        message="link elbow: texture a.png is not found; not compared",
                        assigned=r.Grade.NOT_COMPARABLE,
                    ),
                ),
            ),
            "none in the USD: texture a.png is not found",
        ),
    ],
)
def test_usd_is_blamed_only_if_it_differs(
    verdict: r.Verdict, check: r.CheckRecord, fault: str
) -> None:
    assert _diagnosed(samples.robot(verdict, checks=(check,))).fault == fault


@pytest.mark.parametrize("reason", ["no answer after 120 s", "the memory limit was reached"])
def test_exceeded_limit_suggests_to_raise_it(reason: str) -> None:
    found = _diagnosed(samples.robot(r.Verdict.CRASHED, checks=(), reason=f"crashed: {reason}"))

    assert found.fault.startswith("none")
    assert "--timeout" in found.remedy
    assert "--memory" in found.remedy


@pytest.mark.parametrize("check", [one.id for one in (*CHECKS, *ROUND_TRIP_CHECKS)])
def test_every_check_has_a_place_to_look(check: str) -> None:
    assert place_to_look(check)


def test_longest_matching_prefix_gives_the_place() -> None:
    assert "centerOfMass" in place_to_look("mass.link.center")
    assert place_to_look("round-trip.mass.link.mass") == place_to_look("mass.total")
    assert not place_to_look("unheard.of")


_MATRIX = _check("dynamics.inertia_matrix", "joint a")
_COLOUR = _check("visual.colour", "link b")
_LOWER = _check("limits.lower", "joint a", "joint b")
_SUPPORT = _check("visual.support", "link a", "link b"), _check("visual.area", "link a")
_DISPLACED = structs.replace(
    _check("kinematics.position"),
    findings=tuple(
        structs.replace(
            ELBOW,
            subject=f"joint {name}",
            message=f"joint {name}: {fault}; link hand differs by 1 m at 'zero'",
        )
        for name, fault in (("a", "axis is reversed"), ("b", "moves"), ("c", "axis is reversed"))
    ),
)


@pytest.mark.parametrize(
    ("checks", "faults"),
    [
        # A joint with a wrong axis, and a link with a wrong mass.
        (
            (
                _check("kinematics.position", "joint elbow"),
                _check("kinematics.rotation", "joint elbow"),
                _check("mass.link.mass", "link hand"),
            ),
            [("joint elbow",), ("link hand",)],
        ),
        # What is wrong with each joint differs.
        ((_DISPLACED,), [("joint a", "joint c"), ("joint b",)]),
        # The same property of several joints, or of several measures of shapes.
        (
            (_LOWER, _check("limits.upper", "joint a", "joint c")),
            [("joint a", "joint b", "joint c")],
        ),
        ((_LOWER, _check("limits.effort", "joint c")), [("joint a", "joint b"), ("joint c",)]),
        (_SUPPORT, [("link a", "link b")]),
        ((*_SUPPORT, _check("visual.colour", "link c")), [("link a", "link b"), ("link c",)]),
        # Totals, equations of motion and the round trip follow from a mass.
        (
            (
                _check("mass.link.mass", "link hand"),
                _check("mass.group.mass", "group base"),
                _check("mass.total", "robot"),
                _check("dynamics.inertia_matrix", "link base"),
                _check("dynamics.bias", "joint a"),
                _check("dynamics.rollout", "joint a"),
                _check("round-trip.mass.link.mass", "link hand"),
            ),
            [("link hand",)],
        ),
        # A colour does not explain them.
        ((_MATRIX,), [("joint a",)]),
        ((_MATRIX, _COLOUR), [("joint a",), ("link b",)]),
        ((_check("round-trip.mass.total", "robot"),), [("robot",)]),
        # Links and joints below a deactivated link, and what they lack.
        (
            (
                _check("structure.links", "link a", "link b"),
                _check("structure.joints", "joint a"),
                _check("visual.shapes", "link a"),
            ),
            [("link a", "link b", "joint a")],
        ),
        # A check without findings concerns the robot.
        ((_check("structure.base"),), [()]),
    ],
)
def test_differences_with_one_cause_are_one_fault(
    checks: tuple[r.CheckRecord, ...], faults: list[tuple[str, ...]]
) -> None:
    passing = structs.replace(samples.position(), id="structure.links")
    found = independent_faults(samples.robot(r.Verdict.FAILS, checks=(passing, *checks)))

    assert [fault.subjects for fault in found] == faults
    assert found[0].check is checks[0]
