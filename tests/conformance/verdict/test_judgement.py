"""From outcomes of engines to checks and a verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from msgspec import Struct, structs

from tests.conformance.miniatures import (
    ROBOT,
    check_of,
    engine_reading,
    judged,
    mass_of,
    restating_joint,
    restating_mass,
    restating_shapes,
    urdf_reading,
    usd_reading,
    with_inertial,
    with_joint,
)
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role, Shading, ShapeObservation
from urdf_usd.conformance.tolerance import group_masses
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import MOST_FINDINGS, judge
from urdf_usd.converter.robot.model import Link, Pose, Robot
from urdf_usd.converter.robot.spatial import inertia_values
from urdf_usd.reports.records.record import Grade, Verdict

SPEC = Observed(urdf_reading())
_MOVED = Pose((0.3, 0.2, 0.1))


def _judge(usd: obs.Observation, spec: obs.Observation = SPEC.observation) -> Judgement:
    return judge({"reference": Observed(spec)}, Observed(usd), expected_base=obs.Base.FLOATING)


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
    repaired = structs.replace(SPEC.observation, malformed=("xml-comment",))
    engine, refusal = engine_reading("engine"), Unsupported("the text is not XML")

    assert "malformed XML (xml-comment)" in judged(usd_reading(), repaired, engine=refusal).reason
    assert "malformed" not in judged(usd_reading(), repaired, engine=engine).reason
    assert "malformed" not in judged(usd_reading(), engine=refusal).reason


def test_two_wrong_joints_in_one_chain_are_both_reported() -> None:
    robot = with_joint(with_joint(ROBOT, "elbow", origin=_MOVED), "weld", origin=_MOVED)
    position = check_of(_judge(usd_reading(robot)), "kinematics.position")

    assert {one.subject for one in position.findings} == {"joint elbow", "joint weld"}


def test_findings_have_the_prims_of_their_subjects() -> None:
    heavy = usd_reading(with_inertial(ROBOT, "arm", mass=2.5))
    judgement = _judge(structs.replace(heavy, prims=(("link arm", "/rig/arm"),)))

    found = {one.subject: one.prim for check in judgement.checks for one in check.findings}
    assert found["link arm"] == "/rig/arm"
    assert found["robot"] is None


def test_verdict_does_not_depend_on_names_or_order() -> None:
    robot = _renamed(ROBOT)
    sampled = sampling_plan(robot)
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
    mass = obs.MassProperties(whole.mass, (x, y, z), inertia_values(whole.tensor))
    lumped = restating_mass(reading, "forearm", mass)
    judgement = _judge(restating_mass(lumped, "hand", None))

    assert whole.mass > mass_of(reading, "forearm").mass
    for name in ("mass.group.mass", "mass.group.center", "mass.group.inertia", "mass.link.mass"):
        assert check_of(judgement, name).grade is Grade.EXACT
    assert check_of(judgement, "mass.link.mass").compared == len(ROBOT.links) - 3


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


@pytest.mark.parametrize(
    ("kilograms", "rounding", "moment", "failed"),
    [
        *((1.5, rounding, 1.5e-7, set()) for rounding in (0.0, 1e-20, -1e-20)),
        (1.5, 0.0, 0.006, {"mass.link.inertia"}),
        # What Newton keeps for a tiny mass.
        (1e-9, 0.0, 2.4e-10, set()),
        (1e-9, 0.0, 1e-8, {"mass.link.inertia"}),
    ],
)
def test_inertia_of_a_point_mass_is_close_if_harmless(
    kilograms: float, rounding: float, moment: float, failed: set[str]
) -> None:
    inertia = (0.0, 0.0, rounding, 0.0, 0.0, 0.0)
    point = with_inertial(ROBOT, "wheel", mass=kilograms, inertia=inertia)
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
    position = check_of(judgement, "kinematics.position")

    assert judgement.verdict is Verdict.CLOSE
    assert position.worst == pytest.approx(3e-6, rel=1e-6)
    assert position.bound is not None
    assert position.bound < 3e-6


def test_usd_without_values_is_incomplete() -> None:
    usd = usd_reading()
    unstated = structs.replace(usd, states=usd.states - {obs.Quantity.EFFORT})
    judgement = _judge(unstated)
    effort = check_of(judgement, "limits.effort")

    assert (effort.grade, effort.reason) == (Grade.NOT_COMPARABLE, "usd does not state effort")
    assert judgement.verdict is Verdict.INCOMPLETE
    assert _judge(restating_joint(unstated, "elbow", upper=1.0)).verdict is Verdict.FAILS


def test_check_that_compares_nothing_is_not_applicable() -> None:
    urdf, usd = (
        structs.replace(one, joints=tuple(structs.replace(j, mimic=None) for j in one.joints))
        for one in (urdf_reading(), usd_reading())
    )
    judgement = _judge(usd, urdf)
    mimic = check_of(judgement, "structure.mimic")
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
    reason = getattr(spec, "reason", None) or getattr(usd, "reason", None)
    assert str(reason) in judgement.reason


def test_usd_with_missing_parts_is_incomplete_at_best() -> None:
    judgement = _judge(structs.replace(usd_reading(), missing=("no asset @hand.usda@",)))

    assert judgement.verdict is Verdict.INCOMPLETE
    assert judgement.reason == "parts of the USD are missing: no asset @hand.usda@"


def test_reason_of_engines_without_a_reading_is_recorded() -> None:
    mujoco, pybullet = Unsupported("bad origin"), Crashed("-11")
    links = judged(usd_reading(), mujoco=mujoco, pybullet=pybullet).checks[0]

    assert [(one.engine, one.compared, one.reason) for one in links.differences] == [
        ("reference", len(ROBOT.links), None),
        ("mujoco", 0, "unsupported: bad origin"),
        ("pybullet", 0, "crashed: -11"),
        ("usd", len(ROBOT.links), None),
    ]


def test_largest_difference_of_each_engine_is_stated() -> None:
    shifted = usd_reading(with_inertial(ROBOT, "arm", mass=2.250001))
    judgement = judged(shifted, mujoco=engine_reading("mujoco"))

    for one in check_of(judgement, "mass.link.mass").differences:
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


def test_base_is_not_compared_if_the_urdf_does_not_define_it() -> None:
    for base in (obs.Base.FIXED, obs.Base.FLOATING):
        assert judged(structs.replace(usd_reading(), base=base)).verdict is Verdict.EXACT


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


# Values that no check compares.
NOT_COMPARED = (
    # Precision of the engine's arithmetic, and velocities that engines are given.
    r"\.precision",
    r"\.dynamics\.velocities",
    # They match renamed joints; frames are compared.
    r"\.joints\[\d+\]\.(axis|anchor)",
    # Only the last state is compared.
    r"\.rollout\.states\[[0-3]\]",
    r"\.rollout\.states\[\d+\]\.time",
    # Words of the report; surfaces are compared.
    r"\.shapes\[\d+\]\.(size|position)",
    # They bound differences, or choose what is compared.
    r"\.shapes\[\d+\]\.(surface\.edges|hull_volume)",
    r"\.shapes\[\d+\]\.appearances\[\d+\]\.(area|mapping\.unsigned)",
    # The mesh has no normals of its own.
    r"\.shapes\[\d+\]\.shading",
)


def _without_a_number(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Replace each number by NaN in turn; one number of an array."""
    match value:
        case float():
            yield path, math.nan
        case Struct():
            for field in value.__struct_fields__:
                inner = _without_a_number(getattr(value, field), f"{path}.{field}")
                for place, changed in inner:
                    yield place, structs.replace(value, **{field: changed})
        case tuple():
            for index, element in enumerate(value):
                for place, changed in _without_a_number(element, f"{path}[{index}]"):
                    yield place, (*value[:index], changed, *value[index + 1 :])
        case np.ndarray() if value.dtype.kind == "f" and value.size:
            array = value.copy()
            array.flat[array.size // 2] = math.nan
            yield path, array


@cache
def _readings() -> dict[str, obs.Observation]:
    """Return the first and the last reading of each kind of value, by path."""
    compared = {
        path: reading
        for path, reading in _without_a_number(usd_reading())
        if isinstance(reading, obs.Observation)
        and not any(re.match(pattern, path) for pattern in NOT_COMPARED)
    }
    kind_of = {path: re.sub(r"\[\d+\]", "", path) for path in compared}
    first = {kind_of[path]: path for path in reversed(compared)}
    last = {kind_of[path]: path for path in compared}
    chosen = {*first.values(), *last.values()}
    return {path: reading for path, reading in compared.items() if path in chosen}


@pytest.mark.parametrize("path", sorted(_readings()))
def test_number_of_the_usd_that_is_nan_fails(path: str) -> None:
    assert _failed(judged(_readings()[path]))


def _with_normals(reading: obs.Observation, shading: Shading) -> obs.Observation:
    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        return [structs.replace(own[0], shading=shading)]

    return restating_shapes(reading, "arm", Role.VISUAL, edit)


# The mean is compared with that of the file alone.
@pytest.mark.parametrize(
    ("field", "stated"), [("facing", True), ("facing", False), ("against", False), ("mean", True)]
)
def test_normals_of_the_usd_that_are_nan_fail(field: str, stated: bool) -> None:
    good = Shading(stated=True, facing=1.0, against=0.0, mean=(0.0, 0.0, 0.0))
    nan = (0.0, math.nan, 0.0) if field == "mean" else math.nan
    expected = _with_normals(urdf_reading(), structs.replace(good, stated=stated))

    assert not _failed(judged(_with_normals(usd_reading(), good), expected))
    lost = structs.replace(good, **{field: nan})
    assert _failed(judged(_with_normals(usd_reading(), lost), expected))
