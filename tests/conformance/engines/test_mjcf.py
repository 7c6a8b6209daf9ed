"""What the MJCF engine states, held against formulas and MuJoCo's own functions."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mjcf import ellipsoid_surface, mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.protocol import Observed, UnsupportedError
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    ROOT_MOTION,
    Base,
    Configurations,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.observation.shapes import Role
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


def test_joints_of_one_body_are_a_chain_of_links_without_mass(tmp_path: Path) -> None:
    robot, *_ = _observed(_SHOULDER, tmp_path)

    ends = {joint.name: (joint.parent, joint.child) for joint in robot.joints}
    assert ends == {
        "swing": ("torso", "arm_swing"),
        "lift": ("arm_swing", "arm_lift"),
        "slide": ("arm_lift", "arm"),
        "wrist": ("arm", "hand"),
    }
    masses = {link.name: link.mass for link in robot.links}
    assert masses["arm_swing"] is masses["arm_lift"] is None
    assert robot.made_up == ("link arm_lift", "link arm_swing")


def test_names_of_the_file_are_not_given_to_other_links_and_joints(tmp_path: Path) -> None:
    shape = '<geom size="1"/>'
    hinges = '<joint name="b"/><joint name="c" axis="0 1 0"/>'
    end = f'<body name="a_b">{shape}<joint name="a_b_fixed_"/></body>'
    held = f'<body name="d">{shape}</body><body name="e">{shape}<joint name="d_fixed"/></body>'

    robot, joints = _body(
        f'<body name="base">{shape}<body name="a">{hinges}{shape}{end}{held}</body></body>',
        tmp_path,
    )

    assert [link.name for link in robot.links] == ["base", "a", "a_b", "d", "e", "a_b_"]
    assert (joints["b"].child, joints["c"].parent) == ("a_b_", "a_b_")
    assert {"d_fixed", "d_fixed_"} < set(joints)


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


def test_limits_are_radians_that_count_from_the_initial_pose(tmp_path: Path) -> None:
    robot, *_ = _observed(_SHOULDER, tmp_path)
    joints = {joint.name: joint for joint in robot.joints}

    swing = joints["swing"]
    assert swing.type is JointType.REVOLUTE
    assert (swing.lower, swing.upper) == pytest.approx(np.radians([-55.0, 55.0]))
    assert (swing.damping, swing.friction, swing.effort) == (0.3, 0.2, 4.0)
    assert joints["lift"].type is JointType.CONTINUOUS
    assert (joints["slide"].lower, joints["slide"].upper) == (-0.1, 0.2)
    assert robot.simulation is not None
    assert robot.simulation.armatures == (("swing", 0.02),)


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


def test_mass_of_a_capsule_follows_from_its_density(tmp_path: Path) -> None:
    robot, *_ = _observed(_SHOULDER, tmp_path)
    arm = next(link.mass for link in robot.links if link.name == "arm")
    assert arm is not None

    length = math.dist((0, 0, 0), (0.1, 0.2, 0.3))
    volume = math.pi * 0.04**2 * (length + 4 / 3 * 0.04)
    assert arm.mass == pytest.approx(700 * volume)
    assert arm.center == pytest.approx((0.05, 0.1, 0.15))


def test_full_inertia_keeps_its_products(tmp_path: Path) -> None:
    robot, *_ = _observed(_SHOULDER, tmp_path)
    torso = next(link.mass for link in robot.links if link.name == "torso")
    assert torso is not None

    # MJCF: xx yy zz xy xz yz.
    assert torso.inertia == pytest.approx((0.04, 0.001, -0.002, 0.05, 0.003, 0.06))
    assert torso.center == pytest.approx((0.01, 0.02, 0.03))


@pytest.mark.parametrize(
    ("bodies", "root", "base"),
    [
        ("<body name='a'><freejoint/><geom size='1'/></body>", "a", Base.FLOATING),
        ("<body name='a'><geom size='1'/></body>", "a", Base.FIXED),
        ("<body name='a'><joint/><geom size='1'/></body>", "world", Base.FIXED),
        (
            "<body name='a'><geom size='1'/></body><body name='b'><geom size='1'/></body>",
            "world",
            Base.FIXED,
        ),
        (
            "<body name='a'><freejoint/><geom size='1'/></body>"
            "<body name='b'><freejoint/><geom size='1'/></body>",
            "world",
            Base.FLOATING,
        ),
    ],
)
def test_root_is_the_body_or_the_world(bodies: str, root: str, base: Base, tmp_path: Path) -> None:
    robot, _ = _body(bodies, tmp_path)

    assert (robot.root, robot.base) == (root, base)


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


def test_unnamed_bodies_and_joints_are_numbered(tmp_path: Path) -> None:
    text = """<body name='a'><geom size='1'/>
      <body><joint/><joint axis='0 1 0'/><geom size='1'/></body>
      <body><geom size='1'/><body name='a_body1'><geom size='1'/></body></body></body>"""
    robot, joints = _body(text, tmp_path)

    assert [link.name for link in robot.links[:4]] == ["a", "a_body2", "a_body3", "a_body1"]
    assert set(joints) == {"a_body2_joint1", "a_body2_joint2", "a_body3_fixed", "a_body1_fixed"}
    assert "link a_body1" not in robot.made_up
    assert {*robot.made_up} >= {"link a_body2", "joint a_body2_joint1", "joint a_body3_fixed"}


def test_free_body_beside_the_robot_hangs_on_a_floating_joint(tmp_path: Path) -> None:
    text = """<body name='arm'><joint/><geom size='1'/></body>
      <body name='cube' pos='1 2 3'><freejoint name='any'/><geom size='1'/></body>"""
    robot, joints = _body(text, tmp_path)

    cube = joints["cube_free"]
    assert (cube.type, cube.parent, cube.child) == (JointType.FLOATING, "world", "cube")
    assert robot.frames is not None
    column = robot.frames.links.index("cube")
    assert robot.frames.positions[0, column] == pytest.approx((1, 2, 3))


def test_linear_coupling_is_a_mimic_and_other_constraints_are_counted(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name='a'><geom size='1'/>
        <body name='b'><joint name='b'/><geom size='1'/><site/></body>
        <body name='c'><joint name='c' stiffness='2'/><geom size='1'/></body></body></worldbody>
      <equality><joint joint1='c' joint2='b' polycoef='0.1 -2 0 0 0'/>
        <joint joint1='c' joint2='b' polycoef='0 1 0.5 0 0'/>
        <connect body1='b' body2='c' anchor='0 0 0'/></equality>
      <actuator><motor joint='b'/></actuator><sensor><jointpos joint='b'/></sensor>
      <keyframe><key qpos='0 1'/><key qpos='1 0'/></keyframe></mujoco>"""
    robot, *_ = _observed(text, tmp_path)

    mimic = next(joint.mimic for joint in robot.joints if joint.name == "c")
    assert mimic is not None
    assert structs.astuple(mimic) == ("b", -2.0, 0.1)
    assert dict(robot.uncompared) == {
        "actuators": 1,
        "sites": 1,
        "keyframes": 2,
        "sensors": 1,
        "equality constraints": 2,
        "joint springs": 1,
    }


def test_contacts_and_groups_decide_colliders_and_visuals(tmp_path: Path) -> None:
    text = """<body name='a'><geom name='both' size='0.1'/>
      <geom name='seen' size='0.2' contype='0' conaffinity='0' group='2'/>
      <geom name='hit' size='0.3' group='3'/><geom name='half' size='0.4' contype='0' group='4'/>
      </body>"""
    robot, _ = _body(text, tmp_path)

    assert [one.name for one in robot.shapes if one.role is Role.VISUAL] == ["both", "seen"]
    assert [one.name for one in robot.shapes if one.role is Role.COLLISION] == [
        "both",
        "hit",
        "half",
    ]


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<mujoco/>", "no body"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia"),
        ("<mujoco><worldbody><body pos='a'/></worldbody></mujoco>", "MuJoCo refuses it"),
    ],
)
def test_what_mujoco_refuses_is_refused_with_its_reason(
    text: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        mjcf_joints(_written(text, tmp_path))


def test_every_position_of_the_sampled_joints_has_coordinates(tmp_path: Path) -> None:
    robot, chosen, _ = _observed(_SHOULDER, tmp_path)
    widths = {joint.name: COORDINATES[joint.type] for joint in robot.joints}

    assert {n: v.shape[1] for n, v in zip(chosen.joints, chosen.positions, strict=True)} == widths
