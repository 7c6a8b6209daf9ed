"""Simulation of an asset in MuJoCo, its assessment, and the tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.tools.behaviour.table import agrees, tables
from urdf_usd import ConvertOptions, convert, load_description, with_description
from urdf_usd.conformance.behaviour.assessment import (
    assess_bounds,
    assess_hold,
    assess_overshoot,
    assess_settling,
    differing_joints,
)
from urdf_usd.conformance.behaviour.simulate_mujoco import simulate_in_mujoco
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
)
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.robot.model import BaseOption

# A horizontal arm of 2 kg, whose centre of mass is 0.5 m from its joint.
_MASS, _ARM, _GRAVITY = 2.0, 0.5, 9.81
_TORQUE = _MASS * _ARM * _GRAVITY
_PATH = "elbow"
_ARM_URDF = """\
<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute">
    <parent link="base"/><child link="forearm"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.7" effort="{effort}" velocity="5"/></joint>
  <link name="forearm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""
_STEPS, _EVERY, _STEP = 500, 5, 0.004


def _simulate(
    folder: Path,
    effort: float,
    description: str | None,
    targets: dict[str, float],
    text: str = _ARM_URDF,
) -> dict[str, Any]:
    """Return the only segment of the arm."""
    urdf = folder / "arm.urdf"
    urdf.write_text(text.format(effort=effort), encoding="utf-8")
    options = ConvertOptions(base=BaseOption.FIXED)
    if description:
        file = folder / "arm.toml"
        file.write_text(description, encoding="utf-8")
        options = with_description(options, load_description(file))
    usd = convert(str(urdf), folder / "out", options).root_layer
    chosen = configurations(
        (JointObservation("elbow", JointType.REVOLUTE, "base", "forearm", -0.5, 0.7),),
        1,
    )
    chosen = Configurations(chosen.joints, chosen.positions, chosen.labels)
    request = {
        "joints": [_PATH],
        "step": _STEP,
        "every": _EVERY,
        "segments": [{"steps": _STEPS, "targets": targets}],
    }
    seen = OpenusdEngine().observe(Request(str(usd), chosen))
    answer = simulate_in_mujoco(seen, chosen, {"elbow": _PATH}, request)
    assert answer["gravity"] == pytest.approx([-_TORQUE], rel=1e-6)
    segment: dict[str, Any] = answer["segments"][0]
    return segment


def test_drive_sags_by_gravity_over_stiffness(tmp_path: Path) -> None:
    drive = '[[joints]]\nmatch = "*"\nstiffness = 100\ndamping = 20\n'
    segment = _simulate(tmp_path, 50.0, drive, {})
    found = assess_hold(segment, [True])
    assert found["state"] == "holds"
    sag = found["offset_rad"]
    assert 100.0 * sag == pytest.approx(_TORQUE * math.cos(sag), rel=1e-4)


def test_drive_weaker_than_gravity_falls_to_the_limit(tmp_path: Path) -> None:
    drive = '[[joints]]\nmatch = "*"\nnatural_frequency = 5\n'
    segment = _simulate(tmp_path, 0.5 * _TORQUE, drive, {})
    assert assess_hold(segment, [True])["state"] == "sags"
    assert segment["positions"][-1] == [pytest.approx(0.7, abs=0.01)]


def test_target_beyond_the_limit_stops_at_the_limit(tmp_path: Path) -> None:
    drive = '[[joints]]\nmatch = "*"\nnatural_frequency = 5\n'
    segment = _simulate(tmp_path, 500.0, drive, {_PATH: 0.9})
    assert not assess_bounds(segment["positions"], [-0.5], [0.7], [True])
    assert not assess_settling(segment, [0.7], [True])


def test_arm_without_drive_swings_between_its_limits(tmp_path: Path) -> None:
    segment = _simulate(tmp_path, 50.0, None, {})
    found = assess_hold(segment, [True])
    assert found["state"] != "holds"
    assert found["deviation_rad"] >= 0.69


@pytest.mark.parametrize(
    ("last", "speed", "angular", "state"),
    [
        (0.05, 0.0, True, "holds"),
        (0.05, 0.0, False, "sags"),
        (0.05, 0.02, True, "moves"),
        (0.05, 2e3, True, "diverges"),
        (math.nan, 0.0, True, "diverges"),
    ],
)
def test_state_of_a_joint(last: float, speed: float, state: str, *, angular: bool) -> None:
    segment = {
        "positions": [[0.3, 0.0], [0.3, last]],
        "velocities": [[0.0, 0.0], [0.0, speed]],
    }
    found = assess_hold(segment, [True, angular])
    assert found["state"] == state
    assert found["worst"] == (None if state == "holds" else 1)


def test_joints_beyond_bounds_and_not_at_targets_are_listed() -> None:
    segment = {
        "positions": [[0.0, 0.0, 0.0], [0.5, 0.2, 9.0]],
        "velocities": [[0.0, 0.0, 0.0]] * 2,
    }
    units = [True, True, True]
    assert assess_settling(segment, [0.5, 0.5, math.nan], units) == [1]
    bounds = [-1.0] * 3, [1.0] * 3
    assert assess_bounds(segment["positions"], *bounds, units) == [2]


def test_joints_that_pass_their_target_by_half_the_step_are_listed() -> None:
    segment = {"positions": [[0.0, 0.5, 0.0], [0.14, 0.1, 9.0], [0.1, 0.3, 9.0]]}
    assert assess_overshoot(segment, [0.1, 0.3, math.nan]) == [1]


@pytest.mark.parametrize(
    ("limits", "end"),
    [
        ('lower="0" upper="0"', 0.0),
        ('lower="1" upper="-1"', 0.0),
        ('lower="-0.5" upper="0.7"', 0.7),
    ],
)
def test_joints_that_mujoco_refuses_are_locked_or_passive(
    tmp_path: Path, limits: str, end: float
) -> None:
    drive = '[[joints]]\nmatch = "*"\nnatural_frequency = 5\n'
    urdf = _ARM_URDF.replace('lower="-0.5" upper="0.7"', limits)
    segment = _simulate(tmp_path, 0.0, drive, {}, urdf)
    assert segment["positions"][-1] == [pytest.approx(end, abs=0.01)]


def test_simulators_differ_beyond_two_percent_of_the_motion() -> None:
    one = {"positions": [[0.0, 0.0], [1.0, 1.0]]}
    other = {"positions": [[0.0, 0.0], [1.02, 1.05]]}
    assert differing_joints(one, other, [True, True]) == [1]


def test_tables_list_robots_that_do_not_hold() -> None:
    row = {"robot": "r", "asset": "with", "state": "sags", "worst": "elbow"}
    mujoco = {**row, "simulator": "MuJoCo", "offset_rad": 0.7, "weak": ["elbow"]}
    physx = {**row, "simulator": "PhysX", "offset_rad": 0.7, "differing": [[]]}
    refused = {"robot": "q", "asset": "with", "simulator": "PhysX", "error": "no"}
    assert agrees(physx)
    lines = list(tables([mujoco, physx, refused]))
    assert "| with | PhysX | 2 | 0 | 1 | 0 | 0 | 1 |" in lines
    assert "| PhysX | 1 | 1 |" in lines
    assert "| r | PhysX | sags | elbow | 0.7 rad | elbow |" in lines
    assert "| q | PhysX | refused |  |  | no |" in lines
