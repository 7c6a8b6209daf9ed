"""Simulation of an asset in MuJoCo, its assessment, and the tables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.converter.simulation.robots import write_description
from tests.tools.behaviour.__main__ import agrees, tables
from urdf_usd import ConvertOptions, convert, load_settings, with_settings
from urdf_usd.conformance import simulations
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import JointObservation, JointType
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.robot.model import BaseOption

# Torque of gravity on a horizontal arm of 2 kg, whose centre of mass is 0.5 m from its joint.
_TORQUE = 2.0 * 0.5 * 9.81
_LIMITS = 'lower="-0.5" upper="0.7"'
_ARM = """\
<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute">
    <parent link="base"/><child link="forearm"/><axis xyz="0 1 0"/>
    <limit {limits} effort="{effort}" velocity="5"/></joint>
  <link name="forearm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""
ONE = np.array([True])


def _simulate(
    folder: Path, drive: str, effort: float, target: float | None = None, limits: str = _LIMITS
) -> tuple[simulations.Array, simulations.Array]:
    """Return positions and velocities of the arm."""
    urdf = folder / "arm.urdf"
    urdf.write_text(_ARM.format(effort=effort, limits=limits), encoding="utf-8")
    options = ConvertOptions(base=BaseOption.FIXED)
    if drive:
        file = write_description(folder, f'[[joints]]\nmatch = "*"\n{drive}\n')
        options = with_settings(options, load_settings(file))
    usd = convert(str(urdf), folder / "out", options).root_layer
    joint = JointObservation("elbow", JointType.REVOLUTE, "base", "forearm", -0.5, 0.7)
    chosen = configurations((joint,), 1)
    segments = [{"steps": 500, "targets": {} if target is None else {"elbow": target}}]
    request = {"joints": ["elbow"], "step": 0.004, "every": 5, "segments": segments}
    seen = OpenusdEngine().observe(Request(str(usd), chosen))
    answer = simulations.simulate_in_mujoco(seen, chosen, {"elbow": "elbow"}, request)
    assert answer["gravity"] == pytest.approx([-_TORQUE], rel=1e-6)
    (segment,) = answer["segments"]
    return np.array(segment["positions"]), np.array(segment["velocities"])


def test_arm_without_drive_swings_and_one_with_a_drive_sags_a_little(tmp_path: Path) -> None:
    assert simulations.assess_hold(*_simulate(tmp_path, "", 50.0), ONE)["state"] != "holds"
    found = simulations.assess_hold(
        *_simulate(tmp_path, "stiffness = 100\ndamping = 20", 50.0), ONE
    )
    assert found["state"] == "holds"
    sag = found["offset_rad"]
    assert 100.0 * sag == pytest.approx(_TORQUE * math.cos(sag), rel=1e-4)


@pytest.mark.parametrize(
    ("limits", "effort", "target", "end"),
    [
        (_LIMITS, 0.5 * _TORQUE, 0.0, 0.7),
        (_LIMITS, 500.0, 0.9, 0.7),
        # MuJoCo refuses empty and reversed ranges, and an actuator without force.
        ('lower="0" upper="0"', 0.0, 0.0, 0.0),
        ('lower="1" upper="-1"', 0.0, 0.0, 0.0),
        (_LIMITS, 0.0, 0.0, 0.7),
    ],
)
def test_arm_falls_or_is_driven_to_its_limit(
    limits: str, effort: float, target: float, end: float, tmp_path: Path
) -> None:
    found = _simulate(tmp_path, "natural_frequency = 5", effort, target, limits)
    assert found[0][-1] == [pytest.approx(end, abs=0.01)]
    assert not simulations.assess_bounds(found[0], np.array([-0.5]), np.array([0.7]), ONE)
    assert not simulations.assess_settling(*found, np.array([end]), ONE)


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
    positions, velocities = [[0.3, 0.0], [0.3, last]], [[0.0, 0.0], [0.0, speed]]
    found = simulations.assess_hold(
        np.array(positions), np.array(velocities), np.array([True, angular])
    )
    assert found["state"] == state
    assert found["worst"] == (None if state == "holds" else 1)


def test_joints_are_listed_by_their_motion() -> None:
    units = np.array([True] * 3)
    positions = np.array([[0.0, 0.5, 0.0], [0.14, 0.1, 9.0], [0.1, 0.3, 9.0]])
    aims = np.array([0.1, 0.1, math.nan])
    assert simulations.assess_settling(positions, 0.0 * positions, aims, units) == [1]
    assert simulations.assess_bounds(positions, -np.ones(3), np.ones(3), units) == [2]
    # By more than 2 percent of the motion.
    ends = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.02, 1.05]])
    assert simulations.differing_joints(*ends, np.array([True, True])) == [1]


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
