"""Couplings, damping and friction as PhysX reads them; couplings are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.conformance.engines.physx import PhysxEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import Configurations, JointObservation
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Profile


def _link(name: str, mass: float, center: str) -> str:
    return f"""<link name="{name}"><inertial><origin xyz="{center}"/><mass value="{mass}"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"""


def _joints(
    engine: PhysxEngine, folder: Path, further: str, profile: Profile = Profile.GENERIC
) -> dict[str, JointObservation]:
    """Return the joints of a pendulum about x with further parts."""
    path = folder / "robot.urdf"
    path.write_text(
        f"""<robot name="pendulum">{_link("base", 1, "0 0 0")}{_link("bob", 2, "0 0 -0.5")}
      <joint name="swing" type="revolute"><parent link="base"/><child link="bob"/>
        <axis xyz="1 0 0"/><limit lower="-1.2" upper="1.1" effort="3" velocity="0.5"/>
        <dynamics damping="0.4" friction="5"/></joint>{further}</robot>""",
        encoding="utf-8",
    )
    layer = convert(path, folder / "asset", ConvertOptions(profile=profile)).root_layer
    seen = engine.observe(Request(str(layer), Configurations((), (), ("zero",))))
    return {joint.name: joint for joint in seen.joints}


@pytest.mark.parametrize(
    ("profile", "follower", "multiplier"),
    [
        (Profile.GENERIC, "revolute", -0.5),
        (Profile.PHYSX, "revolute", -0.5),
        (Profile.PHYSX, "prismatic", 0.05),
    ],
)
def test_coupling_is_measured(
    engine: PhysxEngine, tmp_path: Path, profile: Profile, follower: str, multiplier: float
) -> None:
    finger = f"""{_link("finger", 0.5, "0 0.2 0")}
      <joint name="follows" type="{follower}"><parent link="base"/>
        <child link="finger"/><axis xyz="1 0 0"/>
        <limit lower="-3" upper="3" effort="3" velocity="9"/>
        <mimic joint="swing" multiplier="{multiplier}" offset="0.02"/></joint>"""
    joints = _joints(engine, tmp_path, finger, profile)
    mimic = joints["follows"].mimic

    assert joints["swing"].mimic is None
    assert mimic is not None
    assert mimic.leader == "swing"
    assert mimic.multiplier == pytest.approx(multiplier, rel=1e-6)
    assert mimic.offset == pytest.approx(0.02, abs=1e-6)


def test_joints_that_are_coupled_by_forces_alone_follow_none(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """A second pendulum hangs on the first, and moves with it."""
    hanging = f"""{_link("tip", 0.5, "0 0.1 -0.2")}
      <joint name="elbow" type="continuous"><parent link="bob"/><child link="tip"/>
        <origin xyz="0 0 -0.6"/><axis xyz="1 0 0"/></joint>"""

    assert all(joint.mimic is None for joint in _joints(engine, tmp_path, hanging).values())


def test_damping_and_friction_are_those_of_the_urdf(engine: PhysxEngine, tmp_path: Path) -> None:
    """In SI units, although the schemas have degrees."""
    swing = _joints(engine, tmp_path, "")["swing"]

    assert (swing.damping, swing.friction) == pytest.approx((0.4, 5), rel=1e-6)
