"""What engines state of an MJCF, held against formulas, MuJoCo's own functions and each other.

Second readers are skipped where they are not installed.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

from tests.conformance.engines.engine_requests import CASES, installed
from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.protocol import Observed, Request, UnsupportedError
from urdf_usd.conformance.observation.robot import ROOT_MOTION, Observation
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Verdict


def _request(text: str, folder: Path) -> Request:
    path = folder / "robot.xml"
    path.write_text(
        text if "<mujoco" in text else f"<mujoco model='r'><worldbody>{text}</worldbody></mujoco>"
    )
    return Request(str(path), configurations(mjcf_joints(str(path))))


def _observed(text: str, folder: Path) -> Observation:
    asked = _request(text, folder)
    return observe_mjcf(asked.path, asked.configurations)


def test_equations_of_motion_are_those_of_mujoco_without_armature(tmp_path: Path) -> None:
    """Of two oblique hinges and a slide at places of their own, and a ball below."""
    asked = _request("\n".join(CASES["mjcf shoulder"]["mjcf"]), tmp_path)
    chosen, model = asked.configurations, mujoco.MjModel.from_xml_path(asked.path)
    motion = observe_mjcf(asked.path, chosen).dynamics
    assert motion is not None
    assert motion.joints[:6] == (ROOT_MOTION,) * 6

    model.dof_armature[:] = 0.0
    # Gravity acts along -Z of the root.
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body("torso").quat)
    model.opt.gravity = turn.reshape(3, 3) @ [0.0, 0.0, -9.81]
    data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    states = zip(chosen.joints, chosen.positions, chosen.velocities, strict=True)
    starts = [
        (model.joint(name).qposadr[0], model.joint(name).dofadr[0], *rows) for name, *rows in states
    ]
    for row in range(chosen.count):
        for position, velocity, positions, velocities in starts:
            # MuJoCo's positions count from ``ref``.
            reference = model.qpos0[position] * (positions.shape[1] == 1)
            data.qpos[position : position + positions.shape[1]] = positions[row] + reference
            data.qvel[velocity : velocity + velocities.shape[1]] = velocities[row]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        assert motion.inertia[row, 6:, 6:] == pytest.approx(full, abs=1e-12)
        assert motion.bias[row, 6:] == pytest.approx(data.qfrc_bias, abs=1e-11)
    assert motion.inertia[0, 0, 0] == pytest.approx(model.body_mass.sum())


def test_armature_is_no_inertia_of_a_sliding_body(tmp_path: Path) -> None:
    text = """<body name='a'><joint name='x' type='slide' axis='1 0 0' armature='0.5'/>
      <joint name='y' type='slide' axis='0 1 0'/><geom size='0.1' mass='2'/></body>"""
    robot = _observed(text, tmp_path)
    assert robot.dynamics is not None
    assert robot.dynamics.joints == ("x", "y")
    assert robot.dynamics.inertia[0] == pytest.approx(2 * np.eye(2))
    assert robot.simulation is not None
    assert robot.simulation.armatures == (("x", 0.5),)


def test_gravity_acts_where_the_scene_disables_it(tmp_path: Path) -> None:
    text = """<mujoco><option gravity='0 0 0'><flag gravity='disable'/></option><worldbody>
      <body name='a'><joint name='z' type='slide' axis='0 0 1'/><geom size='0.1' mass='2'/></body>
      </worldbody></mujoco>"""
    robot = _observed(text, tmp_path)
    assert robot.dynamics is not None
    assert robot.dynamics.bias[0] == pytest.approx([2 * 9.81])


def test_textures_are_counted_and_not_compared(tmp_path: Path) -> None:
    text = """<mujoco><asset><texture name='t' type='2d' builtin='flat' width='4' height='4'/>
        <material name='m' texture='t'/></asset>
      <worldbody><body name='a'><geom size='0.1' material='m'/></body></worldbody></mujoco>"""
    robot = _observed(text, tmp_path)
    shapes = []
    for shape in robot.shapes:
        looks = (structs.replace(one, texture="1a2b", image="t.png") for one in shape.appearances)
        shapes.append(structs.replace(shape, appearances=tuple(looks)))
    usd = Observed(structs.replace(robot, shapes=tuple(shapes)))

    judgement = judge({"mujoco-mjcf": Observed(robot)}, usd, decides="mujoco-mjcf", described=True)

    assert judgement.verdict is Verdict.EXACT, judgement.reason
    assert dict(robot.uncompared) == {"textured materials": 1}


_HEAD = """<inertial pos="0.01 0.02 0.03" mass="3"
  fullinertia="0.04 0.05 0.06 0.001 -0.002 0.003"/>"""
_NECK = """
  <body name="neck" pos="0.3 0.1 -0.05" quat="0.8 0.2 -0.4 0.4">
    <joint name="nod" axis="1 2 3" pos="0.05 -0.02 0.01" range="-40 70" damping="0.3"/>
    <geom type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.04" density="700"/>
    <body name="head" pos="0.1 0.2 0.3">
      <joint name="ball" type="ball" pos="0.02 0.01 -0.03"/>
      <geom type="box" size="0.03 0.02 0.05" pos="0.01 0.02 0.04" mass="0.4"/>
    </body>
    <body name="ear" pos="0 0 1" euler="10 20 30"><geom type="sphere" size="0.1"/></body>
  </body>"""
_RAIL = """<body name="cart"><joint name="rail" type="slide" axis="1 0 1"/>
  <geom type="box" size="0.1 0.1 0.2"/></body>"""
_TURNED = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/><body name="arm" pos="1 0 0">
  <joint name="j" ref="30" range="-40 70"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""
_CHAIN = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/>
  <body name="arm" pos="1 0 0" quat="0.8 0.2 -0.4 0.4"><joint name="j" axis="1 2 3" pos="0 0.1 0"/>
  <joint name="k" axis="0 1 0"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""
_PERPENDICULAR = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/><body name="arm">
  <joint name="z" type="slide" axis="0 0 1"/><joint name="x" axis="1 0 0"/>
  <joint name="y" axis="0 1 0"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""


def _read(name: str, bodies: str, folder: Path) -> tuple[Judgement, Observation]:
    """Judge the reading of MuJoCo against itself, with that of another engine."""
    engine, asked = installed(name), _request(bodies, folder)
    own = Observed(observe_mjcf(asked.path, asked.configurations, shapes=False))
    found = engine.observe(asked)
    outcomes = {"mujoco-mjcf": own, name: Observed(found)}
    return judge(outcomes, own, decides="mujoco-mjcf", described=True), found


@pytest.mark.parametrize("name", ["drake-mjcf", "newton-mjcf", "pinocchio-mjcf"])
@pytest.mark.parametrize(
    "bodies",
    [
        f"<body name='base' pos='0.1 0.2 0.3' euler='10 20 30'>{_HEAD}{_NECK}</body>",
        f"<body name='base' pos='0.1 0.2 0.3'><freejoint/>{_HEAD}{_NECK}</body>",
        _RAIL,
        _PERPENDICULAR,
    ],
    ids=["fixed", "free", "slide to the world", "perpendicular axes"],
)
def test_reads_the_values_of_mujoco(name: str, bodies: str, tmp_path: Path) -> None:
    judgement, found = _read(name, bodies, tmp_path)

    assert judgement.deviations == ()
    assert judgement.verdict is Verdict.EXACT
    assert found.frames is not None
    assert len(found.frames.links) > 1


@pytest.mark.parametrize(
    ("name", "bodies"),
    [
        ("newton-mjcf", _TURNED),
        ("drake-mjcf", _TURNED),
        ("pinocchio-mjcf", _CHAIN),
    ],
)
def test_positions_count_from_ref_and_axes_are_oblique(
    name: str, bodies: str, tmp_path: Path
) -> None:
    judgement, _ = _read(name, bodies, tmp_path)

    assert judgement.deviations == ()


def test_another_number_of_bodies_is_unsupported(tmp_path: Path) -> None:
    unnamed = "<body><joint/><geom size='0.1'/></body>"
    text = f"<body name='a'><geom size='0.1'/><body><geom size='0.1'/>{unnamed}</body></body>"

    with pytest.raises(UnsupportedError, match="reads 1 of 3 bodies"):
        _read("pinocchio-mjcf", text, tmp_path)


def test_no_other_engine_decides_about_an_mjcf(tmp_path: Path) -> None:
    own = _observed(_RAIL, tmp_path)
    links = tuple(
        structs.replace(link, mass=link.mass and structs.replace(link.mass, mass=2.5))
        for link in own.links
    )
    other = structs.replace(own, engine="newton-mjcf", links=links)
    outcomes = {"mujoco-mjcf": Observed(own), "newton-mjcf": Observed(other)}

    for usd in (own, structs.replace(other, engine="openusd")):
        judgement = judge(outcomes, Observed(usd), decides="mujoco-mjcf", described=True)
        assert judgement.verdict is (Verdict.EXACT if usd is own else Verdict.FAILS)
        masses = {one.id for one in judgement.deviations if one.check == "mass.link.mass"}
        assert masses == {UNEXPLAINED}
