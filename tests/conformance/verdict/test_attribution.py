"""Attribution of differences to the USD, to an engine or to a simulator of the USD."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    ROBOT,
    check_of,
    engine_reading,
    mass_of,
    restating_joint,
    urdf_reading,
    usd_reading,
    with_inertial,
)
from urdf_usd.conformance.engines.protocol import Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import (
    DOUBLE_PRECISION,
    SINGLE_PRECISION,
    Base,
    Observation,
    Quantity,
)
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model, tensor_of
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

# Three values of one limit: the specification's, and two others.
RIGHT, WRONG, OTHER = 2.4, 2.0, 1.7
FAR_LIMIT = 1e12


def _with_upper(reading: Observation, upper: float) -> Observation:
    return restating_joint(reading, "elbow", upper=upper)


def _outcome(one: Observation | Outcome) -> Outcome:
    return Observed(one) if isinstance(one, Observation) else one


def _judge(
    usd: float | Observation,
    *simulators: Observation | Outcome,
    urdf: float | Observation = RIGHT,
    **engines: float | Observation | None,
) -> Judgement:
    """Judge a USD by the limits that engines read; None for one that reads no file."""
    spec = urdf if isinstance(urdf, Observation) else _with_upper(urdf_reading(), urdf)
    seen = usd if isinstance(usd, Observation) else _with_upper(usd_reading(), usd)
    outcomes: dict[str, Outcome] = {"reference": Observed(spec)}
    for name, read in engines.items():
        if isinstance(read, float):
            outcomes[name] = Observed(_with_upper(engine_reading(name), read))
        else:
            outcomes[name] = Unsupported("bad origin") if read is None else Observed(read)
    return judge(
        outcomes,
        Observed(seen),
        simulators=[*map(_outcome, simulators)],
        expected_base=Base.FLOATING,
    )


def _upper(judgement: Judgement) -> CheckRecord:
    return check_of(judgement, "limits.upper")


def _unexplained(judgement: Judgement) -> set[str]:
    return {d.engine for d in judgement.deviations if d.id == UNEXPLAINED}


@pytest.mark.parametrize(
    ("usd", "mujoco", "pybullet", "grade", "deviating"),
    [
        (RIGHT, RIGHT, RIGHT, Grade.EXACT, set()),
        (RIGHT, WRONG, RIGHT, Grade.EXACT, {"mujoco"}),
        (RIGHT, RIGHT, WRONG, Grade.EXACT, {"pybullet"}),
        (RIGHT, WRONG, WRONG, Grade.DISPUTED, {"mujoco", "pybullet"}),
        (RIGHT, WRONG, OTHER, Grade.DISPUTED, {"mujoco", "pybullet"}),
        (WRONG, RIGHT, RIGHT, Grade.FAILS, set()),
        (WRONG, WRONG, RIGHT, Grade.FAILS, {"mujoco"}),
        (WRONG, WRONG, WRONG, Grade.DISPUTED, {"mujoco", "pybullet"}),
        (WRONG, WRONG, OTHER, Grade.FAILS, {"mujoco", "pybullet"}),
        (WRONG, OTHER, OTHER, Grade.FAILS, {"mujoco", "pybullet"}),
        # Only engines that read the file count.
        (RIGHT, None, RIGHT, Grade.EXACT, set()),
        (RIGHT, None, WRONG, Grade.DISPUTED, {"pybullet"}),
        (WRONG, None, RIGHT, Grade.FAILS, set()),
        (WRONG, None, WRONG, Grade.DISPUTED, {"pybullet"}),
        (WRONG, None, OTHER, Grade.FAILS, {"pybullet"}),
        (WRONG, None, None, Grade.FAILS, set()),
    ],
)
def test_engine_that_agrees_with_the_reference_attributes_the_difference_to_the_usd(
    usd: float, mujoco: float | None, pybullet: float | None, grade: Grade, deviating: set[str]
) -> None:
    judgement = _judge(usd, mujoco=mujoco, pybullet=pybullet)

    assert _upper(judgement).grade is grade
    assert _unexplained(judgement) == deviating


ENGINES = ("drake", "mujoco", "newton", "pinocchio", "pybullet", "third-party")


@pytest.mark.parametrize("count", [3, 4, 5, 6])
@pytest.mark.parametrize("usd", [RIGHT, WRONG])
def test_one_agreeing_engine_prevents_a_dispute(usd: float, count: int) -> None:
    for supporters in range(count + 1):
        for first in (0, count // 2):
            order = ENGINES[first:count] + ENGINES[:first]
            values = [RIGHT] * supporters + [WRONG] * (count - supporters)
            judgement = _judge(usd, **dict(zip(order, values, strict=True)))
            settled = Grade.EXACT if usd == RIGHT else Grade.FAILS

            assert _upper(judgement).grade is (settled if supporters else Grade.DISPUTED)
            assert _unexplained(judgement) == set(order[supporters:])


@pytest.mark.parametrize("engines", [("mujoco",), ("drake", "mujoco", "newton", "pybullet")])
@pytest.mark.parametrize(("upper", "verdict"), [(0.0, Verdict.EXACT), (None, Verdict.FAILS)])
def test_engines_with_known_deviations_are_no_evidence(
    upper: float | None, verdict: Verdict, engines: tuple[str, ...]
) -> None:
    limits = {"lower": upper, "upper": upper}
    spec = restating_joint(urdf_reading(), "elbow", lower=0.0, upper=0.0)
    unlimited = {
        name: restating_joint(engine_reading(name), "elbow", lower=-math.inf, upper=None)
        for name in engines
    }
    judgement = _judge(restating_joint(usd_reading(), "elbow", **limits), urdf=spec, **unlimited)

    assert judgement.verdict is verdict
    assert _unexplained(judgement) == set()
    assert "mujoco-empty-range" in {one.id for one in judgement.deviations}


@pytest.mark.parametrize(("part", "unexplained"), [(0.9, set()), (1.1, {"mujoco"})])
def test_inertia_of_a_massless_link_explains_no_more_than_itself(
    part: float, unexplained: set[str]
) -> None:
    """A joint that turns the link with 1 rad/s moves no more than its largest moment."""
    robot = with_inertial(ROBOT, "hand", mass=0.0)
    spec = urdf_reading(robot)
    tensor = mass_of(spec, "hand").inertia
    assert spec.dynamics is not None
    assert tensor is not None
    inertia = spec.dynamics.inertia.copy()
    largest = np.linalg.norm(tensor_of(tensor), 2)
    inertia[:, -1, -1] += part * largest
    mujoco = structs.replace(
        spec, engine="mujoco", dynamics=structs.replace(spec.dynamics, inertia=inertia)
    )

    judgement = _judge(usd_reading(robot), urdf=spec, mujoco=mujoco)

    assert judgement.deviations
    assert _unexplained(judgement) == unexplained


def _drifting(reading: Observation, precision: float) -> Observation:
    """Return an engine with link errors of several times the rounding of float32."""
    frames = reading.frames
    assert frames is not None
    bounds = derive_tolerance_model(urdf_reading(FAR), Tolerance()).bounds
    drift = [8 * bounds[link].position for link in frames.links]
    positions = frames.positions + np.array(drift)[:, None] * [0.48, -0.6, 0.64]
    return structs.replace(
        reading, frames=structs.replace(frames, positions=positions), precision=precision
    )


# Consecutive links are 500 m apart.
FAR = structs.replace(
    ROBOT,
    joints=tuple(
        structs.replace(
            joint, origin=structs.replace(joint.origin, position=(300.0, -200.0, 400.0))
        )
        for joint in ROBOT.joints
    ),
)


@pytest.mark.parametrize(
    ("precision", "verdict", "deviating"),
    [(SINGLE_PRECISION, Verdict.EXACT, set()), (DOUBLE_PRECISION, Verdict.DISPUTED, {"newton"})],
)
def test_rounding_of_single_precision_is_no_contradiction(
    precision: float, verdict: Verdict, deviating: set[str]
) -> None:
    newton = _drifting(engine_reading("newton", FAR), precision)
    judgement = _judge(usd_reading(FAR), urdf=urdf_reading(FAR), newton=newton)

    assert judgement.verdict is verdict
    assert _unexplained(judgement) == deviating


@pytest.mark.parametrize(
    ("precision", "verdict"), [(SINGLE_PRECISION, Verdict.CLOSE), (DOUBLE_PRECISION, Verdict.FAILS)]
)
def test_simulator_beyond_the_tolerance_is_never_exact(precision: float, verdict: Verdict) -> None:
    physx = structs.replace(_drifting(usd_reading(FAR), precision), engine="physx")

    assert _judge(usd_reading(FAR), physx, urdf=urdf_reading(FAR)).verdict is verdict


def test_deviation_of_another_engine_does_not_apply() -> None:
    spec = restating_joint(urdf_reading(), "elbow", lower=0.0, upper=0.5)
    unlimited = restating_joint(engine_reading("pybullet"), "elbow", lower=None, upper=None)
    usd = restating_joint(usd_reading(), "elbow", lower=0.0, upper=0.5)
    judgement = _judge(usd, urdf=spec, pybullet=unlimited)

    assert _unexplained(judgement) == {"pybullet"}
    assert judgement.verdict is Verdict.DISPUTED


def test_dispute_names_both_engines_and_the_value() -> None:
    check = _upper(_judge(RIGHT, mujoco=WRONG, pybullet=WRONG))
    (finding,) = check.findings

    assert finding.subject == "joint elbow"
    assert finding.grade is Grade.DISPUTED
    assert "mujoco: joint elbow: upper limit is 2 rad, not 2.4 rad" in finding.message
    assert check.reason == (
        "mujoco and pybullet contradict the reference engine, and no engine agrees with it"
    )


def test_dispute_of_one_value_does_not_hide_the_failure_of_another() -> None:
    check = _upper(_judge(restating_joint(usd_reading(), "shoulder", upper=0.5), mujoco=WRONG))

    assert check.grade is Grade.FAILS
    assert [(f.subject, f.grade) for f in check.findings] == [
        ("joint shoulder", Grade.FAILS),
        ("joint elbow", Grade.DISPUTED),
    ]


def test_deviation_states_its_size_and_its_subjects() -> None:
    robot = with_inertial(with_inertial(ROBOT, "arm", mass=2.5), "wheel", mass=3.0)
    readings = {"drake": engine_reading("drake"), "mujoco": engine_reading("mujoco", robot)}
    judgement = _judge(usd_reading(), **readings)
    (deviation,) = (d for d in judgement.deviations if d.check == "mass.link.mass")

    assert judgement.verdict is Verdict.EXACT
    assert deviation.subjects == ("link arm", "link wheel")
    assert deviation.largest == pytest.approx(1.0)


def _simulated(upper: float = RIGHT, engine: str = "physx") -> Observation:
    reading = _with_upper(usd_reading(), upper)
    return structs.replace(reading, engine=engine, precision=SINGLE_PRECISION)


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
    check = _upper(judgement)

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
    difference = _upper(judgement).differences[-1]

    assert judgement.verdict is Verdict.EXACT
    assert (difference.engine, difference.compared) == ("physx", 0)
    assert difference.reason is not None


def test_known_deviation_of_a_simulator_does_not_count() -> None:
    newton, physx = _simulated(math.inf, "newton-usd"), _simulated(math.inf, "physx")
    judgement = _judge(FAR_LIMIT, newton, urdf=FAR_LIMIT)
    (deviation,) = judgement.deviations

    assert judgement.verdict is Verdict.EXACT
    assert (deviation.id, deviation.check) == ("newton-usd-far-range", "limits.upper")
    assert _judge(FAR_LIMIT, newton, physx, urdf=FAR_LIMIT).verdict is Verdict.FAILS


def test_refusal_of_a_usd_that_is_made_for_a_simulator_fails() -> None:
    refusal = Unsupported("Newton: Reversed joints are not supported", invalid=True)
    judgement = _judge(RIGHT, _simulated(), refusal)

    assert judgement.verdict is Verdict.FAILS
    assert judgement.reason == f"a simulator refuses the USD: {refusal.reason}"
    assert "upper position limits" in _judge(WRONG, refusal).reason


def test_rounding_of_single_precision_is_exact() -> None:
    near = RIGHT * (1 + 2 * SINGLE_PRECISION)

    assert _upper(_judge(RIGHT, _simulated(near))).grade is Grade.EXACT
