"""Checks of engines on the URDF that is written back from a USD."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    MINIATURES,
    Miniature,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS
from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Observed, Outcome
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    Base,
    MassProperties,
    Observation,
    Quantity,
)
from urdf_usd.conformance.verdict import deviations
from urdf_usd.conformance.verdict.deviations import DEVIATIONS
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade

_DIRECT = {check.direct for check in ROUND_TRIP_CHECKS}
_TRIPPING = [each for each in MINIATURES if _DIRECT & set(each.trips)]


def _judged(
    there: Observation, back: Outcome | RoundTripOutcomes, engine: str = "engine"
) -> dict[str, CheckRecord]:
    """Judge a faithful USD with one engine; return the checks of the round trip."""
    if not isinstance(back, RoundTripOutcomes):
        if isinstance(back, Observed):
            back = Observed(structs.replace(back.observation, engine=engine))
        back = RoundTripOutcomes({engine: back})
    judgement = judge(
        {
            "reference": Observed(urdf_reading()),
            engine: Observed(structs.replace(there, engine=engine)),
        },
        Observed(usd_reading()),
        back=back,
        expected_base=Base.FLOATING,
    )
    return {check.id: check for check in judgement.checks if check.id.startswith("round-trip.")}


def test_every_check_of_urdf_engines_has_a_round_trip_check() -> None:
    """Except for the base, which URDF does not define, and shapes."""
    compared = {check.id for check in CHECKS if not check.usd_alone}
    shapes = {c for c in compared if c.startswith(("collision.", "visual."))}

    assert compared - {"structure.base"} - shapes == _DIRECT


def test_round_trip_checks_have_identifiers_of_their_group() -> None:
    assert {check.group for check in ROUND_TRIP_CHECKS} == {"round-trip"}
    assert all(check.id == f"round-trip.{check.direct}" for check in ROUND_TRIP_CHECKS)


def test_faithful_round_trip_is_exact() -> None:
    checks = _judged(usd_reading(), Observed(usd_reading()))

    stated = usd_reading().states
    expected = [check.id for check in ROUND_TRIP_CHECKS if check.quantity in stated]
    assert list(checks) == expected
    assert {check.grade for check in checks.values()} <= {
        Grade.EXACT,
        Grade.NOT_APPLICABLE,
    }
    (difference,) = checks["round-trip.kinematics.position"].differences
    assert difference.engine == "engine"
    assert difference.compared == len(urdf_reading().links)


@pytest.mark.parametrize("miniature", _TRIPPING, ids=lambda each: each.name)
def test_wrong_round_trip_is_caught(miniature: Miniature) -> None:
    checks = _judged(usd_reading(), Observed(miniature.reading()))

    for check, subject in miniature.trips.items():
        if check not in _DIRECT:
            continue
        record = checks[f"round-trip.{check}"]
        assert record.grade is Grade.FAILS
        assert record.findings[0].subject == subject
        assert record.findings[0].message.startswith("engine: ")


def test_every_round_trip_check_fails_for_a_wrong_converter() -> None:
    """A check that cannot fail is not a check."""
    tripped = {check for miniature in _TRIPPING for check in miniature.trips}

    assert tripped >= _DIRECT


def test_engine_that_refuses_the_second_urdf_fails_the_trip() -> None:
    checks = _judged(usd_reading(), Abstained("no such joint"))

    links = checks["round-trip.structure.links"]
    assert links.grade is Grade.FAILS
    assert "engine reads the URDF, but not the URDF written from the USD" in (
        links.findings[0].message
    )
    assert checks["round-trip.limits.lower"].grade is Grade.NOT_COMPARABLE


def test_engine_that_refuses_the_first_urdf_is_ignored() -> None:
    """Also if it refuses the second one."""
    judgement = judge(
        {"reference": Observed(urdf_reading()), "engine": Crashed("killed")},
        Observed(usd_reading()),
        back=RoundTripOutcomes(),
    )

    assert not any(check.id.startswith("round-trip.") for check in judgement.checks)


def test_missing_second_urdf_makes_checks_not_comparable() -> None:
    """As for a motion that URDF does not have; the reason is recorded."""
    checks = _judged(usd_reading(), RoundTripOutcomes(failure="joint /a/b is free in RotX, RotY"))

    assert {check.grade for check in checks.values()} == {Grade.NOT_COMPARABLE}
    assert "RotX, RotY" in str(checks["round-trip.mass.total"].reason)


def test_misread_urdf_does_not_fail_the_usd() -> None:
    wrong = restating_joint(usd_reading(), "elbow", upper=0.3)

    checks = _judged(wrong, Observed(usd_reading()))

    record = checks["round-trip.limits.upper"]
    assert record.grade is Grade.EXACT
    assert record.compared == 4
    assert record.reason == "1 left out, where engine deviates from the URDF"


def test_equal_misreadings_of_both_files_agree() -> None:
    wrong = restating_joint(usd_reading(), "elbow", upper=0.3)

    record = _judged(wrong, Observed(wrong))["round-trip.limits.upper"]

    assert record.grade is Grade.EXACT
    assert record.compared == 5
    assert record.reason is None


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
    """PyBullet assumes 1 kg for a link without mass, not for one that lost it."""
    reading = restating_mass(usd_reading(), link, structs.replace(_KILOGRAM, mass=mass))
    back = Observed(structs.replace(reading, invented=(link,)))
    checks = _judged(usd_reading(), back, "pybullet")

    wrong = {name for name, check in checks.items() if check.grade is Grade.FAILS}
    of_mass = {"mass.link.mass", "mass.group.mass", "mass.total"}
    assert {name.removeprefix("round-trip.") for name in wrong} & of_mass == failing


def _flat(reading: Observation, changes: dict[str, Any]) -> Observation:
    """Give the arm an inertia whose smaller moments add up to the largest."""
    flat = MassProperties(2.0, (0.1, 0.0, 0.0), (0.1, 0.0, 0.0, 0.3, 0.0, 0.4))
    return restating_mass(reading, "arm", structs.replace(flat, **changes))


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
    """Rounding may break A + B >= C of a flat body, but changes no mass."""
    engines = ("mujoco", "pybullet")
    # MuJoCo states no tensor where PyBullet states zero.
    of_mujoco = dict(changes)
    if changes.get("inertia") == _ZERO:
        of_mujoco["inertia"] = None
    spec, usd = _flat(urdf_reading(), {}), _flat(usd_reading(), {})
    judgement = judge(
        {
            "reference": Observed(spec),
            **{name: Observed(structs.replace(usd, engine=name)) for name in engines},
        },
        Observed(usd),
        back=RoundTripOutcomes(
            {
                name: Observed(structs.replace(_flat(usd, stated), engine=name))
                for name, stated in zip(engines, (of_mujoco, changes), strict=True)
            }
        ),
        expected_base=Base.FLOATING,
    )
    found = {
        check.id.removeprefix("round-trip.")
        for check in judgement.checks
        if check.grade is Grade.FAILS and check.id.startswith("round-trip.mass.link")
    }

    assert found == failing


def test_absent_number_read_as_zero_is_attributed_to_the_engine() -> None:
    """PyBullet cannot tell them apart; any other value is a fault of the USD."""
    spec = restating_joint(usd_reading(), "elbow", effort=None)
    checks = {
        effort: _trip_of(spec, restating_joint(spec, "elbow", effort=effort))
        for effort in (None, 0.0, 5.0)
    }

    assert checks[None].grade is Grade.EXACT
    assert checks[0.0].grade is Grade.EXACT
    assert checks[0.0].reason == "1 left out, where pybullet deviates from the URDF"
    assert checks[5.0].grade is Grade.FAILS


def _trip_of(first: Observation, second: Observation) -> CheckRecord:
    """Judge efforts that PyBullet reads in two files, of which the first is right."""
    judgement = judge(
        {
            "reference": Observed(structs.replace(first, engine="reference")),
            "pybullet": Observed(structs.replace(first, engine="pybullet")),
        },
        Observed(first),
        back=RoundTripOutcomes({"pybullet": Observed(structs.replace(second, engine="pybullet"))}),
    )
    return next(c for c in judgement.checks if c.id == "round-trip.limits.effort")


def test_difference_of_two_engines_is_attributed_to_the_usd() -> None:
    """Although each has a known deviation that could explain it."""
    spec = restating_joint(usd_reading(), "elbow", velocity=None)
    again = restating_joint(spec, "elbow", velocity=0.0)
    twice = structs.replace(
        next(one for one in DEVIATIONS if one.id == "pybullet-absent-velocity"),
        id="mujoco-absent-velocity",
        engine="mujoco",
    )
    engines = ("mujoco", "pybullet")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deviations, "DEVIATIONS", (*DEVIATIONS, twice))
        judgement = judge(
            {
                "reference": Observed(structs.replace(spec, engine="reference")),
                **{name: Observed(structs.replace(spec, engine=name)) for name in engines},
            },
            Observed(spec),
            back=RoundTripOutcomes(
                {name: Observed(structs.replace(again, engine=name)) for name in engines}
            ),
        )

    check = next(c for c in judgement.checks if c.id == "round-trip.limits.velocity")
    assert check.grade is Grade.FAILS


def test_value_not_stated_for_the_first_urdf_is_not_applicable() -> None:
    """If only the second is missing, the check is incomplete."""
    whole, unstated = usd_reading(), structs.replace(usd_reading(), rollout=None)

    for there, again, grade in (
        (unstated, whole, Grade.NOT_APPLICABLE),
        (unstated, unstated, Grade.NOT_APPLICABLE),
        (whole, unstated, Grade.NOT_COMPARABLE),
    ):
        record = _judged(there, Observed(again))["round-trip.dynamics.rollout"]
        assert record.grade is grade
        assert record.reason


def test_engine_in_single_precision_is_allowed_its_rounding() -> None:
    reading = usd_reading()
    frames = reading.frames
    assert frames is not None
    positions = frames.positions * (1 + 2.0**-24)
    moved = structs.replace(
        reading,
        precision=SINGLE_PRECISION,
        frames=structs.replace(frames, positions=positions),
    )
    reading = structs.replace(reading, precision=SINGLE_PRECISION)

    assert _judged(reading, Observed(moved))["round-trip.kinematics.position"].grade is Grade.EXACT


def test_check_of_values_that_no_engine_states_is_omitted() -> None:
    """An empty check would look as if it had passed."""
    unstated = usd_reading()
    unstated = structs.replace(unstated, states=unstated.states - {Quantity.MIMIC})

    assert "round-trip.structure.mimic" not in _judged(unstated, Observed(unstated))
