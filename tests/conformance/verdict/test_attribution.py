"""Attribution of differences to the USD or to an engine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    ROBOT,
    engine_reading,
    restating_joint,
    urdf_reading,
    usd_reading,
    with_inertial,
)
from urdf_usd.conformance.engines.protocol import Observed, Outcome, Unsupported
from urdf_usd.conformance.observation.robot import DOUBLE_PRECISION, SINGLE_PRECISION, Observation
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

SPEC = Observed(urdf_reading())
# Three values of one limit: the specification's, and two others.
RIGHT, WRONG, OTHER = 2.4, 2.0, 1.7


def _with_upper(reading: Observation, upper: float) -> Observation:
    return restating_joint(reading, "elbow", upper=upper)


def _judge(usd: float, **engines: float | None) -> Judgement:
    """Judge a USD by the limits that engines read; None for one that reads no file."""
    urdf: dict[str, Outcome] = {"reference": SPEC}
    for name, upper in engines.items():
        urdf[name] = (
            Unsupported("bad origin")
            if upper is None
            else Observed(_with_upper(engine_reading(name), upper))
        )
    return judge(urdf, Observed(_with_upper(usd_reading(), usd)))


def _upper(judgement: Judgement) -> CheckRecord:
    return next(check for check in judgement.checks if check.id == "limits.upper")


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
    usd = restating_joint(usd_reading(), "elbow", **limits)
    urdf: dict[str, Outcome] = {"reference": Observed(spec)}
    for name in engines:
        unlimited = restating_joint(engine_reading(name), "elbow", lower=-math.inf, upper=None)
        urdf[name] = Observed(unlimited)
    judgement = judge(urdf, Observed(usd))

    assert judgement.verdict is verdict
    assert _unexplained(judgement) == set()
    assert "mujoco-empty-range" in {one.id for one in judgement.deviations}


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
    urdf: dict[str, Outcome] = {
        "reference": Observed(urdf_reading(FAR)),
        "newton": Observed(_drifting(engine_reading("newton", FAR), precision)),
    }
    judgement = judge(urdf, Observed(usd_reading(FAR)))

    assert judgement.verdict is verdict
    assert _unexplained(judgement) == deviating


@pytest.mark.parametrize(
    ("precision", "verdict"), [(SINGLE_PRECISION, Verdict.CLOSE), (DOUBLE_PRECISION, Verdict.FAILS)]
)
def test_simulator_beyond_the_tolerance_is_never_exact(precision: float, verdict: Verdict) -> None:
    judgement = judge(
        {"reference": Observed(urdf_reading(FAR))},
        Observed(usd_reading(FAR)),
        simulators=[Observed(_drifting(engine_reading("physx", FAR), precision))],
    )

    assert judgement.verdict is verdict


def test_deviation_of_another_engine_does_not_apply() -> None:
    spec = restating_joint(urdf_reading(), "elbow", lower=0.0, upper=0.5)
    unlimited = restating_joint(engine_reading("pybullet"), "elbow", lower=None, upper=None)
    usd = restating_joint(usd_reading(), "elbow", lower=0.0, upper=0.5)
    judgement = judge({"reference": Observed(spec), "pybullet": Observed(unlimited)}, Observed(usd))

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
    urdf: dict[str, Outcome] = {"reference": SPEC}
    urdf["mujoco"] = Observed(_with_upper(engine_reading("mujoco"), WRONG))
    usd = restating_joint(usd_reading(), "shoulder", upper=0.5)
    check = _upper(judge(urdf, Observed(usd)))

    assert check.grade is Grade.FAILS
    assert [(f.subject, f.grade) for f in check.findings] == [
        ("joint shoulder", Grade.FAILS),
        ("joint elbow", Grade.DISPUTED),
    ]


def test_deviation_states_its_size_and_its_subjects() -> None:
    robot = with_inertial(with_inertial(ROBOT, "arm", mass=2.5), "wheel", mass=3.0)
    urdf: dict[str, Outcome] = {"reference": SPEC, "drake": Observed(engine_reading("drake"))}
    urdf["mujoco"] = Observed(engine_reading("mujoco", robot))
    judgement = judge(urdf, Observed(usd_reading()))
    (deviation,) = (d for d in judgement.deviations if d.check == "mass.link.mass")

    assert judgement.verdict is Verdict.EXACT
    assert deviation.subjects == ("link arm", "link wheel")
    assert deviation.largest == pytest.approx(1.0)
