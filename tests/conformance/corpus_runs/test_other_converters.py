"""USDs that differ from this converter's, and are equivalent to the URDF."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    mass_of,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.observation.robot import Base, MassProperties, MimicObservation
from urdf_usd.conformance.observation.robot import Observation as Reading
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Grade

URDF, USD = urdf_reading(), usd_reading()
EXACT, CLOSE, FAILS, NOT_APPLICABLE = Grade.EXACT, Grade.CLOSE, Grade.FAILS, Grade.NOT_APPLICABLE


def _static_root(roots: int, base: Base = Base.FIXED) -> Reading:
    """Return a USD whose root link is no body, with three trees connected to it."""
    links = tuple(
        structs.replace(link, body=None) if link.name == "base" else link for link in USD.links
    )
    return structs.replace(USD, links=links, base=base, articulation_roots=roots)


def _with_base(mass: float, base: Base) -> tuple[Reading, Reading]:
    """Return a URDF without a mass of its base, and a USD with a share of the robot's mass."""
    expected = structs.replace(restating_mass(URDF, "base", None), base=base)
    own = mass * sum(link.mass.mass for link in expected.links if link.mass)
    given = MassProperties(
        own, (0.0, 0.0, 0.0), (own * 0.01, 0.0, 0.0, own * 0.01, 0.0, own * 0.01)
    )
    return expected, structs.replace(restating_mass(USD, "base", given), base=base)


def _renamed(name: str) -> tuple[Reading, Reading, Reading]:
    joints = (structs.replace(one, name="x") if one.name == name else one for one in URDF.joints)
    return URDF, USD, structs.replace(URDF, joints=tuple(joints))


def _rejected(a: float, b: float, c: float) -> tuple[Reading, Reading, Reading]:
    """Return a link with moments of inertia that an engine rejects when they are written back."""
    body = structs.replace(mass_of(URDF, "arm"), inertia=(a, 0.0, 0.0, b, 0.0, c))
    refused = restating_mass(URDF, "arm", structs.replace(body, inertia=(0.0,) * 6))
    return restating_mass(URDF, "arm", body), restating_mass(USD, "arm", body), refused


_KILOGRAM = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
_ASSUMED = structs.replace(restating_mass(URDF, "sensor", _KILOGRAM), defaulted=("sensor",))


_ARTICULATION, _INERTIA = "structure.articulation", "round-trip.mass.link.inertia"


@pytest.mark.parametrize(
    ("readings", "grades"),
    [
        # Damping and friction are zero by default.
        (
            (
                restating_joint(URDF, "elbow", damping=0.0, friction=None),
                restating_joint(USD, "elbow", damping=None, friction=0.0),
            ),
            {"dynamics.damping": EXACT, "dynamics.friction": EXACT},
        ),
        (
            (URDF, restating_joint(USD, "shoulder", damping=None, friction=None)),
            {"dynamics.damping": FAILS, "dynamics.friction": FAILS},
        ),
        # A joint with no effort at all differs from one without a limit.
        (
            (
                restating_joint(URDF, "elbow", effort=0.0),
                restating_joint(USD, "elbow", effort=None),
            ),
            {"limits.effort": FAILS},
        ),
        # A USD may repeat the URDF's mimic of a joint that cannot move.
        (
            (URDF, restating_joint(USD, "weld", mimic=MimicObservation("elbow", 2.0, 0.5))),
            {"structure.mimic": EXACT},
        ),
        # A static root may have several articulations.
        ((URDF, _static_root(1)), {_ARTICULATION: EXACT}),
        ((URDF, _static_root(3)), {_ARTICULATION: EXACT}),
        ((URDF, _static_root(4)), {_ARTICULATION: FAILS}),
        ((URDF, _static_root(3, Base.FLOATING)), {_ARTICULATION: FAILS}),
        (
            (URDF, structs.replace(USD, articulation_roots=3, base=Base.FIXED)),
            {_ARTICULATION: FAILS},
        ),
        # The joint to the world is not checked without articulation.
        ((URDF, structs.replace(USD, articulation_roots=0)), {"structure.world": NOT_APPLICABLE}),
        # A mass given to a fixed base is not counted, up to a millionth of the robot's; the link
        # is reported as regularised. A floating base would fall with it.
        (_with_base(5e-7, Base.FIXED), {"mass.total": EXACT, "mass.link.mass": CLOSE}),
        (_with_base(5e-7, Base.FLOATING), {"mass.total": CLOSE, "mass.link.mass": CLOSE}),
        (_with_base(2e-6, Base.FIXED), {"mass.total": CLOSE, "mass.link.mass": FAILS}),
        (_with_base(0.1, Base.FIXED), {"mass.total": FAILS, "mass.link.mass": FAILS}),
        # The round trip may rename a fixed joint.
        (_renamed("weld"), {"round-trip.structure.joints": EXACT}),
        (_renamed("elbow"), {"round-trip.structure.joints": FAILS}),
        # Of a plate, rounded to float32, the sum of two moments may be less than the third.
        (_rejected(0.01, 0.02, 0.03), {_INERTIA: EXACT}),
        (_rejected(0.01, 0.02, 0.029), {_INERTIA: FAILS}),
        # PyBullet assumes 1 kg for a frame, and the second URDF may have no frame.
        (
            (URDF, USD, _ASSUMED),
            dict.fromkeys(
                ("round-trip.mass.group.center", "round-trip.mass.group.inertia"), NOT_APPLICABLE
            ),
        ),
    ],
)
def test_usd_is_graded(readings: tuple[Reading, ...], grades: dict[str, Grade]) -> None:
    """By readings of the URDF, the USD and, in the round trip, by an engine, of the second URDF."""
    expected, actual, *again = readings
    urdf, back = {"reference": Observed(expected)}, {}
    for reading in again:
        urdf["pybullet"] = Observed(structs.replace(expected, engine="pybullet"))
        back["pybullet"] = Observed(structs.replace(reading, engine="pybullet"))

    judgement = judge(urdf, Observed(actual), back=RoundTripOutcomes(back) if back else None)

    assert {one.id: one.grade for one in judgement.checks if one.id in grades} == grades
