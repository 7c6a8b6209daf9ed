"""Simulators that read the USD count in the verdict."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    restating_joint,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Observed, Outcome
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    Base,
    JointType,
    Observation,
    Quantity,
)
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

RIGHT, WRONG = 2.4, 2.0


def _with_limit(reading: Observation, upper: float) -> Observation:
    return restating_joint(reading, "elbow", upper=upper)


def _simulated(upper: float = RIGHT, engine: str = "physx") -> Observation:
    return structs.replace(
        _with_limit(usd_reading(), upper), engine=engine, precision=SINGLE_PRECISION
    )


def _judge(usd: float, *simulators: Outcome) -> Judgement:
    return judge(
        {"reference": Observed(urdf_reading())},
        Observed(_with_limit(usd_reading(), usd)),
        simulators=simulators,
    )


def _check(judgement: Judgement, name: str = "limits.upper") -> CheckRecord:
    return next(check for check in judgement.checks if check.id == name)


def test_difference_of_a_simulator_alone_fails() -> None:
    judgement = _judge(RIGHT, Observed(_simulated(WRONG)))
    (finding,) = _check(judgement).findings

    assert judgement.verdict is Verdict.FAILS
    assert finding.message.startswith("physx: ")
    assert finding.subject == "joint elbow"
    assert judgement.deviations == ()


def test_simulator_that_agrees_with_the_urdf_changes_no_grade() -> None:
    judgement = _judge(RIGHT, Observed(_simulated()))
    readings = {one.engine: (one.side, one.unequal) for one in _check(judgement).differences}

    assert judgement.verdict is Verdict.EXACT
    assert readings["usd"] == ("usd", 0)
    assert readings["physx"] == ("usd", 0)
    assert readings["reference"][0] == "urdf"


def test_wrong_usd_fails_although_a_simulator_reads_the_right_value() -> None:
    """One engine that agrees does not excuse the others."""
    judgement = _judge(WRONG, Observed(_simulated()))

    assert judgement.verdict is Verdict.FAILS
    assert {one.engine: one.unequal for one in _check(judgement).differences} == {
        "reference": 1,
        "usd": 1,
        "physx": 0,
    }


def test_same_fault_in_several_engines_is_one_finding() -> None:
    judgement = _judge(
        WRONG, Observed(_simulated(WRONG)), Observed(_simulated(WRONG, "newton-usd"))
    )

    assert len(_check(judgement).findings) == 1
    assert all(one.unequal for one in _check(judgement).differences)


def test_lost_degree_of_freedom_fails() -> None:
    lost = restating_joint(_simulated(), "elbow", type=JointType.FIXED, lower=None, upper=None)
    judgement = _judge(RIGHT, Observed(lost))

    assert judgement.verdict is Verdict.FAILS
    assert _check(judgement, "structure.types").grade is Grade.FAILS


def test_base_of_a_simulator_counts() -> None:
    """The requested base is the one that it has to simulate."""
    states = _simulated().states | {Quantity.BASE}
    for base, verdict in ((Base.FIXED, Verdict.FAILS), (Base.FLOATING, Verdict.EXACT)):
        judgement = judge(
            {"reference": Observed(urdf_reading())},
            Observed(structs.replace(usd_reading(), base=Base.FLOATING)),
            simulators=[Observed(structs.replace(_simulated(), states=states, base=base))],
            expected_base=Base.FLOATING,
        )

        assert judgement.verdict is verdict


def test_quantity_that_a_simulator_does_not_report_is_not_counted() -> None:
    without = structs.replace(_simulated(WRONG), states=_simulated().states - {Quantity.LIMITS})
    judgement = _judge(RIGHT, Observed(without))
    (difference,) = (one for one in _check(judgement).differences if one.engine == "physx")

    assert judgement.verdict is Verdict.EXACT
    assert difference.compared == 0
    assert difference.reason is not None


def test_known_deviation_of_a_simulator_does_not_count() -> None:
    """Newton uses 1e10 for no limit: the row of deviations says so."""
    judgement = judge(
        {"reference": Observed(_with_limit(urdf_reading(), 1e12))},
        Observed(_with_limit(usd_reading(), 1e12)),
        simulators=[Observed(_simulated(math.inf, "newton-usd"))],
    )
    (deviation,) = judgement.deviations

    assert judgement.verdict is Verdict.EXACT
    assert deviation.id == "newton-usd-far-range"
    assert deviation.check == "limits.upper"


def test_deviation_of_one_simulator_excuses_no_other() -> None:
    """The same value in PhysX has no known cause."""
    judgement = judge(
        {"reference": Observed(_with_limit(urdf_reading(), 1e12))},
        Observed(_with_limit(usd_reading(), 1e12)),
        simulators=[
            Observed(_simulated(math.inf, "newton-usd")),
            Observed(_simulated(math.inf, "physx")),
        ],
    )

    assert judgement.verdict is Verdict.FAILS


@pytest.mark.parametrize("outcome", [Abstained("several axes"), Crashed("no answer after 120 s")])
def test_simulator_without_observation_changes_nothing(outcome: Outcome) -> None:
    judgement = _judge(RIGHT, outcome)

    assert judgement.verdict is Verdict.EXACT
    assert "physx" not in {one.engine for one in _check(judgement).differences}


def test_refusal_of_a_usd_that_is_made_for_a_simulator_fails() -> None:
    refusal = Abstained("Newton: Reversed joints are not supported", invalid=True)
    judgement = _judge(RIGHT, Observed(_simulated()), refusal)

    assert judgement.verdict is Verdict.FAILS
    assert judgement.reason == f"a simulator refuses the USD: {refusal.reason}"
    assert "upper position limits" in _judge(WRONG, refusal).reason


def test_rounding_of_single_precision_is_exact() -> None:
    """An engine in double precision has no such bound."""
    near = RIGHT * (1 + 2 * SINGLE_PRECISION)
    judgement = _judge(RIGHT, Observed(_simulated(near)))

    assert _check(judgement).grade is Grade.EXACT
