"""Independent faults of a USD."""

from __future__ import annotations

from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.diagnosis import independent_faults
from urdf_usd.reports.records.record import (
    CheckRecord,
    Difference,
    Grade,
    RobotRecord,
    Verdict,
)


def _check(identifier: str, *subjects: str) -> CheckRecord:
    findings = tuple(
        Difference(subject=one, message=f"{one}: differs", assigned=Grade.FAILS) for one in subjects
    )
    return structs.replace(samples.position(Grade.FAILS, findings=findings), id=identifier)


def _robot(*checks: CheckRecord) -> RobotRecord:
    passing = structs.replace(samples.position(), id="structure.links")
    return samples.robot(Verdict.FAILS, checks=(passing, *checks))


def _subjects(*checks: CheckRecord) -> list[tuple[str, ...]]:
    return [fault.subjects for fault in independent_faults(_robot(*checks))]


def test_faults_at_different_parts_are_independent() -> None:
    """A joint with a wrong axis, and a link with a wrong mass."""
    found = independent_faults(
        _robot(
            _check("kinematics.position", "joint elbow"),
            _check("kinematics.rotation", "joint elbow"),
            _check("mass.link.mass", "link hand"),
        )
    )
    assert [fault.subjects for fault in found] == [("joint elbow",), ("link hand",)]
    assert [check.id for check in found[0].checks] == [
        "kinematics.position",
        "kinematics.rotation",
    ]
    assert found[1].finding is not None
    assert found[1].finding.message == "link hand: differs"


def test_joints_with_different_faults_are_independent() -> None:
    """The check of positions finds both."""

    def joint(name: str, fault: str) -> Difference:
        message = f"joint {name}: {fault}; link hand differs by 1 m at 'zero'"
        return Difference(subject=f"joint {name}", message=message, assigned=Grade.FAILS)

    check = _check("kinematics.position")
    faults = (
        joint("a", "axis is reversed"),
        joint("b", "does not move"),
        joint("c", "axis is reversed"),
    )
    found = _subjects(structs.replace(check, findings=faults))
    assert found == [("joint a", "joint c"), ("joint b",)]


def test_parts_with_the_same_wrong_property_are_one_fault() -> None:
    """Limits of all joints, some of which have only an upper one."""
    lower = _check("limits.lower", "joint a", "joint b")
    upper = _check("limits.upper", "joint a", "joint c")
    assert _subjects(lower, upper) == [("joint a", "joint b", "joint c")]
    assert _subjects(lower, _check("limits.effort", "joint c")) == [
        ("joint a", "joint b"),
        ("joint c",),
    ]


def test_measures_of_a_shape_are_one_property() -> None:
    """A mesh without its scale, with another extent and area than a box."""
    support = _check("visual.support", "link a", "link b")
    area = _check("visual.area", "link a")
    assert _subjects(support, area) == [("link a", "link b")]
    colour = _check("visual.colour", "link c")
    assert len(_subjects(support, area, colour)) == 2


def test_consequences_are_not_counted() -> None:
    """Of a mass: totals, equations of motion and the round trip."""
    consequences = (
        _check("mass.group.mass", "group base"),
        _check("mass.total", "robot"),
        _check("dynamics.inertia_matrix", "link base"),
        _check("dynamics.bias", "joint a"),
        _check("dynamics.rollout", "joint a"),
        _check("round-trip.mass.link.mass", "link hand"),
    )
    mass = _check("mass.link.mass", "link hand")
    assert _subjects(mass, *consequences) == [("link hand",)]


def test_computed_quantity_that_fails_alone_is_a_fault() -> None:
    """A colour does not explain it."""
    matrix = _check("dynamics.inertia_matrix", "joint a")
    colour = _check("visual.colour", "link b")
    assert _subjects(matrix) == [("joint a",)]
    assert _subjects(matrix, colour) == [("joint a",), ("link b",)]
    assert _subjects(_check("round-trip.mass.total", "robot")) == [("robot",)]


def test_missing_parts_are_one_fault() -> None:
    """Links and joints below a deactivated link, and what they lack."""
    assert _subjects(
        _check("structure.links", "link a", "link b"),
        _check("structure.joints", "joint a"),
        _check("visual.shapes", "link a"),
    ) == [("link a", "link b", "joint a")]


def test_check_without_findings_is_a_fault_of_the_robot() -> None:
    """Its reason says what is wrong."""
    (fault,) = independent_faults(_robot(_check("structure.base")))
    assert fault.subjects == ()
    assert fault.finding is None
    assert fault.check.id == "structure.base"
