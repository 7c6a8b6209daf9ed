"""Every check passes a faithful USD and fails its wrong converter."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    MINIATURES,
    ROBOT,
    Miniature,
    engine_reading,
    joint_of,
    mass_of,
    restating_joint,
    restating_mass,
    urdf_reading,
    usd_reading,
    with_inertial,
)
from tests.conformance.shape_miniatures import SHAPE_MINIATURES
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Observed, Outcome
from urdf_usd.conformance.execution.tasks import questions
from urdf_usd.conformance.observation.robot import (
    Base,
    Departure,
    MassProperties,
    Observation,
    Quantity,
)
from urdf_usd.conformance.tolerance.rigid_groups import group_masses
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import MOST_FINDINGS, judge
from urdf_usd.converter.robot.model import Joint, Link, Mimic, Robot
from urdf_usd.reports.records.record import Grade, Verdict

WRONG = (*MINIATURES, *SHAPE_MINIATURES)
SPEC = Observed(urdf_reading())


def _judge(miniature: Miniature) -> Judgement:
    return judge({"reference": SPEC}, Observed(miniature.reading()), expected_base=Base.FLOATING)


def _failed(judgement: Judgement) -> set[str]:
    return {check.id for check in judgement.checks if check.grade is Grade.FAILS}


def test_faithful_usd_is_exact() -> None:
    judgement = judge({"reference": SPEC}, Observed(usd_reading()), expected_base=Base.FLOATING)

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    compared = {check.id: check.compared for check in judgement.checks}
    assert compared["structure.links"] == len(ROBOT.links)
    assert compared["kinematics.position"] == len(ROBOT.links)
    assert compared["mass.group.inertia"] == 1
    assert compared["limits.lower"] == 5
    assert [check.id for check in judgement.checks] == [check.id for check in CHECKS]


def test_unconfirmed_repair_is_in_the_reason() -> None:
    """An engine that read the file as repaired would confirm it."""
    repaired = Observed(structs.replace(SPEC.observation, malformed=("xml-comment",)))
    usd = Observed(usd_reading())
    engine = Observed(engine_reading("engine"))
    refusal = Abstained("the text is not XML")

    def reason(spec: Outcome, other: Outcome) -> str:
        outcomes = {"reference": spec, "engine": other}
        return judge(outcomes, usd, expected_base=Base.FLOATING).reason

    assert "malformed XML (xml-comment)" in reason(repaired, refusal)
    assert "malformed" not in reason(repaired, engine)
    assert "malformed" not in reason(SPEC, refusal)


@pytest.mark.parametrize("miniature", WRONG, ids=lambda each: each.name)
def test_wrong_converter_is_caught(miniature: Miniature) -> None:
    judgement = _judge(miniature)

    assert judgement.verdict is Verdict.FAILS
    assert set(miniature.trips) <= _failed(judgement)
    checks = {check.id: check for check in judgement.checks}
    for check, subject in miniature.trips.items():
        failing = [f for f in checks[check].findings if f.grade is Grade.FAILS]
        assert failing[0].subject == subject
    first = checks[next(iter(miniature.trips))].findings[0]
    assert miniature.message in first.message


def test_one_wrong_joint_is_one_finding() -> None:
    """The shoulder displaces seven links; only its own link is reported."""
    negated = next(each for each in MINIATURES if each.name == "axis negated")
    checks = {check.id: check for check in _judge(negated).checks}
    position = checks["kinematics.position"]

    assert [finding.subject for finding in position.findings] == ["joint shoulder"]
    assert "more below it" in position.findings[0].message
    assert position.findings[0].configuration is not None
    assert position.worst is not None
    assert position.worst > 0.1


def test_findings_have_the_prims_of_their_subjects() -> None:
    """The robot as a whole has none."""
    heavy = usd_reading(with_inertial(ROBOT, "arm", mass=2.5))
    prims = (("link arm", "/rig/arm"),)
    judgement = judge({"reference": SPEC}, Observed(structs.replace(heavy, prims=prims)))
    found = {
        finding.subject: finding.prim for check in judgement.checks for finding in check.findings
    }
    assert found["link arm"] == "/rig/arm"
    assert found["robot"] is None


def test_two_wrong_joints_in_one_chain_are_both_reported() -> None:
    """The first does not hide the second."""
    joints = {joint.name: joint for joint in ROBOT.joints}
    elbow, weld = (
        structs.replace(
            joints[name],
            origin=structs.replace(joints[name].origin, position=(0.3, 0.2, 0.1)),
        )
        for name in ("elbow", "weld")
    )
    changed = tuple({"elbow": elbow, "weld": weld}.get(joint.name, joint) for joint in ROBOT.joints)
    usd = usd_reading(structs.replace(ROBOT, joints=changed))
    judgement = judge({"reference": SPEC}, Observed(usd))
    position = next(c for c in judgement.checks if c.id == "kinematics.position")

    assert {f.subject for f in position.findings} == {"joint elbow", "joint weld"}


def test_verdict_does_not_depend_on_names_or_order() -> None:
    """Renaming and reordering both sides changes only names."""
    renamed = _renamed(ROBOT)
    robot = structs.replace(
        renamed,
        links=tuple(reversed(renamed.links)),
        joints=tuple(reversed(renamed.joints)),
    )
    sampled = questions(robot)
    here = judge(
        {"reference": SPEC},
        Observed(usd_reading(with_inertial(ROBOT, "arm", mass=1.125))),
    )
    there = judge(
        {"reference": Observed(urdf_reading(robot, sampled))},
        Observed(usd_reading(with_inertial(robot, "x_arm", mass=1.125), sampled)),
    )

    assert here.verdict is Verdict.FAILS
    for ours, theirs in zip(here.checks, there.checks, strict=True):
        assert ours.grade is theirs.grade, ours.id
        assert ours.compared == theirs.compared, ours.id


def _renamed(robot: Robot) -> Robot:
    def link(part: Link) -> Link:
        return structs.replace(part, name=f"x_{part.name}")

    def joint(part: Joint) -> Joint:
        mimic = part.mimic and Mimic(
            f"y_{part.mimic.joint}", part.mimic.multiplier, part.mimic.offset
        )
        return structs.replace(
            part,
            name=f"y_{part.name}",
            parent=f"x_{part.parent}",
            child=f"x_{part.child}",
            mimic=mimic,
        )

    return structs.replace(
        robot,
        links=tuple(map(link, robot.links)),
        joints=tuple(map(joint, robot.joints)),
    )


def test_mass_merged_into_another_body_is_compared_per_group() -> None:
    faithful = usd_reading()
    lumped = _lumped_reading()
    judgement = judge({"reference": SPEC}, Observed(lumped))
    checks = {check.id: check for check in judgement.checks}

    assert mass_of(lumped, "forearm").mass > mass_of(faithful, "forearm").mass
    assert checks["mass.group.mass"].grade is Grade.EXACT
    assert checks["mass.group.center"].grade is Grade.EXACT
    assert checks["mass.group.inertia"].grade is Grade.EXACT
    assert checks["mass.link.mass"].grade is Grade.EXACT
    assert checks["mass.link.mass"].compared == len(ROBOT.links) - 3


def _lumped_reading() -> Observation:
    reading = usd_reading()
    (whole,) = group_masses(reading, (("forearm", "hand", "sensor"),), reading.joints)
    assert whole is not None
    x, y, z = whole.center.tolist()
    t = whole.tensor
    six = (t[0, 0], t[0, 1], t[0, 2], t[1, 1], t[1, 2], t[2, 2])
    carried = restating_mass(reading, "forearm", MassProperties(whole.mass, (x, y, z), six))
    return restating_mass(carried, "hand", None)


@pytest.mark.parametrize("part", [4e-7, 0.9e-6])
def test_harmless_invented_mass_is_close(part: float) -> None:
    """OpenUSD requires a mass of a massless link that moves."""
    bare = structs.replace(
        ROBOT,
        links=tuple(Link("wheel") if link.name == "wheel" else link for link in ROBOT.links),
    )
    usd = usd_reading(bare)
    total = sum(link.mass for link in bare.links)
    tiny = structs.replace(mass_of(usd_reading(), "wheel"), mass=part * total)
    judgement = judge(
        {"reference": Observed(urdf_reading(bare))},
        Observed(restating_mass(usd, "wheel", tiny)),
    )

    assert judgement.verdict is Verdict.CLOSE
    assert "regularised" in judgement.reason
    assert "wheel" in judgement.reason


def test_harmful_invented_mass_fails() -> None:
    bare = structs.replace(
        ROBOT,
        links=tuple(Link("wheel") if link.name == "wheel" else link for link in ROBOT.links),
    )
    tiny = structs.replace(mass_of(usd_reading(), "wheel"), mass=1.3e-4)
    usd = restating_mass(usd_reading(bare), "wheel", tiny)
    judgement = judge({"reference": Observed(urdf_reading(bare))}, Observed(usd))

    assert "mass.link.mass" in _failed(judgement)


@pytest.mark.parametrize("rounding", [0.0, 1e-20, -1e-20])
def test_invented_inertia_of_a_point_mass_is_close(rounding: float) -> None:
    inertia = (0.0, 0.0, rounding, 0.0, 0.0, 0.0)
    point = with_inertial(ROBOT, "wheel", inertia=inertia)
    spec, usd = urdf_reading(point), usd_reading(point)
    moment = 1.5 * 1e-7
    mass = structs.replace(mass_of(usd, "wheel"), inertia=(moment, 0.0, 0.0, moment, 0.0, moment))
    small = judge({"reference": Observed(spec)}, Observed(restating_mass(usd, "wheel", mass)))
    ball = structs.replace(mass, inertia=(0.006, 0.0, 0.0, 0.006, 0.0, 0.006))
    large = judge({"reference": Observed(spec)}, Observed(restating_mass(usd, "wheel", ball)))

    assert small.verdict is Verdict.CLOSE
    assert _failed(large) == {"mass.link.inertia"}


def test_usd_within_engineering_tolerance_is_close() -> None:
    joints = tuple(
        structs.replace(
            joint,
            origin=structs.replace(joint.origin, position=(0.500003, -0.6, 0.7)),
        )
        if joint.name == "shoulder"
        else joint
        for joint in ROBOT.joints
    )
    usd = usd_reading(structs.replace(ROBOT, joints=joints))
    judgement = judge({"reference": SPEC}, Observed(usd))

    assert judgement.verdict is Verdict.CLOSE
    position = next(c for c in judgement.checks if c.id == "kinematics.position")
    assert position.worst == pytest.approx(3e-6, rel=1e-6)
    assert position.bound is not None
    assert position.bound < 3e-6


def test_usd_without_values_is_incomplete() -> None:
    """Values that OpenUSD's reader does not state are not passed."""
    usd = usd_reading()
    unstated = structs.replace(usd, states=usd.states - {Quantity.EFFORT})
    judgement = judge({"reference": SPEC}, Observed(unstated))
    effort = next(check for check in judgement.checks if check.id == "limits.effort")

    assert effort.grade is Grade.NOT_COMPARABLE
    assert effort.reason == "usd does not state effort"
    assert judgement.verdict is Verdict.INCOMPLETE


def test_check_that_compares_nothing_is_not_applicable() -> None:
    """It has a reason and does not count as passed."""
    plain = [
        structs.replace(
            reading,
            joints=tuple(structs.replace(joint, mimic=None) for joint in reading.joints),
        )
        for reading in (urdf_reading(), usd_reading())
    ]
    judgement = judge({"reference": Observed(plain[0])}, Observed(plain[1]))
    mimic = next(check for check in judgement.checks if check.id == "structure.mimic")
    made = [check for check in judgement.checks if check.compared]

    assert mimic.grade is Grade.NOT_APPLICABLE
    assert mimic.compared == 0
    assert mimic.reason == "no joint mimics another"
    assert judgement.verdict is Verdict.EXACT
    assert judgement.reason == f"all {len(made)} checks are exact"


def test_value_that_the_usd_does_not_state_as_a_number_fails() -> None:
    """The URDF states it, so it is lost; no other engine is at fault."""
    usd = usd_reading()
    arm = next(link for link in usd.links if link.name == "arm")
    assert arm.mass is not None
    for lost in (
        structs.replace(arm.mass, mass=math.nan),
        structs.replace(arm.mass, inertia=None),
    ):
        judgement = judge({"reference": SPEC}, Observed(restating_mass(usd, "arm", lost)))
        failing = {c.id for c in judgement.checks if c.grade is Grade.FAILS}

        assert judgement.verdict is Verdict.FAILS
        assert {"mass.link.mass", "mass.link.inertia"} & failing


def test_failure_outweighs_missing_values() -> None:
    usd = restating_joint(usd_reading(), "elbow", upper=1.0)
    unstated = structs.replace(usd, states=usd.states - {Quantity.EFFORT})

    assert judge({"reference": SPEC}, Observed(unstated)).verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("spec", "usd", "verdict"),
    [
        (Abstained("no links"), Observed(usd_reading()), Verdict.UNREADABLE),
        (Crashed("killed"), Observed(usd_reading()), Verdict.CRASHED),
        (SPEC, Crashed("signal 11"), Verdict.CRASHED),
        (SPEC, Abstained("no default prim"), Verdict.NOT_COMPARABLE),
        (SPEC, Abstained("/base.physics:mass is nan", invalid=True), Verdict.FAILS),
    ],
)
def test_without_two_readings_there_are_no_checks(
    spec: Outcome, usd: Outcome, verdict: Verdict
) -> None:
    judgement = judge({"reference": spec}, usd)

    assert judgement.verdict is verdict
    assert judgement.checks == ()
    unread = usd if isinstance(spec, Observed) else spec
    assert isinstance(unread, Abstained | Crashed)
    assert unread.reason in judgement.reason


def test_usd_with_missing_parts_is_incomplete_at_best() -> None:
    """Although everything that could be compared agrees."""
    usd = structs.replace(usd_reading(), missing=("no asset @hand.usda@",))

    judgement = judge({"reference": SPEC}, Observed(usd))

    assert judge({"reference": SPEC}, Observed(usd_reading())).verdict.conforms
    assert judgement.verdict is Verdict.INCOMPLETE
    assert judgement.reason == "parts of the USD are missing: no asset @hand.usda@"


def test_judgement_requires_the_reference() -> None:
    with pytest.raises(ValueError, match="reference"):
        judge({}, Observed(usd_reading()))


def test_reason_of_engines_without_a_reading_is_recorded() -> None:
    judgement = judge(
        {
            "reference": SPEC,
            "mujoco": Abstained("bad origin"),
            "pybullet": Crashed("-11"),
        },
        Observed(usd_reading()),
    )
    links = judgement.checks[0]

    assert [(d.engine, d.compared, d.reason) for d in links.differences] == [
        ("reference", len(ROBOT.links), None),
        ("mujoco", 0, "abstained: bad origin"),
        ("pybullet", 0, "crashed: -11"),
        ("usd", len(ROBOT.links), None),
    ]


def test_largest_difference_of_each_engine_is_stated() -> None:
    shifted = usd_reading(with_inertial(ROBOT, "arm", mass=2.250001))
    urdf = {"reference": SPEC, "mujoco": Observed(engine_reading("mujoco"))}
    judgement = judge(urdf, Observed(shifted))
    mass = next(check for check in judgement.checks if check.id == "mass.link.mass")

    for difference in mass.differences:
        assert difference.largest == pytest.approx(1e-6 / 2.25, rel=1e-3)
        assert difference.subject == "link arm"
        assert difference.unequal == 0


def test_number_of_findings_is_capped_and_stated() -> None:
    usd = usd_reading()
    unknown_links = tuple(
        structs.replace(usd.links[0], name=f"stranger_{index}", body=f"stranger_{index}")
        for index in range(MOST_FINDINGS + 5)
    )
    judgement = judge(
        {"reference": SPEC},
        Observed(structs.replace(usd, links=(*usd.links, *unknown_links))),
    )
    links = judgement.checks[0]

    assert len(links.findings) == MOST_FINDINGS
    assert links.reason == f"{MOST_FINDINGS} of {MOST_FINDINGS + 5} findings shown"


def test_base_is_not_compared_if_the_urdf_does_not_define_it() -> None:
    """URDF has no element for it."""
    for base in (Base.FIXED, Base.FLOATING):
        usd = structs.replace(usd_reading(), base=base)
        judgement = judge({"reference": SPEC}, Observed(usd))

        assert judgement.verdict is Verdict.EXACT


def test_departure_of_a_further_usd_engine_is_a_deviation() -> None:
    departure = Departure(
        "arm",
        (1.0, 0.0, 0.0, 2.0, 0.5, 2.0),
        (1.0, 0.0, 0.0, 2.0, -0.5, 2.0),
        "OpenUSD ignores small moments",
    )
    usd = structs.replace(usd_reading(), departures=(departure,))
    judgement = judge({"reference": SPEC}, Observed(usd))

    assert judgement.verdict is Verdict.EXACT
    (deviation,) = judgement.deviations
    assert deviation.engine == "usd"
    assert deviation.subjects == ("link arm",)
    # Of moments 1, 1.5 and 2.5, two are exchanged: by 1 in 2.5.
    assert deviation.largest == pytest.approx(1 / 2.5)
    (value,) = deviation.values
    assert value.amount == deviation.largest
    assert value.expected == value.actual == "(1, 1.5, 2.5) kg m^2"


def test_departure_that_is_not_finite_has_no_size() -> None:
    departure = Departure("arm", (1.0,) * 6, (math.nan,) * 6, "overflow")
    judgement = judge(
        {"reference": SPEC},
        Observed(structs.replace(usd_reading(), departures=(departure,))),
    )

    (deviation,) = judgement.deviations
    assert deviation.largest is None
    assert deviation.values[0].actual == "not finite"


def test_joint_on_a_frame_is_a_joint_on_its_body() -> None:
    joints = tuple(
        structs.replace(joint, parent="sensor") if joint.name == "finger_a" else joint
        for joint in ROBOT.joints
    )
    robot = structs.replace(ROBOT, joints=joints)
    usd = restating_joint(usd_reading(robot), "finger_a", parent="hand")
    judgement = judge({"reference": Observed(urdf_reading(robot))}, Observed(usd))

    assert joint_of(usd, "finger_a").parent == "hand"
    assert "structure.parents" not in _failed(judgement)
