"""What the MJCF engine states, held against formulas and MuJoCo's own functions."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.engines.surfaces import ellipsoid_surface
from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    Configurations,
    JointObservation,
    Observation,
)
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Verdict

# A shoulder of two oblique hinges and a slide at places of their own, and a ball below.
_SHOULDER = """
<mujoco model="shoulder">
  <worldbody>
    <body name="torso" pos="0.1 -0.2 0.9" euler="10 20 30">
      <inertial pos="0.01 0.02 0.03" mass="3" fullinertia="0.04 0.05 0.06 0.001 -0.002 0.003"/>
      <body name="arm" pos="0.3 0.1 -0.05" quat="0.8 0.2 -0.4 0.4">
        <joint name="swing" axis="1 2 3" pos="0.05 -0.02 0.01" range="-40 70" ref="15"
          damping="0.3" frictionloss="0.2" armature="0.02" actuatorfrcrange="-4 4"/>
        <joint name="lift" axis="0 -1 0.5" pos="-0.03 0.04 0.02"/>
        <joint name="slide" type="slide" axis="1 0 1" range="-0.1 0.2"/>
        <geom name="upper" type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.04" density="700"/>
        <body name="hand" pos="0.1 0.2 0.3">
          <joint name="wrist" type="ball" pos="0.02 0.01 -0.03"/>
          <geom type="box" size="0.03 0.02 0.05" pos="0.01 0.02 0.04" mass="0.4"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def _written(text: str, folder: Path) -> str:
    file = folder / "robot.xml"
    file.write_text(text)
    return str(file)


def _observed(text: str, folder: Path) -> tuple[Observation, Configurations, mujoco.MjModel]:
    path = _written(text, folder)
    chosen = configurations(mjcf_joints(path))
    return observe_mjcf(path, chosen), chosen, mujoco.MjModel.from_xml_path(path)


def _body(text: str, folder: Path) -> tuple[Observation, dict[str, JointObservation]]:
    """Observe bodies of a world, with their joints by name."""
    robot, *_ = _observed(f"<mujoco><worldbody>{text}</worldbody></mujoco>", folder)
    return robot, {joint.name: joint for joint in robot.joints}


def _qpos(model: mujoco.MjModel, chosen: Configurations, row: int) -> NDArray[np.float64]:
    """Return MuJoCo's positions: they count from ``ref``."""
    qpos = np.array(model.qpos0)
    for name, values in zip(chosen.joints, chosen.positions, strict=True):
        start = model.joint(name).qposadr[0]
        single = values.shape[1] == 1
        qpos[start : start + values.shape[1]] = values[row] + (qpos[start] if single else 0.0)
    return qpos


def test_frames_are_those_of_mujoco_in_every_configuration(tmp_path: Path) -> None:
    robot, chosen, model = _observed(_SHOULDER, tmp_path)
    data, frames = mujoco.MjData(model), robot.frames
    assert frames is not None

    for row in range(chosen.count):
        data.qpos[:] = _qpos(model, chosen, row)
        mujoco.mj_kinematics(model, data)
        torso = data.body("torso")
        for name in ("torso", "arm", "hand"):
            column, body = frames.links.index(name), data.body(name)
            turn = torso.xmat.reshape(3, 3).T
            assert frames.positions[row, column] == pytest.approx(
                turn @ (body.xpos - torso.xpos), abs=1e-12
            )
            assert frames.rotations[row, column] == pytest.approx(
                turn @ body.xmat.reshape(3, 3), abs=1e-12
            )


def test_links_between_joints_move_by_one_joint_at_a_time(tmp_path: Path) -> None:
    robot, chosen, _ = _observed(_SHOULDER, tmp_path)
    frames = robot.frames
    assert frames is not None

    at = {name: index for index, name in enumerate(frames.links)}
    stated = {joint.name: joint for joint in robot.joints}
    for name in ("swing", "lift"):
        joint = stated[name]
        angle = chosen.positions[chosen.joints.index(name)][:, 0]
        before, after = at[joint.parent], at[joint.child]
        turns = frames.rotations[:, before].swapaxes(1, 2) @ frames.rotations[:, after]
        # Relative to the pose at zero, the trace of a rotation is 1 + 2 cos(angle).
        relative = turns[0].T @ turns
        assert np.trace(relative, axis1=1, axis2=2) == pytest.approx(1 + 2 * np.cos(angle))
        anchor = frames.positions[:, after] + frames.rotations[:, after] @ np.array(joint.anchor)
        inside = np.einsum(
            "kji,kj->ki", frames.rotations[:, before], anchor - frames.positions[:, before]
        )
        assert inside == pytest.approx(np.tile(inside[0], (chosen.count, 1)), abs=1e-12)


def test_equations_of_motion_are_those_of_mujoco_without_armature(tmp_path: Path) -> None:
    robot, chosen, model = _observed(_SHOULDER, tmp_path)
    motion = robot.dynamics
    assert motion is not None
    assert motion.joints[:6] == (ROOT_MOTION,) * 6

    model.dof_armature[:] = 0.0
    # Gravity acts along -Z of the root.
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body("torso").quat)
    model.opt.gravity = turn.reshape(3, 3) @ [0.0, 0.0, -9.81]
    data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    velocities = dict(zip(chosen.joints, chosen.velocities, strict=True))
    for row in range(chosen.count):
        data.qpos[:] = _qpos(model, chosen, row)
        for name, values in velocities.items():
            start = model.joint(name).dofadr[0]
            data.qvel[start : start + values.shape[1]] = values[row]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        assert motion.inertia[row, 6:, 6:] == pytest.approx(full, abs=1e-12)
        assert motion.bias[row, 6:] == pytest.approx(data.qfrc_bias, abs=1e-11)
    assert motion.inertia[0, 0, 0] == pytest.approx(model.body_mass.sum())


def test_armature_is_no_inertia_of_a_sliding_body(tmp_path: Path) -> None:
    text = """<body name='a'><joint name='x' type='slide' axis='1 0 0' armature='0.5'/>
      <joint name='y' type='slide' axis='0 1 0'/><geom size='0.1' mass='2'/></body>"""
    robot, _ = _body(text, tmp_path)
    assert robot.dynamics is not None
    assert robot.dynamics.joints == ("x", "y")
    assert robot.dynamics.inertia[0] == pytest.approx(2 * np.eye(2))
    assert robot.simulation is not None
    assert robot.simulation.armatures == (("x", 0.5),)


@pytest.mark.parametrize(
    ("content", "mass"),
    [
        ("", None),
        ("<geom size='0.1' mass='0'/>", None),
        ("<inertial pos='0.1 0 0' mass='2' diaginertia='0 0 0'/>", 2.0),
    ],
)
def test_fixed_root_may_lack_mass_or_inertia(
    content: str, mass: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inner = "<body name='b'><joint/><geom size='0.1' mass='1'/></body>"
    robot, _ = _body(f"<body name='a'>{content}{inner}</body>", tmp_path)

    stated = robot.links[0].mass
    assert (stated and (stated.mass, stated.center)) == (mass and (mass, (0.1, 0.0, 0.0)))
    # MuJoCo writes warnings to a file.
    assert [file.name for file in tmp_path.iterdir()] == ["robot.xml"]


def test_textures_are_counted_and_not_compared(tmp_path: Path) -> None:
    text = """<mujoco><asset><texture name='t' type='2d' builtin='flat' width='4' height='4'/>
        <material name='m' texture='t'/></asset>
      <worldbody><body name='a'><geom size='0.1' material='m'/></body></worldbody></mujoco>"""
    robot, *_ = _observed(text, tmp_path)
    shapes = []
    for shape in robot.shapes:
        looks = (structs.replace(one, texture="1a2b", image="t.png") for one in shape.appearances)
        shapes.append(structs.replace(shape, appearances=tuple(looks)))
    usd = Observed(structs.replace(robot, shapes=tuple(shapes)))

    judgement = judge({"mujoco-mjcf": Observed(robot)}, usd, decides="mujoco-mjcf", described=True)

    assert judgement.verdict is Verdict.EXACT, judgement.reason
    assert dict(robot.uncompared) == {"textured materials": 1}


def test_attributes_of_mujoco_are_unexpected_unless_an_element_states_them(tmp_path: Path) -> None:
    tendon = "<tendon><fixed stiffness='3'><joint joint='lift' coef='1'/></fixed></tendon></mujoco>"
    plain, _, _ = _observed(_SHOULDER, tmp_path)
    sprung, _, _ = _observed(_SHOULDER.replace("</mujoco>", tendon), tmp_path)

    (first,), (second,) = (
        [one.besides for one in seen.implied if one.besides] for seen in (plain, sprung)
    )
    assert first - second == {"mjc:stiffness"}
    assert {"mjc:margin", "mjc:maxhullvert"} <= second
    assert "mjc:ref" not in first


def test_ellipsoid_has_the_area_of_a_sphere_and_of_a_spheroid() -> None:
    sphere = ellipsoid_surface(np.array([0.3, 0.3, 0.3]), np.eye(4))
    assert (sphere.area, sphere.volume) == pytest.approx(
        (4 * math.pi * 0.09, 4 / 3 * math.pi * 0.027)
    )
    # Oblate: 2 pi a^2 (1 + (1 - e^2) / e artanh e).
    e = math.sqrt(1 - 0.2**2 / 0.5**2)
    area = 2 * math.pi * 0.5**2 * (1 + (1 - e**2) / e * math.atanh(e))
    assert ellipsoid_surface(np.array([0.5, 0.5, 0.2]), np.eye(4)).area == pytest.approx(area)
