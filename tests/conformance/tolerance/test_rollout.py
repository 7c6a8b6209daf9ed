"""Joints that a rollout fixes, and the distance between two rollouts."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from msgspec import structs

from tests.conformance.miniatures import compared, urdf_reading, usd_reading
from urdf_usd.conformance.checks.check import Compared, Comparison, Incomparable
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import distance, rollout_spread
from urdf_usd.converter.robot import model
from urdf_usd.reports.records.record import Difference, Grade

_X = (1.0, 0.0, 0.0)
_BODY = model.Inertial(2.0, model.Pose((0.1, 0.2, 0.3)), (0.1, 0.0, 0.0, 0.2, 0.0, 0.25))
_HALF = math.sqrt(0.5)
_TURN = model.Joint("turn", "a", "b", model.Continuous(_X))
_PITCH = model.Joint(
    "pitch", "a", "b", model.Continuous((0.0, 1.0, 0.0)), model.Pose((0.0, 0.3, -0.4))
)
_TWIN = model.Joint("twin", "b", "c", model.Continuous((0.0, 1.0, 0.0)))
_SLIDE = model.Joint("slide", "a", "b", model.Prismatic(_X, model.UNLIMITED))


def _plan(*joints: model.Joint, bare: str = "") -> obs.RolloutPlan | None:
    names = dict.fromkeys(name for joint in joints for name in (joint.parent, joint.child))
    links = tuple(model.Link(name, None if name == bare else _BODY) for name in names)
    return sampling_plan(model.Robot("r", links, joints)).rollout


@pytest.mark.parametrize(
    ("joints", "bare", "held"),
    [
        ((_TURN, model.Joint("table", "b", "c", model.Planar((0.6, 0.0, 0.8)))), "", 0),
        # It carries no mass.
        ((_TURN, model.Joint("idle", "b", "c", model.Continuous(_X))), "c", 1),
        # A massless link between massive ones.
        ((_PITCH, model.Joint("roll", "b", "c", model.Continuous(_X))), "b", 0),
        ((_PITCH, _TWIN), "b", 1),
        ((model.Joint("weld", "a", "b", model.Fixed()),), "b", None),
        ((_SLIDE,), "b", None),
    ],
)
def test_joints_that_carry_mass_are_rolled_out(
    joints: tuple[model.Joint, ...], bare: str, held: int | None
) -> None:
    plan = _plan(*joints, bare=bare)

    assert (plan and len(plan.held)) == held
    assert plan is None or plan.steps[-1] * plan.step == pytest.approx(1.0)


def test_rollout_of_hundreds_of_joints_is_shorter() -> None:
    origin = model.Pose(_X)
    joints = [
        model.Joint(f"j{i}", str((i - 1) // 9), str(i), model.Continuous(_X), origin)
        for i in range(1, 401)
    ]
    plan = _plan(*joints)

    assert plan is not None
    assert (plan.held, plan.steps) == ((), (50, 100, 200, 500))


_AT = (0.0, 0, 0, 1.0, 0, 0, 0)


@pytest.mark.parametrize(
    ("joint_type", "first", "second", "expected"),
    [
        (obs.JointType.REVOLUTE, (0.5,), (0.75,), 0.25),
        (obs.JointType.PRISMATIC, (0.5,), (0.75,), 0.25),
        (obs.JointType.PLANAR, (3.0, 0.0, 0.0, 1.0), (0.0, 4.0, 0.0, 1.5), 5.0),
        (obs.JointType.SPHERICAL, (1.0, 0, 0, 0), (-_HALF, _HALF, 0, 0), math.pi / 2),
        (obs.JointType.FLOATING, _AT, (0.1, 0, 0, -_HALF, 0, 0, -_HALF), math.pi / 2),
    ],
)
def test_distance_of_positions_ignores_the_sign_of_quaternions(
    joint_type: obs.JointType, first: tuple[float, ...], second: tuple[float, ...], expected: float
) -> None:
    one, two = (obs.RolloutState(1.0, (each,), ((0.0,) * 6,)) for each in (first, second))

    assert distance(one, two, (0, 0), joint_type) == pytest.approx(expected)


def _rollout(reading: obs.Observation) -> obs.Rollout:
    assert reading.rollout is not None
    return reading.rollout


def _with(reading: obs.Observation, **changes: object) -> obs.Observation:
    return structs.replace(reading, rollout=structs.replace(_rollout(reading), **changes))


def _compared(expected: obs.Observation, actual: obs.Observation) -> dict[str, Difference]:
    comparison = compared("dynamics.rollout", expected, actual)
    assert isinstance(comparison, Compared)
    return {difference.item: difference for difference in comparison.differences}


def _grades(differences: dict[str, Difference]) -> set[Grade]:
    return {difference.grade for difference in differences.values()}


def test_spread_ends_where_a_perturbed_rollout_diverges() -> None:
    whole = _rollout(urdf_reading())
    first, *others = whole.perturbed
    joints = {joint.name: joint for joint in urdf_reading().joints}

    for perturbed, states in ((whole.perturbed, {5}), ((first[:2], *others), {2}), ((), set())):
        spread = rollout_spread(structs.replace(whole, perturbed=perturbed), joints)
        assert {len(each) for each in spread.values()} == states


def _moved(
    states: tuple[obs.RolloutState, ...],
    joint: int,
    change: Callable[[tuple[float, ...]], tuple[float, ...]],
) -> tuple[obs.RolloutState, ...]:
    def positions(state: obs.RolloutState) -> tuple[tuple[float, ...], ...]:
        before = state.positions
        return (*before[:joint], change(before[joint]), *before[joint + 1 :])

    return tuple(structs.replace(state, positions=positions(state)) for state in states)


def _sensitive(start: int) -> obs.Observation:
    """Shift the wheel in one perturbed rollout of the URDF, from a state on."""
    reading = urdf_reading()
    wheel = _rollout(reading).joints.index("wheel")
    first, *others = _rollout(reading).perturbed
    apart = _moved(first[start:], wheel, lambda position: (position[0] + 1.0,))
    return _with(reading, perturbed=((*first[:start], *apart), *others))


def _until(count: int) -> obs.Observation:
    """Return the reading of a USD whose rollout diverges after some states."""
    return _with(usd_reading(), states=_rollout(usd_reading()).states[:count])


@pytest.mark.parametrize(("sensitive", "time"), [(None, 1), (3, 0.2)])
def test_divergence_of_the_usd_before_the_urdf_is_sensitive_fails(
    sensitive: int | None, time: float
) -> None:
    expected = urdf_reading() if sensitive is None else _sensitive(sensitive)
    differences = _compared(expected, _until(2))

    assert _grades(differences) == {Grade.FAILS}
    assert f"diverges within {time:g} s" in differences["elbow"].message


@pytest.mark.parametrize("reached", [3, 1, 5])
def test_divergence_of_a_sensitive_robot_does_not_fail(reached: int) -> None:
    differences = _compared(_sensitive(1), _until(reached))
    first, last = (_rollout(urdf_reading()).states[index].time for index in (0, reached - 1))

    assert Grade.FAILS not in _grades(differences)
    assert f"after {last:g} s" in differences["elbow"].message
    assert f"after {first:g} s" in differences["wheel"].message


def test_rollout_that_diverges_for_the_urdf_is_not_applicable() -> None:
    perturbed = ((), *_rollout(urdf_reading()).perturbed[1:])
    for diverging in ({"states": ()}, {"perturbed": perturbed}):
        spec = _with(urdf_reading(), **diverging)
        comparison = compared("dynamics.rollout", spec, usd_reading())

        assert isinstance(comparison, Compared)
        assert comparison.differences == ()
        assert comparison.note


def test_joint_that_is_not_rolled_out_or_has_other_coordinates_is_not_comparable() -> None:
    rollout = _rollout(usd_reading())
    others = tuple(f"other {name}" for name in rollout.joints)
    ball = _moved(rollout.states, rollout.joints.index("wheel"), lambda _: (1.0, 0.0, 0.0, 0.0))

    lost = _compared(urdf_reading(), _with(usd_reading(), joints=others))
    assert _grades(lost) == {Grade.NOT_COMPARABLE}
    turned = _compared(urdf_reading(), _with(usd_reading(), states=ball))
    assert turned.pop("wheel").grade is Grade.NOT_COMPARABLE
    assert Grade.NOT_COMPARABLE not in _grades(turned)


def test_sensitive_joint_is_compared_earlier_or_not_at_all() -> None:
    earlier = _compared(_sensitive(3), usd_reading())
    never = compared("dynamics.rollout", _sensitive(0), usd_reading())

    assert "after 0.2 s" in earlier["wheel"].message
    assert "after 1 s" in earlier["elbow"].message
    assert isinstance(never, Compared)
    assert "wheel" not in {difference.item for difference in never.differences}
    assert never.note == "not compared, too sensitive to rounding: joint wheel"


_NO_URDF, _NO_USD = (structs.replace(one, rollout=None) for one in (urdf_reading(), usd_reading()))


@pytest.mark.parametrize(
    ("expected", "actual", "comparison"),
    [
        (urdf_reading(), _NO_USD, Incomparable("usd states no rollout")),
        (_NO_URDF, usd_reading(), Incomparable("reference states no rollout")),
        (_NO_URDF, _NO_USD, Compared()),
    ],
)
def test_rollout_on_one_side_only_is_not_comparable(
    expected: obs.Observation, actual: obs.Observation, comparison: Comparison
) -> None:
    assert compared("dynamics.rollout", expected, actual) == comparison
