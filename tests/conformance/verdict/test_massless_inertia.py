"""Equations of motion that include the inertia of massless links."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.execution.examine import questions
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.verdict.deviations import DeviationCase, explain
from urdf_usd.converter.urdf.parse import parse

_BODY = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>
  <inertia ixx="1" ixy="0.1" ixz="0.05" iyy="2" iyz="-0.2" izz="2.5"/></inertial>"""
_PLATE = """<inertial><origin xyz="-0.2 0.1 0.05" rpy="0.3 -0.1 0.2"/><mass value="0"/>
  <inertia ixx="0.5" ixy="0.02" ixz="0.01" iyy="0.4" iyz="-0.03" izz="0.6"/>
  </inertial>"""
_PLACE = '<origin xyz="0.4 -0.5 0.6" rpy="0.3 -0.2 0.1"/>'
# A plate without mass at the end of a chain that turns, slides, turns and floats.
_CHAIN = f"""<robot name="chain">
  <link name="base">{_BODY}</link>
  <link name="arm">{_BODY}</link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>{_PLACE}
    <axis xyz="0.48 0.6 0.64"/></joint>
  <link name="rod">{_BODY}</link>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="rod"/>{_PLACE}
    <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <link name="hand">{_BODY}</link>
  <joint name="wrist" type="revolute"><parent link="rod"/><child link="hand"/>{_PLACE}
    <axis xyz="0.6 0 0.8"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <link name="plate">{_PLATE}</link>
  <joint name="weld" type="fixed"><parent link="hand"/><child link="plate"/>{_PLACE}
  </joint></robot>"""


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> list[Observation]:
    """Read the chain by the specification and by MuJoCo, which counts the plate."""
    file: Path = tmp_path_factory.mktemp("chain") / "chain.urdf"
    file.write_text(_CHAIN)
    request = Request(str(file), questions(parse(file).robot))
    return [engine.observe(request) for engine in (ReferenceEngine(), MujocoEngine())]


def _explained(expected: Observation, actual: Observation) -> bool:
    case = DeviationCase("dynamics.inertia_matrix", "wrist", expected, actual)
    return explain(case, whole=True) is not None


def test_only_the_inertia_of_the_plate_is_a_known_deviation(readings: list[Observation]) -> None:
    expected, mujoco = readings
    assert mujoco.dynamics is not None
    wrong = structs.replace(mujoco.dynamics, inertia=mujoco.dynamics.inertia * 1.001)
    links = (
        structs.replace(link, mass=None) if link.name == "plate" else link
        for link in expected.links
    )

    assert mujoco.dynamics.velocities.any()
    assert _explained(expected, mujoco)
    assert not _explained(expected, structs.replace(expected, engine="mujoco"))
    assert not _explained(expected, structs.replace(mujoco, dynamics=wrong))
    assert not _explained(structs.replace(expected, links=tuple(links)), mujoco)
