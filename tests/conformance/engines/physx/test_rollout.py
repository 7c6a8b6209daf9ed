"""Passive rollouts in PhysX, compared with solutions of the equations of motion.

PhysX integrates in single precision, with an error of first order in the time step,
which is extrapolated to small time steps.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from urdf_usd.conformance.engines.physx import PhysxEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Observation,
    RolloutLimit,
    RolloutPlan,
)
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import BaseOption

_GRAVITY = 9.81
_MASS, _LENGTH, _START, _INERTIA = 2.0, 0.5, 1.0, 0.3


def _link(name: str, mass: float, inertia: float, center: str = "0 0 0") -> str:
    return f"""<link name="{name}"><inertial><origin xyz="{center}"/>
      <mass value="{mass}"/><inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}"
      iyz="0" izz="{inertia}"/></inertial></link>"""


def _pendulum(joint: str = "", further: str = "") -> str:
    """Return a URDF with a pendulum about x, and perhaps with further parts."""
    return f"""<robot name="pendulum">{_link("base", 1, 0.1)}
      {_link("bob", _MASS, _INERTIA, f"0 0 {-_LENGTH}")}
      <joint name="swing" type="revolute"><parent link="base"/><child link="bob"/>
        <axis xyz="1 0 0"/><limit lower="-1.2" upper="1.1" effort="3" velocity="0.5"/>
        {joint}</joint>{further}</robot>"""


_SLIDE = f"""<robot name="slide">{_link("base", 1, 0.1)}{_link("cart", 3, 0.1)}
  <joint name="fall" type="prismatic"><parent link="base"/><child link="cart"/>
    <axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5" effort="3" velocity="1"/>
  </joint></robot>"""


def _observe(
    engine: PhysxEngine,
    folder: Path,
    urdf: str,
    plan: RolloutPlan,
    *,
    start: dict[str, float] | None = None,
    base: BaseOption = BaseOption.FIXED,
    profile: Profile = Profile.GENERIC,
) -> Observation:
    path = folder / "robot.urdf"
    path.write_text(urdf, encoding="utf-8")
    options = ConvertOptions(profile=profile, base=base)
    layer = convert(path, folder / "asset", options).root_layer
    given = start or {}
    requested = Configurations(
        tuple(given),
        tuple(np.array([[value]]) for value in given.values()),
        ("start",),
        rollout=plan,
    )
    return engine.observe(Request(str(layer), requested))


def _limit(observation: Observation) -> RolloutLimit:
    assert observation.rollout is not None
    assert observation.rollout.limit is not None
    return observation.rollout.limit


def _swing(damping: float, seconds: float) -> NDArray[np.float64]:
    """Return angle and rate of the pendulum, from its equation of motion.

    Args:
        damping: Of the joint [N m s/rad].
        seconds: Time after the start at rest.
    """
    about_joint = _INERTIA + _MASS * _LENGTH**2

    def rates(_: float, state: NDArray[np.float64]) -> list[float]:
        angle, rate = state
        torque = -_MASS * _GRAVITY * _LENGTH * math.sin(angle) - damping * rate
        return [rate, torque / about_joint]

    solved = solve_ivp(rates, (0, seconds), [_START, 0.0], rtol=1e-10, atol=1e-12)
    end: NDArray[np.float64] = solved.y[:, -1]
    return end


def test_slide_falls_freely(engine: PhysxEngine, tmp_path: Path) -> None:
    """Beyond its limits of position and velocity, which rollouts leave out."""
    seen = _observe(engine, tmp_path, _SLIDE, RolloutPlan(0, steps=(500, 1000)))

    assert seen.rollout is not None
    assert seen.rollout.joints == ("fall",)
    for state, error in zip(_limit(seen).states, _limit(seen).errors, strict=True):
        fallen, speed = -_GRAVITY * state.time**2 / 2, -_GRAVITY * state.time
        assert state.positions[0][0] == pytest.approx(fallen, abs=error[0])
        assert state.velocities[0][0] == pytest.approx(speed, abs=error[0])
        # A part in two thousand of the speed.
        assert error[0] < 5e-3


@pytest.mark.parametrize(
    ("joint", "damping"),
    [
        ("", 0.0),
        ('<dynamics damping="0.4"/>', 0.4),
        ('<dynamics damping="0.4" friction="5"/>', 0.4),
    ],
)
def test_pendulum_follows_its_equation_of_motion(
    engine: PhysxEngine, tmp_path: Path, joint: str, damping: float
) -> None:
    """With viscous damping and without Coulomb friction, within the estimated error."""
    seen = _observe(engine, tmp_path, _pendulum(joint), RolloutPlan(0), start={"swing": _START})
    for state, error in zip(_limit(seen).states, _limit(seen).errors, strict=True):
        found = state.positions[0][0], state.velocities[0][0]
        assert found == pytest.approx(_swing(damping, state.time), abs=error[0])
        assert error[0] < 2e-3


@pytest.mark.parametrize(
    ("profile", "follower", "multiplier"),
    [
        (Profile.GENERIC, "revolute", -0.5),
        (Profile.PHYSX, "revolute", -0.5),
        (Profile.PHYSX, "prismatic", 0.05),
    ],
)
def test_coupling_is_measured_and_holds(
    engine: PhysxEngine,
    tmp_path: Path,
    profile: Profile,
    follower: str,
    multiplier: float,
) -> None:
    """Of the pendulum and a joint that gravity moves otherwise."""
    finger = f"""{_link("finger", 0.5, 0.1, "0 0.2 0")}
      <joint name="follows" type="{follower}"><parent link="base"/>
        <child link="finger"/><axis xyz="1 0 0"/>
        <limit lower="-3" upper="3" effort="3" velocity="9"/>
        <mimic joint="swing" multiplier="{multiplier}" offset="0.02"/></joint>"""
    seen = _observe(
        engine,
        tmp_path,
        _pendulum(further=finger),
        RolloutPlan(0),
        start={"swing": _START, "follows": multiplier * _START + 0.02},
        profile=profile,
    )
    joints = {joint.name: joint for joint in seen.joints}
    mimic = joints["follows"].mimic

    assert joints["swing"].mimic is None
    assert mimic is not None
    assert mimic.leader == "swing"
    assert mimic.multiplier == pytest.approx(multiplier, rel=1e-6)
    assert mimic.offset == pytest.approx(0.02, abs=1e-6)
    assert seen.rollout is not None
    for state in _limit(seen).states:
        ends = dict(zip(seen.rollout.joints, state.positions, strict=True))
        assert abs(ends["swing"][0] - _START) > 1e-3
        expected = multiplier * ends["swing"][0] + 0.02
        assert ends["follows"][0] == pytest.approx(expected, abs=1e-4)


def test_joints_that_are_coupled_by_forces_alone_follow_none(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """A second pendulum hangs on the first, and moves with it."""
    hanging = f"""{_link("tip", 0.5, 0.01, "0 0.1 -0.2")}
      <joint name="elbow" type="continuous"><parent link="bob"/><child link="tip"/>
        <origin xyz="0 0 -0.6"/><axis xyz="1 0 0"/></joint>"""
    seen = _observe(engine, tmp_path, _pendulum(further=hanging), RolloutPlan(0))

    assert all(joint.mimic is None for joint in seen.joints)


def test_damping_and_friction_are_those_of_the_urdf(engine: PhysxEngine, tmp_path: Path) -> None:
    """In SI units, although the schemas have degrees."""
    joint = '<dynamics damping="0.4" friction="5"/>'
    seen = _observe(engine, tmp_path, _pendulum(joint), RolloutPlan(0))
    swing = next(joint for joint in seen.joints if joint.name == "swing")

    assert (swing.damping, swing.friction) == pytest.approx((0.4, 5), rel=1e-6)


def test_floating_root_is_fixed(engine: PhysxEngine, tmp_path: Path) -> None:
    """The robot moves as with a fixed base."""
    ends = []
    for base in (BaseOption.FLOATING, BaseOption.FIXED):
        (folder := tmp_path / base).mkdir()
        start = {"swing": _START}
        plan = RolloutPlan(0)
        seen = _observe(engine, folder, _pendulum(), plan, start=start, base=base)
        ends.append(_limit(seen).states[-1].positions[0][0])

    assert ends[0] == pytest.approx(ends[1], abs=1e-5)


def test_held_joint_stays(engine: PhysxEngine, tmp_path: Path) -> None:
    plan = RolloutPlan(0, held=("swing",))
    seen = _observe(engine, tmp_path, _pendulum(), plan, start={"swing": _START})
    last = _limit(seen).states[-1]

    assert last.positions[0][0] == pytest.approx(_START, abs=1e-6)
    assert last.velocities[0][0] == pytest.approx(0.0, abs=1e-6)


def test_robot_without_a_plan_has_no_rollout(engine: PhysxEngine, tmp_path: Path) -> None:
    """And none without the schemas that carry damping and couplings."""
    path = tmp_path / "robot.urdf"
    path.write_text(_pendulum(), encoding="utf-8")
    for profile, plan in (
        (Profile.GENERIC, None),
        (Profile.USDPHYSICS, RolloutPlan(0)),
    ):
        options = ConvertOptions(profile=profile)
        layer = convert(path, tmp_path / profile, options).root_layer
        requested = Configurations((), (), ("zero",), rollout=plan)
        assert engine.observe(Request(str(layer), requested)).rollout is None
