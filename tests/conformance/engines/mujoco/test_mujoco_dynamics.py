"""MuJoCo's model of a URDF follows the project's equations of motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet_data
import pytest

from tests.conformance.engines.deviation_files import text
from tests.conformance.miniatures import compared
from urdf_usd.conformance.checks.check import Compared
from urdf_usd.conformance.descriptions import questions
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Grade

_ROOT = Path(pybullet_data.getDataPath())
# One robot of each kind: chains, mimic joints, ball joints, floating bases, point
# masses.
_ROBOTS = (
    "kuka_iiwa/model.urdf",
    "humanoid/humanoid.urdf",
    "laikago/laikago.urdf",
    "racecar/racecar.urdf",
    "pr2_gripper.urdf",
    "r2d2.urdf",
)


def _readings(path: Path) -> tuple[Observation, Observation]:
    request = Request(str(path), questions(parse(path).robot))
    return ReferenceEngine().observe(request), MujocoEngine().observe(request)


def _written(folder: Path, name: str, old: str = "", new: str = "") -> Path:
    """Write a small file, with some of its text replaced."""
    path = folder / f"{name}.urdf"
    path.write_text(text(name).replace(old, new) if old else text(name))
    return path


def _agree(spec: Observation, stated: Observation) -> dict[str, Grade]:
    """Compare quantities that both report; return grades of the inertia matrix."""
    for check in ("dynamics.bias", "dynamics.rollout"):
        comparison = compared(check, spec, stated)
        if isinstance(comparison, Compared):
            grades = {each.grade for each in comparison.differences}
            assert grades <= {Grade.EXACT, Grade.NOT_COMPARABLE}
    comparison = compared("dynamics.inertia_matrix", spec, stated)
    assert isinstance(comparison, Compared)
    return {each.item: each.grade for each in comparison.differences}


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
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="chain">{"".join(parts)}</robot>')

    spec, stated = _readings(path)

    assert spec.rollout is not None
    assert stated.rollout is not None
    assert spec.rollout.joints == stated.rollout.joints
    assert len(spec.rollout.states) == len(stated.rollout.states) == 5
    for ours, theirs in zip(spec.rollout.states, stated.rollout.states, strict=True):
        apart = np.abs(np.subtract(ours.positions, theirs.positions)).max()
        assert apart < 1e-9


@pytest.mark.parametrize("file", _ROBOTS)
def test_real_robots_agree(file: str) -> None:
    """Every velocity and configuration, and a rollout of one second."""
    spec, stated = _readings(_ROOT / file)

    assert set(_agree(spec, stated).values()) == {Grade.EXACT}
    assert stated.rollout is not None
    assert stated.rollout.perturbed == ()


@pytest.mark.parametrize(
    "name",
    ["planar-joint", "zero-inertia", "massless-moving-link", "implausible-inertia", "inner-world"],
)
def test_oblique_robots_agree(name: str, tmp_path: Path) -> None:
    """Mass and inertia that the compiler refuses are taken from the file."""
    spec, stated = _readings(_written(tmp_path, name))

    assert set(_agree(spec, stated).values()) == {Grade.EXACT}


def test_quantities_that_depend_on_an_unknown_mass_are_left_out(tmp_path: Path) -> None:
    """Root and hinge move the arm, whose mass MuJoCo does not have."""
    path = _written(tmp_path, "planar-joint", '<mass value="2"/>', "")
    spec, stated = _readings(path)

    assert stated.dynamics is not None
    assert stated.dynamics.joints == ()
    assert stated.rollout is None
    assert _agree(spec, stated) == {"hinge": Grade.NOT_COMPARABLE}


def test_negative_mass_is_ignored(tmp_path: Path) -> None:
    """The specification forbids it."""
    path = _written(tmp_path, "planar-joint", '"2"', '"-2"')
    at_rest = Configurations((), (), ("zero",))
    stated = MujocoEngine().observe(Request(str(path), at_rest))

    assert stated.dynamics is not None
    assert stated.dynamics.joints == ()


def test_root_named_world_does_not_move(tmp_path: Path) -> None:
    """MuJoCo merges it into the world body; its own motion is left out."""
    path = _written(tmp_path, "zero-range", '"base"', '"world"')
    spec, stated = _readings(path)

    assert _agree(spec, stated) == {"hinge": Grade.EXACT}


def test_free_joint_coordinates_start_at_its_origin(tmp_path: Path) -> None:
    """Positions, velocities and forces of a floating joint with a rotated origin."""
    spec, stated = _readings(_written(tmp_path, "floating-joint"))
    grades = _agree(spec, stated)

    assert grades["hinge"] is Grade.EXACT


def test_joint_that_cannot_be_set_omits_motion(tmp_path: Path) -> None:
    """Neither values nor defaults are reported for the links below."""
    path = _written(tmp_path, "zero-range")
    other = questions(parse(_written(tmp_path, "planar-joint")).robot)
    stated = MujocoEngine().observe(Request(str(path), other))

    assert stated.dynamics is None
    assert stated.rollout is None
