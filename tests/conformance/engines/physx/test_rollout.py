"""Passive rollouts in PhysX, compared with solutions of the equations of motion.

PhysX integrates in single precision, with an error of first order in the time step.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.physx.engine import PhysxEngine
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    Configurations,
    Rollout,
    RolloutPlan,
)
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.bodies import BaseOption

_GRAVITY = 9.81
_MASS, _LENGTH, _START = 2.0, 0.5, 1.0
# [1/s], the default of PhysxRigidBodyAPI: the torque is this times the body's inertia
# about its centre of mass times its angular velocity.
_ANGULAR_DAMPING = 0.05


@pytest.fixture(scope="module")
def engine() -> PhysxEngine:
    """Return the engine; tests are skipped where it is not installed."""
    return PhysxEngine(installed(PhysxEngine()).name)


def _link(name: str, mass: float, inertia: float, center: str = "0 0 0") -> str:
    return f"""<link name="{name}"><inertial><origin xyz="{center}"/>
      <mass value="{mass}"/><inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}"
      iyz="0" izz="{inertia}"/></inertial></link>"""


def _pendulum(inertia: float, joint: str = "") -> str:
    """Return a URDF with a pendulum about x, and its inertia about its own centre."""
    return f"""<robot name="pendulum">{_link("base", 1, 0.1)}
      {_link("bob", _MASS, inertia, f"0 0 {-_LENGTH}")}
      <joint name="swing" type="revolute"><parent link="base"/><child link="bob"/>
        <axis xyz="1 0 0"/><limit lower="-1.2" upper="1.1" effort="3" velocity="0.5"/>
        {joint}</joint></robot>"""


_SLIDE = f"""<robot name="slide">{_link("base", 1, 0.1)}{_link("cart", 3, 0.1)}
  <joint name="fall" type="prismatic"><parent link="base"/><child link="cart"/>
    <axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5" effort="3" velocity="1"/>
  </joint></robot>"""


def _roll_out(
    engine: PhysxEngine,
    folder: Path,
    urdf: str,
    plan: RolloutPlan,
    *,
    start: dict[str, float] | None = None,
    base: BaseOption = BaseOption.FIXED,
    fix_root: bool = True,
    profile: Profile = Profile.GENERIC,
) -> Rollout:
    path = folder / "robot.urdf"
    path.write_text(urdf, encoding="utf-8")
    options = ConvertOptions(profile=profile, base=base)
    layer = convert(path, folder / "asset", options).root_layer
    given = start or {}
    asked = Configurations(
        tuple(given),
        tuple(np.array([[value]]) for value in given.values()),
        ("start",),
        rollout=plan,
    )
    return engine.roll_out(Request(str(layer), asked), fix_root=fix_root)


def _swing(inertia: float, damping: float, seconds: float) -> NDArray[np.float64]:
    """Return angle and rate of the pendulum, from its equation of motion.

    Args:
        inertia: About the centre of mass [kg m^2].
        damping: Of the joint [N m s/rad], in addition to that of the body.
        seconds: Time after the start at rest.
    """
    about_joint = inertia + _MASS * _LENGTH**2
    resistance = damping + _ANGULAR_DAMPING * inertia

    def rates(_: float, state: NDArray[np.float64]) -> list[float]:
        angle, rate = state
        torque = -_MASS * _GRAVITY * _LENGTH * math.sin(angle) - resistance * rate
        return [rate, torque / about_joint]

    solved = solve_ivp(rates, (0, seconds), [_START, 0.0], rtol=1e-10, atol=1e-12)
    end: NDArray[np.float64] = solved.y[:, -1]
    return end


def _ends(rollout: Rollout) -> tuple[float, float]:
    """Return position and velocity of the only joint at the end."""
    last = rollout.states[-1]
    return last.positions[0][0], last.velocities[0][0]


def test_slide_falls_freely(engine: PhysxEngine, tmp_path: Path) -> None:
    """Beyond its limits of position and velocity, which rollouts leave out."""
    rollout = _roll_out(engine, tmp_path, _SLIDE, RolloutPlan(0, steps=(500, 1000)))

    assert rollout.joints == ("fall",)
    for state in rollout.states:
        fallen = -_GRAVITY * state.time**2 / 2
        assert state.positions[0][0] == pytest.approx(fallen, abs=1e-3)
        speed = -_GRAVITY * state.time
        assert state.velocities[0][0] == pytest.approx(speed, abs=3e-3)


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_pendulum_follows_its_equation_of_motion(
    engine: PhysxEngine, tmp_path: Path, damping: float
) -> None:
    """With the damping of the joint; the error halves with the time step."""
    inertia = 0.3
    expected = _swing(inertia, damping, 1.0)
    urdf = _pendulum(inertia, f'<dynamics damping="{damping}"/>')
    found = []
    for name, step in (("coarse", 2e-3), ("fine", 1e-3)):
        (folder := tmp_path / name).mkdir()
        plan = RolloutPlan(0, step=step, steps=(round(1 / step),))
        found.append(_ends(_roll_out(engine, folder, urdf, plan, start={"swing": 1.0})))
    coarse, fine = np.array(found)

    assert np.abs(fine - expected).max() < 0.02
    assert 2 * fine - coarse == pytest.approx(expected, abs=2e-3)


def test_energy_of_a_point_mass_is_conserved(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """PhysX damps a body's rotation in proportion to its own inertia."""
    inertia = 1e-4
    about_joint = inertia + _MASS * _LENGTH**2
    plan = RolloutPlan(0, step=5e-4, steps=(500, 1000, 2000))
    rollout = _roll_out(
        engine, tmp_path, _pendulum(inertia), plan, start={"swing": _START}
    )

    weight = _MASS * _GRAVITY * _LENGTH
    energies = [
        about_joint * state.velocities[0][0] ** 2 / 2
        - weight * math.cos(state.positions[0][0])
        for state in rollout.states
    ]
    assert energies == pytest.approx([-weight * math.cos(_START)] * 3, abs=0.02)


@pytest.mark.parametrize(
    ("profile", "follower", "multiplier"),
    [
        (Profile.GENERIC, "revolute", -0.5),
        (Profile.PHYSX, "revolute", -0.5),
        (Profile.PHYSX, "prismatic", 0.05),
    ],
)
def test_couplings_hold(
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
        <mimic joint="swing" multiplier="{multiplier}" offset="0.02"/>
      </joint></robot>"""
    start = {"swing": _START, "follows": multiplier * _START + 0.02}
    rollout = _roll_out(
        engine,
        tmp_path,
        _pendulum(0.3).replace("</robot>", finger),
        RolloutPlan(0),
        start=start,
        profile=profile,
    )
    for state in rollout.states:
        ends = dict(zip(rollout.joints, state.positions, strict=True))
        expected = multiplier * ends["swing"][0] + 0.02

        assert abs(ends["swing"][0] - _START) > 1e-3
        assert ends["follows"][0] == pytest.approx(expected, abs=1e-5)


def test_floating_root_falls(engine: PhysxEngine, tmp_path: Path) -> None:
    """And joints of a falling robot stay where they are."""
    rollout = _roll_out(
        engine,
        tmp_path,
        _pendulum(0.3),
        RolloutPlan(0),
        start={"swing": _START},
        base=BaseOption.FLOATING,
        fix_root=False,
    )
    assert rollout.joints == ("swing", ROOT_MOTION)
    swing, root = rollout.states[-1].positions

    assert swing == pytest.approx([_START], abs=1e-4)
    assert root == pytest.approx((0, 0, -_GRAVITY / 2, 1, 0, 0, 0), abs=1e-3)
    assert rollout.states[-1].velocities[1] == pytest.approx(
        (0, 0, -_GRAVITY, 0, 0, 0), abs=3e-3
    )


def test_floating_root_can_be_fixed(engine: PhysxEngine, tmp_path: Path) -> None:
    """Then the robot moves as with a fixed base."""
    plan = RolloutPlan(0)
    ends = []
    for base in (BaseOption.FLOATING, BaseOption.FIXED):
        (folder := tmp_path / base).mkdir()
        start = {"swing": _START}
        ends.append(
            _ends(
                _roll_out(engine, folder, _pendulum(0.3), plan, start=start, base=base)
            )
        )

    assert ends[0] == pytest.approx(ends[1], abs=1e-5)


def test_held_joint_stays(engine: PhysxEngine, tmp_path: Path) -> None:
    """By a large inertia."""
    plan = RolloutPlan(0, held=("swing",))
    rollout = _roll_out(engine, tmp_path, _pendulum(0.3), plan, start={"swing": _START})

    assert _ends(rollout) == pytest.approx((_START, 0.0), abs=1e-6)


def test_robot_without_a_plan_is_refused(engine: PhysxEngine, tmp_path: Path) -> None:
    """There is nothing to simulate."""
    with pytest.raises(AbstentionError, match="planned"):
        engine.roll_out(Request(str(tmp_path), Configurations((), (), ("zero",))))
