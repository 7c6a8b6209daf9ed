"""MuJoCo's models, of observations and of URDFs, follow the equations of motion."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from msgspec import structs
from numpy.typing import NDArray

from tests.conformance.engines.engine_requests import deviation, request
from tests.conformance.miniatures import CONFIGURATIONS, ROBOT, compared, with_joint
from tests.converter.strategies import robots
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.mujoco_models import (
    UnbuildableError,
    build,
    equations_of_motion,
    roll_out,
    with_motion,
)
from urdf_usd.conformance.engines.reference import ReferenceEngine, observe_robot, structure
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.robot.model import (
    Continuous,
    Inertial,
    Joint,
    Mimic,
    Planar,
    Pose,
    Prismatic,
    Range,
    Robot,
)
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Grade

_X = (1.0, 0.0, 0.0)


def _with_wheel(inertial: Inertial | None) -> Robot:
    """Return a robot whose wheel has another inertial."""
    links = (
        structs.replace(link, inertial=inertial) if link.name == "wheel" else link
        for link in ROBOT.links
    )
    return structs.replace(ROBOT, links=tuple(links))


@given(robots())
def test_equations_agree_with_the_projects_own(robot: Robot) -> None:
    """Every joint type, massless links, mimic offsets and moving joints."""
    sampled = configurations(structure(robot), 6)
    reading = observe_robot(robot, sampled)
    ours = reading.dynamics
    theirs = equations_of_motion(build(reading, sampled), sampled)

    assert ours is not None
    order = _order(theirs.joints, ours.joints)
    for mine, found in (
        (ours.inertia, theirs.inertia[:, order][:, :, order]),
        (ours.bias, theirs.bias[:, order]),
    ):
        np.testing.assert_allclose(found, mine, atol=1e-10 * (1 + np.abs(mine).max()))
    # The component of a planar displacement along the normal has no effect and is not
    # reported.
    single = [index for index, name in enumerate(ours.joints) if ours.joints.count(name) == 1]
    np.testing.assert_allclose(
        theirs.velocities[:, order][:, single], ours.velocities[:, single], atol=1e-12
    )


def _order(names: tuple[str, ...], order: tuple[str, ...]) -> list[int]:
    return [names.index(name) + order[:at].count(name) for at, name in enumerate(order)]


def _pendulum(anchor: float = 0.0) -> obs.Observation:
    """Return a link that swings about Y; its frame is ``anchor`` [m] below the axis."""
    positions = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, -anchor]]])
    mass = obs.MassProperties(2.0, (0.0, 0.0, anchor - 0.5), (0.1, 0.0, 0.0, 0.2, 0.0, 0.3))
    axis, at = (0.0, 1.0, 0.0), (0.0, 0.0, anchor)
    continuous = obs.JointType.CONTINUOUS
    swing = obs.JointObservation("swing", continuous, "wall", "bob", axis=axis, anchor=at)
    return obs.Observation(
        engine="test",
        robot="pendulum",
        root="wall",
        states=frozenset(),
        links=(obs.LinkObservation("wall"), obs.LinkObservation("bob", mass)),
        joints=(swing,),
        frames=obs.Frames(("wall", "bob"), positions, np.tile(np.eye(3), (1, 2, 1, 1))),
    )


@pytest.mark.parametrize("anchor", [0.0, 0.2])
def test_body_rotates_about_its_joint_anchor(anchor: float) -> None:
    """Independent of the body frame."""
    sampled = configurations(_pendulum(anchor).joints, 4)
    dynamics = equations_of_motion(build(_pendulum(anchor), sampled), sampled)
    swing = dynamics.joints.index("swing")
    angles = sampled.positions[0][:, 0]

    np.testing.assert_allclose(dynamics.inertia[:, swing, swing], 0.2 + 2 * 0.25)
    np.testing.assert_allclose(dynamics.bias[:, swing], 2 * 9.81 * 0.5 * np.sin(angles), atol=1e-12)


def _roll(
    reading: obs.Observation, sampled: obs.Configurations, plan: obs.RolloutPlan
) -> dict[str, tuple[float, ...]]:
    rollout = roll_out(build(reading, sampled), structs.replace(sampled, rollout=plan))
    assert rollout is not None
    return dict(zip(rollout.joints, rollout.states[-1].positions, strict=True))


def _started(angle: float) -> tuple[obs.Observation, obs.Configurations]:
    """Return a pendulum, at zero and three times at an angle."""
    reading = _pendulum()
    sampled = configurations(reading.joints, 4)
    start = np.array([[0.0], *[[angle]] * 3])
    return reading, structs.replace(sampled, positions=(start,))


def test_pendulum_oscillates_with_its_period() -> None:
    """For small angles, w^2 = m g l / I."""
    reading, sampled = _started(1e-3)

    (angle,) = _roll(reading, sampled, obs.RolloutPlan(3, step=1e-4, steps=(10_000,)))["swing"]

    rate = math.sqrt(2 * 9.81 * 0.5 / 0.7)
    assert angle == pytest.approx(1e-3 * math.cos(rate), abs=3e-6)


def test_friction_and_damping_resist_gravity() -> None:
    """Friction above the gravity torque holds the joint, damping slows it."""
    base, sampled = _started(1.0)
    plan = obs.RolloutPlan(3)
    moved = []
    for damping, friction in ((0.0, 0.0), (30.0, 0.0), (0.0, 20.0)):
        (swing,) = base.joints
        joint = structs.replace(swing, damping=damping, friction=friction)
        (end,) = _roll(structs.replace(base, joints=(joint,)), sampled, plan)["swing"]
        moved.append(1.0 - end)

    # Without damping it passes the lowest point; with damping it moves at torque /
    # damping.
    assert moved[0] > 1.0
    assert 0.15 < moved[1] < 9.81 * math.sin(1.0) / 30
    assert moved[2] < 0.05
    (held,) = _roll(base, sampled, structs.replace(plan, held=("swing",)))["swing"]
    assert held == pytest.approx(1.0, abs=1e-9)


def test_mimic_joints_follow_in_a_rollout() -> None:
    """Of a falling body, from configurations other than zero."""
    fall = Prismatic((0.0, 0.0, 1.0), Range(-10.0, 10.0))
    follow = Joint("follow", "a", "c", Continuous(_X), mimic=Mimic("lead", -0.2, 0.3))
    links = zip(("a", "b", "c"), ROBOT.links, strict=False)
    named = tuple(structs.replace(link, name=name) for name, link in links)
    robot = Robot("r", named, (Joint("lead", "a", "b", fall), follow))
    sampled = configurations(structure(robot), 4)
    ends = _roll(observe_robot(robot, sampled), sampled, obs.RolloutPlan(3, steps=(300,)))

    ((led,), (followed,)) = ends["lead"], ends["follow"]
    assert led < -0.1
    assert followed == pytest.approx(-0.2 * led + 0.3, abs=2e-2)


def test_perturbed_rollouts_are_close_and_deterministic() -> None:
    reading = observe_robot(ROBOT, CONFIGURATIONS)
    mechanism = build(reading, CONFIGURATIONS)
    first, second = (roll_out(mechanism, CONFIGURATIONS, perturbed=True) for _ in range(2))

    assert first is not None
    assert first == second
    assert len(first.perturbed) == 3
    for nearby in first.perturbed:
        assert nearby != first.states
        for here, there in zip(first.states, nearby, strict=True):
            for mine, other in zip(here.positions, there.positions, strict=True):
                np.testing.assert_allclose(other, mine, atol=1e-3)


@pytest.mark.parametrize("inertial", [None, Inertial(1.5, Pose(), (0.0,) * 6)])
def test_perturbed_massless_groups_get_some_mass(inertial: Inertial | None) -> None:
    """A USD needs a mass for them, so perturbed robots have one as well."""
    sampled = structs.replace(CONFIGURATIONS, rollout=obs.RolloutPlan(3, held=("wheel",)))
    mechanism = build(observe_robot(_with_wheel(inertial), sampled), sampled)
    rollout = roll_out(mechanism, sampled, perturbed=True)

    assert rollout is not None
    assert all(len(nearby) == 5 for nearby in rollout.perturbed)


def test_diverging_rollout_is_stopped() -> None:
    """A joint without inertia that is not held."""
    sampled = structs.replace(CONFIGURATIONS, rollout=obs.RolloutPlan(3))
    rollout = roll_out(build(observe_robot(_with_wheel(None), sampled), sampled), sampled)

    assert rollout is not None
    assert rollout.states == ()


@pytest.mark.parametrize("normal", [(1.0, 1.0, 1.0), (1.0, 1.0, 0.0), (0.0, 1.0, 1.0)])
def test_axes_of_a_planar_joint_change_little_with_its_normal(
    normal: tuple[float, float, float],
) -> None:
    """Friction acts along each, and a USD rounds the normal."""

    def axes(change: tuple[float, ...]) -> NDArray[np.float64]:
        given = np.array(normal) + 1e-7 * np.array(change)
        x, y, z = (given / np.linalg.norm(given)).tolist()
        robot = with_joint(ROBOT, "elbow", kind=Planar((x, y, z)))
        sampled = configurations(structure(robot), 1)
        model = build(observe_robot(robot, sampled), sampled).model
        return np.array(model.jnt_axis)

    for change in itertools.permutations((1.0, 0.0, -1.0)):
        assert axes(change) == pytest.approx(axes((0.0, 0.0, 0.0)), abs=1e-6)


def _altered(reading: obs.Observation, case: str) -> obs.Observation:
    frames = reading.frames
    assert frames is not None
    match case:
        case "no frames":
            return structs.replace(reading, frames=None)
        case "unknown frame":
            positions = np.full_like(frames.positions, math.nan)
            return structs.replace(reading, frames=structs.replace(frames, positions=positions))
        case "loop":
            elbow = next(joint for joint in reading.joints if joint.name == "elbow")
            loop = structs.replace(elbow, name="loop", parent="wheel")
            return structs.replace(reading, joints=(*reading.joints, loop))
        case "lost joint":
            kept = tuple(joint for joint in reading.joints if joint.name != "wheel")
            return structs.replace(reading, joints=kept)
        case "zero axis":
            flat = with_joint(ROBOT, "wheel", kind=Continuous((0.0, 0.0, 0.0)))
            return observe_robot(flat, CONFIGURATIONS)
    masses = [link.mass and structs.replace(link.mass, inertia=None) for link in reading.links]
    links = zip(reading.links, masses, strict=True)
    unknown = tuple(structs.replace(link, mass=mass) for link, mass in links)
    return structs.replace(reading, links=unknown)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("no frames", "no link frames are stated"),
        # A spherical joint at the position of a planar one leaves its child unknown.
        ("unknown frame", "the frame of a link"),
        ("loop", "two joints lead to link forearm"),
        ("lost joint", "no joint leads to link wheel"),
        ("zero axis", "axis"),
        ("no inertia", "inertia is not stated"),
    ],
)
def test_robot_that_is_not_one_tree_with_masses_is_not_simulated(case: str, reason: str) -> None:
    whole = observe_robot(ROBOT, CONFIGURATIONS)

    with pytest.raises(UnbuildableError, match=reason):
        build(_altered(whole, case), CONFIGURATIONS)


def test_observation_that_cannot_be_simulated_is_kept() -> None:
    frameless = structs.replace(observe_robot(ROBOT, CONFIGURATIONS), frames=None)
    moving = with_motion(frameless, CONFIGURATIONS, perturbed=False)

    assert (moving.dynamics, moving.rollout) == (frameless.dynamics, None)
    assert moving.notes == ("MuJoCo cannot simulate the observation: no link frames are stated",)


def _readings(folder: Path, text: str) -> tuple[obs.Observation, obs.Observation]:
    asked = request(folder, text)
    asked = structs.replace(asked, configurations=sampling_plan(parse(asked.path).robot))
    return ReferenceEngine().observe(asked), MujocoEngine().observe(asked)


_CHAIN_LINK = """<link name="l{n}"><inertial><origin xyz="0.1 -0.05 0.2"/>
  <mass value="1.3"/><inertia ixx="0.02" iyy="0.03" izz="0.035" ixy="0.001" ixz="-0.002"
  iyz="0.003"/></inertial></link>"""
_CHAIN_JOINT = """<joint name="j{n}" type="continuous"><parent link="l{before}"/>
  <child link="l{n}"/><origin xyz="0.2 -0.1 0.15" rpy="{n} -0.5 0.7"/>
  <axis xyz="0.4 {n} -0.6"/>{mimic}</joint>"""


def test_mimic_compliance_is_independent_of_initial_poses(tmp_path: Path) -> None:
    """With offsets, the initial configurations of the two models differ."""
    parts = [_CHAIN_LINK.format(n=0)]
    for n in range(1, 7):
        leader = f'<mimic joint="j{n - 1}" multiplier="-0.8" offset="0.4"/>'
        mimic = leader if n > 1 else ""
        parts.append(_CHAIN_LINK.format(n=n))
        parts.append(_CHAIN_JOINT.format(n=n, before=n - 1, mimic=mimic))
    spec, stated = _readings(tmp_path, f'<robot name="chain">{"".join(parts)}</robot>')

    assert spec.rollout is not None
    assert stated.rollout is not None
    assert spec.rollout.joints == stated.rollout.joints
    assert len(spec.rollout.states) == len(stated.rollout.states) == 5
    for ours, theirs in zip(spec.rollout.states, stated.rollout.states, strict=True):
        apart = np.abs(np.subtract(ours.positions, theirs.positions)).max()
        assert apart < 1e-9


@pytest.mark.parametrize(
    ("file", "old", "new", "grade"),
    [
        # Root and hinge move the arm, whose mass MuJoCo does not have.
        ("planar-joint", '<mass value="2"/>', "", Grade.NOT_COMPARABLE),
        # MuJoCo merges a root of this name into the world body.
        ("zero-range", '"base"', '"world"', Grade.EXACT),
    ],
)
def test_motion_of_the_root_or_of_an_unknown_mass_is_left_out(
    file: str, old: str, new: str, grade: Grade, tmp_path: Path
) -> None:
    spec, stated = _readings(tmp_path, deviation(file).replace(old, new))

    for check in ("dynamics.inertia_matrix", "dynamics.bias", "dynamics.rollout"):
        comparison = compared(check, spec, stated)
        grades = {one.item: one.grade for one in getattr(comparison, "differences", ())}
        assert {*grades.values()} <= {Grade.EXACT, grade}
        assert check != "dynamics.inertia_matrix" or grades == {"hinge": grade}
    assert stated.dynamics is not None
    assert (stated.dynamics.joints == ()) is (new == "")
    assert (stated.rollout is None) is (new == "")


def test_negative_mass_or_joint_that_cannot_be_set_leaves_motion_out(tmp_path: Path) -> None:
    asked = request(tmp_path, deviation("planar-joint").replace('"2"', '"-2"'))
    dynamics = MujocoEngine().observe(asked).dynamics
    asked = request(tmp_path, deviation("planar-joint"))
    planar = sampling_plan(parse(asked.path).robot)
    asked = structs.replace(request(tmp_path, deviation("zero-range")), configurations=planar)
    other = MujocoEngine().observe(asked)

    assert dynamics is not None
    assert dynamics.joints == ()
    assert (other.dynamics, other.rollout) == (None, None)
