"""From outcomes of engines to checks and a verdict."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    ROBOT,
    engine_reading,
    mass_of,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
    with_inertial,
    with_joint,
)
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.descriptions import questions
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import group_masses
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import MOST_FINDINGS, judge
from urdf_usd.converter.robot.model import Link, Robot
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

SPEC = Observed(urdf_reading())


def _judge(usd: obs.Observation, spec: obs.Observation = SPEC.observation) -> Judgement:
    return judge({"reference": Observed(spec)}, Observed(usd), expected_base=obs.Base.FLOATING)


def _check(judgement: Judgement, name: str) -> CheckRecord:
    return next(check for check in judgement.checks if check.id == name)


def _failed(judgement: Judgement) -> set[str]:
    return {check.id for check in judgement.checks if check.grade is Grade.FAILS}


def test_faithful_usd_is_exact() -> None:
    judgement = _judge(usd_reading())

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    compared = {check.id: check.compared for check in judgement.checks}
    assert list(compared) == [check.id for check in CHECKS]
    assert compared["structure.links"] == compared["kinematics.position"] == len(ROBOT.links)
    assert compared["mass.group.inertia"] == 1
    assert compared["limits.lower"] == 5


def test_unconfirmed_repair_is_in_the_reason() -> None:
    repaired = Observed(structs.replace(SPEC.observation, malformed=("xml-comment",)))
    engine, refusal = Observed(engine_reading("engine")), Unsupported("the text is not XML")

    def reason(spec: Outcome, other: Outcome) -> str:
        return judge({"reference": spec, "engine": other}, Observed(usd_reading())).reason

    assert "malformed XML (xml-comment)" in reason(repaired, refusal)
    assert "malformed" not in reason(repaired, engine)
    assert "malformed" not in reason(SPEC, refusal)


def test_two_wrong_joints_in_one_chain_are_both_reported() -> None:
    robot = ROBOT
    for name in ("elbow", "weld"):
        origin = next(joint.origin for joint in ROBOT.joints if joint.name == name)
        moved = structs.replace(origin, position=(0.3, 0.2, 0.1))
        robot = with_joint(robot, name, origin=moved)
    position = _check(_judge(usd_reading(robot)), "kinematics.position")

    assert {one.subject for one in position.findings} == {"joint elbow", "joint weld"}


def test_findings_have_the_prims_of_their_subjects() -> None:
    heavy = usd_reading(with_inertial(ROBOT, "arm", mass=2.5))
    judgement = _judge(structs.replace(heavy, prims=(("link arm", "/rig/arm"),)))

    found = {one.subject: one.prim for check in judgement.checks for one in check.findings}
    assert found["link arm"] == "/rig/arm"
    assert found["robot"] is None


def test_verdict_does_not_depend_on_names_or_order() -> None:
    robot = _renamed(ROBOT)
    sampled = questions(robot)
    here = _judge(usd_reading(with_inertial(ROBOT, "arm", mass=1.125)))
    there = _judge(
        usd_reading(with_inertial(robot, "x_arm", mass=1.125), sampled),
        urdf_reading(robot, sampled),
    )

    assert here.verdict is Verdict.FAILS
    assert [(one.id, one.grade, one.compared) for one in here.checks] == [
        (one.id, one.grade, one.compared) for one in there.checks
    ]


def _renamed(robot: Robot) -> Robot:
    links = tuple(structs.replace(link, name=f"x_{link.name}") for link in robot.links)
    joints = tuple(
        structs.replace(
            joint,
            name=f"y_{joint.name}",
            parent=f"x_{joint.parent}",
            child=f"x_{joint.child}",
            mimic=joint.mimic and structs.replace(joint.mimic, joint=f"y_{joint.mimic.joint}"),
        )
        for joint in robot.joints
    )
    return structs.replace(robot, links=links[::-1], joints=joints[::-1])


def test_mass_merged_into_another_body_is_compared_per_group() -> None:
    reading = usd_reading()
    (whole,) = group_masses(reading, (("forearm", "hand", "sensor"),), reading.joints)
    assert whole is not None
    x, y, z = whole.center.tolist()
    t = whole.tensor
    six = (t[0, 0], t[0, 1], t[0, 2], t[1, 1], t[1, 2], t[2, 2])
    lumped = restating_mass(reading, "forearm", obs.MassProperties(whole.mass, (x, y, z), six))
    judgement = _judge(restating_mass(lumped, "hand", None))

    assert whole.mass > mass_of(reading, "forearm").mass
    for name in ("mass.group.mass", "mass.group.center", "mass.group.inertia", "mass.link.mass"):
        assert _check(judgement, name).grade is Grade.EXACT
    assert _check(judgement, "mass.link.mass").compared == len(ROBOT.links) - 3


@pytest.mark.parametrize(
    ("part", "verdict"), [(4e-7, Verdict.CLOSE), (0.9e-6, Verdict.CLOSE), (1.1e-5, Verdict.FAILS)]
)
def test_mass_of_a_massless_moving_link_is_close_if_harmless(part: float, verdict: Verdict) -> None:
    links = tuple(Link("wheel") if link.name == "wheel" else link for link in ROBOT.links)
    bare = structs.replace(ROBOT, links=links)
    tiny = structs.replace(
        mass_of(usd_reading(), "wheel"), mass=part * sum(link.mass for link in bare.links)
    )
    judgement = _judge(restating_mass(usd_reading(bare), "wheel", tiny), urdf_reading(bare))

    assert judgement.verdict is verdict
    assert ("mass.link.mass" in _failed(judgement)) is not verdict.conforms
    if verdict.conforms:
        assert "wheel: mass is defaulted" in judgement.reason


@pytest.mark.parametrize("rounding", [0.0, 1e-20, -1e-20])
@pytest.mark.parametrize(("moment", "failed"), [(1.5e-7, set()), (0.006, {"mass.link.inertia"})])
def test_inertia_of_a_point_mass_is_close_if_harmless(
    moment: float, failed: set[str], rounding: float
) -> None:
    point = with_inertial(ROBOT, "wheel", inertia=(0.0, 0.0, rounding, 0.0, 0.0, 0.0))
    usd = usd_reading(point)
    ball = (moment, 0.0, 0.0, moment, 0.0, moment)
    mass = structs.replace(mass_of(usd, "wheel"), inertia=ball)
    judgement = _judge(restating_mass(usd, "wheel", mass), urdf_reading(point))

    assert _failed(judgement) == failed
    assert failed or judgement.verdict is Verdict.CLOSE


def test_usd_within_engineering_tolerance_is_close() -> None:
    origin = next(joint.origin for joint in ROBOT.joints if joint.name == "shoulder")
    x, y, z = origin.position
    moved = structs.replace(origin, position=(x + 3e-6, y, z))
    judgement = _judge(usd_reading(with_joint(ROBOT, "shoulder", origin=moved)))
    position = _check(judgement, "kinematics.position")

    assert judgement.verdict is Verdict.CLOSE
    assert position.worst == pytest.approx(3e-6, rel=1e-6)
    assert position.bound is not None
    assert position.bound < 3e-6


def test_usd_without_values_is_incomplete() -> None:
    usd = usd_reading()
    unstated = structs.replace(usd, states=usd.states - {obs.Quantity.EFFORT})
    judgement = _judge(unstated)
    effort = _check(judgement, "limits.effort")

    assert (effort.grade, effort.reason) == (Grade.NOT_COMPARABLE, "usd does not state effort")
    assert judgement.verdict is Verdict.INCOMPLETE
    assert _judge(restating_joint(unstated, "elbow", upper=1.0)).verdict is Verdict.FAILS


def test_check_that_compares_nothing_is_not_applicable() -> None:
    urdf, usd = (
        structs.replace(
            reading, joints=tuple(structs.replace(joint, mimic=None) for joint in reading.joints)
        )
        for reading in (urdf_reading(), usd_reading())
    )
    judgement = _judge(usd, urdf)
    mimic = _check(judgement, "structure.mimic")
    made = [check for check in judgement.checks if check.grade is not Grade.NOT_APPLICABLE]

    assert (mimic.grade, mimic.compared) == (Grade.NOT_APPLICABLE, 0)
    assert judgement.reason == f"all {len(made)} checks are exact"


@pytest.mark.parametrize("lost", [{"mass": math.nan}, {"inertia": None}])
def test_value_that_the_usd_does_not_state_as_a_number_fails(lost: dict[str, float | None]) -> None:
    usd = usd_reading()
    mass = structs.replace(mass_of(usd, "arm"), **lost)
    judgement = _judge(restating_mass(usd, "arm", mass))

    assert {"mass.link.mass", "mass.link.inertia"} & _failed(judgement)


@pytest.mark.parametrize(
    ("spec", "usd", "verdict"),
    [
        (Unsupported("no links"), Observed(usd_reading()), Verdict.UNREADABLE),
        (Crashed("killed"), Observed(usd_reading()), Verdict.CRASHED),
        (SPEC, Crashed("signal 11"), Verdict.CRASHED),
        (SPEC, Unsupported("no default prim"), Verdict.NOT_COMPARABLE),
        (SPEC, Unsupported("/base.physics:mass is nan", invalid=True), Verdict.FAILS),
    ],
)
def test_without_two_readings_there_are_no_checks(
    spec: Outcome, usd: Outcome, verdict: Verdict
) -> None:
    judgement = judge({"reference": spec}, usd)

    assert judgement.verdict is verdict
    assert judgement.checks == ()
    unread = usd if isinstance(spec, Observed) else spec
    assert isinstance(unread, Unsupported | Crashed)
    assert unread.reason in judgement.reason


def test_usd_with_missing_parts_is_incomplete_at_best() -> None:
    judgement = _judge(structs.replace(usd_reading(), missing=("no asset @hand.usda@",)))

    assert judgement.verdict is Verdict.INCOMPLETE
    assert judgement.reason == "parts of the USD are missing: no asset @hand.usda@"


def test_reason_of_engines_without_a_reading_is_recorded() -> None:
    engines: dict[str, Outcome] = {"mujoco": Unsupported("bad origin"), "pybullet": Crashed("-11")}
    links = judge({"reference": SPEC, **engines}, Observed(usd_reading())).checks[0]

    assert [(one.engine, one.compared, one.reason) for one in links.differences] == [
        ("reference", len(ROBOT.links), None),
        ("mujoco", 0, "unsupported: bad origin"),
        ("pybullet", 0, "crashed: -11"),
        ("usd", len(ROBOT.links), None),
    ]


def test_largest_difference_of_each_engine_is_stated() -> None:
    shifted = usd_reading(with_inertial(ROBOT, "arm", mass=2.250001))
    urdf = {"reference": SPEC, "mujoco": Observed(engine_reading("mujoco"))}

    for one in _check(judge(urdf, Observed(shifted)), "mass.link.mass").differences:
        assert one.largest == pytest.approx(1e-6 / 2.25, rel=1e-3)
        assert (one.subject, one.unequal) == ("link arm", 0)


def test_number_of_findings_is_capped_and_stated() -> None:
    usd = usd_reading()
    unknown = tuple(
        structs.replace(usd.links[0], name=f"stranger_{index}", body=f"stranger_{index}")
        for index in range(MOST_FINDINGS + 5)
    )
    links = _judge(structs.replace(usd, links=(*usd.links, *unknown))).checks[0]

    assert len(links.findings) == MOST_FINDINGS
    assert links.reason == f"{MOST_FINDINGS} of {MOST_FINDINGS + 5} findings shown"


@pytest.mark.parametrize("base", [obs.Base.FIXED, obs.Base.FLOATING])
def test_base_is_not_compared_if_the_urdf_does_not_define_it(base: obs.Base) -> None:
    usd = structs.replace(usd_reading(), base=base)

    assert judge({"reference": SPEC}, Observed(usd)).verdict is Verdict.EXACT


def test_departure_of_the_usd_engine_is_a_deviation() -> None:
    # Of moments 1, 1.5 and 2.5, two are exchanged: by 1 in 2.5.
    exchanged = obs.Departure(
        "arm",
        (1.0, 0.0, 0.0, 2.0, 0.5, 2.0),
        (1.0, 0.0, 0.0, 2.0, -0.5, 2.0),
        "OpenUSD ignores small moments",
    )
    overflow = obs.Departure("wheel", (1.0,) * 6, (math.nan,) * 6, "overflow")
    judgement = _judge(structs.replace(usd_reading(), departures=(exchanged, overflow)))

    assert judgement.verdict is Verdict.EXACT
    first, second = judgement.deviations
    assert (first.engine, first.subjects) == ("usd", ("link arm",))
    assert first.largest == first.values[0].amount == pytest.approx(1 / 2.5)
    assert first.values[0].expected == first.values[0].actual == pytest.approx((1, 1.5, 2.5))
    assert first.values[0].unit == "kg m^2"
    assert second.largest is None
    assert second.values[0].actual == "not finite"


def test_joint_on_a_frame_is_a_joint_on_its_body() -> None:
    robot = with_joint(ROBOT, "finger_a", parent="sensor")
    usd = restating_joint(usd_reading(robot), "finger_a", parent="hand")

    assert "structure.parents" not in _failed(_judge(usd, urdf_reading(robot)))
