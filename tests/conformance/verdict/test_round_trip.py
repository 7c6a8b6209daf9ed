"""Checks of engines on the URDF that is written back from a USD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    NEGATED,
    ROBOT,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
    with_inertial,
)
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    Base,
    MassProperties,
    Observation,
)
from urdf_usd.conformance.verdict import deviations
from urdf_usd.conformance.verdict.deviations import DEVIATIONS
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade

_DIRECT = {check.direct or check.id for check in ROUND_TRIP_CHECKS}
_PREFIX = "round-trip."


def _trips(
    before: Mapping[str, Observation],
    after: Mapping[str, Observation | Outcome],
    *,
    spec: Observation | None = None,
    failure: str | None = None,
) -> dict[str, CheckRecord]:
    """Judge a faithful USD, by what engines read before and after the round trip.

    ``spec`` is the observation of the URDF by the reference and, if given, also of the USD.
    """
    urdf, usd = (spec, spec) if spec else (urdf_reading(), usd_reading())
    first, second = (
        {
            name: one if isinstance(one, Outcome) else Observed(structs.replace(one, engine=name))
            for name, one in readings.items()
        }
        for readings in ({"reference": urdf, **before}, after)
    )
    back = RoundTripOutcomes(second, failure)
    judgement = judge(first, Observed(usd), back=back, expected_base=Base.FLOATING)
    return {
        check.id.removeprefix(_PREFIX): check
        for check in judgement.checks
        if check.id.startswith(_PREFIX)
    }


def _trip(
    before: Observation, after: Observation | Outcome, spec: Observation | None = None
) -> dict[str, CheckRecord]:
    return _trips({"engine": before}, {"engine": after}, spec=spec)


def _failing(checks: Mapping[str, CheckRecord]) -> set[str]:
    return {name for name, check in checks.items() if check.grade is Grade.FAILS}


def test_every_check_of_urdf_engines_has_a_round_trip_check() -> None:
    compared = {check.id for check in CHECKS if not check.usd_alone}
    shapes = {name for name in compared if name.startswith(("collision.", "visual."))}

    assert compared - {"structure.base"} - shapes == _DIRECT
    assert all(check.id == f"{_PREFIX}{check.direct}" for check in ROUND_TRIP_CHECKS)


def test_faithful_round_trip_is_exact() -> None:
    checks = _trip(usd_reading(), usd_reading())

    stated = usd_reading().states
    assert list(checks) == [one.direct for one in ROUND_TRIP_CHECKS if one.quantity in stated]
    assert {one.grade for one in checks.values()} <= {Grade.EXACT, Grade.NOT_APPLICABLE}
    (difference,) = checks["kinematics.position"].differences
    assert (difference.engine, difference.compared) == ("engine", len(urdf_reading().links))


@pytest.mark.parametrize(
    ("after", "check", "subject"),
    [
        (usd_reading(NEGATED), "kinematics.rotation", "joint shoulder"),
        (usd_reading(with_inertial(ROBOT, "arm", mass=1.125)), "mass.link.mass", "link arm"),
        (restating_joint(usd_reading(), "elbow", upper=1.0), "limits.upper", "joint elbow"),
        (restating_mass(usd_reading(), "hand", None), "mass.group.mass", "group forearm"),
    ],
)
def test_wrong_round_trip_is_caught(after: Observation, check: str, subject: str) -> None:
    found = _trip(usd_reading(), after)[check]

    assert found.grade is Grade.FAILS
    assert found.findings[0].subject == subject
    assert found.findings[0].message.startswith("engine: ")


def test_inertia_of_a_massless_link_explains_no_other_motion() -> None:
    """MuJoCo includes it, in the URDF alone."""
    reading = usd_reading(with_inertial(ROBOT, "hand", mass=0.0))
    assert reading.dynamics is not None
    doubled = structs.replace(reading.dynamics, inertia=2.0 * reading.dynamics.inertia)

    checks = _trips(
        {"mujoco": reading}, {"mujoco": structs.replace(reading, dynamics=doubled)}, spec=reading
    )

    assert checks["dynamics.inertia_matrix"].grade is Grade.FAILS


def test_engine_that_refuses_the_second_urdf_fails_the_trip() -> None:
    checks = _trip(usd_reading(), Unsupported("no such joint"))
    links = checks["structure.links"]

    assert links.grade is Grade.FAILS
    expected = "engine reads the URDF, but not the URDF written from the USD"
    assert expected in links.findings[0].message
    assert checks["limits.lower"].grade is Grade.NOT_COMPARABLE


def test_engine_that_refuses_the_first_urdf_is_ignored() -> None:
    judgement = judge(
        {"reference": Observed(urdf_reading()), "engine": Crashed("killed")},
        Observed(usd_reading()),
        back=RoundTripOutcomes(),
    )

    assert not any(check.id.startswith(_PREFIX) for check in judgement.checks)


def test_missing_second_urdf_makes_checks_not_comparable() -> None:
    checks = _trips({"engine": usd_reading()}, {}, failure="joint /a/b is free in RotX, RotY")

    assert {check.grade for check in checks.values()} == {Grade.NOT_COMPARABLE}
    assert "RotX, RotY" in str(checks["mass.total"].reason)


_LEFT_OUT = "1 left out, where engine deviates from the URDF"


@pytest.mark.parametrize(("upper", "compared", "reason"), [(2.4, 4, _LEFT_OUT), (0.3, 5, None)])
def test_misread_urdf_does_not_fail_the_usd(
    upper: float, compared: int, reason: str | None
) -> None:
    wrong = restating_joint(usd_reading(), "elbow", upper=0.3)
    check = _trip(wrong, restating_joint(usd_reading(), "elbow", upper=upper))["limits.upper"]

    assert (check.grade, check.compared, check.reason) == (Grade.EXACT, compared, reason)


_ZERO = (0.0,) * 6
_KILOGRAM = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("link", "mass", "failing"),
    [
        ("sensor", 1.0, set()),
        ("sensor", 0.5, {"mass.group.mass", "mass.total"}),
        ("arm", 1.0, {"mass.link.mass", "mass.total"}),
    ],
)
def test_assumed_kilogram_is_attributed_to_the_engine(
    link: str, mass: float, failing: set[str]
) -> None:
    reading = restating_mass(usd_reading(), link, structs.replace(_KILOGRAM, mass=mass))
    after = structs.replace(reading, defaulted=(link,))
    found = _failing(_trips({"pybullet": usd_reading()}, {"pybullet": after}))

    assert found & {"mass.link.mass", "mass.group.mass", "mass.total"} == failing


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"inertia": None}, set()),
        ({"inertia": _ZERO}, set()),
        ({"inertia": None, "mass": 1.0}, {"mass.link.mass"}),
        ({"inertia": _ZERO, "mass": 1.0}, {"mass.link.mass", "mass.link.inertia"}),
        ({"inertia": None, "center": (0.2, 0.0, 0.0)}, {"mass.link.center"}),
        ({"inertia": (0.05, 0.0, 0.0, 0.15, 0.0, 0.2)}, {"mass.link.inertia"}),
    ],
)
def test_rejected_tensor_explains_inertia_only(changes: dict[str, Any], failing: set[str]) -> None:
    flat = MassProperties(2.0, (0.1, 0.0, 0.0), (0.1, 0.0, 0.0, 0.3, 0.0, 0.4))
    usd = restating_mass(usd_reading(), "arm", flat)
    # MuJoCo states no tensor where PyBullet states zero.
    of_mujoco = changes | ({"inertia": None} if changes.get("inertia") == _ZERO else {})
    after = {
        name: restating_mass(usd_reading(), "arm", structs.replace(flat, **stated))
        for name, stated in (("mujoco", of_mujoco), ("pybullet", changes))
    }
    found = _failing(_trips(dict.fromkeys(after, usd), after, spec=usd))

    assert {name for name in found if name.startswith("mass.link")} == failing


def test_difference_of_two_engines_is_attributed_to_the_usd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = restating_joint(usd_reading(), "elbow", velocity=None)
    again = restating_joint(spec, "elbow", velocity=0.0)
    known = next(one for one in DEVIATIONS if one.id == "pybullet-absent-velocity")
    twice = structs.replace(known, id="mujoco-absent-velocity", engine="mujoco")
    monkeypatch.setattr(deviations, "DEVIATIONS", [*DEVIATIONS, twice])
    engines = ("mujoco", "pybullet")
    checks = _trips(dict.fromkeys(engines, spec), dict.fromkeys(engines, again), spec=spec)

    assert checks["limits.velocity"].grade is Grade.FAILS


@pytest.mark.parametrize(
    ("before", "after", "grade"),
    [
        (False, True, Grade.NOT_APPLICABLE),
        (False, False, Grade.NOT_APPLICABLE),
        (True, False, Grade.NOT_COMPARABLE),
    ],
)
def test_value_not_stated_for_the_first_urdf_is_not_applicable(
    before: bool, after: bool, grade: Grade
) -> None:
    readings = {True: usd_reading(), False: structs.replace(usd_reading(), rollout=None)}
    check = _trip(readings[before], readings[after])["dynamics.rollout"]

    assert check.grade is grade


def test_engine_in_single_precision_is_allowed_its_rounding() -> None:
    reading = structs.replace(usd_reading(), precision=SINGLE_PRECISION)
    frames = reading.frames
    assert frames is not None
    moved = structs.replace(frames, positions=frames.positions * (1 + 2.0**-24))
    checks = _trip(reading, structs.replace(reading, frames=moved))

    assert checks["kinematics.position"].grade is Grade.EXACT
