"""USDs that differ from this converter's, and are equivalent to the URDF."""

from __future__ import annotations

from typing import Any

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
from urdf_usd.reports.records.record import CheckRecord, Grade

URDF, USD = urdf_reading(), usd_reading()
EXACT, CLOSE, FAILS, NOT_APPLICABLE = Grade.EXACT, Grade.CLOSE, Grade.FAILS, Grade.NOT_APPLICABLE


def _joint(reading: Reading, name: str, *unstated: str, **stated: object) -> Reading:
    return restating_joint(reading, name, **dict.fromkeys(unstated), **stated)


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


@pytest.mark.parametrize(
    ("expected", "actual", "grades"),
    [
        # Damping and friction are zero by default.
        (
            _joint(URDF, "elbow", "friction", damping=0.0),
            _joint(USD, "elbow", "damping", friction=0.0),
            {"dynamics.damping": EXACT, "dynamics.friction": EXACT},
        ),
        (
            URDF,
            _joint(USD, "shoulder", "damping", "friction"),
            {"dynamics.damping": FAILS, "dynamics.friction": FAILS},
        ),
        # A joint with no effort at all differs from one without a limit.
        (
            _joint(URDF, "elbow", effort=0.0),
            _joint(USD, "elbow", "effort"),
            {"limits.effort": FAILS},
        ),
        # A USD may repeat the URDF's mimic of a joint that cannot move.
        (
            URDF,
            _joint(USD, "weld", mimic=MimicObservation("elbow", 2.0, 0.5)),
            {"structure.mimic": EXACT},
        ),
        # A static root may have several articulations.
        (URDF, _static_root(1), {"structure.articulation": EXACT}),
        (URDF, _static_root(3), {"structure.articulation": EXACT}),
        (URDF, _static_root(4), {"structure.articulation": FAILS}),
        (URDF, _static_root(3, Base.FLOATING), {"structure.articulation": FAILS}),
        (
            URDF,
            structs.replace(USD, articulation_roots=3, base=Base.FIXED),
            {"structure.articulation": FAILS},
        ),
        # The joint to the world is not checked without articulation.
        (URDF, structs.replace(USD, articulation_roots=0), {"structure.world": NOT_APPLICABLE}),
        # A mass given to a fixed base is not counted, up to a millionth of the robot's; the link
        # is reported as regularised. A floating base would fall with it.
        (*_with_base(5e-7, Base.FIXED), {"mass.total": EXACT, "mass.link.mass": CLOSE}),
        (*_with_base(5e-7, Base.FLOATING), {"mass.total": CLOSE, "mass.link.mass": CLOSE}),
        (*_with_base(2e-6, Base.FIXED), {"mass.total": CLOSE, "mass.link.mass": FAILS}),
        (*_with_base(0.1, Base.FIXED), {"mass.total": FAILS, "mass.link.mass": FAILS}),
    ],
)
def test_usd_is_graded(expected: Reading, actual: Reading, grades: dict[str, Grade]) -> None:
    judgement = judge({"reference": Observed(expected)}, Observed(actual))

    assert {one.id: one.grade for one in judgement.checks if one.id in grades} == grades


def _renamed(joint: str) -> dict[str, Any]:
    joints = (structs.replace(one, name="x") if one.name == joint else one for one in URDF.joints)
    return {"after": structs.replace(URDF, joints=tuple(joints))}


def _rejected(*moments: float) -> dict[str, Any]:
    """Return a robot of which an engine rejects the inertia of a link when it is written back."""
    a, b, c = moments
    body = structs.replace(mass_of(URDF, "arm"), inertia=(a, 0.0, 0.0, b, 0.0, c))
    before, usd = restating_mass(URDF, "arm", body), restating_mass(USD, "arm", body)
    refused = structs.replace(body, inertia=(0.0,) * 6)
    return {"before": before, "usd": usd, "after": restating_mass(before, "arm", refused)}


_KILOGRAM = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("readings", "grades"),
    [
        # A fixed joint may be renamed.
        (_renamed("weld"), {"structure.joints": EXACT}),
        (_renamed("elbow"), {"structure.joints": FAILS}),
        # Of a plate, rounded to float32, the sum of two moments may be less than the third.
        (_rejected(0.01, 0.02, 0.03), {"mass.link.inertia": EXACT}),
        (_rejected(0.01, 0.02, 0.029), {"mass.link.inertia": FAILS}),
        # PyBullet assumes 1 kg for a frame, and the second URDF may have no frame.
        (
            {
                "engine": "pybullet",
                "after": structs.replace(
                    restating_mass(URDF, "sensor", _KILOGRAM), defaulted=("sensor",)
                ),
            },
            {"mass.group.center": NOT_APPLICABLE, "mass.group.inertia": NOT_APPLICABLE},
        ),
    ],
)
def test_round_trip_is_graded(readings: dict[str, Any], grades: dict[str, Grade]) -> None:
    def judged(
        after: Reading, before: Reading = URDF, usd: Reading = USD, engine: str = "engine"
    ) -> tuple[CheckRecord, ...]:
        read, again = (Observed(structs.replace(one, engine=engine)) for one in (before, after))
        urdf = {"reference": Observed(before), engine: read}
        return judge(urdf, Observed(usd), back=RoundTripOutcomes({engine: again})).checks

    found = {
        one.id.removeprefix("round-trip."): one.grade
        for one in judged(**readings)
        if one.id.startswith("round-trip.")
    }
    assert {check: found[check] for check in grades} == grades
