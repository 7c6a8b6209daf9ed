"""USDs that differ from this converter's, and are equivalent to the URDF."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    joint_of,
    mass_of,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.observation.robot import (
    Base,
    JointType,
    MassProperties,
    MimicObservation,
    Observation,
)
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade


def _judged(
    expected: Observation,
    actual: Observation,
    trip: tuple[Observation, Observation] | None = None,
    engine: str = "engine",
) -> dict[str, CheckRecord]:
    """Judge a USD; with a trip, also what an engine reads before and after it."""
    urdf = {"reference": Observed(expected)}
    back = None
    if trip:
        before, after = (structs.replace(one, engine=engine) for one in trip)
        urdf[engine] = Observed(before)
        back = RoundTripOutcomes({engine: Observed(after)})
    judgement = judge(urdf, Observed(actual), back=back)
    return {check.id: check for check in judgement.checks}


@pytest.mark.parametrize("name", ["damping", "friction"])
@pytest.mark.parametrize(("expected", "actual"), [(0.0, None), (None, 0.0)])
def test_damping_and_friction_default_to_zero(
    name: str, expected: float | None, actual: float | None
) -> None:
    checks = _judged(
        restating_joint(urdf_reading(), "elbow", **{name: expected}),
        restating_joint(usd_reading(), "elbow", **{name: actual}),
    )

    assert checks[f"dynamics.{name}"].grade is Grade.EXACT


@pytest.mark.parametrize("name", ["damping", "friction"])
def test_lost_damping_and_friction_are_reported(name: str) -> None:
    checks = _judged(urdf_reading(), restating_joint(usd_reading(), "shoulder", **{name: None}))

    found = checks[f"dynamics.{name}"]
    assert found.grade is Grade.FAILS
    assert "is absent" in found.findings[0].message


def test_zero_effort_is_not_absent_effort() -> None:
    """A joint with no effort at all differs from one without a limit."""
    expected = restating_joint(urdf_reading(), "elbow", effort=0.0)
    actual = restating_joint(usd_reading(), "elbow", effort=None)

    assert _judged(expected, actual)["limits.effort"].grade is Grade.FAILS


def test_coupling_of_a_fixed_joint_is_no_finding() -> None:
    """A USD may repeat the URDF's mimic of a joint that cannot move."""
    coupled = restating_joint(usd_reading(), "weld", mimic=MimicObservation("elbow", 2.0, 0.5))

    checks = _judged(urdf_reading(), coupled)

    assert checks["structure.mimic"].grade is Grade.EXACT


def _with_static_root(roots: int, base: Base = Base.FIXED) -> Observation:
    """Return a USD whose root link is no body, with three trees connected to it."""
    reading = usd_reading()
    links = tuple(
        structs.replace(link, body=None) if link.name == "base" else link for link in reading.links
    )
    return structs.replace(reading, links=links, base=base, articulation_roots=roots)


@pytest.mark.parametrize(
    ("reading", "grade"),
    [
        (_with_static_root(1), Grade.EXACT),
        (_with_static_root(3), Grade.EXACT),
        (_with_static_root(4), Grade.FAILS),
        (_with_static_root(3, Base.FLOATING), Grade.FAILS),
        (
            structs.replace(usd_reading(), articulation_roots=3, base=Base.FIXED),
            Grade.FAILS,
        ),
    ],
)
def test_static_root_may_have_several_articulations(reading: Observation, grade: Grade) -> None:
    assert _judged(urdf_reading(), reading)["structure.articulation"].grade is grade


@pytest.mark.parametrize(
    ("mass", "base", "total", "link"),
    [
        (5e-7, Base.FIXED, Grade.EXACT, Grade.CLOSE),
        # A floating base would fall with it.
        (5e-7, Base.FLOATING, Grade.CLOSE, Grade.CLOSE),
        (2e-6, Base.FIXED, Grade.CLOSE, Grade.FAILS),
        (0.1, Base.FIXED, Grade.FAILS, Grade.FAILS),
    ],
)
def test_mass_given_to_a_fixed_base_is_not_counted(
    mass: float, base: Base, total: Grade, link: Grade
) -> None:
    """Up to a millionth of the robot's mass; the link is reported as regularised."""
    expected = structs.replace(restating_mass(urdf_reading(), "base", None), base=base)
    own = mass * sum(link.mass.mass for link in expected.links if link.mass)
    tiny = own * 0.01
    given = MassProperties(own, (0.0, 0.0, 0.0), (tiny, 0.0, 0.0, tiny, 0.0, tiny))
    actual = structs.replace(restating_mass(usd_reading(), "base", given), base=base)
    checks = _judged(expected, actual)

    assert checks["mass.total"].grade is total
    assert checks["mass.link.mass"].grade is link


def test_joint_to_the_world_is_not_checked_without_articulation() -> None:
    reading = structs.replace(usd_reading(), articulation_roots=0)

    found = _judged(urdf_reading(), reading)["structure.world"]

    assert (found.grade, found.compared) == (Grade.NOT_APPLICABLE, 0)


def _renamed(joint: str) -> Observation:
    reading = urdf_reading()
    joints = tuple(
        structs.replace(one, name="another") if one.name == joint else one for one in reading.joints
    )
    return structs.replace(reading, joints=joints)


@pytest.mark.parametrize(("joint", "grade"), [("weld", Grade.EXACT), ("elbow", Grade.FAILS)])
def test_fixed_joint_may_be_renamed_by_the_round_trip(joint: str, grade: Grade) -> None:
    checks = _judged(urdf_reading(), usd_reading(), (urdf_reading(), _renamed(joint)))

    assert checks["round-trip.structure.joints"].grade is grade


def _with_moments(*moments: float) -> MassProperties:
    a, b, c = moments
    stated = mass_of(urdf_reading(), "arm")
    return structs.replace(stated, inertia=(a, 0.0, 0.0, b, 0.0, c))


@pytest.mark.parametrize(
    ("moments", "grade"),
    [
        # Of a plate: rounded to float32, the sum of two may be less than the third.
        ((0.01, 0.02, 0.03), Grade.EXACT),
        ((0.01, 0.02, 0.029), Grade.FAILS),
    ],
)
def test_engine_may_reject_flat_bodies_in_the_round_trip(
    moments: tuple[float, float, float], grade: Grade
) -> None:
    """A + B >= C is violated by one bit; lost inertias are reported."""
    flat = _with_moments(*moments)
    expected = restating_mass(urdf_reading(), "arm", flat)
    actual = restating_mass(usd_reading(), "arm", flat)
    refused = structs.replace(flat, inertia=(0.0,) * 6)

    checks = _judged(expected, actual, (expected, restating_mass(expected, "arm", refused)))

    assert checks["round-trip.mass.link.inertia"].grade is grade


def test_assumed_kilogram_of_welded_frames_is_explained() -> None:
    """PyBullet assumes 1 kg for a frame, and the round trip may have no frame."""
    reading = urdf_reading()
    kilogram = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    again = structs.replace(restating_mass(reading, "sensor", kilogram), defaulted=("sensor",))
    checks = _judged(reading, usd_reading(), (reading, again), engine="pybullet")

    assert joint_of(reading, "frame").type is JointType.FIXED
    assert checks["round-trip.mass.group.center"].grade is Grade.NOT_APPLICABLE
    assert checks["round-trip.mass.group.inertia"].grade is Grade.NOT_APPLICABLE
