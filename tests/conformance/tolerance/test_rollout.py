"""Joints that a rollout fixes, and the distance between two rollouts."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from tests.conformance.miniatures import ROBOT, urdf_reading, usd_reading
from urdf_usd.conformance.checks.dynamics import rollout_states
from urdf_usd.conformance.engines.reference import observe_robot
from urdf_usd.conformance.execution.reading import questions
from urdf_usd.conformance.observation.robot import (
    JointType,
    Observation,
    Rollout,
    RolloutLimit,
    RolloutPlan,
    RolloutState,
)
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Incomparable,
    derive_tolerance_model,
)
from urdf_usd.conformance.tolerance.rollout import (
    distance,
    plan_rollout,
    rollout_spread,
)
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Continuous,
    Fixed,
    Inertial,
    Joint,
    Link,
    Planar,
    Pose,
    Prismatic,
    Robot,
)
from urdf_usd.reports.records.record import Grade

_X = (1.0, 0.0, 0.0)
_BODY = Inertial(2.0, Pose((0.1, 0.2, 0.3)), (0.1, 0.0, 0.0, 0.2, 0.0, 0.25))
_HALF = math.sqrt(0.5)


def _plan(*joints: Joint, bare: frozenset[str] = frozenset()) -> RolloutPlan | None:
    names = dict.fromkeys(name for joint in joints for name in (joint.parent, joint.child))
    links = tuple(Link(name, None if name in bare else _BODY) for name in names)
    return questions(Robot("r", links, joints)).rollout


def test_joints_that_carry_mass_are_rolled_out() -> None:
    turn = Joint("turn", "a", "b", Continuous(_X))
    table = Joint("table", "b", "c", Planar((0.6, 0.0, 0.8)))
    plan = _plan(turn, table)

    assert plan is not None
    assert plan.held == ()
    assert plan.steps[-1] * plan.step == pytest.approx(1.0)


def test_rollout_of_hundreds_of_joints_is_shorter() -> None:
    spread = [
        Joint(f"joint{i}", str((i - 1) // 9), str(i), Continuous(_X), Pose(_X))
        for i in range(1, 401)
    ]
    plan = _plan(*spread)

    assert plan is not None
    assert plan.held == ()
    assert plan.steps == (50, 100, 200, 500)


def test_joint_that_carries_no_mass_is_held() -> None:
    turn = Joint("turn", "a", "b", Continuous(_X))
    idle = Joint("idle", "b", "c", Continuous(_X))
    plan = _plan(turn, idle, bare=frozenset({"c"}))

    assert plan is not None
    assert plan.held == ("idle",)


def test_massless_link_between_massive_ones_moves() -> None:
    offset = Pose((0.0, 0.3, -0.4))
    pitch = Joint("pitch", "a", "b", Continuous((0.0, 1.0, 0.0)), offset)
    roll = Joint("roll", "b", "c", Continuous(_X))
    twin = structs.replace(pitch, name="twin", parent="b", child="c", origin=Pose())
    free = _plan(pitch, roll, bare=frozenset({"b"}))
    double = _plan(pitch, twin, bare=frozenset({"b"}))

    assert free is not None
    assert free.held == ()
    assert double is not None
    assert len(double.held) == 1


@pytest.mark.parametrize(
    "joints",
    [
        (Joint("weld", "a", "b", Fixed()),),
        (Joint("slide", "a", "b", Prismatic(_X, UNLIMITED)),),
    ],
)
def test_robot_without_free_joints_is_not_rolled_out(
    joints: tuple[Joint, ...],
) -> None:
    assert _plan(*joints, bare=frozenset({"b"})) is None


def test_reading_without_equations_gives_no_plan() -> None:
    spec = structs.replace(observe_robot(ROBOT, questions(ROBOT)), dynamics=None)

    assert plan_rollout(spec, derive_tolerance_model(spec, Tolerance()).motion) is None


@pytest.mark.parametrize(
    ("joint_type", "first", "second", "expected"),
    [
        (JointType.REVOLUTE, (0.5,), (0.75,), 0.25),
        (JointType.PRISMATIC, (0.5,), (0.75,), 0.25),
        (JointType.PLANAR, (3.0, 0.0, 0.0, 1.0), (0.0, 4.0, 0.0, 1.5), 5.0),
        (JointType.SPHERICAL, (1.0, 0, 0, 0), (-_HALF, _HALF, 0, 0), math.pi / 2),
        (
            JointType.FLOATING,
            (0.0, 0, 0, 1.0, 0, 0, 0),
            (0.1, 0, 0, -_HALF, 0, 0, -_HALF),
            math.pi / 2,
        ),
    ],
)
def test_distance_of_positions_ignores_the_sign_of_quaternions(
    joint_type: JointType,
    first: tuple[float, ...],
    second: tuple[float, ...],
    expected: float,
) -> None:
    still = ((0.0,) * 6,)
    here, there = (RolloutState(1.0, (each,), still) for each in (first, second))

    assert distance(here, there, (0, 0), joint_type) == pytest.approx(expected)


def test_distance_of_velocities_is_the_larger_part() -> None:
    here = RolloutState(1.0, ((0.0, 0, 0, 1.0, 0, 0, 0),), ((3.0, 4.0, 0, 0, 0, 0),))
    there = RolloutState(1.0, here.positions, ((0.0, 0, 0, 0, 1.0, 0),))

    assert distance(here, there, (0, 0), JointType.FLOATING) == pytest.approx(5.0)


def _rollout(reading: Observation) -> Rollout:
    assert reading.rollout is not None
    return reading.rollout


def _compared(expected: Observation, actual: Observation) -> Compared:
    comparison = rollout_states(expected, actual, derive_tolerance_model(expected, Tolerance()))
    assert isinstance(comparison, Compared)
    return comparison


def test_spread_ends_where_a_perturbed_rollout_diverges() -> None:
    whole = _rollout(urdf_reading())
    first, *others = whole.perturbed
    torn = structs.replace(whole, perturbed=(first[:2], *others))
    joints = {joint.name: joint for joint in urdf_reading().joints}

    assert {len(each) for each in rollout_spread(whole, joints).values()} == {5}
    assert {len(each) for each in rollout_spread(torn, joints).values()} == {2}
    assert rollout_spread(structs.replace(whole, perturbed=()), joints) == {}


def test_divergence_of_the_usd_alone_fails() -> None:
    usd = usd_reading()
    torn = structs.replace(_rollout(usd), states=_rollout(usd).states[:2])
    differences = _compared(urdf_reading(), structs.replace(usd, rollout=torn)).differences

    assert {difference.grade for difference in differences} == {Grade.FAILS}
    assert "diverges within 1 s" in differences[0].message


def _sensitive(spec: Observation, start: int) -> Observation:
    """Shift the wheel in one perturbed rollout, from a state on."""
    whole = _rollout(spec)
    wheel = whole.joints.index("wheel")

    def shifted(state: RolloutState) -> RolloutState:
        positions = list(state.positions)
        positions[wheel] = (positions[wheel][0] + 1.0,)
        return structs.replace(state, positions=tuple(positions))

    first, *others = whole.perturbed
    apart = (*first[:start], *map(shifted, first[start:]))
    return structs.replace(spec, rollout=structs.replace(whole, perturbed=(apart, *others)))


@pytest.mark.parametrize(("reached", "until"), [(3, 3), (1, 1), (5, 5)])
def test_divergence_of_a_sensitive_robot_does_not_fail(reached: int, until: int) -> None:
    """A rollout of the USD may end after the URDF's is sensitive, from 0.1 s on.

    Every joint is compared at the last state that the USD reaches, not only the
    sensitive one: a simulation ends as a whole.
    """
    spec, usd = urdf_reading(), usd_reading()
    torn = structs.replace(_rollout(usd), states=_rollout(usd).states[:reached])
    compared = _compared(_sensitive(spec, 1), structs.replace(usd, rollout=torn))
    by_joint = {difference.item: difference for difference in compared.differences}
    first, last = (_rollout(spec).states[index].time for index in (0, until - 1))

    assert Grade.FAILS not in {difference.grade for difference in by_joint.values()}
    assert f"after {last:g} s" in by_joint["elbow"].message
    assert f"after {first:g} s" in by_joint["wheel"].message


def test_rollout_that_ends_before_the_urdf_becomes_chaotic_fails() -> None:
    spec, usd = _sensitive(urdf_reading(), 3), usd_reading()
    torn = structs.replace(_rollout(usd), states=_rollout(usd).states[:2])
    differences = _compared(spec, structs.replace(usd, rollout=torn)).differences

    assert {difference.grade for difference in differences} == {Grade.FAILS}
    assert "diverges within 0.2 s" in differences[0].message


def test_rollout_that_diverges_for_the_urdf_is_not_applicable() -> None:
    spec, usd = urdf_reading(), usd_reading()
    whole = _rollout(spec)
    for diverging in (
        structs.replace(whole, states=()),
        structs.replace(whole, perturbed=((), *whole.perturbed[1:])),
    ):
        comparison = _compared(structs.replace(spec, rollout=diverging), usd)

        assert comparison.differences == ()
        assert comparison.note


def test_joint_that_is_not_rolled_out_is_not_comparable() -> None:
    usd = usd_reading()
    joints = tuple(f"other {name}" for name in _rollout(usd).joints)
    lost = structs.replace(_rollout(usd), joints=joints)
    differences = _compared(urdf_reading(), structs.replace(usd, rollout=lost)).differences

    assert {difference.grade for difference in differences} == {Grade.NOT_COMPARABLE}


def test_joint_with_other_coordinates_is_not_comparable() -> None:
    usd = usd_reading()
    rollout = _rollout(usd)
    wheel = rollout.joints.index("wheel")

    def as_ball(moment: RolloutState) -> RolloutState:
        positions, velocities = list(moment.positions), list(moment.velocities)
        positions[wheel], velocities[wheel] = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        return structs.replace(moment, positions=tuple(positions), velocities=tuple(velocities))

    ball = structs.replace(rollout, states=tuple(map(as_ball, rollout.states)))
    found = _compared(urdf_reading(), structs.replace(usd, rollout=ball)).differences
    grades = {difference.item: difference.grade for difference in found}

    assert grades.pop("wheel") is Grade.NOT_COMPARABLE
    assert Grade.NOT_COMPARABLE not in grades.values()


def test_sensitive_joint_is_compared_earlier_or_not_at_all() -> None:
    spec, usd = urdf_reading(), usd_reading()

    earlier = {d.item: d for d in _compared(_sensitive(spec, 3), usd).differences}
    assert "after 0.2 s" in earlier["wheel"].message
    assert "after 1 s" in earlier["elbow"].message
    without = _compared(_sensitive(spec, 0), usd)
    assert "wheel" not in {d.item for d in without.differences}
    assert without.note == "not compared, too sensitive to rounding: joint wheel"


def test_value_on_one_side_only_is_not_comparable() -> None:
    spec, usd = urdf_reading(), usd_reading()
    unstated = structs.replace(usd, rollout=None)
    measure = derive_tolerance_model(spec, Tolerance())

    assert rollout_states(spec, unstated, measure) == Incomparable("usd states no rollout")
    assert rollout_states(structs.replace(spec, rollout=None), usd, measure) == Incomparable(
        "reference states no rollout"
    )
    nothing = rollout_states(structs.replace(spec, rollout=None), unstated, measure)
    assert nothing == Compared((), note="no rollout was planned")


def _in_the_limit(reading: Observation, *, error: float, shift: float = 0.0) -> Observation:
    """Return a reading that states the limit of its rollout alone."""
    rollout = _rollout(reading)
    states = tuple(
        structs.replace(
            state,
            positions=tuple((position[0] + shift, *position[1:]) for position in state.positions),
        )
        for state in rollout.states
    )
    errors = tuple((error,) * len(rollout.joints) for _ in states)
    limit = RolloutLimit(states, errors)
    return structs.replace(reading, rollout=Rollout(rollout.joints, (), limit=limit))


def _with_limit(reading: Observation) -> Observation:
    """Return a reading whose rollout is its own limit."""
    limit = RolloutLimit(_rollout(reading).states, ())
    return structs.replace(reading, rollout=structs.replace(_rollout(reading), limit=limit))


@pytest.mark.parametrize(
    ("shift", "grade"), [(0.0, Grade.EXACT), (1.9e-3, Grade.EXACT), (0.1, Grade.FAILS)]
)
def test_limit_is_compared_beyond_its_error(shift: float, grade: Grade) -> None:
    spec = _with_limit(urdf_reading())
    found = _compared(spec, _in_the_limit(usd_reading(), error=2e-3, shift=shift))
    elbow = next(one for one in found.differences if one.item == "elbow")

    assert elbow.grade is grade
    assert "integration error of 0.002" in elbow.message
    if grade is Grade.FAILS:
        assert elbow.amount == pytest.approx(shift - 2e-3, rel=1e-3)


def test_limit_with_a_large_error_is_not_compared() -> None:
    spec = _with_limit(urdf_reading())
    found = _compared(spec, _in_the_limit(usd_reading(), error=0.1, shift=1.0))

    assert found.differences == ()
    assert found.note is not None
    assert "too sensitive to rounding or to the time step" in found.note


def test_limit_needs_a_limit_of_the_urdf() -> None:
    spec = urdf_reading()
    limited = _in_the_limit(usd_reading(), error=1e-3)
    model = derive_tolerance_model(spec, Tolerance())

    assert rollout_states(spec, limited, model) == Incomparable(
        "reference states no limit of the rollout"
    )
