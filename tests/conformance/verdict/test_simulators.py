"""Simulators that read the USD count in the verdict."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from tests.conformance.miniatures import restating_joint, urdf_reading, usd_reading
from urdf_usd.conformance.engines.protocol import Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    Base,
    Observation,
    Quantity,
)
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

RIGHT, WRONG = 2.4, 2.0
FAR = 1e12


def _with_limit(reading: Observation, upper: float) -> Observation:
    return restating_joint(reading, "elbow", upper=upper)


def _simulated(upper: float = RIGHT, engine: str = "physx") -> Observation:
    reading = _with_limit(usd_reading(), upper)
    return structs.replace(reading, engine=engine, precision=SINGLE_PRECISION)


def _judge(usd: float, *simulators: Observation | Outcome, urdf: float = RIGHT) -> Judgement:
    return judge(
        {"reference": Observed(_with_limit(urdf_reading(), urdf))},
        Observed(structs.replace(_with_limit(usd_reading(), usd), base=Base.FLOATING)),
        simulators=[Observed(one) if isinstance(one, Observation) else one for one in simulators],
        expected_base=Base.FLOATING,
    )


def _check(judgement: Judgement, name: str = "limits.upper") -> CheckRecord:
    return next(check for check in judgement.checks if check.id == name)


@pytest.mark.parametrize(
    ("usd", "simulated", "verdict", "unequal"),
    [
        (RIGHT, RIGHT, Verdict.EXACT, {"reference": 0, "usd": 0, "physx": 0}),
        # The USD states the right limit, and the simulator computes with another.
        (RIGHT, WRONG, Verdict.FAILS, {"reference": 0, "usd": 0, "physx": 1}),
        # A simulator that agrees does not excuse the USD.
        (WRONG, RIGHT, Verdict.FAILS, {"reference": 1, "usd": 1, "physx": 0}),
        (WRONG, WRONG, Verdict.FAILS, {"reference": 1, "usd": 1, "physx": 1}),
    ],
)
def test_value_of_a_simulator_counts(
    usd: float, simulated: float, verdict: Verdict, unequal: dict[str, int]
) -> None:
    judgement = _judge(usd, _simulated(simulated))
    check = _check(judgement)

    assert judgement.verdict is verdict
    assert judgement.deviations == ()
    assert {one.engine: one.unequal for one in check.differences} == unequal
    assert [one.side for one in check.differences] == ["urdf", "usd", "usd"]
    # The same fault in several engines is one finding.
    assert len(check.findings) == (verdict is Verdict.FAILS)
    for finding in check.findings:
        assert finding.subject == "joint elbow"
        assert finding.message.startswith("physx: ") is (usd == RIGHT)


@pytest.mark.parametrize(
    ("base", "verdict"), [(Base.FIXED, Verdict.FAILS), (Base.FLOATING, Verdict.EXACT)]
)
def test_base_of_a_simulator_counts(base: Base, verdict: Verdict) -> None:
    states = _simulated().states | {Quantity.BASE}

    assert _judge(RIGHT, structs.replace(_simulated(), states=states, base=base)).verdict is verdict


def test_quantity_that_a_simulator_does_not_report_is_not_counted() -> None:
    without = structs.replace(_simulated(WRONG), states=_simulated().states - {Quantity.LIMITS})
    judgement = _judge(RIGHT, without)
    difference = _check(judgement).differences[-1]

    assert judgement.verdict is Verdict.EXACT
    assert (difference.engine, difference.compared) == ("physx", 0)
    assert difference.reason is not None


def test_known_deviation_of_a_simulator_does_not_count() -> None:
    newton, physx = _simulated(math.inf, "newton-usd"), _simulated(math.inf, "physx")
    judgement = _judge(FAR, newton, urdf=FAR)
    (deviation,) = judgement.deviations

    assert judgement.verdict is Verdict.EXACT
    assert (deviation.id, deviation.check) == ("newton-usd-far-range", "limits.upper")
    assert _judge(FAR, newton, physx, urdf=FAR).verdict is Verdict.FAILS


def test_refusal_of_a_usd_that_is_made_for_a_simulator_fails() -> None:
    refusal = Unsupported("Newton: Reversed joints are not supported", invalid=True)
    judgement = _judge(RIGHT, _simulated(), refusal)

    assert judgement.verdict is Verdict.FAILS
    assert judgement.reason == f"a simulator refuses the USD: {refusal.reason}"
    assert "upper position limits" in _judge(WRONG, refusal).reason


def test_rounding_of_single_precision_is_exact() -> None:
    near = RIGHT * (1 + 2 * SINGLE_PRECISION)

    assert _check(_judge(RIGHT, _simulated(near))).grade is Grade.EXACT
